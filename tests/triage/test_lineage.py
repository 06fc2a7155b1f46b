"""The way from the seed to the mutant, as far as a finding tells it."""

from dataclasses import replace

from engine.finding import Finding, Step
from engine.ir.text import parse_graph
from tests.factories import MUTANT, PARENT, engine_finding
from triage.lineage import ALL, ROUND, comparisons, composed, round_length, stages, whole_way

GIVEN = "input {}: float32[2] = normal(seed=0, mean=0.0, std=1.0)"


def graph(given: str, *nodes: str, returns: str) -> str:
    lines = [GIVEN.format(given), *nodes, f"return {returns}"]
    return "graph g\n" + "".join(f"  {line}\n" for line in lines)


V1, V2 = "v1: float32[2] = relu(v0)", "v2: float32[2] = exp(v1)"
FIRST = Step(
    "one",
    graph("v0", V1, V2, returns="v2"),
    graph("v0", V1, "m: float32[2] = abs(v1)", "v2: float32[2] = exp(m)", returns="v2"),
    ("m", "v2"),
)
# Another window, that begins with what the first mutation made.
SECOND = Step(
    "two",
    graph("m", "v2: float32[2] = exp(m)", "v3: float32[2] = tanh(v2)", returns="v3"),
    graph("m", "v3: float32[2] = tanh(m)", returns="v3"),
    ("v3",),
)


def two_steps(**fields: object) -> Finding:
    finding = engine_finding(
        lineage=("one", "two"),
        mutator="two",
        steps=(FIRST, SECOND),
        parent_text=SECOND.before,
        mutant_text=SECOND.after,
        changed=SECOND.changed,
        parent_facts={"m": {"layout": "contiguous"}},
        mutant_facts={"m": {"layout": "strided"}},
    )
    return replace(finding, **fields)  # type: ignore[arg-type]


def test_each_step_at_hand_is_a_comparison_and_the_last_has_the_facts() -> None:
    first, second = comparisons(two_steps())
    assert (first.name, first.mutator, first.after) == ("1", "one", FIRST.after)
    assert (second.name, second.mutator, second.after) == ("2", "two", SECOND.after)
    assert (first.facts_after, second.facts_after) == ({}, {"m": {"layout": "strided"}})


def test_finding_of_an_earlier_version_has_its_last_mutation_alone() -> None:
    finding = two_steps(steps=())
    assert [one.name for one in comparisons(finding)] == ["2"]
    assert stages(finding) == (("1", "one"), ("2", "two"))


def test_steps_find_their_place_where_some_are_missing() -> None:
    finding = two_steps(lineage=("none", "one", "none", "two"), steps=(FIRST, SECOND))
    assert [one.name for one in comparisons(finding)] == ["2", "4"]


def test_step_that_is_not_of_the_lineage_is_left_out() -> None:
    finding = two_steps(steps=(replace(FIRST, mutator="other"), SECOND))
    assert [one.name for one in comparisons(finding)] == ["2"]


def test_finding_without_graphs_has_nothing_to_compare() -> None:
    assert comparisons(two_steps(steps=(), parent_text="", mutant_text="")) == ()


def test_windows_of_the_steps_add_up_to_seed_and_mutant() -> None:
    seed, mutant = composed(comparisons(two_steps()))
    assert [(node.name, node.op, node.uses) for node in seed.nodes] == [
        ("v1", "relu", ("v0",)),
        ("v2", "exp", ("v1",)),
        ("v3", "tanh", ("v2",)),
    ]
    assert [(node.name, node.op, node.uses) for node in mutant.nodes] == [
        ("v1", "relu", ("v0",)),
        ("m", "abs", ("v1",)),
        ("v3", "tanh", ("m",)),
    ]
    assert [given.name for given in seed.inputs] == ["v0"]


def test_whole_way_is_text_that_reads_back() -> None:
    whole = whole_way(comparisons(two_steps()))
    assert whole.name == ALL
    assert parse_graph(whole.before).outputs == ("v3",)
    assert whole.facts_after == {"m": {"layout": "strided"}}


def test_one_mutation_needs_no_lineage() -> None:
    finding = engine_finding(lineage=(), parent_text=PARENT, mutant_text=MUTANT)
    assert [one.name for one in comparisons(finding)] == ["1"]
    assert stages(finding) == (("1", "insert_unary.exp"),)


def test_round_of_several_mutations_is_a_comparison_of_its_own() -> None:
    whole = {"parent_text": FIRST.before, "mutant_text": SECOND.after}
    finding = two_steps(mutator="one + two", **whole)
    found = comparisons(finding)
    assert round_length(finding) == 2
    assert [one.name for one in found] == ["1", "2", ROUND]
    assert [bool(one.facts_after) for one in found] == [False, False, True]
    assert found[1].after == SECOND.after
    # What adds up already is not added twice.
    assert composed(found) == composed(found[:2])


def test_name_that_only_looks_like_several_is_one() -> None:
    finding = two_steps(mutator="left + two")
    assert round_length(finding) == 1
