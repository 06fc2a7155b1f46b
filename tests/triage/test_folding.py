"""Folds: what is far from a change, in runs that make no cycle, by scope where names carry one."""

from engine.ir.text import parse_graph
from engine.seeds import load_seed
from engine.tfg import GraphDiff, diff
from tests.factories import MUTANT, PARENT
from tests.triage.graphs import chain
from triage.folding import execution_order, fold, near, scope_of


def changes(before: str, after: str) -> GraphDiff:
    return diff(parse_graph(before), parse_graph(after))


def long_change() -> GraphDiff:
    return changes(chain(40), chain(40, changed_at=20))


def test_what_is_within_the_hops_of_a_change_is_shown() -> None:
    change = long_change()
    assert fold(change, hops=1).shown == {"v19", "v20", "v21"}
    assert fold(change, hops=4).shown == {f"v{index}" for index in range(16, 25)}
    assert fold(change, hops=None).folded == 0


def test_changed_edges_count_as_changes_at_both_ends() -> None:
    assert near(changes(PARENT, MUTANT), hops=0) == {"m0", "v0", "v1", "v2"}


def test_each_fold_opens_alone_and_the_others_stay() -> None:
    change = long_change()
    plain = fold(change, hops=2)
    assert [(one.id, len(one.members)) for one in plain.closed] == [("x", 19), ("v23", 17)]
    one_open = fold(change, hops=2, opened=["v23"])
    assert [one.id for one in one_open.closed] == ["x"]
    assert [one.id for one in one_open.opened] == ["v23"]
    assert one_open.folded == 19
    assert one_open.shown >= {"v23", "v39"}


def test_ids_that_are_no_fold_say_nothing() -> None:
    assert fold(long_change(), hops=2, opened=["v20", "nothing"]) == fold(long_change(), hops=2)


def test_fold_of_a_node_that_must_be_seen_is_open() -> None:
    found = fold(long_change(), hops=2, keep=["v30"])
    assert [one.id for one in found.opened] == ["v23"]


def test_single_node_is_shown_rather_than_folded() -> None:
    found = fold(changes(chain(4), chain(4, changed_at=0)), hops=2)
    assert found.closed == ()
    assert "v3" in found.shown


def test_small_graph_in_which_nothing_changed_is_shown_whole() -> None:
    assert fold(changes(PARENT, PARENT), hops=1).closed == ()


def test_scope_of_a_name_ends_with_its_last_number() -> None:
    names = (
        "layers_3_self_attn_v5",
        "stages_0_layers_1_grn_weight",
        "layers_0_v1",
        "v12",
        "x",
        "embed_tokens_v0",
    )
    assert [scope_of(name) for name in names] == [
        "layers_3",
        "stages_0_layers_1",
        "layers_0",
        "",
        "",
        "",
    ]


def test_whole_model_is_folded_by_its_layers() -> None:
    graph = load_seed("qwen2_5_0_5b").graph
    folding = fold(diff(graph, graph), hops=2)
    scopes = [one.scope for one in folding.closed]
    assert scopes == [f"layers_{index}" for index in range(24)]
    # What all layers read belongs to none of them.
    assert folding.shown == {"rope_cos", "rope_sin", "causal_mask"}
    assert folding.folded == len(graph.nodes) + len(graph.inputs) - 3


def test_folds_make_no_cycle() -> None:
    """Also where a way leads round what is shown, as with a skip."""
    before, after = chain(40, skips=True), chain(40, changed_at=20, skips=True)
    change = changes(before, after)
    folding = fold(change, hops=1)
    place = {node.id: index for index, node in enumerate(execution_order(change))}
    ends = [
        tuple(
            folding.place[name].id if name in folding.place else name
            for name in (edge.source, edge.target)
        )
        for edge in change.edges
    ]
    assert all(place[source] < place[target] for source, target in ends if source != target)


def test_what_is_given_stands_before_its_first_user() -> None:
    order = [node.id for node in execution_order(changes(PARENT, MUTANT))]
    assert order == ["x", "w0", "v0", "m0", "v1", "v2"]
