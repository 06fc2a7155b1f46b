"""Administration of campaigns: looking, and mending environments."""

from django.contrib import admin

from campaigns.models import Campaign, Environment, Shard, WorkerHeartbeat

__all__ = ["CampaignAdmin", "EnvironmentAdmin", "ShardAdmin", "WorkerHeartbeatAdmin"]


@admin.register(Environment)
class EnvironmentAdmin(admin.ModelAdmin[Environment]):
    list_display = ["name", "framework", "interpreter", "healthy", "last_probe"]
    readonly_fields = ["uuid", "versions", "healthy", "problem", "last_probe"]


@admin.register(Campaign)
class CampaignAdmin(admin.ModelAdmin[Campaign]):
    list_display = ["name", "preset", "status", "rounds", "created_at", "created_by"]
    list_filter = ["status", "preset"]
    readonly_fields = ["uuid", "seeds", "modes", "status", "started_at", "finished_at"]


@admin.register(Shard)
class ShardAdmin(admin.ModelAdmin[Shard]):
    list_display = ["campaign", "index", "seed", "status", "owner", "lease_until", "next_round"]
    list_filter = ["status"]
    list_select_related = ["campaign"]
    exclude = ["checkpoint"]


@admin.register(WorkerHeartbeat)
class WorkerHeartbeatAdmin(admin.ModelAdmin[WorkerHeartbeat]):
    list_display = ["name", "what", "last_seen"]
