"""Pages that change grouping: previews that save nothing, decisions, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests import factories
from triage import services
from triage.models import Bucket, BucketEvent, FindingRecord, GroupingRule, Suppression

pytestmark = pytest.mark.django_db
PARTS = {"kind": "values", "calls": "exp.function", "dtypes": "float32"}


def found(title: str, **parts: str) -> FindingRecord:
    return factories.finding(signature=title, title=title, parts={**PARTS, **parts})


def address(route: str, bucket: Bucket) -> str:
    return reverse(f"triage:{route}", args=[bucket.uuid])


def text(client: Client, path: str, query: dict[str, Any] | None = None) -> str:
    return client.get(path, query or {}, follow=True).content.decode()


def state() -> tuple[Any, ...]:
    """All that a preview might have changed."""
    return (
        sorted(Bucket.with_merged.values_list("pk", "count", "status", "merged_into")),
        sorted(FindingRecord.objects.values_list("pk", "bucket", "rule", "moved")),
        BucketEvent.objects.count(),
        GroupingRule.objects.count(),
        Suppression.objects.count(),
    )


def test_strangers_see_and_change_nothing(client: Client) -> None:
    bucket = found("s").bucket
    services.move_buckets([bucket], to="known_limit", who=factories.user())
    suppression = Suppression.objects.get()
    before = state()
    paths = [
        reverse("triage:preview-merge"),
        reverse("triage:pick-merge"),
        reverse("triage:merge-buckets"),
        reverse("triage:list-suppressions"),
        reverse("triage:move-expiry", args=[suppression.uuid]),
        reverse("triage:lift-suppression", args=[suppression.uuid]),
        *(
            address(route, bucket)
            for route in (
                "preview-split",
                "split-bucket",
                "preview-rule",
                "set-rule",
                "preview-limit",
                "accept-limit",
            )
        ),
    ]
    for path in paths:
        for response in (client.get(path), client.post(path)):
            assert response.status_code == 302, path
            assert response["Location"].startswith("/account/login/"), path
    assert state() == before


@pytest.mark.usefixtures("person")
def test_what_writes_is_only_posted_to(client: Client) -> None:
    bucket = found("s").bucket
    for path in (
        reverse("triage:merge-buckets"),
        reverse("triage:pick-merge"),
        address("split-bucket", bucket),
        address("set-rule", bucket),
        address("accept-limit", bucket),
    ):
        assert client.get(path).status_code == 405, path
    for path in (reverse("triage:preview-merge"), address("preview-split", bucket)):
        assert client.post(path).status_code == 405, path


# ----------------------------------------------------------------------------------------- merge
@pytest.mark.usefixtures("person")
def test_merge_is_picked_in_the_inbox_previewed_done_and_undone(client: Client) -> None:
    one, two = found("one").bucket, found("two", dtypes="integer").bucket
    services.add_note(two, text="kept", who=factories.user())
    picked = {"picked": [str(one.uuid), str(two.uuid)]}
    before = state()
    preview = client.post(reverse("triage:pick-merge"), picked, follow=True)
    page = preview.content.decode()
    assert "Merge 2 buckets" in page
    assert "1 note, 0 reports" in page
    assert "dtypes differs" in page
    assert state() == before

    done = client.post(
        reverse("triage:merge-buckets"),
        {**picked, "into": str(one.uuid), "why": "same kernel"},
        follow=True,
    ).content.decode()
    assert "1 bucket merged into this one." in done
    assert "merged from “two”" in done
    assert "same kernel" in done
    batch = BucketEvent.objects.get(kind="merged").batch
    assert reverse("triage:undo-batch", args=[batch]) in done
    client.post(reverse("triage:undo-batch", args=[batch]))
    assert Bucket.objects.count() == 2


@pytest.mark.usefixtures("person")
def test_address_of_a_merged_bucket_leads_to_where_its_findings_are(client: Client) -> None:
    one, two = found("one").bucket, found("two").bucket
    data = {"picked": [str(one.uuid), str(two.uuid)], "into": str(one.uuid)}
    client.post(reverse("triage:merge-buckets"), data)
    response = client.get(two.get_absolute_url())
    assert response["Location"] == one.get_absolute_url()
    client.post(address("add-note", two), {"text": "written on an old page"})
    assert one.notes.count() == 1


@pytest.mark.usefixtures("person")
def test_address_of_a_finding_is_taken_for_its_bucket(client: Client) -> None:
    one, two = found("one").bucket, found("two")
    query = {"picked": str(one.uuid), "address": f"http://triage.example{two.get_absolute_url()}"}
    assert "Merge 2 buckets" in text(client, reverse("triage:preview-merge"), query)
    query["address"] = "http://triage.example/"
    page = text(client, reverse("triage:preview-merge"), query)
    assert "No bucket and no finding is at that address." in page


@pytest.mark.usefixtures("person")
def test_merging_one_bucket_or_a_circle_is_explained(client: Client) -> None:
    one, two = found("one").bucket, found("two").bucket
    page = text(client, reverse("triage:preview-merge"), {"picked": str(one.uuid)})
    assert "Pick at least two buckets to merge." in page
    services.move_buckets([one], to="duplicate", duplicate_of=two, who=factories.user())
    query = {"picked": [str(one.uuid), str(two.uuid)], "into": str(one.uuid)}
    assert "Merge them the other way round." in text(client, reverse("triage:preview-merge"), query)
    client.post(reverse("triage:merge-buckets"), query)
    assert Bucket.objects.count() == 2


@pytest.mark.usefixtures("person")
def test_preview_of_a_merge_warns_where_the_buckets_do_not_fail_alike(client: Client) -> None:
    one, two = found("one").bucket, factories.bucket(symptom="crash")
    services.move_buckets([two], to="confirmed", who=factories.user())
    query = {"picked": [str(one.uuid), str(two.uuid)], "into": str(one.uuid)}
    page = text(client, reverse("triage:preview-merge"), query)
    assert "They do not fail alike" in page
    assert "<strong>confirmed bug</strong>" in page


# ----------------------------------------------------------------------------------------- split
@pytest.mark.usefixtures("person")
def test_members_are_split_off_after_a_preview(client: Client) -> None:
    members = [found("s", dtypes=name) for name in ("float32", "float32", "integer")]
    bucket, before = members[0].bucket, state()
    query = {"part": "dtypes", "value": "integer"}
    page = text(client, address("preview-split", bucket), query)
    assert "Split 1 of 3 findings off" in page
    assert state() == before
    page = client.post(
        address("split-bucket", bucket), {**query, "why": "integers"}, follow=True
    ).content.decode()
    made = Bucket.objects.exclude(pk=bucket.pk).get()
    assert made.findings.get() == members[2]
    assert "split off “s”" in page
    assert "integers" in page


@pytest.mark.usefixtures("person")
def test_splitting_everything_or_nothing_is_explained(client: Client) -> None:
    member = found("s")
    path = address("preview-split", member.bucket)
    assert client.get(path).status_code == 422
    page = client.get(path, {"member": str(member.uuid)}).content.decode()
    assert "At least one member must stay." in page
    assert client.get(path, {"member": "nobody"}).status_code == 400


# ------------------------------------------------------------------------------------------ rule
@pytest.mark.usefixtures("person")
def test_rule_shows_what_it_would_move_and_moves_it(client: Client) -> None:
    bucket = found("float").bucket
    found("integer", dtypes="integer")
    before = state()
    query = {"part": ["kind", "calls"], "none": "1"}
    page = text(client, address("preview-rule", bucket), query)
    assert "1 finding" in page
    assert "Nothing would be left" in page
    assert state() == before
    page = client.post(
        address("set-rule", bucket), {"part": ["kind", "calls"], "why": "any dtype"}, follow=True
    ).content.decode()
    assert "The rule is set." in page
    assert "by the rule: kind is values, calls is exp.function" in page
    assert Bucket.objects.get().count == 2
    lifting = text(client, address("preview-rule", bucket), {"none": "1"})
    assert "Lift the rule" in lifting
    client.post(address("set-rule", bucket), {})
    assert Bucket.objects.count() == 2


@pytest.mark.usefixtures("person")
def test_rule_of_a_bucket_whose_signature_has_a_version_opens_without_the_version(
    client: Client,
) -> None:
    bucket = found("s", version="2").bucket
    page = text(client, address("preview-rule", bucket))
    assert 'value="kind" checked' in page
    assert 'value="version"' not in page


@pytest.mark.usefixtures("person")
def test_rule_that_cannot_be_told_from_another_is_refused_on_the_page(client: Client) -> None:
    one, two = found("one").bucket, found("two", calls="log.function").bucket
    client.post(address("set-rule", one), {"part": ["kind", "calls"]})
    query = {"part": ["kind", "dtypes"], "none": "1"}
    response = client.get(address("preview-rule", two), query)
    assert response.status_code == 422
    assert "nothing would say which wins" in response.content.decode()
    client.post(address("set-rule", two), {"part": ["kind", "dtypes"]})
    assert GroupingRule.objects.count() == 1


# -------------------------------------------------------------------------------------- verdicts
@pytest.mark.usefixtures("person")
def test_page_asks_for_what_a_verdict_needs(client: Client) -> None:
    bucket, other = found("s").bucket, found("other").bucket
    move = address("move-bucket", bucket)

    def post(**fields: str) -> str:
        return client.post(move, {"page": "1", **fields}, follow=True).content.decode()

    assert "Say which kind of false alarm it is." in post(to="false_alarm")
    assert "Say which bucket it is a duplicate of." in post(to="duplicate")
    assert "No bucket and no finding" in post(to="duplicate", duplicate_of="https://a.example")
    bucket.refresh_from_db()
    assert bucket.status == "new"
    post(to="duplicate", duplicate_of=other.get_absolute_url(), why="same")
    bucket.refresh_from_db()
    assert (bucket.status, bucket.duplicate_of) == ("duplicate", other)


@pytest.mark.usefixtures("person")
def test_known_limit_shows_what_it_catches_and_asks_for_a_source(client: Client) -> None:
    bucket = found("s").bucket
    found("quieted", dtypes="integer")
    before = state()
    move = {"page": "1", "to": "known_limit", "why": "as documented"}
    page = client.post(address("move-bucket", bucket), move, follow=True).content.decode()
    assert "as documented" in page
    query = {"part": ["kind", "calls"], "why": "as documented"}
    assert "quieted" in text(client, address("preview-limit", bucket), query)
    assert state() == before

    accept = address("accept-limit", bucket)
    end = timezone.localdate() + timedelta(days=30)
    data = {**query, "expires_on": end.isoformat()}
    assert client.post(accept, data).status_code == 422
    late = {**data, "source": "docs", "expires_on": "2020-01-01"}
    assert client.post(accept, late).status_code == 422
    assert client.post(accept, {**data, "source": "docs", "part": []}).status_code == 422
    page = client.post(accept, {**data, "source": "docs"}, follow=True).content.decode()
    assert "Suppressed</strong> until" in page
    made = Suppression.objects.get()
    assert (made.parts, made.source) == ({"kind": "values", "calls": "exp.function"}, "docs")
    assert Bucket.objects.filter(suppression=made).count() == 2


@pytest.mark.usefixtures("person")
def test_suppressions_are_listed_with_what_they_caught_moved_and_lifted(client: Client) -> None:
    path = reverse("triage:list-suppressions")
    assert "Nothing is suppressed" in text(client, path)
    bucket = found("s").bucket
    services.move_buckets(
        [bucket], to="known_limit", who=factories.user(), why="why", source="https://a.example/x"
    )
    found("s")
    (row,) = client.get(path).context["active"]
    assert (row.caught, row.covers, row.held) == (1, 2, 1)
    end = timezone.localdate() + timedelta(days=3)
    move = reverse("triage:move-expiry", args=[row.uuid])
    assert (
        "on a day to come"
        in client.post(move, {"expires_on": "2020-01-01"}, follow=True).content.decode()
    )
    client.post(move, {"expires_on": end.isoformat()})
    row.refresh_from_db()
    assert timezone.localtime(row.expires_at).date() == end
    page = client.post(
        reverse("triage:lift-suppression", args=[row.uuid]), follow=True
    ).content.decode()
    assert "asks for a person again" in page
    assert not client.get(path).context["active"]
    assert "Nothing is suppressed." in text(client, bucket.get_absolute_url())


# --------------------------------------------------------------------------------------- queries
@pytest.mark.usefixtures("person")
def test_pages_take_the_same_number_of_queries_at_any_size(
    client: Client, person: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    bucket = found("s").bucket
    other = found("o", calls="log.function").bucket
    merge = {"picked": [str(bucket.uuid), str(other.uuid)]}
    split = {"part": "dtypes", "value": "integer"}
    rule = {"part": ["kind", "calls"], "none": "1"}
    for size in (2, 9):
        for number in range(size):
            found("s", dtypes="integer")
            found("s", dtypes="float32")
            found(f"{size} {number}", dtypes="bool")
            limit = found(f"l {size} {number}", calls=f"op{size}{number}").bucket
            services.move_buckets([limit], to="known_limit", who=person)
        for path, query, count in (
            (reverse("triage:preview-merge"), merge, 8),
            (address("preview-split", bucket), split, 12),
            (address("preview-rule", bucket), rule, 16),
            (address("preview-limit", bucket), {"part": ["kind"]}, 9),
            (reverse("triage:list-suppressions"), {}, 6),
        ):
            with django_assert_num_queries(count):
                client.get(path, query)
