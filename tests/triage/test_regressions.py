"""A script that passes on an older version makes its finding a regression."""

from pathlib import Path

import pytest

from tests import factories
from triage import reruns
from triage.counting import points_of, recount, weigh_again
from triage.models import Bucket, FindingRecord, Rerun
from triage.regressions import passes_on

pytestmark = pytest.mark.django_db
PASSED, FAILED = {"ending": "passed"}, {"ending": "reproduced"}


def ran(
    record: FindingRecord, version: str, *results: dict[str, str], state: str = "finished"
) -> None:
    record.reruns.create(
        state=state, attempts=len(results), results=list(results), versions={"torch": version}
    )


@pytest.mark.parametrize(
    ("version", "results", "said"),
    [
        ("2.12.0", (PASSED, PASSED), "torch 2.12.0"),
        ("2.12.0+cpu", (PASSED,), "torch 2.12.0"),
        ("2.9.1", (PASSED,), "torch 2.9.1"),
        ("2.12.0", (PASSED, FAILED), ""),
        ("2.12.0", (PASSED, {"ending": "could not run"}), ""),
        ("2.13.0+cpu", (PASSED,), ""),
        ("2.14.0.dev20261101", (PASSED,), ""),
        ("nightly", (PASSED,), ""),
        ("", (PASSED,), ""),
    ],
)
def test_only_a_full_pass_on_an_older_version_counts(
    version: str, results: tuple[dict[str, str], ...], said: str
) -> None:
    record = factories.finding()
    ran(record, version, *results)
    assert passes_on(record) == said


def test_newest_of_the_older_versions_is_named() -> None:
    record = factories.finding()
    for version in ("2.9.0", "2.12.1", "2.11.0"):
        ran(record, version, PASSED)
    ran(record, "2.12.9", PASSED, state="cancelled")
    assert passes_on(record) == "torch 2.12.1"


def test_failure_on_the_same_older_version_takes_it_back() -> None:
    record = factories.finding()
    ran(record, "2.12.0", PASSED)
    ran(record, "2.12.0", FAILED)
    assert passes_on(record) == ""


def test_finding_of_another_version_of_the_engine_keeps_its_impact() -> None:
    record = factories.finding()
    record.data, record.impact = {"script": ""}, 7
    record.save()
    weigh_again(record)
    record.refresh_from_db()
    assert record.impact == 7


def test_finding_that_does_not_say_its_version_is_no_regression() -> None:
    record = factories.finding(environment={"python": "3.11.2"})
    ran(record, "2.12.0", PASSED)
    assert passes_on(record) == ""


def test_rerun_on_an_older_version_raises_the_impact_and_no_flag(tmp_path: Path) -> None:
    older = factories.environment("torch 2.12")
    record = factories.finding(script="print('torch 2.12.0')\nprint('no difference')")
    before = record.impact
    rerun = reruns.ask_rerun(record, who=factories.user(), environment=older, attempts=1)
    assert reruns.run_rerun(rerun.pk, owner="one", scratch=tmp_path)
    assert Rerun.objects.get().words == "no longer reproduces: passed 1 of 1"
    bucket = Bucket.objects.get()
    assert bucket.flag == ""
    assert bucket.impact == before + 10
    assert [10, "regression: passes on torch 2.12.0"] in bucket.impact_points
    record.refresh_from_db()
    assert record.impact == bucket.impact
    # Counting all again, as after a merge, keeps it.
    assert recount(bucket).impact == before + 10
    assert sum(point.points for point in points_of(record)) == before + 10
