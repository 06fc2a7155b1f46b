"""A case for each operator with bodies, in any of its forms; each body reads `w` from outside."""

from __future__ import annotations

from collections.abc import Mapping

from engine.ir.case import Case
from engine.ir.text import parse_case
from engine.ops.spec import FRAMEWORKS, OPS

__all__ = ["BODIES", "control_case"]

BODIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    name: {framework: tuple(spec.forms[framework]) for framework in FRAMEWORKS}
    for name, spec in OPS.items()
    if "control" in spec.tags
}
"""Operator -> framework -> names of its forms."""

_T = "float32[2,2]"
_BODY = f"body (c: {_T}) captures (k = w)\n b: {_T} = mul(c, k)\n yield b\n"
_TEST = (
    f"body (a: {_T})\n s: float32[] = sum(a; dim=none, keepdim=false)\n"
    " t: bool[] = gt_scalar(s; value=1.0)\n yield t\n"
)
_NODES = {
    "for": f"v: {_T} = for(x; trips=2){{form}} bound 2\n{_BODY}",
    "while": f"v: {_T} = while(x){{form}} bound 2\n{_TEST}{_BODY}",
    "map": f"v: ({_T}, {_T}) = map(x, w){{form}} bound 2\n{_BODY}",
    "filter": f"v: {_T} = filter(x, w){{form}} bound 2\n{_TEST}",
    "scan": (
        f"v: ({_T}, {_T}, {_T}) = scan(x, x, w){{form}} bound 2\n"
        f"body (c: {_T}, e: {_T}) captures (k = w)\n"
        f" b: {_T} = mul(c, k)\n d: {_T} = add(b, e)\n yield b, d\n"
    ),
}


def control_case(op: str, framework: str = "", form: str = "") -> Case:
    """The operator at two inputs of shape 2 x 2."""
    node = _NODES[op].format(form=f" as {framework}:{form}" if form else "")
    return parse_case(
        f"case 1\ngraph g\ninput x: {_T} = uniform(seed=1, low=0.5, high=2.0)\n"
        f"input w: {_T} = uniform(seed=2, low=0.5, high=2.0)\n{node}return v\n"
    )
