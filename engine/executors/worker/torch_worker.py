"""Runs a case on PyTorch: eager, or compiled by torch.compile with proof that it was."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pkgutil
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, Callable, NoReturn

import numpy as np
import torch

from . import trace
from .instrument import instrumented
from .layout import OFFSET, check_layout, expanded_axis, moved_channels
from .protocol import Block
from .session import Given, Run, Unable, answer_of, failure, python_number, value_fields

__all__ = ["NAMESPACES", "begin", "flags", "load", "run", "seed", "tidy", "warm"]

NAMESPACES = {"torch": torch, "F": torch.nn.functional, "nn": torch.nn}
SEED = 20_260
SMALL_HESSIAN = 64  # elements of which a second order is taken by way of the whole Hessian


# ---------------------------------------------------------------------------- life of a process
def load() -> dict[str, str]:
    """Import what a case may need, set one thread; in the zygote. Versions of what was imported."""
    import torch._dynamo.backends.debugging
    import torch._inductor.compile_fx

    torch.set_num_threads(1)
    return {"torch": torch.__version__, "numpy": np.__version__}


# What the first compilation of a process imports; seconds that each forked worker would pay again.
_USED_BY_INDUCTOR = (
    "torch._dynamo.backends.inductor",
    "torch._dynamo.repro.after_dynamo",
    "torch._functorch._aot_autograd.subclass_codegen",
    "torch._inductor.codegen.cpp",
    "torch._inductor.codegen.cpp_wrapper_cpu_array_ref",
    "torch._inductor.codegen.cpp_wrapper_gpu",
    "torch._inductor.codegen.cuda_combined_scheduling",
    "torch._inductor.codegen.halide",
    "torch._inductor.codegen.mps",
    "torch._inductor.codegen.pallas",
    "torch._inductor.codegen.wrapper_fxir",
    "torch._inductor.fx_passes.efficient_conv_bn_eval",
    "torch._inductor.fx_passes.freezing_patterns",
    "torch._inductor.fx_passes.fuse_attention",
    "torch._inductor.fx_passes.joint_graph",
    "torch._inductor.fx_passes.mkldnn_fusion",
    "torch._inductor.fx_passes.pad_mm",
    "torch._inductor.fx_passes.post_grad",
    "torch._inductor.fx_passes.quantization",
    "torch._inductor.lowering",
    "torch._inductor.scheduler",
)


def _import_inductor() -> None:
    patterns = importlib.import_module("torch._inductor.fx_passes.serialized_patterns")
    found = [one.name for one in pkgutil.iter_modules(patterns.__path__, f"{patterns.__name__}.")]
    for name in (*_USED_BY_INDUCTOR, *found):
        # Private modules: another version of PyTorch has others, and then imports them later.
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)


def warm(folder: str) -> dict[str, Any]:
    """Find the vector instructions that the compiler may use, once for all workers; in the zygote.

    The answer is cached in this process, so that each fork has it; the probe runs no operator here.
    """
    from torch._inductor import cpu_vec_isa

    _import_inductor()
    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    try:
        return {"isa": str(cpu_vec_isa.pick_vec_isa())}
    finally:
        if before is None:
            del os.environ["TORCHINDUCTOR_CACHE_DIR"]
        else:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = before


def begin() -> None:
    """First thing in a worker."""
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    trace.arm_inductor()


def seed() -> None:
    """Before each case and each call; `torch.manual_seed` also queues work for absent devices."""
    torch.default_generator.manual_seed(SEED)


def flags() -> dict[str, Any]:
    """Generators and switches that a call should leave alone."""
    return {
        "torch generator": torch.get_rng_state().numpy().tobytes(),
        "torch default dtype": torch.get_default_dtype(),
        "torch grad mode": torch.is_grad_enabled(),
        "torch inference mode": torch.is_inference_mode_enabled(),
        "torch deterministic": torch.are_deterministic_algorithms_enabled(),
        "torch threads": torch.get_num_threads(),
        "torch flush denormal": bool(torch.tensor([1e-40]).add(0)[0] == 0),
        "torch autocast": torch.is_autocast_enabled("cpu"),
        "torch matmul precision": torch.get_float32_matmul_precision(),
        "torch anomaly mode": torch.is_anomaly_enabled(),
        "torch default device": str(torch.get_default_device()),
    }


def tidy(run: Run) -> None:
    """Forget what a case left in the process."""
    if run.mode in ("aot", "inductor"):
        torch._dynamo.reset()


# ------------------------------------------------------------------------------------- one case
def run(run: Run) -> None:
    """Fill `run.answer`: set-up, calls, recording, gradient."""
    differentiable = run.request["gradient"] in ("reverse", "second")
    if run.request["caches"] is False:
        _forget_caches()
    _set_up(run, differentiable)
    eager = run.module.forward
    counted = trace.Counted()
    with _noting(run, counted), counted if run.mode != "eager" else nullcontext():
        if run.mode != "eager":
            run.module.forward = _compiled(run, eager, counted)
        try:
            _calls(run, differentiable)
        except Exception as error:  # noqa: BLE001 - raised again, unless a retry works
            if not differentiable:
                _raise_judged(error)
            # With a gradient in view the call failed (a joint graph that does not compile, a write
            # to a leaf). It may work without, and then the gradient is what failed.
            run.answer.update(gradient_failure=failure(run, error), calls=[])
            if run.mode != "eager":
                run.module.forward = _compiled(run, eager, counted)
            _without_gradient(run)
        if run.request["gradient"] != "none" and "gradient_failure" not in run.answer:
            _gradient(run, counted.aot_eager)
    if run.mode == "eager":
        _retrace(run, eager, differentiable and "gradient_failure" not in run.answer)
    else:
        run.answer["proof"] = counted.proof
        run.answer["trace"] = counted.labels()
        run.prove_settings(counted.in_force)
        if not counted.proof["calls_captured"]:
            raise Unable(
                "nothing was compiled: the graph has no operator that torch.compile captures"
            )


@contextlib.contextmanager
def _noting(run: Run, counted: trace.Counted) -> Iterator[None]:
    """Where the case raises, still say which settings its compilers had."""
    try:
        yield
    except Exception:
        run.note_settings(counted.in_force)
        raise


def _without_gradient(run: Run) -> None:
    try:
        _set_up(run, False)
        _calls(run, False)
    except Exception as error:  # noqa: BLE001 - raised again, perhaps judged
        del run.answer["gradient_failure"]
        _raise_judged(error)


def _raise_judged(error: Exception) -> NoReturn:
    judged = _judged(error)
    if judged is error:
        raise error
    raise judged from error


def _judged(error: Exception) -> Exception:
    """A refusal to capture is no behaviour of the compiled program."""
    name = type(error).__name__
    if name in ("Unsupported", "FailOnRecompileLimitHit", "RecompileLimitExceeded"):
        return Unable(f"torch.compile did not capture it: {name}: {str(error)[:600]}")
    return error


def _compiled(run: Run, function: Callable[..., Any], counted: trace.Counted) -> Callable[..., Any]:
    torch._dynamo.reset()
    return _with_settings(run, function, counted.aot_eager)


def _with_settings(run: Run, function: Callable[..., Any], aot_eager: Any) -> Callable[..., Any]:
    """The function compiled as the mode and its options say."""
    backend: Any = "inductor" if run.mode == "inductor" else aot_eager
    settings = run.settings
    dynamic = bool(settings.pop("dynamic", False))
    made: Callable[..., Any] = torch.compile(
        function, backend=backend, fullgraph=True, dynamic=dynamic, options=settings or None
    )
    return made


def _forget_caches() -> None:
    """No compiled code from an earlier process; the precompiled header stays where it is."""
    torch._inductor.config.force_disable_caches = True


def _set_up(run: Run, differentiable: bool) -> None:  # noqa: FBT001
    if not hasattr(run.module, "setup"):
        return
    run.enter("setup")
    made = _inputs(run.calls[0], differentiable)
    run.module.setup(*(made[name] for name in run.request["setup"]))


def _calls(run: Run, differentiable: bool) -> None:  # noqa: FBT001
    for number, given in enumerate(run.calls):
        inputs = _inputs(given, differentiable)
        run.enter(f"call {number}")
        seed()
        result = run.module.forward(*(inputs[name] for name in run.request["inputs"]))
        leaf = functools.partial(_leaf, run, _owners(inputs))
        structure, outputs = answer_of(result, leaf)
        changed = _changed(run, given, inputs) if run.wants_state else {}
        run.answer["calls"].append(
            {"structure": structure, "outputs": outputs, "inputs_after": changed}
        )


# ----------------------------------------------------------------------------------- gradients
def _gradient(run: Run, backend: Any) -> None:
    run.enter("gradient")
    try:
        kind = run.request["gradient"]
        inputs = _inputs(run.calls[0], kind != "forward")
        wanted = [one.name for one in run.calls[0] if one.requires_grad]
        if not wanted:
            raise Unable("the plan asks for a gradient, but no input requires one")
        seed()
        if kind == "forward":
            run.answer["gradients"] = {"loss": _tangent(run, inputs, wanted, backend)}
        elif kind == "second" and run.mode != "eager":
            run.answer["gradients"] = _compiled_second(run, inputs, wanted, backend)
        else:
            run.answer["gradients"] = _backward(run, inputs, wanted, second=kind == "second")
    except Unable as reason:
        run.answer["reason"] = str(reason)
    except Exception as error:  # noqa: BLE001 - a failing gradient leaves the calls intact
        judged = _judged(error)
        if isinstance(judged, Unable):
            run.answer["reason"] = f"gradient: {judged}"
        else:
            run.answer["gradient_failure"] = failure(run, error)


def _loss(run: Run, inputs: dict[str, Any]) -> Any:
    cotangents = [_tensor(one) for one in run.cotangents]
    return run.module.loss(*(inputs[name] for name in run.request["inputs"]), *cotangents)


def _backward(
    run: Run, inputs: dict[str, Any], wanted: list[str], *, second: bool
) -> dict[str, dict[str, Any] | None]:
    places = [inputs[name] for name in wanted]
    found = torch.autograd.grad(_loss(run, inputs), places, create_graph=second, allow_unused=True)
    if second:
        squares = [_weighted_square(one) for one in found if one is not None and one.requires_grad]
        if not squares:
            raise Unable("second order: the first gradients do not depend on the inputs")
        found = torch.autograd.grad(sum(squares), places, allow_unused=True)
    return {name: None if one is None else _leaf(run, {}, one) for name, one in zip(wanted, found)}


def _compiled_second(
    run: Run, inputs: dict[str, Any], wanted: list[str], backend: Any
) -> dict[str, dict[str, Any] | None]:
    """As the second order of `_backward`, by transforms inside one compiled function: a backward of
    a compiled function's backward is documented nowhere, compiling `torch.func` is.

    The gradient of the sum of w g g is 2 H (w g), so that a small case goes by way of its Hessian.
    """
    positions = [run.request["inputs"].index(name) for name in wanted]
    places = tuple(range(len(positions)))

    def second(arguments: list[Any], moving: list[Any]) -> Any:
        def value(*moved: Any) -> Any:
            whole = list(arguments)
            for position, one in zip(positions, moved):
                whole[position] = one
            return run.module.loss(*whole)

        def squares(*moved: Any) -> Any:
            first = torch.func.grad(value, places)(*moved)
            return sum(_weighted_square(one) for one in first)

        if sum(one.numel() for one in moving) > SMALL_HESSIAN:
            return torch.func.grad(squares, places)(*moving)
        first = torch.func.grad(value, places)(*moving)
        weighted = [2 * _direction(one) * one for one in first]
        hessian = torch.func.hessian(value, places)(*moving)
        return [
            sum(torch.tensordot(part, one, one.dim()) for part, one in zip(row, weighted))
            for row in hessian
        ]

    arguments = [inputs[name].detach() for name in run.request["inputs"]]
    moving = [arguments[position] for position in positions]
    arguments += [_tensor(one) for one in run.cotangents]
    run.module.forward = run.module.forward._torchdynamo_orig_callable
    compiled = _with_settings(run, second, backend)
    return {name: _leaf(run, {}, one) for name, one in zip(wanted, compiled(arguments, moving))}


def _weighted_square(gradient: Any) -> Any:
    """Sum of w * g * g with w = 1 + (k mod 7) / 8 over the flat position k."""
    place = torch.arange(gradient.numel(), device=gradient.device) % 7
    weight = (1 + place / 8).to(gradient.dtype).reshape(gradient.shape)
    return (weight * gradient * gradient).sum()


def _tangent(
    run: Run, inputs: dict[str, Any], wanted: list[str], backend: Any
) -> dict[str, Any] | None:
    """Derivative of the loss along the direction 1 + (k mod 7) / 8 of each input in question."""
    if run.mode == "inductor":
        raise Unable("forward mode is run in eager and aot_eager only")
    positions = [run.request["inputs"].index(name) for name in wanted]

    def derivative(arguments: list[Any], directions: list[Any]) -> Any:
        def value(*moving: Any) -> Any:
            whole = list(arguments)
            for position, one in zip(positions, moving):
                whole[position] = one
            return run.module.loss(*whole)

        places = tuple(arguments[position] for position in positions)
        return torch.func.jvp(value, places, tuple(directions))[1]

    arguments = [inputs[name] for name in run.request["inputs"]]
    directions = [_direction(arguments[position]) for position in positions]
    arguments += [_tensor(one) for one in run.cotangents]
    if run.mode == "aot":
        # jvp of a compiled function is not captured; jvp inside one is.
        run.module.forward = run.module.forward._torchdynamo_orig_callable
        derivative = _with_settings(run, derivative, backend)
    return _leaf(run, {}, derivative(arguments, directions))


def _direction(tensor: Any) -> Any:
    place = torch.arange(tensor.numel()) % 7
    return (1 + place / 8).to(tensor.dtype).reshape(tensor.shape)


# ------------------------------------------------------------------------ recording and tracing
def _retrace(run: Run, forward: Callable[..., Any], differentiable: bool) -> None:  # noqa: FBT001
    """A second run that only looks: dispatched operators, and each value where it was asked for.

    Apart from the run that is judged, so that looking changes nothing there.
    """
    run.enter("record")
    inputs = _inputs(run.calls[0], differentiable)
    record = run.request["record"]
    owners = _owners(inputs)
    dispatched = trace.Dispatched()
    if record:

        def note(name: str, value: Any) -> None:
            with dispatched.paused():
                _note(run, owners, name, value, array=record == "values")

        forward = instrumented(run.request["path"], run.request["lines"], run.module.__dict__, note)
        for name, tensor in inputs.items():
            note(name, tensor)
    seed()
    with dispatched:
        forward(*(inputs[name] for name in run.request["inputs"]))
    run.answer["trace"] = dispatched.labels()


def _note(run: Run, owners: dict[int, list[str]], name: str, value: Any, *, array: bool) -> None:
    if isinstance(value, (tuple, list)):
        kind, _ = answer_of(
            value, lambda one: {"kind": "tensor" if torch.is_tensor(one) else "other"}
        )
        run.answer["recorded"][name] = {"dtype": "tuple", "shape": [], "kind": kind}
        return
    fields = _leaf(run, owners, value, array=array, summary=True)
    if fields is None:
        return
    if torch.is_tensor(value) and value.layout == torch.strided:
        fields["shares"] = [one for one in fields["shares"] if one != name][:1]
        where = _storage(value)
        if where and where not in owners:
            owners[where] = [name]
            run.kept.append(value)  # else its address is given to another value
    run.answer["recorded"][name] = fields


# --------------------------------------------------------------------------------------- values
def _inputs(given: Sequence[Given], differentiable: bool) -> dict[str, Any]:  # noqa: FBT001
    """Fresh tensors, laid out and aliased as described."""
    groups = _groups(given)
    made: dict[str, Any] = {}
    for one in given:
        tensor = groups[one.alias](one) if one.alias else _laid_out(_tensor(one), one.layout)
        if differentiable and one.requires_grad:
            tensor = tensor.detach().requires_grad_()
        made[one.name] = tensor
    return made


def _groups(given: Sequence[Given]) -> dict[str, Callable[[Given], Any]]:
    """For each alias group a function from a member to its tensor over the shared storage."""
    largest: dict[str, Given] = {}
    for one in given:
        if one.alias:
            old = largest.get(one.alias)
            if old is None or one.block.bits.size > old.block.bits.size:
                largest[one.alias] = one
    return {name: functools.partial(_member, _tensor(one)) for name, one in largest.items()}


def _member(base: Any, one: Given) -> Any:
    wanted = _dtype(one.block.dtype)
    if base.dtype != wanted:
        raise Unable(
            f"alias group {one.alias}: {one.name} has dtype {one.block.dtype}, {base.dtype}"
        )
    flat = base.reshape(-1)[: one.block.bits.size]
    return flat.view(one.block.bits.shape)


def _tensor(one: Given) -> Any:
    copied = np.array(one.block.bits)
    if one.block.dtype == "bfloat16":
        return torch.from_numpy(copied.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(copied)


def _dtype(name: str) -> Any:
    return getattr(torch, name)


def _laid_out(tensor: Any, layout: str) -> Any:
    """The same values in another layout of memory."""
    if layout == "contiguous":
        return tensor
    shape = list(tensor.shape)
    check_layout(layout, shape)
    if layout == "channels_last":
        there, back = moved_channels(len(shape))
        return tensor.permute(there).contiguous().permute(back)
    if layout == "transposed":
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "strided":
        buffer = torch.zeros([*shape[:-1], 2 * shape[-1]], dtype=tensor.dtype)
        buffer[..., ::2] = tensor
        return buffer[..., ::2]
    if layout == "offset":
        buffer = torch.zeros([tensor.numel() + OFFSET], dtype=tensor.dtype)
        buffer[OFFSET:] = tensor.reshape(-1)
        return buffer[OFFSET:].view(shape)
    if layout == "expanded":
        return tensor.narrow(expanded_axis(shape), 0, 1).contiguous().expand(shape)
    raise Unable(f"unknown layout {layout}")


def _block(tensor: Any) -> Block:
    """A host copy of the elements."""
    plain = tensor.detach()
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    plain = plain.resolve_conj().resolve_neg().cpu()
    if plain.dtype == torch.bfloat16:
        bits = plain.contiguous().view(torch.int16).numpy().view(np.uint16)
        return Block("bfloat16", np.array(bits))
    return Block(str(plain.dtype).replace("torch.", ""), np.array(plain.numpy(), order="C"))


def _storage(tensor: Any) -> int:
    """Address of the storage, 0 where there is none."""
    return int(tensor.untyped_storage().data_ptr())


def _owners(inputs: dict[str, Any]) -> dict[int, list[str]]:
    owners: dict[int, list[str]] = {}
    for name, tensor in inputs.items():
        if torch.is_tensor(tensor) and _storage(tensor):
            owners.setdefault(_storage(tensor), []).append(name)
    return owners


def _leaf(
    run: Run, owners: dict[int, list[str]], value: Any, *, array: bool = True, summary: bool = False
) -> dict[str, Any] | None:
    if not torch.is_tensor(value):
        number = python_number(value)
        if number is None:
            return None
        facts = {"dtype": number.dtype, "shape": [], "kind": type(value).__name__}
        return value_fields(run.blocks, number, facts, array=array, summary=summary)
    if value._is_zerotensor():  # a gradient that autograd never wrote out, such as that of sgn
        value = value.clone()
    block = _block(value)
    facts = {"dtype": str(value.dtype).replace("torch.", ""), "shape": list(value.shape)}
    facts.update(_facts(value, owners))
    return value_fields(run.blocks, block, facts, array=array, summary=summary)


def _facts(tensor: Any, owners: dict[int, list[str]]) -> dict[str, Any]:
    if tensor.layout != torch.strided:
        return {"kind": str(tensor.layout).replace("torch.sparse_", "")}
    return {
        "kind": "tensor",
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "shares": owners.get(_storage(tensor), []),
        "is_view": tensor._is_view(),
        "is_leaf": tensor.is_leaf,
        "requires_grad": tensor.requires_grad,
    }


def _changed(run: Run, given: Sequence[Given], inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs whose bytes are no longer those that were given."""
    found: dict[str, Any] = {}
    for one in given:
        now = _block(inputs[one.name])
        if now.bits.tobytes() != one.block.bits.tobytes():
            found[one.name] = _leaf(run, {}, inputs[one.name])
    return found
