"""A graph in the making, and one exported call: what the rows of the ATen table work with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.errors import BadInput, ConstraintViolated
from engine.ir.graph import Attr, Input, Node
from engine.ir.text import RESERVED
from engine.ir.types import Dense, Type
from engine.ir.values import Array
from engine.ops.typing import retype_node

__all__ = ["AtenCall", "Builder", "Named", "value_name"]

Named = str | tuple[str, ...]
_UNTYPED = Dense("float32", ())


@dataclass(frozen=True)
class AtenCall:
    """One exported call; its arguments are literals, lists, {"value": name} or {"dtype": name}."""

    name: str
    target: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    @classmethod
    def of(cls, exported: Mapping[str, Any]) -> AtenCall:
        return cls(exported["name"], exported["target"], exported["args"], exported["kwargs"])

    def renamed(self, names: Mapping[str, Named]) -> AtenCall:
        """With the graph's names in place of the exporter's."""
        args = [_renamed(one, names) for one in self.args]
        kwargs = {key: _renamed(one, names) for key, one in self.kwargs.items()}
        return replace(self, args=args, kwargs=kwargs)

    @property
    def uses(self) -> frozenset[str]:
        """Names of the values among the arguments."""
        return frozenset(_values([*self.args, *self.kwargs.values()]))

    def at(self, place: int, name: str, default: Any = None) -> Any:
        """An argument, wherever it was written."""
        found = self.args[place] if place < len(self.args) else self.kwargs.get(name, default)
        if isinstance(found, dict) and "float" in found:
            return float(found["float"])
        return found

    def value(self, place: int, name: str) -> str:
        """The name of an argument that is a tensor."""
        found = self.maybe(place, name)
        if found is None:
            raise BadInput(f"{self.target} {self.name}", seen="nothing", expected=f"{name}")
        return found

    def maybe(self, place: int, name: str) -> str | None:
        found = self.at(place, name)
        if found is None:
            return None
        if not isinstance(found, dict) or not isinstance(found.get("value"), str):
            raise BadInput(f"{self.target} {self.name}", seen=found, expected=f"{name}: a tensor")
        return str(found["value"])

    def values(self, place: int, name: str) -> tuple[str, ...]:
        """The names of an argument that is a list of tensors."""
        return tuple(_values(self.at(place, name, [])))

    def integers(self, place: int, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        found = self.at(place, name, list(default))
        return tuple(int(one) for one in (found if isinstance(found, list) else [found]))

    def dtype(self, place: int, name: str) -> str | None:
        found = self.at(place, name)
        return str(found["dtype"]) if isinstance(found, dict) else None

    def number(self, place: int, name: str) -> float | int:
        found = self.at(place, name)
        if not isinstance(found, int | float):
            raise BadInput(f"{self.target} {self.name}", seen=found, expected=f"{name}: a number")
        return found


def _renamed(value: Any, names: Mapping[str, Named]) -> Any:
    if isinstance(value, dict) and "value" in value:
        return {"value": names[value["value"]]}
    return [_renamed(one, names) for one in value] if isinstance(value, list) else value


def _values(value: Any) -> list[str]:
    if isinstance(value, dict):
        found = value.get("value")
        return [found] if isinstance(found, str) else list(found or ())
    return [name for one in value for name in _values(one)] if isinstance(value, list) else []


def value_name(path: str) -> str:
    """A dotted path of a module as a name that a value may have: `0.weight` is `m0_weight`."""
    name = path.replace(".", "_")
    return f"m{name}" if name[:1].isdigit() or name in RESERVED else name


@dataclass
class Builder:
    """A graph in the making.

    `batch`: leading extent of the first input. `strip`: prefixes of module paths that names do
    without. `names`: the graph's name of each exported value. `scope`: where nodes are emitted.
    `blobs`: constants without a formula, by digest.
    """

    batch: int | None = None
    strip: Sequence[str] = ()
    inputs: list[Input] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    types: dict[str, Type] = field(default_factory=dict)
    names: dict[str, Named] = field(default_factory=dict)
    scope: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    blobs: Mapping[str, Array] = field(default_factory=dict)

    def emit(self, op: str, operands: Sequence[str | None], **attrs: Attr) -> str:
        """Append a node, named after the module it stands in; its name."""
        place = self.counts[self.scope]
        name = f"{self.scope}_v{place}" if self.scope else f"v{place}"
        self.counts[self.scope] += 1
        node = Node(name, op, tuple(operands), _UNTYPED, tuple(sorted(attrs.items())))
        try:
            node = retype_node(node, self.types)
        except ConstraintViolated as refused:
            raise BadInput(
                f"import of {name}", seen=refused, expected=f"a call that {op} takes"
            ) from refused
        self.nodes.append(node)
        self.types[name] = node.type
        return name

    def grows(self, extent: int) -> bool:
        """Whether an extent is that of the batch, or a multiple of it."""
        return self.batch is not None and self.batch > 1 and extent > 0 and extent % self.batch == 0

    def rename(self, old: str, new: str) -> None:
        """From here on, exported values that were `old` are `new`: an in-place node wrote it."""
        for exported, name in self.names.items():
            if name == old:
                self.names[exported] = new

    def declare(self, given: Input) -> None:
        self.inputs.append(given)
        self.types[given.name] = given.type

    def dense(self, value: str) -> Dense:
        found = self.types[value]
        if not isinstance(found, Dense):
            raise BadInput(f"import of {value}", seen=found, expected="a dense tensor")
        return found

    def shape(self, value: str) -> tuple[int, ...]:
        return self.dense(value).extents

    def short(self, path: str) -> str:
        """A dotted path of the module as the stem of a value name."""
        for prefix in self.strip:
            if path == prefix.rstrip("."):
                return ""
            if path.startswith(prefix):
                return value_name(path[len(prefix) :])
        return value_name(path)
