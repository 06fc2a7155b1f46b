"""What a reproducer is: which of the two kinds, of which framework, calling what. Nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.errors import BadInput

__all__ = ["FUNCTIONS", "MOST_BYTES", "Kind", "Reproducer", "read"]

MOST_BYTES = 100_000
FUNCTIONS = ("function", "forward")
FRAMEWORKS = ("torch", "mindspore")
_EXPECTED = (
    "a module with `inputs` and a `function` (or `forward`), or a script that asserts what is wrong"
)
# Calls that make tensors, compile or seed: never what a reproducer is about.
_MAKERS = frozenset(
    {
        *("tensor", "Tensor", "from_numpy", "as_tensor", "randn", "rand", "randint", "zeros"),
        *("ones", "full", "arange", "linspace", "empty", "manual_seed", "set_seed", "compile"),
        *("jit", "set_context", "set_device", "no_grad", "allclose", "equal", "assert_close"),
        "reset",
    }
)
_ASSERTS = ("assert_close", "assert_allclose", "assert_array_equal", "assert_equal", "fail")


class Kind(StrEnum):
    """A module with inputs and a function, or a script with an assertion."""

    MODULE = "module"
    SCRIPT = "script"


@dataclass(frozen=True)
class Reproducer:
    """`function`: its name, "" for a script. `calls`: what it calls of the framework, in order."""

    name: str
    text: str
    kind: Kind
    framework: str
    function: str
    calls: tuple[str, ...]
    doc: str = ""

    @property
    def op(self) -> str:
        """The last part of the last call: what it is probably about."""
        return self.calls[-1].rpartition(".")[2] if self.calls else ""


def read(text: str, *, name: str, framework: str = "") -> Reproducer:
    """`framework` where the text imports both. `BadInput` says what is missing, and in which line
    it cannot be parsed."""
    thing = f"reproducer {name}"
    size = len(text.encode(errors="surrogateescape"))
    if size > MOST_BYTES:
        raise BadInput(thing, seen=f"{size} bytes", expected=f"at most {MOST_BYTES}")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f" in line {line}" if line else ""
        raise BadInput(thing, seen=f"{error.args[0]}{where}", expected="Python") from error
    modules = dict(_modules(tree))
    top = set(_top_names(tree))
    function = next((one for one in FUNCTIONS if one in top), "")
    if function and "inputs" in top:
        kind = Kind.MODULE
    elif function and not _asserts(tree):
        raise BadInput(thing, seen=f"`{function}` without `inputs`", expected=_EXPECTED)
    elif _asserts(tree):
        kind, function = Kind.SCRIPT, ""
    else:
        raise BadInput(thing, seen="neither `function` nor an assertion", expected=_EXPECTED)
    return Reproducer(
        name=name,
        text=text,
        kind=kind,
        framework=_framework(thing, modules, framework),
        function=function,
        calls=tuple(dict.fromkeys(_calls(tree, modules))),
        doc=(ast.get_docstring(tree) or "").partition("\n")[0],
    )


def _framework(thing: str, modules: Mapping[str, str], asked: str) -> str:
    found = {one.partition(".")[0] for one in modules.values()} & set(FRAMEWORKS)
    if asked:
        if asked not in FRAMEWORKS:
            raise BadInput(thing, seen=f"framework {asked}", expected=" or ".join(FRAMEWORKS))
        if asked not in found:
            raise BadInput(thing, seen=f"no import of {asked}", expected=f"import {asked}")
        return asked
    if len(found) != 1:
        seen = "imports of both frameworks" if found else "no import of a framework"
        raise BadInput(thing, seen=seen, expected="one of torch and mindspore, or --framework")
    return found.pop()


def _modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that stand for modules or for what is in them: ("F", "torch.nn.functional")."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for one in node.names:
                    root = one.name.partition(".")[0]
                    yield (one.asname, one.name) if one.asname else (root, root)
            case ast.ImportFrom(module=str(module), level=0):
                for one in node.names:
                    yield one.asname or one.name, f"{module}.{one.name}"


def _top_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign():
                yield from (one.id for one in node.targets if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def _asserts(tree: ast.Module) -> bool:
    """Whether it can end with an AssertionError of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert():
                return True
            case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
                return True
            case ast.Raise(exc=ast.Name(id="AssertionError")):
                return True
            case ast.Call(func=ast.Attribute(attr=name)) if name in _ASSERTS:
                return True
            case ast.Call(func=ast.Name(id=name)) if name in _ASSERTS:
                return True
    return False


def _calls(tree: ast.Module, modules: Mapping[str, str]) -> Iterator[str]:
    """Whole names of what is called of the frameworks."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for node in sorted(found, key=lambda one: (one.end_lineno or 0, one.end_col_offset or 0)):
        root, _, rest = _dotted(node.func).partition(".")
        whole = ".".join(part for part in (modules.get(root, ""), rest) if part)
        last = whole.rpartition(".")[2]
        if root in modules and whole.startswith(FRAMEWORKS) and last not in _MAKERS:
            yield whole


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            inner = _dotted(node.value)
            return f"{inner}.{node.attr}" if inner else ""
    return ""
