"""What a bucket says about its members: counters, title, shared parts, facets, family.

`count_member` adds one finding to what is there, `recount` computes the same from all members; a
test keeps them equal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Count, F, Max, Min, Sum

from engine.finding import Finding
from triage.impact import Point, impact_points
from triage.models import Bucket, Facet, FindingRecord
from triage.regressions import passes_on

__all__ = [
    "calls_of",
    "count_member",
    "facets_of",
    "family_of",
    "points_of",
    "recount",
    "shared_parts",
    "weigh_again",
]

_FACET_LENGTH = 120
# A family is what these say, with the form in which the accused operator is called.
_FAMILY = ("symptom", "framework", "modes", "kind")


def count_member(
    bucket: Bucket, record: FindingRecord, *, verdict: str, points: Sequence[Point]
) -> None:
    """Count a fresh member; the smallest one gives the bucket its title and its verdict."""
    changes: dict[str, object] = {
        "count": F("count") + 1,
        "first_seen": min(record.created_at, bucket.first_seen),
        "last_seen": max(record.created_at, bucket.last_seen),
        "reproduced": F("reproduced") + record.reproduced,
        "attempts": F("attempts") + record.attempts,
        "parts": shared_parts([bucket.parts, record.parts]) if bucket.count else record.parts,
    }
    if bucket.count == 0 or record.minimised_nodes < bucket.minimised_nodes:
        changes |= _told_by(record, verdict)
    if bucket.count == 0 or record.impact > bucket.impact:
        changes |= _impact_of(record, points)
    Bucket.with_merged.filter(pk=bucket.pk).update(**changes)
    bucket.refresh_from_db()
    _add_facets(bucket, _facets_of_record(record, record.data["accused_modes"]))


def recount(bucket: Bucket) -> Bucket:
    """All of it from the members. A bucket without any keeps its words and counts nothing."""
    members = FindingRecord.objects.filter(bucket=bucket)
    sums = members.aggregate(
        count=Count("id"),
        reproduced=Sum("reproduced", default=0),
        attempts=Sum("attempts", default=0),
        first_seen=Min("created_at"),
        last_seen=Max("created_at"),
    )
    changes = {name: value for name, value in sums.items() if value is not None}
    smallest = members.order_by("minimised_nodes", "id").first()
    if smallest is not None:
        changes |= _told_by(smallest, smallest.data["verdict"])
        distinct = members.order_by().values_list("parts", flat=True).distinct()
        changes["parts"] = shared_parts(distinct)
    heaviest = members.order_by("-impact", "id").first()
    if heaviest is not None:
        changes |= _impact_of(heaviest, points_of(heaviest))
    Bucket.with_merged.filter(pk=bucket.pk).update(**changes)
    bucket.refresh_from_db()
    bucket.facets.all().delete()
    columns = ("mutator", "seed", "op", "parts")
    facets: set[tuple[str, str]] = set()
    for record, modes in (
        (FindingRecord(**dict(zip(columns, row[:-1], strict=True))), row[-1])
        for row in members.order_by().values_list(*columns, "data__accused_modes").distinct()
    ):
        facets |= _facets_of_record(record, modes)
    _add_facets(bucket, facets)
    return bucket


def points_of(record: FindingRecord) -> tuple[Point, ...]:
    """Impact of a recorded finding: what it says, and what its reruns have shown. One query."""
    return impact_points(record.finding(), passes_on=passes_on(record))


def weigh_again(record: FindingRecord) -> None:
    """Give a finding and its bucket their impact anew: a rerun may have shown a regression.

    Findings that another version of the engine wrote keep theirs.
    """
    try:
        record.impact = sum(point.points for point in points_of(record))
    except (KeyError, TypeError, ValueError):
        return
    record.save(update_fields=["impact"])
    members = FindingRecord.objects.filter(bucket=record.bucket_id)
    heaviest = members.order_by("-impact", "id").first()
    assert heaviest is not None, "the finding itself is a member"
    changes = _impact_of(heaviest, points_of(heaviest))
    Bucket.with_merged.filter(pk=record.bucket_id).update(**changes)


def count_nothing(buckets: Iterable[int]) -> None:
    """The same as `recount` for buckets, by their ids, that have no members left. Two queries."""
    ids = list(buckets)
    Facet.objects.filter(bucket__in=ids).delete()
    Bucket.with_merged.filter(pk__in=ids).update(
        count=0, reproduced=0, attempts=0, suppression=None
    )


def facets_of(finding: Finding) -> set[tuple[str, str]]:
    """(kind, value) pairs by which the inbox finds it.

    A mutant of several mutations is found by each. Operators, forms and dtypes are those of the
    minimised program, from the parts of the signature: `calls` is "op.form > op", `dtypes` is
    "float32, integer".
    """
    record = FindingRecord(
        mutator=finding.mutator,
        seed=finding.seed,
        op=finding.accused_op,
        parts=dict(finding.parts),
    )
    return _facets_of_record(record, finding.accused_modes)


def shared_parts(several: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The parts that all of them have with one value."""
    rest = iter(several)
    shared = dict(next(rest, {}))
    for parts in rest:
        shared = {name: value for name, value in shared.items() if parts.get(name) == value}
    return shared


