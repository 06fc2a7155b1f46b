"""The shipped seeds as text, their counts and twins, and the import of exported programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from engine.errors import BadInput
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.graph import Formula, Literal, Random
from engine.ir.text import parse_case, print_case
from engine.ir.types import Dense, Dynamic
from engine.ir.values import materialise
from engine.ops.typing import retype
from engine.seeds import SEEDS, load_seed, parameter_count, trainable_count
from engine.seeds.importing import import_graph, measured, sane

COMPACT = [name for name, seed in SEEDS.items() if seed.scale == "compact"]
FULL = [name for name, seed in SEEDS.items() if seed.scale == "full"]


@cache
def loaded(name: str) -> Case:
    """Read once: graphs are immutable."""
    return load_seed(name)


def operators(case: Case) -> set[str]:
    return {node.op for node in case.graph.nodes}


# ------------------------------------------------------------------------------------- the table
@pytest.mark.parametrize("name", SEEDS)
def test_the_text_has_the_parameters_that_the_table_says(name: str) -> None:
    graph = loaded(name).graph
    assert parameter_count(graph) == SEEDS[name].parameters
    assert trainable_count(graph) == SEEDS[name].trainable


@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_is_sound_and_its_text_round_trips(name: str) -> None:
    case = loaded(name)
    check(case)
    assert parse_case(print_case(case)) == case
    assert retype(case.graph) == case.graph


@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_holds_no_stored_weights(name: str) -> None:
    kinds = {type(one.init) for one in loaded(name).graph.inputs}
    assert kinds <= {Random, Formula, Literal}


@pytest.mark.parametrize("name", SEEDS)
def test_no_two_weights_of_a_seed_have_the_same_random_numbers(name: str) -> None:
    weights = [one.init for one in loaded(name).graph.inputs if one.role == "weight"]
    seeds = [init.seed for init in weights if isinstance(init, Random)]
    assert len(set(seeds)) == len(weights)


@pytest.mark.parametrize("name", SEEDS)
def test_every_weight_and_constant_is_used(name: str) -> None:
    graph = loaded(name).graph
    unused = [one.name for one in graph.inputs if not graph.users[one.name]]
    assert unused == []


@pytest.mark.parametrize("name", FULL)
def test_the_compact_twin_has_the_operators_of_the_full_model(name: str) -> None:
    assert operators(loaded(SEEDS[name].twin)) == operators(loaded(name))


@pytest.mark.parametrize("name", COMPACT)
def test_a_compact_seed_is_under_a_million_parameters(name: str) -> None:
    assert SEEDS[name].parameters < 1_000_000


def test_an_unknown_seed_is_answered_with_the_closest_and_all_names() -> None:
    with pytest.raises(BadInput) as caught:
        load_seed("convnextv2_tinny")
    assert "convnextv2_tiny" in str(caught.value)
    assert all(name in str(caught.value) for name in SEEDS)


def test_the_tied_embedding_is_one_weight_used_twice() -> None:
    graph = loaded("qwen2_5_0_5b").graph
    users = {graph.by_name[name].op for name in graph.users["embed_tokens_weight"]}
    assert users == {"embedding", "linear"}


# ------------------------------------------------------------------------------------ behaviour
@pytest.mark.parametrize("name", COMPACT)
def test_the_batch_of_a_compact_seed_may_be_another(name: str) -> None:
    graph = loaded(name).graph
    first, *others = graph.inputs
    assert isinstance(first.type, Dense)
    wider = replace(first, type=replace(first.type, shape=(5, *first.type.shape[1:])))
    retyped = retype(replace(graph, inputs=(wider, *others)))
    result = retyped.types[retyped.outputs[0]]
    assert isinstance(result, Dense)
    assert result.shape[0] == 5


def answer(case: Case, **changed: np.ndarray) -> np.ndarray:
    """The first output on the NumPy reference."""
    values = {**materialise(case.graph, {}), **changed}
    return np.asarray(evaluate(case.graph, values)[case.graph.outputs[0]])


def test_every_class_depends_on_every_corner_of_the_image() -> None:
    case = loaded("convnextv2_tiny_compact")
    image = np.asarray(materialise(case.graph, {})["x"])
    before = answer(case)
    for row, column in ((0, 0), (0, -1), (-1, 0), (-1, -1), (40, 30)):
        moved = image.copy()
        moved[0, 1, row, column] += 1.0
        after = answer(case, x=moved)
        assert (after[0] != before[0]).all()
        assert (after[1] == before[1]).all()


def test_every_token_moves_all_logits_from_its_place_on_and_none_before() -> None:
    case = loaded("qwen2_5_0_5b_compact")
    ids = np.asarray(materialise(case.graph, {})["ids"])
    before = answer(case)
    for place in (0, 11, ids.shape[1] - 1):
        moved = ids.copy()
        moved[0, place] = (moved[0, place] + 1) % 512
        after = answer(case, ids=moved)
        assert (after[0, place:] != before[0, place:]).mean() > 0.999
        assert (after[0, :place] == before[0, :place]).all()


@pytest.mark.parametrize("name", COMPACT)
def test_activations_stay_at_a_sane_scale_through_the_depth(name: str) -> None:
    graph = loaded(name).graph
    values = evaluate(graph, materialise(graph, {}))
    computed = [np.asarray(values[node.name]) for node in graph.nodes]
    # A masked score is the least float32 by design.
    visible = [one[np.abs(one) < 1e30] for one in computed]
    assert all(np.isfinite(one).all() for one in computed)
    assert all(1e-6 < np.abs(one).max() < 1e3 for one in visible)


# --------------------------------------------------------------------------------------- import
def exported(**changes: Any) -> Mapping[str, Any]:
    """A linear layer and a rectifier, as the exporter writes them."""
    tensor = {"shape": [4, 3], "dtype": "float32"}
    weight = {
        "name": "net.weight",
        "names": ["p_net_weight"],
        "shape": [3, 2],
        "dtype": "float32",
        "trainable": True,
        "statistics": {"mean": 0.0, "std": 0.5, "min": -1.0, "max": 1.0},
    }
    given = {"name": "x", "given": "x", "shape": [4, 2], "dtype": "float32"}
    return {
        "inputs": [given],
        "parameters": [weight],
        "constants": [],
        "nodes": [
            {
                "name": "linear",
                "target": "aten.linear.default",
                "args": [{"value": "x"}, {"value": "p_net_weight"}],
                "kwargs": {},
                "scope": "net",
                "outputs": [tensor],
            },
            {
                "name": "relu",
                "target": "aten.relu.default",
                "args": [{"value": "linear"}],
                "kwargs": {},
                "scope": "",
                "outputs": [tensor],
            },
        ],
        "outputs": ["relu"],
        **changes,
    }


def test_an_exported_program_becomes_a_graph_named_after_its_modules() -> None:
    graph = import_graph(exported(), name="small")
    assert [(node.name, node.op) for node in graph.nodes] == [
        ("net_v0", "linear"),
        ("v0", "relu"),
    ]
    assert graph.input_by_name["net_weight"].init == measured_init()
    check(graph)


def measured_init() -> Random:
    return Random("normal", 1, (("mean", 0.0), ("std", 0.5)))


def test_a_weight_without_a_spread_becomes_a_constant() -> None:
    program = dict(exported())
    still = {"mean": 1.0, "std": 0.0, "min": 1.0, "max": 1.0}
    program["parameters"] = [{**program["parameters"][0], "statistics": still}]
    graph = import_graph(program, name="small", initialise=measured)
    assert graph.input_by_name["net_weight"].init == Formula("full", (("value", 1.0),))


def test_sane_weights_have_the_spread_of_their_fan_in() -> None:
    graph = import_graph(exported(), name="small", initialise=sane)
    init = graph.input_by_name["net_weight"].init
    assert init == Random("normal", 1, (("mean", 0.0), ("std", 0.7071)))


def test_targets_without_a_row_are_listed_with_their_counts() -> None:
    program = dict(exported())
    strange = {**program["nodes"][1], "target": "aten.frobnicate.default"}
    program["nodes"] = [program["nodes"][0], strange, {**strange, "name": "relu_1"}]
    with pytest.raises(BadInput, match=r"1 operators .*aten\.frobnicate\.default \(2\)"):
        import_graph(program, name="small")


def test_a_constant_without_a_formula_is_refused_by_name() -> None:
    constant = {"name": "constant_0", "shape": [100], "dtype": "float32"}
    with pytest.raises(BadInput, match="constant_0"):
        import_graph(exported(constants=[constant]), name="small")


def test_no_seed_has_an_extent_known_only_after_running() -> None:
    types = [of for name in COMPACT for of in loaded(name).graph.types.values()]
    extents = [extent for of in types if isinstance(of, Dense) for extent in of.shape]
    assert not any(isinstance(extent, Dynamic) for extent in extents)
