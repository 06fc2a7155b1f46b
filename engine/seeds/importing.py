"""From an exported PyTorch program or an ONNX model to a graph.

The program comes as JSON from `engine/executors/worker/import_torch.py`, which runs in the
framework's interpreter, or from `import_onnx.py` beside it. `ROWS` says which operators stand for
each target; a target without a row is `BadInput`.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from engine.errors import BadInput, InvalidGraph
from engine.ir.digest import blob_digest
from engine.ir.graph import Formula, Graph, Init, Input, Literal, Random, StoredBlob
from engine.ir.types import Dense
from engine.ir.values import Array
from engine.ops.spec import OPS
from engine.ops.typing import bind
from engine.seeds.aten import ATEN
from engine.seeds.batches import rebatched
from engine.seeds.building import AtenCall, Builder
from engine.seeds.constants import recognised, shape_of
from engine.seeds.onnx_rows import ONNX

__all__ = ["Initialise", "Parameter", "export", "import_graph", "measured", "sane", "unmapped"]

_WORKER = Path(__file__).parents[1] / "executors" / "worker"
ROWS = {**ATEN, **ONNX}
_ONNX_MEMORY = 8 * 1024**3
"""Bytes that the evaluator of an ONNX model may map: a file decides how large its tensors are."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the exported module; `statistics` has mean, std, min and max, where known.

    `estimate`: a running estimate of a normalisation. `gain`: how much its products must grow to
    make good for the activation that their operand went through. `table`: the values of one that
    is not trained.
    """

    name: str
    type: Dense
    trainable: bool
    statistics: Mapping[str, float]
    estimate: bool = False
    gain: float = 1.0
    table: Init | None = None


Initialise: TypeAlias = Callable[[Parameter, frozenset[str], int], Init]
"""(parameter, its uses as "operator.operand", seed) -> initialiser."""


# ---------------------------------------------------------------------------------- exporting
def export(
    interpreter: Path,
    factory: str,
    *,
    arrays: Path | None = None,
    search: Sequence[Path] = (),
    batch: int | None = None,
    answers: bool = False,
    deadline: float = 600.0,
    launcher: Sequence[str] = (),
) -> Mapping[str, Any]:
    """Run the exporter on a source in an interpreter that has torch, or onnx; its JSON answer.

    `factory`: "module:factory" or the path of a .pt2 or .onnx file. `search` goes in front of the
    module search path. `batch`: asked of the factory. `answers`: `arrays` gets the weights, the
    example inputs and the outputs to them, too; with .onnx it gets them always. `deadline` in
    seconds. `launcher`: a command that runs the one behind it, confined. Raises `BadInput` with
    the end of the interpreter's standard error where no answer came.
    """
    is_onnx = factory.endswith(".onnx")
    worker = _WORKER / ("import_onnx.py" if is_onnx else "import_torch.py")
    command = [*launcher, str(interpreter), "-c", _BOOT, str(worker), *map(str, search)]
    command += ["--", factory]
    command += ["--arrays", str(arrays)] if arrays else []
    command += ["--batch", str(batch)] if batch else []
    if is_onnx:
        command += ["--memory", str(_ONNX_MEMORY)]
    elif answers:
        command += ["--weights", "--answers"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=deadline, check=False
        )
    except FileNotFoundError:
        raise BadInput(
            "interpreter", seen=interpreter, expected="the path of a Python that has torch or onnx"
        ) from None
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"export of {factory}", seen="no answer", expected=f"one within {deadline:.0f} s"
        ) from None
    if done.returncode:
        said = _said(done.stderr) or f"exit status {done.returncode}"
        raise BadInput(f"export of {factory}", seen=said, expected="a model that exports")
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


def _said(stderr: str) -> str:
    """The errors at the end of a traceback; `torch.export.load` logs the one that tells why."""
    lines = stderr.strip().splitlines()
    errors = [one[at:] for one in lines if (at := _error_at(one)) >= 0]
    return "; ".join(dict.fromkeys(errors[-2:])) or "".join(lines[-1:])


def _error_at(line: str) -> int:
    found = re.search(r"\b[A-Z]\w*(Error|Exception): ", line)
    return found.start() if found else -1


# The exporter's own folder must not be searched: its siblings would hide packages of their names.
_BOOT = """
import runpy, sys
file, *rest = sys.argv[1:]
at = rest.index("--")
sys.path[:1] = rest[:at]
sys.argv = [file, *rest[at + 1 :]]
runpy.run_path(file, run_name="__main__")
"""


# -------------------------------------------------------------------------------- initialisers
def measured(parameter: Parameter, uses: frozenset[str], seed: int) -> Init:
    """Values with the mean and spread that the module's own weights have."""
    seen = parameter.statistics
    if not seen or not all(map(math.isfinite, seen.values())):
        return sane(parameter, uses, seed)
    if seen["min"] == seen["max"]:
        return Formula("full", (("value", seen["min"]),))
    return Random("normal", seed, (("mean", seen["mean"]), ("std", seen["std"])))


