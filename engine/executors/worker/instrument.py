"""The same function with a note taken after each assignment."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

__all__ = ["RECORD", "instrumented"]

RECORD = "__record"


def instrumented(
    path: str,
    lines: Mapping[str, str],
    module: Mapping[str, Any],
    record: Callable[[str, Any], None],
) -> Callable[..., Any]:
    """`forward` of a file with `record(node, value)` after each assignment of its own body.

    `lines` gives the node of a line; where several lines of a node assign, the last note counts.
    Line numbers stay those of the file. The other globals are those of `module`, so that what its
    `setup` made is seen. Bodies of nested functions and loops are left alone.
    """
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "forward"]
    function = found[0]
    function.body = [extra for line in function.body for extra in (line, *_notes(line, lines))]
    function.decorator_list = []
    tree.body = [function]
    scope: dict[str, Any] = {**module, RECORD: record}
    exec(compile(tree, path, "exec"), scope)
    made: Callable[..., Any] = scope["forward"]
    return made


def _notes(line: ast.stmt, lines: Mapping[str, str]) -> list[ast.stmt]:
    node = lines.get(str(line.lineno))
    if node is None or not isinstance(line, ast.Assign):
        return []
    names = [
        part.id
        for target in line.targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(part, ast.Name)
    ]
    notes: list[ast.stmt] = []
    for name in names:
        place: dict[str, Any] = {"lineno": line.lineno, "col_offset": line.col_offset}
        call = ast.Call(
            func=ast.Name(id=RECORD, ctx=ast.Load(), **place),
            args=[ast.Constant(node, **place), ast.Name(id=name, ctx=ast.Load(), **place)],
            keywords=[],
            **place,
        )
        notes.append(ast.Expr(value=call, **place))
    return notes
