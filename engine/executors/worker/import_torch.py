"""Exports a PyTorch module to JSON; runs in the framework's interpreter.

    python import_torch.py MODULE:FACTORY|FILE.pt2 [--arrays FILE.npz] [--weights] [--answers]
        [--batch N]

FACTORY takes nothing, or `batch` where it is given, and returns (nn.Module in eval mode,
{input name: example tensor}). The program is `torch.export(strict=False)`, not decomposed, so that
linear and softmax stay whole. FILE.pt2 is what `torch.export.save` wrote; loading one may run code
of whoever made it.
What depends on no input and no parameter (position ids, rotary tables, masks) is computed here and
handed over as a constant; a constant that follows a formula is described by it. The answer is one
JSON object on standard output; what the module itself prints goes to standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import importlib
import json
import math
import operator
import sys
from collections.abc import Callable
from typing import Any, Optional

import numpy as np
import torch

MOST_LITERALS = 64
ROPE_TOLERANCE = 2e-6
# The last bit of a frequency, which powers of float32 differ in, times the position.
ROPE_DRIFT = 1.2e-7
# Checks and scopes that compute nothing.
DROPPED = {
    "aten._assert_tensor_metadata.default",
    "aten._assert_async.msg",
    "aten._assert_scalar.default",
    "aten.sym_constrain_range_for_size.default",
}
# Wrappers that set a global flag round a body graph: positions of the body and of its operands.
WRAPPERS = {"wrap_with_set_grad_enabled": (1, 2), "wrap_with_autocast": (4, 5)}


class Ref:
    """A value of the exported graph that depends on an input or a parameter."""

    def __init__(self, name: str) -> None:
        self.name = name


class Exporter:
    """Walks an exported program, computes what is constant and lists the rest."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.nodes: list[dict[str, Any]] = []
        self.constants: dict[str, dict[str, Any]] = {}
        self.arrays: dict[str, Any] = {}
        self.targets = {
            spec.arg.name: spec for spec in program.graph_signature.input_specs if spec.target
        }

    def walk(self, module: Any, given: tuple[Any, ...] | None, prefix: str = "") -> Any:
        """Values of the outputs of a graph module; `given` are its arguments, None at the top."""
        env: dict[Any, Any] = {}
        places = iter(given or ())
        for node in module.graph.nodes:
            if node.op == "placeholder":
                env[node] = self.placeholder(node) if given is None else next(places)
            elif node.op == "get_attr":
                env[node] = attribute(module, node.target)
            elif node.op == "output":
                return torch.fx.node.map_arg(node.args[0], lambda one: env[one])
            else:
                args = torch.fx.node.map_arg(node.args, lambda one: env[one])
                kwargs = torch.fx.node.map_arg(node.kwargs, lambda one: env[one])
                env[node] = self.call(node, args, kwargs, prefix)
        raise AssertionError("a graph without an output")

    def placeholder(self, node: Any) -> Any:
        spec = self.targets.get(node.name)
        if spec is None or spec.kind.name == "PARAMETER" or is_estimate(spec):
            return Ref(node.name)
        held = self.program.state_dict.get(spec.target)
        if held is None:
            held = self.program.constants[spec.target]
        # A folded in-place node must not write into the module's own buffer.
        return held.detach().clone() if isinstance(held, torch.Tensor) else held

    def call(self, node: Any, args: Any, kwargs: Any, prefix: str) -> Any:
        target = target_name(node.target)
        if target in DROPPED:
            return None
        if target in WRAPPERS:
            body, first = WRAPPERS[target]
            return self.walk(args[body], tuple(args[first:]), prefix + node.name + "_")
        if node.target is operator.getitem and isinstance(args[0], (tuple, list)):
            return args[0][args[1]]
        if not has_ref((args, kwargs)):
            with torch.no_grad():
                return node.target(*args, **kwargs)
        self.nodes.append(
            {
                "name": prefix + node.name,
                "target": target,
                "args": self.encode(args),
                "kwargs": {name: self.encode(one) for name, one in kwargs.items()},
                "scope": scope(node),
                "outputs": described(node.meta.get("val")),
            }
        )
        return Ref(prefix + node.name)

    def encode(self, value: Any) -> Any:
        """A node argument as JSON: literals as they are, all else as an object of one key."""
        if isinstance(value, Ref):
            return {"value": value.name}
        if isinstance(value, torch.Tensor):
            return {"value": self.constant(value)}
        if isinstance(value, (tuple, list)):
            return [self.encode(one) for one in value]
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": repr(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return {"other": repr(value)}

    def constant(self, tensor: torch.Tensor) -> str:
        """Enter a constant once, whatever number of nodes use it; its name."""
        array = as_numpy(tensor)
        key = hashlib.sha256(
            repr((str(tensor.dtype), array.shape)).encode() + array.tobytes()
        ).hexdigest()
        if key not in self.constants:
            name = f"constant_{len(self.constants)}"
            found = described_constant(array, dtype_name(tensor.dtype))
            if not set(found) & {"formula", "values"}:
                self.arrays[name] = array
            self.constants[key] = {"name": name, **found}
        return str(self.constants[key]["name"])


