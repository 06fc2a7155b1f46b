"""The script of a report as a syntax tree: what it imports, calls, compares, asserts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Called", "Comparison", "Script", "python_blocks", "read_script"]

_FENCE = re.compile(r"^(`{3,})(?:python|py)\s*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
# Calls that compare two values: where the tolerances stand among their arguments, and what holds
# where they are left out (None: the defaults of `torch.testing`).
_COMPARING: Mapping[str, tuple[float, float] | None] = {
    "numpy.testing.assert_allclose": (1e-7, 0.0),
    "numpy.allclose": (1e-5, 1e-8),
    "numpy.isclose": (1e-5, 1e-8),
    "torch.allclose": (1e-5, 1e-8),
    "torch.isclose": (1e-5, 1e-8),
    "torch.testing.assert_close": None,
    "torch._dynamo.utils.same": None,
    "math.isclose": (1e-9, 0.0),
}
_EXACT = (
    "numpy.testing.assert_array_equal",
    "numpy.testing.assert_equal",
    "numpy.array_equal",
    "torch.equal",
)
_METHODS = {"allclose": "torch.allclose", "isclose": "torch.isclose", "equal": "torch.equal"}


@dataclass(frozen=True)
class Called:
    """A call by its full name ("numpy.testing.assert_allclose", ".topk" for a method)."""

    name: str
    node: ast.Call

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def line(self) -> int:
        return self.node.lineno


@dataclass(frozen=True)
class Comparison:
    """Two values compared.

    `rtol`, `atol`: None where they are the defaults of `torch.testing`, NaN where they are no
    literals. `is_exact`: bit for bit. `has_reference`: a float64 result is given beside.
    """

    line: int
    said: str
    sides: tuple[ast.expr, ...]
    rtol: float | None = None
    atol: float | None = None
    is_exact: bool = False
    has_reference: bool = False


@dataclass(frozen=True)
class Script:
    """A script that parses (`tree`), or why it does not (`problem`). `blocks`: how many scripts
    the report holds; this is the first."""

    text: str
    blocks: int
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))
    problem: str = ""

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Local name to the full name that was imported under it."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    name = one.asname or one.name.partition(".")[0]
                    found[name] = one.name if one.asname else name
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for one in node.names:
                    found[one.asname or one.name] = f"{node.module}.{one.name}"
        return found

    @cached_property
    def imported(self) -> frozenset[str]:
        """Names of the top packages that it imports."""
        found = set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {one.name.partition(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or ".").partition(".")[0])
        return frozenset(found)

    @cached_property
    def calls(self) -> tuple[Called, ...]:
        """Every call, in the order of the text."""
        found = [one for one in ast.walk(self.tree) if isinstance(one, ast.Call)]
        found.sort(key=lambda one: (one.lineno, one.col_offset))
        return tuple(Called(self.name_of(one.func), one) for one in found)

    @cached_property
    def values(self) -> Mapping[str, tuple[ast.expr, ...]]:
        """What is assigned to each name, anywhere in the script."""
        found: dict[str, tuple[ast.expr, ...]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found[target.id] = (*found.get(target.id, ()), node.value)
        return found

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every comparison of numbers that an assertion may rest on."""
        found = [one for called in self.calls for one in self._compared(called)]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare):
                found += _differences(node)
        return tuple(sorted(found, key=lambda one: one.line))

    @cached_property
    def code_lines(self) -> int:
        """Lines with code on them: not empty, no comment, no documentation string."""
        lines = set[int]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and not _is_documentation(node):
                heads = isinstance(
                    node,
                    ast.FunctionDef
                    | ast.ClassDef
                    | ast.With
                    | ast.For
                    | ast.If
                    | ast.Try
                    | ast.While,
                )
                last = node.lineno if heads else (node.end_lineno or node.lineno)
                lines |= set(range(node.lineno, last + 1))
        return len(lines)

    @cached_property
    def asserts(self) -> bool:
        """Whether it ends with an AssertionError where the bug is there, or says that it dies."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assert):
                return True
            if isinstance(node, ast.Raise) and node.exc is not None:
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                if self.name_of(raised) == "AssertionError":
                    return True
        return any(one.last.startswith("assert_") for one in self.calls) or bool(self.announced)

    @cached_property
    def announced(self) -> str:
        """What it prints before a call that kills the process or does not come back."""
        for text in self.strings:
            if re.match(r"the process dies of SIG\w+ here|the call does not come back", text):
                return text
        return ""

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """Literal texts but for documentation strings."""
        documented = {
            node.value
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        return tuple(
            one.value
            for one in ast.walk(self.tree)
            if isinstance(one, ast.Constant)
            and isinstance(one.value, str)
            and one not in documented
        )

    def name_of(self, node: ast.expr) -> str:
        """Full name of what stands there; a method of something begins with a dot."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return f".{'.'.join(parts)}"
        known = self.aliases.get(node.id)
        if known is None and parts:
            return f".{'.'.join(parts)}"
        return ".".join([known or node.id, *parts])

    def same_code(self, other: Script) -> bool:
        """Whether both do the same: they differ in comments and documentation strings at most."""
        return _bare(self.tree) == _bare(other.tree)

    def behind(self, node: ast.expr, depth: int = 4) -> Iterator[ast.expr]:
        """An expression, and what the names in it were given, a few assignments deep."""
        yield node
        if depth == 0:
            return
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                for value in self.values.get(one.id, ()):
                    if value is not node:
                        yield from self.behind(value, depth - 1)

    def _compared(self, called: Called) -> Iterator[Comparison]:
        name = called.name
        if name.startswith(".") and called.last in _METHODS:
            name = _METHODS[called.last]
        short = name.replace("numpy.", "np.")
        sides = tuple(called.node.args[:2])
        if name in _EXACT:
            yield Comparison(called.line, short, sides, is_exact=True)
        elif name in _COMPARING:
            given = {one.arg or "": _number(one.value) for one in called.node.keywords}
            rtol, atol = _COMPARING[name] or (None, None)
            positions = dict(
                zip(("rtol", "atol"), map(_number, called.node.args[2:4]), strict=False)
            )
            given = {**positions, **given}
            names = ("rel_tol", "abs_tol") if name == "math.isclose" else ("rtol", "atol")
            if name.endswith(".same"):
                names = ("tol", "tol")
            yield Comparison(
                called.line,
                short,
                sides,
                given.get(names[0], rtol),
                given.get(names[1], atol),
                has_reference="fp64_ref" in given,
            )


