"""Buckets as CSV and JSON, streamed in pages."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from triage.models import Bucket

__all__ = ["bucket_data", "csv_download", "json_download"]

_EXPORT_PAGE = 500


def csv_download(rows: QuerySet[Bucket]) -> StreamingHttpResponse:
    """One line a bucket, under headings."""
    return _download(_csv_lines(rows), "text/csv", "buckets.csv")


def json_download(rows: QuerySet[Bucket]) -> StreamingHttpResponse:
    """One list of objects."""
    return _download(_json_parts(rows), "application/json", "buckets.json")


class _Echo:
    """A file that gives back what is written: `csv` writes lines, the response streams them."""

    def write(self, line: str) -> str:
        return line


_EXPORT_COLUMNS = (
    "id",
    "title",
    "symptom",
    "framework",
    "op",
    "status",
    "assignee",
    "labels",
    "findings",
    "impact",
    "operators",
    "reproduced",
    "attempts",
    "first_seen",
    "last_seen",
    "verdict",
)


def bucket_data(bucket: Bucket) -> dict[str, object]:
    values = (
        str(bucket.uuid),
        bucket.title,
        bucket.symptom,
        bucket.framework,
        bucket.op,
        bucket.status,
        bucket.assignee.get_username() if bucket.assignee else "",
        ", ".join(label.name for label in bucket.labels.all()),
        bucket.count,
        bucket.impact,
        bucket.minimised_nodes,
        bucket.reproduced,
        bucket.attempts,
        bucket.first_seen.isoformat(),
        bucket.last_seen.isoformat(),
        bucket.verdict,
    )
    return dict(zip(_EXPORT_COLUMNS, values, strict=True))


def _csv_lines(rows: QuerySet[Bucket]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(_EXPORT_COLUMNS)
    for bucket in rows.iterator(chunk_size=_EXPORT_PAGE):
        yield writer.writerow([_harmless(value) for value in bucket_data(bucket).values()])


def _harmless(value: object) -> object:
    """A text that a spreadsheet would run as a formula begins with an apostrophe."""
    return (
        f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@")) else value
    )


def _json_parts(rows: QuerySet[Bucket]) -> Iterator[str]:
    yield "["
    for index, bucket in enumerate(rows.iterator(chunk_size=_EXPORT_PAGE)):
        yield (",\n" if index else "\n") + json.dumps(bucket_data(bucket), ensure_ascii=False)
    yield "\n]\n"


def _download(parts: Iterable[str], kind: str, name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(parts, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
