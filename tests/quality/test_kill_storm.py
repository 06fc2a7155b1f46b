"""The storm of kills, small; `kill_storm.py` is the long one."""

import faulthandler
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

STORM = Path(__file__).with_name("kill_storm.py")


@pytest.mark.slow
@pytest.mark.framework
def test_killed_processes_lose_no_recorded_round_and_change_no_lineage() -> None:
    faulthandler.cancel_dump_traceback_later()  # on a busy machine longer than a hanging test gets
    apart = ("DATABASE_URL", "CELERY_BROKER_URL", "FLOWMUT_VAR_DIR")
    done = subprocess.run(
        [sys.executable, STORM, "--kills", "8", "--rounds", "5", "--seconds", "1500"],
        env={name: value for name, value in os.environ.items() if name not in apart},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout[done.stdout.index("{") :])
    assert seen["kills"] > 0
    assert seen["faults"] == []
