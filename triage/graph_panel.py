"""The panel that shows a graph or a change to one: its state is the query, and it needs no scripts.

`finding_panel` is for a finding, `program_panel` for one graph. Both are drawn by
`templates/triage/diff_panel.html` as `panel`; a page that includes it also includes
`triage/diff_head.html` in its head. A string instead of a panel says why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from django.http import QueryDict
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from engine.errors import BadInput
from engine.finding import Finding
from engine.tfg import EdgeChange, NodeChange
from triage import layout
from triage.diff import Details, Difference, one_graph
from triage.drawings import drawing, drawing_key
from triage.folding import HOPS, Fold, Folding, fold
from triage.lineage import (
    ALL,
    ROUND,
    Comparison,
    Facts,
    comparisons,
    round_length,
    stages,
    whole_way,
)
from triage.picture import HERE, draw, edge_id, standalone

if TYPE_CHECKING:
    from triage.models import FindingRecord

__all__ = [
    "Panel",
    "Stage",
    "Switch",
    "View",
    "diff_panel",
    "finding_panel",
    "program_panel",
    "program_picture",
]

_NEAR = 2
_HITS = 40
_STAGES = 7
_OURS = ("step", "hops", "open", "node", "edge", "find", "rows")
_ROWS = ("changed", "shown", "all")


@dataclass(frozen=True)
class View:
    """What the query asks for. Words that are not understood are passed over."""

    given: QueryDict

    @property
    def step(self) -> str:
        return self.given.get("step", "")

    @property
    def hops(self) -> int | None:
        """Edges from a change to what is still shown; None for everything."""
        said = self.given.get("hops", "")
        named = {str(hops): hops for hops in HOPS if hops is not None}
        return None if said == "all" else named.get(said, _NEAR)

    @property
    def opened(self) -> list[str]:
        return self.given.getlist("open")

    @property
    def node(self) -> str:
        return self.given.get("node", "")

    @property
    def edge(self) -> str:
        return self.given.get("edge", "")

    @property
    def find(self) -> str:
        return self.given.get("find", "").strip()[:100]

    @property
    def rows(self) -> str:
        said = self.given.get("rows", "")
        return said if said in _ROWS else ""

    def query(self, *, without: Sequence[str] = (), **values: str | list[str]) -> str:
        """This query with other values: "?..." for a link. What is not ours is kept."""
        query = self.given.copy()
        for name in (*without, *values):
            query.pop(name, None)
        for name, value in values.items():
            query.setlist(name, value if isinstance(value, list) else [value])
        return f"?{query.urlencode()}"


@dataclass(frozen=True)
class Stage:
    """One mutation on the way, or several. `query` is "" where it was not recorded."""

    name: str
    text: str
    query: str
    is_shown: bool

    @property
    def is_numbered(self) -> bool:
        return self.name.isdigit()


@dataclass(frozen=True)
class Switch:
    """One choice among few."""

    text: str
    query: str
    is_chosen: bool


class Panel:
    """All that the template shows. `name` is the panel's id, `problem` why there is no picture.

    `page` is where scripts fetch the panel from and what "full page" leads to, `download` where the
    picture comes as a file; "" where there is none.
    """

    def __init__(
        self,
        view: View,
        comparison: Comparison,
        *,
        name: str,
        title: str,
        page: str = "",
        download: str = "",
        diverges: str = "",
        stages: tuple[Stage, ...] = (),
    ) -> None:
        self.view, self.name, self.title = view, name, title
        self.page, self.download, self.stages = page, download, stages
        self.problem = ""
        self._diverges = diverges
        self.difference = Difference(comparison)
        self.hits = self.difference.found(view.find)
        self.chosen = self._chosen()
        self.folding: Folding = fold(
            self.difference.change, hops=view.hops, opened=view.opened, keep=self._kept()
        )

    # ---------------------------------------------------------------------------- the picture
    @cached_property
    def svg(self) -> SafeString:
        """The picture with its links leading to the page that shows it."""
        # The query is escaped, the drawing escapes what it is given.
        drawn = self._marked(self._drawn(linked=True))
        return mark_safe(drawn.replace(f"?{HERE}", escape(self.here)))

    def file(self) -> str:
        """The picture as a file of its own."""
        return standalone(self._marked(self._drawn(linked=False)))

    @property
    def plain_svg(self) -> SafeString:
        """The picture without links, for a page that shows it beside another."""
        return self._drawn(linked=False)

    def _drawn(self, *, linked: bool) -> SafeString:
        diverges = self._diverges if self._diverges in self.difference.nodes else ""
        comparison = self.difference.comparison
        key = drawing_key(
            layout.engine(),
            [comparison.before, comparison.after, list(comparison.changed)],
            [{**one} for one in (comparison.facts_before, comparison.facts_after)],
            [self.view.hops, self._open, diverges, self.name, self.title, linked],
        )
        return drawing(
            key,
            lambda: draw(
                self.difference.change,
                self.folding,
                notes=self.difference.notes(diverges=diverges),
                name=self.name,
                title=f"{self.title}: {self.difference.summary}",
                linked=linked,
            ),
        )

    def _marked(self, svg: str) -> str:
        """Mark what was chosen and what was found, and folds in which something was found."""
        places = self.folding.place
        hits = {f"n-{name}" for name in self.hits}
        hits |= {f"f-{places[name].id}" for name in self.hits if name in places}
        chosen = f"{self.chosen.kind[0]}-{self.chosen.id}" if self.chosen else ""
        if not hits and not chosen:
            return svg

        def mark(found: re.Match[str]) -> str:
            one = found[1]
            kind = (" chosen" if one == chosen else "") + (" hit-by-search" if one in hits else "")
            now = ' aria-current="true"' if one == chosen else ""
            return f'{kind}" id="{self.name}-{one}"{now}' if kind else found[0]

        return re.sub(rf'" id="{re.escape(self.name)}-([nef]-[\w-]+)"', mark, svg)

    # ------------------------------------------------------------------------------- choices
    def _chosen(self) -> Details | None:
        if self.view.edge:
            return self.difference.edge_details(self.view.edge)
        name = self.view.node or (self.hits[0] if self.hits else "")
        return self.difference.node_details(name) if name else None

    def _kept(self) -> set[str]:
        kept = {self._diverges} if self._diverges else set()
        if self.chosen is None:
            return kept
        edge = self.chosen.edge
        return kept | ({edge.source, edge.target} if edge else {self.chosen.id})

    @cached_property
    def _open(self) -> list[str]:
        """Ids of the folds that are open, whoever opened them."""
        return [one.id for one in self.folding.opened]

    @property
    def hops_choices(self) -> list[Switch]:
        return [
            Switch(
                "all" if hops is None else str(hops),
                self.view.query(
                    without=("open", "edge"), hops="all" if hops is None else str(hops)
                ),
                hops == self.view.hops,
            )
            for hops in HOPS
        ]

    @property
    def is_large(self) -> bool:
        """Whether a graph in which nothing changed is folded by scope."""
        return bool(self.folding.closed or self.folding.opened)

    @property
    def scope_choices(self) -> list[Switch]:
        """For one graph: folded by scope, or whole."""
        whole = self.view.hops is None
        return [
            Switch("folded", self.view.query(without=("open", "hops")), not whole),
            Switch("whole", self.view.query(without=("open",), hops="all"), whole),
        ]

    @property
    def opened(self) -> list[tuple[Fold, str]]:
        """Folds that are open, each with the query that closes it."""
        return [
            (
                one,
                self.view.query(
                    without=("node", "edge", "find"),
                    open=[other for other in self._open if other != one.id],
                ),
            )
            for one in self.folding.opened
        ]

    @property
    def closed(self) -> list[tuple[Fold, str]]:
        """Folds that are closed, each with the query that opens it."""
        return [(one, self.view.query(open=[*self._open, one.id])) for one in self.folding.closed]

    @property
    def state(self) -> str:
        """What is shown, as a query for another page or a file."""
        return self.view.query(open=self._open)

    @property
    def unchosen(self) -> str:
        return self.view.query(without=("node", "edge", "find"), open=self._open)

    # -------------------------------------------------------------------------------- search
    @property
    def kept_fields(self) -> list[tuple[str, str]]:
        """What a search form passes on."""
        left_out = {"find", "node", "edge"}
        return [
            (name, value)
            for name, values in self.view.given.lists()
            if name not in left_out
            for value in values
        ]

    @property
    def hit_links(self) -> list[Switch]:
        at = self.chosen.id if self.chosen else ""
        return [
            Switch(name, self.view.query(without=("edge",), node=name), name == at)
            for name in self.hits[:_HITS]
        ]

    @property
    def more_hits(self) -> int:
        return max(0, len(self.hits) - _HITS)

    # ---------------------------------------------------------------------------------- steps
    @property
    def previous(self) -> Stage | None:
        return self._beside(-1)

    @property
    def next(self) -> Stage | None:
        return self._beside(1)

    def _beside(self, step: int) -> Stage | None:
        there = [one for one in self.stages if one.query]
        now = next((place for place, one in enumerate(there) if one.is_shown), None)
        if now is None or not 0 <= now + step < len(there):
            return None
        return there[now + step]

    @property
    def stages_at_once(self) -> tuple[Stage, ...]:
        """Those that are always in sight: all of a short way, else where one is and the ends."""
        if len(self.stages) <= _STAGES:
            return self.stages
        return tuple(one for one in self.stages if one.is_shown or not one.is_numbered)

    @property
    def mutations(self) -> int:
        return sum(one.is_numbered for one in self.stages)

    @property
    def lacks_steps(self) -> bool:
        return any(not one.query for one in self.stages)

    # ----------------------------------------------------------------------------------- rows
    @cached_property
    def rows(self) -> str:
        changed = any(one.status != "same" for one in self.difference.change.nodes)
        return self.view.rows or ("changed" if changed else "shown")

    @property
    def row_choices(self) -> list[Switch]:
        texts = {"changed": "only what differs", "shown": "what is drawn", "all": "all"}
        offered = _ROWS[1:] if self.difference.is_one_graph else _ROWS
        return [Switch(texts[one], self.view.query(rows=one), one == self.rows) for one in offered]

    @property
    def node_rows(self) -> list[NodeChange]:
        return [
            node
            for node in self.difference.change.nodes
            if self.rows == "all"
            or (node.id in self.folding.shown if self.rows == "shown" else node.status != "same")
        ]

    @property
    def edge_rows(self) -> list[tuple[EdgeChange, str, str]]:
        """Edges, each with its id and what flows in words."""
        shown, notes = self.folding.shown, self.difference.notes()
        found = []
        for edge in self.difference.change.edges:
            drawn = edge.source in shown and edge.target in shown
            if self.rows == "all" or (drawn if self.rows == "shown" else edge.status != "same"):
                one = edge_id(edge)
                found.append((edge, one, notes.labels.get(one, "")))
        return found

    @property
    def here(self) -> str:
        """The beginning of a link to a node or an edge: "node=" or "edge=" and a name follow."""
        query = self.view.query(without=("node", "edge"), open=self._open)
        return f"{query}&" if len(query) > 1 else query


def diff_panel(
    finding: Finding, given: QueryDict, *, page: str = "", download: str = "", name: str = "graph"
) -> Panel | str:
    """The change of a finding that the query asks for, by default the last; or why there is none.

    Texts of another version of the engine may not be read.
    """
    view = View(given)
    steps = comparisons(finding)
    if not steps:
        return "The finding carries no graphs: it was there before any mutation."
    at_hand = {one.name: one for one in steps}
    try:
        wanted = at_hand.get(view.step, steps[-1])
        if view.step == ALL and _leads_further(finding, steps):
            wanted = whole_way(steps)
        return Panel(
            view,
            wanted,
            name=name,
            title="The change in the data flow",
            page=page,
            download=download,
            stages=_stages(finding, view, at_hand, wanted.name),
        )
    except BadInput as error:
        return f"The graph's text cannot be read: {error}"


def finding_panel(record: FindingRecord, given: QueryDict) -> Panel | str:
    """The panel of a recorded finding in the state of a query."""
    try:
        finding = record.finding()
    except (KeyError, TypeError, ValueError) as error:
        return f"The finding cannot be read: {type(error).__name__}: {error}"
    if not finding.minimised_text:
        return "It is a script, and nothing of it was traced: there is no graph."
    return diff_panel(
        finding,
        given,
        page=reverse("triage:show-diff", args=[record.uuid]),
        download=reverse("triage:download-picture", args=[record.uuid]),
    )


def _stages(
    finding: Finding, view: View, at_hand: dict[str, Comparison], shown: str
) -> tuple[Stage, ...]:
    forgotten = ("open", "node", "edge")
    found = [
        Stage(
            name,
            mutator,
            view.query(without=forgotten, step=name) if name in at_hand else "",
            name == shown,
        )
        for name, mutator in stages(finding)
    ]
    more = {ROUND: f"this round, {round_length(finding)} mutations"} if ROUND in at_hand else {}
    if _leads_further(finding, list(at_hand.values())):
        numbered = len(at_hand) - len(more)
        whole = numbered == len(finding.lineage)
        more[ALL] = "seed to mutant" if whole else f"all {numbered} recorded"
    for name, text in more.items():
        query = view.query(without=forgotten, step=name)
        found.append(Stage(name, text, query, name == shown))
    return tuple(found)


def _leads_further(finding: Finding, steps: Sequence[Comparison]) -> bool:
    """Whether the steps at hand say more than what the last round did."""
    numbers = [int(one.name) for one in steps if one.name != ROUND]
    return bool(numbers) and min(numbers) <= len(finding.lineage) - round_length(finding)


def program_panel(
    text: str,
    given: QueryDict,
    *,
    title: str,
    facts: Facts | None = None,
    page: str = "",
    download: str = "",
    name: str = "graph",
    diverges: str = "",
) -> Panel | str:
    """One graph, such as a seed or a minimised program, folded by scope where it is large."""
    try:
        return Panel(
            View(given),
            one_graph(text, facts),
            name=name,
            title=title,
            page=page,
            download=download,
            diverges=diverges,
        )
    except BadInput as error:
        return f"The graph's text cannot be read: {error}"


def program_picture(text: str, *, diverges: str = "", name: str = "program") -> SafeString | None:
    """One small graph without links and controls; None where its text cannot be read."""
    panel = program_panel(
        text, QueryDict("hops=all"), title="The program", name=name, diverges=diverges
    )
    return None if isinstance(panel, str) else panel.plain_svg
