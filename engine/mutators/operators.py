"""Operators: other attributes, others of the family, insertions in line, beside and as outputs.

Rows are generated from the operator table: a variant for each operator, under its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.case import Case
from engine.ir.graph import Attr, Graph, Node
from engine.ir.types import Dense, is_float
from engine.mutators.edits import Draft, forms_of, legal_attrs
from engine.mutators.sites import dense_of, is_floating, nodes, values
from engine.mutators.spec import (
    BUG_KIND,
    COMET,
    DEVMUT,
    FLOWMUT_CG,
    FLOWMUT_TFG,
    FREEFUZZ,
    LEMON,
    MUFFIN,
    TITANFUZZ,
    Edit,
    Effect,
    Provenance,
    Site,
    mutator,
)
from engine.ops.spec import OPS, OpSpec

# ------------------------------------------------------------------------------ families
FAMILIES = (
    "random",
    "sparse",
    "complex",
    "activation",
    "normalisation",
    "pooling",
    "convolution",
    "reduction",
    "loss",
    "comparison",
    "bitwise",
    "binary",
    "linear",
    "scan",
    "indexing",
    "several",
    "joining",
    "padding",
    "interpolation",
    "windows",
    "view",
    "creation",
    "elementwise",
)
"""Tags by which operators are grouped, narrowest first: an operator belongs to its first."""

COPIES = ("clone", "contiguous", "identity", "detach")
"""Operators that change no value; rows of their own say so."""


def family_of(spec: OpSpec) -> str:
    return next((tag for tag in FAMILIES if tag in spec.tags), "other")


def of_family(family: str) -> frozenset[str]:
    """Every operator of a family, also those that cannot be put at a value by themselves."""
    return frozenset(spec.name for spec in OPS.values() if family_of(spec) == family)


def _insertable(spec: OpSpec) -> bool:
    """Whether the operator can be put at a value by itself."""
    odd = {"control", "inplace"}
    return spec.writes is None and spec.tags.isdisjoint(odd) and spec.name not in COPIES


def by_family(*, inline: bool, flows: bool = True) -> Mapping[str, tuple[str, ...]]:
    """Family -> operators that keep the type of their first operand (in line), or that need not.

    `flows`: only those whose result may go on through the model, which a random one or one of
    unknown extent must not.
    """
    found: dict[str, list[str]] = {}
    for spec in OPS.values():
        if flows and not spec.tags.isdisjoint({"random", "dynamic"}):
            continue
        if _insertable(spec) and ("shape-preserving" in spec.tags) is inline:
            found.setdefault(family_of(spec), []).append(spec.name)
    return {family: tuple(names) for family, names in found.items()}


# ------------------------------------------------------------------------------ update: attributes
def resample(attr: str) -> Edit:
    """Another value of one attribute; the others stay. Users get the old type by an adapter."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[0]]
        for value in _alternatives(case.graph, node, attr, rng):
            draft = Draft(case, rng)
            try:
                draft.revise(node.with_attrs(**{attr: value}))
            except ConstraintViolated:
                continue
            return draft.finish()
        return _with_others(case, node, attr, rng)

    return edit


def _with_others(case: Case, node: Node, attr: str, rng: np.random.Generator) -> Case:
    """Another value of the attribute, and of others with it, where it is not legal alone."""
    now = node.attr(attr)
    for attrs in legal_attrs(OPS[node.op], rng):
        if attrs[attr] == now:
            continue
        draft = Draft(case, rng)
        try:
            draft.revise(node.with_attrs(**attrs))
        except ConstraintViolated:
            continue
        return draft.finish()
    raise ConstraintViolated(f"{node.op}: no other value of {attr} is legal here")


def _alternatives(graph: Graph, node: Node, attr: str, rng: np.random.Generator) -> Iterator[Attr]:
    """Values the table lists, and axes of the operand, in random order; not the current one."""
    now = node.attr(attr)
    listed = list(OPS[node.op].attrs[attr])
    first = dense_of(graph, node.operands[0]) if node.operands and node.operands[0] else None
    if first is not None and attr.startswith("dim") and isinstance(now, int) and now is not True:
        listed += [axis for axis in range(-first.rank, first.rank) if axis not in listed]
    if first is not None and attr == "dims" and isinstance(now, tuple) and len(now) == first.rank:
        listed += [tuple(int(axis) for axis in rng.permutation(first.rank)) for _ in range(4)]
    for at in rng.permutation(len(listed)):
        if listed[at] != now or type(listed[at]) is not type(now):
            yield listed[at]


_RANK_BOUND = frozenset({"equation"})
"""Attributes of which two values are never legal for the same operands."""


def attributes() -> Mapping[str, tuple[str, ...]]:
    """Attribute name -> operators for which it has several values."""
    found: dict[str, list[str]] = {}
    for spec in OPS.values():
        for name, listed in spec.attrs.items():
            several = len(listed) > 1 or name.startswith("dim")
            if several and name not in _RANK_BOUND and "control" not in spec.tags:
                found.setdefault(name, []).append(spec.name)
    return {name: tuple(ops) for name, ops in sorted(found.items())}


