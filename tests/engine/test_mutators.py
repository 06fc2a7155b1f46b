"""Every row of the mutator table: it applies, its mutants are sound, it does what it claims."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import numpy as np
import pytest

from engine.errors import BadInput, ConstraintViolated
from engine.executors.lowering import Unsupported, lower
from engine.executors.reference import evaluate
from engine.ir.case import Case
from engine.ir.check import check
from engine.ir.digest import case_digest
from engine.ir.graph import Node
from engine.ir.text import parse_case, print_case
from engine.ir.types import dense
from engine.ir.values import materialise
from engine.mutators import MUTATORS, Effect, Mutator
from engine.mutators.apply import Mutant, apply, touched
from engine.mutators.edits import Draft
from engine.mutators.examples import shown
from engine.mutators.spec import Provenance, Site, mutator, pool_variants
from engine.ops.typing import retype
from tests.engine.mutation_cases import FIXTURE, applied, cases_for, plain

ROWS = sorted(MUTATORS)


@cache
def parent_and_mutants(name: str) -> tuple[Case, tuple[Mutant, ...]]:
    """The first case in which a row makes mutants, and one of each variant that does there."""
    row = MUTATORS[name]
    for case in cases_for(row):
        mutants = tuple(applied(row, case))
        if mutants:
            return case, mutants
    raise AssertionError(f"{name} makes no mutant of any case")


@pytest.mark.parametrize("name", ROWS)
def test_a_row_makes_sound_mutants(name: str) -> None:
    parent, mutants = parent_and_mutants(name)
    for mutant in mutants:
        check(mutant.case)
        assert retype(mutant.case.graph) == mutant.case.graph, "every type is as inferred"
        assert parse_case(print_case(mutant.case)) == mutant.case
        assert mutant.case.claim == MUTATORS[name].effect.value
        assert mutant.changed == touched(parent.graph, mutant.case.graph)


@pytest.mark.parametrize("name", ROWS)
def test_a_mutant_is_written_otherwise_than_its_parent(name: str) -> None:
    parent, mutants = parent_and_mutants(name)
    for mutant in mutants:
        if (mutant.case.plan, mutant.case.graph.inputs) != (parent.plan, parent.graph.inputs):
            continue
        pairs = [(source(parent, one), source(mutant.case, one)) for one in ("torch", "mindspore")]
        assert any(before != after for before, after in pairs), f"{mutant.variant} changes nothing"


def source(case: Case, framework: str) -> str:
    try:
        return lower(case, framework).source
    except Unsupported as reason:
        return str(reason)


@pytest.mark.parametrize("name", ROWS)
def test_the_same_random_seed_gives_the_same_mutant(name: str) -> None:
    row = MUTATORS[name]
    parent, mutants = parent_and_mutants(name)
    again = tuple(applied(row, parent, variants=3))
    first = [one for one in mutants if one.variant in list(row.variants)[:3]]
    assert [one.case for one in again] == [one.case for one in first]


@pytest.mark.parametrize("name", [one for one in ROWS if MUTATORS[one].effect is Effect.PRESERVING])
def test_a_preserving_row_preserves(name: str) -> None:
    parent, mutants = parent_and_mutants(name)
    before = evaluate(parent.graph, materialise(parent.graph, {}), dtype="float64")
    for mutant in mutants:
        graph = mutant.case.graph
        after = evaluate(graph, materialise(graph, {}), dtype="float64")
        for was, now in zip(parent.graph.outputs, graph.outputs, strict=False):
            assert before[was].shape == after[now].shape, mutant.variant
            np.testing.assert_allclose(
                np.asarray(after[now], dtype=float),
                np.asarray(before[was], dtype=float),
                rtol=1e-6,
                atol=1e-7,
                err_msg=f"{mutant.variant} at {mutant.site}",
            )


@pytest.mark.parametrize("name", [one for one in ROWS if MUTATORS[one].effect is Effect.CHANGING])
def test_a_changing_row_still_runs_on_the_reference(name: str) -> None:
    _, mutants = parent_and_mutants(name)
    for mutant in mutants:
        graph = mutant.case.graph
        found = evaluate(graph, materialise(graph, {}))
        assert set(graph.outputs) <= set(found) | {f"{one}.0" for one in graph.outputs}


@pytest.mark.parametrize("name", ROWS)
def test_the_example_of_a_row_runs(name: str) -> None:
    before, after = shown(MUTATORS[name])
    assert before != after
    assert after


def test_no_row_makes_only_mutants_that_other_rows_make() -> None:
    made: dict[str, set[str]] = {}
    for name in ROWS:
        mutants = applied(MUTATORS[name], FIXTURE, variants=6)
        strip = (lambda case: case) if ".form" in name else plain
        made[name] = {case_digest(strip(one.case)) for one in mutants}
    owners = defaultdict(set)
    for name, digests in made.items():
        for one in digests:
            owners[one].add(name)
    copies = {
        name: sorted(set().union(*(owners[one] for one in digests)) - {name})
        for name, digests in made.items()
        if digests and all(len(owners[one]) > 1 for one in digests)
    }
    assert not copies


def test_variants_are_as_many_as_the_pools_promise() -> None:
    assert len(pool_variants("full")) >= 150
    assert len(pool_variants("CG")) >= 100
    assert len(pool_variants("TFG")) >= 60
    assert len(MUTATORS) >= 80
    assert {row.cell for row in MUTATORS.values()} >= {
        ("tensor", "update"),
        ("operator", "insertion"),
        ("interface", "rewiring"),
        ("subgraph", "deletion"),
    }


def test_every_object_and_primitive_is_served() -> None:
    assert {row.object for row in MUTATORS.values()} == {
        "tensor",
        "operator",
        "interface",
        "subgraph",
    }
    assert {row.primitive for row in MUTATORS.values()} == {
        "update",
        "insertion",
        "deletion",
        "rewiring",
    }


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_where_it_comes_from_and_what_it_does(name: str) -> None:
    row = MUTATORS[name]
    assert row.provenance.source
    assert row.provenance.pools
    assert row.doc.endswith(".")
    assert row.example[0] != row.example[1]


def test_an_unknown_pool_is_named() -> None:
    with pytest.raises(BadInput, match="pool: saw abc, expected full or CG or TFG"):
        pool_variants("abc")


def test_a_value_that_is_overwritten_is_not_shown() -> None:
    text = """case 1

