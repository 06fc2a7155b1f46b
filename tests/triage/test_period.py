"""Periods in hours, days and weeks, and the rounds counted by them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from campaigns.trends import RoundCounts, first_campaign_at, rounds_by_ten_minutes
from flowmut_web.period import Period
from tests import factories

NOON = datetime(2026, 11, 18, 12, 30, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("length", "unit", "count"),
    [
        (timedelta(0), "ten minutes", 1),
        (timedelta(hours=5), "ten minutes", 31),
        (timedelta(hours=20), "hour", 21),
        (timedelta(days=10), "day", 11),
        (timedelta(days=200), "week", 30),
    ],
)
def test_longer_periods_are_counted_more_coarsely(length: timedelta, unit: str, count: int) -> None:
    period = Period(NOON - length, NOON)
    assert period.unit == unit
    assert len(period.starts()) == count
    assert period.starts()[-1] == period.start_of(NOON)


def test_weeks_begin_on_monday_and_days_at_local_midnight() -> None:
    assert Period(NOON - timedelta(days=200), NOON).start_of(NOON) == date(2026, 11, 16)
    late = datetime(2026, 11, 17, 23, 30, tzinfo=UTC)
    with timezone.override("Asia/Shanghai"):
        assert Period(NOON - timedelta(days=10), NOON).start_of(late) == date(2026, 11, 18)


def test_running_totals_begin_with_what_was_there_before() -> None:
    period = Period(NOON - timedelta(days=9), NOON)
    times = [NOON - timedelta(days=days) for days in (100, 9, 2, -1)]
    assert period.running_totals(times) == (2, 2, 2, 2, 2, 2, 2, 3, 3, 3)


@pytest.mark.django_db
def test_rounds_are_counted_where_they_were_recorded(django_assert_num_queries: object) -> None:
    shard = factories.shard()
    for number, (hours, fields) in enumerate(
        [
            (0, {"accepted": True}),
            (1, {"accepted": False, "verdict": "fail"}),
            (1, {"accepted": True, "seconds": 4.5}),
            (900, {"accepted": True}),
        ]
    ):
        at = NOON - timedelta(hours=hours)
        factories.mutant(shard=shard, round=number, created_at=at, **fields)
    with django_assert_num_queries(1):  # type: ignore[operator]
        found = rounds_by_ten_minutes(NOON - timedelta(hours=2), NOON + timedelta(hours=1))
    first, second = (found[datetime(2026, 11, 18, hour, 30, tzinfo=UTC)] for hour in (12, 11))
    assert len(found) == 2
    assert first == RoundCounts(rounds=1, accepted=1, failing=0, seconds=1.5)
    assert second == RoundCounts(rounds=2, accepted=1, failing=1, seconds=6.0)
    assert first + second == RoundCounts(3, 2, 1, 7.5)
    assert second.per_hour(second.rounds) == 1200
    assert second.share(second.accepted) == 50
    assert RoundCounts().per_hour(0) is RoundCounts().share(0) is None


@pytest.mark.django_db
def test_there_is_no_first_campaign_before_the_first() -> None:
    assert first_campaign_at() is None
    assert first_campaign_at() != factories.campaign().created_at
    assert first_campaign_at() is not None
