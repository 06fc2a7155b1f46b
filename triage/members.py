"""Readers of a bucket's members: each with why it is here and where it differs from the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import Count

from triage.models import Bucket, BucketEvent, FindingRecord

__all__ = ["Difference", "Member", "MembersPage", "differing_parts", "members_page"]

_SIZE = 20
_VALUES_SHOWN = 8


@dataclass(frozen=True)
class Member:
    """A finding, the parts in which it differs from the others, and what brought it here.

    `event` is the merge, split or merge of its own bucket that a person made; `reason` says it in
    words, without who and why.
    """

    record: FindingRecord
    differs: Mapping[str, str]
    reason: str
    event: BucketEvent | None = None


@dataclass(frozen=True)
class Difference:
    """A part of the signature in which members differ, with its commonest values and counts."""

    name: str
    values: tuple[tuple[str, int], ...]
    more: int


@dataclass(frozen=True)
class MembersPage:
    """One page of a bucket's members."""

    page: Page[FindingRecord]
    members: tuple[Member, ...]


def members_page(bucket: Bucket, number: str | None = None) -> MembersPage:
    """Members smallest first, a page of twenty. Three queries."""
    rows = (
        FindingRecord.objects.filter(bucket=bucket)
        .select_related("rule", "moved__who", "moved__bucket", "suppression")
        .defer("data", "moved__details")
        .order_by("minimised_nodes", "-created_at", "-id")
    )
    page = Paginator(rows, _SIZE).get_page(number)
    records = list(page.object_list)
    merges = _merges(bucket, records)
    return MembersPage(page, tuple(_member(bucket, record, merges) for record in records))


def differing_parts(bucket: Bucket, *, names: Iterable[str] | None = None) -> list[Difference]:
    """The parts in which the members differ. One query."""
    rows = (
        FindingRecord.objects.filter(bucket=bucket)
        .order_by()
        .values_list("parts")
        .annotate(Count("id"))
    )
    counted: dict[str, dict[str, int]] = {}
    for parts, count in rows:
        for name, value in parts.items():
            if name not in bucket.parts:
                values = counted.setdefault(name, {})
                values[value] = values.get(value, 0) + count
    return [
        Difference(
            name,
            tuple(sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))[:_VALUES_SHOWN]),
            max(0, len(values) - _VALUES_SHOWN),
        )
        for name, values in counted.items()
    ]


def _merges(bucket: Bucket, records: Sequence[FindingRecord]) -> Mapping[str, Bucket]:
    """Merged buckets by the signature that brought members here by way of them. One query."""
    digests = {
        record.signature_digest for record in records if record.moved is None and not record.rule
    }
    digests.discard(bucket.signature_digest)
    found = Bucket.with_merged.filter(
        signature_digest__in=digests, merged_by__isnull=False
    ).select_related("merged_by__who", "merged_by__bucket")
    return {one.signature_digest: one for one in found}


def _member(bucket: Bucket, record: FindingRecord, merges: Mapping[str, Bucket]) -> Member:
    differs = {
        name: value for name, value in record.parts.items() if bucket.parts.get(name) != value
    }
    if record.moved is not None:
        came = record.moved.bucket
        verb = "split off" if record.moved.kind == BucketEvent.Kind.SPLIT else "merged from"
        return Member(record, differs, f"{verb} “{came.title}”", record.moved)
    if record.rule is not None:
        return Member(record, differs, f"by the rule: {record.rule}")
    by = merges.get(record.signature_digest)
    if by is not None:
        return Member(
            record, differs, f"by the signature of “{by.title}”, merged into this", by.merged_by
        )
    return Member(record, differs, "by its signature")
