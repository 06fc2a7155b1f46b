"""The scoreboard counts buckets by how far they got, under one definition."""

from __future__ import annotations

import pytest

from tests import factories
from triage.scoreboard import COLUMNS, ScoreRow, scoreboard, total

pytestmark = pytest.mark.django_db


def of(framework: str, symptom: str, rows: tuple[ScoreRow, ...]) -> dict[str, int]:
    row = next(one for one in rows if (one.framework, one.symptom) == (framework, symptom))
    return dict(row.counts)


def test_each_column_counts_those_that_got_so_far() -> None:
    reported = factories.bucket(symptom="crash", status="reported")
    for status in ("confirmed", "reported"):
        factories.report(bucket=reported, status=status, upstream_url=f"https://a.example/{status}")
    fixed = factories.bucket(symptom="crash", status="fixed")
    factories.report(bucket=fixed, status="fixed", upstream_url="https://a.example/fixed")
    factories.bucket(symptom="crash")
    factories.report(bucket=factories.bucket(symptom="crash", status="needs_work"))
    counts = of("torch", "crash", scoreboard())
    assert counts == {
        "found": 4,
        "triaged": 3,
        "reported": 2,
        "confirmed": 2,
        "fixed": 1,
        "confirmed_upstream": 0,
        "fix_claimed": 1,
        "regressed": 0,
        "rejected": 0,
        "set_aside": 0,
    }


def test_what_was_set_aside_is_not_found() -> None:
    for status in ("duplicate", "false_alarm", "known_limit"):
        bucket = factories.bucket(status=status)
        factories.report(
            bucket=bucket, status="rejected", upstream_url=f"https://a.example/{status}"
        )
    counts = of("torch", "numerical", scoreboard())
    assert (counts["found"], counts["reported"]) == (0, 0)
    assert (counts["rejected"], counts["set_aside"]) == (3, 3)


def test_period_is_that_of_the_first_sight() -> None:
    factories.bucket(first_seen=factories.days_ago(40), last_seen=factories.days_ago(1))
    factories.bucket(first_seen=factories.days_ago(3))
    since, until = factories.days_ago(30), factories.days_ago(0)
    assert of("torch", "numerical", scoreboard(since=since, until=until))["found"] == 1
    assert of("torch", "numerical", scoreboard())["found"] == 2


def test_every_pair_is_there_and_the_sum_below_it(django_assert_num_queries: object) -> None:
    factories.bucket(accused_framework="mindspore", symptom="state")
    with django_assert_num_queries(1):  # type: ignore[operator]
        rows = scoreboard()
    assert len(rows) == 8
    assert dict(zip([one.name for one in COLUMNS], total(rows), strict=True))["found"] == 1
