"""Writers of saved views: filters of the inbox under a name, and what the inbox opens with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.http import QueryDict

from triage.filters import BucketFilter
from triage.models import DefaultView, SavedView

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "NameTakenError",
    "choose_default",
    "clean_query",
    "delete_view",
    "edit_view",
    "opening_query",
    "save_view",
]


class NameTakenError(Exception):
    """The owner has another view of that name; the message is for a person."""


def clean_query(text: str) -> str:
    """What of a query string belongs to a view: filters, sort and page size, without blanks."""
    given, kept = QueryDict(text), QueryDict(mutable=True)
    for name, values in given.lists():
        if name in BucketFilter.base_filters or name in ("sort", "size"):
            kept.setlist(name, [value for value in values if value])
    return kept.urlencode()


def save_view(*, owner: User, name: str, query: str, shared: bool) -> SavedView:
    """Keep filters under a name; the owner's view of that name is replaced."""
    view, _ = SavedView.objects.update_or_create(
        owner=owner, name=name, defaults={"query": clean_query(query), "shared": shared}
    )
    return view


@transaction.atomic
def edit_view(view: SavedView, *, name: str, shared: bool) -> SavedView:
    """Rename or share a view. One that is no longer shared is nobody else's default."""
    view.name, view.shared = name, shared
    try:
        with transaction.atomic():
            view.save(update_fields=["name", "shared"])
    except IntegrityError as error:
        raise NameTakenError(f"You have another view named “{name}”.") from error
    if not shared:
        DefaultView.objects.filter(view=view).exclude(owner=view.owner).delete()
    return view


def delete_view(view: SavedView) -> None:
    """Drop a view; whoever's inbox opened with it has the ordinary one again."""
    view.delete()


def choose_default(*, owner: User, view: SavedView | None) -> None:
    """What a person's inbox opens with; None for what needs a person."""
    if view is None:
        DefaultView.objects.filter(owner=owner).delete()
    else:
        DefaultView.objects.update_or_create(owner=owner, defaults={"view": view})


def opening_query(user: User) -> str:
    """The query string that a person's inbox opens with; empty without a default view."""
    chosen = DefaultView.objects.filter(owner=user).select_related("view").first()
    return (chosen.view.query or "status=open") if chosen else ""
