"""Subgraphs: identities, fusion and its inverse, residuals, deletion, other wiring."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Graph, Node
from engine.ir.types import Dense, is_float
from engine.mutators.edits import Draft
from engine.mutators.operators import of_family
from engine.mutators.sites import (
    chains,
    dense_of,
    is_floating,
    is_integral,
    nodes,
    same_type_pairs,
    values,
)
from engine.mutators.spec import (
    ALGEBRA,
    DEVMUT,
    FLOWMUT_CG,
    FLOWMUT_TFG,
    LEMON,
    MODELMETA,
    Edit,
    Effect,
    Provenance,
    Site,
    mutator,
)
from engine.mutators.tensors import FLOATING, SPREAD, through
from engine.ops.shape import only_splits
from engine.ops.spec import OPS

Make = Callable[[Draft, str], str]


def _axis(draft: Draft, value: str, *, longer_than: int = 0) -> int:
    shape = draft.shape(value)
    axes = [axis for axis, extent in enumerate(shape) if extent > longer_than]
    if not axes:
        raise ConstraintViolated(f"{value}: no axis is longer than {longer_than}")
    return axes[int(draft.rng.integers(len(axes)))]


def row(
    name: str,
    make: Make | dict[str, Make],
    *,
    law: str,
    example: tuple[str, str],
    exact: bool = True,
) -> None:
    """A row of identities at any floating value of rank 1 or more."""
    several = make if isinstance(make, dict) else {"": make}
    mutator(
        name,
        effect=Effect.PRESERVING if exact else Effect.CHANGING,
        sites=RANKED,
        edit={variant: through(one) for variant, one in several.items()},
        provenance=ALGEBRA(law),
        example=example,
        doc=f"An identity: {law}.",
    )


RANKED = values(lambda type_: is_floating(type_) and type_.rank >= 1 and type_.elements > 0)


# ------------------------------------------------------------------------------ identities
def _transposed_twice(draft: Draft, value: str) -> str:
    rank = len(draft.shape(value))
    first, second = int(draft.rng.integers(rank)), int(draft.rng.integers(rank))
    there = draft.emit("transpose", value, dim0=first, dim1=second)
    return draft.emit("transpose", there, dim0=second - rank, dim1=first)


def _reshaped_twice(draft: Draft, value: str) -> str:
    shape = draft.shape(value)
    there = draft.emit("reshape", value, shape=(math.prod(shape),))
    return draft.emit("reshape", there, shape=shape)


def _viewed_and_flattened(draft: Draft, value: str) -> str:
    shape = draft.shape(value)
    there = draft.emit("flatten", value, start_dim=0, end_dim=-1)
    return draft.emit("view", draft.emit("contiguous", there), shape=shape)


def _split_and_joined(draft: Draft, value: str) -> str:
    axis = _axis(draft, value, longer_than=1)
    extent = draft.shape(value)[axis]
    first = int(draft.rng.integers(1, extent))
    pieces = draft.parts(draft.emit("split", value, sizes=(first, extent - first), dim=axis))
    return draft.emit("cat", *pieces, dim=axis)


def _unbound_and_stacked(draft: Draft, value: str) -> str:
    shape = draft.shape(value)
    axes = [axis for axis, extent in enumerate(shape) if 1 <= extent <= 4]
    if not axes:
        raise ConstraintViolated(f"{value}: no axis is short enough to be unbound")
    axis = axes[int(draft.rng.integers(len(axes)))]
    return draft.emit("stack", *draft.parts(draft.emit("unbind", value, dim=axis)), dim=axis)


def _squeezed(draft: Draft, value: str) -> str:
    axis = int(draft.rng.integers(len(draft.shape(value)) + 1))
    return draft.emit("squeeze", draft.emit("unsqueeze", value, dim=axis), dim=axis)


def _flipped_twice(draft: Draft, value: str) -> str:
    axis = _axis(draft, value)
    return draft.emit("flip", draft.emit("flip", value, dims=(axis,)), dims=(axis,))


def _rolled_twice(draft: Draft, value: str) -> str:
    axis = _axis(draft, value)
    there = draft.emit("roll", value, shift=1, dim=axis)
    return draft.emit("roll", there, shift=-1, dim=axis)


def _negated_twice(draft: Draft, value: str) -> str:
    return draft.emit("neg", draft.emit("neg", value))


def _doubled_and_halved(draft: Draft, value: str) -> str:
    """Exact in binary floating point away from overflow and denormals."""
    return draft.emit("mul_scalar", draft.emit("mul_scalar", value, value=2.0), value=0.5)


def _with_itself(op: str) -> Make:
    return lambda draft, value: draft.emit(op, value, value)


def _selected(draft: Draft, value: str) -> str:
    """where(c, x, x) is x whatever c is."""
    other = draft.emit("clone", value)
    return draft.emit("where", value, other, draft.emit("gt_scalar", value, value=0.0))


def _positive_and_negative(draft: Draft, value: str) -> str:
    """relu(x) - relu(-x) is x."""
    right = draft.emit("relu", value)
    return draft.emit("sub", right, draft.emit("relu", draft.emit("neg", value)))


def _sign_and_magnitude(draft: Draft, value: str) -> str:
    return draft.emit("copysign", draft.emit("abs", value), value)


row(
    "subgraph.insertion.identity.moving",
    {
        "transpose": _transposed_twice,
        "reshape": _reshaped_twice,
        "flatten_view": _viewed_and_flattened,
        "split_cat": _split_and_joined,
        "unbind_stack": _unbound_and_stacked,
        "unsqueeze_squeeze": _squeezed,
        "flip": _flipped_twice,
        "roll": _rolled_twice,
    },
    law="a move and its inverse",
    example=(
        "y = relu(x)",
        "a = reshape(x; shape=(6,))\nb = reshape(a; shape=(2, 3))\ny = relu(b)",
    ),
)
row(
    "subgraph.insertion.identity.exact",
    {
        "neg": _negated_twice,
        "scale": _doubled_and_halved,
        "maximum": _with_itself("maximum"),
        "minimum": _with_itself("minimum"),
        "where": _selected,
        "relu_pair": _positive_and_negative,
        "copysign": _sign_and_magnitude,
    },
    law="arithmetic that loses nothing",
    example=("y = exp(x)", "a = neg(x)\nb = neg(a)\ny = exp(b)"),
)


def _exp_log(draft: Draft, value: str) -> str:
    held = draft.bounded(value)
    return draft.emit("log", draft.emit("exp", held))


def _square_root(draft: Draft, value: str) -> str:
    return draft.emit("sqrt", draft.emit("square", value))


def _inverse_tanh(draft: Draft, value: str) -> str:
    return draft.emit("atanh", draft.emit("tanh", draft.bounded(value, -2.0, 2.0)))


row(
    "subgraph.insertion.identity.bounded",
    {"exp_log": _exp_log, "square_sqrt": _square_root, "tanh_atanh": _inverse_tanh},
    law="a function and its inverse, on what it is defined for",
    example=("y = relu(x)", "c = clamp(x; min=-4.0, max=4.0)\na = exp(c)\nb = log(a)\ny = relu(b)"),
    exact=False,
)


# ------------------------------------------------------------------------------ bounded zero terms
def _zero_term(make: Make) -> Make:
    """x + 0 * f(x), with f bounded: nothing changes, and f is computed all the same."""

    def full(draft: Draft, value: str) -> str:
        side = draft.bounded(draft.fit(make(draft, value), draft.dense(value)), -1.0, 1.0)
        return draft.emit("add", value, draft.emit("mul_scalar", side, value=0.0))

    return full


row(
    "subgraph.insertion.zero_term",
    {
        op: _zero_term(lambda draft, value, op=op: draft.introduce(op, draft.admit(op, value)))  # type: ignore[misc]
        for op in ("tanh", "sigmoid", "sin", "relu", "erf", "atan", "silu", "softsign")
        if op in OPS
    },
    law="x + 0 f(x) is x where f is finite",
    example=("y = exp(x)", "a = tanh(x)\nb = mul_scalar(a; value=0.0)\nc = add(x, b)\ny = exp(c)"),
)


def residual(scale: float, op: str) -> Make:
    """x + scale * f(x), f bounded."""

    def make(draft: Draft, value: str) -> str:
        made = draft.introduce(op, draft.admit(op, value))
        return draft.fold_back(value, draft.parts(made, most=1)[0], factor=scale)

    return make


mutator(
    "subgraph.insertion.residual",
    effect=Effect.CHANGING,
    sites=FLOATING,
    edit={
        f"{op}.{name}": through(residual(scale, op))
        for op in ("relu", "tanh", "sigmoid", "gelu", "softmax")
        if op in OPS
        for name, scale in (("half", 0.5), ("minus", -0.25))
    },
    provenance=FLOWMUT_CG("residual"),
    example=("y = exp(x)", "a = relu(x)\nb = mul_scalar(a; value=0.5)\nc = add(x, b)\ny = exp(c)"),
    doc="A bounded residual branch round an activation.",
)
mutator(
    "subgraph.insertion.reassociation",
    effect=Effect.CHANGING,
    sites=nodes(ops={"add", "mul"}),
    edit=lambda case, site, rng: reassociate(case, site, rng),
    provenance=ALGEBRA("associativity"),
    example=("a = add(x, y)\nb = add(a, z)", "a = add(y, z)\nb = add(x, a)"),
    doc="(x + y) + z becomes x + (y + z), for sums and products; rounding may differ.",
)


def reassociate(case: Case, site: Site, rng: np.random.Generator) -> Case:
    node = case.graph.by_name[site.nodes[0]]
    first = case.graph.by_name.get(node.operands[0] or "")
    if first is None or first.op != node.op:
        raise ConstraintViolated(f"{node.name}: its first operand is no {node.op}")
    draft = Draft(case, rng).before(node.name)
    right = draft.emit(node.op, first.operands[1], node.operands[1])
    draft.replace_by(node.name, draft.emit(node.op, first.operands[0], right))
    return draft.finish()


# ------------------------------------------------------------------------------ fusion
def rebuilt(make: Callable[[Draft, Node], str]) -> Edit:
    """The last node of the site computed another way."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[-1]]
        draft = Draft(case, rng).before(node.name)
        made = make(draft, node)
        if draft.types[made] != node.type:
            raise ConstraintViolated(
                f"{node.name}: rebuilt as {draft.types[made]}, was {node.type}"
            )
        draft.replace_by(node.name, made)
        return draft.finish()

    return edit


