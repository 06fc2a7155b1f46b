"""Makes a seed of somebody's PyTorch or ONNX model, and checks it against the original.

The module runs in an interpreter that has it, an ONNX model in ONNX's own reference evaluator; what
that answers to example inputs is compared with what the graph answers when it is given the same
inputs and the same weights.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import BadInput
from engine.executors.outcome import Array, Outcome, Status
from engine.executors.pool import GIB, Pool
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.digest import stored_blob
from engine.ir.graph import Formula, Graph, Input
from engine.ir.text import RESERVED, print_type
from engine.ir.types import Dense, numpy_dtype
from engine.seeds import SEEDS, parameter_count, trainable_count
from engine.seeds.building import value_name
from engine.seeds.importing import export, import_graph, measured, sane

__all__ = [
    "WEIGHTS",
    "Difference",
    "Imported",
    "Source",
    "as_given",
    "compared",
    "imported",
    "read",
]

WEIGHTS = ("measured", "sane", "blobs")
MODES = ("torch-eager", "mindspore-pynative")

# Of the greatest value of an output. Attention that is written out rounds elsewhere than a fused
# one; a wrong operator or axis differs by far more.
_TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "float16": 2e-2, "bfloat16": 5e-2}
_LARGE = 256 * 1024**2
"""Bytes of weights from which a worker needs more than the usual address space."""


@dataclass(frozen=True)
class Source:
    """A model as its exporter wrote it. `arrays`: weights, constants without a formula, the example
    inputs (`input_0`, ...) and what the model answers to them (`output_0`, ...)."""

    exported: Mapping[str, Any]
    arrays: Mapping[str, Array]


@dataclass(frozen=True)
class Imported:
    """A seed in the making. `targets`: exported calls by target."""

    case: Case
    blobs: Mapping[str, Array]
    targets: Counter[str]

    def report(self) -> dict[str, object]:
        """What was mapped: calls by target, nodes, inputs, constants by kind, weights."""
        graph = self.case.graph
        constants = [one.init for one in graph.inputs if one.role == "constant"]
        kinds = Counter(
            one.name if isinstance(one, Formula) else type(one).__name__.lower()
            for one in constants
        )
        return {
            "operators": dict(self.targets.most_common()),
            "nodes": len(graph.nodes),
            "inputs": [
                f"{one.name} {print_type(one.type)}" for one in graph.inputs if one.role == "input"
            ],
            "constants": dict(kinds),
            "parameters": parameter_count(graph),
            "trainable": trainable_count(graph),
        }


@dataclass(frozen=True)
class Difference:
    """How far a mode is from the original: the greatest difference of an output that differs most,
    and the greatest value of that output. `reason`: why there is no figure, or "".
    """

    mode: str
    agrees: bool
    largest: float = 0.0
    scale: float = 0.0
    reason: str = ""

    @property
    def text(self) -> str:
        if self.reason:
            return f"{self.mode}: {self.reason}"
        verdict = "within tolerance" if self.agrees else "OVER THE TOLERANCE"
        return (
            f"{self.mode}: greatest difference to the original {self.largest:.2g},"
            f" greatest value {self.scale:.3g}: {verdict}"
        )

    def report(self) -> dict[str, object]:
        return {
            "mode": self.mode,
            "agrees": self.agrees,
            "difference": self.largest,
            "largest": self.scale,
            "reason": self.reason,
        }


def read(
    source: str,
    *,
    interpreter: Path,
    search: Sequence[Path] = (),
    batch: int | None = None,
    launcher: Sequence[str] = (),
    deadline: float = 600.0,
) -> Source:
    """Export "module:factory", a .pt2 or an .onnx file and run it on its example inputs.

    The first two run code of whoever made them; `launcher` is a command that confines it,
    `deadline` in seconds ends it. `batch`: of an ONNX model that leaves it open, 2 by default.
    Raises `BadInput` where the interpreter has no answer.
    """
    if source.endswith(".onnx"):
        if not Path(source).is_file():
            raise BadInput(f"model {source}", seen="no such file", expected="an .onnx file")
    elif source.endswith(".pt2"):
        if not Path(source).is_file():
            raise BadInput(f"model {source}", seen="no such file", expected="a .pt2 file")
        if batch is not None:
            raise BadInput("batch", seen=batch, expected="none: a .pt2 file has the one it has")
    elif ":" not in source:
        raise BadInput("model", seen=source, expected="module:factory, a .pt2 or an .onnx file")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        exported = export(
            interpreter,
            source,
            search=search,
            arrays=file,
            batch=batch,
            answers=True,
            deadline=deadline,
            launcher=launcher,
        )
        with np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored)
    inputs = [{**one, "given": value_name(one["given"])} for one in exported["inputs"]]
    return Source({**exported, "inputs": inputs}, arrays)


def imported(source: Source, *, name: str, weights: str = "measured") -> Imported:
    """The seed. `weights`: "measured" and "sane" draw them, "blobs" keeps the model's own.

    Constants that follow no formula are blobs in any case. Raises `BadInput` for a name that is no
    name or a shipped seed's, and for what the vocabulary cannot say.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in SEEDS or name in RESERVED:
        raise BadInput(
            "name",
            seen=repr(name),
            expected="lower-case letters, digits and underscores, not taken",
        )
    blobs: dict[str, Array] = {}
    graph = import_graph(
        source.exported,
        name=name,
        initialise=sane if weights == "sane" else measured,
        arrays=source.arrays,
        blobs=blobs,
    )
    if weights == "blobs":
        graph = _filled(graph, _weights(source), blobs)
    check(graph)
    return Imported(Case(graph), blobs, Counter(one["target"] for one in source.exported["nodes"]))


