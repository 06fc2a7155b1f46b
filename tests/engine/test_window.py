"""Windows: closed, with the edges that leave as outputs, and equal to the whole model inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.chain import closed, stale
from engine.errors import ConstraintViolated
from engine.executors.outcome import Array
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.graph import Graph, Node
from engine.ir.text import parse_case
from engine.ir.types import Dense, Tuple
from engine.ir.values import materialise
from engine.ir.window import closure, cut, reached
from tests.strategies import graphs, operator_graphs

BRANCHES = """case 1
graph branches
  input x: float32[4,6] = normal(seed=1, mean=0.0, std=1.0)
  v0: float32[4,6] = exp(x)
  t1: (float32[2,6], float32[2,6]) = split(v0; dim=0, sizes=(2, 2))
  v2: float32[2,6] = item(t1; index=0)
  v3: float32[2,6] = item(t1; index=1)
  v4: float32[2,6] = add(v2, v3)
  v5: float32[2,6] = neg(v3)
  v6: float32[2,6] = tanh(v4)
  return v5, v6
plan
  call
  check values state
"""
WRITTEN = """case 1
graph written
  input x: float32[2,3] = normal(seed=1, mean=0.0, std=1.0)
  v0: float32[2,3] = exp(x)
  v1: float32[1,3] = slice(v0; dim=0, start=0, step=1, stop=1) views v0
  v2: float32[1,3] = neg(v1)
  v3: float32[1,3] = copy_(v1, v2) writes v1
  v4: float32[2,3] = abs(v0)
  v5: float32[2,3] = tanh(v4)
  return v0, v5
plan
  call
  check values state
"""


def recorded(case: Case) -> dict[str, Array]:
    return dict(evaluate(case.graph, materialise(case.graph, {})))


def names_of(case: Case, places: set[int]) -> set[str]:
    return {node.name for place, node in enumerate(case.graph.nodes) if place in places}


# ------------------------------------------------------------------------------------- closure
@settings(max_examples=40)
@given(graph=graphs(), data=st.data())
def test_what_is_reached_holds_what_its_nodes_cannot_be_fed_with(
    graph: Graph, data: st.DataObject
) -> None:
    assume(graph.nodes)
    asked = set(data.draw(st.lists(st.sampled_from([node.name for node in graph.nodes]))))
    dirty = set(data.draw(st.lists(st.sampled_from(sorted(graph.types)))))
    # By definition: closed, and with every dirty operand, until nothing is added.
    inside, grown = set[str](), asked
    while grown != inside:
        inside = grown
        held = closure(graph, inside)
        grown = held | {used for name in held for used in graph.by_name[name].uses if used in dirty}
    assert set(reached(graph, asked, dirty)) == inside


@settings(max_examples=40)
@given(graph=graphs(), data=st.data())
def test_a_closed_set_stays_closed_and_holds_what_was_asked_for(
    graph: Graph, data: st.DataObject
) -> None:
    assume(graph.nodes)
    asked = set(data.draw(st.lists(st.sampled_from([node.name for node in graph.nodes]))))
    inside = closure(graph, asked)
    assert asked <= inside
    assert closure(graph, inside) == inside
    for name in inside:
        for used in graph.by_name[name].uses:
            if not isinstance(graph.types[used], Dense):
                assert used in inside or used in graph.input_by_name


@settings(max_examples=40)
@given(graph=graphs(), data=st.data())
def test_the_outputs_of_a_window_are_the_edges_that_leave_it(
    graph: Graph, data: st.DataObject
) -> None:
    assume(graph.nodes)
    asked = data.draw(
        st.lists(st.sampled_from([node.name for node in graph.nodes]), min_size=1, unique=True)
    )
    values: dict[str, Array] = {
        node.name: np.zeros(node.type.bounds, np.uint8)
        for node in graph.nodes
        if isinstance(node.type, Dense)
    }
    window, _ = cut(Case(graph), asked, values)
    inside = window.graph.by_name
    for node in graph.nodes:
        leaves = node.name in graph.outputs or any(
            user not in inside for user in graph.users[node.name]
        )
        if node.name in inside and leaves and not isinstance(node.type, Tuple):
            assert node.name in window.graph.outputs
    unread = {name for name in inside if not graph.users[name]}
    for name in window.graph.outputs:
        used_outside = any(user not in inside for user in graph.users[name])
        assert (
            used_outside
            or name in graph.outputs
            or name in unread
            or len(inside) == 1
            or (isinstance(graph.types[name], Tuple))
        )


@pytest.mark.parametrize("name", ["t1", "v2"])
def test_a_tuple_comes_with_all_its_items(name: str) -> None:
    graph = parse_case(BRANCHES).graph
    inside = closure(graph, {name})
    assert {"t1", "v2", "v3"} <= inside


def test_a_window_on_a_tuple_returns_its_items() -> None:
    case = parse_case(BRANCHES)
    window, _ = cut(case, {"t1"}, recorded(case))
    assert window.graph.outputs == ("v2", "v3")


def test_who_writes_comes_with_the_whole_alias_class() -> None:
    graph = parse_case(WRITTEN).graph
    assert {"v0", "v1", "v3"} <= closure(graph, {"v3"})


def test_who_reads_after_a_write_comes_with_the_writer() -> None:
    graph = parse_case(WRITTEN).graph
    assert "v3" in closure(graph, {"v4"})
    assert closure(graph, {"v2"}) == {"v2"}
    assert closure(graph, {"v5"}) == {"v5"}


def test_an_item_of_a_view_shares_the_storage_of_the_base() -> None:
    text = BRANCHES.replace("sizes=(2, 2))", "sizes=(2, 2)) views v0")
    assert parse_case(text).graph.alias_root("v3") == "v0"


def test_a_sparse_value_comes_with_its_producer() -> None:
    text = """case 1