for _attr, _ops in attributes().items():
    mutator(
        f"operator.update.attribute.{_attr}",
        effect=Effect.CHANGING,
        sites=nodes(ops=frozenset(_ops)),
        edit=resample(_attr),
        provenance=DEVMUT("parameter mutation") if len(_ops) > 1 else FREEFUZZ("argument value"),
        example=(f"y = op(x; {_attr}=a)", f"y = op(x; {_attr}=b)"),
        doc=f"Another legal value of `{_attr}`; a changed type is fitted back for the users.",
    )


# ------------------------------------------------------------------------------ update: swaps
def swap(op: str) -> Edit:
    """Another operator at the same operands, or at the first operand with operands of its own."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[0]]
        if node.op == op or node.writes is not None or node.operands[0] is None:
            raise ConstraintViolated(f"{node.name}: {node.op} is not replaced by {op}")
        draft = Draft(case, rng).before(node.name)
        if len(OPS[op].operands) == len(node.operands) and len(node.operands) > 1:
            first, *others = node.operands
            assert first is not None
            new = draft.emit(op, draft.admit(op, first), *others)
        else:
            new = draft.introduce(op, draft.admit(op, node.operands[0]))
        draft.replace_by(node.name, draft.parts(new, most=1)[0])
        return draft.finish()

    return edit


def _swappable(family: str) -> tuple[str, ...]:
    return tuple(
        spec.name
        for spec in OPS.values()
        if _insertable(spec) and family_of(spec) == family and not spec.random
    )


_SWAPS: Mapping[str, Provenance] = {
    "activation": LEMON("AFRp"),
    "normalisation": DEVMUT("layer replacement"),
    "pooling": DEVMUT("layer replacement"),
    "reduction": MUFFIN("layer substitution"),
    "comparison": TITANFUZZ("replace"),
    "binary": MUFFIN("merging layer substitution"),
    "elementwise": TITANFUZZ("replace"),
}
for _family, _credit in _SWAPS.items():
    if len(_swappable(_family)) > 1:
        mutator(
            f"operator.update.swap.{_family}",
            effect=Effect.CHANGING,
            sites=nodes(ops=of_family(_family)),
            edit={name: swap(name) for name in _swappable(_family)},
            provenance=_credit,
            example=("y = relu(x)", "y = gelu(x)"),
            doc=f"Another operator of the family {_family} in place of a node.",
        )


# ------------------------------------------------------------------------------ update: dtype
def computed_in(dtype: str, *, back: bool) -> Edit:
    """The node computed in another dtype: operands cast, result cast back or shown as an output."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[0]]
        draft = Draft(case, rng).before(node.name)
        lead = draft.dense(node.operands[0] or "").dtype
        if lead == dtype:
            raise ConstraintViolated(f"{node.name}: it is computed in {dtype} already")
        operands = [_cast_operand(draft, name, lead, dtype) for name in node.operands]
        made = draft.put(
            Node(draft.fresh(), node.op, tuple(operands), node.type, node.attrs, node.forms),
            plain=not back and draft.flip(),
        )
        if back:
            draft.replace_by(node.name, made)
        else:
            for part in draft.parts(made, most=3):
                draft.add_output(part)
        return draft.finish()

    return edit


def _cast_operand(draft: Draft, name: str | None, lead: str, dtype: str) -> str | None:
    """An operand of the leading dtype, cast; integers get values on both sides of nought."""
    if name is None or not isinstance(draft.types[name], Dense) or draft.dense(name).dtype != lead:
        return name
    if is_float(lead) and not is_float(dtype) and dtype != "bool":
        name = draft.bounded(draft.scaled(name, 8.0), 0.0 if dtype == "uint8" else -100.0, 100.0)
    return draft.cast(name, dtype)


DTYPE_CHOICES = (
    "float16",
    "bfloat16",
    "float64",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
)


def _castable(graph: Graph, node: Node) -> bool:
    first = node.operands[0] if node.operands else None
    type_ = None if first is None else dense_of(graph, first)
    plain = node.op in OPS and node.writes is None and not node.regions
    return plain and type_ is not None and isinstance(node.type, Dense) and is_floating(type_)


for _dtype in DTYPE_CHOICES:
    _able = frozenset(spec.name for spec in OPS.values() if _dtype in spec.dtypes)
    for _back in (True, False):
        mutator(
            f"operator.update.dtype.{_dtype}.{'back' if _back else 'output'}",
            effect=Effect.CHANGING,
            sites=nodes(_castable, ops=_able),
            edit=computed_in(_dtype, back=_back),
            provenance=FLOWMUT_TFG("precision") if is_float(_dtype) else BUG_KIND("dtype"),
            example=(
                "y = matmul(a, b)",
                f"c = cast(a; dtype={_dtype})\nd = cast(b; dtype={_dtype})\ny = matmul(c, d)",
            ),
            doc=f"A node computed in {_dtype}, "
            + ("its result cast back." if _back else "its result a further output as it is."),
        )


