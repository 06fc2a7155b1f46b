"""Lists of rows in memory: filtered by a form, sorted, in pages. The URL is their state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest, QueryDict

__all__ = ["Column", "Filters", "listing", "match_words"]

Row = TypeVar("Row")
_SIZES = (50, 100, 500)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A heading that sorts. `is_down`: the greatest first, when it is pressed first."""

    text: str
    key: Callable[[Row], Any]
    is_number: bool = False

    @property
    def is_down(self) -> bool:
        return self.is_number


class Filters(forms.Form):
    """Words, and choices that a list adds; an empty field narrows nothing.

    A choice that is not offered matches nothing, and its chip removes it.
    """

    q = forms.CharField(required=False, label="Text")

    def wanted(self) -> dict[str, str]:
        """What was chosen, by the name of the field."""
        given = {name: str(self.data.get(name, "")).strip() for name in self.fields}
        return {name: value for name, value in given.items() if value}

    def chips(self, query: QueryDict) -> Iterator[tuple[str, str, str]]:
        """Name and text of each active filter, and the query string without it."""
        for name, value in self.wanted().items():
            field = self.fields[name]
            texts = dict(getattr(field, "choices", ()))
            rest = _without(query, name, "page")
            yield str(field.label), str(texts.get(value, value)), rest.urlencode()


def choices(label: str, values: Iterable[str | tuple[str, str]]) -> forms.ChoiceField:
    """A filter with these values, and "any"."""
    pairs = [one if isinstance(one, tuple) else (one, one) for one in values]
    return forms.ChoiceField(choices=[("", "any"), *pairs], required=False, label=label)


def match_words(text: str, *places: str) -> bool:
    """Whether every word is somewhere in these places, whatever its case."""
    where = "\n".join(places).casefold()
    return all(word in where for word in text.casefold().split())


def listing(
    request: HttpRequest,
    rows: Sequence[Row],
    columns: Mapping[str, Column[Row]],
    *,
    sort: str,
    total: int,
) -> dict[str, Any]:
    """The context of a list: a sorted page of the rows, headings, and the filters' query."""
    query = request.GET
    now = query.get("sort", "")
    if now.removeprefix("-") not in columns:
        now = sort
    column = columns[now.removeprefix("-")]
    # Sorted by name first, so that equal rows keep an order that people know.
    ordered = sorted(rows, key=column.key, reverse=now.startswith("-"))
    size = int(query["size"]) if query.get("size", "") in map(str, _SIZES) else _SIZES[0]
    return {
        "page": Paginator(ordered, size).get_page(query.get("page")),
        "columns": [_heading(query, now, name, one) for name, one in columns.items()],
        "query": _without(query, "page").urlencode(),
        "plain_query": _without(query, "page", "size").urlencode(),
        "size": size,
        "sizes": _SIZES,
        "shown": len(rows),
        "total": total,
    }


def _heading(query: QueryDict, now: str, name: str, column: Column[Any]) -> dict[str, Any]:
    order = {name: "ascending", f"-{name}": "descending"}.get(now, "")
    is_next_down = order == "ascending" or (not order and column.is_down)
    rest = _without(query, "page")
    rest["sort"] = f"-{name}" if is_next_down else name
    return {
        "text": column.text,
        "query": rest.urlencode(),
        "order": order,
        "is_number": column.is_number,
    }


def _without(query: QueryDict, *names: str) -> QueryDict:
    rest = query.copy()
    for name in names:
        rest.pop(name, None)
    return rest
