"""Runs a submitted function in every mode of its framework, each in an isolated process."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np

from engine.errors import BadInput
from engine.foreign.differences import Ran
from engine.foreign.reading import Reproducer
from engine.foreign.writing import ARRAYS, COMPILED
from engine.script_run import NO_DIFFERENCE, Ending, ScriptRun, run_script

__all__ = ["run_modes"]

MODES = {
    "torch": ("torch-eager", "torch-eager-f64", "torch-aot", "torch-inductor"),
    "mindspore": ("mindspore-pynative", "mindspore-graph"),
}
_IMPORT = {"torch": "import torch", "mindspore": "import mindspore as ms"}
# The program of a mode. What the function raises is an answer; what else goes wrong is not.
_PROGRAM = """
import copy
import importlib.util
import json
import sys
import traceback

import numpy as np
{imports}

TEXT = {text!r}
{arrays}

def _load():
    with open("submitted.py", "w", encoding="utf-8") as file:
        file.write(TEXT)
    spec = importlib.util.spec_from_file_location("submitted", "submitted.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["submitted"] = module
    spec.loader.exec_module(module)
    return module


def _given(inputs):
    made = inputs() if callable(inputs) else copy.deepcopy(inputs)
    if isinstance(made, dict):
        return (), made
    return (tuple(made) if isinstance(made, (tuple, list)) else (made,)), {{}}


def _wide(value):
    low = {widened}
    return value.double() if low and getattr(value, "dtype", None) in low else value


def _answer(module):
    args, named = _given(module.inputs)
    args, named = tuple(_wide(one) for one in args), {{k: _wide(v) for k, v in named.items()}}
    function = module.{function}
    try:
        value = {call}(*args, **named)
        found = _arrays(value)
        numbers = {{place: _numbers(one) for place, one in found.items()}}
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip(" -")]
        return {{"raised": type(error).__name__, "says": lines[0].strip() if lines else "",
                "trace": traceback.format_exc()[-6000:]}}, {{}}
    return {{"dtypes": {{place: _dtype(one) for place, one in found.items()}}}}, numbers


said, numbers = _answer(_load())
numbers = {{place: one for place, one in numbers.items() if one.dtype.kind in "fcbiu"}}
np.savez("answer.npz", **{{str(at): one for at, one in enumerate(numbers.values())}})
with open("answer.json", "w", encoding="utf-8") as file:
    json.dump({{**said, "places": list(numbers)}}, file)
print({last!r})
"""


def run_modes(
    reproducer: Reproducer,
    *,
    interpreter: str,
    deadline: float,
    address_space: int,
    scratch: Path | None = None,
    watch: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[dict[str, Ran], str]:
    """By mode, what the function did; and what isolated it, in words.

    `BadInput` where the module itself cannot be imported, or gives no inputs.
    """
    found: dict[str, Ran] = {}
    isolation = ""
    for mode in MODES[reproducer.framework]:
        say(f"running it in {mode}")
        answer: dict[str, Ran] = {}
        run = run_script(
            _program(reproducer, mode),
            interpreter=interpreter,
            deadline=deadline,
            address_space=address_space,
            scratch=scratch,
            watch=watch,
            offline=True,
            take=lambda folder, mode=mode, into=answer: into.update(_taken(folder, mode)),  # type: ignore[misc]
        )
        isolation = run.isolation
        found[mode] = _ran(mode, run, answer.get(mode), reproducer)
    return found, isolation


def _program(reproducer: Reproducer, mode: str) -> str:
    return _PROGRAM.format(
        imports=_IMPORT[reproducer.framework],
        text=reproducer.text,
        arrays=ARRAYS,
        function=reproducer.function,
        call=COMPILED[mode].format("function"),
        widened="(torch.float32, torch.float16, torch.bfloat16)" if mode.endswith("f64") else "()",
        last=NO_DIFFERENCE,
    )


def _taken(folder: Path, mode: str) -> dict[str, Ran]:
    """What the program left, or nothing where it did not get so far."""
    try:
        said = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
        with np.load(folder / "answer.npz", allow_pickle=False) as stored:
            arrays = [stored[str(at)] for at in range(len(said["places"]))]
    except (OSError, ValueError, KeyError):
        return {}
    if "raised" in said:
        says = f"raised {said['raised']}: {said['says']}"[:300]
        return {
            mode: Ran(mode, "raised", says, raised=str(said["raised"]), output=str(said["trace"]))
        }
    values = dict(zip(said["places"], arrays, strict=True))
    dtypes = {place: str(said["dtypes"][place]) for place in values}
    shown = "; ".join(
        f"{dtypes[place]}{list(one.shape)} {', '.join(f'{x:.6g}' for x in one.ravel()[:6])}"
        for place, one in values.items()
    )
    return {mode: Ran(mode, "ok", shown[:300] or "no tensor", dtypes=dtypes, values=values)}


def _ran(mode: str, run: ScriptRun, answer: Ran | None, reproducer: Reproducer) -> Ran:
    if answer is not None and run.ending is Ending.PASSED:
        return Ran(
            mode,
            answer.status,
            answer.says,
            run.seconds,
            answer.raised,
            answer.dtypes,
            answer.values,
            answer.output,
        )
    if run.returncode < 0 and not run.reason.startswith("not finished"):
        name = signal.Signals(-run.returncode).name
        return Ran(mode, "died", f"died of {name}", run.seconds, name, output=run.output)
    if run.reason.startswith("not finished"):
        return Ran(mode, "timeout", run.reason, run.seconds, output=run.output)
    if mode in ("torch-eager", "mindspore-pynative"):
        seen = run.reason or "no answer"
        expected = "`inputs` (a list, a dict, or a function that makes one) and tensors back"
        raise BadInput(f"reproducer {reproducer.name}", seen=seen, expected=expected)
    return Ran(mode, "unsupported", run.reason, run.seconds, output=run.output)
