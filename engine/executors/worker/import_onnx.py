"""Reads an ONNX model and writes it as the JSON that an exported PyTorch module becomes.

    python import_onnx.py FILE.onnx --arrays FILE.npz [--batch N] [--memory BYTES]

The model is checked, its local functions are written out, and ONNX's own reference evaluator runs
it once on example inputs: that gives the type of every value, what is constant, and the answers
that an import is compared with. No code of the model's maker runs. An extent that the file leaves
open is the batch where it leads, else 32. Arguments are under the names that the operator's schema
gives them. The answer is one JSON object on standard output; `--arrays` gets the weights, the
constants, the inputs (`input_0`, ...) and the answers (`output_0`, ...).
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import warnings
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, inliner, numpy_helper, version_converter
from onnx.reference import ReferenceEvaluator

OPSET = 18
"""Older models are converted to it: some operators meant something else before."""
OPEN = 32
"""An extent that is left open: a sequence so long, or an image of which five halvings leave one."""
MOST_LITERALS = 64
DOMAINS = ("", "ai.onnx")
FLOATS = ("float16", "float32", "float64")


# ------------------------------------------------------------------------------------- the model
def loaded(path: str, batch: int) -> Any:
    """The checked model with functions written out, a known opset and closed extents."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    if model.functions:
        model = inliner.inline_local_functions(model)
    opset = max((one.version for one in model.opset_import if one.domain in DOMAINS), default=0)
    if opset < OPSET:
        model = version_converter.convert_version(model, OPSET)
    for given in model.graph.input:
        close(given, batch)
    return model


def close(given: Any, batch: int) -> None:
    """Give the open extents of an input a number."""
    if not given.type.HasField("tensor_type"):
        raise ValueError(f"input {given.name} is no tensor, expected tensors")
    if not given.type.tensor_type.HasField("shape"):
        raise ValueError(f"input {given.name} has no shape, expected one")
    for axis, extent in enumerate(given.type.tensor_type.shape.dim):
        if not extent.HasField("dim_value") or extent.dim_value < 1:
            extent.dim_value = batch if axis == 0 else OPEN


def named(text: str) -> str:
    """A name of ONNX, which may hold anything, as dotted identifiers."""
    parts = [re.sub(r"\W+", "_", one).strip("_") for one in re.split(r"[./]", text)]
    return ".".join(one for one in parts if one) or "value"


def marked(name: str) -> str:
    """The name of a value among ours, which are `constant_0` and `input_0`."""
    return f"@{name}"


def example(given: Any, most: int, rng: np.random.Generator) -> Any:
    """Values for an input; whole numbers lie under `most`, the rows of the table they look up."""
    of = given.type.tensor_type
    shape = [int(extent.dim_value) for extent in of.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(of.elem_type)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0, most, shape).astype(dtype)
    raise ValueError(f"input {given.name} holds {dtype}, expected numbers")


def most_of(name: str, model: Any, weights: dict[str, Any]) -> int:
    """How many rows the tables have that an input of whole numbers is looked up in."""
    found = [
        weights[node.input[0]].shape[axis_of(node)]
        for node in model.graph.node
        if node.op_type == "Gather" and node.input[1] == name and node.input[0] in weights
    ]
    return min(found, default=2)


def axis_of(node: Any) -> int:
    return next((int(one.i) for one in node.attribute if one.name == "axis"), 0)


