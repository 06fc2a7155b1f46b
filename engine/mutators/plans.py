"""Plans: which gradient is asked for, of which outputs, and what a second call looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Call, Case
from engine.ir.graph import Graph, Input, Node, Random, StoredBlob
from engine.ir.types import Dense
from engine.mutators.edits import Draft
from engine.mutators.sites import dense_of, is_floating, nodes, values
from engine.mutators.spec import BUG_KIND, FLOWMUT_TFG, Edit, Effect, Site, mutator
from engine.mutators.tensors import FLOATING
from engine.ops.spec import OPS
from engine.ops.typing import bind


def _differentiable(graph: Graph, node: Node) -> bool:
    spec = OPS.get(node.op)
    return (
        spec is not None
        and spec.differentiable
        and isinstance(node.type, Dense)
        and is_floating(node.type)
    )


AT_DIFFERENTIABLE = nodes(_differentiable)


def ask_gradient(kind: str) -> Edit:
    """The plan asks for this gradient, with respect to the inputs and to some weights."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        if case.plan.gradient == kind:
            raise ConstraintViolated(f"the plan asks for a {kind} gradient already")
        case = _with_leaves(case, site)
        checks = tuple(dict.fromkeys((*case.plan.checks, "gradients")))
        return replace(case, plan=replace(case.plan, gradient=kind, checks=checks))

    return edit


def _with_leaves(case: Case, site: Site) -> Case:
    """Floating graph inputs, and what the node reads of weights, need a gradient."""
    graph = case.graph
    near = set(graph.by_name[site.nodes[0]].operands) if site.nodes else set()
    near -= {one for node in graph.nodes for one in _fixed(node)}

    def leaf(given: Input) -> Input:
        wanted = given.role == "input" or given.name in near
        floating = isinstance(given.type, Dense) and is_floating(given.type)
        return replace(given, requires_grad=True) if wanted and floating else given

    return case.with_graph(replace(graph, inputs=tuple(leaf(one) for one in graph.inputs)))


def _fixed(node: Node) -> Iterator[str | None]:
    """Operands to which no gradient flows."""
    spec = OPS.get(node.op)
    if spec is not None and spec.fixed:
        given = bind(spec, node.operands)
        yield from (one for name in spec.fixed if isinstance(one := given[name], str))


mutator(
    "subgraph.update.plan.gradient",
    effect=Effect.PRESERVING,
    sites=AT_DIFFERENTIABLE,
    edit={kind: ask_gradient(kind) for kind in ("reverse", "forward", "second")},
    provenance=FLOWMUT_TFG("gradient"),
    example=("plan\n  call", "plan\n  call\n  gradient reverse\n  check values gradients"),
    doc="Ask for a gradient: reverse, forward mode, or second order.",
)


def dead_branch(op: str, *, as_output: bool) -> Edit:
    """A function with an undefined slope, beside the model; the loss does not use it."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        case = ask_gradient("reverse")(case, site, rng) if case.plan.gradient == "none" else case
        draft = Draft(case, rng).after(site.value)
        dead = draft.introduce(op, site.value)
        before = tuple(range(len(draft.outputs)))
        if as_output:
            draft.add_output(dead)
            draft.plan = replace(draft.plan, loss_outputs=draft.plan.loss_outputs or before)
        else:
            nought = draft.full(draft.dense(dead), 0.0)
            mask = draft.emit("gt_scalar", site.value, value=1e30)
            draft.redirect(
                site.value, draft.emit("where", draft.emit("add", dead, nought), site.value, mask)
            )
        return draft.finish()

    return edit


_STEEP = tuple(op for op in ("sqrt", "log", "rsqrt", "reciprocal", "acos", "atanh") if op in OPS)
mutator(
    "subgraph.insertion.dead.output",
    effect=Effect.CHANGING,
    sites=AT_DIFFERENTIABLE,
    edit={op: dead_branch(op, as_output=True) for op in _STEEP},
    provenance=BUG_KIND("gradient of an unused output"),
    example=("return y", "s = sqrt(y)\nreturn y, s"),
    nasty=True,
    doc="A further output with a steep or undefined slope, which the loss leaves out.",
)
mutator(
    "subgraph.insertion.dead.where",
    effect=Effect.PRESERVING,
    sites=AT_DIFFERENTIABLE,
    edit={op: dead_branch(op, as_output=False) for op in _STEEP},
    provenance=BUG_KIND("gradient of an unused branch"),
    example=(
        "y = exp(x)",
        "s = sqrt(x)\nm = gt_scalar(x; value=1e30)\nw = where(s, x, m)\ny = exp(w)",
    ),
    nasty=True,
    doc="A branch with a steep slope that `where` never takes.",
)


def one_output(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The loss uses one of several floating outputs; the others are dead to the gradient."""
    graph = case.graph
    floating = [
        at
        for at, name in enumerate(graph.outputs)
        if (type_ := dense_of(graph, name)) is not None and is_floating(type_)
    ]
    if len(floating) < 2:
        raise ConstraintViolated("there are no two floating outputs to choose from")
    case = ask_gradient("reverse")(case, site, rng) if case.plan.gradient == "none" else case
    chosen = floating[int(rng.integers(len(floating)))]
    return replace(case, plan=replace(case.plan, loss_outputs=(chosen,)))


