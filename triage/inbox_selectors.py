"""Readers for the inbox: its rows, the values it can be filtered by, and its views with counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import QueryDict

from campaigns.models import Campaign
from triage.filters import FACETS, NEEDS_A_PERSON, STATUS_CHOICES, SUPPRESSED, BucketFilter, Chip
from triage.models import (
    Bucket,
    DefaultView,
    Facet,
    FindingRecord,
    Framework,
    Label,
    SavedView,
    Symptom,
)
from triage.selectors import sparklines
from triage.services import allowed_moves

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "FIXED_VIEWS",
    "InboxRow",
    "Menu",
    "Option",
    "View",
    "WayOut",
    "filter_menus",
    "inbox_rows",
    "inbox_views",
    "running_campaigns",
    "saved_views",
    "ways_out",
]

# Views that everybody has: name -> query.
FIXED_VIEWS: Mapping[str, str] = {
    "Needs a person": "status=open",
    "Mine": "status=open&assignee=me",
    "Unassigned": "status=open&assignee=nobody",
    "Flagged": "status=flagged",
    "All": "status=all",
}
_BAR_WIDTH, _BAR_HEIGHT = 74, 20


@dataclass(frozen=True)
class Bar:
    """A day in a sparkline: its place in a box of 74 by 20."""

    x: float
    y: float
    height: float


@dataclass(frozen=True)
class InboxRow:
    """A bucket as a row of the inbox. `moves`: the statuses that it may be given, and its own."""

    bucket: Bucket
    bars: tuple[Bar, ...]
    recent: int
    moves: tuple[Bucket.Status, ...]

    # What needs more than a row has room for: choosing it opens the page that asks.
    asking: ClassVar = frozenset(
        {Bucket.Status.FALSE_ALARM, Bucket.Status.DUPLICATE, Bucket.Status.KNOWN_LIMIT}
    )

    @property
    def is_settled(self) -> bool:
        """Whether nobody need look at it any more."""
        status = Bucket.Status
        return self.bucket.status in {
            status.FIXED,
            status.FALSE_ALARM,
            status.DUPLICATE,
            status.KNOWN_LIMIT,
        }


def inbox_rows(buckets: Sequence[Bucket]) -> tuple[InboxRow, ...]:
    """Rows of these buckets, which carry assignee and labels. One query."""
    counts = sparklines(buckets)
    return tuple(
        InboxRow(
            bucket=bucket,
            bars=_bars(counts[bucket.pk]),
            recent=sum(counts[bucket.pk]),
            moves=tuple(
                choice
                for choice in Bucket.Status
                if choice == bucket.status or choice in allowed_moves(bucket.status)
            ),
        )
        for bucket in buckets
    )


def _bars(counts: tuple[int, ...]) -> tuple[Bar, ...]:
    top = max(counts) or 1
    heights = [max(1.0, round(_BAR_HEIGHT * count / top, 1)) if count else 0.6 for count in counts]
    width = _BAR_WIDTH / len(counts)
    return tuple(
        Bar(round(index * width, 2), round(_BAR_HEIGHT - height, 2), height)
        for index, height in enumerate(heights)
    )


# --------------------------------------------------------------------------- what can be chosen
@dataclass(frozen=True)
class Option:
    """A value of a filter: how many buckets of the status that is looked at have it."""

    value: str
    text: str
    count: int
    is_chosen: bool


@dataclass(frozen=True)
class Menu:
    """A filter and its values. `chosen`: how many of them narrow the list."""

    name: str
    text: str
    options: tuple[Option, ...]
    chosen: int

    @property
    def is_long(self) -> bool:
        """Whether a box to search in helps."""
        return len(self.options) > 12

    @property
    def texts(self) -> dict[str, str]:
        """What each value is called."""
        return {option.value: option.text for option in self.options}

    def count_of(self, value: str) -> int:
        return next((option.count for option in self.options if option.value == value), 0)


def filter_menus(chosen: BucketFilter, query: QueryDict, team: Iterable[str]) -> tuple[Menu, ...]:
    """Every filter with several values, with counts among the buckets of the chosen status.

    Five queries, whatever is chosen.
    """
    statuses = _status_counts()
    values = [value for value in query.getlist("status") if value] or ["open"]
    rows = chosen.by_status(Bucket.objects.order_by(), "status", values)
    symptoms, frameworks, assignees = _column_counts(rows)
    facets = _facet_counts(rows)
    people = {"me": "me", "nobody": "nobody", **{name: name for name in team}}
    names = {
        "status": dict(STATUS_CHOICES),
        "symptom": dict(Symptom.choices),
        "framework": dict(Framework.choices),
        "assignee": people,
    }
    counted: dict[str, Mapping[str, int]] = {
        "status": statuses,
        "symptom": symptoms,
        "framework": frameworks,
        **{name: facets[kind] for name, kind in FACETS.items()},
        "assignee": assignees,
        "label": _label_counts(rows),
    }
    names["campaign"], counted["campaign"] = _campaigns(rows)
    order = [name for name in chosen.filters if name in counted]
    return tuple(_menu(name, chosen, query, names.get(name, {}), counted[name]) for name in order)


def _menu(
    name: str,
    chosen: BucketFilter,
    query: QueryDict,
    names: Mapping[str, str],
    counts: Mapping[str, int],
) -> Menu:
    """Named values in their order, else the most frequent first; chosen ones are always there."""
    picked = {value for value in query.getlist(name) if value}
    if name == "status" and not picked:
        picked = {"open"}
    values = dict.fromkeys([*names, *sorted(counts, key=lambda one: (-counts[one], one)), *picked])
    return Menu(
        name,
        str(chosen.filters[name].label),
        tuple(
            Option(value, str(names.get(value, value)), counts.get(value, 0), value in picked)
            for value in values
        ),
        0 if picked == {"open"} else len(picked),
    )


def _status_counts() -> dict[str, int]:
    """Buckets of each status, and of the filter's own: open, flagged and so on. One query."""
    flagged = ~Q(flag="")
    every = {value: Count("pk", filter=Q(status=value)) for value in Bucket.Status.values}
    return Bucket.objects.aggregate(
        **every,
        open=Count("pk", filter=NEEDS_A_PERSON),
        flagged=Count("pk", filter=flagged),
        suppressed=Count("pk", filter=SUPPRESSED),
        all=Count("pk"),
    )


