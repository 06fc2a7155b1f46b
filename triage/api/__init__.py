"""REST API of triage: what its pages show and do, with the inbox's filters."""

from triage.api.board import ScoreboardView
from triage.api.buckets import BucketViewSet
from triage.api.findings import FindingViewSet, RerunViewSet
from triage.api.reports import ReportViewSet
from triage.api.suppressions import SuppressionViewSet
from triage.api.undo import UndoView
from triage.api.views import SavedViewViewSet

__all__ = [
    "BucketViewSet",
    "FindingViewSet",
    "ReportViewSet",
    "RerunViewSet",
    "SavedViewViewSet",
    "ScoreboardView",
    "SuppressionViewSet",
    "UndoView",
]
