"""Call forms: the same call, written otherwise. Documentation makes the forms equal; are they?"""

from __future__ import annotations

import numpy as np

from engine.ir.case import Case
from engine.mutators.edits import Draft
from engine.mutators.sites import form_kind, form_sites, nodes
from engine.mutators.spec import BUG_KIND, FREEFUZZ, Edit, Effect, Provenance, Site, mutator
from engine.ops.spec import FORM_NAMES, FRAMEWORKS, OPS

_TOLD: dict[str, tuple[str, str]] = {
    "function": ("torch.relu(x)", "the free function"),
    "method": ("x.amax(dim)", "a method of the tensor"),
    "module": ("nn.ReLU()(x)", "a module object built beforehand"),
    "primitive": ("ops.ReLU()(x)", "a primitive object built beforehand"),
    "mint": ("mint.nn.functional.relu(x)", "its twin in the PyTorch-like package"),
    "keyword": ("ops.amax(input=x, axis=0)", "a call with arguments by name"),
    "default": ("ops.diag(x)", "a call with optional arguments left out"),
    "scalar": ("ops.index_fill(x, 0, i, 2.0)", "a call with a Python number for a tensor"),
    "tensor": ("ops.pow(x, Tensor(2.0))", "a call with a tensor for a Python number"),
    "inplace": ("x.clone().relu_()", "an in-place call on a copy"),
    "operator": ("x + y", "Python's operator"),
    "builtin": ("abs(x)", "Python's built-in function"),
    "composed": ("x * torch.sigmoid(x)", "the calls that its documentation defines it by"),
}
_PUBLISHED = {"keyword": FREEFUZZ("argument"), "default": FREEFUZZ("argument")}


def kinds_of(framework: str) -> tuple[str, ...]:
    """Kinds of forms that some operator has for a framework besides its plainest."""
    found: set[str] = set()
    for spec in OPS.values():
        kinds = [form_kind(name) for name in spec.forms.get(framework, {})]
        found.update(kind for kind in kinds[1:] if kind != kinds[0])
    return tuple(kind for kind in FORM_NAMES if kind in found)


def rewrite(framework: str) -> Edit:
    """The node in the form that the site names."""

    def edit(case: Case, site: Site, rng: np.random.Generator) -> Case:
        node = case.graph.by_name[site.nodes[0]]
        form = dict(site.detail)["form"]
        return case.with_graph(case.graph.with_node(node.with_form(framework, form)))

    return edit


def rewrite_everywhere(case: Case, site: Site, rng: np.random.Generator) -> Case:
    """A node and every node of the same operator, each in random legal forms."""
    draft = Draft(case, rng)
    op = case.graph.by_name[site.nodes[0]].op
    for node in case.graph.nodes:
        if node.op == op:
            draft.reform(node.name)
    return draft.finish()


def _provenance(kind: str) -> Provenance:
    return _PUBLISHED.get(kind, BUG_KIND(f"call form: {kind}"))


for _framework in FRAMEWORKS:
    for _kind in kinds_of(_framework):
        mutator(
            f"interface.update.form.{_framework}.{_kind}",
            effect=Effect.PRESERVING,
            sites=form_sites(_framework, _kind),
            edit=rewrite(_framework),
            provenance=_provenance(_kind),
            example=("y = relu(x)", f"y = relu(x) as {_framework}:{_kind}"),
            doc=f"Write a call as {_TOLD[_kind][1]}, for instance `{_TOLD[_kind][0]}`.",
        )

mutator(
    "interface.update.forms.everywhere",
    effect=Effect.PRESERVING,
    sites=nodes(lambda graph, node: node.op in OPS and not node.regions),
    edit=rewrite_everywhere,
    provenance=BUG_KIND("call form: mixed"),
    example=("y = relu(x)", "y = relu(x) as mindspore:primitive torch:method"),
    doc="Every node of one operator in a random legal form, in both frameworks at once.",
)
