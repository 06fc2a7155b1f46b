"""The standalone script of a finding: imports only the framework and NumPy, asserts the difference.

The script exits with an AssertionError while the framework has the bug (or dies of the signal) and
with "no difference" once it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from engine.executors.lowering import Lowered, lower
from engine.executors.outcome import Answer, Array, Outcome
from engine.executors.request import ones_and_eighths
from engine.ir.case import Call, Case
from engine.ir.types import Dense, is_integer
from engine.ir.values import materialise
from engine.literals import PRINTED, array_text, cotangent_text, input_lines, number_text
from engine.ops import OPS
from engine.oracles.comparison import BASELINE, Comparison
from engine.oracles.differences import TANGENT
from engine.oracles.gradients import truth
from engine.oracles.numeric import CLEARLY, Gap, asserted_tolerance, gap, tolerance_of
from engine.oracles.verdict import Divergence, Kind
from engine.script_run import PATIENCE, dies_of, hangs_for

__all__ = ["SMALL_HESSIAN", "STATE", "shown_by", "write_script"]

# As the worker has it, whose module only its own interpreter imports.
SMALL_HESSIAN = 64
_MODULE = {"torch": "torch", "mindspore": "ms"}
_GRADIENTS = (Kind.GRADIENT, Kind.GRADIENT_NONFINITE, Kind.GRADIENT_RAISES)
# Global state by the name that the workers give it, as a script asks for it.
STATE: Mapping[str, str] = {
    "torch generator": "torch.get_rng_state().numpy().tobytes()",
    "torch default dtype": "torch.get_default_dtype()",
    "torch grad mode": "torch.is_grad_enabled()",
    "torch inference mode": "torch.is_inference_mode_enabled()",
    "torch deterministic": "torch.are_deterministic_algorithms_enabled()",
    "torch threads": "torch.get_num_threads()",
    "torch flush denormal": "bool(torch.tensor([1e-40]).add(0)[0] == 0)",
    "torch autocast": 'torch.is_autocast_enabled("cpu")',
    "torch matmul precision": "torch.get_float32_matmul_precision()",
    "torch anomaly mode": "torch.is_anomaly_enabled()",
    "torch default device": "str(torch.get_default_device())",
    "numpy generator": "repr(np.random.get_state())",
    "numpy errors": "np.geterr()",
    "python generator": '__import__("random").getstate()',
    "working folder": '__import__("os").getcwd()',
    "flushing of subnormals": "bool(np.float32(1e-40) * np.float32(1) == 0)",
    "rounding": "bool(np.float64(1) + np.float64(2.0**-53) == 1)",
    "mindspore generator": "ms.get_rng_state().asnumpy().tobytes()",
    "mindspore seed": "ms.get_seed()",
    "mindspore mode": 'ms.get_context("mode")',
    "mindspore device": 'ms.get_context("device_target")',
    "mindspore deterministic": 'ms.get_context("deterministic")',
}


def write_script(
    comparison: Comparison, divergence: Divergence, blobs: Mapping[str, Array], *, title: str
) -> str:
    """The text of the script for a minimised case, whose values have short names."""
    return _Writer(comparison, divergence, blobs).write(title)


@dataclass(frozen=True)
class _Writer:
    comparison: Comparison
    divergence: Divergence
    blobs: Mapping[str, Array]

    # ---- what is written about
    @property
    def case(self) -> Case:
        return self.comparison.case

    @property
    def framework(self) -> str:
        return self.divergence.framework

    @property
    def lowered(self) -> Lowered:
        return lower(self.case, self.framework)

    @property
    def mode(self) -> str:
        return self.divergence.modes[0]  # the plainest of the accused

    @property
    def arguments(self) -> str:
        return ", ".join(self.lowered.inputs)

    @property
    def wanted(self) -> list[str]:
        """The inputs that a gradient is asked for, in order."""
        names = {one.name for one in self.case.graph.inputs if one.requires_grad}
        return [name for name in self.lowered.inputs if name in names]

    @property
    def phase(self) -> str:
        """What the accused was doing when it failed, "" where it did not."""
        outcome = self.comparison.outcomes.get(self.mode)
        failure = outcome.failure if outcome else None
        return failure.phase if failure else ""

    @property
    def is_about_gradient(self) -> bool:
        """Whether the gradient failed, and not the call."""
        died_there = self.divergence.kind is Kind.DIED and self.phase == "gradient"
        return self.divergence.kind in _GRADIENTS or died_there

    # ---- the file
    def write(self, title: str) -> str:
        lowered = self.lowered
        module = _MODULE[self.framework]
        parts = [
            f'"""{_documented(title)}."""',
            _imports(lowered),
            self._inputs(self.case.plan.calls[0]),
            "\n".join(
                f"{one.name} = "
                + cotangent_text(ones_and_eighths(one.shape, one.dtype), self.framework)
                for one in lowered.cotangents
            ),
            _body(lowered),
            f'print("{self.framework}", {module}.__version__)',
            *self._assertion(),
            'print("no difference")',
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _inputs(self, call: Call) -> str:
        inputs = self.case.inputs_of(call)
        return "\n".join(
            input_lines(
                inputs,
                materialise(inputs, self.blobs),
                self.framework,
                differentiable=self.case.plan.gradient in ("reverse", "second"),
            )
        )

    def _setup(self) -> str:
        given = self.lowered.setup_inputs
        return f"setup({', '.join(given)})" if given else ""

    def _call(self) -> tuple[list[str], str]:
        """What comes before the call in question, the earlier calls too; and that call."""
        run = _compiled("forward", self.mode)
        before = [self._setup()]
        earlier = self.case.plan.calls[: self.divergence.call]
        if earlier:
            before.append(f"run = {run}")
            run = "run"
        for at, _ in enumerate(earlier):
            # Fresh inputs for every call: the one before may have written to them.
            following = self._inputs(self.case.plan.calls[at + 1])
            before.append(f"run({self.arguments})\n{following}")
        return before, f"{run}({self.arguments})"

    # ---- what is asserted
    def _assertion(self) -> list[str]:
        kind = self.divergence.kind
        if self.is_about_gradient:
            return self._about_gradient()
        before, call = self._call()
        match kind:
            case Kind.DIED:
                return [*before, *self._death(call)]
            case Kind.RAISES | Kind.DOCUMENTED | Kind.IN_FORM | Kind.INTERNAL:
                return self._raise(before, call)
            case Kind.INPUT_CHANGED | Kind.WRITE_LOST if (
                self.divergence.value in self.case.graph.input_by_name
            ):
                return [*before, self._input_after(call)]
            case Kind.MOVED:
                return [*before, self._state(call)]
            case Kind.HANG:
                return [*before, *self._hang(call)]
            case Kind.LAYOUT:
                return [*before, *self._layout(call)]
        return [*before, self._output(call)]

    def _death(self, call: str) -> list[str]:
        said = _quoted(dies_of(self.divergence.message))
        return [f"print({said}, flush=True)", call]

    def _hang(self, call: str) -> list[str]:
        """The call under a watchdog that dumps the stacks and ends the process, whatever holds the
        interpreter's lock."""
        return [
            f"import faulthandler\n\nfaulthandler.dump_traceback_later({PATIENCE}, exit=True)",
            f"print({_quoted(hangs_for(PATIENCE))}, flush=True)",
            call,
            "faulthandler.cancel_dump_traceback_later()",
        ]

    def _layout(self, call: str) -> list[str]:
        """Whether the answer shares an input's storage, or its strides, as the message has it."""
        graph = self.case.graph
        lines = [f"got = {call}"]
        if len(graph.outputs) > 1:
            lines.append(f"got = got[{graph.outputs.index(self.divergence.value)}]")
        if "strided" in self.divergence.message:
            lines.append('print("strides:", got.stride())')
            lines.append("assert got.is_contiguous(), got.stride()")
            return ["\n".join(lines)]
        inputs = f"({''.join(f'{one}, ' for one in self.lowered.inputs)})"
        storage = "untyped_storage().data_ptr()"
        lines.append(f"shares = any(got.{storage} == one.{storage} for one in {inputs})")
        lines.append('print("shares storage with an input:", shares)')
        wanted = "not shares" if "copy" in self.divergence.message else "shares"
        lines.append(f"assert {wanted}, {_quoted(self.divergence.message)}")
        return ["\n".join(lines)]

    def _raise(self, before: list[str], call: str) -> list[str]:
        baseline = BASELINE[self.framework]
        message = f"{self.mode} raises"
        if self.phase == "setup":
            return [_guarded([self._setup()], message)]
        if self.divergence.kind is Kind.RAISES and baseline not in self.divergence.modes:
            before = [*before, f'print("{baseline}:", forward({self.arguments}))']
        return [*before, _guarded([f"print({call})"], message)]

    def _state(self, call: str) -> str:
        names = self.divergence.message.split(", ")
        asked = ", ".join(STATE[name] for name in names)
        # Else the call may run in a thread whose state nobody sees.
        settled = ["ms.runtime.launch_blocking()"] if self.framework == "mindspore" else []
        # The gradient is watched, too.
        made, gradient = self._gradient() if self.case.plan.gradient != "none" else ([], "")
        if any(one.startswith("forward = ") for one in made):
            call = f"forward({self.arguments})"
        return "\n".join(
            (
                *settled,
                *made,
                f"before = [{asked}]",
                call,
                *([gradient] if gradient else []),
                f"after = [{asked}]",
                f"assert after == before, {_quoted(f'the call moved: {self.divergence.message}')}",
            )
        )

    def _output(self, call: str) -> str:
        graph = self.case.graph
        value = self.divergence.value
        place = graph.outputs.index(value) if value in graph.outputs else 0
        lines = [f"got = {call}"]
        if self.divergence.kind is Kind.STRUCTURE:
            several = "isinstance(got, tuple | list)"
            count = len(graph.outputs)
            wanted = f"{several} and len(got) == {count}" if count > 1 else f"not {several}"
            return "\n".join((*lines, f"assert {wanted}, type(got)"))
        if len(graph.outputs) > 1:
            lines.append(f"got = got[{place}]")
        return "\n".join((*lines, *self._about_output(graph.outputs[place])))

    def _about_output(self, name: str) -> list[str]:
        dtype = self._dtype(name)
        match self.divergence.kind:
            case Kind.DTYPE:
                said = 'str(got.dtype).lower().rpartition(".")[2].strip("_")'
                return ['print("dtype:", got.dtype)', f'assert {said} == "{dtype}", got.dtype']
            case Kind.SHAPE:
                wanted = self._shape(name)
                return [
                    'print("shape:", tuple(got.shape))',
                    f"assert tuple(got.shape) == {wanted}, tuple(got.shape)",
                ]
        referee = self.comparison.referees[self.divergence.call]
        exact = referee.exact[name]
        call, place = self.divergence.call, self.case.graph.outputs.index(name)
        answered = self._answered(lambda one: one.calls[call].outputs[place])
        tolerance = shown_by(answered, exact, self.divergence.worst, dtype)
        found = None if answered is None else gap(answered, dtype, referee, name)
        if found is not None:
            tolerance = excusing(found, exact, tolerance)
        return [
            *self._witness(name, dtype, exact),
            f"got = {_on_host('got', dtype, self.framework)}",
            *_compared("got", exact, self.divergence.worst, tolerance, "got"),
        ]

    def _answered(self, pick: Callable[[Outcome], Answer | None]) -> Array | None:
        """What the accused mode answered; None where its answer was not kept."""
        outcome = self.comparison.outcomes.get(self.mode)
        if outcome is None:
            return None
        try:
            answer = pick(outcome)
        except (IndexError, KeyError):
            return None
        return None if answer is None else answer.array

    def _witness(self, name: str, dtype: str, exact: Array) -> list[str]:
        """Lines that print what eager mode gives, where it is right and a second call may be made:
        one that writes to its inputs or draws numbers would find other ones."""
        graph = self.case.graph
        baseline = BASELINE[self.framework]
        specs = (OPS.get(node.op) for node in graph.calls)
        if (
            baseline in self.divergence.modes
            or len(self.case.plan.calls) > 1
            or any(node.writes for node in graph.nodes)
            or any(spec is None or spec.random for spec in specs)
        ):
            return []
        said = {"torch": "eager", "mindspore": "pynative"}[self.framework]
        several = len(graph.outputs) > 1
        index = _shown_at(exact, self.divergence.worst)
        picked = f"[{graph.outputs.index(name)}]" if several else ""
        host = _on_host(said, dtype, self.framework) + (f"[{index!r}]" if index else "")
        return [
            f"{said} = forward({self.arguments}){picked}",
            f'print("{said + ":":{len("expected") + 1}}", {host})',
        ]

    def _dtype(self, name: str) -> str:
        """The declared dtype of a value in the call in question."""
        referees = self.comparison.referees
        graph = (
            referees[self.divergence.call].case.graph
            if self.divergence.call < len(referees)
            else self.case.graph
        )
        declared = graph.types[name]
        return declared.dtype if isinstance(declared, Dense) else ""

    def _shape(self, name: str) -> tuple[int, ...]:
        referees = self.comparison.referees
        if self.divergence.call < len(referees):
            return tuple(referees[self.divergence.call].exact[name].shape)
        declared = self.case.graph.types[name]
        assert isinstance(declared, Dense), f"{name} has no shape"
        return declared.extents

    def _input_after(self, call: str) -> str:
        name = self.divergence.value
        dtype = self._dtype(name)
        host = _on_host(name, dtype, self.framework)
        lines = [f"before = {host}.copy()", call, f"after = {host}"]
        if self.divergence.kind is Kind.INPUT_CHANGED:
            lines.append('print("before:", before)\nprint("after: ", after)')
            lines.append('assert after.tobytes() == before.tobytes(), "an input changed"')
            return "\n".join(lines)
        exact = self.comparison.referees[0].exact[name]
        tolerance = asserted_tolerance(dtype)
        lines += _compared("after", exact, self.divergence.worst, tolerance, "after")
        return "\n".join(lines)

    # ---- gradients
    def _about_gradient(self) -> list[str]:
        before, gradient = self._gradient()
        before = [self._setup(), *before]
        match self.divergence.kind:
            case Kind.DIED:
                return [*before, *self._death(gradient)]
            case Kind.GRADIENT_RAISES:
                message = f"the gradient raises in {self.mode}"
                return [*before, _guarded([f"print({gradient})"], message)]
        assert self.comparison.gradients is not None
        name = self.divergence.value.removeprefix("gradient of ")
        exact = truth(self.comparison.gradients, name, self.divergence.worst)
        assert exact is not None
        picked, dtype = self._picked(name)
        answered = self._answered(lambda one: one.gradients[name])
        tolerance = shown_by(answered, exact, self.divergence.worst, dtype, times=4)
        lines = [
            f"got = {gradient}{picked}",
            f"got = {_on_host('got', dtype, self.framework)}",
            *_compared("got", exact, self.divergence.worst, tolerance, "gradient"),
        ]
        return [*before, "\n".join(lines)]

    def _picked(self, name: str) -> tuple[str, str]:
        """What picks a gradient from all, and its dtype; a derivative along directions is alone,
        in the dtype of the loss."""
        if name == TANGENT:
            widest = "float64" if any(c.dtype == "float64" for c in self.lowered.cotangents) else ""
            return "", widest or "float32"
        is_listed = self.framework == "torch" or len(self.wanted) > 1
        return f"[{self.wanted.index(name)}]" if is_listed else "", self._dtype(name)

    def _gradient(self) -> tuple[list[str], str]:
        """Statements that come before, and the expression that is the gradient."""
        kind = self.case.plan.gradient
        given = ", ".join((*self.lowered.inputs, *(one.name for one in self.lowered.cotangents)))
        if kind == "forward":
            return self._tangent(given)
        if self.framework == "mindspore":
            return self._gradient_of_mindspore(given, second=kind == "second")
        names = ", ".join(self.wanted)
        compiled = _compiled("forward", self.mode)
        if kind == "second" and compiled != "forward":
            return self._compiled_second(given)
        # `loss` calls `forward`, so that compiling it compiles what the loss differentiates.
        before = [f"forward = {compiled}"] if compiled != "forward" else []
        first = f"torch.autograd.grad(loss({given}), [{names}], allow_unused=True"
        if kind == "reverse":
            return before, f"{first})"
        parts = "weighted_square(one) for one in first if one is not None and one.requires_grad"
        before += [_SQUARE, f"first = {first}, create_graph=True)"]
        return before, f"torch.autograd.grad(sum({parts}), [{names}], allow_unused=True)"

    def _compiled_second(self, given: str) -> tuple[list[str], str]:
        """The second order as the worker compiles it; see `torch_worker._compiled_second`."""
        places = tuple(self.lowered.inputs.index(name) for name in self.wanted)
        types = [self.case.graph.types[name] for name in self.wanted]
        elements = sum(one.elements for one in types if isinstance(one, Dense))
        way = _BY_HESSIAN if elements <= SMALL_HESSIAN else _BY_SQUARES
        moving = ", ".join(f"{name}.detach()" for name in self.wanted)
        arguments = f"[one.detach() for one in ({given},)], [{moving}]"
        second = _SECOND.format(places=places, order=tuple(range(len(places)))) + way
        return [_WEIGHTS + second], f"{_compiled('second', self.mode)}({arguments})"

    def _gradient_of_mindspore(self, given: str, *, second: bool) -> tuple[list[str], str]:
        places = tuple(self.lowered.inputs.index(name) for name in self.wanted)
        if not second:
            function = _compiled(f"ms.value_and_grad(loss, {places})", self.mode)
            return [], f"{function}({given})[1]"
        return [_SQUARES.format(places=places)], f"ms.grad(squares, {places})({given})"

    def _tangent(self, given: str) -> tuple[list[str], str]:
        """The derivative along fixed directions."""
        names = ", ".join(self.wanted)
        module = "torch.func" if self.framework == "torch" else "ms"
        directions = [f"d_{name}" for name in self.wanted]
        made = [f"{one} = {self._direction(name)}" for name, one in _pairs(self.wanted, directions)]
        taken = ", ".join(directions)
        primals = f"({names},), ({taken},)"
        derivative = f"def derivative({given}, {taken}):\n    return "
        derivative += f"{module}.jvp(lambda {names}: loss({given}), {primals})[1]"
        run = _compiled("derivative", self.mode)
        return ["\n".join(made), f"\n{derivative}\n"], f"{run}({given}, {taken})"

    def _direction(self, name: str) -> str:
        if self.framework == "torch":
            weights = f"(1 + torch.arange({name}.numel()) % 7 / 8).to({name}.dtype)"
            return f"{weights}.reshape({name}.shape)"
        weights = f"(1 + np.arange({name}.size) % 7 / 8).reshape({name}.shape)"
        return f"Tensor({weights}.astype(np.float32)).astype({name}.dtype)"


