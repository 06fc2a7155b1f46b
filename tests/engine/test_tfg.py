"""The Tensor Flow Graph: facts, layouts, requirements, updates and differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from engine.ir.graph import Graph
from engine.ir.text import parse_graph
from engine.ir.types import contiguous_strides, dense
from engine.mutators import MUTATORS
from engine.mutators.apply import apply
from engine.tfg import EdgeFacts, FlowGraph, diff, layout_class
from tests.engine.mutation_cases import FIXTURE

GRAPH = FIXTURE.graph


@dataclass(frozen=True)
class Seen:
    """A recorded value."""

    dtype: str = "float32"
    shape: tuple[int, ...] = (2, 4, 8, 8)
    strides: tuple[int, ...] | None = None
    offset: int | None = None
    shares: tuple[str, ...] | None = None
    is_view: bool | None = None
    is_leaf: bool | None = None
    requires_grad: bool | None = None
    summary: Mapping[str, float] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((2, 3), (3, 1), "contiguous"),
        ((2, 3), (1, 2), "strided"),
        ((2, 3), (0, 1), "overlapping"),
        ((2, 3), (1, 1), "overlapping"),
        ((2, 3, 4, 5), (60, 1, 15, 3), "channels_last"),
        ((2, 1, 4, 5), (20, 7, 5, 1), "contiguous"),
        ((0, 3), (9, 9), "contiguous"),
        ((), (), "contiguous"),
        ((4,), (2,), "strided"),
        ((2, 3), None, None),
    ],
)
def test_a_layout_has_a_class(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, expected: str | None
) -> None:
    assert layout_class(shape, strides) == expected


def test_numpy_agrees_on_what_is_contiguous() -> None:
    for shape in ((2, 3, 4), (5,), (1, 7)):
        assert layout_class(shape, contiguous_strides(shape)) == "contiguous"
        assert np.empty(shape).flags.c_contiguous


def test_what_is_not_recorded_is_unknown() -> None:
    facts = FlowGraph(GRAPH).facts("v1")
    assert facts == EdgeFacts(dtype="float32", shape=(2, 4, 8, 8), is_view=False)
    assert facts.layout is None
    assert facts.storage is None


def test_a_recording_fills_the_facts() -> None:
    seen = Seen(
        strides=(256, 64, 8, 1),
        offset=0,
        shares=("v8",),
        is_view=True,
        is_leaf=False,
        requires_grad=True,
        summary={"mean_abs": 0.3},
    )
    facts = FlowGraph(GRAPH, {"v9": seen}).facts("v9")
    assert facts.is_profiled
    assert (facts.layout, facts.storage, facts.magnitude) == ("contiguous", "v8", -2)
    assert (facts.is_view, facts.is_leaf, facts.requires_grad) == (True, False, True)


@pytest.mark.parametrize("mean", [0.0, float("nan"), float("inf")])
def test_a_mean_that_says_nothing_has_no_magnitude(mean: float) -> None:
    flow = FlowGraph(GRAPH, {"v1": Seen(summary={"mean_abs": mean})})
    assert flow.facts("v1").magnitude is None


def test_requirements_are_said_and_hold() -> None:
    found = FlowGraph(GRAPH).requirements("v0")
    assert found
    assert all(one.holds for one in found)


def test_a_requirement_that_fails_is_said() -> None:
    node = GRAPH.by_name["v3"]
    wrong = GRAPH.with_node(replace(node, operands=("v2", "w0", None)))
    assert not all(one.holds for one in FlowGraph(wrong).requirements("v3"))


def test_the_view_as_a_networkx_graph_has_every_use() -> None:
    view = FlowGraph(GRAPH).networkx()
    assert view.number_of_nodes() == len(GRAPH.inputs) + len(GRAPH.nodes)
    assert view.number_of_edges() == sum(len(node.uses) for node in GRAPH.nodes)
    assert view.edges["v0", "v1", 0]["facts"].dtype == "float32"
    assert view.nodes["v0"]["requirements"]


def test_reach_is_everything_downstream() -> None:
    reach = FlowGraph(GRAPH).reach("v15")
    assert reach == {"v16", "v17"}


def test_an_update_keeps_facts_outside_the_cone() -> None:
    recorded = {"v0": Seen(strides=(1, 2, 3, 4)), "v16": Seen(shape=(2, 3, 8, 8), is_view=False)}
    flow = FlowGraph(GRAPH, recorded)
    kept = flow.facts("v0")
    updated = flow.update(GRAPH, {"v17": Seen(dtype="float64")}, dirty=("v15",))
    assert updated.facts("v0") is kept
    assert not updated.facts("v16").is_profiled
    assert updated.facts("v17").dtype == "float64"


def test_a_difference_names_what_was_added_and_rewired() -> None:
    row = MUTATORS["tensor.insertion.copy"]
    site = next(one for one in row.sites(FIXTURE) if one.value == "v15")
    mutant = apply(FIXTURE, row, "clone", site, np.random.default_rng(0))
    found = diff(GRAPH, mutant.case.graph)
    (added,) = found.added
    assert mutant.case.graph.by_name[added].op == "clone"
    assert found.removed == ()
    statuses = {(one.source, one.target): one.status for one in found.edges}
    assert statuses["v15", "v16"] == "removed"
    assert statuses[added, "v16"] == "added"
    assert statuses["v16", "v17"] == "same"


def test_a_difference_says_what_changed_in_a_node() -> None:
    node = GRAPH.by_name["v1"].with_form("torch", "method")
    found = diff(GRAPH, GRAPH.with_node(node))
    assert found.changed == ("v1",)
    change = next(one for one in found.nodes if one.id == "v1")
    assert change.form == "torch:method"
    assert change.detail == "form plain to torch:method"


def test_a_removed_node_stands_where_it_stood() -> None:
    nodes = [node for node in GRAPH.nodes if node.name != "v17"]
    outputs = tuple(name for name in GRAPH.outputs if name != "v17")
    found = diff(GRAPH, GRAPH.with_nodes(nodes, outputs))
    names = [one.id for one in found.nodes]
    assert found.removed == ("v17",)
    assert names.index("v17") == names.index("v16") + 1


def test_nodes_under_other_names_match_by_structure() -> None:
    nodes = [replace(node, name="w17") if node.name == "v17" else node for node in GRAPH.nodes]
    outputs = tuple("w17" if name == "v17" else name for name in GRAPH.outputs)
    found = diff(GRAPH, GRAPH.with_nodes(nodes, outputs))
    assert found.added == ()
    assert found.removed == ()


def test_a_difference_with_itself_is_all_the_same() -> None:
    found = diff(GRAPH, GRAPH)
    assert {one.status for one in found.nodes} == {"same"}
    assert {one.status for one in found.edges} == {"same"}


def test_types_before_and_after_are_on_the_edges() -> None:
    node = replace(GRAPH.by_name["v15"], type=dense("float16", 2, 3, 8, 8))
    found = diff(GRAPH, GRAPH.with_node(node))
    edge = next(one for one in found.edges if (one.source, one.target) == ("v15", "v16"))
    assert (edge.status, edge.before, edge.after) == (
        "changed",
        "float32[2,3,8,8]",
        "float16[2,3,8,8]",
    )
    assert found.to_json()["outputs"] == {
        "before": list(GRAPH.outputs),
        "after": list(GRAPH.outputs),
    }


def test_an_update_costs_the_cone_and_not_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long line with one new node near its end only what follows that is worked out."""
    lines = ["v0: float32[4] = neg(x)"]
    lines += [f"v{at}: float32[4] = neg(v{at - 1})" for at in range(1, 300)]
    text = "graph line\n  input x: float32[4] = normal(seed=0)\n  {}\n  return v299\n"
    graph = parse_graph(text.format("\n  ".join(lines)))
    flow = FlowGraph(graph, {name: Seen(shape=(4,)) for name in graph.types})
    for name in graph.types:
        flow.facts(name)
    lines.insert(295, "n: float32[4] = abs(v294)")
    lines[296] = "v295: float32[4] = neg(n)"
    mutant = parse_graph(text.format("\n  ".join(lines)))
    worked: list[str] = []

    def counted(of: Graph, value: str) -> EdgeFacts:
        worked.append(value)
        return EdgeFacts()

    monkeypatch.setattr("engine.tfg._from_type", counted)
    monkeypatch.setattr("engine.tfg._from_fact", lambda value, seen: counted(graph, value))
    updated = flow.update(mutant, {"v299": Seen(shape=(4,))}, dirty=("n", "v295"))
    for name in mutant.types:
        updated.facts(name)
    assert worked == ["n", "v295", "v296", "v297", "v298", "v299"]
    assert updated.facts("v294") is flow.facts("v294")
