"""Our forms reach a good part of each framework's own list of operators, as docs/api says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.ops import FRAMEWORKS

pytestmark = pytest.mark.framework

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "api_coverage.py"
LEAST = 0.3  # of each framework's list


@pytest.mark.parametrize(
    "framework", [pytest.param(one, marks=getattr(pytest.mark, one)) for one in FRAMEWORKS]
)
def test_the_list_is_up_to_date_and_a_third_of_it_is_reached(framework: str) -> None:
    command = [sys.executable, str(SCRIPT), framework, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = (ROOT / "docs" / "api" / f"{framework}.txt").read_text().splitlines()
    assert len(rows) > 500
    assert sum(row.startswith("+ ") for row in rows) / len(rows) > LEAST
