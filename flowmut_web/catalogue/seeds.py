"""Pages of seeds: what they are, what is in them, which campaigns used them, what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from campaigns.figures import Series, bar_figure
from campaigns.models import ImportedSeed, Job
from campaigns.seed_usage import (
    ModeRuns,
    SeedUsage,
    campaigns_with_seed,
    mode_runs,
    seed_usage,
)
from campaigns.seeds import all_seeds, imported_seeds, seed_text
from engine.executors.modes import MODES
from engine.ir.graph import Graph
from engine.ir.text import parse_case, print_input, print_type
from engine.ops.spec import OPS
from engine.seeds import SEEDS, Seed
from engine.seeds.agreement import PROFILE, figures_of
from engine.seeds.counting import op_counts
from flowmut_web.catalogue.seed_imports import UploadSeedForm, may_upload, show_import
from triage.attribution import buckets_by_facet, findings_by_seed
from triage.graph_panel import Panel, program_panel
from triage.models import Facet

__all__ = [
    "download_graph",
    "download_picture",
    "list_seeds",
    "seed_rows",
    "show_graph",
    "show_seed",
]

_OPS_DRAWN = 30
_AGREES = 1e-4
"""Of an output's greatest value: a difference to float64 below it is that of rounding."""


@dataclass(frozen=True)
class Row:
    """A seed with what was recorded on it. `nodes`: calls of operators."""

    seed: Seed
    nodes: int
    ops: int
    usage: SeedUsage
    findings: Mapping[str, int]
    buckets: int
    imported: ImportedSeed | None = None

    @property
    def found(self) -> int:
        return sum(self.findings.values())


@dataclass(frozen=True)
class ModeRow:
    """One mode: what `scripts/seeds.py` measured of the seed itself, and rounds of campaigns."""

    mode: str
    measured: Mapping[str, Any]
    runs: ModeRuns

    @property
    def agrees(self) -> bool:
        return float(self.measured.get("difference", 1.0)) < _AGREES


@dataclass(frozen=True)
class Contents:
    """What is in a seed's graph besides its nodes; inputs and outputs as the text form has them."""

    inputs: tuple[str, ...]
    weights: int
    constants: int
    outputs: tuple[str, ...]


def seed_rows() -> list[Row]:
    """Every seed with what was recorded of it, shipped ones first."""
    usage, findings = seed_usage(), findings_by_seed()
    buckets = buckets_by_facet(Facet.Kind.SEED)
    imports = {one.name: one for one in imported_seeds()}
    rows = []
    for name, seed in all_seeds().items():
        ops = imports[name].ops if name in imports else op_counts(name)
        rows.append(
            Row(
                seed,
                sum(ops.values()),
                len(ops),
                usage.get(name, SeedUsage()),
                dict(findings.get(name, {})),
                buckets.get(name, 0),
                imports.get(name),
            )
        )
    return rows


@require_safe
def list_seeds(request: HttpRequest) -> HttpResponse:
    return seeds_page(request)


def seeds_page(
    request: HttpRequest, form: UploadSeedForm | None = None, *, status: int = 200
) -> HttpResponse:
    """The list, with the form as it was sent where something is wrong with it."""
    scale = request.GET.get("scale", "")
    every = seed_rows()
    context = {
        "rows": [row for row in every if scale in ("", row.seed.scale)],
        "scale": scale,
        "scales": ("compact", "full"),
        "total": len(every),
        "waiting": imported_seeds().exclude(state=Job.State.DONE),
        "form": (form or UploadSeedForm()) if may_upload(request) else None,
    }
    return render(request, "catalogue/seeds.html", context, status=status)


@require_safe
def show_seed(request: HttpRequest, name: str) -> HttpResponse:
    waiting = imported_seeds().filter(name=name).exclude(state=Job.State.DONE).first()
    if waiting is not None:
        return show_import(request, waiting)
    if request.headers.get("HX-Request"):  # the import that was polled for has become a seed
        return HttpResponse(headers={"HX-Refresh": "true"})
    seed = _seed(name)
    row = next(one for one in seed_rows() if one.seed.name == name)
    counts = row.imported.ops if row.imported else op_counts(name)
    drawn = dict(list(counts.items())[:_OPS_DRAWN])
    context = {
        "row": row,
        "seed": seed,
        "contents": _contents(name, row.imported.uuid if row.imported else None),
        "twin": SEEDS.get(seed.twin) if name in SEEDS else None,
        "modes": agreement(name),
        "profile": figures_of(name).get(PROFILE),
        "imported": row.imported,
        "may_remove": may_upload(request) and not row.usage.campaigns,
        "counts": counts,
        "known": OPS,
        "figure": bar_figure(
            "operators",
            f"Operators of {seed.title}",
            list(drawn),
            [Series("calls", list(drawn.values()))],
            unit="calls",
            lying=True,
            note="" if len(drawn) == len(counts) else f"The {_OPS_DRAWN} commonest.",
        ),
        "campaigns": campaigns_with_seed(name),
        "panel": _panel(request, seed),
    }
    return render(request, "catalogue/seed.html", context)


@require_safe
def show_graph(request: HttpRequest, name: str) -> HttpResponse:
    """The graph on a page of its own, or its panel alone for the script that swaps it."""
    seed = _seed(name)
    alone = request.headers.get("HX-Request")
    template = "triage/diff_panel.html" if alone else "catalogue/graph.html"
    response = render(request, template, {"seed": seed, "panel": _panel(request, seed)})
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def download_picture(request: HttpRequest, name: str) -> HttpResponse:
    """What the page with the same query shows, as SVG."""
    panel = _panel(request, _seed(name))
    assert not isinstance(panel, str), f"a shipped seed cannot be read: {panel}"
    response = HttpResponse(panel.file(), content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return response


@require_safe
def download_graph(request: HttpRequest, name: str) -> HttpResponse:
    """The seed's text, as it is: `flowmut run` and the parser read it."""
    text = seed_text(_seed(name).name)
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.flow"'
    return response


def agreement(name: str) -> list[ModeRow]:
    """Every mode, as measured and as in the newest rounds. One query."""
    measured, runs = figures_of(name), mode_runs(name)
    return [
        ModeRow(mode, measured.get(mode, {}), runs.get(mode, ModeRuns()))
        for mode in MODES
        if mode in measured or mode in runs
    ]


def _seed(name: str) -> Seed:
    """The one loader."""
    try:
        return all_seeds()[name]
    except KeyError:
        raise Http404(f"no seed {name}") from None


def _panel(request: HttpRequest, seed: Seed) -> Panel | str:
    return program_panel(
        seed_text(seed.name),
        request.GET,
        title=f"Graph of {seed.title}",
        page=reverse("catalogue:show-graph", args=[seed.name]),
        download=reverse("catalogue:download-picture", args=[seed.name]),
    )


@lru_cache(maxsize=64)
def _contents(name: str, uuid: UUID | None) -> Contents:
    """Read once: the graph of a large seed takes seconds to parse. `uuid`: of an imported one."""
    graph: Graph = parse_case(seed_text(name)).graph
    roles = Counter(one.role for one in graph.inputs)
    return Contents(
        tuple(print_input(one) for one in graph.inputs if one.role == "input"),
        roles["weight"],
        roles["constant"],
        tuple(f"{one}: {print_type(graph.types[one])}" for one in graph.outputs),
    )
