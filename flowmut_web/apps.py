"""Application configuration: registers the system checks."""

from django.apps import AppConfig

__all__ = ["FlowmutWebConfig"]


class FlowmutWebConfig(AppConfig):
    """The project's own application: checks and management commands."""

    name = "flowmut_web"
    verbose_name = "FlowMuT Triage"

    def ready(self) -> None:
        """Register the checks."""
        from flowmut_web import checks  # noqa: F401 (registers on import, after settings)
