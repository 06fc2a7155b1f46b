"""Which campaigns used a seed, and how far they came with it. Query counts are fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Sum

from campaigns.models import Campaign, Mutant, Shard

__all__ = ["ModeRuns", "SeedUsage", "campaigns_with_seed", "mode_runs", "seed_usage"]

_NEWEST = 300


@dataclass(frozen=True)
class SeedUsage:
    """What was recorded on one seed in all campaigns."""

    campaigns: int = 0
    rounds: int = 0
    accepted: int = 0
    executions: int = 0


@dataclass(frozen=True)
class ModeRuns:
    """Mutants of a seed that a mode was asked to run, and those it ran to the end."""

    asked: int = 0
    ran: int = 0


def mode_runs(name: str) -> Mapping[str, ModeRuns]:
    """By mode, over the newest rounds of the seed. One query."""
    newest = Mutant.objects.filter(shard__seed=name).order_by("-pk")
    asked: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for statuses in newest.values_list("statuses", flat=True)[:_NEWEST]:
        asked.update(list(statuses))
        ran.update(mode for mode, status in statuses.items() if status == "ok")
    return {mode: ModeRuns(count, ran[mode]) for mode, count in asked.items()}


def seed_usage() -> Mapping[str, SeedUsage]:
    """By the seed's name. One query."""
    counted = (
        Shard.objects.order_by()
        .values_list("seed")
        .annotate(
            campaigns=Count("campaign", distinct=True),
            done=Sum("recorded_rounds"),
            took=Sum("accepted"),
            ran=Sum("executions"),
        )
    )
    return {seed: SeedUsage(*counts) for seed, *counts in counted}


def campaigns_with_seed(name: str) -> list[tuple[Campaign, int, int]]:
    """Campaigns with a shard of it, newest first, with its rounds and findings. Two queries."""
    counted = (
        Shard.objects.filter(seed=name)
        .order_by()
        .values_list("campaign")
        .annotate(
            done=Sum("recorded_rounds"),
            found=Sum("crash_findings")
            + Sum("numerical_findings")
            + Sum("state_findings")
            + Sum("efficiency_findings"),
        )
    )
    by_campaign = {pk: (done, found) for pk, done, found in counted}
    return [(one, *by_campaign[one.pk]) for one in Campaign.objects.filter(pk__in=by_campaign)]