def _pairs(names: list[str], others: list[str]) -> list[tuple[str, str]]:
    return list(zip(names, others, strict=True))


_SQUARE = """
def weighted_square(gradient):
    weights = 1 + torch.arange(gradient.numel()) % 7 / 8
    return (weights.to(gradient.dtype).reshape(gradient.shape) * gradient * gradient).sum()
"""
_WEIGHTS = """
def weights(gradient):
    found = 1 + torch.arange(gradient.numel()) % 7 / 8
    return found.to(gradient.dtype).reshape(gradient.shape)
"""
_SECOND = """

def second(arguments, moving):
    order = {order}

    def value(*moved):
        whole = list(arguments)
        for place, one in zip({places}, moved):
            whole[place] = one
        return loss(*whole)
"""
# The gradient of the sum of w g g is 2 H (w g).
_ABOUT = 1.01
_BY_HESSIAN = """
    first = torch.func.grad(value, order)(*moving)
    weighted = [2 * weights(one) * one for one in first]
    hessian = torch.func.hessian(value, order)(*moving)
    return [
        sum(torch.tensordot(part, one, one.dim()) for part, one in zip(row, weighted))
        for row in hessian
    ]
"""
_BY_SQUARES = """
    def squares(*moved):
        first = torch.func.grad(value, order)(*moved)
        return sum((weights(one) * one * one).sum() for one in first)

    return torch.func.grad(squares, order)(*moving)
"""
_SQUARES = """
def squares(*arguments):
    first = ms.grad(loss, {places})(*arguments)
    parts = []
    for one in first if isinstance(first, tuple) else (first,):
        weights = (1 + np.arange(one.size) % 7 / 8).reshape(one.shape).astype(np.float32)
        parts.append((Tensor(weights).astype(one.dtype) * one * one).sum())
    return sum(parts[1:], parts[0])
"""