def _operand(node: Node, slot: int = 0) -> str:
    found = node.operands[slot] if slot < len(node.operands) else None
    if found is None:
        raise ConstraintViolated(f"{node.name}: operand {slot} is absent")
    return found


def _log_of_softmax(draft: Draft, node: Node) -> str:
    soft = draft.emit("softmax", _operand(node), dim=node.attr("dim"))
    return draft.emit("log", soft)


def _softmax_by_parts(draft: Draft, node: Node) -> str:
    x, dim = _operand(node), node.attr("dim")
    top = draft.emit("amax", x, dim=dim, keepdim=True)
    raised = draft.emit("exp", draft.emit("sub", x, top))
    return draft.emit("div", raised, draft.emit("sum", raised, dim=dim, keepdim=True))


def _softmax_of_log(draft: Draft, node: Node) -> str:
    return draft.emit("exp", draft.emit("log_softmax", _operand(node), dim=node.attr("dim")))


def _silu_by_parts(draft: Draft, node: Node) -> str:
    x = _operand(node)
    return draft.emit("mul", x, draft.emit("sigmoid", x))


def _sigmoid_by_parts(draft: Draft, node: Node) -> str:
    grown = draft.emit("exp", draft.emit("neg", _operand(node)))
    return draft.emit("reciprocal", draft.emit("add_scalar", grown, value=1.0))