def sane(parameter: Parameter, uses: frozenset[str], seed: int) -> Init:
    """Values that keep activations at the scale of 1 through any depth.

    Weights of products have the spread 1/sqrt(fan in); gains lie near 1, so that no branch of a
    residual block fades; biases are small and differ, so that no two channels are alike.
    """
    shape = parameter.type.extents
    products = {use for use in uses if use.split(".")[0] in ("linear", "conv2d", "matmul")}
    if len(shape) >= 2 and products and any(use.endswith(".w") for use in products):
        return _normal(seed, std=_rounded(parameter.gain / math.sqrt(math.prod(shape[1:]))))
    if "batch_norm.var" in uses:
        return Random("uniform", seed, (("low", 0.5), ("high", 1.5)))
    if uses & {"embedding.w", "embedding.weight", "embedding.table"}:
        return _normal(seed, std=1.0)
    if any(use.endswith(".w") for use in uses) or any(use.startswith("mul.") for use in uses):
        return _normal(seed, mean=1.0, std=0.1)
    return _normal(seed, std=0.05)


def _normal(seed: int, *, std: float, mean: float = 0.0) -> Random:
    return Random("normal", seed, (("mean", mean), ("std", std)))


def _rounded(value: float) -> float:
    """Four digits: what a person can read is as good."""
    return float(f"{value:.4g}")


# ---------------------------------------------------------------------------------- the import
def import_graph(
    exported: Mapping[str, Any],
    *,
    name: str,
    initialise: Initialise = measured,
    inputs: Mapping[str, Init] | None = None,
    strip: Sequence[str] = (),
    arrays: Mapping[str, Array] | None = None,
    counted: Sequence[str] = (),
    batch: int | None = None,
    blobs: MutableMapping[str, Array] | None = None,
) -> Graph:
    """The graph of an exported program.

    `inputs`: initialisers of the graph's inputs where the guess from the example is not legal.
    `strip`: prefixes of module paths that value names do without. `arrays`: the constants that the
    exporter knew no formula for. `counted`: formulas whose constants the published count of
    parameters includes; they become weights that are not trained. `batch`: that of the graph, if it
    is not that of the export: an export with a batch that divides no other extent shows which
    extents grow with it. `blobs`, where given, gets the constants without a formula, by digest.
    Raises `BadInput` naming every target that has no row.
    """
    _need_rows(exported)
    leading = [one["shape"][0] for one in exported["inputs"] if one["shape"]]
    builder = Builder(leading[0] if leading else None, strip, blobs={} if blobs is None else blobs)
    for one in exported["inputs"]:
        _declare_input(builder, one, (inputs or {}).get(one["given"]))
    image = shape_of(exported["inputs"][0]["shape"]) if exported["inputs"] else None
    weights = [_declare_weight(builder, one, arrays or {}, image) for one in exported["parameters"]]
    _declare_constants(builder, exported, arrays or {}, image, counted, blobs)
    for one in exported["nodes"]:
        _import_node(builder, one)
    outputs = tuple(_only(builder.names[one]) for one in exported["outputs"])
    graph = _only_used(Graph(name, tuple(builder.inputs), tuple(builder.nodes), outputs))
    if batch is not None and builder.batch is not None:
        graph = rebatched(graph, builder.batch, batch)
    return _initialised(graph, weights, initialise)


