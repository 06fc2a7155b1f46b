"""Readers of likeness: buckets similar to one, ranked with reasons, and its family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from django.db.models import Count, Q

from triage.models import Bucket, Facet

__all__ = ["Similar", "family_buckets", "similar_buckets"]

_SHOWN = 5
_FAMILY_SHOWN = 20
# How many are looked at closely; the rest cannot come near.
_CANDIDATES = 60
_STRONG = (Facet.Kind.OP, Facet.Kind.FORM)
# Points for a part that two buckets share; a part that is not named here gives one.
_WEIGHTS: Mapping[str, int] = {"calls": 4, "message": 4, "kind": 3, "modes": 2}
_SAYS_NOTHING = frozenset({"version", "symptom", "framework"})
_ALIKE = 0.6
_POINTS_OF_TITLE = 6


@dataclass(frozen=True)
class Similar:
    """Another bucket, how like it is in points, and why."""

    bucket: Bucket
    points: float
    reasons: tuple[str, ...]


def similar_buckets(bucket: Bucket) -> tuple[Similar, ...]:
    """The most similar ones. Two queries, whatever the number of buckets.

    The database picks those that accuse the same operator or share operators and forms; of the
    nearest of them, parts of the signature and titles are compared.
    """
    ranked = [_compared(bucket, other) for other in _candidates(bucket)]
    ranked.sort(key=lambda one: (-one.points, -one.bucket.impact, one.bucket.pk))
    return tuple(one for one in ranked[:_SHOWN] if one.reasons)


def family_buckets(bucket: Bucket) -> tuple[Bucket, ...]:
    """Buckets that fail alike except for the operator. One query, none without a family."""
    if not bucket.family:
        return ()
    others = Bucket.objects.filter(family=bucket.family).exclude(pk=bucket.pk)
    return tuple(others.exclude(op=bucket.op).order_by("op", "-impact", "id")[:_FAMILY_SHOWN])


def _candidates(bucket: Bucket) -> Iterator[Bucket]:
    strong = list(
        bucket.facets.filter(kind__in=_STRONG)
        .exclude(kind=Facet.Kind.FORM, value__in=["function", "method", "operator"])
        .values_list("kind", "value")
    )
    shared = Q()
    for kind, value in strong:
        shared |= Q(kind=kind, value=value)
    if not strong:
        return
    nearest = (
        Facet.objects.filter(shared)
        .exclude(bucket=bucket)
        .exclude(bucket__merged_into__isnull=False)
        .values("bucket")
        .annotate(shared=Count("id"))
        .order_by("-shared", "-bucket")[:_CANDIDATES]
    )
    wanted = Q(pk__in=[row["bucket"] for row in nearest])
    yield from Bucket.objects.filter(wanted).defer("verdict", "signature")


def _compared(bucket: Bucket, other: Bucket) -> Similar:
    points, reasons = 0.0, []
    if bucket.op and bucket.op == other.op:
        points += 3
        reasons.append(f"same accused operator {bucket.op}")
    same = [
        name
        for name, value in bucket.parts.items()
        if value and name not in _SAYS_NOTHING and other.parts.get(name) == value
    ]
    if same:
        points += sum(_WEIGHTS.get(name, 1) for name in same)
        reasons.append(f"same {', '.join(same)}")
    if (bucket.symptom, bucket.framework) == (other.symptom, other.framework):
        points += 2
    likeness = SequenceMatcher(None, bucket.title, other.title, autojunk=False).ratio()
    if likeness >= _ALIKE:
        points += _POINTS_OF_TITLE * likeness
        reasons.append(f"title {likeness:.0%} alike")
    return Similar(other, round(points, 1), tuple(reasons))