# -------------------------------------------------------------------------------------- the walk
class Reader:
    """Walks the nodes: what depends on no input and no weight is a constant, the rest is listed."""

    def __init__(self, model: Any, values: dict[str, Any], weights: dict[str, Any]) -> None:
        self.values = values
        self.live = {one.name for one in model.graph.input} | set(weights)
        self.nodes: list[dict[str, Any]] = []
        self.constants: dict[str, dict[str, Any]] = {}
        self.arrays: dict[str, Any] = {}
        self.scopes = 0
        self.opsets = {one.domain: one.version for one in model.opset_import}
        for node in model.graph.node:
            self.node(node)

    def node(self, node: Any) -> None:
        """Enter a node, unless all it reads is constant or it asks for a shape alone."""
        lives = any(one in self.live for one in node.input) or has_body(node)
        if node.op_type in ("Shape", "Size") and node.domain in DOMAINS:
            lives = False
        if not lives:
            return
        kept = [name for name in node.output if name]
        self.live.update(kept)
        self.scopes += 1
        entry = {
            "name": marked(kept[0]) if len(kept) == 1 else f"node {self.scopes}",
            "target": ("onnx." if node.domain in DOMAINS else f"{node.domain}.") + node.op_type,
            "args": [],
            "kwargs": {**self.operands(node), **attributes(node), "results": len(node.output)},
            "scope": ".".join(named(node.name).split(".")[:-1]),
            "outputs": [],
        }
        if len(kept) == 1:
            entry["outputs"] = [described(self.values[kept[0]])]
        self.nodes.append(entry)
        if len(kept) > 1:
            for place, name in enumerate(node.output):
                if name:
                    self.item(entry["name"], place, name)

    def item(self, whole: str, place: int, name: str) -> None:
        self.nodes.append(
            {
                "name": marked(name),
                "target": "getitem",
                "args": [{"value": whole}, place],
                "kwargs": {},
                "scope": "",
                "outputs": [described(self.values[name])],
            }
        )

    def operands(self, node: Any) -> dict[str, Any]:
        """Values by the schema's name of their place; those of a variadic place as a list."""
        found: dict[str, Any] = {}
        schema = self.schema(node)
        formals = list(schema.inputs) if schema else []
        for place, name in enumerate(node.input):
            formal = formals[min(place, len(formals) - 1)] if formals else None
            key = formal.name if formal else f"input_{place}"
            value = {"value": self.entered(name)} if name else None
            if formal is not None and formal.option == defs.OpSchema.FormalParameterOption.Variadic:
                found.setdefault(key, []).append(value)
            elif value is not None:
                found[key] = value
        return found

    def schema(self, node: Any) -> Any:
        version = self.opsets.get(node.domain, self.opsets.get("", OPSET))
        known = defs.has(node.op_type, node.domain)
        return defs.get_schema(node.op_type, version, node.domain) if known else None

    def entered(self, name: str) -> str:
        """The name of a value; a constant is entered once."""
        if name in self.live:
            return marked(name)
        if name not in self.constants:
            array = np.asarray(self.values[name])
            entry: dict[str, Any] = {"name": f"constant_{len(self.constants)}", **described(array)}
            if 0 < array.size <= MOST_LITERALS and array.dtype.kind in "fiub":
                entry["values"] = [plain(one) for one in array.ravel().tolist()]
            else:
                self.arrays[entry["name"]] = array
            self.constants[name] = entry
        return str(self.constants[name]["name"])


def has_body(node: Any) -> bool:
    return any(one.type == onnx.AttributeProto.GRAPH for one in node.attribute)


def attributes(node: Any) -> dict[str, Any]:
    """Attributes as JSON; a dtype is an object, a body is left out."""
    found: dict[str, Any] = {}
    for one in node.attribute:
        value = helper.get_attribute_value(one)
        if one.name in ("to", "dtype") and isinstance(value, int):
            found[one.name] = {"dtype": np.dtype(helper.tensor_dtype_to_np_dtype(value)).name}
        elif isinstance(value, bytes):
            found[one.name] = value.decode()
        elif isinstance(value, (int, float)):
            found[one.name] = plain(value)
        elif one.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS):
            found[one.name] = [plain(each) for each in value]
    return found


def described(array: Any) -> dict[str, Any]:
    array = np.asarray(array)
    return {"shape": list(array.shape), "dtype": array.dtype.name}


def plain(value: Any) -> Any:
    """A Python number that JSON can hold."""
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": repr(value)}
    return value


