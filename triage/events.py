"""Lines of a bucket's history, the flags that machines raise, and locking what an action changes.

The lowest layer of the services: everything that writes about a bucket writes its line here.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from triage.models import Bucket, BucketEvent

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["LINE_LENGTH", "Done", "locked_buckets", "raise_flag", "write_event"]

LINE_LENGTH = 500


@dataclass(frozen=True)
class Done:
    """What an action on several buckets did. `batch` undoes it; `refused`: why some were left."""

    batch: uuid.UUID
    changed: int
    refused: tuple[str, ...] = ()


def write_event(
    bucket: Bucket,
    kind: BucketEvent.Kind,
    *,
    who: User | None,
    before: str = "",
    after: str = "",
    why: str = "",
    other: Bucket | None = None,
    details: Mapping[str, Any] | None = None,
    batch: uuid.UUID | None = None,
    now: datetime | None = None,
) -> BucketEvent:
    """Add a line; texts that are too long are cut. Without a batch it gets one of its own."""
    return BucketEvent.objects.create(
        bucket=bucket,
        kind=kind,
        who=who,
        before=before[:LINE_LENGTH],
        after=after[:LINE_LENGTH],
        why=why[:LINE_LENGTH],
        other=other,
        details=dict(details or {}),
        batch=batch or uuid.uuid4(),
        created_at=now or timezone.now(),
    )


@transaction.atomic
def raise_flag(
    bucket: Bucket, *, flag: Bucket.Flag, why: str, now: datetime | None = None
) -> Bucket:
    """Ask a person to look again. Only the flag changes."""
    now = now or timezone.now()
    before = bucket.get_flag_display() if bucket.flag else ""
    bucket.flag, bucket.flag_reason, bucket.flag_at = flag, why[:LINE_LENGTH], now
    bucket.save(update_fields=["flag", "flag_reason", "flag_at"])
    kind = BucketEvent.Kind.FLAG
    write_event(bucket, kind, who=None, before=before, after=flag.label, why=why, now=now)
    return bucket


def locked_buckets(buckets: Iterable[Bucket]) -> list[Bucket]:
    """The buckets as they are now, locked until the transaction ends, in one order for all."""
    ids = [bucket.pk for bucket in buckets]
    found = Bucket.with_merged.select_for_update(of=("self",)).filter(pk__in=ids).order_by("pk")
    return list(found.select_related("assignee").prefetch_related("labels"))
