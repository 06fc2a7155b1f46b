"""Failure keys and signatures: which failures are the same one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.errors import ConstraintViolated
from engine.ir.graph import Graph, Node
from engine.ir.types import INTEGERS, Dense
from engine.ops import OPS
from engine.ops.spec import Form
from engine.ops.typing import call_of_node
from engine.oracles.verdict import Divergence

__all__ = [
    "SIGNATURE_VERSION",
    "dtype_class",
    "form_name",
    "form_of",
    "normalise",
    "signature_parts",
]

SIGNATURE_VERSION = 1
_RULES = (
    (re.compile(r"0x[0-9a-fA-F]+"), "#"),
    (re.compile(r"(?:/[\w.+-]+)+/?"), "<path>"),
    # An apostrophe inside a word opens no quotation.
    (re.compile(r"(?<!\w)'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|`[^`\n]{0,80}`"), "<name>"),
    (re.compile(r"\b(?:[a-z]+_)?v\d+\b"), "<value>"),
    (re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"), "#"),
    (re.compile(r"[\[(]\s*#?(?:\s*,\s*#)*,?\s*[\])]"), "(#)"),
    (re.compile(r"\s+"), " "),
)


def normalise(kind: str, message: str) -> str:
    """First telling line of an error without numbers, names and paths; "Kind: text"."""
    lines = [line.strip() for line in message.splitlines()]
    text = next((line for line in lines if line.strip(" -=*")), "")
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return f"{kind}: {text.strip()[:160]}"


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