mutator(
    "subgraph.update.plan.loss",
    effect=Effect.PRESERVING,
    sites=AT_DIFFERENTIABLE,
    edit=one_output,
    provenance=BUG_KIND("gradient of one output"),
    example=("plan\n  gradient reverse", "plan\n  gradient reverse\n  loss 1"),
    doc="Only one of several outputs takes part in the loss.",
)


def extra_output(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """An inner value becomes an output as well."""
    if site.value in case.graph.outputs:
        raise ConstraintViolated(f"{site.value} is an output already")
    draft = Draft(case, rng)
    draft.add_output(site.value)
    return draft.finish()


mutator(
    "tensor.update.output.shown",
    effect=Effect.CHANGING,
    sites=values(lambda type_: True, roles=()),
    edit=extra_output,
    provenance=FLOWMUT_TFG("tap"),
    example=("return y", "return y, a"),
    doc="An inner value is an output too, so that no pass may fuse it away.",
)


# ------------------------------------------------------------------------------ second call
def second_call(change: Callable[[Input, np.random.Generator], Input]) -> Edit:
    """A second call of the compiled function with changed inputs."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        if len(case.plan.calls) > 2:
            raise ConstraintViolated("the plan makes three calls already")
        given = [one for one in case.graph.inputs if one.role == "input" and not one.alias]
        if not given:
            raise ConstraintViolated("the graph has no input that a second call could change")
        changed = tuple(change(one, rng) for one in given)
        plan = replace(case.plan, calls=(*case.plan.calls, Call(changed)))
        return replace(case, plan=plan)

    return edit


def _other_values(given: Input, rng: np.random.Generator) -> Input:
    init = given.init
    if isinstance(init, Random):
        return replace(given, init=replace(init, seed=init.seed + 1 + int(rng.integers(1 << 15))))
    return given


def _other_batch(given: Input, rng: np.random.Generator) -> Input:
    type_ = given.type
    if not isinstance(type_, Dense) or not type_.rank or not isinstance(given.init, Random):
        raise ConstraintViolated(f"{given.name}: it has no batch axis to change")
    return replace(given, type=Dense(type_.dtype, (type_.extents[0] + 1, *type_.extents[1:])))


def _other_extent(given: Input, rng: np.random.Generator) -> Input:
    type_ = given.type
    if not isinstance(type_, Dense) or type_.rank < 2 or not isinstance(given.init, Random):
        raise ConstraintViolated(f"{given.name}: it has no inner axis to change")
    axis = int(rng.integers(1, type_.rank))
    shape = tuple(one * 2 if at == axis else one for at, one in enumerate(type_.extents))
    return replace(given, type=Dense(type_.dtype, shape))


def _other_dtype(given: Input, rng: np.random.Generator) -> Input:
    type_ = given.type
    if not isinstance(type_, Dense) or not is_floating(type_):
        return given
    if isinstance(given.init, StoredBlob):
        raise ConstraintViolated(f"{given.name}: its values are stored as {type_.dtype}")
    wanted = "float64" if type_.dtype != "float64" else "float32"
    return replace(given, type=replace(type_, dtype=wanted))


def _other_layout(given: Input, rng: np.random.Generator) -> Input:
    type_ = given.type
    if not isinstance(type_, Dense) or type_.rank < 2:
        raise ConstraintViolated(f"{given.name}: one axis has one layout")
    return replace(given, layout="strided" if given.layout != "strided" else "contiguous")


mutator(
    "subgraph.update.plan.second_call",
    effect=Effect.PRESERVING,
    sites=FLOATING,
    edit={
        "same_shape": second_call(_other_values),
        "batch": second_call(_other_batch),
        "extent": second_call(_other_extent),
        "dtype": second_call(_other_dtype),
        "layout": second_call(_other_layout),
    },
    provenance=BUG_KIND("second call"),
    example=("plan\n  call", "plan\n  call\n  call x: float32[3,4] = normal(seed=7)"),
    doc="The same function again: other values, another batch, shape, dtype or layout.",
)