def unmapped(exported: Mapping[str, Any]) -> Counter[str]:
    """Targets of an exported program that have no row, with how many calls each has."""
    return Counter(one["target"] for one in exported["nodes"] if one["target"] not in ROWS)


def _need_rows(exported: Mapping[str, Any]) -> None:
    missing = unmapped(exported)
    if missing:
        listed = ", ".join(f"{target} ({count})" for target, count in missing.most_common())
        raise BadInput(
            "exported program",
            seen=f"{len(missing)} operators without a row: {listed}",
            expected="operators that engine/seeds/aten.py and onnx_rows.py have rows for",
        )


def _declare_input(builder: Builder, one: Mapping[str, Any], init: Init | None) -> None:
    of = Dense(one["dtype"], tuple(one["shape"]))
    if init is None and of.dtype.startswith(("float", "bfloat")):
        init = Random("normal", 0, (("mean", 0.0), ("std", 1.0)))
    if init is None:
        low, high = int(one.get("min", 0)), int(one.get("max", 1))
        init = Random("integers", 0, (("low", low), ("high", high + 1)))
    builder.declare(Input(one["given"], of, init=init))
    builder.names[one["name"]] = one["given"]


def _declare_weight(
    builder: Builder,
    one: Mapping[str, Any],
    arrays: Mapping[str, Array],
    image: tuple[int, int] | None,
) -> Parameter:
    of = Dense(one["dtype"], tuple(one["shape"]))
    name = builder.short(one["name"])
    statistics = {key: _number(value) for key, value in one["statistics"].items()}
    trainable, estimate = bool(one["trainable"]), bool(one["estimate"])
    role = "constant" if estimate else "weight"
    builder.declare(Input(name, of, role=role, requires_grad=trainable and not estimate))
    builder.names.update(dict.fromkeys(one["names"], name))
    table = None if trainable or estimate else _described(one, one["names"][0], arrays, image)
    return Parameter(name, of, trainable, statistics, estimate, table=table)


def _declare_constants(
    builder: Builder,
    exported: Mapping[str, Any],
    arrays: Mapping[str, Array],
    image: tuple[int, int] | None,
    counted: Sequence[str],
    blobs: MutableMapping[str, Array] | None,
) -> None:
    for one in exported["constants"]:
        init: Init | None = _described(one, one["name"], arrays, image)
        if init is None and blobs is not None and one["name"] in arrays:
            init = StoredBlob(blob_digest(arrays[one["name"]]))
            blobs[init.digest] = arrays[one["name"]]
        if init is None:
            raise BadInput(
                f"constant {one['name']} {one['dtype']}{one['shape']}",
                seen="values that follow no formula",
                expected="a formula of the table, or at most 64 values",
            )
        name = init.name if isinstance(init, Formula) else one["name"]
        role = "weight" if name in counted else "constant"
        name = name if name not in builder.types else one["name"]
        of = Dense(one["dtype"], tuple(one["shape"]))
        builder.declare(Input(name, of, role=role, init=init))
        builder.names[one["name"]] = name


def _described(
    one: Mapping[str, Any],
    name: str,
    arrays: Mapping[str, Array],
    image: tuple[int, int] | None,
) -> Formula | Literal | None:
    """The initialiser of a table: what the exporter says of it, or a formula found here."""
    if "formula" in one:
        found = one["formula"]
        pairs = ((key, _number(value)) for key, value in found["parameters"].items())
        return Formula(found["name"], tuple(pairs))
    if "values" in one:
        return Literal(tuple(_number(value) for value in one["values"]))
    return recognised(arrays[name], one["dtype"], image) if name in arrays else None


