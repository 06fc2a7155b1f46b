"""Constraints: input, internal, output, effects, domains and size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.constraints import Budget, alias_classes, effect_violations, settle, violations
from engine.errors import ConstraintViolated
from engine.ir.case import Case, Plan
from engine.ir.graph import Node
from engine.ir.text import parse_case
from engine.ir.types import dense
from engine.mutators import Effect, Mutator, Site
from engine.mutators.apply import Refused, apply, touched
from engine.mutators.edits import Draft
from engine.mutators.spec import Edit, Provenance
from tests.engine.mutation_cases import FIXTURE
from tests.engine.test_tfg import Seen

GRAPH = FIXTURE.graph


def found(mutant: Case, **options: object) -> list[str]:
    changed = touched(GRAPH, mutant.graph)
    return [one.kind for one in violations(FIXTURE, mutant, changed, **options)]  # type: ignore[arg-type]


def broken(name: str, **changes: object) -> Case:
    node = replace(GRAPH.by_name[name], **changes)  # type: ignore[arg-type]
    return FIXTURE.with_graph(GRAPH.with_node(node))


def added(*nodes: Node, uses: tuple[str, str] | None = None) -> Case:
    """The fixture with nodes put before v16, which may read a new value."""
    listed = []
    for node in GRAPH.nodes:
        if node.name == "v16":
            listed += nodes
            if uses is not None:
                node = replace(node, operands=(uses[1],))
        listed.append(node)
    return FIXTURE.with_graph(GRAPH.with_nodes(listed))


def test_a_touched_node_that_outside_values_do_not_fit_breaks_an_input_constraint() -> None:
    assert found(broken("v3", operands=("v2", "w0", None))) == ["input"]


def test_a_new_node_that_new_values_do_not_fit_breaks_an_internal_constraint() -> None:
    made = (
        Node("n0", "neg", ("x",), dense("float32", 2, 3, 8, 8)),
        Node("n1", "matmul", ("n0", "w0"), dense("float32", 2, 3, 8, 8)),
    )
    assert found(added(*made)) == ["internal"]


def test_a_user_that_a_changed_value_does_not_fit_breaks_an_output_constraint() -> None:
    cut = Node(
        "n0",
        "slice",
        ("v15",),
        dense("float32", 2, 3, 8, 4),
        (("dim", 3), ("start", 0), ("step", 1), ("stop", 4)),
        views="v15",
    )
    nodes = list(added(cut).graph.nodes)
    user = Node("n1", "add", ("n0", "v15"), dense("float32", 2, 3, 8, 8))
    parent = FIXTURE.with_graph(
        GRAPH.with_nodes(
            [*GRAPH.nodes, replace(user, operands=("v16", "v15"))], (*GRAPH.outputs, "n1")
        )
    )
    at = next(place for place, node in enumerate(nodes) if node.name == "v16")
    nodes[at] = replace(nodes[at], operands=("n0",))
    mutant = FIXTURE.with_graph(
        GRAPH.with_nodes([*nodes, replace(user, operands=("v16", "v15"))], (*GRAPH.outputs, "n1"))
    )
    changed = touched(parent.graph, mutant.graph)
    assert [one.kind for one in violations(parent, mutant, changed)] == ["output"]


def test_each_kind_can_be_switched_off() -> None:
    mutant = broken("v3", operands=("v2", "w0", None))
    assert found(mutant, off=("input",)) == []
    assert found(mutant, off=("internal", "output")) == ["input"]


def test_a_node_that_refuses_its_operands_keeps_its_type() -> None:
    mutant = broken("v3", operands=("v2", "w0", None))
    graph, refused = settle(mutant.graph, ("v3",), GRAPH)
    assert graph.types["v3"] == GRAPH.types["v3"]
    assert refused[0].node == "v3"


def test_types_are_inferred_in_the_cone_alone() -> None:
    stride = broken(
        "v0",
        attrs=(*(one for one in GRAPH.by_name["v0"].attrs if one[0] != "stride"), ("stride", 2)),
    )
    graph, _ = settle(stride.graph, ("v0",), GRAPH)
    assert graph.types["v1"] == dense("float32", 2, 4, 4, 4)
    assert graph.by_name["v16"] is GRAPH.by_name["v16"]


WRITES = """
case 1

graph writes
  input x: float32[4,4] = normal(seed=0, mean=0.0, std=1.0) {extra}
  a: float32[4,4] = clone(x)
  b: float32[4] = select(a; dim=0, index=1) views a
  {write}
  d: float32[4,4] = neg({read})
  return d

plan
  call
