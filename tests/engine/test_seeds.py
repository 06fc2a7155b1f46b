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
    assert seeds
    assert len(set(seeds)) == len(seeds)


# Weights that the published count holds and that inference does not read.
UNREAD = {
    "rtdetrv2_s": {"denoising_class_embed_weight"},  # of the noise that training adds
    "mask2former_swin_t": {"layernorm_weight", "layernorm_bias"},  # of the backbone, as a whole
}


@pytest.mark.parametrize("name", SEEDS)
def test_every_weight_and_constant_is_used(name: str) -> None:
    graph = loaded(name).graph
    unused = {one.name for one in graph.inputs if not graph.users[one.name]}
    assert unused == UNREAD.get(name.removesuffix("_compact"), set())


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
def of_batch(case: Case, members: int) -> Case:
    """The case for another number of members, of which only its inputs know."""
    inputs = tuple(
        replace(one, type=replace(one.type, shape=(members, *one.type.shape[1:])))
        if one.role == "input" and isinstance(one.type, Dense)
        else one
        for one in case.graph.inputs
    )
    return replace(case, graph=retype(replace(case.graph, inputs=inputs)))


@pytest.mark.parametrize("name", COMPACT)
def test_a_batch_of_a_compact_seed_is_answered_like_its_members_alone(name: str) -> None:
    case = loaded(name)
    values = materialise(case.graph, {})
    given = [one.name for one in case.graph.inputs if one.role == "input"]
    together = evaluate(case.graph, values)
    alone = of_batch(case, 1).graph
    for place in range(2):
        member = {one: np.asarray(values[one])[place : place + 1] for one in given}
        answers = evaluate(alone, {**values, **member})
        for output in case.graph.outputs:
            expected = np.asarray(together[output])[place : place + 1]
            scale = float(np.abs(expected).max())
            np.testing.assert_allclose(answers[output], expected, rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize("name", SEEDS)
def test_the_batch_of_a_seed_may_be_another(name: str) -> None:
    graph = of_batch(loaded(name), 5).graph
    for output in graph.outputs:
        result = graph.types[output]
        assert isinstance(result, Dense)
        assert result.shape[0] == 5


def answer(case: Case, **changed: np.ndarray) -> np.ndarray:
    """The first output on the NumPy reference."""
    values = {**materialise(case.graph, {}), **changed}
    return np.asarray(evaluate(case.graph, values)[case.graph.outputs[0]])


def moved(given: np.ndarray, place: float) -> np.ndarray:
    """The input with one number of its first member changed, at a share of the way through it."""
    found = np.array(given)
    member = found[0].reshape(-1)
    at = int(place * (member.size - 1))
    member[at] = member[at] ^ 1 if found.dtype.kind == "i" else member[at] + 1.0
    found[0] = member.reshape(found[0].shape)
    return found


@pytest.mark.parametrize("name", COMPACT)
def test_every_output_depends_on_every_input_from_end_to_end(name: str) -> None:
    case = loaded(name)
    values = materialise(case.graph, {})
    before = evaluate(case.graph, values)
    for one in case.graph.inputs:
        if one.role != "input":
            continue
        for place in (0.0, 0.5, 1.0):
            after = evaluate(case.graph, {**values, one.name: moved(values[one.name], place)})
            for output in case.graph.outputs:
                assert (after[output][0] != before[output][0]).any(), (one.name, place, output)
                assert (after[output][1] == before[output][1]).all(), (one.name, place, output)


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


# What begins a mask is zero by design; a masked score is huge or infinite.
MASKS = ("zeros_like", "masked_fill_")
MASKED = 1e8


@pytest.mark.parametrize("name", COMPACT)
def test_activations_stay_at_a_sane_scale_through_the_depth(name: str) -> None:
    graph = loaded(name).graph
    values = evaluate(graph, materialise(graph, {}))
    for node in graph.nodes:
        if node.op in MASKS or node.name not in values:  # a tuple is known by its items
            continue
        computed = np.asarray(values[node.name]).astype("float64")
        assert not np.isnan(computed).any(), node.name
        visible = computed[np.abs(computed) < MASKED]
        assert 1e-6 < np.abs(visible).max() < 1e3, node.name


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
        "estimate": False,
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


def with_estimates() -> dict[str, Any]:
    """A batch norm over a batch of 11, a rectifier in place, a sum with a table, a view."""
    program = dict(exported())
    estimate = {**program["parameters"][0], "shape": [2], "estimate": True, "trainable": False}
    table = {"name": "net.scale", "names": ["p_scale"], "shape": [2], "dtype": "float32"}
    table |= {"trainable": False, "estimate": False, "statistics": {}, "values": [1.0, 2.0]}
    program["inputs"] = [{"name": "x", "given": "x", "shape": [11, 2, 4], "dtype": "float32"}]
    program["parameters"] = [
        {**estimate, "name": "net.running_mean", "names": ["b_mean"]},
        {**estimate, "name": "net.running_var", "names": ["b_var"]},
        table,
    ]
    alike = {"name": "constant_0", "shape": [11, 1, 1], "dtype": "float32", "values": [0.5] * 11}
    program["constants"] = [alike]
    x, mean, var = ({"value": one} for one in ("x", "b_mean", "b_var"))
    calls = [
        ("norm", "aten.batch_norm.default", [x, {"value": "p_scale"}, None, mean, var, False]),
        ("relu_", "aten.relu_.default", [{"value": "norm"}]),
        ("add", "aten.add.Tensor", [{"value": "norm"}, {"value": "constant_0"}]),
        ("view", "aten.view.default", [{"value": "add"}, [11, 2, 2, 2]]),
    ]
    program["nodes"] = [
        {"name": name, "target": target, "args": args, "kwargs": {}, "scope": "", "outputs": []}
        for name, target, args in calls
    ]
    program["outputs"] = ["view"]
    return program


def test_running_estimates_are_constants_with_values_of_their_own() -> None:
    graph = import_graph(with_estimates(), name="small", initialise=sane)
    mean, var = (graph.input_by_name[f"net_running_{one}"] for one in ("mean", "var"))
    assert (mean.role, var.role) == ("constant", "constant")
    assert mean.init == Random("normal", 1, (("mean", 0.0), ("std", 0.05)))
    assert var.init == Random("uniform", 2, (("low", 0.5), ("high", 1.5)))


def test_a_table_that_is_not_trained_keeps_its_values_and_is_counted() -> None:
    graph = import_graph(with_estimates(), name="small", initialise=sane)
    table = graph.input_by_name["net_scale"]
    assert (table.role, table.requires_grad) == ("weight", False)
    assert table.init == Literal((1.0, 2.0))
    assert (parameter_count(graph), trainable_count(graph)) == (2, 0)


def test_what_reads_a_value_after_it_was_written_reads_what_was_written() -> None:
    graph = import_graph(with_estimates(), name="small")
    by_op = {node.op: node for node in graph.nodes}
    assert by_op["relu_"].operands == (by_op["batch_norm"].name,)
    assert by_op["add"].operands[0] == by_op["relu_"].name


def test_an_export_with_another_batch_gives_the_graph_of_the_batch_asked_for() -> None:
    graph = import_graph(with_estimates(), name="small", batch=2)
    assert graph.input_by_name["x"].type == Dense("float32", (2, 2, 4))
    assert graph.input_by_name["constant_0"].type == Dense("float32", (1, 1, 1))
    assert graph.input_by_name["constant_0"].init == Literal((0.5,))
    view = next(node for node in graph.nodes if node.op == "view")
    assert view.attr("shape") == (-1, 2, 2, 2)
    assert graph.types[graph.outputs[0]] == Dense("float32", (2, 2, 2, 2))


def test_a_constant_that_differs_within_a_batch_is_refused() -> None:
    program = with_estimates()
    program["constants"][0]["values"] = list(map(float, range(11)))
    with pytest.raises(BadInput, match="constant_0"):
        import_graph(program, name="small", batch=2)


def test_no_seed_has_an_extent_known_only_after_running() -> None:
    types = [of for name in COMPACT for of in loaded(name).graph.types.values()]
    extents = [extent for of in types if isinstance(of, Dense) for extent in of.shape]
    assert not any(isinstance(extent, Dynamic) for extent in extents)