# ---------------------------------------------------------------------------------------- text
def _imports(lowered: Lowered) -> str:
    """What the source imports, and what the lines round it need."""
    lines = [line for line in lowered.source.splitlines() if line.startswith(("import ", "from "))]
    if lowered.framework == "torch":
        needed = ["import torch"]
    else:
        needed = ["import mindspore as ms"]
        names = {"Tensor"}
        for line in lines:
            if line.startswith("from mindspore import "):
                names.update(line.removeprefix("from mindspore import ").split(", "))
        lines = [line for line in lines if not line.startswith("from mindspore import ")]
        needed.append(f"from mindspore import {', '.join(sorted(names))}")
    return "\n".join(dict.fromkeys(["import numpy as np", *needed, *lines]))


def _body(lowered: Lowered) -> str:
    lines = lowered.source.splitlines()
    kept = [line for line in lines if not line.startswith(("import ", "from "))]
    return "\n".join(kept).strip()


def _compiled(function: str, mode: str) -> str:
    """The function as the mode runs it."""
    match mode:
        case "torch-aot":
            return f'torch.compile({function}, backend="aot_eager", fullgraph=True, dynamic=False)'
        case "torch-inductor":
            return f'torch.compile({function}, backend="inductor", fullgraph=True, dynamic=False)'
        case "mindspore-graph":
            return f'ms.jit({function}, capture_mode="ast", fullgraph=True)'
    return function


