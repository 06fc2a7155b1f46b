"""What is found depends on what runs: every package is pinned exactly, in two files that agree."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [
    *PROJECT["dependencies"],
    *(one for extra in PROJECT["optional-dependencies"].values() for one in extra),
]
LOCK = [
    line
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def _pins(lines: list[str]) -> dict[str, str]:
    found = {}
    for line in lines:
        requirement = Requirement(line)
        [version] = requirement.specifier
        found[canonicalize_name(requirement.name)] = version.version
    return found


@pytest.mark.parametrize("line", [*REQUIREMENTS, *LOCK])
def test_requirement_is_pinned_exactly(line: str) -> None:
    operators = [one.operator for one in Requirement(line).specifier]
    assert operators == ["=="], f"{line}: expected exactly one =="
    assert "*" not in line


def test_lock_holds_every_requirement_at_the_same_version() -> None:
    wanted, locked = _pins(REQUIREMENTS), _pins(LOCK)
    assert {name: locked.get(name) for name in wanted} == wanted


def test_lock_names_no_build_of_one_machine() -> None:
    assert [line for line in LOCK if re.search(r"\+|@|file:", line)] == []


def test_frameworks_are_the_versions_under_test() -> None:
    pins = _pins(REQUIREMENTS)
    seen = {name: pins[name] for name in ("torch", "mindspore", "numpy")}
    assert seen == {"torch": "2.13.0", "mindspore": "2.10.0", "numpy": "1.26.4"}


def test_every_dependency_has_its_reason() -> None:
    page = (ROOT / "docs/decisions/0001-dependencies.md").read_text(encoding="utf-8").lower()
    names = {Requirement(line).name.lower() for line in REQUIREMENTS}
    assert sorted(name for name in names if f"`{name}`" not in page) == []
