"""The standalone script of a finding: imports only the framework and NumPy, asserts the difference.

The script exits with an AssertionError while the framework has the bug (or dies of the signal) and
with "no difference" once it is gone.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.executors.lowering import Lowered, lower
from engine.executors.outcome import Array
from engine.executors.request import ones_and_eighths
from engine.ir.case import Case
from engine.ir.graph import Formula, Input, Random
from engine.ir.types import Dense
from engine.ir.values import materialise
from engine.oracles.comparison import BASELINE, Comparison
from engine.oracles.judge import describe
from engine.oracles.numeric import tolerance_of
from engine.oracles.verdict import Divergence, Kind

__all__ = ["ScriptRun", "run_script", "write_script"]

_PRINTED = 64
_MODULE = {"torch": "torch", "mindspore": "ms"}


@dataclass(frozen=True)
class ScriptRun:
    """How a script ended: `reproduced` when it asserted the difference or died as it said."""

    reproduced: bool
    returncode: int
    output: str


def write_script(
    comparison: Comparison, divergence: Divergence, blobs: Mapping[str, Array], *, title: str
) -> str:
    """The text of the script for a minimised case."""
    case = comparison.case
    lowered = lower(case, divergence.framework)
    values = materialise(case.graph, blobs)
    mode = divergence.modes[0]  # the plainest of the accused
    parts = [
        f'"""{title}.\n\n{describe(divergence)}.\n"""',
        _imports(lowered),
        _inputs(case, values, divergence.framework),
        _cotangents(lowered),
        _body(lowered),
        f'print("{divergence.framework}", {_MODULE[divergence.framework]}.__version__)',
        *_assertion(comparison, divergence, lowered, mode),
        'print("no difference")',
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def run_script(
    text: str, *, interpreter: str = sys.executable, deadline: float = 180.0
) -> ScriptRun:
    """Run a script alone in a fresh process and folder."""
    with tempfile.TemporaryDirectory(prefix="flowmut-script-") as folder:
        path = Path(folder, "reproducer.py")
        path.write_text(text)
        try:
            done = subprocess.run(
                [interpreter, str(path)],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=deadline,
                env=_environment(folder),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ScriptRun(False, -9, f"not finished after {deadline:.0f} s")
    output = (done.stdout + done.stderr).replace(folder, ".")
    died = done.returncode < 0
    asserted = done.returncode != 0 and "AssertionError" in done.stderr
    return ScriptRun(died or asserted, done.returncode, output[-6000:])


def _environment(folder: str) -> dict[str, str]:
    import os  # the only place that needs the environment

    return {
        **os.environ,
        "GLOG_v": "3",
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(Path(folder, "inductor")),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


# ------------------------------------------------------------------------------------- source
def _imports(lowered: Lowered) -> str:
    """What the source imports, and what the lines round it need."""
    lines = [line for line in lowered.source.splitlines() if line.startswith(("import ", "from "))]
    if lowered.framework == "torch":
        needed = ["import torch"]
    else:
        needed = ["import mindspore as ms"]
        names = {"Tensor"}
        for line in lines:
            names.update(line.removeprefix("from mindspore import ").split(", "))
        names = {one for one in names if not one.startswith("import ")}
        lines = [line for line in lines if not line.startswith("from mindspore import ")]
        needed.append(f"from mindspore import {', '.join(sorted(names))}")
    return "\n".join(dict.fromkeys(["import numpy as np", *needed, *lines]))


def _body(lowered: Lowered) -> str:
    lines = lowered.source.splitlines()
    kept = [line for line in lines if not line.startswith(("import ", "from "))]
    return "\n".join(kept).strip()


def _inputs(case: Case, values: Mapping[str, Array], framework: str) -> str:
    lines = []
    for given in case.graph.inputs:
        lines.append(f"{given.name} = {_tensor(given, values[given.name], framework)}")
    return "\n".join(lines)


def _cotangents(lowered: Lowered) -> str:
    """The weights of the loss, where it has any."""
    lines = []
    for one in lowered.cotangents:
        weights = ones_and_eighths(one.shape, one.dtype)
        if weights.size <= _PRINTED:
            numbers = f"np.array({weights.tolist()}, np.{one.dtype})"
        else:
            signed = "(1 + k % 7 / 8) * np.where(k % 2, -1, 1)"
            lines.append(f"k = np.arange({weights.size})")
            numbers = f"({signed}).reshape({one.shape}).astype(np.{one.dtype})"
        made = (
            f"torch.from_numpy({numbers})" if lowered.framework == "torch" else f"Tensor({numbers})"
        )
        lines.append(f"{one.name} = {made}")
    return "\n".join(lines)


def _tensor(given: Input, array: Array, framework: str) -> str:
    assert isinstance(given.type, Dense), f"{given.name} is not a dense tensor"
    dtype = given.type.dtype
    wide = "float32" if dtype == "bfloat16" else dtype
    numbers = _numbers(given, array, wide)
    if framework == "torch":
        made = f"torch.from_numpy({numbers})"
        made += ".to(torch.bfloat16)" if dtype == "bfloat16" else ""
        made += _layout(given, framework)
        return made + (".requires_grad_()" if given.requires_grad else "")
    name = {"bool": "bool_"}.get(dtype, dtype)
    return f"Tensor({numbers}, ms.{name})"


def _numbers(given: Input, array: Array, dtype: str) -> str:
    """A NumPy expression for the values: literal where short, the generator otherwise."""
    shape = tuple(array.shape)
    wanted = "np.bool_" if dtype == "bool" else f"np.{dtype}"
    match given.init:
        case Formula("full", parameters):
            return f"np.full({shape}, {_number(dict(parameters)['value'])}, {wanted})"
        case Formula("arange", parameters):
            start, step = dict(parameters)["start"], dict(parameters)["step"]
            ramp = f"np.arange({array.size}) * {_number(step)} + {_number(start)}"
            return f"({ramp}).reshape({shape}).astype({wanted})"
        case Random("normal", seed, parameters) if array.size > _PRINTED:
            spread = dict(parameters)
            return (
                f"np.random.default_rng({seed}).normal({spread.get('mean', 0.0)},"
                f" {spread.get('std', 1.0)}, {shape}).astype({wanted})"
            )
    plain = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    text = np.array2string(
        plain, separator=", ", threshold=sys.maxsize, max_line_width=96, formatter=_FORMATTER
    )
    text = text if plain.size else "[]"
    made = f"np.array({text}, {wanted})"
    return made if plain.size or shape == (0,) else f"np.zeros({shape}, {wanted})"


def _number(value: object) -> str:
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return "np.nan" if np.isnan(value) else ("np.inf" if value > 0 else "-np.inf")
    # NumPy prints the shortest text that reads back as the same number of its dtype.
    return str(value) if isinstance(value, np.floating) else repr(value)


_FORMATTER: Any = {"float_kind": lambda one: _number(one), "complex_kind": repr}


def _layout(given: Input, framework: str) -> str:
    match given.layout:
        case "channels_last":
            return ".to(memory_format=torch.channels_last)"
        case "transposed":
            return ".transpose(-1, -2).contiguous().transpose(-1, -2)"
    return ""


# ---------------------------------------------------------------------------------- assertion
def _assertion(
    comparison: Comparison, divergence: Divergence, lowered: Lowered, mode: str
) -> list[str]:
    case = comparison.case
    arguments = ", ".join(lowered.inputs)
    prepare = f"setup({', '.join(lowered.setup_inputs)})" if lowered.setup_inputs else ""
    run = _compiled("forward", mode)
    if mode.startswith("torch-") and run != "forward" and lowered.cotangents:
        # `loss` calls `forward`, so that compiling it compiles what the loss differentiates.
        prepare = f"{prepare}\nforward = {run}".strip()
    baseline = BASELINE[divergence.framework]
    match divergence.kind:
        case Kind.DIED:
            said = f"print({_quoted(f'the process dies of {divergence.message} here')}, flush=True)"
            return [prepare, said, f"{run}({arguments})"]
        case Kind.RAISES | Kind.DOCUMENTED | Kind.INTERNAL:
            lines = [prepare]
            if divergence.kind is Kind.RAISES and baseline not in divergence.modes:
                lines.append(f'print("{baseline}:", forward({arguments}))')
            return [*lines, _guarded(f"{run}({arguments})", f"{mode} raises")]
        case Kind.GRADIENT_RAISES:
            return [
                prepare,
                _guarded(_gradient(case, lowered, mode), f"the gradient raises in {mode}"),
            ]
        case Kind.GRADIENT | Kind.GRADIENT_NONFINITE:
            return [prepare, *_gradient_assertion(comparison, divergence, lowered, mode)]
        case Kind.INPUT_CHANGED | Kind.WRITE_LOST if divergence.value in case.graph.input_by_name:
            return [prepare, *_state_assertion(comparison, divergence, f"{run}({arguments})")]
        case Kind.MOVED:
            return [prepare, f"{run}({arguments})", 'raise AssertionError("global state moved")']
    repeat = [f"{run}({arguments})"] if divergence.kind is Kind.SECOND_CALL else []
    return [prepare, *repeat, *_value_assertion(comparison, divergence, f"{run}({arguments})")]


def _compiled(function: str, mode: str) -> str:
    match mode:
        case "torch-aot":
            return f'torch.compile({function}, backend="aot_eager", fullgraph=True)'
        case "torch-inductor":
            return f'torch.compile({function}, backend="inductor", fullgraph=True)'
        case "mindspore-graph":
            return f"ms.jit({function})"
    return function


def _guarded(call: str, message: str) -> str:
    return "\n".join(
        (
            "try:",
            f"    print({call})",
            "except Exception as error:",
            f"    raise AssertionError({_quoted(message)}) from error",
        )
    )


def _value_assertion(comparison: Comparison, divergence: Divergence, call: str) -> list[str]:
    graph = comparison.case.graph
    place = graph.outputs.index(divergence.value) if divergence.value in graph.outputs else 0
    name = graph.outputs[place]
    exact = comparison.referees[-1 if divergence.kind is Kind.SECOND_CALL else 0].exact[name]
    declared = graph.types[name]
    dtype = declared.dtype if isinstance(declared, Dense) else ""
    lines = [f"got = {call}"]
    if len(graph.outputs) > 1:
        lines.append(f"got = got[{place}]")
    if divergence.kind is Kind.STRUCTURE:
        return ["\n".join(lines), f"assert len(got) == {len(graph.outputs)}, type(got)"]
    if divergence.kind is Kind.DTYPE:
        wanted = f'"{dtype}"'
        lines.append('print("dtype:", got.dtype)')
        lines.append(
            f'assert str(got.dtype).lower().rpartition(".")[2].strip("_") == {wanted}, got.dtype'
        )
        return ["\n".join(lines)]
    if divergence.kind is Kind.SHAPE:
        lines.append('print("shape:", tuple(got.shape))')
        lines.append(f"assert tuple(got.shape) == {tuple(exact.shape)}, tuple(got.shape)")
        return ["\n".join(lines)]
    lines.append(_to_numpy(dtype, divergence.framework))
    lines.extend(_expected(exact, divergence.worst))
    lines.append('print("got:     ", got)')
    lines.append('print("expected:", expected)')
    lines.append(_close(dtype))
    return ["\n".join(lines)]


def _to_numpy(dtype: str, framework: str) -> str:
    if framework == "torch":
        return (
            "got = got.detach().double().numpy()" if dtype != "complex64" else "got = got.numpy()"
        )
    if dtype == "bfloat16":
        return "got = got.astype(ms.float32).asnumpy().astype(np.float64)"
    return "got = got.asnumpy()" + ("" if dtype == "complex64" else ".astype(np.float64)")


def _expected(exact: Array, worst: tuple[int, ...]) -> list[str]:
    """The float64 answer: all of it where short, else its worst element."""
    if exact.size <= _PRINTED:
        text = np.array2string(
            exact, separator=", ", threshold=sys.maxsize, max_line_width=96, formatter=_FORMATTER
        )
        return [f"expected = np.array({text})  # the same computation in float64"]
    index = repr(worst)
    value = _number(exact[worst])
    return [f"got = got[{index}]  # the worst element", f"expected = {value}  # in float64"]


def _close(dtype: str) -> str:
    rtol, atol = tolerance_of(dtype)
    return f"np.testing.assert_allclose(got, expected, rtol={rtol}, atol={atol})"


def _state_assertion(comparison: Comparison, divergence: Divergence, call: str) -> list[str]:
    name = divergence.value
    declared = comparison.case.graph.types[name]
    dtype = declared.dtype if isinstance(declared, Dense) else ""
    host = _to_numpy(dtype, divergence.framework).replace("got", name, 1).partition("= ")[2]
    host = host.replace("got", name)
    exact = comparison.referees[0].exact[name]
    lines = [f"before = {host}.copy()", f"{call}", f"after = {host}"]
    if divergence.kind is Kind.INPUT_CHANGED:
        lines.append('print("before:", before)\nprint("after: ", after)')
        lines.append("np.testing.assert_array_equal(after, before)")
    else:
        expected = _expected(exact, divergence.worst)
        lines.extend(one.replace("got", "after") for one in expected)
        lines.append('print("after:   ", after)\nprint("expected:", expected)')
        lines.append(_close(dtype).replace("got", "after"))
    return ["\n".join(lines)]


def _wanted(case: Case, lowered: Lowered) -> list[int]:
    names = {one.name for one in case.graph.inputs if one.requires_grad}
    return [at for at, name in enumerate(lowered.inputs) if name in names]


def _gradient(case: Case, lowered: Lowered, mode: str) -> str:
    arguments = ", ".join((*lowered.inputs, *_cotangent_names(lowered)))
    positions = tuple(_wanted(case, lowered))
    if mode.startswith("torch"):
        names = ", ".join(lowered.inputs[at] for at in positions)
        return f"torch.autograd.grad(loss({arguments}), [{names}], allow_unused=True)"
    function = f"ms.grad(loss, {positions})"
    return f"{_compiled(function, mode)}({arguments})"


def _cotangent_names(lowered: Lowered) -> list[str]:
    return [one.name for one in lowered.cotangents]


def _gradient_assertion(
    comparison: Comparison, divergence: Divergence, lowered: Lowered, mode: str
) -> list[str]:
    case = comparison.case
    name = divergence.value.removeprefix("gradient of ")
    positions = _wanted(case, lowered)
    place = [lowered.inputs[at] for at in positions].index(name)
    assert comparison.gradients is not None
    exact = comparison.gradients.exact[name]
    assert exact is not None
    declared = case.graph.types[name]
    dtype = declared.dtype if isinstance(declared, Dense) else ""
    picked = f"[{place}]" if mode.startswith("torch") or len(positions) > 1 else ""
    lines = [
        f"got = {_gradient(case, lowered, mode)}{picked}",
        _to_numpy(dtype, divergence.framework),
    ]
    lines.extend(_expected(exact, divergence.worst))
    lines.append('print("gradient:", got)\nprint("expected:", expected)')
    rtol, atol = tolerance_of(dtype)
    lines.append(f"np.testing.assert_allclose(got, expected, rtol={rtol * 4}, atol={atol})")
    return ["\n".join(lines)]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