graph written
  input x: float32[2] = [1.0, 2.0]
  a: float32[2] = clone(x)
  b: float32[2] = add_(a, x) writes a
  return b

plan
  call
  check values
"""
    draft = Draft(parse_case(text), np.random.default_rng(0))
    with pytest.raises(ConstraintViolated, match="a is overwritten before the graph returns"):
        draft.add_output("a")


def test_a_second_call_takes_stored_values_in_no_other_dtype() -> None:
    text = f"""case 1

graph stored
  input x: float32[2] = blob {"0" * 64}
  a: float32[2] = relu(x)
  return a

plan
  call
  check values
"""
    row = MUTATORS["subgraph.update.plan.second_call"]
    with pytest.raises(ConstraintViolated, match="x: its values are stored as float32"):
        row.variants["dtype"](parse_case(text), Site(value="x"), np.random.default_rng(0))


def test_an_edit_that_changes_nothing_is_refused() -> None:
    row = Mutator(
        "tensor.update.nothing",
        Effect.PRESERVING,
        MUTATORS["tensor.insertion.copy"].sites,
        {"": lambda case, site, rng: case},
        Provenance("test", "", ()),
        ("", ""),
    )
    site = next(iter(row.sites(FIXTURE)))
    with pytest.raises(ConstraintViolated, match="changes nothing"):
        apply(FIXTURE, row, "", site, np.random.default_rng(0))


def test_a_name_that_is_no_cell_is_refused() -> None:
    with pytest.raises(AssertionError, match="unknown object"):
        mutator(
            "model.update.x",
            effect=Effect.CHANGING,
            sites=lambda case: iter(()),
            edit=lambda case, site, rng: case,
            provenance=Provenance("test", "", ()),
            example=("", ""),
        )


class TestDraft:
    """The workbench of edits."""

    def draft(self) -> Draft:
        return Draft(FIXTURE, np.random.default_rng(0))

    def test_names_of_added_nodes_are_new(self) -> None:
        draft = self.draft().after("v1")
        made = draft.emit("neg", "v1")
        assert made not in FIXTURE.graph.types
        assert draft.nodes[2].name == made

    def test_uses_before_the_cursor_are_left_alone(self) -> None:
        draft = self.draft().after("v2")
        made = draft.emit("neg", "v1")
        draft.redirect("v1", made)
        assert draft.node("v2").operands[0] == "v1"
        assert draft.node("v22").operands[0] == made

    @pytest.mark.parametrize(
        "shape", [(2, 64), (128,), (3, 5, 7), (1,), (2, 1, 64), (4, 2, 64), ()]
    )
    def test_any_value_fits_any_type(self, shape: tuple[int, ...]) -> None:
        draft = self.draft().after("v11")
        made = draft.fit("v11", dense("float16", *shape))
        assert draft.types[made] == dense("float16", *shape)
        check(draft.finish())

    def test_a_revised_node_keeps_its_name_and_its_users_their_type(self) -> None:
        draft = self.draft()
        node = FIXTURE.graph.by_name["v0"]
        draft.revise(node.with_attrs(stride=2))
        graph = retype(draft.finish().graph)
        assert graph.types["v0"] != FIXTURE.graph.types["v0"]
        assert graph.types["v1"] == FIXTURE.graph.types["v1"]

    def test_pruning_keeps_what_is_written(self) -> None:
        draft = self.draft().after("v15")
        copy = draft.emit("clone", "v15")
        draft.emit("neg", "v15")
        draft.put(Node(draft.fresh(), "zero_", (copy,), draft.types[copy]))
        draft.prune()
        ops = [node.op for node in draft.nodes]
        assert "zero_" in ops
        assert "clone" in ops
        assert ops.count("neg") == 0


def test_a_float_gets_an_imaginary_part_and_a_complex_value_is_read_as_its_real_part() -> None:
    text = "case 1\ngraph g\ninput x: float64[2] = normal(seed=1)\nv: float64[2] = neg(x)\nreturn v"
    draft = Draft(parse_case(text), np.random.default_rng(0)).after("v")
    made = draft.cast("v", "complex64")
    back = draft.cast(made, "float64")
    draft.add_output(back)
    graph = draft.finish().graph
    assert graph.by_name[made].op == "complex"
    assert graph.types[made] == dense("complex64", 2)
    assert graph.types[back] == dense("float64", 2)
    assert graph.by_name[back].op == "cast"
    found = evaluate(graph, materialise(graph.inputs))
    assert np.iscomplexobj(found[made])
    assert (np.imag(found[made]) != 0).any()
    np.testing.assert_array_equal(found[back], found["v"].astype(np.float32).astype(np.float64))
