"""Pages of seeds: what they are, what is in them, which campaigns used them, what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from campaigns.figures import Series, bar_figure
from campaigns.seed_usage import SeedUsage, campaigns_with_seed, seed_usage
from engine.errors import BadInput
from engine.ir.graph import Graph
from engine.ir.text import print_input, print_type
from engine.ops.spec import OPS
from engine.seeds import SEEDS, Seed, load_seed, seed_named
from engine.seeds.counting import op_counts
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


@dataclass(frozen=True)
class Row:
    """A seed with what was recorded on it. `nodes`: calls of operators."""

    seed: Seed
    nodes: int
    ops: int
    usage: SeedUsage
    findings: Mapping[str, int]
    buckets: int

    @property
    def found(self) -> int:
        return sum(self.findings.values())


@dataclass(frozen=True)
class Contents:
    """What is in a seed's graph besides its nodes; inputs and outputs as the text form has them."""

    inputs: tuple[str, ...]
    weights: int
    constants: int
    outputs: tuple[str, ...]


def seed_rows() -> list[Row]:
    """Every row with what was recorded of it."""
    usage, findings = seed_usage(), findings_by_seed()
    buckets = buckets_by_facet(Facet.Kind.SEED)
    return [
        Row(
            seed,
            sum(op_counts(name).values()),
            len(op_counts(name)),
            usage.get(name, SeedUsage()),
            dict(findings.get(name, {})),
            buckets.get(name, 0),
        )
        for name, seed in SEEDS.items()
    ]


@require_safe
def list_seeds(request: HttpRequest) -> HttpResponse:
    scale = request.GET.get("scale", "")
    rows = [row for row in seed_rows() if scale in ("", row.seed.scale)]
    context = {"rows": rows, "scale": scale, "scales": ("compact", "full"), "total": len(SEEDS)}
    return render(request, "catalogue/seeds.html", context)


@require_safe
def show_seed(request: HttpRequest, name: str) -> HttpResponse:
    seed = _seed(name)
    row = next(one for one in seed_rows() if one.seed is seed)
    counts = op_counts(name)
    drawn = dict(list(counts.items())[:_OPS_DRAWN])
    context = {
        "row": row,
        "seed": seed,
        "contents": _contents(name),
        "twin": SEEDS.get(seed.twin),
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
    """The seed's text, as shipped: `flowmut run` and the parser read it."""
    text = _seed(name).file.read_text(encoding="utf-8")
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}.flow"'
    return response


def _seed(name: str) -> Seed:
    """The one loader."""
    try:
        return seed_named(name)
    except BadInput as problem:
        raise Http404(str(problem)) from problem


def _panel(request: HttpRequest, seed: Seed) -> Panel | str:
    return program_panel(
        seed.file.read_text(encoding="utf-8"),
        request.GET,
        title=f"Graph of {seed.title}",
        page=reverse("catalogue:show-graph", args=[seed.name]),
        download=reverse("catalogue:download-picture", args=[seed.name]),
    )


@lru_cache(maxsize=64)
def _contents(name: str) -> Contents:
    """Read once: the graph of a large seed takes seconds to parse."""
    graph: Graph = load_seed(name).graph
    roles = Counter(one.role for one in graph.inputs)
    return Contents(
        tuple(print_input(one) for one in graph.inputs if one.role == "input"),
        roles["weight"],
        roles["constant"],
        tuple(f"{one}: {print_type(graph.types[one])}" for one in graph.outputs),
    )
