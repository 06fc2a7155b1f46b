"""Steps: windows of a mutation before and after it, bounded, with names that match the texts."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from engine.candidates import Candidates
from engine.errors import BadInput, ConstraintViolated
from engine.finding import Step
from engine.ir.graph import Graph
from engine.ir.text import parse_case, parse_graph
from engine.mutators.apply import apply, touched
from engine.seeds import load_seed
from engine.steps import KEPT, LARGEST, newest, restored, step

LONG = parse_graph(
    "graph long\n  input x: float32[4] = normal(seed=0)\n"
    + "".join(f"  v{at + 1}: float32[4] = sin({f'v{at}' if at else 'x'})\n" for at in range(60))
    + "  return v60\n"
)


def nodes(text: str) -> list[str]:
    return [node.name for node in parse_case(text).graph.nodes]


def with_op(graph: Graph, op: str, *names: str) -> Graph:
    return graph.with_nodes(
        replace(node, op=op) if node.name in names else node for node in graph.nodes
    )


def test_the_windows_show_the_changed_node_with_its_neighbours() -> None:
    found = step("a change", LONG, with_op(LONG, "cos", "v30"))
    assert found.changed == ("v30",)
    assert "v30: float32[4] = cos(v29)" in found.after
    assert "v30: float32[4] = sin(v29)" in found.before
    assert nodes(found.before) == nodes(found.after)
    assert 1 < len(nodes(found.after)) <= 6


def test_a_change_of_everything_shows_no_more_than_the_largest_window() -> None:
    everything = with_op(LONG, "cos", *LONG.by_name)
    found = step("all", LONG, everything)
    assert len(nodes(found.before)) == len(nodes(found.after)) == LARGEST
    assert set(found.changed) == set(nodes(found.after))


def test_a_removed_node_is_shown_where_it_stood() -> None:
    kept = [node for node in LONG.nodes if node.name != "v30"]
    kept = [replace(one, operands=("v29",)) if one.name == "v31" else one for one in kept]
    found = step("less", LONG, LONG.with_nodes(kept))
    assert "v30" in nodes(found.before)
    assert "v30" not in nodes(found.after)
    assert found.changed == ("v31",)


def test_a_new_node_that_reads_an_input_is_shown_beside_who_else_reads_it() -> None:
    new = replace(LONG.by_name["v1"], name="n", op="exp")
    after = LONG.with_nodes((*LONG.nodes, new), ("v60", "n"))
    found = step("more", LONG, after)
    assert found.changed == ("n",)
    assert "v1" in nodes(found.after)
    assert "v1" in nodes(found.before)


def test_values_that_enter_a_window_claim_no_contents() -> None:
    found = step("a change", LONG, with_op(LONG, "cos", "v30"))
    entering = [line for line in found.after.splitlines() if line.startswith("  input")]
    assert entering == [f"  input {parse_case(found.after).graph.inputs[0].name}: float32[4]"]


@pytest.mark.parametrize("seed", ["convnextv2_tiny_compact", "qwen2_5_0_5b_compact"])
def test_names_match_the_texts_for_real_mutations(seed: str) -> None:
    case = load_seed(seed)
    rng = np.random.default_rng(7)
    found = 0
    candidates = Candidates(case, {}, pool="full", limit=4, rng=rng)
    for place in rng.permutation(len(candidates))[:150]:
        one = candidates[int(place)]
        try:
            mutant = apply(case, one.mutator, one.variant, one.site, rng, facts={})
        except ConstraintViolated:
            continue
        made = step(one.label, case.graph, mutant.case.graph)
        before, after = set(nodes(made.before)), set(nodes(made.after))
        assert set(made.changed) <= after
        assert before
        assert max(len(before), len(after)) <= LARGEST
        if set(touched(case.graph, mutant.case.graph)) <= after:
            assert set(made.changed) == set(touched(case.graph, mutant.case.graph))
        found += 1
    assert found > 20


def test_only_the_newest_steps_are_remembered() -> None:
    many = [Step(str(at), "", "", ()) for at in range(KEPT + 5)]
    assert [one.mutator for one in newest(many)] == [str(at) for at in range(5, KEPT + 5)]


def test_a_checkpoint_holds_steps_and_an_older_one_does_without() -> None:
    steps = (Step("m", "before", "after", ("v1", "v2")),)
    assert restored(json.loads(json.dumps([asdict(one) for one in steps]))) == steps
    assert restored(None) == ()
    with pytest.raises(BadInput, match="checkpoint field steps: saw str, expected a list"):
        restored("nonsense")
