"""What tests need from the machine, checked once, before they run.

A test says what it needs by a marker. What is missing skips it with the reason; under CI it fails,
because there a skip would hide that nothing was tested. Database servers may be missing anywhere.
"""

import importlib.util
import os
import shutil

import pytest
from django.conf import settings

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


def pytest_unconfigure() -> None:
    """Remove the storage folder that `tests/settings.py` made for this process."""
    shutil.rmtree(settings.VAR_DIR)