"""


def writing(write: str, read: str, extra: str = "") -> Case:
    return parse_case(WRITES.format(write=write, read=read, extra=extra))


def refused(case: Case, *, aliasing: bool = False) -> list[str]:
    changed = [node.name for node in case.graph.nodes if node.writes]
    return [str(one) for one in effect_violations(case, changed, aliasing=aliasing)]


def test_reading_a_base_after_its_view_was_written_is_refused_unless_it_is_meant() -> None:
    case = writing("c: float32[4] = zero_(b) writes b", "a")
    (reason,) = refused(case)
    assert "writes into b, whose storage d reads later as a" in reason
    assert refused(case, aliasing=True) == []


def test_reading_the_new_version_is_fine() -> None:
    assert refused(writing("c: float32[4,4] = zero_(a) writes a", "c")) == []


def test_reading_a_consumed_version_is_refused_even_where_aliasing_is_meant() -> None:
    case = writing("c: float32[4,4] = zero_(a) writes a", "a")
    assert refused(case, aliasing=True)


def test_writing_an_input_that_needs_a_gradient_is_refused() -> None:
    case = writing("c: float32[4,4] = zero_(x) writes x", "a", "requires_grad")
    case = replace(case, plan=Plan(gradient="reverse"))
    assert any("a leaf that needs a gradient" in one for one in refused(case))


FORMS = """
case 1

graph forms
  input x: float32[4,4] = normal(seed=0, mean=0.0, std=1.0) requires_grad
  a: float32[4,4] = clone(x)
  b: float32[4,4] = {op}
  return b

plan
  call
  gradient reverse
  check values gradients
"""


@pytest.mark.parametrize(
    ("op", "form", "said"),
    [
        ("transpose(x; dim0=0, dim1=1) views x", "inplace", "changes a view of x"),
        ("transpose(a; dim0=0, dim1=1) views a", "inplace", ""),
        ("transpose(x; dim0=0, dim1=1) views x", "function", ""),
        ("qr_r(x)", "keyword", "has no gradient"),
        ("qr_r(x)", "function", ""),
    ],
)
def test_a_form_without_a_gradient_is_refused_where_one_is_asked_for(
    op: str, form: str, said: str
) -> None:
    case = parse_case(FORMS.format(op=op))
    node = case.graph.by_name["b"].with_form("torch", form)
    case = case.with_graph(case.graph.with_node(node))
    reasons = [one.message for one in violations(case, case, ("b",))]
    assert [said in one for one in reasons] == ([True] if said else [])


def test_writing_an_expanded_view_is_refused() -> None:
    spread = "e: float32[2,4,4] = expand(a; shape=(2, 4, 4)) views a"
    case = writing(f"{spread}\n  c: float32[2,4,4] = zero_(e) writes e", "x")
    assert any("whose elements overlap" in one for one in refused(case))


def test_storage_is_named_by_its_oldest_value() -> None:
    case = writing("c: float32[4] = zero_(b) writes b", "a")
    classes = alias_classes(case.graph)
    assert classes["b"] == classes["c"] == classes["a"] == "a"
    assert classes["x"] == "x"


def test_an_operator_outside_its_domain_is_refused_where_the_values_are_known() -> None:
    log = Node("n0", "log", ("v15",), dense("float32", 2, 3, 8, 8))
    mutant = added(log, uses=("v15", "n0"))
    facts = {"v15": Seen(shape=(2, 3, 8, 8), summary={"min": -3.0, "max": 3.0})}
    assert "input" in found(mutant, facts=facts)
    assert found(mutant, facts=facts, nasty=True) == []
    assert found(mutant) == []
    assert found(mutant, facts={"v15": Seen(summary={"min": 0.5, "max": 3.0})}) == []


def test_a_mutant_may_not_outgrow_its_budget() -> None:
    nodes = [Node(f"n{at}", "neg", ("x",), dense("float32", 2, 3, 8, 8)) for at in range(5)]
    assert found(added(*nodes), budget=Budget(extra_nodes=4)) == ["budget"]
    assert found(added(*nodes), budget=Budget(extra_nodes=5)) == []
    assert found(added(*nodes), budget=Budget(elements=100)) == ["budget"] * 5
    assert found(
        added(*nodes), budget=Budget(extra_nodes=4), off=("input", "internal", "output")
    ) == ["budget"]


def test_a_mutant_may_not_lose_an_output() -> None:
    mutant = FIXTURE.with_graph(replace(GRAPH, outputs=GRAPH.outputs[:-1]))
    assert found(mutant) == ["output"]


def test_a_gradient_needs_a_floating_output() -> None:
    mutant = replace(FIXTURE, plan=Plan(gradient="reverse", loss_outputs=(1,)))
    assert found(mutant) == ["output"]


def test_a_refusal_says_which_constraint() -> None:
    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after("v15")
        draft.redirect("v15", draft.emit("log", "v15"))
        return draft.finish()

    row = a_row(edit)
    facts = {"v15": Seen(shape=(2, 3, 8, 8), summary={"min": -3.0, "max": 3.0})}
    with pytest.raises(Refused, match="log has no finite value on all of") as caught:
        apply(FIXTURE, row, "", Site(value="v15"), np.random.default_rng(0), facts=facts)
    assert caught.value.violation.kind == "input"
    assert isinstance(caught.value, ConstraintViolated)


def a_row(edit: Edit) -> Mutator:
    return Mutator(
        "tensor.update.test",
        Effect.CHANGING,
        lambda case: iter(()),
        {"": edit},
        Provenance("test", "", ()),
        ("", ""),
    )
