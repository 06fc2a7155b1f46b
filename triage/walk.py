"""Walking a list of buckets from page to page: which comes before this one, and which after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from triage.filters import BucketFilter, sorted_buckets
from triage.models import Bucket

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = ["Walk", "walk"]


@dataclass(frozen=True)
class Walk:
    """Where a bucket is in the list that a query string of the inbox gives.

    `number` from 1; 0 where it is no longer in the list, as after a decision: then `following` is
    what has come into its place. Addresses are "" at the ends.
    """

    list_url: str
    number: int
    total: int
    previous: str
    following: str


def walk(bucket: Bucket, *, query: str, at: str, user: User) -> Walk:
    """Neighbours in the list `query`; `at` says where the bucket was. One query."""
    data = QueryDict(query)
    chosen = BucketFilter(data, queryset=Bucket.objects.all(), user=user)
    rows = chosen.qs if chosen.is_valid() else Bucket.objects.none()
    order = list(sorted_buckets(rows, data.get("sort", "")).values_list("uuid", flat=True))
    is_there = bucket.uuid in order
    was = int(at) if at.isdigit() else 0
    place = order.index(bucket.uuid) if is_there else min(was, len(order))
    after = place + is_there

    def address(index: int) -> str:
        if not 0 <= index < len(order) or not (is_there or at):
            return ""
        return _address(order[index], query, index)

    home = reverse("triage:list-buckets")
    return Walk(
        list_url=f"{home}?{query}" if query else home,
        number=place + 1 if is_there else 0,
        total=len(order),
        previous=address(place - 1),
        following=address(after),
    )


def _address(uuid: UUID, query: str, index: int) -> str:
    kept = {"list": query, "at": str(index)} if query else {"at": str(index)}
    return f"{reverse('triage:show-bucket', args=[uuid])}?{urlencode(kept)}"