def calls_of(parts: Mapping[str, str]) -> list[tuple[str, str]]:
    """(operator, form) of each call of the minimised program; the form may be ""."""
    calls = (one.partition(".") for one in parts.get("calls", "").split(" > ") if one)
    return [(op, form) for op, _, form in calls]


def family_of(parts: Mapping[str, str], op: str) -> str:
    """Equal for findings that fail alike except for the operator; "" where that is unknown.

    Alike: symptom, framework, modes, kind of difference, message with the names of operators taken
    out, and the form in which the accused operator is called.
    """
    if not op or not all(parts.get(name) for name in _FAMILY):
        return ""
    calls = calls_of(parts)
    forms = [form for name, form in calls if name == op]
    message = parts.get("message", "")
    for name in sorted({op, *(name for name, _ in calls)}, key=len, reverse=True):
        bare = re.escape(name.rstrip("_"))
        message = re.sub(rf"(?<![A-Za-z0-9]){bare}_?(?![A-Za-z0-9])", "<op>", message)
    told = [*(parts[name] for name in _FAMILY), message, forms[0] if forms else ""]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _told_by(record: FindingRecord, verdict: str) -> dict[str, object]:
    """What the smallest member says for the whole bucket."""
    return {
        "title": record.title,
        "verdict": verdict,
        "symptom": record.symptom,
        "framework": record.framework,
        "op": record.op,
        "minimised_nodes": record.minimised_nodes,
        "family": family_of(record.parts, record.op),
    }


def _impact_of(record: FindingRecord, points: Sequence[Point]) -> dict[str, object]:
    return {
        "impact": record.impact,
        "impact_points": [[point.points, point.reason] for point in points],
    }


def _facets_of_record(record: FindingRecord, modes: Iterable[str]) -> set[tuple[str, str]]:
    pairs: set[tuple[str, str]] = {(Facet.Kind.MODE, mode) for mode in modes}
    pairs |= {(Facet.Kind.MUTATOR, one) for one in record.mutator.split(" + ")}
    pairs |= {(Facet.Kind.SEED, record.seed), (Facet.Kind.OP, record.op)}
    for op, form in calls_of(record.parts):
        pairs |= {(Facet.Kind.OP, op), (Facet.Kind.FORM, form)}
    pairs |= {(Facet.Kind.DTYPE, one) for one in record.parts.get("dtypes", "").split(", ")}
    return {(kind, value[:_FACET_LENGTH]) for kind, value in pairs if value}


def _add_facets(bucket: Bucket, facets: Iterable[tuple[str, str]]) -> None:
    Facet.objects.bulk_create(
        (Facet(bucket=bucket, kind=kind, value=value) for kind, value in facets),
        ignore_conflicts=True,
    )
