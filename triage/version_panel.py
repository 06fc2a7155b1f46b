"""What the panel of versions on a bucket's page shows."""

from __future__ import annotations

from dataclasses import dataclass

from triage.models import Bisection, Bucket, Report
from triage.retesting import running_bisection
from triage.version_forms import RetestForm
from triage.versions import VERIFYING, Row, bucket_row

__all__ = ["VersionPanel", "version_panel"]


@dataclass(frozen=True)
class VersionPanel:
    """`reports`: those that were filed, for which a comment can be drafted."""

    row: Row
    form: RetestForm
    bisection: Bisection | None
    reports: tuple[Report, ...]
    verifying: int = VERIFYING

    @property
    def is_live(self) -> bool:
        return self.row.is_live or self.bisection is not None


def version_panel(bucket: Bucket) -> VersionPanel:
    """Six queries."""
    return VersionPanel(
        row=bucket_row(bucket),
        form=RetestForm(bucket.framework),
        bisection=running_bisection(bucket),
        reports=tuple(bucket.reports.exclude(upstream_url="")),
    )