# ------------------------------------------------------------------------------------- description
def target_name(target: Any) -> str:
    """`aten.conv2d.default` for an overload, the plain name for everything else."""
    if isinstance(target, torch._ops.OpOverload):
        text = str(target)
        return text if "::" not in text else text.replace("::", ".")
    return str(getattr(target, "__name__", target))


def is_estimate(spec: Any) -> bool:
    """Whether an input is a running estimate of a normalisation: a weight that is not trained."""
    return str(spec.target).endswith((".running_mean", ".running_var"))


def attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def has_ref(value: Any) -> bool:
    if isinstance(value, Ref):
        return True
    if isinstance(value, dict):
        return any(has_ref(one) for one in value.values())
    return isinstance(value, (tuple, list)) and any(has_ref(one) for one in value)


def scope(node: Any) -> str:
    """Dotted path of the innermost module the node was traced in."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def described(value: Any) -> list[dict[str, Any]]:
    """Shapes and dtypes of what a node answers."""
    several = value if isinstance(value, (tuple, list)) else [value]
    return [
        {"shape": [int(extent) for extent in one.shape], "dtype": dtype_name(one.dtype)}
        for one in several
        if isinstance(one, torch.Tensor)
    ]


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).replace("torch.", "")


def as_numpy(tensor: torch.Tensor) -> Any:
    """The bytes on the host; bfloat16, which NumPy lacks, as its 16 bits."""
    host = tensor.detach().cpu().contiguous()
    return (host.view(torch.int16) if host.dtype == torch.bfloat16 else host).numpy()


# ---------------------------------------------------------------------------------------- formulas
def described_constant(array: Any, dtype: str) -> dict[str, Any]:
    """Shape, dtype and, where one is recognised, the formula or the few values of a constant."""
    found: dict[str, Any] = {"shape": list(array.shape), "dtype": dtype}
    if dtype == "bfloat16":
        return found
    for recognise in FORMULAS:
        formula = recognise(array)
        if formula is not None:
            return {**found, "formula": {"name": formula[0], "parameters": formula[1]}}
    if array.size <= MOST_LITERALS:
        found["values"] = [plain(one) for one in array.ravel().tolist()]
    return found


Formula = Optional[tuple[str, dict[str, Any]]]


def full(array: Any) -> Formula:
    if array.size < 2 or not (array == array.flat[0]).all():
        return None
    return "full", {"value": plain(array.flat[0].item())}


def arange(array: Any) -> Formula:
    """Even steps in row-major order."""
    if array.size < 3 or array.dtype.kind not in "iuf":
        return None
    flat = array.ravel()
    start, step = flat[0].item(), flat[1].item() - flat[0].item()
    if not math.isfinite(start + step * flat.size):
        return None
    with np.errstate(over="ignore"):
        expected = (start + step * np.arange(flat.size)).astype(array.dtype)
    return ("arange", {"start": start, "step": step}) if (flat == expected).all() else None


def positions(array: Any) -> Formula:
    """start, start + 1, ... along the last axis, the same in every row."""
    if array.ndim < 2 or array.shape[-1] < 2 or array.dtype.kind not in "iu":
        return None
    row = array.reshape(-1, array.shape[-1])[0]
    start = int(row[0])
    same = (array == row).all() and (row == start + np.arange(row.size)).all()
    return ("positions", {"start": start}) if same else None


def causal_mask(array: Any) -> Formula:
    """Queries, the last positions, see the keys up to their own: `visible` there, else `masked`."""
    if array.ndim < 2 or min(array.shape[-2:]) < 2 or array.dtype.kind not in "bf":
        return None
    rows, columns = array.shape[-2:]
    seen = np.tril(np.ones((rows, columns), dtype=bool), columns - rows)
    shown, hidden = array[..., seen], array[..., ~seen]
    if not (shown.size and hidden.size):
        return None
    visible, masked = shown.flat[0], hidden.flat[0]
    if visible == masked or (shown != visible).any() or (hidden != masked).any():
        return None
    return "causal_mask", {
        "masked": plain(float(masked.item())),
        "visible": plain(float(visible.item())),
    }


def rope(array: Any) -> Formula:
    """Rotary table: cos or sin of position / base^(2k/D), the halves of the last axis alike."""
    if array.ndim < 2 or array.dtype.kind != "f" or array.shape[-1] % 2 or array.shape[-2] < 2:
        return None
    half = array.shape[-1] // 2
    for name, function in (("rope_cos", np.cos), ("rope_sin", np.sin)):
        for base in rope_bases(array, half, name):
            expected = function(rope_angles(array.shape[-2], half, base)).astype(array.dtype)
            if np.abs(array - expected).max() <= max(ROPE_TOLERANCE, ROPE_DRIFT * array.shape[-2]):
                return name, {"base": base, "single": True}
    return None


def rope_angles(length: int, half: int, base: float) -> Any:
    """float32 throughout, as the published models compute them; shape (length, 2 half)."""
    exponents = np.arange(0, 2 * half, 2, dtype=np.float32) / np.float32(2 * half)
    inverse = (np.float32(1.0) / np.float32(base) ** exponents).astype(np.float32)
    angles = np.arange(length, dtype=np.float32)[:, None] * inverse[None, :]
    return np.concatenate([angles, angles], axis=-1)


def rope_bases(array: Any, half: int, name: str) -> list[float]:
    """Bases that the table may have: the one its second column says, to three digits."""
    if half < 2:
        return [10000.0]
    seen = float(array.reshape(-1, 2 * half)[1, 1])
    if not 0.0 < seen < 1.0:
        return []
    angle = math.acos(seen) if name == "rope_cos" else math.asin(seen)
    if -half * math.log(angle) > math.log(1e12):
        return []
    base = angle ** (-half)
    return [float(f"{base:.3g}"), float(f"{base:.1g}")] if 1.0 < base < 1e12 else []


FORMULAS: tuple[Callable[[Any], Formula], ...] = (full, arange, positions, causal_mask, rope)


def plain(value: Any) -> Any:
    """A Python number that JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


