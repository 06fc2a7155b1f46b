"""The sentences of a draft: title, expected and actual; in a maintainer's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from engine.finding import Finding, Weighed
from engine.oracles.verdict import Kind
from triage.evidence import ablation_sentence, words

__all__ = [
    "ablation_summary",
    "actual_sentence",
    "call_of",
    "expected_sentence",
    "headline",
    "kind_of",
    "mode_words",
    "setting_words",
    "worst",
]

_MODES: Mapping[str, str] = {
    "torch-eager": "eager",
    "torch-eager-f64": "eager in float64",
    "torch-aot": "aot_eager",
    "torch-inductor": "inductor",
    "mindspore-pynative": "PyNative",
    "mindspore-graph": "Graph",
    "numpy": "NumPy",
}
_OPTIONS: Mapping[str, str] = {
    "dynamic": "dynamic=True",
    "emulate_precision_casts": "torch._inductor.config.emulate_precision_casts=True",
    "fallback_random": "torch._inductor.config.fallback_random=True",
    "O1": 'jit_level="O1"',
}
_NUMBERS = "The {} agrees with the same calculation in float64 within the tolerance of its dtype"
_EXPECTED: Mapping[Kind, str] = {
    Kind.DIED: "The call returns, or raises a Python exception; the process lives",
    Kind.HANG: "The call returns, as it does in the other modes",
    Kind.INTERNAL: "The call returns, or raises an error that is meant for users",
    Kind.RAISES: "The call runs, as it does in the other mode",
    Kind.DOCUMENTED: "The call runs: its documentation lists CPU as supported",
    Kind.IN_FORM: "The call runs, as it does in another documented form",
    Kind.STRUCTURE: "The call returns the documented structure",
    Kind.DTYPE: "The result has the dtype that the documentation and the other modes give it",
    Kind.SHAPE: "The result has the documented shape",
    Kind.NONFINITE: "NaN and infinity are where the same calculation in float64 has them",
    Kind.VALUES: _NUMBERS.format("result"),
    Kind.GRADIENT: _NUMBERS.format("gradient"),
    Kind.GRADIENT_NONFINITE: "The gradient has NaN and infinity only where float64 has them",
    Kind.GRADIENT_RAISES: "The gradient can be taken, as in the other mode",
    Kind.INPUT_CHANGED: "The call leaves its inputs as they were",
    Kind.WRITE_LOST: "The in-place call changes the tensor that it is called on",
    Kind.SECOND_CALL: "The same call with the same inputs gives the same answer again",
    Kind.MOVED: "The call leaves global state as it was",
    Kind.LAYOUT: "The result shares storage, or is contiguous, as its documentation says",
}
# What the call does, behind its name.
_DOES: Mapping[Kind, str] = {
    Kind.DIED: "kills the process",
    Kind.HANG: "does not return",
    Kind.INTERNAL: "fails an internal assertion",
    Kind.RAISES: "raises",
    Kind.DOCUMENTED: "raises on CPU, although its documentation lists CPU,",
    Kind.IN_FORM: "raises, though another documented form of it does not,",
    Kind.STRUCTURE: "returns another structure",
    Kind.DTYPE: "returns another dtype",
    Kind.SHAPE: "returns another shape",
    Kind.NONFINITE: "has NaN or infinity in the wrong places",
    Kind.VALUES: "gives wrong values",
    Kind.GRADIENT: "has a wrong gradient",
    Kind.GRADIENT_NONFINITE: "has NaN or infinity in its gradient",
    Kind.GRADIENT_RAISES: "raises when its gradient is taken",
    Kind.INPUT_CHANGED: "changes an input that nothing writes to",
    Kind.WRITE_LOST: "does not change the tensor that it is called on",
    Kind.SECOND_CALL: "answers otherwise on the second call",
    Kind.MOVED: "changes global state",
    Kind.LAYOUT: "returns another layout than documented",
}
_COMPILED = ("torch-aot", "torch-inductor")


def kind_of(finding: Finding) -> Kind | None:
    """The kind of difference; None where another version of the engine named it."""
    said = str(finding.parts.get("kind", ""))
    return Kind(said) if said in set(Kind) else None


def mode_words(mode: str) -> str:
    """A mode as a maintainer calls it, with its option: "inductor, dynamic=True"."""
    name, _, option = mode.partition("+")
    return f"{_MODES.get(name, name)}{f', {setting_words(option)}' if option else ''}"


def setting_words(setting: str) -> str:
    """The setting of an ablation: a mode, an option as it is written, else what it is."""
    return _OPTIONS.get(setting, _MODES.get(setting, setting))


def call_of(finding: Finding) -> str:
    """The call by its public name where the program is one, else its operators."""
    name, colon, _ = finding.title.partition(": ")
    return name if colon else finding.accused_op


# -------------------------------------------------------------------------------------- sentences
def headline(finding: Finding) -> str:
    """ "torch.matmul returns int64 instead of int32 under torch.compile"."""
    if kind_of(finding) is None or ": " not in finding.title:
        return finding.title
    _, vanishes, option = finding.title.partition(", vanishes with ")
    return f"{call_of(finding)} {_does(finding)}{f'{vanishes}{option}' if vanishes else ''}"


def actual_sentence(finding: Finding) -> str:
    """What happens, and which modes of the same framework are right."""
    if kind_of(finding) is None or not call_of(finding):
        return finding.verdict
    right = _right_modes(finding)
    agree = f"; {words(right)} {'is' if len(right) == 1 else 'are'} right" if right else ""
    return f"`{call_of(finding)}` {_does(finding)}{agree}."


def expected_sentence(finding: Finding) -> str:
    """What had to happen, with the value where one stands for it."""
    kind = kind_of(finding)
    if kind is None:
        return "The script ends without an error."
    _, wanted = _instead(finding, kind)
    return f"{_EXPECTED[kind]}{f': {wanted}' if wanted else ''}."


def _does(finding: Finding) -> str:
    kind = kind_of(finding)
    assert kind is not None, "asked before"
    got, wanted = _instead(finding, kind)
    if got and kind in (Kind.DTYPE, Kind.SHAPE):
        said = f"returns {got} instead of {wanted}"
    elif got and kind is Kind.NONFINITE:
        said = f"gives {got} instead of {wanted}"
    elif got and kind is Kind.GRADIENT_NONFINITE:
        said = f"has the gradient {got} instead of {wanted}"
    else:
        said = _DOES[kind]
    return f"{said} {_place(finding)}".strip().removesuffix(",")


def _place(finding: Finding) -> str:
    """Where: "under torch.compile", "in PyNative and Graph mode"."""
    modes = finding.accused_modes
    if not modes:
        return ""
    if all(mode in _COMPILED for mode in modes):
        return "under torch.compile" if "torch-inductor" in modes else "under aot_eager"
    return f"in {words([mode_words(mode) for mode in modes])} mode"


def _right_modes(finding: Finding) -> list[str]:
    return [
        mode_words(one.setting)
        for one in finding.ablations
        if (one.axis, one.result) == ("mode", "passes")
        and one.setting.startswith(finding.accused_framework)
    ]


def worst(finding: Finding) -> Weighed | None:
    """The figure of an accused mode that is furthest beyond what is allowed."""
    wrong = [one for one in finding.weighed if one.mode in finding.accused_modes]
    found = max(
        wrong, key=lambda one: one.ratio if one.ratio == one.ratio else float("inf"), default=None
    )
    return None if found is None or found.ratio <= 1 else found


def _instead(finding: Finding, kind: Kind) -> tuple[str, str]:
    """What the accused gives and what is right, in a word each; empty where no word says it."""
    if kind in (Kind.NONFINITE, Kind.GRADIENT_NONFINITE):
        found = worst(finding)
        return (found.got, found.exact) if found else ("", "")
    if kind in (Kind.DTYPE, Kind.SHAPE):
        return _types(finding, 1 if kind is Kind.DTYPE else 2)
    return "", ""


_TYPE = re.compile(r"(\w+)(\[[\d, ]*\])")


def _types(finding: Finding, part: int) -> tuple[str, str]:
    """Dtype (1) or shape (2) that the accused and another mode answered."""
    answered = {one.mode: _TYPE.match(one.summary) for one in finding.answers if one.status == "ok"}
    known = {mode: found[part] for mode, found in answered.items() if found}
    got = next((said for mode, said in known.items() if mode in finding.accused_modes), "")
    others = {
        said
        for mode, said in known.items()
        if mode not in finding.accused_modes and not mode.endswith("f64")
    }
    if not got or len(others) != 1 or got in others:
        return "", ""
    return got, others.pop()


def ablation_summary(finding: Finding) -> str:
    """What the ablations mean, in a sentence; of the accused framework's own modes alone."""
    own = tuple(
        replace(one, setting=setting_words(one.setting))
        for one in finding.ablations
        if one.axis != "mode" or one.setting.startswith(finding.accused_framework)
    )
    return ablation_sentence(replace(finding, ablations=own))
