"""What a template of a draft can say: a table of variables, each with its meaning.

All are plain data (texts, numbers, lists, dictionaries), so that a template gets at nothing else.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.finding import Ablation, Finding, Symptom, Weighed
from engine.oracles.numeric import tolerance_of
from engine.places import without_places
from triage.drafting.logs import error_text, printed
from triage.drafting.wording import (
    ablation_summary,
    actual_sentence,
    expected_sentence,
    headline,
    mode_words,
    setting_words,
    worst,
)

__all__ = ["VARIABLES", "Variable", "variables_of", "why_wrong"]

_FRAMEWORKS = {"torch": "PyTorch", "mindspore": "MindSpore"}
_EXECUTE = {"mindspore-pynative": "pynative", "mindspore-graph": "graph"}
TOOL_NOTE = (
    "Found, minimised and drafted by a tool, FlowMuT Triage: it mutates models and compares "
    "execution modes with a float64 reference. The script was run before this report was written."
)


@dataclass(frozen=True)
class Variable:
    """`kind`: text, number, list or dictionary. `value`: what it is of a finding."""

    name: str
    kind: str
    meaning: str
    value: Callable[[Finding], Any]


def variables_of(finding: Finding) -> dict[str, Any]:
    """Every variable of the table for a finding."""
    return {one.name: one.value(finding) for one in VARIABLES}


# ---------------------------------------------------------------------------- values of variables
def _title(finding: Finding) -> str:
    return without_places(headline(finding))


def why_wrong(finding: Finding) -> str:
    """The float64 justification: who is off, by how much, against what is allowed; else nothing.

    Where a mode of the same framework is right, what it gives at the same place stands beside.
    """
    off = worst(finding)
    if off is None:
        return ""
    what = "gradient" if off.quantity == "gradient" else "result"
    place = f" at index {list(off.at)}" if off.at else ""
    text = f"The {what}{place} is `{off.exact}` when calculated in float64; "
    text += f"{mode_words(off.mode)} gives `{off.got}`"
    right = [one for one in finding.weighed if _is_right_beside(one, off, finding)]
    if right:
        text += f", {mode_words(right[0].mode)} is off by {right[0].error:.3g} at most"
    return f"{text}. {_allowed(off, _dtype_of(finding, off))}".strip()


def _is_right_beside(one: Weighed, off: Weighed, finding: Finding) -> bool:
    same = (one.call, one.name, one.quantity) == (off.call, off.name, off.quantity)
    own = one.mode.partition("-")[0] == finding.accused_framework
    return same and own and one.mode not in finding.accused_modes and one.ratio <= 1


def _allowed(off: Weighed, dtype: str) -> str:
    """The error beside what was allowed for it, and what that is."""
    if not math.isfinite(off.error) or not math.isfinite(off.tolerance):
        return ""
    text = f"The error is {off.error:.3g}; {max(off.tolerance, off.floor):.3g} was allowed there"
    if off.floor > off.tolerance:
        return (
            f"{text}, which is far beyond what rounding the inputs and steps by one bit explains."
        )
    if dtype == "float64":
        return f"The error is {off.error:.3g}: float64 that is only as exact as float32."
    if not dtype or not off.tolerance:
        return f"{text}."
    rtol, atol = tolerance_of(dtype)
    return f"{text}, four times the default tolerance of {dtype} (rtol={rtol:g}, atol={atol:g})."


def _dtype_of(finding: Finding, off: Weighed) -> str:
    """Dtype of what the accused mode answered, as its summary begins."""
    said = next((one.summary for one in finding.answers if one.mode == off.mode), "")
    return said.partition("[")[0] if "[" in said and said.partition("[")[0].isalnum() else ""


def _answers(finding: Finding) -> list[dict[str, Any]]:
    return [
        {
            "mode": answer.mode,
            "words": mode_words(answer.mode),
            "is_wrong": answer.mode in finding.accused_modes,
            "is_own": answer.mode.partition("-")[0] == finding.accused_framework,
            "summary": without_places(answer.summary),
            "error": answer.error,
        }
        for answer in finding.answers
    ]


def _ablations(finding: Finding) -> list[dict[str, str]]:
    """Without the cells that could not be run, and without other frameworks."""
    return [
        {
            "axis": one.axis,
            "setting": one.setting,
            "words": setting_words(one.setting),
            "result": one.result,
            "detail": without_places(_detail(one)),
        }
        for one in finding.ablations
        if one.result != "could not run" and _is_own(one, finding)
    ]


def _is_own(one: Ablation, finding: Finding) -> bool:
    return one.axis != "mode" or one.setting.startswith(finding.accused_framework)


def _detail(one: Ablation) -> str:
    """How a form is written; of what fails in another way, how. The rest stands above it."""
    if one.axis == "form":
        parts = one.detail.split("; ")
        code = [part for part in parts if " = " in part and _is_python(part)]
        return "; ".join(code)
    return one.detail if one.result == "differs" else ""


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _versions(finding: Finding) -> str:
    """What was captured in the environment; of older findings the few that they have."""
    collected = finding.environment.get("collect_env", "")
    if collected:
        return without_places(collected.strip())
    rows = sorted(finding.environment.items())
    return without_places("\n".join(f"{name}: {value}" for name, value in rows))


def _minimised(finding: Finding) -> str:
    return finding.minimised_text.strip()


def _execute_modes(finding: Finding) -> list[str]:
    return [_EXECUTE[mode] for mode in finding.accused_modes if mode in _EXECUTE]


def _device(finding: Finding) -> str:
    """As the captured versions say; modes of ours run on the processor."""
    said = re.search(r"^Device target: (\w+)", _versions(finding), re.MULTILINE)
    return said[1].lower() if said else "cpu"


def _dtypes(finding: Finding) -> list[str]:
    found = re.findall(r"\b(?:float|int|uint|bfloat|complex)\d+\b|\bbool\b", finding.minimised_text)
    return list(dict.fromkeys(found))


VARIABLES: tuple[Variable, ...] = (
    Variable("title", "text", "The call, and what it does wrong where.", _title),
    Variable("op", "text", "The accused operator, empty where none is.", lambda f: f.accused_op),
    Variable(
        "framework",
        "text",
        "PyTorch or MindSpore: whose bug it is.",
        lambda f: _FRAMEWORKS.get(f.accused_framework, f.accused_framework),
    ),
    Variable(
        "version",
        "text",
        "The framework's version that it was found with.",
        lambda f: f.environment.get(f.accused_framework, ""),
    ),
    Variable(
        "symptom", "text", "crash, numerical, state or efficiency.", lambda f: f.symptom.value
    ),
    Variable(
        "is_numerical",
        "truth value",
        "Whether values or gradients are wrong.",
        lambda f: f.symptom is Symptom.NUMERICAL,
    ),
    Variable(
        "modes", "list of texts", "The accused modes by name.", lambda f: list(f.accused_modes)
    ),
    Variable(
        "modes_in_words",
        "text",
        "The accused modes as a maintainer calls them.",
        lambda f: " and ".join(map(mode_words, f.accused_modes)),
    ),
    Variable("execute_modes", "list of texts", "MindSpore's: pynative, graph.", _execute_modes),
    Variable("device", "text", "What it ran on: cpu, gpu or ascend.", _device),
    Variable("dtypes", "list of texts", "Dtypes of the minimised program.", _dtypes),
    Variable("expected", "text", "A sentence: what had to happen.", expected_sentence),
    Variable("actual", "text", "A sentence: what happens instead.", actual_sentence),
    Variable(
        "why_wrong",
        "text",
        "The float64 justification with its figures; empty where nothing was weighed.",
        why_wrong,
    ),
    Variable("script", "text", "The stored script, unchanged.", lambda f: f.script.strip("\n")),
    Variable("output", "text", "What the script printed before it failed.", printed),
    Variable("error", "text", "The error text: traceback without paths of ours.", error_text),
    Variable(
        "answers",
        "list of dictionaries",
        "One for each mode: mode, words, is_wrong, is_own (of the accused framework), summary, "
        "error (against float64, in what is allowed; none where it does not apply).",
        _answers,
    ),
    Variable(
        "ablations",
        "list of dictionaries",
        "What was changed, one at a time: axis (mode, option, dtype, form), setting, words, result "
        "(fails, passes, differs), detail.",
        _ablations,
    ),
    Variable(
        "ablation_summary", "text", "What the ablations mean, in a sentence.", ablation_summary
    ),
    Variable(
        "reproduced",
        "number",
        "In how many fresh processes it reproduced.",
        lambda f: f.reproduction.reproduced,
    ),
    Variable("attempts", "number", "Of how many.", lambda f: f.reproduction.attempts),
    Variable(
        "versions",
        "text",
        "Versions captured with the interpreter that ran it: collect_env of PyTorch, or the same "
        "for MindSpore.",
        _versions,
    ),
    Variable(
        "environment",
        "dictionary",
        "Single versions by name, such as environment.python.",
        lambda f: {
            name: without_places(value)
            for name, value in f.environment.items()
            if name != "collect_env"
        },
    ),
    Variable("program", "text", "The minimised program in FlowMuT's own text form.", _minimised),
    Variable("tool_note", "text", "The sentence that discloses the tool.", lambda f: TOOL_NOTE),
)
