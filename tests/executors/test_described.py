"""What a report says of the machine: asked of the environment's interpreter."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from engine.executors.described import described, stripped
from engine.executors.environment import Environment


def pretended(folder: Path, body: str) -> str:
    """An interpreter that is a shell script."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_versions_are_those_of_the_environments_interpreter(tmp_path: Path) -> None:
    collects = 'case "$*" in *collect_env*) echo "PyTorch version: 9.9.9";;'
    body = f'{collects} *) printf "Plan9\\n3.99.1";; esac'
    found = described(Environment("torch old", "torch", pretended(tmp_path, body)))
    assert (found["os"], found["python"]) == ("Plan9", "3.99.1")
    assert found["collect_env"] == "PyTorch version: 9.9.9"


def test_what_cannot_be_asked_is_left_out(tmp_path: Path) -> None:
    found = described(Environment("torch", "torch", pretended(tmp_path, "exit 1")))
    assert not {"os", "python", "collect_env"} & set(found)
    nowhere = described(Environment("torch", "torch", str(tmp_path / "nothing")))
    assert "collect_env" not in nowhere


def test_paths_and_names_are_stripped() -> None:
    said = (
        "cuDNN: /usr/lib/x86_64-linux-gnu/libcudnn.so.9\n"
        "[conda] torch /home/ada/conda/pkgs/torch-2.13\n"
        "Kernel of buildhost7, run by ada, ada-like and xbuildhost7\n"
        "see https://pytorch.org/docs/a/b and Linux-6.1-x86_64-with-glibc2.36"
    )
    text = stripped(said, machine="buildhost7", account="adam")
    assert "/usr" not in text
    assert "/home" not in text
    assert ".../libcudnn.so.9" in text
    assert "Kernel of HOST, run by ada" in text
    assert "xbuildhost7" in text
    assert "https://pytorch.org/docs/a/b" in text
    assert stripped("by adam.", machine="", account="adam") == "by USER."
    # Names that are words of their own stay.
    assert stripped("linux root", machine="linux", account="root") == "linux root"


@pytest.mark.framework
@pytest.mark.mindspore
def test_mindspore_says_what_its_form_asks() -> None:
    said = described(Environment("mindspore", "mindspore"))["collect_env"]
    rows = dict(line.split(": ", 1) for line in said.splitlines())
    assert rows["MindSpore version"].startswith("2.")
    assert rows["Source or binary"].startswith("binary (wheel")
    assert rows["Device target"] == "CPU"
    assert {"Python version", "OS platform", "GCC version", "NumPy version"} <= set(rows)
    assert "GNU/Linux" in rows["OS platform"] or "/" not in rows["OS platform"]


@pytest.mark.framework
@pytest.mark.torch
def test_pytorch_says_collect_env() -> None:
    said = described(Environment("torch", "torch"))["collect_env"]
    assert "PyTorch version: 2." in said
    assert "Versions of relevant libraries:" in said
