"""The whole chain of reasoning about one case, as lines for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from engine.executors.outcome import Outcome
from engine.finding import Weighed
from engine.ir.text import print_type
from engine.oracles.comparison import BASELINE, Comparison, framework_of
from engine.oracles.judge import PHRASES, modes_in_words
from engine.oracles.keys import signature_parts
from engine.oracles.numeric import ACCUMULATING_MARGIN, CLEARLY, MARGIN
from engine.oracles.referee import DRAWS
from engine.oracles.verdict import Divergence, Verdict
from engine.trial import Trial
from engine.weighing import weighed

__all__ = ["explained"]

_WHY = "its eager mode is at least as far off, or another difference explains it"
_HEAD = ("mode", "error", "at", "got", "float64", "tolerance", "noise floor", "times allowed", "")


def explained(trial: Trial) -> Iterator[str]:
    """What ran, what it was measured against, what was left out and why, and the ruling.

    Gradients are weighed by runs of their own, so the pool of the trial must still be open.
    """
    comparison, verdict = trial.comparison, trial.verdict
    yield from _section("The case", _case(comparison))
    yield from _section("1. What every mode answered", _answers(comparison))
    yield from _section("2. What answers are measured against", _measures(comparison))
    rows = weighed(comparison)
    yield from _section("3. Figures", _figures(comparison, rows))
    excused = (*verdict.notes, *_unaccused(verdict, rows))
    yield from _section("4. Excused, or not to be decided", excused or ("nothing",))
    for one in verdict.divergences:
        yield from _section(f"5. Difference that counts: {one.kind}", _difference(one, trial))
    if not verdict.divergences:
        yield from _section("5. Differences that count", ("none",))
    yield from _section("6. Ruling", (f"{verdict.ruling}: {verdict.reason}",))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in lines)


# ------------------------------------------------------------------------------------- sections
def _case(comparison: Comparison) -> Iterator[str]:
    graph, plan = comparison.case.graph, comparison.case.plan
    ops = [node.op for node in graph.calls]
    calls = f"{len(plan.calls)} call{'s' if len(plan.calls) > 1 else ''}"
    yield f"{len(ops)} operator{'s' if len(ops) != 1 else ''}: {', '.join(ops)}"
    yield f"{calls}; gradient {plan.gradient}; checks {', '.join(plan.checks)}"


def _answers(comparison: Comparison) -> Iterator[str]:
    rows = [
        (mode, outcome.status.value, _said(outcome), f"{outcome.seconds:.3f} s", _proof(outcome))
        for mode, outcome in comparison.outcomes.items()
    ]
    yield from _table(rows)


def _said(outcome: Outcome) -> str:
    failure = outcome.failure or outcome.gradient_failure
    if failure is not None:
        lines = [line.strip() for line in failure.message.splitlines() if line.strip(" -")]
        where = f" at {failure.node}" if failure.node else ""
        said = f"{failure.type} in {failure.phase}{where}: {lines[0] if lines else ''}"[:160]
    else:
        outputs = outcome.calls[0].outputs if outcome.calls else ()
        shown = [f"{one.dtype}[{', '.join(map(str, one.shape))}]" for one in outputs]
        said = ", ".join(shown) or outcome.signal or "no output"
    return "; ".join(part for part in (said, outcome.reason) if part)


def _proof(outcome: Outcome) -> str:
    wanted = ("calls_captured", "graph_breaks", "kernels", "compiled_graphs")
    return ", ".join(
        f"{name} {value}"
        for name, value in outcome.proof.items()
        if name in wanted or name.endswith("in force")
    )


def _measures(comparison: Comparison) -> Iterator[str]:
    if comparison.referees:
        accumulates = any(one.accumulates for one in comparison.referees)
        margin = ACCUMULATING_MARGIN if accumulates else MARGIN
        yield f"values: the case in float64 on NumPy; noise floor from {DRAWS} disturbed draws"
        yield (
            f"allowed: the greater of {CLEARLY:g} x the dtype's default tolerance and"
            f" {margin:g} x the noise floor{' (many terms are summed)' if accumulates else ''}"
        )
    else:
        yield "values: NumPy has no answer for these inputs, so values are not compared"
    if comparison.case.plan.gradient != "none":
        yield (
            "gradients: torch-eager-f64, disturbed runs of it, and differences from both sides"
            if comparison.gradients is not None
            else "gradients: no referee, torch-eager-f64 gave none"
        )
    for framework in comparison.frameworks():
        modes = ", ".join(comparison.modes_of(framework))
        yield f"{framework}: {modes}; compiled modes are compared with {BASELINE[framework]}"
    for one in comparison.counterparts:
        modes = ", ".join(one.outcomes)
        yield f"nobody could testify, so {modes} ran the same call {one.words} too"
    for name in sorted(comparison.incomparable):
        why = "random" if name in comparison.random_values else "undefined"
        yield f"not compared: {name} is {why}, or computed from what is"


def _figures(comparison: Comparison, rows: Sequence[Weighed]) -> Iterator[str]:
    if not rows:
        yield "nothing was weighed: no mode answered what NumPy can be asked for"

    def thing(row: Weighed) -> tuple[str, int, str]:
        return row.quantity, row.call, row.name

    for (quantity, call, name), several in groupby(sorted(rows, key=thing, reverse=True), thing):
        yield _titled(comparison, quantity, call, name)
        shown = sorted(several, key=lambda row: list(comparison.outcomes).index(row.mode))
        yield from (f"  {line}" for line in _table([_HEAD, *map(_row, shown)]))


def _titled(comparison: Comparison, quantity: str, call: int, name: str) -> str:
    declared = comparison.case.graph.types.get(name)
    of = f": {print_type(declared)}" if declared is not None else ""
    later = f", call {call}" if len(comparison.case.plan.calls) > 1 else ""
    return f"{'gradient of ' if quantity == 'gradient' else ''}{name}{of}{later}"


def _row(row: Weighed) -> tuple[str, ...]:
    figures = (f"{one:.3g}" for one in (row.tolerance, row.floor, row.ratio))
    place = ", ".join(map(str, row.at))
    mark = "<- counts" if row.ratio > 1 else ""
    return (row.mode, f"{row.error:.3g}", f"[{place}]", row.got, row.exact, *figures, mark)


def _unaccused(verdict: Verdict, rows: Sequence[Weighed]) -> Iterator[str]:
    """Figures that count and that nobody is accused of, nor any note speaks of."""
    for row in rows:
        name = f"gradient of {row.name}" if row.quantity == "gradient" else row.name
        accused = any(one.value == name and row.mode in one.modes for one in verdict.divergences)
        noted = any(f"{name}: " in one for one in verdict.notes)
        if row.ratio > 1 and not accused and not noted:
            why = "a known limit covers it" if verdict.limits else _WHY
            yield f"{name}: {row.mode} is off too, but {why}"


def _difference(one: Divergence, trial: Trial) -> Iterator[str]:
    comparison, graph = trial.comparison, trial.case.graph
    yield f"accused: {modes_in_words(one)} {PHRASES[one.kind]}"
    node = graph.by_name.get(one.node) or graph.by_name.get(one.value)
    if one.value:
        yield f"value: {one.value}"
    if node is not None:
        yield f"operator: {node.op} ({node.name})"
    for said in one.evidence:
        yield f"because: {said}"
    right = {mode for mode in comparison.ok if mode not in one.modes}
    for mode in one.modes:
        witnesses = comparison.witnesses(mode, right)
        if witnesses:
            yield f"who can testify against {mode}: {', '.join(sorted(witnesses))}"
    others = [mode for mode in comparison.modes if framework_of(mode) != one.framework]
    if not others:
        yield "no other framework was asked"
    yield f"failure key: {one.key}"
    yield "signature, from this case as it stands:"
    for name, value in signature_parts(one, graph).items():
        yield f"  {name}: {value}"


# --------------------------------------------------------------------------------------- layout
def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns two spaces apart, without trailing blanks."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
