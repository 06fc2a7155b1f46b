"""Application configuration of what is run."""

from django.apps import AppConfig

__all__ = ["CampaignsConfig"]


class CampaignsConfig(AppConfig):
    """Environments, campaigns, shards and mutants."""

    name = "campaigns"
    verbose_name = "Campaigns"
