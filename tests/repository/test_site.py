"""What holds for the whole site: log-in, headers, health, checks."""

from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import Client
from django.urls import NoReverseMatch, get_resolver, reverse

from flowmut_web import machine

# A signature lets messages of trackers in; tests/triage/test_hooks.py has those.
PUBLIC = {"login", "logout", "health", "api-token", "receive-github"}


def _plain_paths() -> list[tuple[str, str]]:
    """Name and path of each top route that takes no argument."""
    found = []
    for name in get_resolver().reverse_dict:
        if isinstance(name, str) and name not in PUBLIC:
            with suppress(NoReverseMatch):
                found.append((name, reverse(name)))
    return found


def test_there_are_routes_to_try() -> None:
    assert {"home", "api-schema", "api-docs"} <= {name for name, _ in _plain_paths()}


@pytest.mark.django_db
def test_stranger_sees_nothing_but_the_log_in_page(client: Client) -> None:
    for _, path in _plain_paths():
        response = client.get(path)
        assert response.status_code in (302, 401, 403), path
        if response.status_code == 302:
            assert response.headers["Location"].startswith("/account/login/")


@pytest.mark.django_db
def test_health_needs_no_log_in(client: Client) -> None:
    response = client.get("/health/")
    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_every_answer_has_a_policy_with_a_fresh_nonce(client: Client) -> None:
    first, second = (client.get("/health/")["Content-Security-Policy"] for _ in range(2))
    assert "object-src 'none'" in first
    assert "unsafe-eval" not in first
    assert first != second


@pytest.mark.django_db
def test_api_description_is_served_to_people_logged_in(admin_client: Client) -> None:
    response = admin_client.get("/api/schema/")
    assert response.status_code == 200
    assert b"FlowMuT Triage" in response.content


def test_missing_interpreter_is_reported(settings: LazySettings) -> None:
    settings.WORKER_INTERPRETERS = {"torch": "/no/such/python"}
    with pytest.raises(SystemCheckError, match=r"FM001.*\n?.*/no/such/python") as caught:
        call_command("check")
    assert "FLOWMUT_TORCH_PYTHON" in str(caught.value)


def test_unwritable_storage_is_reported(settings: LazySettings) -> None:
    settings.VAR_DIR = Path("/proc/sys")
    with pytest.raises(SystemCheckError, match=r"FM002"):
        call_command("check")


def test_missing_compiler_says_what_it_costs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    machine.main()
    assert (
        "C++ compiler: missing; the mode torch-inductor is UNSUPPORTED" in capsys.readouterr().out
    )
