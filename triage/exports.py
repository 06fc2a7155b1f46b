"""Buckets as CSV and JSON, streamed in pages."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from triage.models import Bucket
from triage.selectors import buckets_for_lists

__all__ = ["csv_download", "harmless", "json_download"]

_EXPORT_PAGE = 500


def csv_download(rows: QuerySet[Bucket], *, site: str) -> StreamingHttpResponse:
    """One line a bucket, under headings. `site`: what addresses of buckets begin with."""
    return _download(_csv_lines(rows, site), "text/csv", "buckets.csv")


def json_download(rows: QuerySet[Bucket], *, site: str) -> StreamingHttpResponse:
    """One list of objects. `site`: what addresses of buckets begin with."""
    return _download(_json_parts(rows, site), "application/json", "buckets.json")


class _Echo:
    """A file that gives back what is written: `csv` writes lines, the response streams them."""

    def write(self, line: str) -> str:
        return line


_EXPORT_COLUMNS = (
    "id",
    "url",
    "title",
    "verdict",
    "symptom",
    "framework",
    "op",
    "status",
    "status_reason",
    "flag",
    "assignee",
    "labels",
    "findings",
    "impact",
    "impact_reasons",
    "operators",
    "reproduced",
    "attempts",
    "first_seen",
    "last_seen",
)


def _bucket_data(bucket: Bucket, site: str) -> dict[str, object]:
    values = (
        str(bucket.uuid),
        site + bucket.get_absolute_url(),
        bucket.title,
        bucket.verdict,
        bucket.symptom,
        bucket.framework,
        bucket.op,
        bucket.status,
        bucket.status_reason,
        bucket.flag,
        bucket.assignee.get_username() if bucket.assignee else "",
        ", ".join(label.name for label in bucket.labels.all()),
        bucket.count,
        bucket.impact,
        "; ".join(f"{points}: {reason}" for points, reason in bucket.impact_points),
        bucket.minimised_nodes,
        bucket.reproduced,
        bucket.attempts,
        bucket.first_seen.isoformat(),
        bucket.last_seen.isoformat(),
    )
    return dict(zip(_EXPORT_COLUMNS, values, strict=True))


def _pages(rows: QuerySet[Bucket]) -> Iterator[Bucket]:
    """The rows as they are sorted when it begins, read in pages.

    No query is open between two pages, so that a slow reader holds up neither a writer nor the
    clearing of the log.
    """
    ids = list(rows.values_list("pk", flat=True))
    for start in range(0, len(ids), _EXPORT_PAGE):
        page = ids[start : start + _EXPORT_PAGE]
        found = {bucket.pk: bucket for bucket in buckets_for_lists().filter(pk__in=page)}
        yield from (found[pk] for pk in page if pk in found)


def _csv_lines(rows: QuerySet[Bucket], site: str) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(_EXPORT_COLUMNS)
    for bucket in _pages(rows):
        yield writer.writerow([harmless(value) for value in _bucket_data(bucket, site).values()])


def harmless(value: object) -> object:
    """A text that a spreadsheet would run as a formula begins with an apostrophe."""
    return (
        f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
    )


def _json_parts(rows: QuerySet[Bucket], site: str) -> Iterator[str]:
    yield "["
    for index, bucket in enumerate(_pages(rows)):
        text = json.dumps(_bucket_data(bucket, site), ensure_ascii=False)
        yield (",\n" if index else "\n") + text
    yield "\n]\n"


def _download(parts: Iterable[str], kind: str, name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(parts, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
