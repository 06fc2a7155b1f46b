"""Failure keys and signatures: which failures are the same one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engine.errors import ConstraintViolated
from engine.finding import SIGNATURE_VERSION
from engine.ir.graph import Graph, Node
from engine.ir.types import INTEGERS, Dense
from engine.ops import OPS
from engine.ops.spec import Form
from engine.ops.typing import call_of_node
from engine.oracles.verdict import Divergence

__all__ = [
    "dtype_class",
    "family_of",
    "form_name",
    "form_of",
    "normalise",
    "signature_parts",
]

# An error that an operator raised while PyTorch traced it is quoted in the explanation.
_WRAPPED = re.compile(r"\bfake tensors?\b.*: got (\w+)\(['\"](.*)['\"]\)$")
_RULES = (
    (re.compile(r"0x[0-9a-fA-F]+"), "#"),
    (re.compile(r"(?:/[\w.+-]+)+/?"), "<path>"),
    # MindSpore names a part of a graph by the numbers and arrows of all that leads to it.
    (re.compile(r"[^\s:@]*[▸◂✗↻↵↰↱⇊▲▽⎡][^\s:]*|(?<!\w)(?:\d+_){2,}\w*"), "<graph>"),
    # An apostrophe inside a word opens no quotation.
    (re.compile(r"(?<!\w)'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|`[^`\n]{0,80}`"), "<name>"),
    (re.compile(r"\b(?:[a-z]+_)?v\d+\b"), "<value>"),
    (re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"), "#"),
    (re.compile(r"[\[(]\s*#?(?:\s*,\s*#)*,?\s*[\])]"), "(#)"),
    (re.compile(r"\s+"), " "),
)


def normalise(kind: str, message: str) -> str:
    """First telling line of an error without numbers, names and paths; "Kind: text".

    Where PyTorch's compiler wraps an error of another part, it is that part's error.
    """
    text = _telling([line.strip() for line in message.splitlines()])
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return f"{kind}: {text.strip()[:160]}"


def _telling(lines: Sequence[str]) -> str:
    """The first line that says something; with what it announces, where it does no more."""
    said = [line for line in lines if line.strip(" -=*")]
    if len(said) > 1 and said[0].endswith(":"):
        return f"{said[0]} {said[1]}"
    for line in said[1:3] if said and "fake tensor" in said[0] else ():
        wrapped = _WRAPPED.search(line)
        if wrapped:
            return f"{said[0]}: {wrapped[1]}: {wrapped[2]}"
    return said[0] if said else ""


def dtype_class(dtype: str) -> str:
    """float32 and float64 are kept apart from the small floats; integers are one class."""
    if dtype in ("float16", "bfloat16"):
        return "small float"
    if dtype in INTEGERS:
        return "integer"
    return dtype


def form_name(graph: Graph, node: Node, framework: str) -> str:
    """Name of the form a node is really written in for a framework; "" where there is none."""
    found = form_of(graph, node, framework)
    return found[0] if found else ""


def form_of(graph: Graph, node: Node, framework: str) -> tuple[str, Form] | None:
    """The form a node is really written in for a framework, with its name."""
    spec = OPS.get(node.op)
    if spec is None:
        return None
    try:
        call = call_of_node(node, graph.types)
    except ConstraintViolated:
        return None
    return spec.form_for(framework, node, call)


def signature_parts(divergence: Divergence, graph: Graph) -> Mapping[str, str]:
    """The named parts of a signature, from the minimised graph; equal parts mean one bucket."""
    calls = []
    classes: set[str] = set()
    for node in graph.nodes:
        if node.op == "item":
            continue
        form = form_name(graph, node, divergence.framework)
        calls.append(f"{node.op}.{form}" if form else node.op)
        for operand in node.operands:
            kind = graph.types[operand] if operand else None
            if isinstance(kind, Dense):
                classes.add(dtype_class(kind.dtype))
    return {
        "version": str(SIGNATURE_VERSION),
        "symptom": divergence.symptom,
        "framework": divergence.framework,
        "modes": ",".join(divergence.modes),
        "kind": divergence.kind,
        "message": divergence.message,
        "calls": " > ".join(calls),
        "dtypes": ", ".join(sorted(classes)),
    }


_IN_PLACE = "<in place>"
# Words of a message that name an operator or a kernel: those with capitals inside, calls, and what
# ends in an underscore. The type before the colon stays.
_NAMES = re.compile(r"\b[A-Z]+[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+\b|\b\w+\(\)|\b[a-z]\w*_(?!\w)")


def family_of(parts: Mapping[str, str]) -> str:
    """What signatures of one cause have in common: all but the operators and dtypes of calls in a
    form of their own, as a stable line of text.

    `add_`, `sub_` and `mul_` failing alike are one cause, and so are `amax` and `amin` whose method
    form raises. A call in the plain form keeps its operator: that it is plain links nothing.
    """
    kind, _, text = parts["message"].partition(":")
    message = f"{kind}:{_NAMES.sub('<name>', text)}" if text else kind
    calls = dict.fromkeys(_call_family(one) for one in parts["calls"].split(" > ") if one)
    # Plain calls round one that is not only prepare for it, and so does all round a write.
    special = [one for one in calls if one.startswith("<")]
    special = [_IN_PLACE] if _IN_PLACE in special else special
    names = ("symptom", "framework", "modes", "kind")
    return "|".join((*(parts[one] for one in names), message, " > ".join(special or calls)))


def _call_family(call: str) -> str:
    """The kind of form of "operator.form", or the operator where the form is plain."""
    op, _, form = call.partition(".")
    if op.endswith("_") or form.startswith("inplace"):
        return _IN_PLACE
    kind = form.partition("_")[0]
    return op if kind in ("", "function") else f"<{kind}>"
