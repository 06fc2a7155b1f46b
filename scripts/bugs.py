"""The pages of docs/bugs: their counts in README.md, and their scripts run again.

    python scripts/bugs.py                            write docs/bugs/README.md
    python scripts/bugs.py --check                    exit with 1 where it is not up to date
    python scripts/bugs.py --run [--python PATH] [--attempts N] [NAME ...]
                                                      run the scripts, and say of each whether it
                                                      reproduced, is gone or could not run

A page is NAME.md: a header between two lines of dashes, then the sections of `SECTIONS`. Its script
is scripts/NAME.py.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadInput
from engine.script_run import Ending, run_script

__all__ = ["KINDS", "SECTIONS", "Page", "main", "pages", "readme"]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "bugs"
SECTIONS = (
    "What happens",
    "Evidence",
    "Not another page's",
    "Likely cause",
    "What a maintainer would ask",
)
KINDS = {
    "call form": "one spelling of a call fails where the documentation makes it equal to another",
    "dtype": "a dtype that the documentation lists is refused, or loses precision or range",
    "special value": "NaN, Inf, signed zero, limits of the dtype, ties",
    "extent": "extents 0 and 1, scalars",
    "layout and aliasing": "strides, views, in-place writes",
    "gradient": "the derivative, of a call whose value is right",
    "state": "what a call leaves behind: inputs, flags, generators",
    "control flow": "loops, branches, Python's builtins",
    "sparse": "CSR and COO tensors",
    "compiler pass": "what a compiler makes of a graph that eager mode runs rightly",
    "value": "ordinary values, plainly wrong",
}
_CHOICES = {
    "framework": ("torch", "mindspore"),
    "symptom": ("crash", "numerical", "state"),
    "kind": tuple(KINDS),
    "ordinary": ("yes", "no"),
}
_TEXTS = ("title", "versions", "modes", "found by", "reproduced")


@dataclass(frozen=True)
class Page:
    """One root cause. `header`: the fields by name; `script` is where its program lies."""

    name: str
    header: dict[str, str]
    text: str

    @property
    def script(self) -> Path:
        return FOLDER / "scripts" / f"{self.name}.py"

    def __getitem__(self, field: str) -> str:
        return self.header[field]


def pages() -> list[Page]:
    """All pages in the order of their names; `BadInput` for one that lacks something."""
    return [_read(path) for path in sorted(FOLDER.glob("*.md")) if path.name != "README.md"]


def _read(path: Path) -> Page:
    parts = path.read_text().split("---\n", 2)
    if len(parts) != 3 or parts[0]:
        raise BadInput(f"page {path.name}", seen="no header", expected="lines between dashes first")
    lines = [line.partition(":") for line in parts[1].splitlines()]
    page = Page(path.stem, {key.strip(): value.strip() for key, _, value in lines}, parts[2])
    for field in (*_TEXTS, *_CHOICES):
        if not page.header.get(field):
            raise BadInput(f"page {path.name}", seen=f"no {field}", expected="one in the header")
    for field, choices in _CHOICES.items():
        if page[field] not in choices:
            expected = f"one of {', '.join(choices)}"
            raise BadInput(f"page {path.name}: {field}", seen=page[field], expected=expected)
    for section in SECTIONS:
        if f"## {section}\n" not in page.text:
            raise BadInput(f"page {path.name}", seen=f"no section {section}", expected="one")
    if not page.script.exists():
        raise BadInput(f"page {path.name}", seen="no script", expected=f"scripts/{page.name}.py")
    return page


def readme(found: Sequence[Page]) -> str:
    """The page of counts."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[Page]) -> Iterator[str]:
    plain = sum(page["ordinary"] == "yes" for page in found)
    drafts = len(list((FOLDER / "drafts").glob("*.md")))
    yield "# Bugs"
    yield ""
    yield (
        f"{len(found)} root causes in PyTorch and MindSpore, each with a script that shows it;"
        f" {plain} in plain programs, with ordinary dtypes and values. What fails alike for one"
        " reason is one page. `make bugs` runs all scripts again and says which still fail, on any"
        " interpreter: `.venv/bin/python scripts/bugs.py --run --python PATH`."
        f" {drafts} reports, drafted by the product from findings of its own, lie in `drafts/`;"
        " whoever files one searches the tracker first."
    )
    for title, field in (
        ("framework", "framework"),
        ("symptom", "symptom"),
        ("what it takes", "kind"),
        ("what found it", "found by"),
    ):
        yield ""
        yield f"| {title} | pages | of them in plain programs |"
        yield "|---|---|---|"
        counts = Counter(_word(page[field]) for page in found)
        ordinary = Counter(_word(page[field]) for page in found if page["ordinary"] == "yes")
        for value, count in counts.most_common():
            shown = f"{value}: {KINDS[value]}" if field == "kind" else value
            yield f"| {shown} | {count} | {ordinary[value]} |"
    yield ""
    yield "| page | framework, versions | symptom | kind | plain | modes | reproduced |"
    yield "|---|---|---|---|---|---|---|"
    for page in found:
        where = f"{page['framework']} {page['versions']}"
        cells = (
            f"[{page['title']}]({page.name}.md)",
            where,
            *(page[field] for field in ("symptom", "kind", "ordinary", "modes", "reproduced")),
        )
        yield "| " + " | ".join(one.replace("|", "\\|") for one in cells) + " |"


def _word(text: str) -> str:
    """What found it, without the details behind the comma."""
    return text.partition(",")[0]


def _run(found: Sequence[Page], *, interpreter: str, attempts: int) -> int:
    totals: Counter[str] = Counter()
    for page in found:
        text = page.script.read_text()
        runs = [run_script(text, interpreter=interpreter) for _ in range(attempts)]
        endings = Counter(one.ending for one in runs)
        worst = next(one for one in Ending if endings[one])
        word = {Ending.PASSED: "gone"}.get(worst, worst.value)
        totals[word] += 1
        reason = next((one.reason for one in runs if one.reason), "")
        print(f"{word} {endings[worst]} of {attempts}: {page.name} {reason}".rstrip(), flush=True)
    print(", ".join(f"{count} {word}" for word, count in totals.items()))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--attempts", type=int, default=1)
    given = parser.parse_args()
    found = pages()
    if given.run:
        chosen = [page for page in found if not given.names or page.name in given.names]
        return _run(chosen, interpreter=given.python, attempts=given.attempts)
    path = FOLDER / "README.md"
    text = readme(found)
    if given.check:
        if not path.exists() or path.read_text() != text:
            print(f"{path} is not up to date: run scripts/bugs.py")
            return 1
        return 0
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
