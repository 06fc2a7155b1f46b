"""Runs the shipped seeds in every mode and writes how they agree into docs/seeds.md.

    python scripts/seeds.py [NAME ...]      run these (default: all that have no figures yet)
    python scripts/seeds.py --full          the full models alone; --compact: their twins alone
    python scripts/seeds.py --table         write the page from the figures there are
    python scripts/seeds.py --check         whether table and figures are those of the seeds

Figures are kept in engine/seeds/data/agreement.json, with the digest of the graph they
belong to: a run may be stopped at any time and goes on where it was. Full models need up to 8 GB.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.executors.outcome import Outcome, Status
from engine.executors.pool import Pool
from engine.ir.digest import digest
from engine.ir.graph import Graph
from engine.ir.types import Dense, is_float
from engine.options import address_space
from engine.seeds import SEEDS, load_seed
from engine.seeds.agreement import (
    FIGURES,
    PROFILE,
    Outputs,
    difference,
    has_ranked_rows,
    reordered,
)

__all__ = ["main", "page", "run"]

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "seeds.md"
BEGIN, END = "<!-- runs: written by scripts/seeds.py -->", "<!-- end of runs -->"
REFEREE = "torch-eager-f64"
MODES = ("torch-eager", "torch-aot", "mindspore-pynative", "mindspore-graph")
MASKED = 1e8
"""What a masked score is at least, before its softmax."""
RUNS = {"full": 5, "compact": 40}
"""How often a forward is timed; what else runs on the machine makes it longer, never shorter."""
DEADLINE = 3600.0  # seconds; a full model in a compiled mode, on a busy machine

Figures = dict[str, dict[str, dict[str, Any]]]


def outputs(outcome: Outcome) -> Outputs:
    """Every output as float64."""
    arrays = [one.array for one in outcome.calls[0].outputs]
    return [np.asarray(array, dtype="float64") for array in arrays if array is not None]


def workers(name: str) -> Pool:
    """Workers for a seed; those of one mode are gone before the next, as a full model fills GB."""
    return Pool(
        address_space=address_space(name),
        on_status=lambda text: print(f"  {text}", file=sys.stderr),
    )


def profile(name: str, kept: dict[str, Any]) -> dict[str, Any] | None:
    """How large activations are and how long a forward takes, where `kept` does not know yet.

    "low" and "high": least and greatest of the nodes' mean moduli, "largest": the greatest modulus,
    masked scores aside; "forward": seconds of the fastest of `RUNS` in torch-eager.
    """
    case = load_seed(name)
    known = digest(case.graph)
    if kept.get("graph") == known:
        return None
    with workers(name) as pool:
        times = RUNS[SEEDS[name].scale]
        runs = [pool.run(case, "torch-eager", deadline=DEADLINE).seconds for _ in range(times)]
        recorded = pool.run(case, "torch-eager", record="facts", deadline=DEADLINE).recorded
    facts = [recorded[name].summary for name in floating(case.graph) if name in recorded]
    seen = [one for one in facts if "min" in one and max(-one["min"], one["max"]) < MASKED]
    means = [one["mean_abs"] for one in seen if one["mean_abs"]]
    figures = {
        "low": min(means),
        "high": max(means),
        "largest": max(max(-one["min"], one["max"]) for one in seen),
        "forward": min(runs),
    }
    return {"graph": known, **{key: float(f"{one:.2g}") for key, one in figures.items()}}


def floating(graph: Graph) -> list[str]:
    """The nodes that compute floating values; ids and places are no activations."""
    return [
        node.name
        for node in graph.nodes
        if isinstance(node.type, Dense) and is_float(node.type.dtype)
    ]


def run(name: str, kept: dict[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(mode, figures) of every mode that `kept` has none of; the referee first, in memory only."""
    case = load_seed(name)
    known = digest(case.graph)
    modes = [*MODES, *(["torch-inductor"] if SEEDS[name].scale == "compact" else [])]
    wanted = [mode for mode in modes if kept.get(mode, {}).get("graph") != known]
    if not wanted:
        return
    with workers(name) as pool:
        referee = pool.run(case, REFEREE, deadline=DEADLINE)
    for mode in wanted:
        with workers(name) as pool:
            found = pool.run(case, mode, deadline=DEADLINE)
        figures: dict[str, Any] = {
            "graph": known,
            "status": found.status.value,
            "seconds": float(f"{found.seconds:.2g}"),
            "gigabytes": float(f"{found.memory / 1e9:.2g}"),
        }
        if found.status is not Status.OK or referee.status is not Status.OK:
            figures["reason"] = found.reason or (found.failure.message if found.failure else "")
        else:
            figures |= compared(
                outputs(found), outputs(referee), ranked=has_ranked_rows(case.graph)
            )
        yield mode, figures


