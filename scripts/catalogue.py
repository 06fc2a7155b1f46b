"""Writes docs/catalogue.md, the list of operators and mutators, from their tables, and
docs/variants.md, the run that proves each variant, from the record of `flowmut prove`.

With --check, says whether the pages are up to date and exits with 1 where it is not.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import engine.mutators  # noqa: F401 (completes the table)
from engine.mutators.spec import MUTATORS, Mutator, pool_variants
from engine.ops import OPS
from engine.proving import COMMAND, counted, label_of, proofs

__all__ = ["main", "pages"]

DOCS = Path(__file__).resolve().parent.parent / "docs"


def _cell(text: str) -> str:
    """Text that stands in one cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


def _operator_lines() -> Iterator[str]:
    forms = sum(len(table) for spec in OPS.values() for table in spec.forms.values())
    yield f"## Operators: {len(OPS)}, in {forms} forms"
    yield ""
    yield "| operator | operands | attributes | PyTorch forms | MindSpore forms | tolerance |"
    yield "|---|---|---|---|---|---|"
    for name, spec in sorted(OPS.items()):
        columns = (
            f"`{name}`",
            ", ".join(operand.name for operand in spec.operands),
            ", ".join(spec.attrs),
            ", ".join(spec.forms["torch"]),
            ", ".join(spec.forms["mindspore"]),
            spec.tolerance.value,
        )
        yield "| " + " | ".join(_cell(column) for column in columns) + " |"


def _mutator_lines() -> Iterator[str]:
    variants = sum(len(row.variants) for row in MUTATORS.values())
    yield f"## Mutators: {len(MUTATORS)}, in {variants} variants"
    yield ""
    yield "[What proves each variant](variants.md); the column *count* has how many of a row do."
    yield ""
    yield "| mutator | effect | variants | count | pools | provenance | what it does |"
    yield "|---|---|---|---:|---|---|---|"
    for name, row in sorted(MUTATORS.items()):
        columns = (
            f"`{name}`",
            row.effect.value,
            ", ".join(variant or "(one)" for variant in row.variants),
            f"{sum(_counts(row, one) for one in row.variants)} of {len(row.variants)}",
            ", ".join(row.provenance.pools),
            f"{row.provenance.source}: {row.provenance.label}",
            row.doc,
        )
        yield "| " + " | ".join(_cell(column) for column in columns) + " |"


def _counts(row: Mutator, variant: str) -> bool:
    found = proofs().get(label_of(row, variant))
    return found is not None and found.accepted


def _variant_lines() -> Iterator[str]:
    yield "A variant counts when it has made an accepted, distinct mutant in a recorded run: of a"
    yield "compact seed, one that passes in eager PyTorch and PyNative MindSpore, and whose whole"
    yield f"graph runs and is alive. `{COMMAND}` finds one of each that has none on record, in"
    yield "`engine/mutators/proofs.json`; what is nasty on purpose is never accepted, and does not"
    yield "count."
    yield ""
    yield "| pool | variants | count |"
    yield "|---|---:|---:|"
    for pool, count in counted(proofs()).items():
        yield f"| {pool} | {len(pool_variants(pool))} | {count} |"
    yield ""
    yield "| variant | seed | site | draw | mutant | verdict | counts |"
    yield "|---|---|---|---|---|---|---|"
    for row, variant in pool_variants():
        name = label_of(row, variant)
        one = proofs().get(name)
        if one is None:
            yield f"| `{name}` |  |  |  |  | no run yet | no |"
            continue
        draw = " ".join(map(str, one.draw))
        seed = one.seed.removesuffix("_compact")
        columns = (f"`{name}`", seed, one.site, draw, f"`{one.digest[:12]}`", one.verdict)
        yield "| " + " | ".join(map(_cell, columns)) + f" | {'yes' if one.accepted else 'no'} |"


def pages() -> dict[str, str]:
    """The pages by the name of their file."""
    head = ("# Catalogue", "", "Written by `make catalogue` from the tables in the code.", "")
    proven = ("# Variants", "", "Written by `make catalogue`.", "")
    return {
        "catalogue.md": "\n".join((*head, *_operator_lines(), "", *_mutator_lines())) + "\n",
        "variants.md": "\n".join((*proven, *_variant_lines())) + "\n",
    }


def main() -> int:
    """Write the pages, or check them."""
    stale = []
    for name, text in pages().items():
        page = DOCS / name
        if "--check" not in sys.argv[1:]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(f"docs/{name}")
    if stale:
        print(f"{', '.join(stale)}: run `make catalogue` and commit it", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
