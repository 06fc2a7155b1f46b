"""System checks: what would stop a campaign is reported before the first one starts."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Advice

from flowmut_web import machine

__all__ = ["compiler_is_there", "interpreters_are_there", "storage_is_writable"]

Apps = Iterable[AppConfig] | None


@register()
def interpreters_are_there(app_configs: Apps, **_: object) -> list[CheckMessage]:
    """FM001: an interpreter named by the settings is missing or cannot be run."""
    return [
        Error(
            f"The worker interpreter for {framework} is missing: {path}",
            hint=f"Set FLOWMUT_{framework.upper()}_PYTHON to a Python that has {framework}.",
            id="flowmut.FM001",
        )
        for framework, path in settings.WORKER_INTERPRETERS.items()
        if shutil.which(path) is None
    ]


@register()
def storage_is_writable(app_configs: Apps, **_: object) -> list[CheckMessage]:
    """FM002: a folder of the installation cannot be written."""
    folders: tuple[Path, ...] = (settings.VAR_DIR, settings.ARTEFACT_DIR, settings.SCRATCH_DIR)
    return [
        Error(
            f"Storage cannot be written: {folder}",
            hint="Make it writable for this user, or set FLOWMUT_VAR_DIR to another folder.",
            id="flowmut.FM002",
        )
        for folder in folders
        if not os.access(folder, os.W_OK | os.X_OK)
    ]


@register()
def compiler_is_there(app_configs: Apps, **_: object) -> list[CheckMessage]:
    """FM003: torch.compile cannot build its kernels."""
    missing = [need for need in machine.NEEDS[:2] if need.find() is None]
    return [
        Advice(
            f"{need.name} missing: {need.cost}.",
            hint=f"Debian: apt-get install {need.package}",
            id="flowmut.FM003",
        )
        for need in missing
    ]
