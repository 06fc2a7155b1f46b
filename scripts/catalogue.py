"""Writes docs/catalogue.md, the list of operators and mutators, from their tables.

With --check, says whether the page is up to date and exits with 1 where it is not.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import engine.mutators  # noqa: F401 (completes the table)
from engine.mutators.spec import MUTATORS
from engine.ops import OPS

__all__ = ["catalogue", "main"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "catalogue.md"


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
    yield "| mutator | effect | variants | pools | provenance | what it does |"
    yield "|---|---|---|---|---|---|"
    for name, row in sorted(MUTATORS.items()):
        columns = (
            f"`{name}`",
            row.effect.value,
            ", ".join(variant or "(one)" for variant in row.variants),
            ", ".join(row.provenance.pools),
            f"{row.provenance.source}: {row.provenance.label}",
            row.doc,
        )
        yield "| " + " | ".join(_cell(column) for column in columns) + " |"


def catalogue() -> str:
    """The page."""
    head = ("# Catalogue", "", "Written by `make catalogue` from the tables in the code.", "")
    return "\n".join((*head, *_operator_lines(), "", *_mutator_lines())) + "\n"


def main() -> int:
    """Write the page, or check it."""
    page = catalogue()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page:
        return 0
    print(
        "docs/catalogue.md is not up to date: run `make catalogue` and commit it", file=sys.stderr
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
