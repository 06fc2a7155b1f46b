"""From an exported PyTorch program to a graph: which operator stands for which ATen target.

The program comes as JSON from `engine/executors/worker/import_torch.py`, which runs in the
framework's interpreter. `ATEN` has one row per target; a target without a row is `BadInput`.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from engine.errors import BadInput, InvalidGraph
from engine.ir.graph import Formula, Graph, Init, Input, Literal, Random
from engine.ir.types import Dense
from engine.ops.spec import OPS
from engine.ops.typing import bind
from engine.seeds.aten import ATEN
from engine.seeds.building import AtenCall, Builder

__all__ = ["Initialise", "Parameter", "export", "import_graph", "measured", "sane"]

EXPORTER = Path(__file__).parents[1] / "executors" / "worker" / "import_torch.py"


@dataclass(frozen=True)
class Parameter:
    """A parameter of the exported module; `statistics` has mean, std, min and max, where known."""

    name: str
    type: Dense
    trainable: bool
    statistics: Mapping[str, float]


Initialise: TypeAlias = Callable[[Parameter, frozenset[str], int], Init]
"""(parameter, its uses as "operator.operand", seed) -> initialiser."""


# ---------------------------------------------------------------------------------- exporting
def export(
    interpreter: Path,
    factory: str,
    *,
    arrays: Path | None = None,
    search: Sequence[Path] = (),
    deadline: float = 600.0,
) -> Mapping[str, Any]:
    """Run the exporter on "module:factory" in an interpreter that has torch; its JSON answer.

    `search` goes in front of the module search path. `deadline` in seconds. Raises `BadInput` with
    the end of the interpreter's standard error where no answer came.
    """
    command = [str(interpreter), "-c", _BOOT, str(EXPORTER), *map(str, search), "--", factory]
    command += ["--arrays", str(arrays)] if arrays else []
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=deadline, check=False
        )
    except FileNotFoundError:
        raise BadInput(
            "interpreter", seen=interpreter, expected="the path of a Python that has torch"
        ) from None
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"export of {factory}", seen="no answer", expected=f"one within {deadline:.0f} s"
        ) from None
    if done.returncode:
        tail = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise BadInput(
            f"export of {factory}", seen=tail[0], expected="a factory whose module exports"
        )
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


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
        return _normal(seed, std=_rounded(1.0 / math.sqrt(math.prod(shape[1:]))))
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
) -> Graph:
    """The graph of an exported program.

    `inputs`: initialisers of the graph's inputs where the guess from the example is not legal.
    `strip`: prefixes of module paths that value names do without.
    Raises `BadInput` naming every target that has no row.
    """
    _need_rows(exported)
    leading = [one["shape"][0] for one in exported["inputs"] if one["shape"]]
    builder = Builder(leading[0] if leading else None, strip)
    for one in exported["inputs"]:
        _declare_input(builder, one, (inputs or {}).get(one["given"]))
    weights = [_declare_weight(builder, one) for one in exported["parameters"]]
    _declare_constants(builder, exported)
    for one in exported["nodes"]:
        _import_node(builder, one)
    outputs = tuple(_only(builder.names[one]) for one in exported["outputs"])
    graph = Graph(name, tuple(builder.inputs), tuple(builder.nodes), outputs)
    return _initialised(_only_used(graph), weights, initialise)


def _need_rows(exported: Mapping[str, Any]) -> None:
    missing = Counter(one["target"] for one in exported["nodes"] if one["target"] not in ATEN)
    if missing:
        listed = ", ".join(f"{target} ({count})" for target, count in missing.most_common())
        raise BadInput(
            "exported program",
            seen=f"{len(missing)} operators without a row: {listed}",
            expected="targets of engine.seeds.aten.ATEN",
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


def _declare_weight(builder: Builder, one: Mapping[str, Any]) -> Parameter:
    of = Dense(one["dtype"], tuple(one["shape"]))
    name = builder.short(one["name"])
    statistics = {key: _number(value) for key, value in one["statistics"].items()}
    builder.declare(Input(name, of, role="weight", requires_grad=bool(one["trainable"])))
    builder.names.update(dict.fromkeys(one["names"], name))
    return Parameter(name, of, bool(one["trainable"]), statistics)


def _declare_constants(builder: Builder, exported: Mapping[str, Any]) -> None:
    broadcast = _broadcast_only(exported)
    for one in exported["constants"]:
        shape = tuple(one["shape"])
        if "formula" in one:
            found = one["formula"]
            pairs = tuple((key, _number(value)) for key, value in found["parameters"].items())
            init: Init = Formula(found["name"], pairs)
            name = found["name"]
            # The same for every member of a batch, so that another batch needs no other constant.
            if one["name"] in broadcast and name in ("causal_mask", "rope_cos", "rope_sin"):
                shape = (*(1 for _ in shape[:-2]), *shape[-2:])
        elif "values" in one:
            init, name = Literal(tuple(_number(value) for value in one["values"])), one["name"]
        else:
            raise BadInput(
                f"constant {one['name']} {one['dtype']}{list(shape)}",
                seen="values that follow no formula",
                expected="a formula of the table, or at most 64 values",
            )
        name = name if name not in builder.types else one["name"]
        builder.declare(Input(name, Dense(one["dtype"], shape), role="constant", init=init))
        builder.names[one["name"]] = name


def _broadcast_only(exported: Mapping[str, Any]) -> frozenset[str]:
    """Constants that only broadcasting arithmetic reads."""
    every = {one["name"] for one in exported["constants"]}
    bound = {
        name
        for node in exported["nodes"]
        if not node["target"].startswith(("aten.add.", "aten.mul.", "aten.sub.", "aten.alias."))
        for name in AtenCall.of(node).uses
    }
    return frozenset(every - bound)


def _import_node(builder: Builder, one: Mapping[str, Any]) -> None:
    call = AtenCall.of(one)
    builder.scope = builder.short(one["scope"])
    result = ATEN[call.target](builder, call.renamed(builder.names))
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
    uses = _uses(graph)
    made = {
        one.name: initialise(one, frozenset(uses.get(one.name, ())), seed)
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
