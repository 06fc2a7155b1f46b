"""The environment's readers, the kept secret, and the settings they lead to."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from flowmut_web.environment import Environment
from flowmut_web.settings import _database
from flowmut_web.storage import kept_secret, make_folder


@pytest.mark.parametrize("seen", ["1", "true", "Yes", " on "])
def test_boolean_reads_yes(seen: str) -> None:
    assert Environment({"X": seen}).boolean("X", default=False) is True


def test_empty_variable_counts_as_unset() -> None:
    env = Environment({"X": ""})
    assert env.boolean("X", default=True) is True
    assert env.text("X", "default") == "default"
    assert env.integer("X", 3, least=1) == 3
    assert env.items("X", ("a",)) == ["a"]
    assert env.path("X", Path("/a")) == Path("/a")


def test_items_are_separated_by_commas() -> None:
    assert Environment({"X": "a, b,,c"}).items("X", ()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda env: env.boolean("X", default=True), "X: saw 'maybe', expected true or false"),
        (lambda env: env.integer("X", 1, least=1), "X: saw 'maybe', expected a whole number"),
        (lambda env: env.choice("X", "a", choices=("a", "b")), "X: saw 'maybe', expected one of a"),
        (lambda env: env.path("X", Path("/a")), "X: saw 'maybe', expected an absolute path"),
    ],
)
def test_wrong_value_is_named_with_what_was_expected(read, expected: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ImproperlyConfigured, match=expected):
        read(Environment({"X": "maybe"}))


def test_number_below_the_least_is_refused() -> None:
    with pytest.raises(
        ImproperlyConfigured, match="X: saw '0', expected a whole number of at least 1"
    ):
        Environment({"X": "0"}).integer("X", 1, least=1)


def test_secret_is_made_once_and_only_the_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    first = kept_secret(path)
    assert len(first) >= 50
    assert kept_secret(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_empty_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").touch()
    with pytest.raises(ImproperlyConfigured, match="saw an empty file"):
        kept_secret(tmp_path / "secret")


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match=r"file/below: cannot be made"):
        make_folder(tmp_path / "file" / "below")


def test_embedded_database_takes_its_lock_at_once() -> None:
    options = _database("sqlite:////tmp/x.sqlite3")["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert options["timeout"] == 20
    assert "journal_mode=WAL" in options["init_command"]


def test_server_database_is_taken_from_its_address() -> None:
    found = _database("postgresql://flow:secret@db:5433/triage")
    assert (found["HOST"], found["PORT"], found["NAME"]) == ("db", 5433, "triage")


@pytest.mark.parametrize("url", ["mysql://user:secret@host/name", "garbage", "oracle://x"])
def test_other_database_is_refused_without_showing_its_address(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: saw scheme") as caught:
        _database(url)
    assert "secret" not in str(caught.value)


def test_messages_are_json_and_no_result_is_kept() -> None:
    assert settings.CELERY_ACCEPT_CONTENT == ["json"]
    assert settings.CELERY_TASK_IGNORE_RESULT is True
    assert settings.CELERY_WORKER_PREFETCH_MULTIPLIER == 1


def test_tests_leave_the_storage_folder_of_the_shell_alone(tmp_path: Path) -> None:
    """They remove the folder that their settings name, which must be one of their own."""
    kept = tmp_path / "flowmut.sqlite3"
    kept.write_text("somebody's campaigns")
    named = {"DJANGO_SETTINGS_MODULE": "flowmut_web.settings", "FLOWMUT_VAR_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", __file__],
        env={**os.environ, **named},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert kept.read_text() == "somebody's campaigns"