def compared(found: Outputs, referee: Outputs, *, ranked: bool) -> dict[str, Any]:
    """The difference; of ranked rows that changed places also how many, and what else differs."""
    apart = difference(found, referee)
    figures: dict[str, Any] = {"difference": float(f"{apart:.2g}")}
    if ranked and math.isfinite(apart):
        moved, rest = reordered(found, referee)
        if moved:
            figures |= {"moved": moved, "in_order": float(f"{rest:.2g}")}
    return figures


def page(figures: Figures) -> str:
    """The page with the table of these figures."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(figures)}\n{END}{after}"


def table(figures: Figures) -> str:
    modes = [*MODES, "torch-inductor"]
    heads = [*modes, "forward", "activations"]
    lines = [
        "| seed | " + " | ".join(heads) + " |",
        "|---|" + "---|" * len(heads),
    ]
    for name in SEEDS:
        known = figures.get(name, {})
        cells = [cell(known.get(mode)) for mode in modes]
        lines.append(f"| `{name}` | " + " | ".join([*cells, *scale(known.get(PROFILE))]) + " |")
    return "\n".join(lines)


def scale(one: dict[str, Any] | None) -> tuple[str, str]:
    """Milliseconds of a forward, and the range of activations."""
    if one is None:
        return "", ""
    return (
        f"{1000 * one['forward']:.3g} ms",
        f"{one['low']:g} to {one['high']:g}, {one['largest']:g}",
    )


def cell(one: dict[str, Any] | None) -> str:
    if one is None:
        return ""
    if "difference" not in one:
        return f"{one['status']}: {str(one.get('reason', ''))[:80]}".replace("|", "/")
    said = f"{one['difference']:.1e}"
    if "moved" in one:
        said += f" ({one['in_order']:.1e} but for the places of {one['moved']} rows)"
    return f"{said}, {one['seconds']:g} s, {one['gigabytes']:g} GB"


def check(figures: Figures) -> int:
    """Whether the page has these figures, and every figure is of the graph that is shipped."""
    old = [
        name
        for name, kept in figures.items()
        if {one["graph"] for one in kept.values()} - {digest(load_seed(name).graph)}
    ]
    if old:
        print(f"{FIGURES.name} has figures of other graphs: {', '.join(old)}", file=sys.stderr)
    elif page(figures) != PAGE.read_text(encoding="utf-8"):
        print(f"docs/seeds.md is not of {FIGURES.name}", file=sys.stderr)
    else:
        return 0
    print("run `python scripts/seeds.py` and commit what it writes", file=sys.stderr)
    return 1


def measure(names: list[str], figures: Figures) -> None:
    """Run what has no figures yet; what was found is kept after each mode."""
    for name in names:
        kept = figures.setdefault(name, {})
        for mode, one in run(name, kept):
            kept[mode] = one
            keep(figures)
            print(f"{name} {mode}: {cell(one)}", flush=True)
        profiled = profile(name, kept.get(PROFILE, {}))
        if profiled is not None:
            kept[PROFILE] = profiled
            keep(figures)
            print(f"{name}: {', '.join(scale(profiled))}", flush=True)


def keep(figures: Figures) -> None:
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="run the shipped seeds in every mode")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--full", dest="scale", action="store_const", const="full")
    parser.add_argument("--compact", dest="scale", action="store_const", const="compact")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    figures: Figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if given.check:
        return check(figures)
    wanted = given.names or [
        name for name, seed in SEEDS.items() if given.scale in (None, seed.scale)
    ]
    if not given.table:
        measure(wanted, figures)
    PAGE.write_text(page(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