def _sigmoid_by_tanh(draft: Draft, node: Node) -> str:
    half = draft.emit("tanh", draft.scaled(_operand(node), 0.5))
    return draft.scaled(draft.emit("add_scalar", half, value=1.0), 0.5)


def _tanh_by_sigmoid(draft: Draft, node: Node) -> str:
    risen = draft.emit("sigmoid", draft.scaled(_operand(node), 2.0))
    return draft.emit("sub_scalar", draft.scaled(risen, 2.0), value=1.0)


def _relu_by_maximum(draft: Draft, node: Node) -> str:
    x = _operand(node)
    return draft.emit("maximum", x, draft.full(draft.dense(x), 0.0))


def _relu_by_mask(draft: Draft, node: Node) -> str:
    x = _operand(node)
    return draft.emit("masked_fill", x, draft.emit("le_scalar", x, value=0.0), value=0.0)


def _relu_by_clamp(draft: Draft, node: Node) -> str:
    return draft.emit("clamp", _operand(node), min=0.0, max=None)


def _gelu_by_erf(draft: Draft, node: Node) -> str:
    if dict(node.attrs).get("approximate", "none") != "none":
        raise ConstraintViolated(f"{node.name}: not the exact gelu")
    x = _operand(node)
    bell = draft.emit("erf", draft.scaled(x, 1 / math.sqrt(2.0)))
    return draft.emit("mul", draft.scaled(x, 0.5), draft.emit("add_scalar", bell, value=1.0))


def _linear_by_matmul(draft: Draft, node: Node) -> str:
    made = draft.emit(
        "matmul", _operand(node), draft.emit("transpose", _operand(node, 1), dim0=0, dim1=1)
    )
    bias = node.operands[2] if len(node.operands) > 2 else None
    return made if bias is None else draft.emit("add", made, bias)


def _matmul_by_linear(draft: Draft, node: Node) -> str:
    y = _operand(node, 1)
    if len(draft.shape(y)) != 2:
        raise ConstraintViolated(f"{y}: a weight has two axes")
    return draft.emit("linear", _operand(node), draft.emit("transpose", y, dim0=0, dim1=1), None)


def _matmul_by_sum(draft: Draft, node: Node) -> str:
    x, y = _operand(node), _operand(node, 1)
    if len(draft.shape(x)) < 2 or len(draft.shape(y)) != 2:
        raise ConstraintViolated(f"{node.name}: expected a matrix on the right")
    left = draft.emit("unsqueeze", x, dim=-1)
    return draft.emit("sum", draft.emit("mul", left, y), dim=-2, keepdim=False)


def _layer_norm_by_parts(draft: Draft, node: Node) -> str:
    x, attrs = _operand(node), dict(node.attrs)
    weight = node.operands[1] if len(node.operands) > 1 else None
    bias = node.operands[2] if len(node.operands) > 2 else None
    dims = tuple(range(-int(str(attrs["axes"])), 0))
    mean = draft.emit("mean", x, dim=dims, keepdim=True)
    centred = draft.emit("sub", x, mean)
    spread = draft.emit("mean", draft.emit("square", centred), dim=dims, keepdim=True)
    scale = draft.emit("rsqrt", draft.emit("add_scalar", spread, value=attrs["eps"]))
    made = draft.emit("mul", centred, scale)
    made = made if weight is None else draft.emit("mul", made, weight)
    return made if bias is None else draft.emit("add", made, bias)


