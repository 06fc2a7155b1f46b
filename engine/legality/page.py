"""The outcome as JSON for machines and as a Markdown page, with every misjudged candidate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engine.legality.rates import Rates, rates_of
from engine.legality.record import Row

__all__ = ["summary", "write_pages"]

_PUBLISHED = {
    "retention": 88.0,
    "legal mutant rate": 96.7,
    "precision": 89.2,
    "recall": 78.7,
}
"""Of FlowMuT's paper, with all constraints."""
_INTRODUCTION = """# Legality

Are the mutants that the constraints let through legal, and are those that they refuse not? Judged
by running, not by the filter. Written by

    {command}

A candidate is drawn before any filter: no attribute is looked up, no operand is cast to a dtype
that the operator takes, and what leaves the replacement is not fitted to what its users had. Each
one is run, refused or not, in eager PyTorch and in PyNative MindSpore, in a window that holds every
node whose operator or type the mutation puts in doubt. It is *legal* when it runs without raising
where its operators are supported, or when what is raised is a recorded finding. *Positive* means
illegal.

The constraints are of three kinds: *input* (an operator of the replacement takes what flows in from
outside), *internal* (what flows inside it), *output* (its users take what flows out). Rates are in
per cent, with Wilson's 95 % intervals.
"""


def summary(rows: Sequence[Row], explanations: Mapping[str, str]) -> dict[str, object]:
    """Rates and counts, and the misjudged one by one. `explanations`: by `_key`."""
    redrawn: Counter[str] = Counter()
    for row in rows:
        redrawn.update(row.redrawn)
    return {
        "candidates": len(rows),
        "seeds": sorted({row.seed for row in rows}),
        "mutations": len({row.mutation for row in rows}),
        "unsupported": sum(row.legal is None for row in rows),
        "unsupported_in_one": dict(_one_sided(rows)),
        "findings": sorted({name for row in rows for name in row.findings}),
        "redrawn": dict(redrawn.most_common()),
        "rates": [one.to_json() for one in rates_of(rows)],
        "misjudged": [
            {
                "number": row.number,
                "seed": row.seed,
                "mutation": row.mutation,
                "site": row.site,
                "digest": row.digest,
                "judgement": "false rejection" if row.legal else "leak",
                "filter": [f"{one.kind}: {one.message}" for one in row.broken],
                "raised": [f"{one.mode}: {one.said}" for one in row.ran if one.said],
                "explanation": explanations.get(_key(row.number, row.digest), ""),
            }
            for row in rows
            if row.legal is not None and row.legal == row.rejected(frozenset())
        ],
    }


def _key(number: object, digest: object) -> str:
    return f"{number} {digest}"


def _one_sided(rows: Sequence[Row]) -> Iterator[tuple[str, int]]:
    """How often one mode does not support what the other runs, by mode."""
    found = Counter(
        one.mode
        for row in rows
        if row.legal is not None
        for one in row.ran
        if one.status == "unsupported"
    )
    yield from sorted(found.items())


def write_pages(rows: Sequence[Row], place: Path, *, command: str) -> dict[str, object]:
    """Write `place`.json and `place`.md; what people wrote into the JSON is kept."""
    data = place.with_suffix(".json")
    old = json.loads(data.read_text()) if data.exists() else {"misjudged": []}
    known = {_key(one["number"], one["digest"]): one["explanation"] for one in old["misjudged"]}
    found = {"command": command, **summary(rows, known), "notes": old.get("notes", [])}
    data.write_text(json.dumps(found, indent=1) + "\n")
    place.with_suffix(".md").write_text(_markdown(rows, found))
    return found


def _markdown(rows: Sequence[Row], found: Mapping[str, object]) -> str:
    return "\n".join(
        (
            _INTRODUCTION.format(command=found["command"]),
            *_rates_table(rates_of(rows)),
            "",
            *_beside(found),
            "",
            *_misjudged(found),
            "",
            *_notes(found),
        )
    )


def _notes(found: Mapping[str, object]) -> Iterator[str]:
    """Paragraphs that people wrote into the JSON."""
    notes = found["notes"]
    assert isinstance(notes, list)
    for one in notes:
        yield str(one)
        yield ""


def _rates_table(rates: Sequence[Rates]) -> Iterator[str]:
    names = list(rates[0].figures)
    yield "| constraints | TN | FN | FP | TP | " + " | ".join(names) + " |"
    yield "|---|" + "---:|" * (4 + len(names))
    for one in rates:
        counts = " | ".join(str(count) for count in (one.tn, one.fn, one.fp, one.tp))
        figures = " | ".join(rate.text for rate in one.figures.values())
        yield f"| {one.configuration} | {counts} | {figures} |"
    published = " | ".join(str(_PUBLISHED.get(name, "")) for name in names)
    yield f"| *published, full* | | | | | {published} |"
    yield ""
    yield "TN: legal and let through; FN: illegal and let through (leaks); FP: legal and refused;"
    yield "TP: illegal and refused. Published without constraints: legal mutant rate 86.4."


def _beside(found: Mapping[str, object]) -> Iterator[str]:
    seeds, redrawn, findings = found["seeds"], found["redrawn"], found["findings"]
    assert isinstance(seeds, list)
    assert isinstance(redrawn, dict)
    assert isinstance(findings, list)
    yield f"Candidates: {found['candidates']}, of {found['mutations']} mutations."
    yield f"All {len(seeds)} compact seeds."
    yield f"Neither framework supports, so out of every rate: {found['unsupported']}."
    one_sided = found["unsupported_in_one"]
    assert isinstance(one_sided, dict)
    for mode, count in one_sided.items():
        yield f"Judged by the other framework alone, as {mode} does not support it: {count}."
    yield f"Drawn again because the draw gave no mutant: {sum(redrawn.values())}."
    if findings:
        yield ""
        yield "Recorded findings among what was raised:"
        yield ""
        yield from (f"* {one}" for one in findings)
    yield ""
    yield "## Draws that gave no mutant"
    yield ""
    yield "The edit has no meaning at the site, or the mutant is too large to run."
    yield ""
    yield "| reason | draws |"
    yield "|---|---:|"
    yield from (f"| {_cell(reason)} | {count} |" for reason, count in list(redrawn.items())[:25])


def _misjudged(found: Mapping[str, object]) -> Iterator[str]:
    listed = found["misjudged"]
    assert isinstance(listed, list)
    yield f"## Misjudged: {len(listed)}"
    yield ""
    yield "| no. | seed | mutation | judgement | the filter said | raised | why |"
    yield "|---:|---|---|---|---|---|---|"
    for one in listed:
        columns = (
            str(one["number"]),
            one["seed"].removesuffix("_compact"),
            f"`{one['mutation']}`",
            one["judgement"],
            "; ".join(one["filter"]),
            "; ".join(text.partition(" ------")[0] for text in one["raised"]),
            one["explanation"],
        )
        yield "| " + " | ".join(_cell(column) for column in columns) + " |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())[:240]
