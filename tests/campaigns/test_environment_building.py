"""Environments made by pip, from a folder of small wheels: planned, built, broken off, refused."""

from __future__ import annotations

import hashlib
import zipfile
from base64 import urlsafe_b64encode
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from campaigns import environment_building as building
from campaigns.environment_building import Source, build_environment, plan_environment
from campaigns.models import Environment
from engine.errors import BadInput

pytestmark = pytest.mark.django_db


def wheel(folder: Path, name: str, version: str, *, needs: str = "") -> Path:
    """A wheel of one module that knows its version."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{info}/METADATA": metadata + (f"Requires-Dist: {needs}\n" if needs else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in files.items()] + [
        f"{info}/RECORD,,"
    ]
    made = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in {**files, f"{info}/RECORD": "\n".join(lines)}.items():
            archive.writestr(path, text)
    return made


def _digest(text: str) -> str:
    return urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """A folder of wheels, and a pip that knows no index."""
    folder = tmp_path / "offered"
    folder.mkdir()
    wheel(folder, "torch", "2.98.0", needs="leaf")
    wheel(folder, "torch", "2.99.0", needs="leaf")
    wheel(folder, "leaf", "1.0")
    wheel(folder, "numpy", "1.26.4")
    monkeypatch.setattr(building, "version", lambda name: "1.26.4")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    return Source(wheels=str(folder))


def test_plan_says_what_is_fetched_and_how_large_it_is(tmp_path: Path, source: Source) -> None:
    plan = plan_environment("old", "torch==2.98.0", home=tmp_path / "home", source=source)
    assert [(one.name, one.version) for one in plan.missing] == [
        ("torch", "2.98.0"),
        ("numpy", "1.26.4"),
        ("leaf", "1.0"),
    ]
    offered = Path(source.wheels)
    assert [one.size for one in plan.wheels] == [
        (offered / one.file).stat().st_size for one in plan.wheels
    ]
    assert not Environment.objects.exists()


def test_environment_is_built_and_registered(tmp_path: Path, source: Source) -> None:
    said: list[str] = []
    plan = plan_environment("old", "torch==2.98.0", home=tmp_path / "home", source=source)
    made = build_environment(plan, source=source, say=said.append)
    assert (made.framework, made.version, made.healthy) == ("torch", "2.98.0", True)
    assert (made.spec, made.folder) == ("torch==2.98.0", str(tmp_path / "home" / "old"))
    assert said[0] == "fetching 1 of 3: torch-2.98.0-py3-none-any.whl"
    assert said[-1] == "asking the new interpreter for its versions"


def test_second_environment_takes_the_wheels_that_are_there(tmp_path: Path, source: Source) -> None:
    home = tmp_path / "home"
    plan = plan_environment("old", "torch==2.98.0", home=home, source=source)
    build_environment(plan, source=source)
    newer = plan_environment("new", "torch==2.99.0", home=home, source=source)
    assert [one.name for one in newer.missing] == ["torch"]


def test_what_was_broken_off_goes_on(
    tmp_path: Path, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, fetch = tmp_path / "home", building._fetch

    def broken(wheel: building.Wheel, *args: object) -> None:
        if wheel.name == "numpy":
            (home / "wheels" / wheel.file).write_bytes(b"half of it")
            raise KeyboardInterrupt
        fetch(wheel, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "_fetch", broken)
    with pytest.raises(KeyboardInterrupt):
        build_environment(
            plan_environment("old", "torch==2.98.0", home=home, source=source), source=source
        )
    monkeypatch.setattr(building, "_fetch", fetch)
    plan = plan_environment("old", "torch==2.98.0", home=home, source=source)
    assert [one.name for one in plan.missing] == ["numpy", "leaf"]
    assert build_environment(plan, source=source).healthy


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("torch==1.0", "pip: ERROR: .* No matching distribution found for torch==1.0"),
        ("jax==1.0", "expected a requirement of torch or mindspore first"),
        ("torch==", "expected a requirement such as"),
        ("", "expected a requirement of torch or mindspore first"),
    ],
)
def test_requirement_that_cannot_be_had_is_refused(
    spec: str, message: str, tmp_path: Path, source: Source
) -> None:
    with pytest.raises(BadInput, match=message):
        plan_environment("old", spec, home=tmp_path / "home", source=source)


def test_folder_of_another_requirement_is_left_alone(tmp_path: Path, source: Source) -> None:
    home = tmp_path / "home"
    plan_environment("old", "torch==2.98.0", home=home, source=source)
    with pytest.raises(BadInput, match=r"saw torch==2\.98\.0, expected nothing, or torch==2\.99"):
        plan_environment("old", "torch==2.99.0", home=home, source=source)


def test_wheel_that_is_not_what_the_index_said_is_refused(tmp_path: Path, source: Source) -> None:
    plan = plan_environment("old", "torch==2.98.0", home=tmp_path / "home", source=source)
    wheel(Path(source.wheels), "leaf", "1.0", needs="numpy")
    with pytest.raises(BadInput, match=r"wheel leaf==1\.0: saw leaf-1\.0.* with another sha256"):
        build_environment(plan, source=source)


def test_disk_without_room_is_said_before_anything_is_fetched(
    tmp_path: Path, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_environment("old", "torch==2.98.0", home=tmp_path / "home", source=source)
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(BadInput, match="0 MB free on its disk"):
        build_environment(plan, source=source)
    assert list(plan.store.iterdir()) == []


def test_command_asks_before_it_fetches(
    tmp_path: Path, source: Source, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ENVIRONMENT_DIR, settings.WHEEL_DIR = tmp_path / "home", source.wheels
    out = StringIO()
    monkeypatch.setattr("builtins.input", lambda prompt: "n")
    with pytest.raises(CommandError, match="nothing was fetched"):
        call_command("env", "add", "old", "--spec", "torch==2.98.0", stdout=out)
    assert "3 of 3 packages to fetch, 0 MB" in out.getvalue()
    assert list((tmp_path / "home" / "wheels").iterdir()) == []
    call_command("env", "add", "old", "--spec", "torch==2.98.0", "--yes", stdout=out)
    assert "old: torch 2.98.0 release, healthy" in out.getvalue()