def _column_counts(rows: QuerySet[Bucket]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Buckets of each symptom, framework and assignee. One query."""
    symptoms, frameworks, assignees = Counter[str](), Counter[str](), Counter[str]()
    grouped = rows.values_list("symptom", "framework", "assignee__username").annotate(Count("pk"))
    for symptom, framework, assignee, count in grouped:
        symptoms[symptom] += count
        frameworks[framework] += count
        assignees[assignee or "nobody"] += count
    return symptoms, frameworks, assignees


def _facet_counts(rows: QuerySet[Bucket]) -> Mapping[str, Mapping[str, int]]:
    """Buckets of each value, by kind of facet. One query."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    counted = (
        Facet.objects.filter(bucket__in=rows.values("pk"))
        .order_by()
        .values_list("kind", "value")
        .annotate(Count("pk"))
    )
    for kind, value, count in counted:
        found[kind][value] = count
    return found


def _label_counts(rows: QuerySet[Bucket]) -> dict[str, int]:
    """Buckets that carry each label, those that none carries too. One query."""
    inside = Count("buckets", filter=Q(buckets__in=rows.values("pk")), distinct=True)
    return dict(Label.objects.order_by().annotate(inside=inside).values_list("name", "inside"))


def _campaigns(rows: QuerySet[Bucket]) -> tuple[dict[str, str], dict[str, int]]:
    """Names and counts of the campaigns that found something, the newest first. One query."""
    counted = (
        FindingRecord.objects.filter(bucket__in=rows.values("pk"))
        .order_by("-campaign_id")
        .values_list("campaign__uuid", "campaign__name", "campaign_id")
        .annotate(Count("bucket", distinct=True))
    )
    names, counts = {}, {}
    for uuid, name, _, count in counted:
        names[str(uuid)] = name
        counts[str(uuid)] = count
    return names, counts


# ----------------------------------------------------------------------------------------- views
@dataclass(frozen=True)
class View:
    """Filters under a name. `saved` is None for the views that everybody has."""

    name: str
    query: str
    count: int
    is_current: bool
    saved: SavedView | None = None


def saved_views(user: User) -> QuerySet[SavedView]:
    """A person's own views and the shared ones, with `is_default`: the inbox opens with it."""
    default = DefaultView.objects.filter(owner=user, view=OuterRef("pk"))
    return (
        SavedView.objects.filter(Q(owner=user) | Q(shared=True))
        .select_related("owner")
        .annotate(is_default=Exists(default))
        .order_by("name", "pk")
    )


def inbox_views(user: User, query: QueryDict | None = None) -> tuple[View, ...]:
    """The views that everybody has, then the saved ones, each with its count. Two queries."""
    saved = list(saved_views(user))
    named: list[tuple[str, str, SavedView | None]] = [
        *((name, text, None) for name, text in FIXED_VIEWS.items()),
        *((view.name, view.query, view) for view in saved),
    ]
    counts = _matching([text for _, text, _ in named], user)
    now = _essence(query) if query is not None else None
    return tuple(
        View(name, text or "status=open", counts[place], _essence(QueryDict(text)) == now, view)
        for place, (name, text, view) in enumerate(named)
    )


def _matching(queries: Sequence[str], user: User) -> Sequence[int]:
    """How many buckets each of these queries shows. One query."""
    counts: dict[str, Any] = {}
    for place, text in enumerate(queries):
        chosen = BucketFilter(QueryDict(text), queryset=Bucket.objects.order_by(), user=user)
        rows = chosen.qs if chosen.is_valid() else Bucket.objects.none()
        counts[f"view{place}"] = Count("pk", filter=Q(pk__in=rows.values("pk")))
    found = Bucket.objects.aggregate(**counts)
    return [found[f"view{place}"] for place in range(len(queries))]


def _essence(query: QueryDict) -> frozenset[tuple[str, str]]:
    """What a query filters by, whatever its order, sort and page."""
    pairs = {
        (name, value)
        for name, values in query.lists()
        for value in values
        if value and name in BucketFilter.base_filters
    }
    if not any(name == "status" for name, _ in pairs):
        pairs.add(("status", "open"))
    return frozenset(pairs)


@dataclass(frozen=True)
class WayOut:
    """A filter that keeps everything out, and how many buckets there are without it."""

    chip: Chip
    count: int


def ways_out(chips: Sequence[Chip], user: User) -> tuple[WayOut, ...]:
    """Which single filter to drop where nothing matches, the one that shows most first. One query.

    Empty where no single one is to blame.
    """
    counts = _matching([chip.without for chip in chips], user) if chips else ()
    found = [WayOut(chip, count) for chip, count in zip(chips, counts, strict=True) if count]
    return tuple(sorted(found, key=lambda way: -way.count))


def running_campaigns() -> QuerySet[Campaign]:
    """Campaigns that run or wait to. For an inbox in which nothing is yet."""
    live = [Campaign.Status.PENDING, Campaign.Status.RUNNING]
    return Campaign.objects.filter(status__in=live).order_by("-created_at")