# -------------------------------------------------------------------------------------- parameters
def parameters(program: Any, arrays: dict[str, Any]) -> list[dict[str, Any]]:
    """Every parameter once; `names` are the graph's names of it (several where it is tied).

    One that is not trained is a table: it is described as constants are, or goes to `arrays`.
    """
    found: dict[int, dict[str, Any]] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind.name != "PARAMETER" and not is_estimate(spec):
            continue
        tensor = program.state_dict[spec.target]
        key = tensor.data_ptr() if tensor.numel() else id(tensor)
        if key not in found:
            found[key] = described_parameter(spec, tensor)
            if not tensor.requires_grad and not is_estimate(spec):
                table = described_constant(as_numpy(tensor), dtype_name(tensor.dtype))
                found[key].update(table)
                if not set(table) & {"formula", "values"}:
                    arrays[str(spec.arg.name)] = as_numpy(tensor)
        found[key]["names"].append(spec.arg.name)
    return list(found.values())


def described_parameter(spec: Any, tensor: torch.Tensor) -> dict[str, Any]:
    return {
        "name": spec.target,
        "names": [],
        "shape": list(tensor.shape),
        "dtype": dtype_name(tensor.dtype),
        "trainable": bool(tensor.requires_grad),
        "estimate": is_estimate(spec),
        "statistics": statistics(tensor),
    }


def statistics(tensor: torch.Tensor) -> dict[str, Any]:
    """Mean and standard deviation in float64, and the extremes (equal for a constant)."""
    if not tensor.numel() or not tensor.is_floating_point():
        return {}
    flat = tensor.detach().reshape(-1)
    mean = flat.mean(dtype=torch.float64).item()
    spread = flat.to(torch.float32).std(correction=0).item() if flat.numel() > 1 else 0.0
    low, high = flat.min().item(), flat.max().item()
    return {
        "mean": plain(mean),
        "std": plain(spread),
        "min": plain(low),
        "max": plain(high),
    }


def example_inputs(program: Any, examples: dict[str, torch.Tensor]) -> list[dict[str, Any]]:
    """The user's inputs in order, under the names of the graph."""
    names = [
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind.name == "USER_INPUT"
    ]
    found = []
    for name, (given, tensor) in zip(names, examples.items()):
        entry = {
            "name": name,
            "given": given,
            "shape": list(tensor.shape),
            "dtype": dtype_name(tensor.dtype),
        }
        if tensor.numel() and not tensor.is_complex():
            numbers = tensor.detach().to(torch.float64)
            entry["min"] = plain(numbers.min().item())
            entry["max"] = plain(numbers.max().item())
        found.append(entry)
    return found