# ------------------------------------------------------------------------------------ parameters
def held_weights(model: Any) -> dict[str, Any]:
    """Initialisers that a training would move: floating, with an axis, and no sizes of an image."""
    sizes = {
        name for node in model.graph.node if node.op_type == "Resize" for name in node.input[1:]
    }
    arrays = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    return {
        name: array
        for name, array in arrays.items()
        if array.dtype.name in FLOATS and array.ndim and array.size > 1 and name not in sizes
    }


def parameters(model: Any, weights: dict[str, Any], taken: dict[str, int]) -> list[dict[str, Any]]:
    """Each weight that a node reads, under a path that is not `taken`."""
    estimates = {
        node.input[place]
        for node in model.graph.node
        if node.op_type == "BatchNormalization"
        for place in (3, 4)
    }
    used = {name for node in model.graph.node for name in node.input}
    found = []
    for name, array in weights.items():
        if name not in used:
            continue
        path = named(name)
        key = path.replace(".", "_")
        taken[key] = taken.get(key, 0) + 1
        found.append(
            {
                "name": path if taken[key] == 1 else f"{path}_{taken[key]}",
                "names": [marked(name)],
                **described(array),
                "trainable": name not in estimates,
                "estimate": name in estimates,
                "statistics": statistics(array),
            }
        )
    return found


def statistics(array: Any) -> dict[str, Any]:
    wide = array.astype(np.float64)
    return {
        "mean": plain(float(wide.mean())),
        "std": plain(float(wide.std())),
        "min": plain(float(wide.min())),
        "max": plain(float(wide.max())),
    }


def listed_inputs(feeds: dict[str, Any], most: dict[str, int]) -> list[dict[str, Any]]:
    found = []
    for name, array in feeds.items():
        entry = {"name": marked(name), "given": named(name), **described(array)}
        if array.dtype.kind in "iub":
            entry.update(min=0, max=1 if array.dtype.kind == "b" else most[name] - 1)
        found.append(entry)
    return found


# ------------------------------------------------------------------------------------------ main
def read(path: str, batch: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON answer and the arrays."""
    model = loaded(path, batch)
    weights = held_weights(model)
    initial = {one.name for one in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in initial]
    most = {one.name: most_of(one.name, model, weights) for one in inputs}
    rng = np.random.default_rng(0)
    feeds = {one.name: example(one, most[one.name], rng) for one in inputs}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = ReferenceEvaluator(model).run(None, feeds, intermediate=True)
    assert isinstance(values, dict)
    held = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    reader = Reader(model, {**held, **values}, weights)
    outputs = [one.name for one in model.graph.output]
    fixed = [one for one in outputs if one not in reader.live]
    if fixed:
        raise ValueError(f"output {fixed[0]} depends on no input, expected outputs that do")
    listed = listed_inputs(feeds, most)
    answer = {
        "format": 1,
        "onnx": onnx.__version__,
        "inputs": listed,
        "parameters": parameters(
            model, weights, {one["given"].replace(".", "_"): 1 for one in listed}
        ),
        "constants": list(reader.constants.values()),
        "nodes": reader.nodes,
        "outputs": [marked(one) for one in outputs],
    }
    arrays = {**reader.arrays, **{marked(name): one for name, one in weights.items()}}
    arrays.update({f"input_{at}": one for at, one in enumerate(feeds.values())})
    arrays.update({f"output_{at}": np.asarray(values[one]) for at, one in enumerate(outputs)})
    return answer, arrays


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="read an ONNX model into JSON")
    parser.add_argument("source", help="an .onnx file")
    parser.add_argument("--arrays", required=True, help="an .npz file to write")
    parser.add_argument("--batch", type=int, default=2, help="of inputs that leave it open")
    parser.add_argument("--memory", type=int, help="bytes that may be mapped at most")
    options = parser.parse_args(arguments)
    if options.memory:
        resource.setrlimit(resource.RLIMIT_AS, (options.memory, options.memory))
    answer, arrays = read(options.source, options.batch)
    np.savez(options.arrays, **arrays)
    json.dump(answer, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main(sys.argv[1:])
