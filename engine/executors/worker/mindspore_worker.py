"""Runs a case on MindSpore: PyNative, or compiled by ms.jit with proof that it was."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import mindspore as ms
import numpy as np

try:
    from mindspore.graph import api
except ImportError:  # where it was until 2.8
    from mindspore.common import api

from .instrument import instrumented
from .layout import OFFSET, check_layout, expanded_axis, moved_channels
from .protocol import Block
from .session import Given, Run, Unable, answer_of, failure, python_number, value_fields

__all__ = ["NAMESPACES", "begin", "flags", "load", "run", "seed", "tidy", "warm"]

NAMESPACES = {"ms": ms, "mindspore": ms, "ops": ms.ops, "mint": ms.mint, "nn": ms.nn}
SEED = 20_260


# ---------------------------------------------------------------------------- life of a process
def load() -> dict[str, str]:
    """In the zygote: importing this module has imported the framework. Versions of it."""
    return {"mindspore": ms.__version__, "numpy": np.__version__}


def warm(folder: str) -> dict[str, Any]:
    """Nothing needs warming here."""
    return {"folder": folder}


def begin() -> None:
    """First thing in a worker: errors belong to the line that raised them."""
    ms.runtime.launch_blocking()


def seed() -> None:
    """Before each case and each call."""
    ms.manual_seed(SEED)


def flags() -> dict[str, Any]:
    """Generators and switches that a call should leave alone."""
    return {
        "mindspore generator": ms.get_rng_state().asnumpy().tobytes(),
        "mindspore seed": ms.get_seed(),
        "mindspore mode": ms.get_context("mode"),
        "mindspore device": ms.get_context("device_target"),
        "mindspore deterministic": ms.get_context("deterministic"),
    }


def tidy(run: Run) -> None:
    """Forget what a case left in the process, as far as the framework lets us."""
    api.function_phases.clear()


# ------------------------------------------------------------------------------------- one case
def run(run: Run) -> None:
    """Fill `run.answer`: set-up, calls, recording, gradient."""
    if hasattr(run.module, "setup"):
        run.enter("setup")
        made = _inputs(run.calls[0])
        run.module.setup(*(made[name] for name in run.request["setup"]))
    compiled = run.mode == "graph"
    known = set(api.ms_compile_cache)
    forward = run.module.forward
    if compiled:
        forward = _compiled(run, forward)
    if run.settings:
        with _levels(run) as levels:
            _calls(run, forward)
            run.prove_settings(levels)
    else:
        _calls(run, forward)
    if compiled:
        run.answer["proof"].update(_proof(known))
    elif run.request["record"]:
        _record(run)
    if run.request["gradient"] != "none":
        _gradient(run)


def _compiled(run: Run, function: Callable[..., Any]) -> Callable[..., Any]:
    level = run.settings.get("jit_level", "O0")
    made: Callable[..., Any] = ms.jit(function, capture_mode="ast", jit_level=level, fullgraph=True)
    return made


@contextlib.contextmanager
def _levels(run: Run) -> Iterator[dict[str, str]]:
    """The optimisation level that the compiler is handed meanwhile, as its executor has it."""
    found: dict[str, str] = {}
    original = api._JitExecutor.compile

    def look(executor: Any, *arguments: Any, **named: Any) -> Any:
        found["jit_level"] = dict(executor.jit_config_dict or {}).get("jit_level", "")
        run.note_settings(found)
        return original(executor, *arguments, **named)

    api._JitExecutor.compile = look
    try:
        yield found
    finally:
        api._JitExecutor.compile = original


def _proof(known: set[str]) -> dict[str, Any]:
    """Which graphs the executor holds that it did not hold before."""
    executor = (api.JitExecutor_ if api._run_jit_pipeline() else api.GraphExecutor_).get_instance()
    phases = [one for one in api.ms_compile_cache - known if executor.has_compiled(one)]
    if not phases:
        raise Unable("ms.jit compiled no graph")
    # A phase is "module.function.file.line.time.key"; what follows the file differs in every run.
    return {"compiled_graphs": len(phases), "phase": sorted(phases)[0].split("./", 1)[0]}


def _calls(run: Run, forward: Any) -> None:
    for number, given in enumerate(run.calls):
        inputs = _inputs(given)
        run.enter(f"call {number}")
        seed()
        result = forward(*(inputs[name] for name in run.request["inputs"]))
        leaf = functools.partial(_leaf, run, _owners(inputs))
        structure, outputs = answer_of(result, leaf)
        changed = _changed(run, given, inputs) if run.wants_state else {}
        run.answer["calls"].append(
            {"structure": structure, "outputs": outputs, "inputs_after": changed}
        )


def _record(run: Run) -> None:
    """A second run that only looks, apart from the one that is judged."""
    run.enter("record")
    inputs = _inputs(run.calls[0])
    owners = _owners(inputs)
    note = functools.partial(_note, run, owners, array=run.request["record"] == "values")
    forward = instrumented(run.request["path"], run.request["lines"], run.module.__dict__, note)
    for name, tensor in inputs.items():
        note(name, tensor)
    seed()
    forward(*(inputs[name] for name in run.request["inputs"]))


def _note(run: Run, owners: dict[int, list[str]], name: str, value: Any, *, array: bool) -> None:
    if isinstance(value, (tuple, list)):
        kind, _ = answer_of(value, lambda one: {"kind": "tensor"})
        run.answer["recorded"][name] = {"dtype": "tuple", "shape": [], "kind": kind}
        return
    fields = _leaf(run, owners, value, array=array, summary=True)
    if fields is None:
        return
    if isinstance(value, ms.Tensor):
        fields["shares"] = [one for one in fields["shares"] if one != name][:1]
        where = _storage(value)
        if where and where not in owners:
            owners[where] = [name]
            run.kept.append(value)  # else its address is given to another value
    run.answer["recorded"][name] = fields


# ----------------------------------------------------------------------------------- gradients
def _gradient(run: Run) -> None:
    run.enter("gradient")
    wanted = {one.name for one in run.calls[0] if one.requires_grad}
    places = tuple(k for k, name in enumerate(run.request["inputs"]) if name in wanted)
    try:
        if not places:
            raise Unable("the plan asks for a gradient, but no input requires one")
        seed()
        run.answer["gradients"] = _KINDS[run.request["gradient"]](run, places)
    except Unable as reason:
        run.answer["reason"] = str(reason)
    except Exception as error:  # noqa: BLE001 - a failing gradient leaves the calls intact
        run.answer["gradient_failure"] = failure(run, error)


def _arguments(run: Run) -> list[Any]:
    inputs = _inputs(run.calls[0])
    return [*(inputs[name] for name in run.request["inputs"]), *map(_tensor, run.cotangents)]


def _reverse(run: Run, places: tuple[int, ...]) -> dict[str, Any]:
    function = ms.value_and_grad(run.module.loss, places)
    if run.mode == "graph":
        function = _compiled(run, function)
    _, found = function(*_arguments(run))
    return _by_name(run, places, found)


def _second(run: Run, places: tuple[int, ...]) -> dict[str, Any]:
    """Gradient of the sum of w * g * g over the first gradients, w = 1 + (k mod 7) / 8."""
    if run.mode == "graph":
        raise Unable("second order is run in PyNative only")
    first = ms.grad(run.module.loss, places)

    def squares(*arguments: Any) -> Any:
        found = first(*arguments)
        parts = [(_pattern(one) * one * one).sum() for one in _listed(found)]
        return functools.reduce(lambda left, right: left + right, parts)

    return _by_name(run, places, ms.grad(squares, places)(*_arguments(run)))


def _forward(run: Run, places: tuple[int, ...]) -> dict[str, Any]:
    """Derivative of the loss along the direction 1 + (k mod 7) / 8 of each input in question."""
    if run.mode == "graph":
        raise Unable("forward mode is run in PyNative only")
    arguments = _arguments(run)

    def value(*moving: Any) -> Any:
        whole = list(arguments)
        for place, one in zip(places, moving):
            whole[place] = one
        return run.module.loss(*whole)

    primals = tuple(arguments[place] for place in places)
    _, tangent = ms.jvp(value, primals, tuple(_pattern(one) for one in primals))
    return {"loss": _leaf(run, {}, tangent)}


_KINDS = {"reverse": _reverse, "second": _second, "forward": _forward}


def _pattern(tensor: Any) -> Any:
    weights = 1 + (np.arange(tensor.size) % 7) / 8
    return ms.Tensor(weights.reshape(tensor.shape).astype(np.float32)).astype(tensor.dtype)


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (tuple, list)) else [found]


def _by_name(run: Run, places: tuple[int, ...], found: Any) -> dict[str, Any]:
    names = [run.request["inputs"][place] for place in places]
    return {
        name: None if one is None else _leaf(run, {}, one)
        for name, one in zip(names, _listed(found))
    }


# --------------------------------------------------------------------------------------- values
def _inputs(given: Sequence[Given]) -> dict[str, Any]:
    """Fresh tensors, laid out and aliased as described."""
    largest: dict[str, Given] = {}
    for one in given:
        if one.alias:
            old = largest.get(one.alias)
            if old is None or one.block.bits.size > old.block.bits.size:
                largest[one.alias] = one
    bases = {name: _flat(one) for name, one in largest.items()}
    return {
        one.name: _member(bases[one.alias], one) if one.alias else _laid_out(one) for one in given
    }


def _flat(one: Given) -> Any:
    return ms.Tensor(_host(one).reshape(-1))


def _member(base: Any, one: Given) -> Any:
    if _dtype_name(base) != one.block.dtype:
        raise Unable(f"alias group {one.alias}: {one.name} has another dtype than the storage")
    return base[: one.block.bits.size].view(one.block.bits.shape)


@functools.cache
def _bfloat16() -> Any:
    """The NumPy dtype that the framework itself uses for bfloat16."""
    return ms.Tensor(np.zeros(1, np.float32)).astype(ms.bfloat16).asnumpy().dtype


def _host(one: Given) -> Any:
    copied = np.array(one.block.bits)
    return copied.view(_bfloat16()) if one.block.dtype == "bfloat16" else copied


def _tensor(one: Given) -> Any:
    return ms.Tensor(_host(one))


def _laid_out(one: Given) -> Any:
    """A tensor of the given values in the layout asked for, as a view of a buffer where need be."""
    host, layout = _host(one), one.layout
    if layout == "contiguous":
        return ms.Tensor(host)
    check_layout(layout, host.shape)
    if layout == "channels_last":
        there, back = moved_channels(host.ndim)
        return ms.Tensor(np.ascontiguousarray(host.transpose(there))).transpose(back)
    if layout == "transposed":
        swapped = np.ascontiguousarray(np.swapaxes(host, -1, -2))
        return ms.Tensor(swapped).swapaxes(-1, -2)
    if layout == "strided":
        buffer = np.zeros([*host.shape[:-1], 2 * host.shape[-1]], host.dtype)
        buffer[..., ::2] = host
        return ms.Tensor(buffer)[..., ::2]
    if layout == "offset":
        buffer = np.zeros([host.size + OFFSET], host.dtype)
        buffer[OFFSET:] = host.reshape(-1)
        return ms.Tensor(buffer)[OFFSET:].view(host.shape)
    if layout == "expanded":
        first = np.take(host, [0], axis=expanded_axis(host.shape))
        return ms.Tensor(np.ascontiguousarray(first)).broadcast_to(host.shape)
    raise Unable(f"unknown layout {layout}")


def _dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).lower()


def _block(tensor: Any) -> Block:
    """A host copy of the elements; `asnumpy` shares the tensor's memory."""
    array = tensor.asnumpy()
    if _dtype_name(tensor) == "bfloat16":
        return Block("bfloat16", np.array(array, order="C").view(np.uint16))
    return Block(str(array.dtype), np.array(array, order="C"))


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr()) if tensor.size else 0


