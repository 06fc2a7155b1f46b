"""Graphs and cases for machines: JSON, and a `.flow` text with its blobs in an `.npz` beside it."""

from __future__ import annotations

import math
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TypeAlias, TypeVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from engine.errors import BadInput, InvalidGraph
from engine.ir.case import Call, Case, Plan
from engine.ir.check import check
from engine.ir.digest import blob_digest
from engine.ir.graph import (
    Attr,
    Formula,
    Graph,
    Init,
    Input,
    Literal,
    Node,
    Random,
    Region,
    StoredBlob,
)
from engine.ir.text import VERSION, parse_case, parse_type, print_case, print_type

__all__ = ["blob_path", "from_json", "load_case", "save_case", "to_json"]

Array: TypeAlias = "npt.NDArray[np.generic]"
Parsed = TypeVar("Parsed")
Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | float | bool | None"


# --------------------------------------------------------------------------------------- JSON
def to_json(case: Case) -> dict[str, Json]:
    """The case as what `json.dumps` takes; numbers that JSON lacks are {"number": "nan"}."""
    plan = case.plan
    return {
        "case": VERSION,
        "claim": case.claim,
        "graph": _graph_json(case.graph),
        "plan": {
            "calls": [[_input_json(one) for one in call.inputs] for call in plan.calls],
            "gradient": plan.gradient,
            "checks": list(plan.checks),
            "loss_outputs": list(plan.loss_outputs),
        },
    }


def _graph_json(graph: Graph) -> dict[str, Json]:
    return {
        "name": graph.name,
        "inputs": [_input_json(given) for given in graph.inputs],
        "nodes": [_node_json(node) for node in graph.nodes],
        "outputs": list(graph.outputs),
    }


def _input_json(given: Input) -> dict[str, Json]:
    return {
        "name": given.name,
        "type": print_type(given.type),
        "role": given.role,
        "init": _init_json(given.init),
        "layout": given.layout,
        "alias": given.alias,
        "requires_grad": given.requires_grad,
    }


def _init_json(init: Init) -> dict[str, Json]:
    match init:
        case Random(kind, seed, parameters):
            return {"random": kind, "seed": seed, "parameters": _pairs_json(parameters)}
        case Formula(name, parameters):
            return {"formula": name, "parameters": _pairs_json(parameters)}
        case Literal(values):
            return {"literal": [_value_json(value) for value in values]}
        case StoredBlob(digest):
            return {"blob": digest}


def _node_json(node: Node) -> dict[str, Json]:
    return {
        "name": node.name,
        "op": node.op,
        "operands": list(node.operands),
        "type": print_type(node.type),
        "attrs": _pairs_json(node.attrs),
        "forms": dict(node.forms),
        "writes": node.writes,
        "views": node.views,
        "regions": [_region_json(region) for region in node.regions],
        "bound": node.bound,
    }


def _region_json(region: Region) -> dict[str, Json]:
    return {
        "parameters": [_input_json(one) for one in region.parameters],
        "captures": dict(region.captures),
        "nodes": [_node_json(node) for node in region.nodes],
        "results": list(region.results),
    }


def _pairs_json(pairs: tuple[tuple[str, Attr], ...]) -> dict[str, Json]:
    return {name: _value_json(value) for name, value in pairs}


def _value_json(value: Attr | complex) -> Json:
    match value:
        case tuple():
            return [_value_json(item) for item in value]
        case complex():
            return {"complex": [_value_json(value.real), _value_json(value.imag)]}
        case float() if not math.isfinite(value):
            return {"number": repr(value)}
        case _:
            return value


def from_json(data: Json) -> Case:
    """The case of `to_json`'s answer, checked; `BadInput` naming the part that is wrong."""
    case = _case_from(_Reader(data, "case"))
    return _checked(case, "case")


def _checked(case: Case, thing: str) -> Case:
    try:
        check(case)
    except InvalidGraph as fault:
        raise BadInput(thing, seen=fault, expected="a well-formed case") from fault
    return case


