"""Settings, targets and commands that the documents do not mention fail here."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _variables_read() -> set[str]:
    """Environment variables that the settings read."""
    readers = r"env\.(?:text|boolean|integer|choice|items|path)\(\s*\"([A-Z_]+)\""
    return set(re.findall(readers, _text("flowmut_web/settings.py")))


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", _text("Makefile"), flags=re.MULTILINE))


def test_settings_read_some_variables() -> None:
    assert {"DATABASE_URL", "CELERY_BROKER_URL", "FLOWMUT_VAR_DIR"} <= _variables_read()


def test_every_setting_is_described() -> None:
    page = _text("docs/settings.md")
    assert sorted(name for name in _variables_read() if f"`{name}`" not in page) == []


def test_every_described_setting_is_read() -> None:
    described = set(
        re.findall(r"^\| `([A-Z_]+)` \|", _text("docs/settings.md"), flags=re.MULTILINE)
    )
    read_elsewhere = {
        "FLOWMUT_PYTHON",
        "TEST_DATABASE_URL",
        "TEST_BROKER_URL",
        "TEST_MINDSPORE_PYTHONS",
        "TEST_PICTURES",
    }
    assert described - read_elsewhere == _variables_read()


def test_every_make_target_is_described() -> None:
    pages = _text("README.md") + _text("docs/development.md")
    assert sorted(name for name in _targets() if f"`make {name}`" not in pages) == []


def test_every_make_target_explains_itself() -> None:
    explained = set(re.findall(r"^([a-z][a-z-]*):.*## .", _text("Makefile"), flags=re.MULTILINE))
    assert explained == _targets()


def test_every_management_command_is_described() -> None:
    files = ROOT.glob("*/management/commands/*.py")
    names = {file.stem for file in files if not file.stem.startswith("_")}
    pages = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "docs").glob("*.md"))
    pages += _text("README.md")
    assert sorted(name for name in names if f"manage.py {name}" not in pages) == []


@pytest.mark.parametrize("script", [".ci/run", "scripts/set_up.sh", "scripts/run.sh"])
def test_script_parses(script: str) -> None:
    parsed = subprocess.run(["bash", "-n", ROOT / script], capture_output=True, text=True)
    assert (parsed.returncode, parsed.stderr) == (0, "")


def test_ci_runs_make_test() -> None:
    assert _text(".ci/run").rstrip().endswith("exec make test")
