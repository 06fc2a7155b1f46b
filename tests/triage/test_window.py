"""Windows that were cut differently: what lies outside of one was neither added nor removed."""

from engine.ir.text import parse_graph
from engine.tfg import GraphDiff, diff
from triage.window import shared_window

INPUT = "input {}: float32[2] = normal(seed=0, mean=0.0, std=1.0)"


def changes(parent: str, mutant: str, *changed: str) -> GraphDiff:
    return diff(*shared_window(parse_graph(parent), parse_graph(mutant), changed))


def graph(given: str, *nodes: str, returns: str) -> str:
    lines = [INPUT.format(given), *nodes, f"return {returns}"]
    return "graph g\n" + "".join(f"  {line}\n" for line in lines)


V1 = "v1: float32[2] = relu(v0)"
V2 = "v2: float32[2] = exp(v1)"
V3 = "v3: float32[2] = tanh(v2)"


def test_windows_that_begin_and_end_elsewhere_tell_the_mutation_alone() -> None:
    parent = graph("x", "v0: float32[2] = neg(x)", V1, V2, V3, returns="v3")
    mutant = graph("v0", V1, "m0: float32[2] = abs(v1)", "v2: float32[2] = exp(m0)", returns="v2")
    found = changes(parent, mutant, "m0", "v2")
    assert (found.added, found.removed, found.changed) == (("m0",), (), ("v2",))
    assert {node.id for node in found.nodes} == {"v0", "v1", "m0", "v2"}


def test_node_that_is_really_gone_is_removed() -> None:
    parent = graph("v0", V1, V2, V3, returns="v3")
    mutant = graph("v0", V1, "v3: float32[2] = tanh(v1)", returns="v3")
    found = changes(parent, mutant, "v3")
    assert (found.removed, found.changed) == (("v2",), ("v3",))


def test_node_that_the_mutation_added_at_the_end_stays() -> None:
    parent = graph("v0", V1, returns="v1")
    mutant = graph("v0", V1, V2, returns="v2")
    assert changes(parent, mutant, "v2").added == ("v2",)
    # Nothing else tells the two apart, so nothing is trimmed.
    assert changes(parent, mutant).added == ("v2",)


def test_end_that_is_gone_is_not_hidden() -> None:
    parent = graph("v0", V1, V2, returns="v2")
    mutant = graph("v0", V1, returns="v1")
    assert changes(parent, mutant).removed == ("v2",)


def test_equal_graphs_stay_equal() -> None:
    text = graph("v0", V1, V2, returns="v2")
    before, after = shared_window(parse_graph(text), parse_graph(text))
    assert before == after == parse_graph(text)
