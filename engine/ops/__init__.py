"""The operator vocabulary, as tables: importing this package fills `OPS`."""

from engine.ops import activations, arithmetic, compare, elementwise, reductions, scalars
from engine.ops.spec import (
    FORM_NAMES,
    FRAMEWORKS,
    OPS,
    Form,
    Limit,
    OpCall,
    Operand,
    OpSpec,
    Tolerance,
    call_of,
    op,
)

__all__ = [
    "FORM_NAMES",
    "FRAMEWORKS",
    "OPS",
    "Form",
    "Limit",
    "OpCall",
    "OpSpec",
    "Operand",
    "Tolerance",
    "activations",
    "arithmetic",
    "call_of",
    "compare",
    "elementwise",
    "op",
    "reductions",
    "scalars",
]
