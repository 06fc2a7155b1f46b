"""Pages of operators: the vocabulary with its forms, and what campaigns and findings say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from campaigns.seed_usage import seed_usage
from engine.mutators import MUTATORS
from engine.ops import FRAMEWORKS, OPS, Form, OpSpec, Tolerance
from engine.ops.examples import examples
from engine.seeds import SEEDS
from engine.seeds.counting import op_counts
from flowmut_web.catalogue.listing import Column, Filters, choices, listing, match_words
from triage.attribution import buckets_by_facet, findings_by_op
from triage.models import Facet

__all__ = ["OperatorFilters", "list_operators", "operator_rows", "show_operator"]

_EXAMPLES_READ = 4


@dataclass(frozen=True)
class Row:
    """An operator with where it occurs and what was found.

    `seeds`: how often each seed calls it. `campaigns` and `rounds`: of those seeds. `findings`:
    those that accuse it. `buckets`: those in whose minimised program it is, or which accuse it.
    """

    spec: OpSpec
    seeds: Mapping[str, int]
    rounds: int
    findings: Mapping[str, int]
    buckets: int

    @property
    def found(self) -> int:
        return sum(self.findings.values())

    @property
    def forms(self) -> int:
        return sum(len(table) for table in self.spec.forms.values())

    @property
    def torch_forms(self) -> int:
        return len(self.spec.forms["torch"])

    @property
    def mindspore_forms(self) -> int:
        return len(self.spec.forms["mindspore"])


class OperatorFilters(Filters):
    """What the list can be narrowed by."""

    tag = choices("Kind", sorted({tag for spec in OPS.values() for tag in spec.tags}))
    dtype = choices("Dtype", sorted({one for spec in OPS.values() for one in spec.dtypes}))
    tolerance = choices("Tolerance", [one.value for one in Tolerance])
    form = choices(
        "Form",
        sorted({name for spec in OPS.values() for table in spec.forms.values() for name in table}),
    )
    framework = choices(
        "Framework",
        [
            ("torch", "has PyTorch forms"),
            ("mindspore", "has MindSpore forms"),
            ("both", "has both"),
        ],
    )
    state = choices(
        "State",
        [
            ("seeds", "in a seed"),
            ("accused", "accused by findings"),
            ("limits", "with known limits"),
            ("writes", "writes or views"),
        ],
    )

    def matches(self, row: Row) -> bool:
        spec = row.spec
        for name, value in self.wanted().items():
            match name:
                case "q":
                    calls = [form.call for table in spec.forms.values() for form in table.values()]
                    fits = match_words(value, spec.name, spec.doc, *spec.tags, *calls)
                case "tag":
                    fits = value in spec.tags
                case "dtype":
                    fits = value in spec.dtypes
                case "tolerance":
                    fits = value == spec.tolerance.value
                case "form":
                    fits = any(value in table for table in spec.forms.values())
                case "framework":
                    wanted = FRAMEWORKS if value == "both" else (value,)
                    fits = all(spec.forms.get(one) for one in wanted)
                case _:
                    fits = _is_in_state(row, value)
            if not fits:
                return False
        return True


def _is_in_state(row: Row, state: str) -> bool:
    match state:
        case "seeds":
            return bool(row.seeds)
        case "accused":
            return bool(row.found)
        case "limits":
            return bool(row.spec.limits)
        case "writes":
            return bool(row.spec.writes or row.spec.views)
    return False


_COLUMNS: Mapping[str, Column[Row]] = {
    "name": Column("Operator", lambda row: row.spec.name),
    "tolerance": Column("Tolerance", lambda row: row.spec.tolerance.value),
    "torch": Column("PyTorch forms", lambda row: row.torch_forms, is_number=True),
    "mindspore": Column("MindSpore forms", lambda row: row.mindspore_forms, is_number=True),
    "dtypes": Column("Dtypes", lambda row: len(row.spec.dtypes), is_number=True),
    "seeds": Column("Seeds", lambda row: len(row.seeds), is_number=True),
    "rounds": Column("Rounds on them", lambda row: row.rounds, is_number=True),
    "limits": Column("Limits", lambda row: len(row.spec.limits), is_number=True),
    "findings": Column("Accused by", lambda row: row.found, is_number=True),
    "buckets": Column("Buckets", lambda row: row.buckets, is_number=True),
}


def operator_rows() -> list[Row]:
    """Every row with what was recorded of it."""
    findings, buckets, used = findings_by_op(), buckets_by_facet(Facet.Kind.OP), seed_usage()
    in_seeds: dict[str, dict[str, int]] = {}
    for seed in SEEDS:
        for op, count in op_counts(seed).items():
            in_seeds.setdefault(op, {})[seed] = count
    return [
        Row(
            spec,
            seeds := in_seeds.get(name, {}),
            sum(used[seed].rounds for seed in seeds if seed in used),
            dict(findings.get(name, {})),
            buckets.get(name, 0),
        )
        for name, spec in OPS.items()
    ]


@require_safe
def list_operators(request: HttpRequest) -> HttpResponse:
    filters, rows = OperatorFilters(request.GET), operator_rows()
    wanted = [row for row in rows if filters.matches(row)]
    context = {
        **listing(request, wanted, _COLUMNS, sort="name", total=len(rows)),
        "form": filters,
        "chips": list(filters.chips(request.GET)),
        "forms": sum(row.forms for row in rows),
    }
    return render(request, "catalogue/operators.html", context)


@require_safe
def show_operator(request: HttpRequest, name: str) -> HttpResponse:
    row = next((one for one in operator_rows() if one.spec.name == name), None)
    if row is None:
        raise Http404(f"no operator is called {name}")
    spec = row.spec
    used = seed_usage()
    context = {
        "row": row,
        "spec": spec,
        "forms": [
            (title, [(one, form, _condition(form)) for one, form in spec.forms[key].items()])
            for key, title in (("torch", "PyTorch"), ("mindspore", "MindSpore"))
        ],
        "requirements": _requirements(name),
        "seeds": [(SEEDS[seed], count, used.get(seed)) for seed, count in row.seeds.items()],
        "mutations": _mutations(name),
    }
    return render(request, "catalogue/operator.html", context)


def _condition(form: Form) -> str:
    """When the form may be used, for people; "" where it always may."""
    if form.when is None:
        return ""
    if callable(form.when):
        return "where the call allows it"
    return ", ".join(f"{name} = {value!r}" for name, value in form.when.items())


@cache
def _requirements(name: str) -> tuple[str, ...]:
    """What the operator demands, in the words that a refused candidate would get.

    Requirements are functions of a call; these are those of the row's first examples.
    """
    return tuple(dict.fromkeys(_asked(OPS[name])))


def _asked(spec: OpSpec) -> Iterator[str]:
    if spec.requires is None:
        return
    for _, example in zip(range(_EXAMPLES_READ), examples(spec), strict=False):
        for _, message in spec.requires(example.call):
            yield message


def _mutations(name: str) -> list[tuple[str, str]]:
    """Mutations that are made for this operator: their row's name and variant."""
    return [
        (row.name, variant)
        for row in MUTATORS.values()
        for variant in row.variants
        if name in variant.split(".") or name in row.name.split(".")
    ]