def _rms_norm_by_parts(draft: Draft, node: Node) -> str:
    x, attrs = _operand(node), dict(node.attrs)
    weight = node.operands[1] if len(node.operands) > 1 else None
    dims = tuple(range(-int(str(attrs["axes"])), 0))
    spread = draft.emit("mean", draft.emit("square", x), dim=dims, keepdim=True)
    scale = draft.emit("rsqrt", draft.emit("add_scalar", spread, value=attrs["eps"]))
    made = draft.emit("mul", x, scale)
    return made if weight is None else draft.emit("mul", made, weight)


def _attention_by_parts(draft: Draft, node: Node) -> str:
    q, k, v = (_operand(node, slot) for slot in range(3))
    mask = node.operands[3] if len(node.operands) > 3 else None
    attrs = dict(node.attrs)
    if mask is not None or attrs["is_causal"] or attrs["gqa"]:
        raise ConstraintViolated(f"{node.name}: only plain attention is taken apart")
    scale = draft.shape(q)[-1] ** -0.5
    scores = draft.emit("matmul", q, draft.emit("transpose", k, dim0=-2, dim1=-1))
    return draft.emit("matmul", draft.emit("softmax", draft.scaled(scores, scale), dim=-1), v)


def _mean_by_sum(draft: Draft, node: Node) -> str:
    x, attrs = _operand(node), dict(node.attrs)
    made = draft.emit("sum", x, dim=attrs["dim"], keepdim=attrs["keepdim"])
    have, left = math.prod(draft.shape(x)), math.prod(draft.shape(made))
    if not have or not left:
        raise ConstraintViolated(f"{node.name}: an empty mean")
    return draft.emit("div_scalar", made, value=float(have // left))


def _swapped(op: str) -> Callable[[Draft, Node], str]:
    return lambda draft, node: draft.emit(op, _operand(node, 1), _operand(node))


def _sub_by_add(draft: Draft, node: Node) -> str:
    return draft.emit("add", _operand(node), draft.emit("neg", _operand(node, 1)))


def _div_by_reciprocal(draft: Draft, node: Node) -> str:
    return draft.emit("mul", _operand(node), draft.emit("reciprocal", _operand(node, 1)))


def _square_by_mul(draft: Draft, node: Node) -> str:
    return draft.emit("mul", _operand(node), _operand(node))


def _rsqrt_by_parts(draft: Draft, node: Node) -> str:
    return draft.emit("reciprocal", draft.emit("sqrt", _operand(node)))


def _transpose_by_permute(draft: Draft, node: Node) -> str:
    x = _operand(node)
    rank = len(draft.shape(x))
    order = list(range(rank))
    first, second = (int(str(node.attr(name))) % rank for name in ("dim0", "dim1"))
    order[first], order[second] = order[second], order[first]
    return draft.emit("permute", x, dims=tuple(order))


def _reshape_by_view(draft: Draft, node: Node) -> str:
    shape = draft.dense(node.name).extents
    if not only_splits(draft.shape(_operand(node)), shape):
        raise ConstraintViolated(f"{node.name}: a view of any layout only splits axes")
    return draft.emit("view", draft.emit("contiguous", _operand(node)), shape=shape)


def _reshape_by_line(draft: Draft, node: Node) -> str:
    line = draft.emit("flatten", _operand(node), start_dim=0, end_dim=-1)
    return draft.emit("view", line, shape=draft.dense(node.name).extents)


def _constant_of(draft: Draft, node: Node) -> str:
    """The number of a node as a scalar tensor of its dtype."""
    number = node.attr("value")
    if not isinstance(number, int | float):
        raise ConstraintViolated(f"{node.name}: {number} is no number")
    dtype = draft.dense(node.name).dtype
    return draft.constant(dtype, float(number) if is_float(dtype) else number)


def _tensor_for_number(op: str) -> Callable[[Draft, Node], str]:
    return lambda draft, node: draft.emit(op, _operand(node), _constant_of(draft, node))


def _norm_by_parts(draft: Draft, node: Node) -> str:
    if node.attr("ord") != 2:
        raise ConstraintViolated(f"{node.name}: only the Euclidean norm is taken apart")
    squared = draft.emit("square", _operand(node))
    total = draft.emit("sum", squared, dim=node.attr("dim"), keepdim=node.attr("keepdim"))
    return draft.emit("sqrt", total)


def _var_by_parts(draft: Draft, node: Node) -> str:
    x, dim = _operand(node), node.attr("dim")
    mean = draft.emit("mean", x, dim=dim, keepdim=True)
    squared = draft.emit("square", draft.emit("sub", x, mean))
    total = draft.emit("sum", squared, dim=dim, keepdim=node.attr("keepdim"))
    count = math.prod(draft.shape(x)) // max(math.prod(draft.shape(total)), 1)
    freedom = count - int(str(node.attr("correction")))
    if freedom <= 0:
        raise ConstraintViolated(f"{node.name}: no degree of freedom is left")
    return draft.emit("div_scalar", total, value=float(freedom))


def _std_by_var(draft: Draft, node: Node) -> str:
    attrs = {name: node.attr(name) for name in ("dim", "keepdim", "correction")}
    return draft.emit("sqrt", draft.emit("var", _operand(node), **attrs))  # type: ignore[arg-type]


def _sum_by_mean(draft: Draft, node: Node) -> str:
    x, attrs = _operand(node), dict(node.attrs)
    made = draft.emit("mean", x, dim=attrs["dim"], keepdim=attrs["keepdim"])
    have, left = math.prod(draft.shape(x)), math.prod(draft.shape(made))
    if not have or not left:
        raise ConstraintViolated(f"{node.name}: an empty sum")
    return draft.emit("mul_scalar", made, value=float(have // left))


def _greatest_by_sort(draft: Draft, node: Node) -> str:
    """NaN sorts as the greatest, so that it comes first here as it should."""
    dim = node.attr("dim")
    if not isinstance(dim, int):
        raise ConstraintViolated(f"{node.name}: several axes are not sorted at once")
    ordered = draft.parts(draft.emit("sort", _operand(node), dim=dim, descending=True))
    first = draft.emit("narrow", ordered[0], dim=dim, start=0, length=1)
    return first if node.attr("keepdim") else draft.emit("squeeze", first, dim=dim)


def _extreme_by_neg(op: str) -> Callable[[Draft, Node], str]:
    def make(draft: Draft, node: Node) -> str:
        mirrored = draft.emit("neg", _operand(node))
        attrs = {"dim": node.attr("dim"), "keepdim": node.attr("keepdim")}
        return draft.emit("neg", draft.emit(op, mirrored, **attrs))  # type: ignore[arg-type]

    return make


def _clamp_by_extremes(draft: Draft, node: Node) -> str:
    x, low, high = _operand(node), node.attr("min"), node.attr("max")
    type_ = draft.dense(x)
    made = x
    if isinstance(low, int | float):
        made = draft.emit("maximum", made, draft.full(type_, float(low)))
    if isinstance(high, int | float):
        made = draft.emit("minimum", made, draft.full(type_, float(high)))
    return made


def _permute_by_transposes(draft: Draft, node: Node) -> str:
    x = _operand(node)
    rank = len(draft.shape(x))
    wanted = node.attr("dims")
    if not isinstance(wanted, tuple):
        raise ConstraintViolated(f"{node.name}: the axes are not listed")
    target = [int(str(axis)) % rank for axis in wanted]
    order = list(range(rank))
    for place, axis in enumerate(target):
        other = order.index(axis)
        if other != place:
            x = draft.emit("transpose", x, dim0=place, dim1=other)
            order[place], order[other] = order[other], order[place]
    return x if x != _operand(node) else draft.emit("permute", x, dims=tuple(range(rank)))


def _slice_by_narrow(draft: Draft, node: Node) -> str:
    x, dim = _operand(node), int(str(node.attr("dim")))
    start, stop, step = (node.attr(name) for name in ("start", "stop", "step"))
    first, last, by = slice(
        *(None if one is None else int(str(one)) for one in (start, stop, step))
    ).indices(draft.shape(x)[dim])
    if by != 1 or last <= first:
        raise ConstraintViolated(f"{node.name}: a step of {by} is no narrowing")
    return draft.emit("narrow", x, dim=dim, start=first, length=last - first)


def _select_by_narrow(draft: Draft, node: Node) -> str:
    x, dim = _operand(node), int(str(node.attr("dim")))
    place = int(str(node.attr("index"))) % draft.shape(x)[dim]
    return draft.emit("squeeze", draft.emit("narrow", x, dim=dim, start=place, length=1), dim=dim)


def _square_root_twice(draft: Draft, node: Node) -> str:
    return draft.emit("pow_scalar", _operand(node), value=0.5)


def _neg_by_scale(draft: Draft, node: Node) -> str:
    return draft.emit("mul_scalar", _operand(node), value=-1)


def _embedding_by_select(draft: Draft, node: Node) -> str:
    table, index = _operand(node), _operand(node, 1)
    flat = draft.reshape(index, (math.prod(draft.shape(index)),))
    rows = draft.emit("index_select", table, flat, dim=0)
    return draft.reshape(rows, (*draft.shape(index), draft.shape(table)[1]))


def _leaky_by_where(draft: Draft, node: Node) -> str:
    x = _operand(node)
    sloped = draft.emit("mul_scalar", x, value=node.attr("slope"))
    return draft.emit("where", x, sloped, draft.emit("ge_scalar", x, value=0.0))


def _softplus_by_log(draft: Draft, node: Node) -> str:
    if node.attr("beta") != 1.0:
        raise ConstraintViolated(f"{node.name}: beta is not 1")
    held = draft.emit("clamp", _operand(node), min=None, max=20.0)
    rest = draft.emit("sub", _operand(node), held)
    return draft.emit("add", draft.emit("log1p", draft.emit("exp", held)), rest)


_DECOMPOSED: dict[str, dict[str, Callable[[Draft, Node], str]]] = {
    "add_scalar": {"tensor": _tensor_for_number("add")},
    "sub_scalar": {"tensor": _tensor_for_number("sub")},
    "mul_scalar": {"tensor": _tensor_for_number("mul")},
    "div_scalar": {"tensor": _tensor_for_number("div")},
    "pow_scalar": {"tensor": _tensor_for_number("pow")},
    "vector_norm": {"squares": _norm_by_parts},
    "var": {"squares": _var_by_parts},
    "std": {"var": _std_by_var},
    "sum": {"mean": _sum_by_mean},
    "amax": {"sort": _greatest_by_sort, "neg_amin": _extreme_by_neg("amin")},
    "amin": {"neg_amax": _extreme_by_neg("amax")},
    "clamp": {"maximum_minimum": _clamp_by_extremes},
    "permute": {"transposes": _permute_by_transposes},
    "slice": {"narrow": _slice_by_narrow},
    "select": {"narrow": _select_by_narrow},
    "sqrt": {"pow": _square_root_twice},
    "neg": {"scale": _neg_by_scale},
    "embedding": {"index_select": _embedding_by_select},
    "leaky_relu": {"where": _leaky_by_where},
    "softplus": {"log1p_exp": _softplus_by_log},
    "log_softmax": {"log_of_softmax": _log_of_softmax},
    "softmax": {"exp_and_sum": _softmax_by_parts, "exp_of_log_softmax": _softmax_of_log},
    "silu": {"mul_sigmoid": _silu_by_parts},
    "sigmoid": {"exp": _sigmoid_by_parts, "tanh": _sigmoid_by_tanh},
    "tanh": {"sigmoid": _tanh_by_sigmoid},
    "relu": {"maximum": _relu_by_maximum, "masked_fill": _relu_by_mask, "clamp": _relu_by_clamp},
    "gelu": {"erf": _gelu_by_erf},
    "linear": {"matmul_add": _linear_by_matmul},
    "matmul": {"linear": _matmul_by_linear, "mul_sum": _matmul_by_sum},
    "layer_norm": {"mean_and_variance": _layer_norm_by_parts},
    "rms_norm": {"mean_of_squares": _rms_norm_by_parts},
    "scaled_dot_product_attention": {"matmul_softmax": _attention_by_parts},
    "mean": {"sum": _mean_by_sum},
    "add": {"swapped": _swapped("add")},
    "mul": {"swapped": _swapped("mul")},
    "sub": {"add_neg": _sub_by_add},
    "div": {"reciprocal": _div_by_reciprocal},
    "square": {"mul": _square_by_mul},
    "rsqrt": {"reciprocal_sqrt": _rsqrt_by_parts},
    "transpose": {"permute": _transpose_by_permute},
    "reshape": {"view": _reshape_by_view, "flatten_view": _reshape_by_line},
}

for _op, _ways in _DECOMPOSED.items():
    if _op in OPS:
        mutator(
            f"subgraph.update.decomposition.{_op}",
            effect=Effect.PRESERVING,
            sites=nodes(lambda graph, node: _plain(node), ops={_op}),
            edit={name: rebuilt(make) for name, make in _ways.items()},
            provenance=ALGEBRA(f"definition of {_op}"),
            example=(f"y = {_op}(x)", f"y = the same by {' or '.join(_ways)}"),
            doc=f"`{_op}` by other operators, as its definition allows.",
        )


def _plain(node: Node) -> bool:
    return node.writes is None and isinstance(node.type, Dense) and is_floating(node.type)


def _fused_log_softmax(draft: Draft, soft: Node, last: Node) -> str:
    return draft.emit("log_softmax", _operand(soft), dim=soft.attr("dim"))


def _fused_linear(draft: Draft, product: Node, last: Node) -> str:
    x, y, bias = _operand(product), _operand(product, 1), _operand(last, 1)
    if len(draft.shape(y)) != 2 or len(draft.shape(bias)) != 1:
        raise ConstraintViolated(f"{last.name}: no matrix and vector to be fused")
    return draft.emit("linear", x, draft.emit("transpose", y, dim0=0, dim1=1), bias)


def _fused_rsqrt(draft: Draft, root: Node, last: Node) -> str:
    return draft.emit("rsqrt", _operand(root))


def fused(make: Callable[[Draft, Node, Node], str]) -> Edit:
    """Two nodes in a row become one."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        first, last = (case.graph.by_name[name] for name in site.nodes)
        draft = Draft(case, rng).before(last.name)
        draft.replace_by(last.name, make(draft, first, last))
        return draft.finish()

    return edit


for _first, _last, _make in (
    ("softmax", "log", _fused_log_softmax),
    ("matmul", "add", _fused_linear),
    ("sqrt", "reciprocal", _fused_rsqrt),
):
    mutator(
        f"subgraph.update.fusion.{_first}_{_last}",
        effect=Effect.PRESERVING,
        sites=chains(_first, _last),
        edit=fused(_make),
        provenance=ALGEBRA(f"{_last} of {_first}"),
        example=(f"a = {_first}(x)\ny = {_last}(a)", "y = the fused operator"),
        doc=f"`{_last}` of `{_first}` as one operator.",
    )


# ------------------------------------------------------------------------------ deletion
def skip(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """Users of the node read its first operand of the same type."""
    node = case.graph.by_name[site.nodes[0]]
    same = [name for name in node.operands if name and case.graph.types[name] == node.type]
    if not same or node.writes is not None:
        raise ConstraintViolated(f"{node.name}: no operand has the type of the result")
    draft = Draft(case, rng).after(node.name)
    draft.redirect(node.name, same[0])
    draft.prune()
    return draft.finish()


def _skippable(graph: Graph, node: Node) -> bool:
    return node.writes is None and any(
        name is not None and graph.types[name] == node.type for name in node.operands
    )


def _residual(graph: Graph, node: Node) -> bool:
    """An addition of two computed values of its own type."""
    both = [name for name in node.operands if name in graph.by_name]
    return (
        node.op == "add"
        and len(both) == 2
        and all(graph.types[str(one)] == node.type for one in both)
    )


SKIPPABLE = nodes(_skippable)


def keep_branch(slot: int) -> Edit:
    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[0]]
        draft = Draft(case, rng).after(node.name)
        draft.redirect(node.name, _operand(node, slot))
        draft.prune()
        return draft.finish()

    return edit


def _deletable(family: str) -> frozenset[str]:
    """Operators of a family; "other" are those of families that have no row."""
    if family != "other":
        return of_family(family)
    return frozenset(OPS).difference(*(of_family(one) for one in _DELETED))


_DELETED: dict[str, Provenance] = {
    "activation": LEMON("AFRm"),
    "normalisation": DEVMUT("layer deletion"),
    "elementwise": FLOWMUT_CG("elementwise deletion"),
    "view": FLOWMUT_CG("adapter deletion"),
    "other": LEMON("LR"),
}
for _family, _credit in _DELETED.items():
    mutator(
        f"operator.deletion.{_family}",
        effect=Effect.CHANGING,
        sites=nodes(
            lambda graph, node: _skippable(graph, node) and not _residual(graph, node),
            ops=_deletable(_family),
        ),
        edit=skip,
        provenance=_credit,
        example=("a = relu(x)\ny = exp(a)", "y = exp(x)"),
        doc=f"Leave out a node that keeps the type of an operand (family: {_family}).",
    )


mutator(
    "subgraph.deletion.residual",
    effect=Effect.CHANGING,
    sites=nodes(_residual, ops={"add"}),
    edit={"first": keep_branch(0), "second": keep_branch(1)},
    provenance=FLOWMUT_TFG("collapse skip"),
    example=("y = add(x, f)", "y = x, or y = f"),
    doc="A residual addition falls away: one of its branches is kept.",
)


def skip_block(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """A value reads an older one of the same type, several nodes back along the chain."""
    graph = case.graph
    node = graph.by_name[site.nodes[0]]
    older: list[str] = []
    name = node.operands[0]
    while name is not None and name in graph.by_name and len(older) < 12:
        name = graph.by_name[name].operands[0]
        if name is not None and graph.types[name] == node.type:
            older.append(name)
    if len(older) < 2:
        raise ConstraintViolated(f"{node.name}: nothing of its type a block before it")
    draft = Draft(case, rng).after(node.name)
    draft.redirect(node.name, draft.pick(older[1:]))
    draft.prune()
    return draft.finish()


mutator(
    "subgraph.deletion.block",
    effect=Effect.CHANGING,
    sites=SKIPPABLE,
    edit=skip_block,
    provenance=DEVMUT("layer deletion"),
    example=("a = relu(x)\nb = exp(a)\nc = tanh(b)\ny = sin(c)", "y = sin(x)"),
    doc="Several nodes in a row fall away, where types agree at both ends.",
)


# ------------------------------------------------------------------------------ repetition
def repeat(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The node a second time, on its own result."""
    node = case.graph.by_name[site.nodes[0]]
    slot = next(
        (
            at
            for at, name in enumerate(node.operands)
            if name and case.graph.types[name] == node.type
        ),
        None,
    )
    if slot is None or node.regions:
        raise ConstraintViolated(f"{node.name}: its result is no operand of its own")
    draft = Draft(case, rng).after(node.name)
    operands = list(node.operands)
    operands[slot] = node.name
    again = draft.put(Node(draft.fresh(), node.op, tuple(operands), node.type, node.attrs))
    draft.redirect(node.name, again)
    return draft.finish()


mutator(
    "subgraph.insertion.repetition",
    effect=Effect.CHANGING,
    sites=SKIPPABLE,
    edit=repeat,
    provenance=LEMON("LC"),
    example=("y = gelu(x)", "a = gelu(x)\ny = gelu(a)"),
    doc="A node a second time, on its own result, with the same weights.",
)


# ------------------------------------------------------------------------------ rewiring
def reroute(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """One use reads another value of the same type."""
    draft = Draft(case, rng).before(site.consumer)
    other = dict(site.detail)["other"]
    draft.redirect(site.value, other, only=(site.consumer,), slots=(site.slot,))
    draft.prune()
    return draft.finish()


mutator(
    "interface.rewiring.same_type",
    effect=Effect.CHANGING,
    sites=same_type_pairs(),
    edit=reroute,
    provenance=LEMON("LA"),
    example=("a = relu(x)\nb = exp(a)", "a = relu(x)\nb = exp(x)"),
    doc="A use reads an older value of the same type.",
)


def swap_operands(case: Case, site: Site, rng: np.random.Generator) -> Case:
    node = case.graph.by_name[site.nodes[0]]
    first, second, *rest = node.operands
    if first == second:
        raise ConstraintViolated(f"{node.name}: both operands are {first}")
    draft = Draft(case, rng)
    draft.revise(
        Node(node.name, node.op, (second, first, *rest), node.type, node.attrs, node.forms)
    )
    return draft.finish()


def _two_operands(graph: Graph, node: Node) -> bool:
    pair = node.operands[:2]
    return len(pair) == 2 and all(name is not None and dense_of(graph, name) for name in pair)


mutator(
    "interface.rewiring.swapped.unordered",
    effect=Effect.CHANGING,
    sites=nodes(
        lambda graph, node: (
            _two_operands(graph, node)
            and node.writes is None
            and node.op not in ("add", "mul", "maximum", "minimum")
        )
    ),
    edit=swap_operands,
    provenance=FLOWMUT_CG("swap producers"),
    example=("y = sub(a, b)", "y = sub(b, a)"),
    doc="The first two operands of an operator for which order matters change places.",
)


def share_user(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """The second user of a value reads the first user's result, where types agree."""
    graph = case.graph
    users = [graph.by_name[name] for name in graph.users[site.value]]
    same = [one for one in users[:-1] if one.type == graph.types[site.value]]
    if not same:
        raise ConstraintViolated(f"{site.value}: no user keeps its type")
    first = same[int(rng.integers(len(same)))]
    later = [one.name for one in users if graph.position[one.name] > graph.position[first.name]]
    draft = Draft(case, rng).after(first.name)
    draft.redirect(site.value, first.name, only=(draft.pick(later),))
    return draft.finish()


mutator(
    "subgraph.rewiring.shared_user",
    effect=Effect.CHANGING,
    sites=FLOATING,
    edit=share_user,
    provenance=FLOWMUT_CG("share producer"),
    example=("a = relu(x)\nb = exp(x)", "a = relu(x)\nb = exp(a)"),
    doc="Two users of a value in a row instead of side by side.",
)


def own_operand(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """Both operands of a binary operator read the first."""
    node = case.graph.by_name[site.nodes[0]]
    first, second = node.operands[:2]
    if first == second or first is None or second is None:
        raise ConstraintViolated(f"{node.name}: both operands are {first}")
    draft = Draft(case, rng).before(node.name)
    made = draft.repaired(first, draft.dense(second))
    draft.redirect(second, made, only=(node.name,), slots=(1,))
    draft.prune()
    return draft.finish()


mutator(
    "subgraph.rewiring.self_merge",
    effect=Effect.CHANGING,
    sites=nodes(
        _two_operands,
        ops={spec.name for spec in OPS.values() if spec.tags & {"binary", "product"}},
    ),
    edit=own_operand,
    provenance=FLOWMUT_CG("residual target"),
    example=("y = add(a, b)", "y = add(a, a)"),
    doc="A merge of two branches reads one of them twice.",
)
mutator(
    "subgraph.insertion.metamorphic",
    effect=Effect.PRESERVING,
    sites=SPREAD,
    edit={
        "add_zeros": through(
            lambda draft, value: draft.emit("add", value, draft.full(draft.dense(value), 0.0))
        ),
        "mul_ones": through(
            lambda draft, value: draft.emit("mul", value, draft.full(draft.dense(value), 1.0))
        ),
        "cat_narrow": through(lambda draft, value: _beside_and_cut(draft, value)),
    },
    provenance=MODELMETA("structural relation"),
    example=("y = relu(x)", "a = add(x, zeros)\ny = relu(a)"),
    doc="A neutral element taken in.",
)


def _beside_and_cut(draft: Draft, value: str) -> str:
    shape = draft.shape(value)
    axis = int(draft.rng.integers(len(shape)))
    noise = draft.emit("mul_scalar", value, value=-3.0)
    both = draft.emit("cat", value, noise, dim=axis)
    return draft.emit("narrow", both, dim=axis, start=0, length=shape[axis])


mutator(
    "subgraph.insertion.integer_identity",
    effect=Effect.PRESERVING,
    sites=values(is_integral, computed=True),
    edit={
        "xor_twice": through(
            lambda draft, value: draft.emit(
                "bitwise_xor",
                draft.emit("bitwise_xor", value, draft.full(draft.dense(value), 5)),
                draft.full(draft.dense(value), 5),
            )
        ),
        "not_twice": through(
            lambda draft, value: draft.emit("bitwise_not", draft.emit("bitwise_not", value))
        ),
        "plus_minus": through(
            lambda draft, value: draft.emit(
                "sub_scalar", draft.emit("add_scalar", value, value=7), value=7
            )
        ),
    },
    provenance=ALGEBRA("integer arithmetic is exact"),
    example=("y = embedding(w, i)", "a = bitwise_not(i)\nb = bitwise_not(a)\ny = embedding(w, b)"),
    doc="Integers through an exact operation and back.",
)
