"""What tests need from the machine, checked once, before they run.

A test says what it needs by a marker. What is missing skips it with the reason; under CI it fails,
because there a skip would hide that nothing was tested. Database servers may be missing anywhere.
"""

import importlib.util
import os
import shutil
from typing import Any

import pytest
from django.conf import settings
from django.db import DataError, models

from flowmut_web import machine

IN_CI = os.environ.get("CI", "").lower() == "true"


def _has(module: str) -> bool:
    """Whether our own interpreter, which is the workers' by default, has the module."""
    return importlib.util.find_spec(module) is not None


def missing_need(marker: str) -> str | None:
    """What a marker needs and this machine lacks, or None."""
    match marker:
        case "torch" if not _has("torch"):
            return "torch is not installed"
        case "mindspore" if not _has("mindspore"):
            return "mindspore is not installed"
        case "framework" if not (_has("torch") or _has("mindspore")):
            return "neither torch nor mindspore is installed"
        case "inductor" if machine.compiler() is None:
            return "no C++ compiler"
        case "inductor" if machine.python_headers() is None:
            return "no Python headers"
        case "browser" if machine.browser() is None:
            return "no Chromium"
        case "database_server" if not os.environ.get("TEST_DATABASE_URL"):
            return "TEST_DATABASE_URL names no database server"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip or fail a test whose needs are not met."""
    for marker in {mark.name for mark in item.iter_markers()}:
        reason = missing_need(marker)
        if reason is None:
            continue
        if IN_CI and marker != "database_server":
            pytest.fail(f"{reason}; CI must have it", pytrace=False)
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def _lengths_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite takes texts of any length; PostgreSQL refuses what does not fit, and so do tests."""
    prepared = models.CharField.get_db_prep_save

    def checked(field: models.CharField[Any, Any], value: Any, connection: Any) -> Any:
        if isinstance(value, str) and field.max_length and len(value) > field.max_length:
            raise DataError(f"{field}: {len(value)} characters, at most {field.max_length} fit")
        return prepared(field, value, connection)

    monkeypatch.setattr(models.CharField, "get_db_prep_save", checked)


def pytest_unconfigure() -> None:
    """Remove the storage folder that `tests/settings.py` made for this process."""
    shutil.rmtree(settings.VAR_DIR)