def answered(values: Any, computed: Any, examples: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Arrays `input_N` of the examples and `output_N` of what the module answers to them.

    `values`: the outputs as the walk left them; `computed`: the module's own. Both are flattened in
    the same order, and only what depends on an input or a weight is an output of the graph.
    """
    wanted = torch.utils._pytree.tree_leaves(values)
    flat = torch.utils._pytree.tree_leaves(computed)
    if len(wanted) != len(flat):
        raise ValueError(f"the module answers {len(flat)} values, its export {len(wanted)}")
    found = {f"input_{at}": as_numpy(one) for at, one in enumerate(examples.values())}
    kept = [one for ref, one in zip(wanted, flat) if isinstance(ref, Ref)]
    found.update({f"output_{at}": as_numpy(one) for at, one in enumerate(kept)})
    return found


def outputs(values: Any) -> list[str]:
    flat = torch.utils._pytree.tree_leaves(values)
    if any(isinstance(one, torch.Tensor) for one in flat):
        raise ValueError("an output depends on no input, expected outputs that are computed")
    return [one.name for one in flat if isinstance(one, Ref)]


# -------------------------------------------------------------------------------------------- main
def loaded(path: str) -> tuple[Any, dict[str, torch.Tensor], Any]:
    """What runs the program of a .pt2 file, its example inputs by the names of the graph, and it.

    Raises `ValueError` where the file keeps no example inputs.
    """
    program = torch.export.load(path)
    if program.example_inputs is None:
        raise ValueError(f"{path} keeps no example inputs, expected a file of torch.export.save")
    flat = torch.utils._pytree.tree_leaves(program.example_inputs)
    if not all(isinstance(one, torch.Tensor) for one in flat):
        raise ValueError(f"an example input of {path} is no tensor, expected tensors")
    args, kwargs = program.example_inputs
    module = program.module()
    names = program.graph_signature.user_inputs
    return lambda **_: module(*args, **kwargs), dict(zip(map(str, names), flat)), program


def made(factory: Callable[[], Any]) -> tuple[Any, dict[str, torch.Tensor], Any]:
    """The module of a factory, its example inputs and the exported program."""
    module, examples = factory()
    if module.training:
        raise ValueError("the module is in training mode, expected module.eval()")
    return module, examples, torch.export.export(module, (), dict(examples), strict=False)


def export(
    module: Any, examples: dict[str, torch.Tensor], program: Any, *, answers: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON answer, and the arrays of constants without a formula.

    `answers`: run the module on the examples, too, and add these and its answers to the arrays.
    """
    exporter = Exporter(program)
    values = exporter.walk(program.graph_module, None)
    answer = {
        "format": 1,
        "torch": str(torch.__version__),
        "inputs": example_inputs(program, examples),
        "parameters": parameters(program, exporter.arrays),
        "constants": list(exporter.constants.values()),
        "nodes": exporter.nodes,
        "outputs": outputs(values),
    }
    if answers:
        with torch.no_grad():
            exporter.arrays.update(answered(values, module(**examples), examples))
    return answer, exporter.arrays


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="export a PyTorch module to JSON")
    parser.add_argument("source", help="MODULE:FACTORY, or a .pt2 file")
    parser.add_argument("--arrays", help="write constants that follow no formula to this .npz")
    parser.add_argument("--weights", action="store_true", help="write the weights there, too")
    parser.add_argument(
        "--answers", action="store_true", help="write inputs and outputs there, too"
    )
    parser.add_argument("--batch", type=int, help="leading extent of the example inputs")
    options = parser.parse_args(arguments)
    with contextlib.redirect_stdout(sys.stderr):
        if options.source.endswith(".pt2"):
            module, examples, program = loaded(options.source)
        else:
            where, _, name = options.source.partition(":")
            factory = attribute(importlib.import_module(where), name)
            if options.batch is not None:
                factory = functools.partial(factory, batch=options.batch)
            module, examples, program = made(factory)
        answer, arrays = export(module, examples, program, answers=options.answers)
        if options.weights:
            for one in answer["parameters"]:
                arrays[one["names"][0]] = as_numpy(program.state_dict[one["name"]])
        if options.arrays:
            np.savez(options.arrays, **arrays)
    json.dump(answer, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main(sys.argv[1:])
