"""The REST API: the pages' reads and actions, for sessions and for tokens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS, reset_generator_stats
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema
from rest_framework.authtoken.models import Token

from campaigns.models import Campaign
from flowmut_web.api_page import operations
from tests import factories
from triage import saved_views, services
from triage.filters import BucketFilter
from triage.models import Report

pytestmark = pytest.mark.django_db


def post(client: Client, path: str, data: dict[str, Any] | None = None) -> Any:
    return client.post(path, data or {}, content_type="application/json")


PARTS = (
    *("campaigns", "shards", "buckets", "findings", "reports", "reruns", "suppressions", "views"),
)


@pytest.mark.parametrize("part", PARTS)
def test_stranger_gets_nothing(client: Client, part: str) -> None:
    assert client.get(f"/api/{part}/").status_code in (401, 403)
    assert post(client, f"/api/{part}/").status_code in (401, 403)


def test_token_is_enough(client: Client) -> None:
    token = Token.objects.create(user=factories.user())
    report = factories.report()
    report.finding.reruns.create()
    limit = factories.bucket(parts={"calls": "sin.function"})
    services.move_buckets([limit], to="known_limit", who=token.user)
    saved_views.save_view(owner=token.user, name="All", query="status=all", shared=False)
    for part in PARTS:
        path = f"/api/{part}/"
        response = client.get(path, headers={"Authorization": f"Token {token.key}"})
        assert response.status_code == 200, path
        assert response.json()["count"] >= 1, path


@pytest.mark.usefixtures("person")
def test_campaign_is_started_and_steered(client: Client) -> None:
    given = {
        "name": "From a script",
        "seeds": [factories.SEED],
        "modes": ["torch-eager"],
        "policy": "random",
        "rounds": 3,
    }
    made = post(client, "/api/campaigns/", given)
    assert made.status_code == 201
    path = f"/api/campaigns/{made.json()['id']}/"
    assert client.get(path).json()["rounds_planned"] == 3
    assert post(client, f"{path}pause/").json()["status"] == "paused"
    assert post(client, f"{path}resume/").json()["status"] == "pending"
    assert post(client, f"{path}cancel/").json()["status"] == "cancelled"
    refused = post(client, f"{path}resume/")
    assert refused.status_code == 409
    assert "cannot become" in refused.json()["detail"]


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("name", ["seeds", "modes", "policy"])
def test_unknown_names_are_refused_with_the_known_ones(client: Client, name: str) -> None:
    given: dict[str, Any] = {
        "name": "x",
        "seeds": [factories.SEED],
        "modes": ["numpy"],
        "rounds": 1,
    }
    given[name] = "zebra" if name == "policy" else ["zebra"]
    response = post(client, "/api/campaigns/", given)
    assert response.status_code == 400
    assert "zebra" in str(response.json()[name])
    assert not Campaign.objects.exists()


@pytest.mark.usefixtures("person")
def test_buckets_are_filtered_as_the_inbox_is(client: Client) -> None:
    factories.bucket(title="one", symptom="crash")
    factories.bucket(title="two", status="fixed")
    titles = [one["title"] for one in client.get("/api/buckets/").json()["results"]]
    assert titles == ["one"]
    everything = client.get("/api/buckets/?status=all&sort=title").json()["results"]
    assert [one["title"] for one in everything] == ["one", "two"]
    assert client.get("/api/buckets/?symptom=zebra").status_code == 400


def test_buckets_are_judged_by_the_person_who_asks(client: Client, person: User) -> None:
    bucket = factories.bucket()
    path = f"/api/buckets/{bucket.uuid}/"
    assert post(client, f"{path}move/", {"to": "confirmed"}).json()["status"] == "confirmed"
    assert post(client, f"{path}move/", {"to": "fixed"}).json()["status"] == "fixed"
    assert post(client, f"{path}move/", {"to": "known_limit"}).status_code == 409
    assert post(client, f"{path}assign/", {"assignee": "ada"}).json()["assignee"] == "ada"
    assert post(client, f"{path}labels/", {"add": ["a", "b"]}).json()["labels"] == ["a", "b"]
    assert post(client, f"{path}notes/", {"text": "hello"}).status_code == 201
    # Its status hides it from the inbox, not from its own address.
    assert client.get(path).json()["status"] == "fixed"
    assert {event.who for event in bucket.events.exclude(kind="created")} == {person}
    assert client.get("/api/buckets/no-uuid/").status_code == 404


@pytest.mark.usefixtures("person")
def test_finding_has_its_script_and_drafts_a_report(client: Client) -> None:
    member = factories.finding()
    path = f"/api/findings/{member.uuid}/"
    assert client.get(path).json()["data"]["script"] == factories.SCRIPT
    made = post(client, f"{path}report/")
    assert (made.status_code, made.json()["status"]) == (201, "draft")


@pytest.mark.usefixtures("person")
def test_report_is_edited_linked_and_moved(client: Client) -> None:
    report = factories.report()
    path = f"/api/reports/{report.uuid}/"
    kind = "application/json"
    edited = client.patch(path, {"texts": {"describe": "New"}}, content_type=kind)
    assert edited.json()["texts"]["describe"] == "New"
    unknown = client.patch(path, {"texts": {"zebra": "New"}}, content_type=kind)
    assert unknown.status_code == 400
    assert post(client, f"{path}move/", {"to": "confirmed"}).status_code == 409
    url = "https://github.com/pytorch/pytorch/issues/7"
    assert post(client, f"{path}link/", {"url": url}).json()["upstream_id"] == "7"
    assert post(client, f"{path}move/", {"to": "confirmed"}).json()["status"] == "confirmed"
    other = factories.report()
    assert post(client, f"/api/reports/{other.uuid}/link/", {"url": url}).status_code == 400
    assert Report.objects.filter(upstream_url=url).count() == 1


@pytest.mark.usefixtures("person")
def test_list_and_export_say_what_the_inbox_says(client: Client) -> None:
    for number in range(3):
        factories.bucket(title=f"number {number}", symptom="state")
    factories.bucket(symptom="crash", status="fixed")
    query = "symptom=state&symptom=crash&sort=-title"
    page = [row.bucket.title for row in client.get(f"/triage/?{query}").context["rows"]]
    listed = [one["title"] for one in client.get(f"/api/buckets/?{query}").json()["results"]]
    export = client.get(f"/api/buckets/export/?{query}")
    exported = [one["title"] for one in json.loads(b"".join(export.streaming_content))]
    assert page == listed == exported == ["number 2", "number 1", "number 0"]
    text = b"".join(client.get(f"/api/buckets/export/?{query}&kind=csv").streaming_content)
    assert text.decode().splitlines()[0].startswith("id,url,title")
    assert client.get("/api/buckets/export/?symptom=zebra").status_code == 400


@pytest.mark.usefixtures("person")
def test_filters_are_listed_with_their_values_and_counts(client: Client) -> None:
    factories.bucket(symptom="state")
    menus = {one["name"]: one for one in client.get("/api/buckets/filters/").json()}
    counts = {one["value"]: one["count"] for one in menus["symptom"]["options"]}
    assert (menus["symptom"]["text"], counts["state"], counts["crash"]) == ("Symptom", 1, 0)
    assert client.get("/api/buckets/filters/?age=zebra").status_code == 400


@pytest.mark.usefixtures("person")
def test_bucket_says_why_it_matters_and_where_it_may_go(client: Client) -> None:
    bucket = factories.bucket()
    found = client.get(f"/api/buckets/{bucket.uuid}/").json()
    assert found["impact"] == sum(one["points"] for one in found["impact_points"])
    assert {"points": 35, "reason": "silent wrong result"} in found["impact_points"]
    assert found["facets"]["op"] == ["exp"]
    assert "confirmed" in found["moves"]
    assert "reported" not in found["moves"]


@pytest.mark.usefixtures("person")
def test_members_history_notes_and_similar_buckets_are_listed(client: Client) -> None:
    bucket = factories.bucket()
    factories.bucket(title="like it")
    small = factories.finding(bucket=bucket, minimised_nodes=0)
    path = f"/api/buckets/{bucket.uuid}/"
    members = client.get(f"{path}findings/").json()
    assert members["count"] == 2
    assert members["results"][0]["id"] == str(small.uuid)
    assert "data" not in members["results"][0]
    post(client, f"{path}notes/", {"text": "It is a **tie**."})
    (note,) = client.get(f"{path}notes/").json()
    assert (note["author"], note["text"]) == ("ada", "It is a **tie**.")
    kinds = [one["kind"] for one in client.get(f"{path}history/").json()["results"]]
    assert kinds == ["note", "created"]
    assert [one["title"] for one in client.get(f"{path}similar/").json()] == ["like it"]


def test_notes_are_edited_and_deleted_by_who_wrote_them(client: Client, person: User) -> None:
    bucket = factories.bucket()
    path = f"/api/buckets/{bucket.uuid}/notes/"
    mine = f"{path}{post(client, path, {'text': 'first'}).json()['id']}/"
    kind = "application/json"
    client.force_login(factories.user("bob"))
    assert client.patch(mine, {"text": "bob's"}, content_type=kind).status_code == 404
    assert client.delete(mine).status_code == 404
    client.force_login(person)
    edited = client.patch(mine, {"text": "second"}, content_type=kind).json()
    assert (edited["text"], edited["edited_at"] is None) == ("second", False)
    deleted = client.delete(mine).json()
    assert (deleted["changed"], client.get(path).json()) == (1, [])
    assert client.get("/api/buckets/?q=second").json()["count"] == 0
    post(client, f"/api/undo/{deleted['batch']}/")
    assert [one["text"] for one in client.get(path).json()] == ["second"]
    assert client.get("/api/buckets/?q=second").json()["count"] == 1


@pytest.mark.usefixtures("person")
def test_scoreboard_counts_a_time(client: Client) -> None:
    factories.bucket(symptom="crash", first_seen=factories.days_ago(3))
    factories.bucket(symptom="crash", first_seen=factories.days_ago(30))
    board = client.get("/api/scoreboard/").json()
    assert board["columns"][0]["name"] == "found"
    row = {(one["framework"], one["symptom"]): one["counts"] for one in board["rows"]}
    assert row["torch", "crash"]["found"] == 2
    since = factories.days_ago(7).isoformat()
    recent = client.get("/api/scoreboard/", {"since": since}).json()
    assert sum(one["counts"]["found"] for one in recent["rows"]) == 1
    assert client.get("/api/scoreboard/?until=soon").status_code == 400


def test_action_is_undone_by_the_batch_of_its_answer(client: Client, person: User) -> None:
    bucket = factories.bucket()
    path = f"/api/buckets/{bucket.uuid}/"
    given = {"to": "false_alarm", "false_alarm": "tie", "why": "equal values"}
    moved = post(client, f"{path}move/", given).json()
    assert (moved["status"], moved["false_alarm"]) == ("false_alarm", "tie")
    labelled = post(client, f"{path}labels/", {"add": ["a", "b"]}).json()
    assert post(client, f"{path}labels/", {"remove": ["A"]}).json()["labels"] == ["b"]
    undone = post(client, f"/api/undo/{moved['batch']}/").json()
    assert (undone["changed"], undone["refused"]) == (1, [])
    assert client.get(path).json()["status"] == "new"
    assert post(client, f"/api/undo/{labelled['batch']}/").json()["changed"] == 1
    assert client.get(path).json()["labels"] == []
    (line,) = [
        one
        for one in client.get(f"{path}history/").json()["results"]
        if one["why"] == "Undone." and one["kind"] == "status"
    ]
    assert line["who"] == person.username


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("given", [{}, {"add": []}, {"add": ["a"], "remove": ["b"]}])
def test_labels_are_added_or_removed(client: Client, given: dict[str, Any]) -> None:
    bucket = factories.bucket()
    assert post(client, f"/api/buckets/{bucket.uuid}/labels/", given).status_code == 400


@pytest.mark.usefixtures("person")
def test_flag_is_taken_down(client: Client) -> None:
    bucket = factories.bucket(status="fixed", flag="seen_again")
    assert post(client, f"/api/buckets/{bucket.uuid}/clear-flag/").json()["flag"] == ""


@pytest.mark.usefixtures("person")
def test_many_buckets_change_at_once(client: Client) -> None:
    state = [factories.bucket(symptom="state") for _ in range(3)]
    other = factories.bucket(symptom="crash")
    path = "/api/buckets/change/"
    given = {"action": "label", "labels": ["old"], "filters": "symptom=state", "matching": 2}
    refused = post(client, path, given)
    assert (refused.status_code, "3 do now" in refused.json()["detail"]) == (409, True)
    done = post(client, path, given | {"matching": 3}).json()
    assert (done["changed"], done["refused"]) == (3, [])
    assert not other.labels.exists()
    ids = [str(state[0].uuid), str(other.uuid)]
    assert (
        post(client, path, {"action": "unlabel", "labels": ["old"], "ids": ids}).json()["changed"]
        == 1
    )
    assert (
        post(client, path, {"action": "assign", "assignee": "ada", "ids": ids}).json()["changed"]
        == 2
    )
    moved = post(client, path, {"action": "move", "to": "fixed", "ids": ids}).json()
    assert (moved["changed"], len(moved["refused"])) == (0, 2)
    assert post(client, f"/api/undo/{done['batch']}/").json()["changed"] == 2


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    "given",
    [
        {"action": "move", "to": "fixed"},
        {"action": "move", "to": "fixed", "ids": [], "filters": ""},
        {"action": "move", "ids": []},
        {"action": "assign", "ids": []},
        {"action": "label", "ids": []},
        {"action": "label", "labels": ["a"], "filters": "symptom=zebra"},
    ],
)
def test_incomplete_change_of_many_is_refused(client: Client, given: dict[str, Any]) -> None:
    assert post(client, "/api/buckets/change/", given).status_code == 400


@pytest.mark.usefixtures("person")
def test_buckets_are_merged_and_split(client: Client) -> None:
    into, source = factories.bucket(title="into"), factories.bucket(title="source")
    path = f"/api/buckets/{into.uuid}/"
    merged = post(client, f"{path}merge/", {"sources": [str(source.uuid)], "why": "same"}).json()
    assert merged["count"] == 2
    gone = client.get(f"/api/buckets/{source.uuid}/").json()
    assert gone["merged_into"] == str(into.uuid)
    refused = post(client, f"/api/buckets/{source.uuid}/assign/", {"assignee": "ada"})
    assert (refused.status_code, "merged into" in refused.json()["detail"]) == (409, True)
    assert post(client, f"{path}merge/", {"sources": []}).status_code == 409
    member = into.findings.first()
    assert member is not None
    split = post(client, f"{path}split/", {"findings": [str(member.uuid)]})
    assert (split.status_code, split.json()["count"]) == (201, 1)
    assert split.json()["id"] != str(into.uuid)
    last = into.findings.get()
    assert post(client, f"{path}split/", {"findings": [str(last.uuid)]}).status_code == 409
    assert post(client, f"/api/undo/{split.json()['batch']}/").json()["changed"] == 1
    assert into.findings.count() == 2


@pytest.mark.usefixtures("person")
def test_rule_is_previewed_set_and_lifted(client: Client) -> None:
    bucket = factories.bucket(parts={"calls": "exp.function", "kind": "values"})
    factories.bucket(parts={"calls": "exp.method", "kind": "values"})
    path = f"/api/buckets/{bucket.uuid}/rule/"
    assert client.get(path).json()["parts"] == {}
    plan = post(client, f"{path}preview/", {"parts": {"kind": "values"}}).json()
    assert (plan["enter"][0]["findings"], plan["enter"][0]["empties"], plan["stay"]) == (1, True, 1)
    assert bucket.findings.count() == 1
    assert post(client, f"{path}preview/", {"parts": {"kind": "zebra"}}).status_code == 409
    assert post(client, path, {"parts": {"kind": "values"}, "why": "alike"}).json()["count"] == 2
    assert client.get(path).json() == {"parts": {"kind": "values"}, "why": "alike"}
    assert post(client, path, {"parts": {"kind": "zebra"}}).status_code == 409
    assert post(client, path, {"parts": {}}).json()["count"] == 1


@pytest.mark.usefixtures("person")
def test_known_limit_makes_a_suppression_that_is_moved_and_lifted(client: Client) -> None:
    bucket = factories.bucket()
    given = {"to": "known_limit", "why": "not on CPU", "source": "ops.exp: Supported Platforms"}
    moved = post(client, f"/api/buckets/{bucket.uuid}/move/", given).json()
    path = f"/api/suppressions/{moved['suppression']}/"
    found = client.get(path).json()
    assert (found["is_active"], found["source"]) == (True, "ops.exp: Supported Platforms")
    assert client.get("/api/buckets/?status=suppressed").json()["count"] == 1
    assert post(client, f"{path}expiry/", {"expires_at": "soon"}).status_code == 400
    later = {"expires_at": "2030-01-01T00:00:00Z"}
    assert post(client, f"{path}expiry/", later).json()["changed"] == 1
    assert client.get(path).json()["expires_at"].startswith("2030-01-01")
    assert post(client, f"{path}lift/", {"why": "it is a bug"}).json()["changed"] == 1
    assert client.get(path).json()["is_active"] is False


@pytest.mark.usefixtures("person")
def test_script_is_read_run_again_and_cancelled(client: Client) -> None:
    member = factories.finding()
    path = f"/api/findings/{member.uuid}/"
    script = client.get(f"{path}script/")
    assert (script.content.decode(), script["Content-Type"][:13]) == (
        factories.SCRIPT,
        "text/x-python",
    )
    factories.environment("mindspore")
    elsewhere = post(client, f"{path}rerun/", {"environment": "mindspore"})
    assert (elsewhere.status_code, "environment" in elsewhere.json()) == (400, True)
    assert post(client, f"{path}rerun/", {"attempts": 4}).status_code == 400
    made = post(client, f"{path}rerun/", {"attempts": 5}).json()
    assert (made["state"], made["words"]) == ("queued", "waits for a worker")
    listed = client.get(f"/api/reruns/?finding__uuid={member.uuid}").json()["results"]
    assert [one["id"] for one in listed] == [made["id"]]
    assert post(client, f"/api/reruns/{made['id']}/cancel/").json()["state"] == "cancelled"
    assert post(client, f"/api/reruns/{made['id']}/cancel/").status_code == 409


def test_views_are_kept_shared_and_opened_with(client: Client, person: User) -> None:
    factories.bucket(symptom="crash")
    path = "/api/views/"
    made = post(client, path, {"name": "Crashes", "query": "symptom=crash&page=2"})
    assert (made.status_code, made.json()["query"], made.json()["count"]) == (
        201,
        "symptom=crash",
        1,
    )
    mine = f"{path}{made.json()['id']}/"
    kind = "application/json"
    assert client.patch(mine, {"shared": True}, content_type=kind).json()["shared"] is True
    post(client, path, {"name": "Other"})
    taken = client.patch(mine, {"name": "Other"}, content_type=kind)
    assert (taken.status_code, "Other" in taken.json()["detail"]) == (409, True)
    assert post(client, f"{mine}default/").json()["is_default"] is True
    assert client.get("/triage/")["Location"] == "/triage/?symptom=crash"
    assert client.delete(f"{mine}default/").json()["is_default"] is False
    client.force_login(factories.user("bob"))
    assert [one["owner"] for one in client.get(path).json()["results"]] == ["ada"]
    assert client.get(mine).status_code == 200
    assert client.patch(mine, {"name": "Mine"}, content_type=kind).status_code == 404
    assert client.delete(mine).status_code == 404
    client.force_login(person)
    assert client.delete(mine).status_code == 204
    assert client.get(mine).status_code == 404


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("path", "queries"),
    [
        # Session and user, then count, page, labels.
        ("/api/buckets/?status=all", 5),
        ("/api/buckets/filters/", 8),
        ("/api/findings/", 4),
        ("/api/reports/", 4),
        ("/api/reruns/", 4),
        ("/api/suppressions/", 4),
        ("/api/views/", 6),
    ],
)
def test_lists_make_the_same_number_of_queries_at_any_size(
    client: Client,
    person: User,
    path: str,
    queries: int,
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    for size in (1, 6):
        for number in range(size):
            bucket = factories.bucket(assignee=factories.user())
            bucket.labels.create(name=f"{size} {number}")
            report = factories.report()
            report.finding.reruns.create(asked_by=factories.user())
            services.move_buckets([report.bucket], to="known_limit", who=person)
            saved_views.save_view(
                owner=person, name=f"{size} {number}", query=f"op={number}", shared=True
            )
        with django_assert_num_queries(queries):
            assert client.get(path).status_code == 200


@pytest.mark.usefixtures("person")
def test_parts_of_a_bucket_make_the_same_number_of_queries_at_any_size(
    client: Client, person: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    bucket = factories.bucket()
    path = f"/api/buckets/{bucket.uuid}/"
    for size in (1, 6):
        for _ in range(size):
            factories.finding(bucket=bucket, shard=factories.shard())
            services.add_note(bucket, text="x", who=factories.user())
        # Session, user, bucket, labels; then count and rows.
        for part, queries in (("findings", 6), ("history", 6), ("notes", 5)):
            with django_assert_num_queries(queries):
                assert client.get(f"{path}{part}/").status_code == 200


def test_description_is_made_without_a_warning() -> None:
    generator = SchemaGenerator()
    reset_generator_stats()
    schema = generator.get_schema(request=None, public=True)
    assert not GENERATOR_STATS, "what it warns of is printed above"
    validate_schema(schema)


@pytest.mark.usefixtures("person")
def test_description_names_every_route_and_the_filters(client: Client) -> None:
    description = client.get("/api/schema/?format=json").json()
    paths = description["paths"]
    for path in (
        "/api/campaigns/{uuid}/pause/",
        "/api/shards/",
        "/api/buckets/{uuid}/move/",
        "/api/buckets/{uuid}/rule/preview/",
        "/api/buckets/change/",
        "/api/buckets/export/",
        "/api/undo/{batch}/",
        "/api/scoreboard/",
        "/api/buckets/{uuid}/notes/{note}/",
        "/api/views/{id}/default/",
        "/api/suppressions/{uuid}/lift/",
        "/api/reruns/{uuid}/cancel/",
        "/api/findings/{uuid}/report/",
        "/api/reports/{uuid}/link/",
    ):
        assert path in paths
    names = {one["name"] for one in paths["/api/buckets/"]["get"]["parameters"]}
    assert set(BucketFilter.base_filters) | {"sort", "limit", "offset"} <= names
    exported = {one["name"] for one in paths["/api/buckets/export/"]["get"]["parameters"]}
    assert set(BucketFilter.base_filters) | {"sort", "kind"} <= exported
    several = {
        one["name"]: one["schema"]["type"] for one in paths["/api/buckets/"]["get"]["parameters"]
    }
    assert (several["op"], several["age"]) == ("array", "string")


@pytest.mark.usefixtures("person")
def test_page_of_the_api_tells_every_call_and_loads_nothing_from_elsewhere(client: Client) -> None:
    page = client.get("/api/docs/").content.decode()
    assert "https://" not in page
    for path in SchemaGenerator().get_schema(request=None, public=True)["paths"]:
        assert path in page


def test_call_is_told_with_its_parameters_body_and_answers() -> None:
    described = {
        "paths": {
            "/api/things/": {
                "post": {
                    "description": "Make one.",
                    "parameters": [
                        {"name": "op", "schema": {"type": "array", "items": {"type": "string"}}}
                    ],
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/x/Thing"}}}
                    },
                    "responses": {"201": {"description": "made"}},
                }
            }
        },
        "components": {
            "schemas": {
                "Thing": {
                    "required": ["kind"],
                    "properties": {"kind": {"enum": ["a", "b"], "description": "Which."}},
                }
            }
        },
    }
    (call,) = operations(described)
    assert (call.method, call.path, call.summary) == ("POST", "/api/things/", "Make one.")
    assert call.parameters == [("op", "array of string", "")]
    assert call.body == [("kind", "a | b, required", "Which.")]
    assert call.answers == [("201", "made")]
