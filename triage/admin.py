"""Administration of triage: labels and looking; decisions are made on the pages, with history."""

from django.contrib import admin

from triage.models import Bucket, FindingRecord, Label, Report, SavedView

__all__ = ["BucketAdmin", "FindingAdmin", "LabelAdmin", "ReportAdmin", "SavedViewAdmin"]


@admin.register(Label)
class LabelAdmin(admin.ModelAdmin[Label]):
    list_display = ["name"]


@admin.register(Bucket)
class BucketAdmin(admin.ModelAdmin[Bucket]):
    list_display = ["title", "symptom", "framework", "status", "assignee", "count"]
    list_filter = ["symptom", "framework", "status"]
    list_select_related = ["assignee"]
    readonly_fields = ["uuid", "signature", "status", "assignee", "flag"]


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
