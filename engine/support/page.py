"""The matrix as a page and as JSON, from what is on record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from engine.executors.modes import MODES
from engine.ops import FRAMEWORKS, OPS
from engine.places import without_places
from engine.support.cells import refusals
from engine.support.store import Record, State

__all__ = ["support_json", "support_page"]

_MEANINGS = {
    State.WORKS: "answers, with its gradient where it has one, as float64 says",
    State.LIMIT: "the framework says that it does not do this, or the mode cannot be proved",
    State.RAISES: "raises, or dies",
    State.WRONG: "wrong against float64, in every mode of the framework",
    State.DIFFERS: "fails in one mode where its sibling answers rightly",
    State.UNDECIDED: "differs from float64, and nobody can testify who is wrong",
}


def support_json(records: Iterable[Record], cells: Mapping[str, int]) -> dict[str, object]:
    """Counts by operator and mode, and every cell that does not work, with its text. `cells`: how
    many there are on each framework."""
    records = sorted(records, key=lambda one: (*one.name, one.mode))
    counts: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for op, by_mode in _counted(records).items():
        for mode, states in by_mode.items():
            counts[op][mode] = {state.value: number for state, number in sorted(states.items())}
    return {
        "versions": _versions(records),
        "cells": dict(cells),
        "counts": counts,
        "lacking": [
            {
                "framework": one.framework,
                "op": one.op,
                "form": one.form,
                "dtype": one.dtype,
                "mode": one.mode,
                "state": one.state.value,
                "text": without_places(one.text),
                "finding": one.finding,
            }
            for one in records
            if one.state is not State.WORKS
        ],
        "not run": [
            {
                "framework": one.framework,
                "op": one.op,
                "form": one.form,
                "dtype": one.dtype,
                "reason": one.reason,
            }
            for spec in OPS.values()
            for framework in FRAMEWORKS
            for one in refusals(spec, framework)
        ],
    }


def support_page(records: Iterable[Record], cells: Mapping[str, int]) -> str:
    """The page in Markdown. `cells`: how many there are on each framework."""
    return "\n".join(_page(list(records), cells)) + "\n"


def _page(records: Sequence[Record], cells: Mapping[str, int]) -> Iterator[str]:
    versions = ", ".join(f"{name} {version}" for name, version in _versions(records).items())
    yield "# What the frameworks support"
    yield ""
    yield (
        f"Every operator of the vocabulary in every form, dtype and mode, run with {versions}: the"
        " plainest call that the form holds for, forward and, where it has one, with its gradient;"
        " then, in the most ordinary dtype of each operator, the calls that differ from the"
        " plainest in one attribute, in the shape, or in an operand that is left out."
        " Written by `make support`; the cells that do not work stand in `support.json` with the"
        " text of each."
    )
    yield ""
    modes = [mode for mode in MODES if any(one.mode == mode for one in records)]
    totals = {mode: Counter(one.state for one in records if one.mode == mode) for mode in modes}
    yield "| state | meaning | " + " | ".join(modes) + " |"
    yield "|---" * (2 + len(modes)) + "|"
    for state, meaning in _MEANINGS.items():
        shown = " | ".join(f"{totals[mode][state]:,}" for mode in modes)
        yield f"| {state.value} | {meaning} | {shown} |"
    with_gradient = {
        mode: Counter(one.backward for one in records if one.mode == mode) for mode in modes
    }
    shown = " | ".join(f"{with_gradient[mode][True]:,}" for mode in modes)
    yield f"| | its gradient is right | {shown} |"
    left = {mode: cells[MODES[mode].framework] - totals[mode].total() for mode in modes}
    yield f"| | not run yet | {' | '.join(f'{left[mode]:,}' for mode in modes)} |"
    yield ""
    yield "## By operator"
    yield ""
    yield "Cells that work, of those that were run."
    yield ""
    yield "| operator | forms | dtypes | " + " | ".join(modes) + " |"
    yield "|---" * (3 + len(modes)) + "|"
    counted = _counted(records)
    for name, spec in sorted(OPS.items()):
        forms = sum(len(one) for one in spec.forms.values())
        by_mode = counted.get(name, {})
        row = " | ".join(_share(by_mode.get(mode, Counter())) for mode in modes)
        yield f"| {name} | {forms} | {len(spec.dtypes)} | {row} |"
    yield from _lacking(records)


def _lacking(records: Sequence[Record]) -> Iterator[str]:
    """Findings, and what raises or is wrong, by call; one line for all dtypes of one text."""
    for state in (State.WRONG, State.DIFFERS, State.RAISES, State.UNDECIDED, State.LIMIT):
        rows: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
        for one in records:
            if one.state is state:
                rows[one.op, one.form, one.mode, _cell(one.text)].append(one.dtype)
        if not rows:
            continue
        yield ""
        yield f"## {state.value.capitalize()}"
        yield ""
        yield "| call | mode | dtypes | what is said |"
        yield "|---|---|---|---|"
        for (op, form, mode, text), dtypes in sorted(rows.items()):
            yield f"| {op}.{form} | {mode} | {', '.join(dtypes)} | {text} |"


def _counted(records: Iterable[Record]) -> Mapping[str, Mapping[str, Counter[State]]]:
    found: dict[str, dict[str, Counter[State]]] = defaultdict(lambda: defaultdict(Counter))
    for one in records:
        found[one.op][one.mode][one.state] += 1
    return found


def _share(states: Counter[State]) -> str:
    total = sum(states.values())
    return f"{states[State.WORKS]}/{total}" if total else ""


def _versions(records: Iterable[Record]) -> dict[str, str]:
    return {one.framework: one.version for one in records}


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")[:160]
