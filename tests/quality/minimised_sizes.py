"""How many operators minimised findings have: run campaigns, or read the folders of earlier ones.

    .venv/bin/python tests/quality/minimised_sizes.py --rounds 40 --out FOLDER SEED SEED ...
    .venv/bin/python tests/quality/minimised_sizes.py --read FOLDER/*

Campaigns are run one after another, each in a folder of its own under FOLDER, and go on where they
were stopped. Prints the median, the share of findings with at most three operators, how many have
how many, and those that have more, with what they cost.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from engine.cli import main as flowmut
from engine.finding import Finding
from engine.ir.text import parse_case

AT_MOST = 3


@dataclass(frozen=True)
class Size:
    """One finding: `operators` left of those of its model, `seconds` it took."""

    name: str
    operators: int
    seconds: float
    kind: str
    modes: str
    calls: str


def sizes(folders: Iterable[Path]) -> list[Size]:
    """The findings of run folders. What takes an element of a tuple is no operator."""
    found = []
    for path in sorted(one for folder in folders for one in (folder / "findings").glob("*.json")):
        finding = Finding.from_json(json.loads(path.read_text()))
        nodes = parse_case(finding.minimised_text).graph.nodes
        found.append(
            Size(
                name=f"{path.parents[1].name}/{path.stem}",
                operators=sum(node.op != "item" for node in nodes),
                seconds=finding.seconds,
                kind=finding.parts["kind"],
                modes=finding.parts["modes"],
                calls=finding.parts["calls"],
            )
        )
    return found


def report(found: Sequence[Size]) -> str:
    """The figures as text."""
    if not found:
        return "no findings"
    counts = Counter(one.operators for one in found)
    few = sum(one.operators <= AT_MOST for one in found)
    lines = [
        (
            f"findings {len(found)}, median {median(one.operators for one in found):g} operators,"
            f" {few} ({few / len(found):.0%}) have at most {AT_MOST};"
            f" {median(one.seconds for one in found):.0f} s each (median)"
        ),
        *(f"{operators:4} operators: {number}" for operators, number in sorted(counts.items())),
        *(
            f"  more: {one.operators} in {one.seconds:.0f} s, {one.kind}, {one.modes}: {one.calls}"
            f" ({one.name})"
            for one in found
            if one.operators > AT_MOST
        ),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run or read, then print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("seeds", nargs="*", help="seeds to run; with --read, folders")
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--random-seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("var/sizes"))
    given = parser.parse_args(arguments)
    if given.read:
        folders = [Path(one) for one in given.seeds]
    else:
        folders = [given.out / f"{seed}-{given.random_seed}" for seed in given.seeds]
        for seed, folder in zip(given.seeds, folders, strict=True):
            options = ["--rounds", str(given.rounds), "--random-seed", str(given.random_seed)]
            status = flowmut(["run", "--seed", seed, *options, "--out", str(folder)])
            if status:
                return status
            print(report(sizes(folders)), flush=True)
    print(report(sizes(folders)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
