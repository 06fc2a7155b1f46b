"""Walking a list of buckets from page to page: which comes before this one, and which after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
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

    `number` from 1; 0 where it is not in the list, as after a decision that settles it: it then
    stands where it would be. Addresses are "" at the ends.
    """

    list_url: str
    number: int
    total: int
    previous: str
    following: str


def walk(bucket: Bucket, *, query: str, user: User) -> Walk:
    """Neighbours in the list of `query`. One query, three where the bucket is not in it."""
    data = QueryDict(query)
    chosen = BucketFilter(data, queryset=Bucket.objects.all(), user=user)
    listed = chosen.qs if chosen.is_valid() else Bucket.objects.none()
    order = _order(listed, data)
    is_listed = bucket.uuid in order
    if not is_listed:
        # A list of keys: databases search a subquery anew for every row.
        keys = [bucket.pk, *listed.values_list("pk", flat=True)]
        order = _order(Bucket.objects.filter(pk__in=keys), data)
    place = order.index(bucket.uuid)
    home = reverse("triage:list-buckets")
    return Walk(
        list_url=f"{home}?{query}" if query else home,
        number=place + 1 if is_listed else 0,
        total=len(order) - (not is_listed),
        previous=_address(order[place - 1], query) if place else "",
        following=_address(order[place + 1], query) if place + 1 < len(order) else "",
    )


def _order(rows: QuerySet[Bucket], data: QueryDict) -> list[UUID]:
    return list(sorted_buckets(rows, data.get("sort", "")).values_list("uuid", flat=True))


def _address(uuid: UUID, query: str) -> str:
    return f"{reverse('triage:show-bucket', args=[uuid])}?{urlencode({'list': query})}"