graph sparse
  input x: csr float32[4,5] nnz 8 int32 = normal(seed=1, mean=0.0, std=1.0)
  v0: csr float32[4,5] nnz 8 int32 = whatever(x)
  v1: float32[4,5] = whatever(v0)
  return v1
plan
  call
  check values
"""
    window, _ = cut(parse_case(text), {"v1"}, {})
    assert set(window.graph.by_name) == {"v0", "v1"}


def test_a_window_without_operators_is_refused() -> None:
    with pytest.raises(ConstraintViolated, match="without operators"):
        cut(parse_case(BRANCHES), ["x"], {})


def test_a_value_that_was_not_recorded_cannot_enter() -> None:
    with pytest.raises(ConstraintViolated, match="v4 would enter"):
        cut(parse_case(BRANCHES), ["v6"], {})


def test_a_value_without_axes_enters_without_axes() -> None:
    text = """case 1
graph total
  input x: float32[3] = [1.0, 2.0, 3.0]
  v0: float32[] = sum(x; dim=none, keepdim=false)
  v1: float32[] = neg(v0)
  return v1
plan
  call
  check values
"""
    case = parse_case(text)
    window, blobs = cut(case, {"v1"}, recorded(case))
    assert window.graph.inputs[0].type == Dense("float32", ())
    assert [one.shape for one in blobs.values()] == [()]


# -------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("text", [BRANCHES, WRITTEN])
@settings(max_examples=25)
@given(places=st.sets(st.integers(0, 7), min_size=1))
def test_a_window_computes_what_the_whole_computes(text: str, places: set[int]) -> None:
    case = parse_case(text)
    names = names_of(case, places)
    assume(names)
    # What a value was when it was computed: outputs are not told apart from inner values.
    alone = case.with_graph(case.graph.with_nodes(case.graph.nodes, case.graph.outputs[-1:]))
    whole = evaluate(alone.graph, materialise(case.graph, {}))
    window, blobs = cut(case, names, whole)
    check(window)
    inside = evaluate(
        window.graph.with_nodes(window.graph.nodes, (window.graph.nodes[-1].name,)),
        materialise(window.graph, blobs),
    )
    for name in window.graph.by_name:
        if name in whole:
            np.testing.assert_array_equal(inside[name], whole[name])


@settings(max_examples=40)
@given(graph=operator_graphs(), data=st.data())
def test_a_window_of_a_chain_computes_what_the_chain_computes(
    graph: Graph, data: st.DataObject
) -> None:
    assume(graph.nodes)
    names = data.draw(
        st.lists(st.sampled_from([node.name for node in graph.nodes]), min_size=1, unique=True)
    )
    case = Case(graph)
    whole = recorded(case)
    window, blobs = cut(case, names, whole)
    check(window)
    inside = evaluate(window.graph, materialise(window.graph, blobs))
    for name in window.graph.by_name:
        assert inside[name].tobytes() == whole[name].tobytes()


# --------------------------------------------------------------------------------------- dirty
def swapped(case: Case, name: str, op: str) -> Graph:
    node: Node = case.graph.by_name[name]
    return case.graph.with_node(Node(name, op, node.operands, node.type, node.attrs))


@settings(max_examples=40)
@given(graph=graphs(), data=st.data())
def test_no_dirty_value_enters_a_window(graph: Graph, data: st.DataObject) -> None:
    assume(graph.nodes)
    names = [node.name for node in graph.nodes]
    centre = data.draw(st.sampled_from(names))
    dirty = stale(graph, graph, (centre,))
    inside = closed(
        graph, (centre,), dirty, limit=data.draw(st.integers(1, 4)), fits=lambda name: True
    )
    assert centre in inside
    assert set(inside) == closure(graph, inside)
    assert list(inside) == [name for name in names if name in inside]
    for name in inside:
        assert not dirty.intersection(graph.by_name[name].uses).difference(inside)


def test_what_reads_storage_after_a_changed_write_isstale() -> None:
    case = parse_case(WRITTEN)
    assert stale(case.graph, swapped(case, "v2", "abs"), ("v2",)) == {"v2", "v3", "v4", "v5"}


def test_what_reads_storage_that_is_no_longer_written_isstale() -> None:
    case = parse_case(WRITTEN)
    kept = case.graph.with_nodes(node for node in case.graph.nodes if node.name != "v3")
    assert {"v4", "v5"} <= stale(case.graph, kept, ())


def test_a_changed_input_makes_its_readersstale() -> None:
    case = parse_case(BRANCHES)
    other = parse_case(BRANCHES.replace("seed=1", "seed=2")).graph
    assert stale(case.graph, other, ()) == {node.name for node in other.nodes}