def _guarded(statements: list[str], message: str) -> str:
    return "\n".join(
        (
            "try:",
            *(f"    {one}" for one in statements),
            "except Exception as error:",
            f"    raise AssertionError({_quoted(message)}) from error",
        )
    )


def _on_host(name: str, dtype: str, framework: str) -> str:
    """A tensor as a NumPy array, wide enough to hold every number of its dtype."""
    exact = dtype == "complex64" or dtype == "bool" or is_integer(dtype)
    if framework == "torch":
        return f"{name}{'' if exact else '.double()'}.numpy(force=True)"
    if exact:
        return f"{name}.asnumpy()"
    widened = ".astype(ms.float32)" if dtype == "bfloat16" else ""
    return f"{name}{widened}.asnumpy().astype(np.float64)"


def _compared(
    name: str,
    exact: Array,
    worst: tuple[int, ...],
    tolerance: tuple[float, float],
    said: str,
) -> list[str]:
    """Lines that compare with the float64 answer: all of it where short, else its worst element.

    The parts of complex numbers are told apart by a further index, which is left out.
    """
    index = _shown_at(exact, worst)
    if index is None:
        text = array_text(exact) if exact.size else f"np.zeros({tuple(exact.shape)})"
        lines = [f"expected = np.array({text})  # the same computation in float64"]
    else:
        lines = [
            f"{name} = {name}[{index!r}]  # the worst element",
            f"expected = {number_text(exact[index])}  # the same computation in float64",
        ]
    width = max(len(said), len("expected")) + 1
    rtol, atol = tolerance
    if exact.dtype.kind in "biu":
        asserted = f"np.testing.assert_array_equal({name}, expected)"
    else:
        asserted = f"np.testing.assert_allclose({name}, expected, rtol={rtol}, atol={atol})"
    return [
        *lines,
        f'print("{said + ":":{width}}", {name})',
        f'print("{"expected:":{width}}", expected)',
        asserted,
    ]


