"""Environments: registered and removed, by administrators in the browser, on the command line."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from campaigns.environments import add_environment
from campaigns.models import Environment
from engine.errors import BadInput
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def interpreter(tmp_path: Path) -> str:
    """A Python whose torch is 2.99."""
    return fake_interpreter(tmp_path, "2.99.0")


def fake_interpreter(folder: Path, version: str, framework: str = "torch") -> str:
    """A script that finds a framework of this version, and NumPy, before any other."""
    modules = folder / f"modules-{version}"
    for name, number in ((framework, version), ("numpy", "1.26.4")):
        (modules / name).mkdir(parents=True)
        (modules / name / "__init__.py").write_text(f"__version__ = {number!r}\n")
    blocked = {"torch", "mindspore"} - {framework}
    (modules / "first.py").write_text(
        "import importlib.util as util, runpy, sys\n"
        f"sys.path.insert(0, {str(modules)!r})\n"
        "find = util.find_spec\n"
        f"util.find_spec = lambda name: None if name in {blocked!r} else find(name)\n"
        "program, sys.argv = sys.argv[2], ['-c', *sys.argv[3:]]\n"
        "exec(program, {'__name__': '__main__'})\n"
    )
    path = folder / f"python-{version}"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -I {modules}/first.py "$2" "$3" "$4" "$5"\n')
    path.chmod(0o755)
    return str(path)


def env(*arguments: str) -> str:
    out = StringIO()
    call_command("env", *arguments, stdout=out)
    return out.getvalue()


def test_framework_is_the_one_that_the_interpreter_has(interpreter: str) -> None:
    made = add_environment("torch 2.99", interpreter=interpreter)
    assert (made.framework, made.version, made.kind, made.healthy) == (
        "torch",
        "2.99.0",
        "release",
        True,
    )


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("2.13.0+cpu", "release"),
        ("2.14.0.dev20261120+cpu", "nightly"),
        ("2.14.0a0+git1f3", "dev"),
        ("2.10.0rc1", "dev"),
        ("", ""),
    ],
)
def test_kind_is_read_from_the_version(version: str, kind: str) -> None:
    made = factories.environment("torch", version)
    assert made.kind == kind


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("x", {"interpreter": "/no/such/python"}, "saw no file /no/such/python"),
        ("../x", {"interpreter": sys.executable}, "expected letters, digits"),
        ("x", {"interpreter": sys.executable, "framework": "jax"}, "expected torch or mindspore"),
        ("torch taken", {"interpreter": sys.executable}, "expected another name"),
        ("x", {"interpreter": "/bin/true"}, "expected a Python interpreter"),
    ],
)
def test_what_cannot_be_registered_says_why(name: str, given: dict[str, str], message: str) -> None:
    factories.environment("torch taken", "2.0")
    with pytest.raises(BadInput, match=message):
        add_environment(name, **given)
    assert Environment.objects.count() == 1


def test_command_registers_lists_and_removes(interpreter: str) -> None:
    assert "torch 2.99.0 release, healthy" in env("add", "newer", "--interpreter", interpreter)
    assert [line.split(":")[0] for line in env("list").splitlines()] == [
        "mindspore",
        "newer",
        "torch",
    ]
    assert '"version": "2.99.0"' in env("list", "--json")
    assert "healthy" in env("probe", "newer")
    env("remove", "newer")
    assert not Environment.objects.filter(name="newer").exists()


def test_command_refuses_to_remove_what_the_settings_name() -> None:
    with pytest.raises(CommandError, match="the settings name this one") as caught:
        env("remove", "torch")
    assert caught.value.returncode == 2
    with pytest.raises(CommandError, match="expected one of: mindspore, torch"):
        env("remove", "nothing")


def test_removing_what_was_made_here_deletes_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    factories.environment("torch made", "2.0", folder=str(folder))
    kept = factories.environment("torch kept", "2.1", interpreter=str(tmp_path))
    env("remove", "torch made")
    assert not folder.exists()
    env("remove", kept.name)
    assert tmp_path.exists()


# ---------------------------------------------------------------------------------------- browser
def test_administrator_registers_in_the_browser(client: Client, interpreter: str) -> None:
    client.force_login(factories.user("ada", is_staff=True))
    path = "/campaigns/environments/add/"
    refused = client.post(path, {"name": "newer", "interpreter": "/no/such/python"})
    assert refused.status_code == 400
    assert "saw no file /no/such/python" in refused.content.decode()
    page = client.post(path, {"name": "newer", "interpreter": interpreter}, follow=True)
    assert "newer is registered, with torch 2.99.0." in page.content.decode()
    made = Environment.objects.get(name="newer")
    assert "Remove newer" in page.content.decode()
    client.post(f"/campaigns/environments/{made.uuid}/remove/")
    assert not Environment.objects.filter(name="newer").exists()


def test_others_look_and_change_nothing(client: Client, interpreter: str) -> None:
    client.force_login(factories.user())
    made = factories.environment("torch 2.12", "2.12.0")
    page = client.get("/campaigns/environments/").content.decode()
    assert "2.12.0" in page
    assert "Remove torch 2.12" not in page
    given = {"name": "newer", "interpreter": interpreter}
    assert client.post("/campaigns/environments/add/", given).status_code == 403
    assert client.post(f"/campaigns/environments/{made.uuid}/remove/").status_code == 403
    assert client.post("/api/environments/", given, "application/json").status_code == 403
    assert client.delete(f"/api/environments/{made.uuid}/").status_code == 403
    assert list(Environment.objects.all()) == [made]


def test_api_registers_and_removes(client: Client, interpreter: str, settings: Settings) -> None:
    client.force_login(factories.user(is_staff=True))
    given = {"name": "newer", "interpreter": interpreter}
    made = client.post("/api/environments/", given, "application/json")
    assert made.status_code == 201
    assert (made.json()["version"], made.json()["kind"]) == ("2.99.0", "release")
    again = client.post("/api/environments/", given, "application/json")
    assert "expected another name" in again.json()[0]
    assert client.delete(f"/api/environments/{made.json()['id']}/").status_code == 204
    own = factories.environment("torch", "2.13.0")
    assert client.delete(f"/api/environments/{own.uuid}/").status_code == 409
