"""What a form leaves out, against the default that the framework's own documentation gives it.

A form that leaves an attribute out claims, by its `when`, what the framework takes for it. Which
parameter that is, other forms of the same call say, where they pass it by name or by place.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.executors.apis import public_api
from engine.executors.pool import Document, Pool
from engine.ir.graph import Attr
from engine.ops import OPS, Form, OpSpec

__all__ = ["Claim", "Signature", "claims", "documents", "signature_of"]


@dataclass(frozen=True)
class Claim:
    """`form` of `op` leaves out `parameter` of `api` and takes it to be `value`."""

    op: str
    form: str
    api: str
    parameter: str
    value: Attr


@dataclass(frozen=True)
class Signature:
    """Names of parameters in order, and the defaults of those that have one."""

    names: tuple[str, ...]
    defaults: Mapping[str, object]


def documents(pool: Pool, framework: str) -> Mapping[str, Document]:
    """What the framework says about everything that a form calls."""
    forms = (form for spec in OPS.values() for form in spec.forms[framework].values())
    return pool.document(framework, sorted({public_api(one, framework) for one in forms} - {""}))


def claims(framework: str, documented: Mapping[str, Document]) -> Iterator[Claim]:
    """The claims whose parameter is known and whose signature can be read."""
    for spec in OPS.values():
        passed = _passed(spec, framework)
        for name, form in spec.forms[framework].items():
            api = public_api(form, framework)
            signature = signature_of(documented[api].signature) if api else None
            if signature is None or not isinstance(form.when, Mapping):
                continue
            for attr, value in form.when.items():
                place = passed[api].get(attr, attr)
                if isinstance(place, int):
                    place = signature.names[place] if place < len(signature.names) else ""
                is_left_out = attr not in form.placeholders and place not in _named(form)
                if is_left_out and place in signature.defaults:
                    yield Claim(spec.name, name, api, place, value)


def _passed(spec: OpSpec, framework: str) -> Mapping[str, dict[str, str | int]]:
    """By API and attribute, the parameter by which some form of the row passes it, or its place."""
    found: dict[str, dict[str, str | int]] = defaultdict(dict)
    for form in spec.forms[framework].values():
        call = _call(form)
        if call is None:
            continue
        api = public_api(form, framework)
        for place, argument in enumerate(call.args):
            if attr := _attribute(argument):
                found[api].setdefault(attr, place)
        for keyword in call.keywords:
            if (attr := _attribute(keyword.value)) and keyword.arg:
                found[api][attr] = keyword.arg
    return found


def _named(form: Form) -> set[str]:
    """Parameters that any call in the form's text names."""
    texts = (*form.setup, *form.before, form.call)
    trees = [ast.parse(text.format_map(_Names())) for text in texts]
    calls = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {keyword.arg for call in calls for keyword in call.keywords if keyword.arg}


class _Names(dict[str, str]):
    def __missing__(self, placeholder: str) -> str:
        return f"operand_{placeholder}"


def _call(form: Form) -> ast.Call | None:
    """The outermost call of a form's text."""
    text = form.before[-1] if form.before and form.call == "{x}" else form.call
    statement = ast.parse(text.format_map(_Names())).body[0]
    found = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(found, ast.Subscript | ast.Attribute):
        found = found.value
    return found if isinstance(found, ast.Call) else None


def _attribute(argument: ast.expr) -> str:
    """The placeholder that an argument is, "" where it is more than that."""
    is_plain = isinstance(argument, ast.Name) and argument.id.startswith("operand_")
    return argument.id.removeprefix("operand_") if is_plain else ""  # type: ignore[attr-defined]


def signature_of(text: str) -> Signature | None:
    """Reads "f(input, dim=None, *, dtype: int = 3) -> Tensor"; None where it is no Python."""
    start = text.find("(")
    if start < 0:
        return None
    written = re.sub(r"<[^>]*>", "None", text[start : _end(text, start)])
    try:
        (function,) = ast.parse(f"def f{written}: pass").body
    except SyntaxError:
        return None
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    plain = [one.arg for one in (*given.posonlyargs, *given.args)]
    names = [*plain, *(one.arg for one in given.kwonlyargs)]
    written_defaults = [
        *zip(reversed(plain), reversed(given.defaults), strict=False),
        *zip((one.arg for one in given.kwonlyargs), given.kw_defaults, strict=True),
    ]
    defaults = {name: _literal(value) for name, value in written_defaults if value is not None}
    return Signature(tuple(name for name in names if name != "self"), defaults)


def _end(text: str, start: int) -> int:
    """Just behind the parenthesis that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    return len(text)


def _literal(value: ast.expr) -> object:
    try:
        return ast.literal_eval(value)
    except ValueError:
        return ast.unparse(value)
