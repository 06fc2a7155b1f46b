"""The pages of docs/bugs are whole, their scripts stand alone, and their counts are up to date."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import Any

import pytest

from engine.errors import BadInput

ROOT = Path(__file__).resolve().parents[2]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "bugs.py"))
PAGES = SCRIPT["pages"]()
ALLOWED = {"numpy", "torch", "mindspore", "copy", "math", "warnings"}

GOOD = """---
title: torch.f is wrong
framework: torch
versions: 2.13.0
symptom: numerical
kind: value
modes: torch-eager
found by: support run
ordinary: yes
reproduced: 5 of 5
---
## What happens
## Evidence
## Not another page's
## Likely cause
## What a maintainer would ask
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_script_imports_the_framework_alone_and_asserts(page: Any) -> None:
    tree = ast.parse(page.script.read_text())
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= ALLOWED
    assert page["framework"] in imported
    source = page.script.read_text()
    assert "assert" in source or "AssertionError" in source, "it says nothing"


def test_every_script_has_a_page() -> None:
    # What a framework leaves in the folder where a script ran is no part of it.
    files = {path.name for path in (ROOT / "docs" / "bugs" / "scripts").iterdir()}
    assert files - {"__pycache__"} == {f"{page.name}.py" for page in PAGES}


def test_the_counts_are_up_to_date() -> None:
    assert (ROOT / "docs" / "bugs" / "README.md").read_text() == SCRIPT["readme"](PAGES)


def test_a_page_that_lacks_something_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCRIPT["pages"].__globals__, "FOLDER", tmp_path)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "one.py").write_text("import torch\n")
    page = tmp_path / "one.md"
    page.write_text(GOOD)
    assert [one.name for one in SCRIPT["pages"]()] == ["one"]
    page.write_text(GOOD.replace("symptom: numerical", "symptom: bad"))
    with pytest.raises(BadInput, match="symptom: saw bad"):
        SCRIPT["pages"]()
    page.write_text(GOOD.replace("## Evidence\n", ""))
    with pytest.raises(BadInput, match="no section Evidence"):
        SCRIPT["pages"]()
    page.write_text(GOOD)
    (tmp_path / "scripts" / "one.py").unlink()
    with pytest.raises(BadInput, match="no script"):
        SCRIPT["pages"]()
