"""What a campaign knows of a failure before it pays for a minimisation: a thousand duplicates cost
one.

Two keys, each cheaper than what it saves. The *quick* key (failure key and the call that is blamed,
by the verdict alone) costs nothing; the *coarse* key (failure key and the call where the failure
was localised) costs the runs of a localisation. A coarse key is minimised once. Of a family, such
as the in-place calls that all lose their result, a few members are, whatever their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.finding import Localised
from engine.ir.graph import Graph, Node
from engine.ir.window import writers_of
from engine.oracles.keys import family_of, form_name
from engine.oracles.verdict import Divergence, Kind

__all__ = ["LOOKS", "MEMBERS", "Coarse", "Throttle", "coarse_key", "family_of_coarse", "quick_key"]

LOOKS = 3
"""How often a failure is looked at again that did not repeat, or whose call is a guess; in one
round, how many of one failure key are looked at."""
MEMBERS = 3
"""How many calls of a family are minimised, and how many failures that no call is known of."""


class Coarse(NamedTuple):
    """`key`: failure key and call with its form; `plain`: the same in the call's plain form."""

    key: str
    plain: str


class Throttle:
    """The throttle of one chain. `known`: its memory, for checkpoints. `recorded`: coarse keys of
    findings that others of the same campaign have on record; asked before each minimisation."""

    def __init__(
        self, known: Counter[str], recorded: Callable[[], Collection[str]] = frozenset
    ) -> None:
        self.known = known
        self._recorded = recorded

    def is_worth_a_look(self, quick: str, *, is_certain: bool) -> bool:
        """Whether to localise and confirm a failure. `is_certain`: the verdict names the call."""
        self.known[quick] += 1
        if is_certain and self.known[f"confirmed {quick}"]:
            return False
        return self.known[quick] <= LOOKS

    def worth_a_look(
        self, divergences: Iterable[Divergence], graph: Graph
    ) -> Iterator[tuple[Divergence, str]]:
        """Those failures of one round to localise and confirm, with their quick keys. Of one
        failure key a few are: one fault may spoil the gradient of every input."""
        alike: Counter[str] = Counter()
        for divergence in divergences:
            quick, is_certain = quick_key(divergence, graph)
            if alike[divergence.key] < LOOKS and self.is_worth_a_look(quick, is_certain=is_certain):
                alike[divergence.key] += 1
                yield divergence, quick

    def admits(self, coarse: Coarse) -> bool:
        """Whether a failure may be minimised: it is not on record, nor are enough of its family. A
        call whose plain form fails alike fails in every form."""
        recorded = self._recorded()
        if coarse.key.endswith("|"):  # no call to tell one from another by
            times = sum(one == coarse.key for one in recorded)
            return max(times, self.known[_COARSE + coarse.key]) < MEMBERS
        seen = {one.removeprefix(_COARSE) for one in self.known if one.startswith(_COARSE)}
        seen.update(recorded)
        family = family_of_coarse(coarse.key)
        return (
            coarse.key not in seen
            and coarse.plain not in seen
            and sum(family_of_coarse(one) == family for one in seen) < MEMBERS
        )

    def note_minimised(self, *keys: str) -> None:
        """A failure with these coarse keys, as found and as minimised, was minimised."""
        for key in dict.fromkeys(keys):
            self.known[_COARSE + key] += 1

    def note_confirmed(self, quick: str) -> None:
        """What has this quick key is on record."""
        self.known[f"confirmed {quick}"] = 1

    def is_confirmed(self, quick: str) -> bool:
        return bool(self.known[f"confirmed {quick}"])

    def is_new(self, signature: str) -> bool:
        """Whether a signature is new to this chain, which remembers it."""
        self.known[f"signature {signature}"] += 1
        return self.known[f"signature {signature}"] == 1


_COARSE = "coarse "


def quick_key(divergence: Divergence, graph: Graph) -> tuple[str, bool]:
    """Failure key and blamed call, and whether the verdict names it: a wrong value does not say
    which call on the way to it is at fault."""
    node = graph.by_name.get(divergence.node)
    if node is not None:
        return f"{divergence.key}|{_call(node, graph, divergence)}", True
    end = divergence.value.removeprefix("gradient of ")
    node = graph.by_name.get(end)
    return f"{divergence.key}|{_call(node, graph, divergence) if node else end}", False


def coarse_key(divergence: Divergence, located: Sequence[Localised], graph: Graph) -> Coarse:
    """Failure key and the call where the failure was localised, none where it was not."""
    node = graph.by_name.get(divergence.node)
    if divergence.kind is Kind.WRITE_LOST:
        writers = writers_of(graph, divergence.value)
        node = writers[-1] if writers else node
    if node is None and located:
        node = _located(located[0], graph)
    if node is None:
        return Coarse(f"{divergence.key}|", f"{divergence.key}|")
    plain = node.with_form(divergence.framework, "")
    return Coarse(
        f"{divergence.key}|{_call(node, graph, divergence)}",
        f"{divergence.key}|{_call(plain, graph, divergence)}",
    )


def family_of_coarse(coarse: str) -> str:
    """What coarse keys of one cause have in common, as `family_of` says of signatures."""
    symptom, framework, modes, kind, rest = coarse.split("|", 4)
    message, _, call = rest.rpartition("|")
    return family_of(
        {
            "symptom": symptom,
            "framework": framework,
            "modes": modes,
            "kind": kind,
            "message": message,
            "calls": call,
        }
    )


def _located(place: Localised, graph: Graph) -> Node | None:
    """The call at a place; backward, what reads the value whose gradient is wrong."""
    if place.direction == "backward":
        readers = [graph.by_name[one] for one in graph.users.get(place.value, ())]
        found = [one for one in readers if one.op == place.op]
        return found[-1] if found else graph.by_name.get(place.value)
    node = graph.by_name.get(place.value)
    if node is not None and node.op == "item":
        return graph.by_name.get(node.uses[0])
    if node is None:  # an input that holds the wrong thing
        users = [graph.by_name[one] for one in graph.users.get(place.value, ())]
        return next((one for one in users if one.op == place.op), None)
    return node


def _call(node: Node, graph: Graph, divergence: Divergence) -> str:
    return f"{node.op}.{form_name(graph, node, divergence.framework)}"
