"""Pages of mutations: the whole pool with live statistics, and one row with its variants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from campaigns.usage import Usage, mutation_usage, newest_of, outcomes_of, refusals_of, rounds_by_id
from engine.mutators import MUTATORS, Effect, Mutator
from engine.mutators.examples import shown
from engine.mutators.spec import OBJECTS, POOLS, PRIMITIVES
from engine.proving import Proof, proofs
from flowmut_web.catalogue.listing import Column, Filters, choices, listing, match_words
from triage.attribution import findings_by_mutation

__all__ = ["MutatorFilters", "list_mutators", "mutator_rows", "show_mutator"]

_STATES = (
    ("proven", "every variant proven"),
    ("partly", "some variants proven"),
    ("tried", "tried, none proven"),
    ("unused", "never tried"),
    ("failing", "with findings"),
)


@dataclass(frozen=True)
class Variant:
    """One variant of a row and how it did.

    `label` is its name in the record of rounds; `proof` the id of the round that proves it;
    `shipped` the run of `flowmut prove` that comes with the engine.
    """

    name: str
    label: str
    usage: Usage
    findings: Mapping[str, int]
    proof: int
    shipped: Proof | None = None


@dataclass(frozen=True)
class Row:
    """One row of the pool with the sums over its variants."""

    mutator: Mutator
    variants: tuple[Variant, ...]
    usage: Usage
    findings: Mapping[str, int]

    @property
    def proven(self) -> int:
        return sum(1 for one in self.variants if one.proof)

    @property
    def found(self) -> int:
        return sum(self.findings.values())

    @property
    def accepted_share(self) -> float:
        """Per cent of its rounds, -1 before the first."""
        return 100 * self.usage.accepted / self.usage.rounds if self.usage.rounds else -1

    @property
    def state(self) -> str:
        if self.proven == len(self.variants):
            return "proven"
        if self.proven:
            return "partly"
        return "tried" if self.usage.rounds or self.usage.refused else "unused"


class MutatorFilters(Filters):
    """What the list can be narrowed by."""

    object = choices("Object", OBJECTS)
    primitive = choices("Primitive", PRIMITIVES)
    effect = choices("Effect", [one.value for one in Effect])
    pool = choices("Pool", [one for one in POOLS if one != "full"])
    source = choices("Provenance", sorted({one.provenance.source for one in MUTATORS.values()}))
    state = choices("State", _STATES)

    def matches(self, row: Row) -> bool:
        mutator = row.mutator
        source = mutator.provenance
        for name, value in self.wanted().items():
            match name:
                case "q":
                    words = (mutator.name, mutator.doc, source.label, *mutator.variants)
                    fits = match_words(value, *words)
                case "pool":
                    fits = value in source.pools
                case "source":
                    fits = value == source.source
                case "state":
                    fits = bool(row.found) if value == "failing" else value == row.state
                case _:
                    fits = value == str(getattr(mutator, name))
            if not fits:
                return False
        return True


_COLUMNS: Mapping[str, Column[Row]] = {
    "name": Column("Mutation", lambda row: row.mutator.name),
    "effect": Column("Effect", lambda row: row.mutator.effect.value),
    "source": Column("Provenance", lambda row: row.mutator.provenance.source),
    "proven": Column("Variants proven", lambda row: row.proven, is_number=True),
    "rounds": Column("Rounds", lambda row: row.usage.rounds, is_number=True),
    "accepted": Column("Accepted", lambda row: row.accepted_share, is_number=True),
    "refused": Column("Refused", lambda row: row.usage.refused, is_number=True),
    "reward": Column("Reward", lambda row: row.usage.reward or -1.0, is_number=True),
    "findings": Column("Findings", lambda row: row.found, is_number=True),
}


def _row(mutator: Mutator, usage: Mapping[str, Usage], findings: Mapping[str, Counter[str]]) -> Row:
    variants = []
    for name in mutator.variants:
        label = f"{mutator.name}.{name}" if name else mutator.name
        found = dict(findings.get(label, {}))
        used = usage.get(label, Usage())
        # What is nasty on purpose is never accepted: a round that passed shows that it is legal.
        proof = used.accepted_id or (used.passed_id if mutator.is_nasty else 0)
        variants.append(Variant(name, label, used, found, proof, proofs().get(label)))
    return Row(
        mutator,
        tuple(variants),
        Usage.together([one.usage for one in variants]),
        dict(sum((Counter(one.findings) for one in variants), Counter())),
    )


def mutator_rows() -> list[Row]:
    """Every row with what was recorded of it."""
    usage, findings = mutation_usage(), findings_by_mutation()
    return [_row(one, usage, findings) for one in MUTATORS.values()]


@require_safe
def list_mutators(request: HttpRequest) -> HttpResponse:
    filters, rows = MutatorFilters(request.GET), mutator_rows()
    wanted = [row for row in rows if filters.matches(row)]
    variants = [one for row in rows for one in row.variants]
    context = {
        **listing(request, wanted, _COLUMNS, sort="name", total=len(rows)),
        "form": filters,
        "chips": list(filters.chips(request.GET)),
        "variants": len(variants),
        "proven": sum(1 for one in variants if one.proof),
        "pools": _pool_counts(variants),
    }
    return render(request, "catalogue/mutators.html", context)


def _pool_counts(variants: Sequence[Variant]) -> list[tuple[str, int, int]]:
    """Each pool with its variants, and how many of them are proven."""
    proven = {one.label for one in variants if one.proof}
    counts = []
    for pool in POOLS:
        labels = [
            f"{row.name}.{name}" if name else row.name
            for row in MUTATORS.values()
            if pool == "full" or pool in row.provenance.pools
            for name in row.variants
        ]
        counts.append((pool, len(labels), sum(1 for one in labels if one in proven)))
    return counts


@require_safe
def show_mutator(request: HttpRequest, name: str) -> HttpResponse:
    mutator = MUTATORS.get(name)
    if mutator is None:
        raise Http404(f"no mutation is called {name}")
    row = _row(mutator, mutation_usage(), findings_by_mutation())
    labels = [one.label for one in row.variants]
    proofs = rounds_by_id(one.proof for one in row.variants)
    before, after = _applied(name)
    context: dict[str, Any] = {
        "row": row,
        "mutator": mutator,
        "variants": [(one, proofs.get(one.proof)) for one in row.variants],
        "before": before,
        "after": after,
        "outcomes": outcomes_of(labels),
        "refusals": refusals_of(labels)[:12],
        "recent": newest_of(labels),
    }
    return render(request, "catalogue/mutator.html", context)


@cache
def _applied(name: str) -> tuple[str, str]:
    """Lines that the row takes from an example case and brings to it; making them takes a while."""
    return shown(MUTATORS[name])
