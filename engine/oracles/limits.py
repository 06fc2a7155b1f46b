"""Known limits: behaviour that a framework documents, declared once, with source and expiry.

A divergence that a limit covers is no finding; the ruling names the limit instead. A limit says
what the documentation says, never that a bug is tiresome: those are for people to suppress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.ir.graph import Node
from engine.oracles.comparison import BASELINE, Comparison
from engine.oracles.undefined import overflows_on_the_way
from engine.oracles.verdict import Divergence, Kind

__all__ = ["LIMITS", "KnownLimit", "limit_of"]


@dataclass(frozen=True)
class KnownLimit:
    """`says`: the documentation's words; `source`: where. `expires`: the first version of the
    framework for which somebody must look again; from then on the limit covers nothing. `modes`:
    what may be accused, any where empty. `holds`: whether it is this behaviour that was seen."""

    name: str
    framework: str
    kinds: tuple[Kind, ...]
    says: str
    source: str
    expires: str
    holds: Callable[[Comparison, Divergence], bool]
    modes: tuple[str, ...] = ()

    def covers(self, comparison: Comparison, divergence: Divergence) -> bool:
        version = comparison.versions.get(self.framework, "")
        return (
            divergence.framework == self.framework
            and divergence.kind in self.kinds
            and (not self.modes or set(divergence.modes) <= set(self.modes))
            and not (version and _numbers(version) >= _numbers(self.expires))
            and self.holds(comparison, divergence)
        )


def limit_of(comparison: Comparison, divergence: Divergence) -> KnownLimit | None:
    """The limit that covers a divergence, if one does."""
    return next((one for one in LIMITS if one.covers(comparison, divergence)), None)


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (2, 13, 0) of "2.13.0+cpu"."""
    numbers = []
    for part in version.split("+", 1)[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _nodes_before(comparison: Comparison, divergence: Divergence) -> Iterable[Node]:
    """The nodes that the value in question depends on; all where none is named."""
    graph = comparison.case.graph
    name = divergence.value.removeprefix("gradient of ")
    if name not in graph.by_name:
        return graph.nodes
    needed = comparison.needed_for(name)
    return tuple(node for node in graph.nodes if node.name in needed)


def _is_written_in_place(comparison: Comparison, divergence: Divergence) -> bool:
    return any(node.writes for node in _nodes_before(comparison, divergence))


def _raises_in_place(comparison: Comparison, divergence: Divergence) -> bool:
    """Whether the call that raised writes in place; where none is named, all of them must."""
    nodes = comparison.case.graph.nodes
    blamed = [node for node in nodes if node.name == divergence.node] or nodes
    return bool(blamed) and all(node.writes for node in blamed)


def _maps_a_closure(comparison: Comparison, divergence: Divergence) -> bool:
    """Whether Graph mode says that it maps no function that uses values from outside of it, and the
    function is one. What it takes for such a function besides is not covered."""
    captured = any(one.captures for node in comparison.case.graph.nodes for one in node.regions)
    return captured and "Closure with free variable" in divergence.message


def _is_added_into(comparison: Comparison, divergence: Divergence) -> bool:
    """Whether what is wrong lies in the storage of an operand of `index_add`, or was read from
    there afterwards."""
    graph = comparison.case.graph
    if divergence.value not in graph.types:
        return False
    needed = comparison.needed_for(divergence.value)
    return any(
        root == graph.alias_root(divergence.value)
        or any(
            reader.name in needed and root in map(graph.alias_root, reader.uses)
            for reader in graph.nodes[place + 1 :]
        )
        for place, node in enumerate(graph.nodes)
        if node.op == "index_add"
        for root in (graph.alias_root(node.uses[0]),)
    )


def _overflows(comparison: Comparison, divergence: Divergence) -> bool:
    """Whether eager mode itself is wrong, where a number's square or cube leaves its range."""
    if BASELINE["torch"] not in divergence.modes or divergence.call >= len(comparison.referees):
        return False
    referee = comparison.referees[divergence.call]
    needed = comparison.needed_for(divergence.value)
    return overflows_on_the_way(referee.case.graph, referee, needed)


_GRAPH_MODE = ("mindspore-graph",)
_NO_IN_PLACE = "All modes of CPU and GPU with graph mode are not supported in-place operations yet."
_ACCURACY = "docs.pytorch.org/docs/stable/notes/numerical_accuracy.html"

LIMITS: tuple[KnownLimit, ...] = (
    KnownLimit(
        name="mindspore: no in-place operations in graph mode on CPU",
        framework="mindspore",
        kinds=(
            *(Kind.WRITE_LOST, Kind.VALUES, Kind.NONFINITE),
            *(Kind.GRADIENT, Kind.GRADIENT_NONFINITE),
        ),
        modes=_GRAPH_MODE,
        says=_NO_IN_PLACE,
        source="mindspore.Tensor, Note",
        expires="2.11",
        holds=_is_written_in_place,
    ),
    KnownLimit(
        name="mindspore: in-place operations may raise in graph mode on CPU",
        framework="mindspore",
        kinds=(Kind.RAISES, Kind.DOCUMENTED, Kind.IN_FORM, Kind.GRADIENT_RAISES),
        modes=_GRAPH_MODE,
        says=_NO_IN_PLACE,
        source="mindspore.Tensor, Note",
        expires="2.11",
        holds=_raises_in_place,
    ),
    KnownLimit(
        name="mindspore: graph mode maps no function with free variables",
        framework="mindspore",
        kinds=(Kind.RAISES,),
        modes=_GRAPH_MODE,
        says=(
            "If True, we require that the entire function can be captured into graph. If this is"
            " not possible (that is, if there is Python syntax not supported), then it will raise"
            " an exception."
        ),
        source="mindspore.jit, fullgraph",
        expires="2.11",
        holds=_maps_a_closure,
    ),
    KnownLimit(
        name="mindspore: index_add adds into its operand",
        framework="mindspore",
        kinds=(Kind.INPUT_CHANGED, Kind.VALUES, Kind.NONFINITE),
        says="Add the elements of input `y` into input `x` along the given axis and indices.",
        source="mindspore.ops.index_add",
        expires="2.11",
        holds=_is_added_into,
    ),
    KnownLimit(
        name="torch: intermediate overflow in every mode",
        framework="torch",
        kinds=(Kind.NONFINITE, Kind.VALUES),
        says=(
            "When inputs contain large values such that intermediate results may overflow the range"
            " of the used datatype, the end result may overflow too, even though it is"
            " representable in the original datatype."
        ),
        source=f"{_ACCURACY}, Extremal values",
        expires="2.14",
        holds=_overflows,
    ),
)
