"""What was found and waits for a person. Each reader makes two queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet

from triage.models import Bucket

__all__ = ["Waiting", "flagged_buckets", "unjudged_buckets"]

Row = TypeVar("Row", bound=Model)
_SHOWN = 4


@dataclass(frozen=True)
class Waiting(Generic[Row]):
    """How many rows wait, and the first few."""

    count: int
    first: Sequence[Row]


def _waiting(rows: QuerySet[Row]) -> Waiting[Row]:
    return Waiting(rows.count(), list(rows[:_SHOWN]))


def flagged_buckets() -> Waiting[Bucket]:
    """Buckets about which a machine saw something after a person had judged them."""
    return _waiting(Bucket.objects.exclude(flag="").order_by("-flag_at", "-id"))


def unjudged_buckets() -> Waiting[Bucket]:
    """New buckets, those of the greatest impact first."""
    return _waiting(
        Bucket.objects.filter(status=Bucket.Status.NEW).order_by("-impact", "-last_seen", "-id")
    )
