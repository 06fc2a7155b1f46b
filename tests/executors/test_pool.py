"""Processes: every way a run can end, who dies with whom, what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadInput
from engine.executors import pool as pool_module
from engine.executors.environment import Environment, probe, require_folder
from engine.executors.lowering import Cotangent
from engine.executors.outcome import Outcome, Status
from engine.executors.pool import Pool
from engine.executors.processes import group_cpu_seconds
from engine.ir.case import Plan
from tests.executors.jobs import X, inputs_of, job

pytestmark = pytest.mark.framework
Run = Callable[..., Outcome]

TORCH = "import torch\ndef forward(x):\n    v0 = torch.exp(x)\n    return v0\n"
MINDSPORE = "from mindspore import ops\ndef forward(x):\n    v0 = ops.exp(x)\n    return v0\n"
EAGER = [("torch-eager", TORCH), ("mindspore-pynative", MINDSPORE)]


# --------------------------------------------------------------------------------- ways to end
def test_both_frameworks_run_side_by_side_and_agree(pool: Pool) -> None:
    found = pool.run_jobs([job(mode, source) for mode, source in EAGER])
    for mode, _ in EAGER:
        assert found[mode].status is Status.OK
        assert found[mode].calls[0].structure == "tensor"
        np.testing.assert_allclose(found[mode].calls[0].outputs[0].array, np.exp(X["x"]), rtol=1e-5)


@pytest.mark.parametrize(
    ("mode", "line"),
    [("torch-eager", "torch.matmul(v0, v0)"), ("mindspore-pynative", "ops.matmul(v0, v0)")],
)
def test_exception_names_its_node(run: Run, mode: str, line: str) -> None:
    source = dict(EAGER)[mode].replace("return v0", f"v1 = {line}\n    return v1")
    found = run(mode, source)
    assert found.status is Status.RAISED
    assert found.failure is not None
    assert (found.failure.type, found.failure.node) == ("RuntimeError", "L4")
    assert found.failure.phase == "call 0"
    assert "3" in found.failure.message


@pytest.mark.parametrize(("mode", "source"), EAGER)
def test_native_crash_is_named_and_the_next_case_runs(run: Run, mode: str, source: str) -> None:
    crash = source.replace("return v0", "os.kill(os.getpid(), 11)\n    return v0")
    found = run(mode, f"import os\n{crash}")
    assert (found.status, found.signal) == (Status.DIED, "SIGSEGV")
    assert found.failure is not None
    assert (found.failure.phase, found.failure.node) == ("call 0", "L5")
    assert run(mode, source).status is Status.OK


def test_crash_that_does_not_repeat_alone_is_a_note(run: Run, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.touch()
    source = (
        "import os\nimport torch\ndef forward(x):\n"
        f"    if os.path.exists({str(mark)!r}):\n"
        f"        os.unlink({str(mark)!r})\n"
        "        os.abort()\n"
        "    return torch.exp(x)\n"
    )
    found = run("torch-eager", source)
    assert found.status is Status.OK
    assert found.reason == "the worker died with SIGABRT; alone the case did not"


def test_deadline_kills_the_worker_and_says_where_it_was(run: Run) -> None:
    found = run("torch-eager", f"import time\n{TORCH}".replace("v0 = ", "time.sleep(99); v0 = "),
                deadline=0.5)  # fmt: skip
    assert found.status is Status.TIMEOUT
    assert found.failure is not None
    assert (found.failure.phase, found.failure.node) == ("call 0", "L4")
    assert run("torch-eager", TORCH).status is Status.OK


def test_a_loop_without_end_is_killed_too(run: Run) -> None:
    found = run("torch-eager", "def forward(x):\n    while True:\n        pass\n", deadline=0.5)
    assert found.status is Status.TIMEOUT


def test_processor_time_of_a_group_grows_with_what_it_computes() -> None:
    group = os.getpgid(0)
    before = group_cpu_seconds(group)
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert group_cpu_seconds(group) > before
    assert group_cpu_seconds(2**22 + 1) == 0


@pytest.mark.parametrize(
    ("mode", "line"),
    [
        ("torch-eager", "torch.ones(1 << 36)"),
        ("mindspore-pynative", "ops.zeros((1 << 18, 1 << 18))"),
    ],
)
def test_memory_over_the_limit_is_said_so(run: Run, mode: str, line: str) -> None:
    found = run(mode, dict(EAGER)[mode].replace("return v0", f"return {line}"))
    assert found.status is Status.MEMORY
    assert run(mode, dict(EAGER)[mode]).status is Status.OK


def test_source_that_does_not_import_is_raised_in_that_phase(run: Run) -> None:
    found = run("torch-eager", "import torch\nraise ValueError('no')\n")
    assert found.failure is not None
    assert (found.status, found.failure.phase) == (Status.RAISED, "import")


def test_a_worker_that_leaves_is_said_to_have_left(run: Run) -> None:
    found = run("torch-eager", "import os\ndef forward(x):\n    os._exit(3)\n")
    assert (found.status, found.signal) == (Status.DIED, "exit status 3")


def test_unknown_mode_is_bad_input(pool: Pool) -> None:
    with pytest.raises(BadInput, match="mode: saw 'torch-egaer', expected one of torch-eager"):
        pool.deadline("torch-egaer")


def test_interrupt_leaves_the_pool_usable(run: Run) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            run("torch-eager", f"import time\n{TORCH}".replace("v0 = ", "time.sleep(99); v0 = "))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert run("torch-eager", TORCH).status is Status.OK


# -------------------------------------------------------------------------------- replacement
PID = "import os\ndef forward(x):\n    return os.getpid()\n"


def _pid(found: Outcome) -> int:
    array = found.calls[0].outputs[0].array
    assert array is not None
    return int(array)


def test_worker_is_kept_for_many_cases_and_a_case_alone_gets_its_own(run: Run) -> None:
    first, second = (_pid(run("torch-eager", PID)) for _ in range(2))
    alone = _pid(run("torch-eager", PID, alone=True))
    after = _pid(run("torch-eager", PID))
    assert first == second
    assert len({first, alone, after}) == 3


def test_worker_is_replaced_after_its_share_of_cases(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(pool_module._CASES, "torch", 1)
    assert _pid(run("torch-eager", PID)) != _pid(run("torch-eager", PID))


@pytest.mark.mindspore
def test_a_gradient_that_raises_leaves_nothing_to_the_next_case(run: Run) -> None:
    source = (
        "def forward(x):\n    return (x * 2)[1]\n"
        "def loss(x, c0):\n    %sreturn (forward(x) * c0).sum()\n"
    )
    asked = {
        "inputs": inputs_of(X, x={"requires_grad": True}),
        "plan": Plan(gradient="reverse"),
        "cotangents": [Cotangent("c0", 0, (3,), "float32")],
    }
    raised = run("mindspore-pynative", source % "raise ValueError(x[1].shape)\n    ", **asked)
    assert raised.gradient_failure is not None
    after = run("mindspore-pynative", source % "", **asked)
    assert after.gradient_failure is None
    found = after.gradients["x"]
    assert found is not None
    assert np.asarray(found.array).tolist() == [[0.0, 0.0, 0.0], [2.0, -2.25, 2.5]]


def test_pool_recovers_from_a_killed_zygote(pool: Pool, run: Run) -> None:
    run("torch-eager", TORCH)
    zygote = pool._sides["torch"].zygote
    assert zygote is not None
    os.kill(zygote.process.pid, signal.SIGKILL)
    assert run("torch-eager", TORCH).status is Status.OK


def test_zygote_killed_in_mid_case_is_not_blamed_on_the_case(pool: Pool, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.touch()
    source = (
        "import os, time\nimport torch\ndef forward(x):\n"
        f"    if os.path.exists({str(mark)!r}):\n"
        f"        os.unlink({str(mark)!r})\n"
        "        os.kill(os.getppid(), 9)\n"
        "        time.sleep(99)\n"
        "    return torch.exp(x)\n"
    )
    found = pool.run_jobs([job("torch-eager", source)])["torch-eager"]
    assert (found.status, found.reason) == (Status.OK, "")
    assert not mark.exists()


def test_worker_killed_from_outside_is_not_blamed_on_the_case(pool: Pool, tmp_path: Path) -> None:
    marks = [tmp_path / "one", tmp_path / "two"]
    for mark in marks:
        mark.touch()
    source = (
        "import os\nimport torch\ndef forward(x):\n"
        f"    for mark in {[str(mark) for mark in marks]}:\n"
        "        if os.path.exists(mark):\n"
        "            os.unlink(mark)\n"
        "            os.kill(os.getpid(), 9)\n"
        "    return torch.exp(x)\n"
    )
    found = pool.run_jobs([job("torch-eager", source)])["torch-eager"]
    assert (found.status, found.reason) == (Status.OK, "")


def test_zygote_killed_at_import_is_started_again(tmp_path: Path) -> None:
    """The interpreter kills itself the first time, as a storm or a short memory would."""
    mark, interpreter = tmp_path / "mark", tmp_path / "python"
    mark.touch()
    interpreter.write_text(
        f'#!/bin/sh\nif [ -e "{mark}" ]; then rm "{mark}"; kill -9 $$; fi\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    interpreter.chmod(0o755)
    given = {"torch": Environment("torch", "torch", str(interpreter))}
    with Pool(environments=given, scratch=tmp_path / "scratch") as pool:
        assert "torch" in pool.versions("torch")
    assert not mark.exists()


def test_killed_owner_leaves_no_process_and_its_folder_is_swept(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_OWNER), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert owner.stdout is not None
    with owner:
        processes = [int(word) for word in owner.stdout.readline().split()]
        assert len(processes) == 3, "zygote, worker, and what the worker had started"
        owner.kill()
    until = time.monotonic() + 20
    while any(map(_is_alive, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in processes if _is_alive(pid)]
    assert list(tmp_path.glob("pool-*"))
    with Pool(scratch=tmp_path):
        assert len(list(tmp_path.glob("pool-*"))) == 1
    assert not list(tmp_path.glob("pool-*"))


_OWNER = """
    import sys
    from pathlib import Path
    from engine.executors.pool import Pool
    from tests.executors.jobs import job
    source = (
        "import os, subprocess, time\\n"
        "def forward(x):\\n"
        "    child = subprocess.Popen(['sleep', '99'])\\n"
        "    with open(os.environ['TMPDIR'] + '/../pids', 'w') as file:\\n"
        "        file.write(f'{os.getppid()} {os.getpid()} {child.pid}')\\n"
        "    if x[0, 0] == 0:\\n"
        "        os.rename(file.name, file.name + '-ready')\\n"
        "    time.sleep(99)\\n"
    )
    import threading, time
    pool = Pool(scratch=Path(sys.argv[1]))
    def tell():
        while not (found := list(Path(sys.argv[1]).glob('*/pids-ready'))):
            time.sleep(0.05)
        print(found[0].read_text(), flush=True)
    threading.Thread(target=tell, daemon=True).start()
    pool.run_jobs([job('torch-eager', source)])
