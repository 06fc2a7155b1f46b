"""Findings by what they came from or accuse, for the catalogue. Each reader makes one query."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from django.db.models import Count

from triage.models import Facet, FindingRecord

__all__ = ["buckets_by_facet", "findings_by_mutation", "findings_by_op", "findings_by_seed"]

Symptoms = Mapping[str, Counter[str]]


def findings_by_mutation() -> Symptoms:
    """Findings by symptom of each mutation; one of several mutations counts for each of them."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for names, symptom, count in _counted("mutator"):
        for name in set(names.split(" + ")):
            found[name][symptom] += count
    return found


def findings_by_op() -> Symptoms:
    """Findings by symptom of each operator that is accused."""
    return _by("op")


def findings_by_seed() -> Symptoms:
    """Findings by symptom of each seed."""
    return _by("seed")


def buckets_by_facet(kind: str) -> Mapping[str, int]:
    """Buckets that the inbox shows for each value of a facet."""
    counted = Facet.objects.filter(kind=kind).order_by().values_list("value")
    return dict(counted.annotate(Count("bucket", distinct=True)))


def _by(column: str) -> Symptoms:
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, symptom, count in _counted(column):
        found[name][symptom] += count
    return found


def _counted(column: str) -> list[tuple[str, str, int]]:
    rows = FindingRecord.objects.order_by().values_list(column, "symptom")
    return list(rows.annotate(Count("id")))
