"""What pages of campaigns show of findings, which are another part's.

That part reads them: `settings.FINDINGS_READER` names its class. Campaigns know the shapes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast

from django.conf import settings
from django.utils.module_loading import import_string

from campaigns.models import Campaign, Shard

__all__ = ["Found", "FoundBucket", "Reader", "Shared", "findings_reader"]


@dataclass(frozen=True)
class FoundBucket:
    """A bucket: findings that are one bug, as far as the engine can tell."""

    title: str
    url: str
    symptom: str
    status: str
    status_text: str
    first_count: int = 0
    second_count: int = 0


@dataclass(frozen=True)
class Found:
    """A finding of a campaign with the bucket that it is in."""

    title: str
    url: str
    symptom: str
    seed: str
    round: int
    when: datetime
    bucket: FoundBucket


@dataclass(frozen=True)
class Shared:
    """Buckets of two campaigns: those that only one of them met, and those that both did."""

    only_first: tuple[FoundBucket, ...]
    only_second: tuple[FoundBucket, ...]
    both: tuple[FoundBucket, ...]


class Reader(Protocol):
    """How the other part answers. Each method makes a fixed number of queries."""

    def newest(self, campaign: Campaign, *, limit: int) -> Sequence[Found]: ...
    def of_round(self, shard: Shard, number: int) -> Sequence[Found]: ...
    def shared(self, first: Campaign, second: Campaign) -> Shared: ...


def findings_reader() -> Reader:
    """The reader that the settings name."""
    return cast(Reader, import_string(settings.FINDINGS_READER)())
