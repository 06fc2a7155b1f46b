"""kill -9 of a campaign: it goes on from the last recorded round and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.mindspore]

ROUNDS = 6
COMMAND = [
    *(sys.executable, "-m", "engine.cli", "run"),
    *("--seed", "convnextv2_tiny_compact", "--policy", "random", "--random-seed", "5"),
    *("--modes", "torch-eager,mindspore-pynative", "--rounds", str(ROUNDS)),
]


def start(folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TMPDIR": str(folder.parent)}
    return subprocess.Popen(
        [*COMMAND, "--out", str(folder)], stderr=subprocess.DEVNULL, env=environment
    )


def rounds(folder: Path) -> list[dict[str, object]]:
    path = folder / "events.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.endswith("}")]
    return [one for one in found if one["event"] == "RoundFinished"]


def lineage(folder: Path) -> list[tuple[object, ...]]:
    names = ("round", "mutator", "variant", "digest", "accepted", "verdict")
    return [tuple(one[name] for name in names) for one in rounds(folder)]


def processes_of(folder: Path) -> list[int]:
    """Processes whose scratch folder lies beside the run folder, or that name it."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(folder.parent).encode() in words:
            found.append(int(entry.name))
    return found


def wait_until(condition: object, seconds: float) -> bool:
    assert callable(condition)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return bool(condition())


def test_a_killed_campaign_goes_on_with_the_lineage_of_an_undisturbed_one(tmp_path: Path) -> None:
    undisturbed = tmp_path / "a" / "run"
    undisturbed.parent.mkdir()
    assert start(undisturbed).wait(timeout=600) == 0
    disturbed = tmp_path / "b" / "run"
    disturbed.parent.mkdir()
    for wanted in (1, 3):
        process = start(disturbed)
        reached = wait_until(lambda n=wanted: len(rounds(disturbed)) >= n, 600)  # type: ignore[misc]
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert reached
        assert wait_until(lambda: not processes_of(disturbed), 20)
    assert start(disturbed).wait(timeout=600) == 0
    assert lineage(disturbed) == lineage(undisturbed)
    assert [one["round"] for one in rounds(disturbed)] == list(range(ROUNDS))
    assert wait_until(lambda: not processes_of(disturbed), 20)