# ------------------------------------------------------------------------------ insertion
def inline(op: str) -> Edit:
    """The operator after a value, read by all its users or by one of them."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        wanted = draft.dense(site.value)
        made = draft.introduce_fitted(op, site.value)
        readers = case.graph.users[site.value]
        alone = (draft.pick(readers),) if len(readers) > 1 and draft.flip(0.3) else None
        draft.redirect(site.value, draft.repaired(draft.parts(made, most=1)[0], wanted), only=alone)
        return draft.finish()

    return edit


def branch(op: str) -> Edit:
    """A side branch through the operator, folded back: x + f(x)/8, bounded and fitted."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        made = draft.introduce_fitted(op, site.value)
        draft.redirect(
            site.value, draft.fold_back(site.value, draft.pick(draft.parts(made, most=2)))
        )
        return draft.finish()

    return edit


def output(op: str) -> Edit:
    """The operator at a value, its results as further outputs."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        draft = Draft(case, rng).after(site.value)
        for part in draft.parts(draft.introduce_fitted(op, site.value), most=3):
            draft.add_output(part)
        return draft.finish()

    return edit


_INSERTED: Mapping[str, Provenance] = {
    "activation": LEMON("AFI"),
    "normalisation": DEVMUT("layer addition"),
    "elementwise": MUFFIN("layer insertion"),
    "pooling": COMET("layer insertion"),
    "convolution": COMET("layer insertion"),
    "linear": COMET("layer insertion"),
}
_FLOATING = values(is_floating)
for _family, _names in by_family(inline=True).items():
    mutator(
        f"operator.insertion.inline.{_family}",
        effect=Effect.CHANGING,
        sites=_FLOATING,
        edit={name: inline(name) for name in _names},
        provenance=_INSERTED.get(_family, FLOWMUT_CG("operator insertion")),
        example=("y = exp(x)", "s = silu(x)\ny = exp(s)"),
        doc=f"An operator of the family {_family} in line after a value.",
    )
for _family, _names in by_family(inline=False).items():
    mutator(
        f"operator.insertion.branch.{_family}",
        effect=Effect.CHANGING,
        sites=_FLOATING,
        edit={name: branch(name) for name in _names},
        provenance=_INSERTED.get(_family, FLOWMUT_CG("branch insertion")),
        example=(
            "y = exp(x)",
            "m = mean(x)\nk = mul(m, c)\nb = add(x, k)\ny = exp(b)",
        ),
        doc=f"A side branch through an operator of the family {_family}, folded back in.",
    )
for _inline in (True, False):
    for _family, _names in by_family(inline=_inline, flows=False).items():
        mutator(
            f"operator.insertion.output.{_family}{'.same' if _inline else ''}",
            effect=Effect.CHANGING,
            sites=_FLOATING,
            edit={name: output(name) for name in _names},
            provenance=TITANFUZZ("suffix"),
            example=("return y", "t = topk(y)\nreturn y, t"),
            doc=f"An operator of the family {_family} at a value, its results as further outputs.",
        )


# ------------------------------------------------------------------------------ twins
def _twin_attrs(draft: Draft, node: Node) -> Node:
    """The same operator at the same operands, with other attributes."""
    for attrs in draft.attrs_of(OPS[node.op]):
        twin = node.with_attrs(**attrs)
        if repr(twin.attrs) == repr(node.attrs):
            continue
        try:
            return draft.typed(twin)
        except ConstraintViolated:
            continue
    raise ConstraintViolated(f"{node.op}: no other attributes are legal here")


def _twin_forms(draft: Draft, node: Node) -> Node:
    """The same call in other forms."""
    held = {one.name for one in draft.inputs}
    for framework, names in forms_of(node, draft.types, held).items():
        others = [name for name in names if name != node.form(framework)]
        if others:
            node = node.with_form(framework, draft.pick(others))
    return node


def twin(make: Callable[[Draft, Node], Node], *, before: bool) -> Edit:
    """A changed copy of a node right before or after it, its result a further output.

    What one call leaves behind (a cached plan, a global) must not change the other.
    """

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[0]]
        draft = Draft(case, rng)
        draft = draft.before(node.name) if before else draft.after(node.name)
        changed = make(draft, node)
        if changed == node:
            raise ConstraintViolated(f"{node.name}: there is only one way to write it")
        made = draft.put(replace(changed, name=draft.fresh()), plain=True)
        for part in draft.parts(made, most=2):
            draft.add_output(part)
        return draft.finish()

    return edit


def _doubled(graph: Graph, node: Node) -> bool:
    return node.writes is None and not node.regions


mutator(
    "operator.insertion.twin",
    effect=Effect.CHANGING,
    sites=nodes(_doubled, ops=frozenset(OPS)),
    edit={
        "attributes.before": twin(_twin_attrs, before=True),
        "attributes.after": twin(_twin_attrs, before=False),
        "forms.before": twin(_twin_forms, before=True),
        "forms.after": twin(_twin_forms, before=False),
    },
    provenance=BUG_KIND("state between calls"),
    example=("y = sum(x; dim=0)", "t = sum(x; dim=1)\ny = sum(x; dim=0)\nreturn y, t"),
    doc="The same operator once more, called otherwise; neither call may disturb the other.",
)
