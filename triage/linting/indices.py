"""Whether a script compares indices: what `argmax`, `sort` and the like say of where, not of what.

A small reading of the script in order: each name stands for a plain value, for indices, for a pair
of values and indices, or for several of these. What is picked *by* indices is a plain value again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from triage.linting.script import Script

__all__ = ["compared_indices"]

_INDICES = frozenset(
    {
        "argmax",
        "argmin",
        "argsort",
        "argwhere",
        "nonzero",
        "searchsorted",
        "argtopk",
        "Argmax",
        "Argmin",
    }
)
_PAIRS = frozenset(
    {
        *("sort", "topk", "kthvalue", "median", "mode", "cummax", "cummin", "max", "min", "Sort"),
        *("TopK", "top_k", "msort", "nanmedian", "ArgMaxWithValue", "ArgMinWithValue"),
    }
)
# In these the indices come first.
_TURNED = frozenset({"ArgMaxWithValue", "ArgMinWithValue"})
_PICKING = frozenset(
    {"gather", "take", "take_along_dim", "index_select", "gather_elements", "one_hot", "scatter"}
)
_PLAIN, _INDEX, _PAIR, _TURNED_PAIR = "plain", "index", "pair", "turned pair"
_Value: TypeAlias = "str | tuple[_Value, ...]"


def compared_indices(script: Script) -> tuple[str, ...]:
    """Where indices are compared, as "line 12: topk"; nothing where none are."""
    reading = _Reading(script)
    reading.run(script.tree.body)
    found: list[str] = []
    for one in script.comparisons:
        if any(_has_index(reading.value(side)) for side in one.sides):
            found.append(f"line {one.line}: {one.said} of {reading.source or 'indices'}")
    for node in ast.walk(script.tree):
        if isinstance(node, ast.Assert) and _has_index(reading.value(node.test)):
            found.append(f"line {node.lineno}: an assertion about {reading.source or 'indices'}")
    return tuple(dict.fromkeys(found))


def _has_index(value: _Value) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_index, value))
    return value != _PLAIN


@dataclass
class _Reading:
    script: Script
    names: dict[str, _Value] = field(default_factory=dict)
    functions: dict[str, _Value] = field(default_factory=dict)
    source: str = ""

    def run(self, body: list[ast.stmt]) -> _Value:
        """Read statements in order; what they return."""
        returned: _Value = _PLAIN
        for node in body:
            match node:
                case ast.FunctionDef(name=name, body=inner):
                    self.functions[name] = self.run(inner)
                case ast.Return(value=value) if value is not None:
                    returned = self.value(value)
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._assign(target, self.value(value))
            for inner in _bodies(node):
                found = self.run(inner)
                returned = found if _has_index(found) else returned
        return returned

    def _assign(self, target: ast.expr, value: _Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            parts = _parts(value, len(target.elts))
            for one, part in zip(target.elts, parts, strict=True):
                self._assign(one, part)

    def value(self, node: ast.expr) -> _Value:
        """What an expression stands for."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name, _PLAIN)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(map(self.value, parts))
            case ast.Attribute(value=inner, attr=attr):
                return self._attribute(self.value(inner), attr)
            case ast.Subscript(value=inner, slice=place):
                return self._subscript(self.value(inner), place)
            case ast.Call():
                return self._call(node)
        children = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return _INDEX if any(_has_index(self.value(one)) for one in children) else _PLAIN

    def _attribute(self, value: _Value, attr: str) -> _Value:
        if value in (_PAIR, _TURNED_PAIR):
            return _INDEX if attr == "indices" else _PLAIN
        return _PLAIN if attr in ("shape", "dtype", "device") else value

    def _subscript(self, value: _Value, place: ast.expr) -> _Value:
        at = place.value if isinstance(place, ast.Constant) else None
        if isinstance(value, tuple):
            inside = isinstance(at, int) and -len(value) <= at < len(value)
            return value[at] if inside and isinstance(at, int) else value
        if value in (_PAIR, _TURNED_PAIR):
            indices = 1 if value == _PAIR else 0
            return _INDEX if at == indices or not isinstance(at, int) else _PLAIN
        return value

    def _call(self, node: ast.Call) -> _Value:
        name = self.script.name_of(node.func).rpartition(".")[2]
        if isinstance(node.func, ast.Call):  # torch.compile(forward)(x), ops.TopK()(x, 2)
            inner = self.script.name_of(node.func.func).rpartition(".")[2]
            if inner in _PAIRS | _INDICES:
                return self._made(inner, node)
            for one in node.func.args:
                if isinstance(one, ast.Name) and one.id in self.functions:
                    return self.functions[one.id]
        if name in self.functions:
            return self.functions[name]
        if isinstance(node.func, ast.Name) and node.func.id in self.names:
            return self.names[node.func.id]  # run = torch.compile(forward); run(x)
        if name == "compile" or name == "jit":
            named = [one.id for one in node.args if isinstance(one, ast.Name)]
            return next((self.functions[one] for one in named if one in self.functions), _PLAIN)
        if name in _PICKING:
            return _PLAIN
        if name in _INDICES | _PAIRS:
            return self._made(name, node)
        given = [*node.args, *(one.value for one in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.append(node.func.value)
        return _INDEX if any(_has_index(self.value(one)) for one in given) else _PLAIN

    def _made(self, name: str, node: ast.Call) -> _Value:
        if name in ("max", "min", "median", "mode") and not _has_axis(node):
            return _PLAIN  # of the whole tensor: a value alone
        self.source = name
        if name in _INDICES:
            return _INDEX
        return _TURNED_PAIR if name in _TURNED else _PAIR


def _has_axis(node: ast.Call) -> bool:
    """Whether a maximum is taken along a dimension; NumPy's `axis` gives values alone."""
    named = {one.arg for one in node.keywords}
    numbers = [one for one in node.args if isinstance(one, ast.Constant | ast.UnaryOp)]
    return bool({"dim", "return_indices"} & named) or bool(numbers)


def _parts(value: _Value, count: int) -> tuple[_Value, ...]:
    if isinstance(value, tuple) and len(value) == count:
        return value
    if value == _PAIR and count == 2:
        return (_PLAIN, _INDEX)
    if value == _TURNED_PAIR and count == 2:
        return (_INDEX, _PLAIN)
    return (value,) * count


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(node, name, None)
        if isinstance(inner, list):
            yield inner
    for handler in getattr(node, "handlers", []):
        yield handler.body
