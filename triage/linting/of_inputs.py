"""Rules about what a script computes from: random numbers, and values that are edge cases."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from triage.linting.model import Check, Subject, broken, holds
from triage.linting.script import Script

__all__ = ["draws_alike", "extreme_values", "lists_extreme_values"]


# ------------------------------------------------------------------------------------------- random
_RANDOM = re.compile(
    r"^(?:torch|mindspore|numpy)(?:\.\w+)*\."
    r"(?:rand|randn|randint|randperm|rand_like|randn_like|randint_like|bernoulli|multinomial|normal"
    r"|uniform|standard_normal|dropout\w*|alpha_dropout|feature_dropout|rrelu|poisson|gumbel_softmax"
    r"|random|choice|permutation|shuffle|Dropout\w*|gamma|random_\w+)$"
)
_IN_PLACE = frozenset({"normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_"})
_SEEDS = frozenset({"manual_seed", "seed", "set_seed", "default_rng", "Generator", "RandomState"})


def draws_alike(subject: Subject) -> Check:
    """Where numbers are drawn, both sides draw the same."""
    script = subject.script
    draws = [one for one in script.calls if _RANDOM.match(one.name) or one.last in _IN_PLACE]
    if not draws:
        return holds("no random numbers are drawn")
    inside = [one for one in draws if _in_function(script, one.node)]
    seeds = [one for one in script.calls if one.last in _SEEDS]
    names = ", ".join(dict.fromkeys(one.last for one in draws))
    if not seeds:
        return broken(f"{names} without a seed", "the random state is set before every draw")
    compiled = any(one.last in ("compile", "jit") for one in script.calls)
    if not inside or not compiled:
        return holds(f"{names}, seeded in line {seeds[0].line}")
    if len(seeds) < 2:
        return broken(
            f"{names} in the program, seeded once", "the seed is set again before each side"
        )
    if subject.is_pytorch and not _falls_back(script):
        wanted = "torch._inductor.config.fallback_random = True, and the seed set before each side"
        return broken(f"{names} in the compiled program, without fallback_random", wanted)
    return holds(f"{names}, seeded before each side")


def _in_function(script: Script, node: ast.Call) -> bool:
    functions = [one for one in ast.walk(script.tree) if isinstance(one, ast.FunctionDef)]
    return any(one is node for function in functions for one in ast.walk(function))


def _falls_back(script: Script) -> bool:
    for node in ast.walk(script.tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="fallback_random")], value=value):
                return isinstance(value, ast.Constant) and value.value is True
    return any("fallback_random" in text for text in script.strings)


# -------------------------------------------------------------------------------------- edge cases
_GREAT, _TINY = 1e30, 1e-30
_LIMITS = frozenset({"finfo", "iinfo"})
_SHAPED = frozenset({"zeros", "ones", "full", "empty", "rand", "randn"})


def extreme_values(script: Script) -> tuple[str, ...]:
    """What a maintainer would call an edge case in the inputs: NaN, infinity, limits, emptiness.

    What is merely expected (`expected = np.array([nan])`) is none: only inputs and calls count.
    """
    found = [said for node in _input_nodes(script) if (said := _extreme(script, node))]
    return tuple(dict.fromkeys(found))


def _input_nodes(script: Script) -> Iterator[ast.expr]:
    for statement in script.tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield from (one for one in ast.walk(statement) if isinstance(one, ast.expr))
        elif isinstance(statement, ast.Assign) and not _names_expected(statement):
            yield from (one for one in ast.walk(statement.value) if isinstance(one, ast.expr))


def _names_expected(statement: ast.Assign) -> bool:
    names = {one.id for one in statement.targets if isinstance(one, ast.Name)}
    return bool(names & {"expected", "exact", "reference", "wanted"})


def _extreme(script: Script, node: ast.expr) -> str:
    match node:
        case ast.Attribute(attr="nan" | "NAN" | "NaN"):
            return "NaN"
        case ast.Attribute(attr="inf" | "Inf" | "PINF" | "NINF"):
            return "infinity"
        case ast.Constant(value=str(text)) if text.lower().strip("+-") in (
            "nan",
            "inf",
            "infinity",
        ):
            return "NaN" if "nan" in text.lower() else "infinity"
        case ast.Constant(value=bool()):
            return ""
        case ast.Constant(value=int(number)) if abs(number) >= 2**31 - 1:
            return f"the whole number {number}"
        case ast.Constant(value=float(number)) if abs(number) >= _GREAT or 0 < abs(number) <= _TINY:
            return f"the number {number:g}"
        case ast.Call() if script.name_of(node.func).rpartition(".")[2] in _LIMITS:
            return "the limits of a dtype"
        case ast.Call(args=[ast.Tuple(elts=sizes), *_]) if (
            script.name_of(node.func).rpartition(".")[2] in _SHAPED
        ):
            if any(isinstance(one, ast.Constant) and one.value == 0 for one in sizes):
                return "an empty tensor"
    return ""


_UMBRELLA = re.compile(r"\bumbrella\b[^\n]*(?:#\d+|https?://\S+/issues/\w+)", re.IGNORECASE)


def lists_extreme_values(subject: Subject) -> Check:
    """A finding that needs extreme values goes under an umbrella issue, or says who meets them."""
    found = extreme_values(subject.script)
    if not found:
        return holds("ordinary values")
    for text in subject.texts.values():
        if named := _UMBRELLA.search(text):
            return holds(f"{', '.join(found)}; “{named[0][:100]}”")
    wanted = (
        "“Umbrella: #NUMBER” in the text, the issue that collects such edge cases; or an override "
        "that says which real programs meet them"
    )
    return broken(f"the inputs need {', '.join(found)}", wanted)
