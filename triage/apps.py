"""Application configuration of what was found."""

from django.apps import AppConfig

__all__ = ["TriageConfig"]


class TriageConfig(AppConfig):
    """Findings, buckets and reports."""

    name = "triage"
    verbose_name = "Triage"
