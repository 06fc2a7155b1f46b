"""The tables as data: what `flowmut seeds|ops|mutators|modes` print and pages show."""

from __future__ import annotations

from engine import mutators  # noqa: F401 - fills MUTATORS
from engine.executors.modes import MODES, OPTIONS
from engine.mutators.spec import MUTATORS
from engine.ops import OPS
from engine.ops.spec import FRAMEWORKS
from engine.seeds import SEEDS, load_seed

__all__ = ["list_modes", "list_mutators", "list_ops", "list_seeds"]

Rows = list[dict[str, object]]


def list_seeds() -> Rows:
    """Name, published parameter count, trainable count, nodes."""
    return [
        {
            "name": seed.name,
            "title": seed.title,
            "scale": seed.scale,
            "parameters": seed.parameters,
            "trainable": seed.trainable,
            "nodes": len(load_seed(seed.name).graph.nodes),
        }
        for seed in SEEDS.values()
    ]


def list_ops() -> Rows:
    """Name, operands, dtypes and every form's text by framework."""
    return [
        {
            "name": spec.name,
            "operands": [one.name for one in spec.operands],
            "attributes": sorted(spec.attrs),
            "tags": sorted(spec.tags),
            "forms": {
                framework: {
                    name: "; ".join((*form.setup, *form.before, form.call))
                    for name, form in spec.forms.get(framework, {}).items()
                }
                for framework in FRAMEWORKS
            },
        }
        for spec in OPS.values()
    ]


def list_mutators() -> Rows:
    """Name, effect, provenance, variants."""
    return [
        {
            "name": row.name,
            "effect": row.effect.value,
            "provenance": f"{row.provenance.source}: {row.provenance.label}",
            "pools": list(row.provenance.pools),
            "variants": sorted(row.variants),
        }
        for row in MUTATORS.values()
    ]


def list_modes() -> Rows:
    """Name, framework, options to write after the name with a "+", what it is."""
    return [
        {
            "name": mode.name,
            "framework": mode.framework,
            "options": [one.name for one in OPTIONS.values() if mode.name in one.modes],
            "text": mode.text,
        }
        for mode in MODES.values()
    ]