def shown_by(
    got: Array | None, exact: Array, worst: tuple[int, ...], dtype: str, *, times: int = 1
) -> tuple[float, float]:
    """(rtol, atol) to assert: the dtype's default where that shows the difference, as trackers ask;
    a float64 result that is only of float32 grade may need less, a gradient less than `times`."""
    finer, default = asserted_tolerance(dtype), tolerance_of(dtype)
    if dtype != "float64":
        return finer[0] * times, finer[1]
    at = _shown_at(exact, worst) or ()
    tried = [(default[0] * times, default[1]), (finer[0] * times, finer[1])]
    if got is not None and got.shape == exact.shape:
        for rtol, atol in tried:
            close = np.isclose(got[at], exact[at], rtol=rtol, atol=atol, equal_nan=True)
            if not np.all(close):
                return rtol, atol
        return finer
    return tried[-1]


def excusing(found: Gap, exact: Array, tolerance: tuple[float, float]) -> tuple[float, float]:
    """The tolerance, no finer than what rounding on the way may leave of a right answer."""
    if found.units <= 1 or not np.isfinite(found.raw) or len(found.worst) != exact.ndim:
        return tolerance
    limit = found.raw / found.units
    rtol, atol = tolerance
    if limit <= _ABOUT * CLEARLY * (atol + rtol * abs(exact[found.worst])):
        return tolerance
    rounded = float(f"{limit:.1e}")
    return rtol, rounded if rounded + rtol * abs(exact[found.worst]) < found.raw else atol


def _shown_at(exact: Array, worst: tuple[int, ...]) -> tuple[int, ...] | None:
    """The element that is compared; None where all of it is."""
    index = worst[: exact.ndim]
    return None if exact.size <= PRINTED or len(index) < exact.ndim else index


def _documented(text: str) -> str:
    """Text that may stand between triple quotes."""
    return text.replace("\\", "\\\\").replace('"""', "'''").rstrip(".")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'