class _Reader:
    """A part of a JSON document that knows where it stands, for messages."""

    def __init__(self, data: object, place: str) -> None:
        self.data = data
        self.place = place

    def fail(self, expected: str) -> BadInput:
        return BadInput(self.place, seen=repr(self.data)[:80], expected=expected)

    def __getitem__(self, key: str) -> _Reader:
        if not isinstance(self.data, Mapping) or key not in self.data:
            raise self.fail(f"an object with {key!r}")
        return _Reader(self.data[key], f"{self.place}.{key}")

    def has(self, key: str) -> bool:
        return isinstance(self.data, Mapping) and key in self.data

    def __iter__(self) -> Iterator[_Reader]:
        if not isinstance(self.data, list):
            raise self.fail("a list")
        for at, item in enumerate(self.data):
            yield _Reader(item, f"{self.place}[{at}]")

    def items(self) -> Iterator[tuple[str, _Reader]]:
        if not isinstance(self.data, Mapping):
            raise self.fail("an object")
        for key in self.data:
            yield str(key), self[key]

    def text(self) -> str:
        if not isinstance(self.data, str):
            raise self.fail("a string")
        return self.data

    def whole(self) -> int:
        if not isinstance(self.data, int) or isinstance(self.data, bool):
            raise self.fail("a whole number")
        return self.data

    def flag(self) -> bool:
        if not isinstance(self.data, bool):
            raise self.fail("true or false")
        return self.data

    def texts(self) -> tuple[str, ...]:
        return tuple(one.text() for one in self)

    def text_or_none(self) -> str | None:
        return None if self.data is None else self.text()


def _case_from(at: _Reader) -> Case:
    if at["case"].whole() != VERSION:
        raise at["case"].fail(f"version {VERSION} of the format")
    plan = at["plan"]
    calls = tuple(Call(tuple(_input_from(one) for one in call)) for call in plan["calls"])
    return Case(
        _graph_from(at["graph"]),
        Plan(
            calls,
            plan["gradient"].text(),
            plan["checks"].texts(),
            tuple(one.whole() for one in plan["loss_outputs"]),
        ),
        at["claim"].text(),
    )


def _graph_from(at: _Reader) -> Graph:
    return Graph(
        at["name"].text(),
        tuple(_input_from(one) for one in at["inputs"]),
        tuple(_node_from(one) for one in at["nodes"]),
        at["outputs"].texts(),
    )


def _input_from(at: _Reader) -> Input:
    return Input(
        at["name"].text(),
        _parsed(at["type"], parse_type),
        at["role"].text(),
        _init_from(at["init"]),
        at["layout"].text(),
        at["alias"].text(),
        at["requires_grad"].flag(),
    )


def _init_from(at: _Reader) -> Init:
    if at.has("random"):
        pairs = _pairs_from(at["parameters"])
        numbers = tuple((name, one) for name, one in pairs if isinstance(one, int | float))
        if len(numbers) < len(pairs):
            raise at["parameters"].fail("numbers")
        return Random(at["random"].text(), at["seed"].whole(), numbers)
    if at.has("formula"):
        return Formula(at["formula"].text(), _pairs_from(at["parameters"]))
    if at.has("literal"):
        return Literal(tuple(_number_from(one) for one in at["literal"]))
    return StoredBlob(at["blob"].text())


def _node_from(at: _Reader) -> Node:
    return Node(
        at["name"].text(),
        at["op"].text(),
        tuple(one.text_or_none() for one in at["operands"]),
        _parsed(at["type"], parse_type),
        _pairs_from(at["attrs"]),
        tuple((name, form.text()) for name, form in at["forms"].items()),
        at["writes"].text_or_none(),
        at["views"].text_or_none(),
        tuple(_region_from(one) for one in at["regions"]),
        None if at["bound"].data is None else at["bound"].whole(),
    )


def _region_from(at: _Reader) -> Region:
    return Region(
        tuple(_input_from(one) for one in at["parameters"]),
        tuple((inner, outer.text()) for inner, outer in at["captures"].items()),
        tuple(_node_from(one) for one in at["nodes"]),
        at["results"].texts(),
    )