def python_blocks(texts: Mapping[str, str]) -> list[str]:
    """The blocks of Python in the fields of a report, in order."""
    return [found[1] for text in texts.values() for found in _FENCE.findall(text)]


def read_script(texts: Mapping[str, str]) -> Script:
    """The first script of a report's fields."""
    blocks = python_blocks(texts)
    if not blocks:
        return Script("", 0, problem="no block of Python (```python)")
    return parsed(blocks[0], len(blocks))


def parsed(text: str, blocks: int = 1) -> Script:
    """A script's text as a tree."""
    try:
        return Script(text, blocks, ast.parse(text))
    except SyntaxError as error:
        return Script(text, blocks, problem=f"line {error.lineno}: {error.msg}")


def _differences(node: ast.Compare) -> Iterator[Comparison]:
    """`abs(a - b) < 1e-6` and the like."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return
    for side, limit in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        number = _number(limit)
        subtracts = any(
            isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) for one in ast.walk(side)
        )
        if subtracts and number == number and 0 <= number < 1:
            yield Comparison(node.lineno, f"a difference against {number:g}", (side,), 0.0, number)


def _number(node: ast.expr) -> float:
    """A literal number, NaN for anything else."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return float("nan")
    return float(value) if isinstance(value, int | float) else float("nan")


def _is_documentation(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _bare(tree: ast.Module) -> str:
    kept = [node for node in tree.body if not _is_documentation(node)]
    return ast.dump(ast.Module(kept, []))
