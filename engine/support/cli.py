"""`flowmut support`: run the matrix, go on where it stopped, and write the page."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from engine.errors import BadInput
from engine.executors.pool import Pool
from engine.ops import FRAMEWORKS, OPS
from engine.support.cells import all_cells
from engine.support.page import support_json, support_page
from engine.support.store import State, Store
from engine.support.survey import GROUPS, survey
from engine.trial import Bench

__all__ = ["add_support"]

_console = Console(stderr=True)


def add_support(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to a parser."""
    text = "run every operator in every form, dtype and mode; resumable"
    one = commands.add_parser("support", help=text, description=text)
    one.add_argument(
        "--group",
        action="append",
        choices=[*GROUPS],
        help="modes that are run together (default: all, one after another)",
    )
    one.add_argument("--op", action="append", default=[], metavar="NAME", help="only this operator")
    one.add_argument("--dtype", action="append", default=[], help="only this dtype")
    one.add_argument(
        "--folder", type=Path, default=Path("var", "support"), help="where records are kept"
    )
    one.add_argument(
        "--page", type=Path, metavar="FOLDER", help="write support.md and support.json"
    )
    one.add_argument("--only-page", action="store_true", help="run nothing")
    one.set_defaults(command=_support)


def _support(given: argparse.Namespace) -> int:
    for name in given.op:
        if name not in OPS:
            raise BadInput("--op", seen=repr(name), expected="a name that `flowmut ops` lists")
    if not given.only_page:
        for name in given.group or GROUPS:
            _run(name, given)
    if given.page:
        digests = {one.name: one.digest for name in FRAMEWORKS for one in all_cells(name)}
        # What is on record of a call that has become another says nothing of this one.
        records = [
            one
            for one in Store(given.folder).records().values()
            if digests.get(one.name) == one.digest
        ]
        number = Counter(framework for framework, *_ in digests)
        given.page.mkdir(parents=True, exist_ok=True)
        (given.page / "support.md").write_text(support_page(records, number))
        text = json.dumps(support_json(records, number), indent=1, ensure_ascii=False)
        (given.page / "support.json").write_text(f"{text}\n")
    return 0


def _run(name: str, given: argparse.Namespace) -> None:
    group = GROUPS[name]
    cells = [
        cell
        for cell in all_cells(group.framework, given.op)
        if not given.dtype or cell.dtype in given.dtype
    ]
    store = Store(given.folder, writer=name)
    seen: Counter[str] = Counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("calls, {task.fields[lacking]} records do not work"),
        TimeElapsedColumn(),
    )
    with Pool() as pool, Progress(*columns, console=_console) as progress:
        bar = progress.add_task(name, total=len(cells), lacking=0)
        for step in survey(cells, group, Bench(pool, group.modes), store):
            seen.update(one.state.value for one in step.seen)
            lacking = seen.total() - seen[State.WORKS.value]
            progress.update(bar, completed=step.done, lacking=lacking)
            for one in step.seen:
                if one.finding:
                    progress.console.print(
                        f"{one.op}.{one.form} of {one.dtype}, {one.mode}: {one.text}",
                        highlight=False,
                        soft_wrap=True,
                    )
    _console.print(f"{name}: {dict(seen) or 'everything is on record'}", highlight=False)