def _owners(inputs: dict[str, Any]) -> dict[int, list[str]]:
    owners: dict[int, list[str]] = {}
    for name, tensor in inputs.items():
        if _storage(tensor):
            owners.setdefault(_storage(tensor), []).append(name)
    return owners


def _leaf(
    run: Run, owners: dict[int, list[str]], value: Any, *, array: bool = True, summary: bool = False
) -> dict[str, Any] | None:
    if isinstance(value, ms.CSRTensor):
        dense = value.to_dense()
        facts: dict[str, Any] = {"dtype": _dtype_name(dense), "shape": list(dense.shape)}
        facts["kind"] = "csr"
        return value_fields(run.blocks, _block(dense), facts, array=array, summary=summary)
    if not isinstance(value, ms.Tensor):
        number = python_number(value)
        if number is None:
            return None
        facts = {"dtype": number.dtype, "shape": [], "kind": type(value).__name__}
        return value_fields(run.blocks, number, facts, array=array, summary=summary)
    facts = {"dtype": _dtype_name(value), "shape": list(value.shape), "kind": "tensor"}
    block = _block(value)
    facts["strides"] = list(value.stride())
    facts["offset"] = int(value.storage_offset())
    facts["shares"] = owners.get(_storage(value), [])
    return value_fields(run.blocks, block, facts, array=array, summary=summary)


def _changed(run: Run, given: Sequence[Given], inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs whose bytes are no longer those that were given."""
    found: dict[str, Any] = {}
    for one in given:
        if _block(inputs[one.name]).bits.tobytes() != one.block.bits.tobytes():
            found[one.name] = _leaf(run, {}, inputs[one.name])
    return found