def _parsed(at: _Reader, parse: Callable[[str], Parsed]) -> Parsed:
    try:
        return parse(at.text())
    except BadInput as fault:
        raise BadInput(at.place, seen=fault.seen, expected=fault.expected) from fault


def _pairs_from(at: _Reader) -> tuple[tuple[str, Attr], ...]:
    return tuple((name, _value_from(one)) for name, one in at.items())


def _value_from(at: _Reader) -> Attr:
    match at.data:
        case list():
            return tuple(_value_from(one) for one in at)
        case {"number": "nan"}:
            return math.nan
        case {"number": "inf" | "-inf" as text}:
            return float(text)
        case None | bool() | int() | float() | str() as value:
            return value
        case _:
            raise at.fail("a number, a string, a list, true, false or null")


def _number_from(at: _Reader) -> float | int | bool | complex:
    if at.has("complex"):
        match [_value_from(one) for one in at["complex"]]:
            case [int() | float() as real, int() | float() as imag]:
                return complex(real, imag)
    value = _value_from(at)
    if not isinstance(value, int | float):
        raise at.fail("a number")
    return value


# -------------------------------------------------------------------------------------- files
def blob_path(path: Path) -> Path:
    """Where the blobs of the case file `path` are."""
    return path.with_suffix(".npz")


def save_case(path: Path, case: Case, blobs: Mapping[str, Array]) -> None:
    """Write the case, and beside it the blobs it refers to. A reader sees all of a file or none.

    The blobs are written first, so that a case never refers to blobs that are not there yet.
    """
    needed = _digests(case)
    missing = [digest for digest in needed if digest not in blobs]
    if missing:
        raise BadInput(f"case {path}", seen=f"no blob {missing[0]}", expected="all its blobs")
    if needed:
        packed = {digest: _packed(blobs[digest]) for digest in needed}
        _write(blob_path(path), lambda file: np.savez(file, **packed))
    text = print_case(case).encode()
    _write(path, lambda file: file.write(text))


def load_case(path: Path) -> tuple[Case, dict[str, Array]]:
    """The checked case of a file and its blobs; bfloat16 blobs come as their bits in uint16."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise BadInput(f"case {path}", seen=fault, expected="a readable text file") from fault
    try:
        case = parse_case(text)
    except BadInput as fault:
        raise BadInput(
            f"case {path}, {fault.thing}", seen=fault.seen, expected=fault.expected
        ) from fault
    case = _checked(case, f"case {path}")
    needed = _digests(case)
    return case, _load_blobs(blob_path(path), needed) if needed else {}


def _digests(case: Case) -> list[str]:
    inputs = (*case.graph.inputs, *(one for call in case.plan.calls for one in call.inputs))
    found = {one.init.digest for one in inputs if isinstance(one.init, StoredBlob)}
    return sorted(found)


def _packed(array: Array) -> Array:
    """bfloat16 as its bits: the archive format does not know the dtype."""
    array = np.ascontiguousarray(array)
    return array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array


# What NumPy and zipfile raise on damaged archives; encrypted or unknown members are RuntimeErrors.
_CORRUPT = (
    *(OSError, ValueError, EOFError, RuntimeError, SyntaxError),
    *(struct.error, zlib.error, zipfile.BadZipFile),
)


def _load_blobs(path: Path, needed: list[str]) -> dict[str, Array]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            found = {digest: archive[digest] for digest in needed}
    except KeyError as fault:
        raise BadInput(f"archive {path}", seen=fault, expected="all blobs of its case") from fault
    except _CORRUPT as fault:
        raise BadInput(f"archive {path}", seen=fault, expected="a NumPy archive") from fault
    for digest, array in found.items():
        if blob_digest(array) != digest:
            raise BadInput(
                f"archive {path}", seen="other bytes", expected=f"the blob with digest {digest}"
            )
    return found


def _write(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write beside the target and rename: a full disk or a kill leaves the old file as it was."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
