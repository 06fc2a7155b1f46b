"""REST API of triage: what its pages show and do, with the inbox's filters."""

from triage.api.board import ScoreboardView
from triage.api.buckets import BucketViewSet
from triage.api.findings import FindingViewSet, RerunViewSet
from triage.api.reports import ReportViewSet
from triage.api.submissions import SubmissionViewSet
from triage.api.suppressions import SuppressionViewSet
from triage.api.templates import DraftTemplateViewSet
from triage.api.undo import UndoView
from triage.api.versions import (
    BisectionView,
    FollowUpView,
    MatrixView,
    RetestView,
    VersionsView,
)
from triage.api.views import SavedViewViewSet

__all__ = [
    "BisectionView",
    "BucketViewSet",
    "DraftTemplateViewSet",
    "FindingViewSet",
    "FollowUpView",
    "MatrixView",
    "ReportViewSet",
    "RerunViewSet",
    "RetestView",
    "SavedViewViewSet",
    "ScoreboardView",
    "SubmissionViewSet",
    "SuppressionViewSet",
    "UndoView",
    "VersionsView",
]