def _weights(source: Source) -> Mapping[str, Array]:
    """The model's own weights and running estimates by the graph's names of them."""
    return {
        value_name(one["name"]): source.arrays[one["names"][0]]
        for one in source.exported["parameters"]
    }


def _filled(graph: Graph, values: Mapping[str, Array], blobs: dict[str, Array]) -> Graph:
    """The graph with these values for its inputs; their blobs are put into `blobs`."""

    def filled(given: Input) -> Input:
        if given.name not in values:
            return given
        return replace(given, init=stored_blob(values[given.name], blobs))

    return replace(graph, inputs=tuple(filled(one) for one in graph.inputs))


def compared(source: Source, found: Imported, pool: Pool) -> tuple[Difference, ...]:
    """The graph with the model's own weights and example inputs against the model's answers: first
    in torch-eager, then in MindSpore PyNative."""
    case, blobs = as_given(source, found)
    if sum(array.nbytes for array in blobs.values()) > _LARGE:
        pool.limit(16 * GIB)
    outcomes = pool.run_modes(case, MODES, blobs=blobs)
    return tuple(_difference(outcomes[mode], case.graph, source.arrays) for mode in MODES)


def as_given(source: Source, found: Imported) -> tuple[Case, dict[str, Array]]:
    """The graph with the model's own weights and its example inputs, and their blobs."""
    blobs = dict(found.blobs)
    examples = {
        one["given"]: source.arrays[f"input_{at}"]
        for at, one in enumerate(source.exported["inputs"])
    }
    return Case(_filled(found.case.graph, {**_weights(source), **examples}, blobs)), blobs


def _difference(outcome: Outcome, graph: Graph, arrays: Mapping[str, Array]) -> Difference:
    if outcome.status is not Status.OK:
        failure = outcome.failure
        said = f"{failure.type}: {failure.message}".splitlines()[0] if failure else outcome.reason
        return Difference(outcome.mode, agrees=False, reason=f"{outcome.status.value}: {said}")
    found = []
    for at, (name, answer) in enumerate(zip(graph.outputs, outcome.calls[0].outputs, strict=True)):
        of = graph.types[name]
        assert isinstance(of, Dense)
        expected = arrays[f"output_{at}"]
        if of.dtype == "bfloat16":
            expected = expected.view(numpy_dtype(of.dtype))
        found.append(_apart(outcome.mode, answer.array, expected, of.dtype))
    return min(found, key=lambda one: (one.agrees, -one.largest))


def _apart(mode: str, array: Array | None, expected: Array, dtype: str) -> Difference:
    """Two values: NaN and infinities in the same places, the rest within the dtype's tolerance."""
    if array is None or array.shape != expected.shape:
        seen = "nothing" if array is None else f"shape {array.shape}"
        return Difference(mode, agrees=False, reason=f"{seen}, the original {expected.shape}")
    if dtype not in _TOLERANCE:
        apart = int((array != expected).sum())
        text = f"{apart} of {array.size} whole numbers differ" if apart else ""
        return Difference(mode, agrees=not apart, reason=text)
    left, right = array.astype("float64"), expected.astype("float64")
    finite = np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return Difference(mode, agrees=False, reason="NaN or infinities stand in other places")
    largest = float(np.abs(left[finite] - right[finite]).max(initial=0.0))
    scale = float(np.abs(right[finite]).max(initial=0.0))
    agrees = largest <= _TOLERANCE[dtype] * (scale or 1.0)
    return Difference(mode, agrees=agrees, largest=largest, scale=scale)
