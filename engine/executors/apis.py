"""Public names of what a form calls: `F.relu({x})` is torch.nn.functional.relu."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

from engine.ops.spec import Form

__all__ = ["MODULES", "public_api", "public_apis"]

MODULES: Mapping[str, Mapping[str, str]] = {
    "torch": {
        "torch": "import torch",
        "F": "import torch.nn.functional as F",
        "nn": "from torch import nn",
        "math": "import math",
    },
    "mindspore": {
        "ms": "import mindspore as ms",
        "Tensor": "from mindspore import Tensor",
        "mint": "from mindspore import mint",
        "nn": "from mindspore import nn",
        "ops": "from mindspore import ops",
        "math": "import math",
    },
}
"""By framework, the names that forms may use and the statement that brings each."""

_PUBLIC = {
    "torch": {"torch": "torch", "F": "torch.nn.functional", "nn": "torch.nn"},
    "mindspore": {
        "ms": "mindspore",
        "mindspore": "mindspore",
        "Tensor": "mindspore.Tensor",
        "mint": "mindspore.mint",
        "nn": "mindspore.nn",
        "ops": "mindspore.ops",
    },
}


# What makes a sparse tensor of MindSpore, whose methods are documented apart from Tensor's.
_MAKERS = {
    **dict.fromkeys(("to_csr", "dense_to_sparse_csr", "CSRTensor"), "ms.CSRTensor"),
    **dict.fromkeys(("to_coo", "csr_to_coo", "dense_to_sparse_coo", "COOTensor"), "ms.COOTensor"),
}


class _Names(dict[str, str]):
    """Fills every placeholder of a form with a name that shows what it was."""

    def __missing__(self, placeholder: str) -> str:
        return f"operand_{placeholder}"


def public_api(form: Form, framework: str) -> str:
    """The API that a form calls, "" for operator syntax, builtins and compositions."""
    if form.api:
        return _public(form.api, framework)
    statement = form.before[-1] if form.before and form.call == "{x}" else form.call
    return _public(_called_in(statement, form.setup[:1]), framework)


def public_apis(form: Form, framework: str) -> tuple[str, ...]:
    """Every API that a form calls, set-up included, in no order that means anything."""
    # A form with a table of attributes cannot be hashed; its texts can.
    return _apis_in((*form.setup, *form.before, form.call), framework)


@cache
def _apis_in(texts: tuple[str, ...], framework: str) -> tuple[str, ...]:
    names = _Names()
    found: dict[str, None] = {}
    for text in texts:
        for node in ast.walk(ast.parse(text.format_map(names))):
            if isinstance(node, ast.Call):
                found[_public(_dotted(node.func), framework)] = None
    return tuple(one for one in found if one)


@cache
def _called_in(statement: str, setup: tuple[str, ...]) -> str:
    """The dotted name of what a template calls; of the class, for an object built in `setup`."""
    names = _Names()
    called = _called(ast.parse(statement.format_map(names)).body[0])
    if called == "operand_self":
        return _called(ast.parse(setup[0].format_map(names)).body[0], is_object=True)
    return called


def _called(statement: ast.stmt, *, is_object: bool = False) -> str:
    """The dotted name of the outermost call of a statement; `is_object`: of the class, whatever
    methods are called on the new object, as in `nn.Dropout(0.5).eval()`."""
    found = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
    while isinstance(found, ast.Subscript | ast.Attribute):
        found = found.value
    if not isinstance(found, ast.Call):
        return ""
    function = found.func
    while True:
        match function:
            case ast.Call(func=inner):
                function = inner
            case ast.Attribute(value=ast.Call(func=inner)) if is_object:
                function = inner
            case ast.Attribute(value=ast.Call(func=ast.Attribute() as inner), attr="to_dense") if (
                _dotted(inner).startswith("ops.") and _last(inner) not in _MAKERS
            ):
                function = inner  # a sparse operator, whose result the form converts
            case _:
                return _dotted(function)


def _dotted(name: ast.expr) -> str:
    """`torch.relu`; the methods of anything that is not a plain name belong to a tensor."""
    match name:
        case ast.Name(id=text):
            return text
        case ast.Attribute(value=ast.Call(func=made), attr=attr) if _last(made) in _MAKERS:
            return f"{_MAKERS[_last(made)]}.{attr}"
        case ast.Attribute(value=ast.Call() | ast.Subscript() | ast.BinOp(), attr=attr):
            return f"operand_.{attr}"
        case ast.Attribute(value=value, attr=attr):
            return f"{_dotted(value)}.{attr}"
        case _:
            return ""


def _last(name: ast.expr) -> str:
    match name:
        case ast.Name(id=text) | ast.Attribute(attr=text):
            return text
        case _:
            return ""


def _public(dotted: str, framework: str) -> str:
    root, _, rest = dotted.partition(".")
    if not rest:
        return f"{_PUBLIC[framework][root]}" if root == "Tensor" else ""
    if root.startswith("operand_"):
        # The method of a tensor's attribute, as in `x.mH.clone()`, is a tensor's method.
        return f"{framework}.Tensor.{rest.rpartition('.')[2]}"
    known = _PUBLIC[framework].get(root)
    return f"{known}.{rest}" if known else ""
