"""The same function with a note taken after each assignment."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Callable

__all__ = ["RECORD", "instrumented"]

RECORD = "__record"


def instrumented(
    source: str, path: str, module: Mapping[str, Any], record: Callable[[str, Any], None]
) -> Callable[..., Any]:
    """`forward` of the source with `record(name, value)` after each assignment of its own body.

    Line numbers stay those of the file. The other globals are those of `module`, so that what its
    `setup` made is seen. Bodies of nested functions and loops are left alone.
    """
    tree = ast.parse(source, path)
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "forward"]
    function = found[0]
    function.body = [extra for line in function.body for extra in (line, *_notes(line))]
    function.decorator_list = []
    tree.body = [function]
    ast.fix_missing_locations(tree)
    scope: dict[str, Any] = {**module, RECORD: record}
    exec(compile(tree, path, "exec"), scope)
    made: Callable[..., Any] = scope["forward"]
    return made


def _notes(line: ast.stmt) -> list[ast.stmt]:
    if not isinstance(line, ast.Assign):
        return []
    names = [
        part.id
        for target in line.targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(part, ast.Name)
    ]
    notes: list[ast.stmt] = []
    for name in names:
        call = ast.Call(
            func=ast.Name(id=RECORD, ctx=ast.Load()),
            args=[ast.Constant(name), ast.Name(id=name, ctx=ast.Load())],
            keywords=[],
        )
        notes.append(ast.copy_location(ast.Expr(value=call), line))
    return notes
