"""Pieces of a source file being written: names of variables, what is in scope, lines of text."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.executors.apis import MODULES
from engine.ir.graph import Region
from engine.ir.types import Type

__all__ = ["Names", "Scope", "Text", "indented", "results"]

_RESERVED = frozenset(
    {*keyword.kwlist, *dir(builtins), *MODULES["torch"], *MODULES["mindspore"]}
    | {"mindspore", "forward", "loss", "setup"}
)


@dataclass
class Names:
    """Names of Python variables: a value keeps its name where Python allows it."""

    taken: set[str] = field(default_factory=lambda: set(_RESERVED))

    def fresh(self, wanted: str) -> str:
        found = wanted
        number = 0
        while found in self.taken:
            number += 1
            found = f"{wanted}_" if number == 1 else f"{wanted}_{number}"
        self.taken.add(found)
        return found


@dataclass(frozen=True)
class Scope:
    """What the values of a graph or a body are called in the source, and what is known of them.

    `inputs` has the values that are graph inputs, under the name that the input has in the graph.
    """

    names: Mapping[str, str]
    types: Mapping[str, Type]
    inputs: Mapping[str, str]


@dataclass(frozen=True)
class Text:
    """A line of the source and the node it belongs to."""

    text: str
    node: str = ""


def indented(lines: Iterable[Text]) -> Iterator[Text]:
    return (Text(f"    {line.text}", line.node) for line in lines)


def results(region: Region, scope: Scope) -> str:
    """The names of what a body yields."""
    return ", ".join(scope.names[name] for name in region.results)
