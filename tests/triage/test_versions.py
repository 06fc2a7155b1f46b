"""The matrix, what counts in it, verified fixes and regressions, retests, searches, follow-ups."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Environment
from tests import factories
from triage import reruns, retesting
from triage.follow_up import follow_up
from triage.models import Bisection, Bucket, Report, Rerun
from triage.reporting import move_report
from triage.retesting import NothingToRunError, learn
from triage.services import MoveRefusedError
from triage.versions import bucket_row, matrix

pytestmark = pytest.mark.django_db

URL = "https://github.com/pytorch/pytorch/issues/1"
# Fails where the environment says so; the version is what the interpreter says of itself.
SCRIPT = """import os, sys
print("torch", os.environ["ITS_VERSION"])
assert os.environ["ITS_VERSION"] not in {bad!r}, "wrong"
print("no difference")
"""


def ran(bucket: Bucket, version: str, endings: str, **fields: Any) -> Rerun:
    """A run that has ended: f failed, p passed, n could not run, a letter for each attempt."""
    words = {"f": "reproduced", "p": "passed", "n": "could not run"}
    known = "f" in endings or "p" in endings
    return factories.rerun(
        finding=bucket.findings.first(),
        attempts=len(endings),
        endings=[words[one] for one in endings],
        state=Rerun.State.DONE if known else Rerun.State.FAILED,
        problem="" if known else "no such module",
        versions={bucket.framework: version},
        **{"ended_at": timezone.now(), **fields},
    )


def cells(bucket: Bucket) -> dict[str, str]:
    """By version, what the matrix says."""
    row = bucket_row(bucket)
    return {
        one.column.version: one.said.outcome.value if one.said else "not run" for one in row.cells
    }


# ------------------------------------------------------------------------------------ what counts
def test_matrix_has_a_column_for_each_version_installed_or_only_known() -> None:
    bucket = factories.bucket()
    factories.environment("torch old", "2.11.0")
    factories.environment("torch next", "2.14.0.dev20261120+cpu")
    ran(bucket, "2.12.0", "fff")
    assert cells(bucket) == {
        "2.11.0": "not run",
        "2.12.0": "fails",
        "2.13.0": "fails",
        "2.14.0.dev20261120+cpu": "not run",
    }
    row = bucket_row(bucket)
    assert [one.column.kind for one in row.cells] == ["Release", "", "", "Nightly"]
    assert row.cells[2].said is not None
    assert row.cells[2].said.words == "failed 3 of 3 when it was found"


@pytest.mark.parametrize(
    ("endings", "outcome"),
    [
        ("fff", "fails"),
        ("ffp", "fails at times"),
        ("fn", "fails"),
        ("ppp", "passes"),
        ("ppn", "could not run"),
        ("nn", "could not run"),
    ],
)
def test_attempts_add_up_and_what_could_not_run_is_no_pass(endings: str, outcome: str) -> None:
    bucket = factories.bucket()
    ran(bucket, "2.14.0", endings)
    assert cells(bucket)["2.14.0"] == outcome


def test_latest_run_of_an_environment_counts_and_of_environments_the_worst() -> None:
    bucket = factories.bucket()
    one, two = (factories.environment(f"torch {name}", "2.14.0") for name in ("one", "two"))
    ran(bucket, "2.14.0", "fff", environment=one, ended_at=factories.days_ago(2))
    ran(bucket, "2.14.0", "ppp", environment=one, ended_at=factories.days_ago(1))
    assert cells(bucket)["2.14.0"] == "passes"
    ran(bucket, "2.14.0", "f", environment=two)
    assert cells(bucket)["2.14.0"] == "fails"
    cell = bucket_row(bucket).cells[-1]
    assert [one.words for one in cell.others] == ["passed 3 of 3", "failed 3 of 3"]


def test_rerun_on_the_version_of_the_discovery_is_news() -> None:
    bucket = factories.bucket()
    ran(bucket, "2.13.0", "ppp")
    assert cells(bucket) == {"2.13.0": "passes"}


def test_matrix_takes_the_same_number_of_queries_for_many(
    django_assert_num_queries: Any,
) -> None:
    for number in range(4):
        ran(factories.bucket(), f"2.1{number}.0", "ff")
    buckets = list(Bucket.objects.all())
    with django_assert_num_queries(3):
        assert len(matrix(buckets, framework="torch").rows) == 4


def test_builds_of_a_version_share_a_column() -> None:
    bucket = factories.bucket()
    factories.environment("torch", "2.13.0+cpu")
    ran(bucket, "2.13.0+cpu", "ff")
    assert cells(bucket) == {"2.13.0+cpu": "fails"}


# --------------------------------------------------------------------------- verified and regressed
def test_fix_is_verified_by_n_of_n_on_a_newer_version() -> None:
    bucket = factories.bucket()
    ran(bucket, "2.14.0", "pppp")
    assert bucket_row(bucket).verified is None, "four are too few"
    ran(bucket, "2.12.0", "p" * 10)
    assert bucket_row(bucket).verified is None, "it failed on a newer one"
    ran(bucket, "2.14.0", "ppppp")
    verified = bucket_row(bucket).verified
    assert verified is not None
    assert (verified.said.version, str(verified.newest_failing)) == ("2.14.0", "2.13.0")


@pytest.mark.parametrize("endings", ["ppppn", "ppppf", "nn"])
def test_anything_but_a_pass_verifies_nothing(endings: str) -> None:
    bucket = factories.bucket()
    ran(bucket, "2.14.0", endings)
    assert bucket_row(bucket).verified is None


def test_it_is_regressed_when_it_fails_again_where_it_was_fixed_or_later() -> None:
    bucket = factories.bucket()
    ran(bucket, "2.14.0", "ppppp", ended_at=factories.days_ago(3))
    ran(bucket, "2.12.0", "fff", ended_at=factories.days_ago(2))
    assert bucket_row(bucket).regressed is None, "an older version never had the fix"
    ran(bucket, "2.15.0", "ff", ended_at=factories.days_ago(1))
    row = bucket_row(bucket)
    assert row.verified is None
    assert row.regressed is not None
    assert (row.regressed.verified.version, row.regressed.failing.version) == ("2.14.0", "2.15.0")
    ran(bucket, "2.15.0", "ppppp")
    assert bucket_row(bucket).regressed is None, "a later run there says otherwise"
    assert bucket_row(bucket).verified is not None


def test_report_is_not_moved_to_fixed_before_a_run_says_so() -> None:
    report = factories.report(status="fix_claimed", upstream_url=URL)
    with pytest.raises(MoveRefusedError, match="Nothing has verified the fix yet"):
        move_report(report, to="fixed", who=factories.user())
    factories.verified(report.bucket)
    assert move_report(report, to="fixed", who=factories.user()).status == "fixed"


def test_retests_propose_and_people_decide() -> None:
    report = factories.report(status="fix_claimed", upstream_url=URL)
    learn(factories.verified(report.bucket, version="2.14.0"))
    report.refresh_from_db()
    assert (report.status, report.proposed, report.proposed_by) == (
        "fix_claimed",
        "fixed",
        "retest",
    )
    assert report.proposed_why == (
        "torch 2.14.0 passed 5 of 5 in fresh processes; the newest that fails is 2.13.0."
    )
    move_report(report, to="fixed", who=factories.user())
    learn(ran(report.bucket, "2.15.0", "ff", ended_at=timezone.now() + timedelta(hours=1)))
    report.refresh_from_db()
    assert (report.status, report.proposed) == ("fixed", "regressed")
    assert report.proposed_why == "torch 2.15.0 failed 2 of 2, after 2.14.0 passed 5 of 5."


def test_draft_gets_no_proposal() -> None:
    report = factories.report()
    learn(factories.verified(report.bucket))
    report.refresh_from_db()
    assert report.proposed == ""


# ---------------------------------------------------------------------------------------- retests
def test_retest_asks_the_best_finding_on_each_environment_of_its_framework() -> None:
    bucket = factories.bucket()
    ours = [factories.environment(f"torch {name}", "2.1") for name in ("a", "b")]
    factories.environment("mindspore", "2.10.0")
    asked = retesting.retest([bucket], Environment.objects.all(), who=factories.user(), attempts=5)
    assert {one.environment for one in asked.reruns} == set(ours)
    assert {(one.finding.bucket, one.attempts) for one in asked.reruns} == {(bucket, 5)}
    again = retesting.retest([bucket], ours, who=factories.user())
    assert (again.reruns, again.waiting) == ((), 2)
    assert sum(len(one.waiting) for one in bucket_row(bucket).cells) == 2


def test_retest_without_anything_that_fits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = factories.bucket()
    other = factories.environment("mindspore", "2.10.0")
    with pytest.raises(NothingToRunError, match="No script of these buckets fits"):
        retesting.retest([bucket], [other], who=factories.user())
    monkeypatch.setattr(retesting, "MOST_ASKED", 1)
    two = [factories.environment(f"torch {name}", "2.1") for name in ("a", "b")]
    with pytest.raises(NothingToRunError, match="That is 2 runs; at most 1 are queued at once"):
        retesting.retest([bucket], two, who=factories.user())
    assert not Rerun.objects.exists()


# ----------------------------------------------------------------------------------------- searches
def interpreters(folder: Path, *versions: str) -> list[Environment]:
    """Environments whose scripts find their version in a variable."""
    made = []
    for version in versions:
        path = folder / f"python-{version}"
        path.write_text(f'#!/bin/sh\nITS_VERSION={version} exec "{sys.executable}" "$@"\n')
        path.chmod(0o755)
        made.append(factories.environment(f"torch {version}", version, interpreter=str(path)))
    return made


def work(scratch: Path) -> list[str]:
    """Run what is queued, as workers do, until nothing is; the versions in order."""
    done = []
    while hints := reruns.sweep_reruns():
        for hint in hints:
            assert reruns.run_rerun(hint.job, owner="one", scratch=scratch, on_end=learn)
            done.append(Rerun.objects.get(pk=hint.job).versions["torch"])
        retesting.go_on()
    return done


def test_search_finds_the_first_bad_and_the_first_good_version(tmp_path: Path) -> None:
    interpreters(tmp_path, "2.8", "2.9", "2.10", "2.11", "2.12", "2.14", "2.15", "2.16")
    bad = {"2.11", "2.12", "2.13.0", "2.14"}
    bucket = factories.bucket(script=SCRIPT.format(bad=bad))
    search = retesting.ask_bisection(bucket, who=factories.user(), attempts=1)
    assert retesting.running_bisection(bucket) == search
    asked = work(tmp_path)
    assert asked[:2] == ["2.8", "2.16"]
    row = bucket_row(bucket)
    assert (str(row.standing.first_bad), str(row.standing.first_good)) == ("2.11", "2.15")
    assert len(asked) < 8, "not every version was asked"
    search.refresh_from_db()
    assert search.state == "finished"
    with pytest.raises(NothingToRunError, match="No installed version is left"):
        retesting.ask_bisection(bucket, who=factories.user())


def test_search_goes_on_by_the_sweep_where_its_worker_died_after_the_run(tmp_path: Path) -> None:
    interpreters(tmp_path, "2.12", "2.14")
    bucket = factories.bucket(script=SCRIPT.format(bad={"2.13.0"}))
    retesting.ask_bisection(bucket, who=factories.user(), attempts=1)
    (hint,) = reruns.sweep_reruns()
    reruns.run_rerun(hint.job, owner="one", scratch=tmp_path)
    assert reruns.sweep_reruns() == []
    assert retesting.go_on() == 1
    assert retesting.go_on() == 0, "its next run is open"
    assert len(reruns.sweep_reruns()) == 1


def test_only_one_search_of_a_finding_runs_and_it_can_be_cancelled(tmp_path: Path) -> None:
    interpreters(tmp_path, "2.12", "2.14")
    bucket = factories.bucket()
    search = retesting.ask_bisection(bucket, who=factories.user())
    with pytest.raises(NothingToRunError, match="A search runs already"):
        retesting.ask_bisection(bucket, who=factories.user())
    assert retesting.cancel_bisection(search)
    assert not retesting.cancel_bisection(search)
    assert [one.state for one in search.reruns.all()] == ["cancelled"]


def test_cancelling_its_run_ends_the_search(tmp_path: Path) -> None:
    interpreters(tmp_path, "2.12", "2.14")
    search = retesting.ask_bisection(factories.bucket(), who=factories.user())
    reruns.cancel_rerun(search.reruns.get())
    retesting.go_on()
    search.refresh_from_db()
    assert search.state == "cancelled"


def test_version_that_cannot_run_does_not_stop_the_search(tmp_path: Path) -> None:
    for environment in interpreters(tmp_path, "2.11", "2.12", "2.14"):
        if environment.version == "2.11":
            Environment.objects.filter(pk=environment.pk).update(interpreter="/no/such/python")
    bucket = factories.bucket(script=SCRIPT.format(bad={"2.13.0"}))
    search = retesting.ask_bisection(bucket, who=factories.user(), attempts=1)
    work(tmp_path)
    assert cells(bucket) == {
        "2.11": "could not run",
        "2.12": "passes",
        "2.13.0": "fails",
        "2.14": "passes",
    }
    search.refresh_from_db()
    assert search.state == "finished"


# --------------------------------------------------------------------------------------- follow-ups
def test_comment_says_what_ran_where() -> None:
    report = factories.report(status="fix_claimed", upstream_url=URL)
    ran(report.bucket, "2.12.0", "nn")
    ran(report.bucket, "2.14.0", "ppppp")
    text = follow_up(report, bucket_row(report.bucket))
    assert text.startswith("The fix holds: on PyTorch 2.14.0 the script above passed 5 of 5")
    assert "| 2.12.0 | no such module |" in text
    assert "| 2.13.0 | failed 3 of 3 when it was found |" in text
    assert "First good: 2.14.0" in text
    assert "Regression Version" not in text


@pytest.mark.parametrize(
    ("runs", "begins", "conclusion"),
    [
        ([("2.14.0", "ppppp")], "The fix holds", "通过"),
        ([("2.14.0", "ppp")], "On MindSpore 2.14.0 the script above passed 3 of 3", "不通过"),
        ([("2.14.0", "fff")], "This still happens on MindSpore 2.14.0", "不通过"),
        ([("2.14.0", "ppppp"), ("2.15.0", "fff")], "This is back in MindSpore 2.15.0", "不通过"),
    ],
)
def test_regression_block_is_mindspores(
    runs: list[tuple[str, str]], begins: str, conclusion: str
) -> None:
    bucket = factories.bucket(
        accused_framework="mindspore",
        accused_modes=("mindspore-graph",),
        environment={"mindspore": "2.10.0"},
    )
    report = factories.report(bucket=bucket)
    for at, (version, endings) in enumerate(runs):
        ran(bucket, version, endings, ended_at=timezone.now() + timedelta(minutes=at))
    text = follow_up(report, bucket_row(bucket))
    assert text.startswith(begins)
    block = text.strip().splitlines()[-4:]
    assert "commit" not in block[0], "nobody said it"
    assert block[0] == f"Regression Version: MindSpore {runs[-1][0]} (CPU)"
    assert block[1].startswith("Regression Step: python reproduce_")
    assert block[3] == f"Conclusion: {conclusion}"


def test_regression_block_names_the_commit_where_the_environment_knows_it() -> None:
    bucket = factories.bucket(
        accused_framework="mindspore",
        accused_modes=("mindspore-graph",),
        environment={"mindspore": "2.10.0"},
    )
    rerun = ran(bucket, "2.14.0", "ppppp")
    rerun.versions |= {"commit": "4bcfac44"}
    rerun.save()
    text = follow_up(factories.report(bucket=bucket), bucket_row(bucket))
    assert "Regression Version: MindSpore 2.14.0, commit 4bcfac44 (CPU)" in text


# -------------------------------------------------------------------------------------------- pages
@pytest.fixture
def person(client: Client) -> Client:
    client.force_login(factories.user("ada"))
    return client


def test_bucket_page_shows_versions_and_queues_runs(person: Client) -> None:
    bucket = factories.bucket()
    old = factories.environment("torch old", "2.11.0")
    factories.environment("torch older", "2.10.0")
    ran(bucket, "2.14.0", "ppppp")
    page = person.get(bucket.get_absolute_url()).content.decode()
    assert "Fix verified." in page
    assert "First good: 2.14.0" in page
    path = reverse("triage:retest-bucket", args=[bucket.uuid])
    shown = person.post(path, {"environment": str(old.uuid), "attempts": "1"}, follow=True)
    assert "1 run queued." in shown.content.decode()
    person.post(path, {"environment": "", "attempts": "5"})
    assert sorted(Rerun.objects.filter(state="queued").values_list("attempts", flat=True)) == [1, 5]
    refused = person.post(path, {"attempts": "4"}, follow=True).content.decode()
    assert "Choose an environment" in refused


def test_search_is_begun_and_cancelled_on_the_page(person: Client) -> None:
    bucket = factories.bucket()
    factories.environment("torch old", "2.11.0")
    path = reverse("triage:add-bisection", args=[bucket.uuid])
    page = person.post(path, {"attempts": "1"}, follow=True).content.decode()
    assert "A search goes on" in page
    search = Bisection.objects.get()
    panel = person.post(
        reverse("triage:cancel-bisection", args=[search.uuid]), headers={"HX-Request": "true"}
    ).content.decode()
    assert "<html" not in panel
    assert "A search goes on" not in panel


def test_what_is_refused_is_said_in_the_panel_too(person: Client) -> None:
    bucket = factories.bucket()
    path = reverse("triage:retest-bucket", args=[bucket.uuid])
    panel = person.post(path, {"attempts": "1"}, headers={"HX-Request": "true"}).content.decode()
    assert "No script of these buckets fits an environment that was chosen." in panel


def test_matrix_filters_and_queues_the_picked(person: Client) -> None:
    exp, tan = factories.bucket(title="exp is wrong"), factories.bucket(title="tan is wrong")
    factories.bucket(title="other", accused_framework="mindspore")
    factories.environment("torch old", "2.11.0")
    ran(exp, "2.12.0", "ppp")
    path = reverse("triage:list-versions")
    shown = {
        query: [row.bucket.title for row in person.get(f"{path}?{query}").context["matrix"].rows]
        for query in ("", "runs=yes", "runs=no", "q=tan", "framework=mindspore", "status=fixed")
    }
    assert sorted(shown[""]) == ["exp is wrong", "tan is wrong"]
    assert (shown["runs=yes"], shown["runs=no"]) == (["exp is wrong"], ["tan is wrong"])
    assert (shown["q=tan"], shown["framework=mindspore"]) == (["tan is wrong"], ["other"])
    assert shown["status=fixed"] == []
    run = reverse("triage:retest-versions")
    picked = {"framework": "torch", "bucket": [str(tan.uuid)], "environment": "", "attempts": "3"}
    assert "1 run queued." in person.post(run, picked, follow=True).content.decode()
    assert Rerun.objects.get(state="queued").finding.bucket == tan
    none = person.post(run, picked | {"bucket": ["x"]}, follow=True).content.decode()
    assert "Pick at least one bucket." in none


def test_pages_of_versions_are_for_who_is_logged_in(client: Client) -> None:
    bucket = factories.bucket()
    for path in (
        reverse("triage:list-versions"),
        reverse("triage:show-versions", args=[bucket.uuid]),
        reverse("triage:download-follow-up", args=[factories.report(bucket=bucket).uuid]),
    ):
        assert client.get(path).status_code == 302


# ---------------------------------------------------------------------------------------------- API
def post(client: Client, path: str, given: dict[str, Any]) -> Any:
    return client.post(path, json.dumps(given), "application/json")


def test_api_says_what_versions_say(person: Client) -> None:
    bucket = factories.bucket()
    ran(bucket, "2.14.0", "ppppp")
    found = person.get(f"/api/buckets/{bucket.uuid}/versions/").json()
    assert (found["first_bad"], found["first_good"], found["fix_verified_on"]) == (
        None,
        "2.14.0",
        "2.14.0",
    )
    assert [(one["version"], one["outcome"]) for one in found["cells"]] == [
        ("2.13.0", "fails"),
        ("2.14.0", "passes"),
    ]
    assert person.get("/api/versions/?runs=yes").json() == [found]
    assert person.get("/api/versions/?status=nonsense").status_code == 400
    report = factories.report(bucket=bucket)
    text = person.get(f"/api/reports/{report.uuid}/follow-up/").json()["text"]
    assert text.startswith("The fix holds")


def test_api_retests_and_searches(person: Client) -> None:
    bucket = factories.bucket()
    factories.environment("torch old", "2.11.0")
    factories.environment("mindspore", "2.10.0")
    path = f"/api/buckets/{bucket.uuid}/"
    made = post(person, f"{path}retest/", {"environments": ["torch old"], "attempts": 5})
    assert made.status_code == 201
    assert [one["environment"] for one in made.json()["reruns"]] == ["torch old"]
    stranger = post(person, f"{path}retest/", {"environments": ["mindspore"]})
    assert stranger.json() == {"environments": "mindspore: not of torch."}
    assert post(person, f"{path}bisection/", {"attempts": 1}).status_code == 201
    assert post(person, f"{path}bisection/", {}).status_code == 409
    assert person.delete(f"{path}bisection/").status_code == 204
    assert person.delete(f"{path}bisection/").status_code == 409
    assert (
        person.get("/api/buckets/00000000-0000-0000-0000-000000000000/versions/").status_code == 404
    )
    assert Report.objects.count() == 0