def _import_node(builder: Builder, one: Mapping[str, Any]) -> None:
    call = AtenCall.of(one)
    builder.scope = builder.short(one["scope"])
    result = ROWS[call.target](builder, call.renamed(builder.names))
    builder.names[one["name"]] = result
    for value, expected in zip(_several(result), one["outputs"], strict=False):
        seen = builder.dense(value)
        wanted = Dense(expected["dtype"], tuple(expected["shape"]))
        if (seen.dtype, seen.shape) != (wanted.dtype, wanted.shape):
            raise InvalidGraph(
                f"import of {call.target} as {value}: saw {seen}, the exporter says {wanted}"
            )


def _initialised(graph: Graph, weights: Sequence[Parameter], initialise: Initialise) -> Graph:
    """The graph with the weights' initialisers, each with a seed of its own."""
    uses, gains = _uses(graph), _gains(graph)
    made = {
        one.name: one.table
        or initialise(
            replace(one, gain=gains.get(one.name, 1.0)), frozenset(uses.get(one.name, ())), seed
        )
        for seed, one in enumerate(weights, 1)
    }
    inputs = (replace(one, init=made.get(one.name, one.init)) for one in graph.inputs)
    return replace(graph, inputs=tuple(inputs))


def _uses(graph: Graph) -> Mapping[str, set[str]]:
    """Where each value is used, as "operator.operand"."""
    found: dict[str, set[str]] = {}
    for node in graph.nodes:
        if node.op not in OPS:
            continue
        for slot, value in bind(OPS[node.op], node.operands).items():
            for one in _several(value) if value is not None else ():
                found.setdefault(one, set()).add(f"{node.op}.{slot}")
    return found


def _gains(graph: Graph) -> Mapping[str, float]:
    """By weight of a product, the gain that its operand's activation asks for.

    He et al. 2015: an activation makes what goes through it smaller, and some dozens of layers make
    it vanish. A gate by a sigmoid halves it once more.
    """
    found = {}
    for node in graph.nodes:
        if node.op in ("linear", "conv2d") and len(node.operands) > 1:
            weight = node.operands[1]
            if weight is not None and node.operands[0] is not None:
                found[weight] = _rounded(_loss(graph, node.operands[0]))
    return found


# Root mean square of a standard normal value, over that of what the activation makes of it.
_LOSSES = {"relu": 1.41, "relu_": 1.41, "silu": 1.68, "gelu": 1.53, "leaky_relu": 1.41}
_GATES = ("sigmoid", "hardsigmoid")
_SHAPED = ("reshape", "view", "permute", "transpose", "contiguous", "flatten", "item", "cat")


def _loss(graph: Graph, value: str) -> float:
    """What the way to a value took off its scale, back to the last sum or norm."""
    node = graph.by_name.get(value)
    if node is None or node.operands[0] is None:
        return 1.0
    if node.op in _LOSSES:
        return _LOSSES[node.op]
    if node.op in _SHAPED:
        return _loss(graph, node.operands[0])
    if node.op == "mul":
        makers = [graph.by_name[one] for one in node.uses if one in graph.by_name]
        gates = [one for one in makers if one.op in _GATES]
        others = [one for one in node.uses if graph.by_name.get(one) not in gates]
        if gates and others:
            return 2.0 * _loss(graph, others[0])
    return 1.0


def _only_used(graph: Graph) -> Graph:
    """Without nodes and constants that no output needs (folded masks leave some)."""
    needed = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.uses)
            kept.append(node)
    inputs = tuple(one for one in graph.inputs if one.role != "constant" or one.name in needed)
    return replace(graph, inputs=inputs, nodes=tuple(reversed(kept)))


def _number(value: Any) -> Any:
    """A number of the exporter's JSON, where NaN and infinities are objects."""
    return float(value["float"]) if isinstance(value, dict) else value


def _several(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (value,)


def _only(value: str | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        raise BadInput("output of the program", seen=value, expected="one tensor")
    return value