"""


def _is_alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# ------------------------------------------------------------------------------- environments
def test_probe_tells_versions() -> None:
    assert probe(Environment("ours", "torch"))["torch"].startswith("2.")


def _venv(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def test_interpreter_that_does_not_exist_is_named(tmp_path: Path) -> None:
    environment = Environment("mine", "torch", str(tmp_path / "python"))
    with pytest.raises(BadInput, match=r"environment mine: saw no file .*/python"):
        probe(environment)
    with (
        Pool({"torch": environment}, scratch=tmp_path / "scratch") as pool,
        pytest.raises(BadInput, match=r"environment mine: saw .*No such file"),
    ):
        pool.versions("torch")


def test_interpreter_that_is_no_python_is_named() -> None:
    with pytest.raises(BadInput, match=r"environment mine: saw /bin/true printed|/bin/true"):
        probe(Environment("mine", "torch", "/bin/true"))


def test_interpreter_without_the_framework_or_dying_at_import_is_named(tmp_path: Path) -> None:
    interpreter = _venv(tmp_path / "venv")
    environment = Environment("bare", "torch", str(interpreter))
    with pytest.raises(BadInput, match=r"environment bare: saw .*has no numpy"):
        probe(environment)
    packages = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    (packages / "numpy.py").write_text("__version__ = '1'\n")
    with pytest.raises(BadInput, match=r"environment bare: saw .*has no torch"):
        probe(environment)
    (packages / "torch.py").write_text("raise RuntimeError('broken build')\n")
    with pytest.raises(
        BadInput, match=r"import died with exit status 1: RuntimeError: broken build"
    ):
        probe(environment)
    with (
        Pool({"torch": environment}, scratch=tmp_path / "scratch") as pool,
        pytest.raises(BadInput, match=r"environment bare: saw .*died or hung at import"),
    ):
        pool.versions("torch")


def test_scratch_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=r"scratch folder .*/file/below: saw Not a directory"):
        Pool(scratch=tmp_path / "file" / "below")


def test_full_disk_is_said_so(tmp_path: Path) -> None:
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from engine.executors.environment import require_folder\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "require_folder(Path(sys.argv[1]), 'scratch folder')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert f"scratch folder {tmp_path}: saw File too large" in done.stderr
    assert require_folder(tmp_path, "scratch folder") == tmp_path


# ------------------------------------------------------------------------------ documentation
def test_documents_tell_platforms_and_signature(pool: Pool) -> None:
    names = [
        *("mindspore.ops.relu", "mindspore.mint.nn.functional.gelu", "mindspore.ops.nothing"),
        "mindspore.Tensor.hsplit",
    ]
    found = pool.document("mindspore", names)
    assert found["mindspore.ops.relu"].platforms == ("Ascend", "GPU", "CPU")
    assert found["mindspore.mint.nn.functional.gelu"].platforms == ("Ascend",)
    assert not found["mindspore.ops.nothing"].exists
    # Its own page refers to mindspore.ops.hsplit, and says nothing of platforms.
    assert found["mindspore.Tensor.hsplit"].platforms == ("Ascend", "GPU", "CPU")
    relu = pool.document("torch", ["torch.relu", "torch.nn.functional.gelu"])
    assert relu["torch.relu"].exists
    assert relu["torch.relu"].platforms is None
    assert relu["torch.nn.functional.gelu"].signature.startswith("gelu(input, approximate")
