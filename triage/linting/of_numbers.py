"""Rules about how numbers are compared. They read the script's syntax tree, not its text."""

from __future__ import annotations

import ast
import math
import re

from engine.finding import Symptom
from engine.oracles.numeric import DEFAULT_TOLERANCE, tolerance_of
from triage.linting.indices import compared_indices
from triage.linting.model import Check, Subject, broken, holds, unasked
from triage.linting.script import Comparison, Script

__all__ = ["compares_no_indices", "has_exact_baseline", "has_tolerances"]


# --------------------------------------------------------------------------------------- tolerances
_NUMBERS = (Symptom.NUMERICAL,)


def has_tolerances(subject: Subject) -> Check:
    """No tolerance tighter than the default of `torch.testing` for the dtype of the result."""
    found = subject.script.comparisons
    if not found:
        return unasked("nothing is compared within a tolerance")
    dtype = _dtype(subject)
    rtol, atol = _defaults(dtype)
    wrong = [said for one in found if (said := _tighter(one, dtype, rtol, atol))]
    wanted = f"at least the defaults of {dtype or 'float32'}: rtol={rtol:g}, atol={atol:g}"
    if wrong:
        return broken("; ".join(wrong), wanted)
    return holds("; ".join(dict.fromkeys(map(_tolerances, found))))


def _tighter(one: Comparison, dtype: str, rtol: float, atol: float) -> str:
    if one.is_exact:
        is_float = dtype.startswith(("float", "bfloat", "complex"))
        return f"line {one.line}: {one.said} compares {dtype} bit for bit" if is_float else ""
    given = [value for value in (one.rtol, one.atol) if value is not None]
    if any(math.isnan(value) for value in given):
        return f"line {one.line}: the tolerances of {one.said} are no literal numbers"
    is_low = (one.rtol is not None and one.rtol < rtol) or (
        one.atol is not None and one.atol < atol
    )
    if one.said.startswith("a difference"):
        is_low = (one.atol or 0.0) < atol
    return f"line {one.line}: {_tolerances(one)}" if is_low else ""


def _tolerances(one: Comparison) -> str:
    if one.is_exact or (one.rtol is None and one.atol is None):
        return f"{one.said}{'' if one.is_exact else ' with its defaults'}"
    if one.said.startswith("a difference"):
        return one.said
    return f"{one.said}, rtol={one.rtol:g}, atol={one.atol:g}"


def _defaults(dtype: str) -> tuple[float, float]:
    """Of `torch.testing`; those of float32 for what is compared as floats and is none."""
    wide = {"complex128": "float64"}.get(dtype, dtype)
    return tolerance_of(wide if wide in DEFAULT_TOLERANCE else "float32")


def _dtype(subject: Subject) -> str:
    """Dtype of what an accused mode answered; of the program's floats where it says nothing."""
    for one in subject.finding.answers:
        if one.mode in subject.finding.accused_modes:
            found = re.match(r"(\w+)\[", one.summary.rpartition("call: ")[2])
            if found:
                return found[1]
    said = re.search(r"\b(?:bfloat16|float\d+|complex\d+)\b", subject.finding.minimised_text)
    return said[0] if said else ""


# ------------------------------------------------------------------------------------------ indices
def compares_no_indices(subject: Subject) -> Check:
    """Among equals any index is right; a difference of indices goes round the tolerances."""
    found = compared_indices(subject.script)
    if found:
        return broken("; ".join(found), "values are compared, not where they stand")
    return holds("no indices of max, min, sort and the like are compared")


# ----------------------------------------------------------------------------------------- baseline
_MARKS = frozenset({"double", "float64", "complex128", "longdouble"})


def has_exact_baseline(subject: Subject) -> Check:
    """Numbers are compared with a result of higher precision, not one float32 with another."""
    if subject.finding.symptom not in _NUMBERS or not subject.script.comparisons:
        return unasked("no numbers are compared")
    for one in subject.script.comparisons:
        if one.is_exact and not _dtype(subject).startswith(("float", "bfloat", "complex")):
            continue
        exact = any(_is_exact(subject.script, side) for side in one.sides)
        if not exact and not one.has_reference:
            seen = f"line {one.line}: neither side of {one.said} was calculated in float64"
            return broken(seen, "one side is the same calculation in float64")
    return holds("the expected side is float64")


def _is_exact(script: Script, side: ast.expr) -> bool:
    """Float64 by its literals (`np.array([0.5])`, `0.5`), or because something in it says so.

    The side that is under test is made float64 after it was calculated (`got.double()`): a mark
    counts where what it stands on is an input, not the result of the program.
    """
    for node in script.behind(side):
        if isinstance(node, ast.Constant | ast.UnaryOp | ast.List | ast.Tuple):
            return _is_literal(node)
        if isinstance(node, ast.Call):
            name = script.name_of(node.func)
            makes = name in ("numpy.array", "numpy.asarray", "numpy.float64") and node.args
            if makes and _is_literal(node.args[0]):
                return not _says_narrow(node)
            if name in ("numpy.zeros", "numpy.ones", "numpy.full") and not _says_narrow(node):
                return True
            if _computes_wide(script, node):
                return True
    return False


def _is_literal(node: ast.expr) -> bool:
    """Numbers alone, NaN and infinity by name too."""
    allowed = (ast.Constant, ast.UnaryOp, ast.USub, ast.UAdd, ast.List, ast.Tuple, ast.Load)
    names = (ast.Attribute, ast.Name, ast.Call)
    for one in ast.walk(node):
        if isinstance(one, names):
            last = one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "")
            if last not in ("nan", "inf", "np", "numpy", "math", "complex", "", "float"):
                return False
        elif not isinstance(one, allowed):
            return False
    return True


def _says_narrow(node: ast.Call) -> bool:
    """Whether a dtype of fewer bits is asked for."""
    said = [*node.args[1:], *(one.value for one in node.keywords if one.arg == "dtype")]
    return any(
        isinstance(one, ast.Attribute) and one.attr in ("float32", "float16", "half", "single")
        for one in said
    )


def _computes_wide(script: Script, node: ast.Call) -> bool:
    """Whether a function is called with what was made float64 before: `forward(x.double())`,
    `np.exp(x.double().numpy())`. A conversion alone (`forward(x).double()`) is none."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in (
        *_MARKS,
        "astype",
        "to",
        "numpy",
        "asnumpy",
        "cpu",
        "detach",
        "copy",
    ):
        return False
    given = [*node.args, *(one.value for one in node.keywords)]
    return any(_is_widened(script, one) for arg in given for one in script.behind(arg, 2))


def _is_widened(script: Script, node: ast.expr) -> bool:
    """Whether an input is made float64 in an expression, and no function's result."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            says = one.func.attr == "double" or (
                one.func.attr in ("astype", "to") and any(map(_says_wide, one.args))
            )
            made_of = [call for call in ast.walk(one.func.value) if isinstance(call, ast.Call)]
            if says and not any(_is_own(script, call) for call in made_of):
                return True
        if isinstance(one, ast.keyword) and one.arg == "dtype" and _says_wide(one.value):
            return True
        if isinstance(one, ast.Call) and any(map(_says_wide, one.args)):
            return not _is_own(script, one)
    return False


def _is_own(script: Script, call: ast.Call) -> bool:
    """Whether it calls a function of the script, compiled or not."""
    defined = {one.name for one in ast.walk(script.tree) if isinstance(one, ast.FunctionDef)}
    return any(isinstance(one, ast.Name) and one.id in defined for one in ast.walk(call.func))


def _says_wide(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _MARKS
