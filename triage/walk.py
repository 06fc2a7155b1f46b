"""Walking a list of buckets from page to page: which comes before this one, and which after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q
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
    """Neighbours in the list of `query`. Two queries."""
    data = QueryDict(query)
    chosen = BucketFilter(data, queryset=Bucket.objects.all(), user=user)
    listed = chosen.qs if chosen.is_valid() else Bucket.objects.none()
    is_listed = listed.filter(pk=bucket.pk).exists()
    with_this = Bucket.objects.filter(Q(pk__in=listed.values("pk")) | Q(pk=bucket.pk))
    ordered = sorted_buckets(with_this, data.get("sort", "")).values_list("uuid", flat=True)
    order = list(ordered)
    place = order.index(bucket.uuid)
    home = reverse("triage:list-buckets")
    return Walk(
        list_url=f"{home}?{query}" if query else home,
        number=place + 1 if is_listed else 0,
        total=len(order) - (not is_listed),
        previous=_address(order[place - 1], query) if place else "",
        following=_address(order[place + 1], query) if place + 1 < len(order) else "",
    )


def _address(uuid: UUID, query: str) -> str:
    return f"{reverse('triage:show-bucket', args=[uuid])}?{urlencode({'list': query})}"
