"""Administration of triage: labels and looking; decisions are made on the pages, with history."""

from django.contrib import admin

from triage.models import (
    Bucket,
    FindingRecord,
    GroupingRule,
    Label,
    Report,
    SavedView,
    Suppression,
)

__all__ = [
    "BucketAdmin",
    "FindingAdmin",
    "GroupingRuleAdmin",
    "LabelAdmin",
    "ReportAdmin",
    "SavedViewAdmin",
    "SuppressionAdmin",
]


@admin.register(Label)
class LabelAdmin(admin.ModelAdmin[Label]):
    list_display = ["name"]


@admin.register(Bucket)
class BucketAdmin(admin.ModelAdmin[Bucket]):
    list_display = ["title", "symptom", "framework", "status", "assignee", "count"]
    list_filter = ["symptom", "framework", "status"]
    list_select_related = ["assignee"]
    # What services keep in step: history, counters and where findings are.
    readonly_fields = [
        "uuid",
        "signature",
        "signature_digest",
        "status",
        "false_alarm",
        "duplicate_of",
        "assignee",
        "flag",
        "parts",
        "family",
        "merged_into",
        "merged_by",
        "suppression",
    ]


@admin.register(FindingRecord)
class FindingAdmin(admin.ModelAdmin[FindingRecord]):
    list_display = ["title", "symptom", "framework", "seed", "round", "created_at"]
    list_filter = ["symptom", "framework"]

    def has_change_permission(self, *_: object) -> bool:
        """Findings are never changed."""
        return False

    def has_delete_permission(self, *_: object) -> bool:
        """Findings are never deleted."""
        return False


@admin.register(Report)
class ReportAdmin(admin.ModelAdmin[Report]):
    list_display = ["title", "tracker", "status", "upstream_url", "created_by"]
    list_filter = ["tracker", "status"]
    readonly_fields = ["uuid", "status", "bucket", "finding"]


@admin.register(SavedView)
class SavedViewAdmin(admin.ModelAdmin[SavedView]):
    list_display = ["name", "owner", "shared"]


@admin.register(GroupingRule)
class GroupingRuleAdmin(admin.ModelAdmin[GroupingRule]):
    list_display = ["bucket", "parts", "active", "created_by", "created_at"]
    list_filter = ["active"]
    list_select_related = ["bucket", "created_by"]

    def has_add_permission(self, *_: object) -> bool:
        """Rules are set on the bucket's page, which shows what they move."""
        return False

    def has_change_permission(self, *_: object) -> bool:
        """The same."""
        return False

    def has_delete_permission(self, *_: object) -> bool:
        """Rules are lifted, and stay on record."""
        return False


@admin.register(Suppression)
class SuppressionAdmin(admin.ModelAdmin[Suppression]):
    list_display = ["reason", "bucket", "expires_at", "lifted_at", "created_by"]
    list_select_related = ["bucket", "created_by"]

    def has_add_permission(self, *_: object) -> bool:
        """A verdict makes them, with its line in the history."""
        return False

    def has_change_permission(self, *_: object) -> bool:
        """The same; their end is moved on their page."""
        return False

    def has_delete_permission(self, *_: object) -> bool:
        """They are lifted, and stay on record."""
        return False
