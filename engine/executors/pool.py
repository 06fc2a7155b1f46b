"""Runs cases on the frameworks: owns one zygote and one worker for each, replaces what dies."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from engine.errors import BadInput
from engine.executors.environment import Environment, default_environments, require_folder
from engine.executors.lowering import Lowered, Unsupported, lower
from engine.executors.modes import Mode, mode_named
from engine.executors.numpy_mode import run_on_numpy
from engine.executors.outcome import Array, Failure, Outcome, Status
from engine.executors.processes import (
    Late,
    Steps,
    Worker,
    Zygote,
    ZygoteDied,
    drive,
    signal_name,
)
from engine.executors.request import Job, of_case, outcome, request, settled
from engine.executors.worker import protocol
from engine.ir.case import Case, Plan
from engine.ir.graph import Init, Input
from engine.ir.types import Type, dense
from engine.ir.values import materialise

__all__ = ["GIB", "Document", "Pool"]

GIB = 1 << 30
Blobs: TypeAlias = Mapping[str, Array]
_Started = TypeVar("_Started")

_CASES = {"torch": 200, "mindspore": 150}  # MindSpore keeps 2 MB of every graph it compiles
_GROWTH = 1 * GIB
_KEPT_BYTES = 1 * GIB
_OF_ZYGOTE = "the death of its zygote"
# Deaths that are nobody's fault, until one case sees this many and one more.
_FROM_OUTSIDE = (_OF_ZYGOTE, "SIGKILL")
_OUTSIDE_DEATHS = 2
_IDLE_IMPORT = {
    "torch": 5.0,
    "mindspore": 3.0,
}  # seconds on an idle machine of the kind we measured
_SLOWEST = 5.0
_WARM_SECONDS = 240.0
_WARM_SOURCE = "import torch\n\n\ndef forward(x):\n    v0 = torch.exp(x)\n    return v0\n"


@dataclass(frozen=True)
class Document:
    """What a framework says about one of its names. `platforms` is None where it says nothing."""

    exists: bool
    platforms: tuple[str, ...] | None
    signature: str
    text: str


@dataclass
class _Side:
    """What the pool holds of one framework."""

    environment: Environment
    zygote: Zygote | None = None
    worker: Worker | None = None
    no_inductor: str | None = None  # "" when warm, a reason where it cannot be


@dataclass
class _Arrays:
    """Arrays made of initialisers, kept for the next case: mutants share their parent's weights."""

    kept: dict[tuple[Type, Init], Array] = field(default_factory=dict)
    size: int = 0

    def of(self, inputs: Sequence[Input], blobs: Blobs) -> dict[str, Array]:
        return {given.name: self._one(given, blobs) for given in inputs}

    def _one(self, given: Input, blobs: Blobs) -> Array:
        key = (given.type, given.init)
        found = self.kept.get(key)
        if found is None:
            found = materialise([replace(given, alias="")], blobs)[given.name]
            if self.size + found.nbytes > _KEPT_BYTES:
                self.kept.clear()
                self.size = 0
            self.kept[key] = found
            self.size += found.nbytes
        return found


@dataclass
class Pool:
    """Zygotes and workers for one thread of one process; a context manager.

    `environments` by framework (default: this interpreter for both). `scratch`: where folders of
    pools lie (default: a folder of this user in the temporary one); what pools of dead processes
    left there is removed. `address_space` in bytes for a worker, 0 for no limit. `on_status` is
    told what takes long. Nothing is started before it is needed. While a pool is open, NumPy
    calculates in one thread, as the workers do: threads of a BLAS that wait for the next small
    product keep a processor busy that the workers need.
    """

    environments: Mapping[str, Environment] | None = None
    scratch: Path | None = None
    address_space: int = 4 * GIB
    on_status: Callable[[str], None] | None = None
    _sides: dict[str, _Side] = field(init=False, default_factory=dict)
    _arrays: _Arrays = field(init=False, default_factory=lambda: _Arrays())
    _numbers: itertools.count[int] = field(init=False, default_factory=itertools.count)

    def __post_init__(self) -> None:
        given = {**default_environments(), **(self.environments or {})}
        self._sides = {name: _Side(environment) for name, environment in given.items()}
        root = self.scratch or Path(tempfile.gettempdir()) / f"flowmut-{os.getuid()}"
        self._root = require_folder(root, "scratch folder")
        _sweep(self._root)
        name = f"pool-{os.getpid()}-{_started(os.getpid())}-"
        self._folder = Path(tempfile.mkdtemp(prefix=name, dir=self._root))
        self._owner = os.getpid()
        self._threads = threadpool_limits(limits=1, user_api="blas")

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process and remove the scratch folder; may be called twice."""
        if os.getpid() != self._owner:
            return  # a forked copy of us: the processes are the parent's
        for side in self._sides.values():
            if side.worker is not None:
                side.worker.link.close()
            if side.zygote is not None:
                side.zygote.stop()
            side.zygote = side.worker = None
        self._threads.restore_original_limits()
        shutil.rmtree(self._folder, ignore_errors=True)

    # ---------------------------------------------------------------------------- what is asked
    def run(
        self,
        case: Case,
        mode: str,
        *,
        blobs: Blobs | None = None,
        record: str = "",
        alone: bool = False,
        deadline: float | None = None,
    ) -> Outcome:
        """Run a case in a mode.

        `record`: "facts" or "values" of every node, in modes that record. `alone`: in a fresh
        process with the compiler's code caches off. `deadline` in seconds, by default that of
        `self.deadline(mode)`. Raises `BadInput` for a mode or an environment that is none.
        """
        found = self.run_modes(
            case, [mode], blobs=blobs, record=record, alone=alone, deadline=deadline
        )
        return found[mode]

    def run_modes(
        self,
        case: Case,
        modes: Sequence[str],
        *,
        blobs: Blobs | None = None,
        record: str = "",
        alone: bool = False,
        deadline: float | None = None,
    ) -> dict[str, Outcome]:
        """Run a case in several modes, the frameworks side by side. As `run`."""
        if record not in ("", "facts", "values"):
            raise BadInput("record", seen=repr(record), expected='"", "facts" or "values"')
        rows = [mode_named(name) for name in modes]
        calls = tuple(
            (inputs, settled(inputs, self._arrays.of(inputs, blobs or {})))
            for inputs in of_case(case)
        )
        done: dict[str, Outcome] = {}
        jobs: list[Job] = []
        for row in rows:
            if row.framework == "numpy":
                continue
            try:
                lowered = lower(case, row.framework, dtype_override=row.dtype_override)
            except Unsupported as reason:
                done[row.name] = Outcome(row.name, Status.UNSUPPORTED, reason=str(reason))
                continue
            kept = record if row.records else ""
            jobs.append(Job(row, lowered, case.plan, calls, kept, alone, deadline))
        done |= self.run_jobs(jobs)
        for row in rows:
            if row.framework == "numpy":
                done[row.name] = run_on_numpy(case, calls, record=record)
        return {row.name: done[row.name] for row in rows}

    def run_jobs(self, jobs: Iterable[Job]) -> dict[str, Outcome]:
        """Outcomes by mode; jobs of one framework one after another, frameworks side by side."""
        queues: dict[str, list[Job]] = {}
        for job in jobs:
            queues.setdefault(job.mode.framework, []).append(job)
        tasks = [self._queue(self._side(name), queue) for name, queue in queues.items()]
        return {one.mode: one for answers in drive(tasks) for one in answers}

    def deadline(self, mode: str) -> float:
        """Seconds that a case may take: those of the mode, stretched as importing was.

        A machine that needs twice the usual time to import a framework gets twice the time.
        """
        row = mode_named(mode)
        side = self._sides.get(row.framework)
        if side is None or side.zygote is None:
            return row.deadline
        slow = side.zygote.import_seconds / _IDLE_IMPORT[row.framework]
        return row.deadline * min(_SLOWEST, max(1.0, slow))

    def document(self, framework: str, names: Sequence[str]) -> dict[str, Document]:
        """What the framework's own documentation says about public names such as "torch.relu"."""
        side = self._side(framework)
        (found,) = drive([self._documents(side, list(names))])
        return {
            name: Document(
                exists=one["exists"],
                platforms=None if one["platforms"] is None else tuple(one["platforms"]),
                signature=one["signature"],
                text=one["text"],
            )
            for name, one in found.items()
        }

    def versions(self, framework: str) -> Mapping[str, str]:
        """Versions in the environment of a framework; starts its zygote."""
        (zygote,) = drive([self._zygote(self._side(framework))])
        return zygote.versions

    def limit(self, address_space: int) -> None:
        """Bytes that a worker may map from now on; workers with another limit are replaced."""
        if address_space != self.address_space:
            self.address_space = address_space
            drive([self._retire(side) for side in self._sides.values()])

    def environment(self, framework: str) -> Environment:
        """The environment in which a framework is run."""
        return self._side(framework).environment

    # --------------------------------------------------------------------------------- a case
    def _side(self, framework: str) -> _Side:
        if framework not in self._sides:
            expected = f"one of {', '.join(self._sides)}"
            raise BadInput("framework", seen=repr(framework), expected=expected)
        return self._sides[framework]

    def _queue(self, side: _Side, jobs: Sequence[Job]) -> Steps[list[Outcome]]:
        found = []
        for job in jobs:
            found.append((yield from self._one(side, job)))
        return found

    def _one(self, side: _Side, job: Job) -> Steps[Outcome]:
        """Run a job; where its process dies, run it once more alone, to blame the right case."""
        if job.mode.run == "inductor":
            yield from self._warm_inductor(side)
            if side.no_inductor:
                return _unsupported(job, side.no_inductor)
        first = yield from self._attempt(side, job)
        for _ in range(_OUTSIDE_DEATHS):
            if first.signal not in _FROM_OUTSIDE:
                break
            first = yield from self._attempt(side, job)
        if first.status is not Status.DIED or job.alone:
            return first
        second = yield from self._attempt(side, replace(job, alone=True))
        if second.status is Status.DIED:
            return second
        note = f"the worker died with {first.signal}; alone the case did not"
        return replace(second, reason="; ".join(part for part in (second.reason, note) if part))

    def _attempt(self, side: _Side, job: Job) -> Steps[Outcome]:
        """One run in a worker; the worker is given up where it may not run another."""
        yield from self._zygote(side)
        seconds = job.deadline or self.deadline(job.mode.name)
        if job.alone:
            yield from self._retire(side)
        worker = yield from self._worker(side)
        path = self._write(job)
        start = worker.written
        began = time.perf_counter()
        try:
            message, blocks = request(job, str(path))
            answer, arrays = yield from worker.ask(message, blocks, seconds=seconds)
        except Late:
            worker.point()
            text = worker.tail(start)
            yield from self._retire(side)
            return _timeout(job, worker.phase, text, path, seconds)
        except protocol.Closed:
            side.worker = None
            status = yield from self._status(side, worker)
            text = worker.tail(start)
            shutil.rmtree(worker.folder, ignore_errors=True)
            return _died(job, worker.phase, status, text, path, time.perf_counter() - began)
        except BaseException:
            self._abandon(side)
            raise
        finally:
            path.unlink(missing_ok=True)
        found = replace(outcome(job, answer, arrays), stderr=worker.tail(start))
        worker.cases += 1
        worker.first_rss = worker.first_rss or answer["rss"]
        if _is_spent(worker, job, answer):
            yield from self._retire(side)
        return found

    def _write(self, job: Job) -> Path:
        """The source as an importable file with a name of its own."""
        path = self._folder / f"case_{next(self._numbers)}.py"
        try:
            path.write_text(job.lowered.source)
        except OSError as error:
            raise self._no_room(error) from error
        return path

    def _no_room(self, error: OSError) -> BadInput:
        return BadInput(
            f"scratch folder {self._folder}",
            seen=error.strerror or error,
            expected="a writable folder with room",
        )

    # ------------------------------------------------------------------------------ processes
    def _zygote(self, side: _Side) -> Steps[Zygote]:
        if side.zygote is not None and side.zygote.process.poll() is not None:
            self._abandon(side)
        if side.zygote is None:
            self._say(f"importing {side.environment.framework} ({side.environment.interpreter})")
            keep = require_folder(self._root / "keep", "scratch folder")
            start = partial(Zygote.start, side.environment, scratch=self._folder, keep=keep)
            side.zygote = yield from _persistent(start)
        return side.zygote

    def _worker(self, side: _Side) -> Steps[Worker]:
        if side.worker is None:
            side.worker = yield from _persistent(partial(self._forked, side))
        return side.worker

    def _forked(self, side: _Side) -> Steps[Worker]:
        zygote = yield from self._zygote(side)
        try:
            return (yield from zygote.fork(self._new_folder(), self.address_space))
        except ZygoteDied:
            self._abandon(side)
            raise

    def _new_folder(self) -> Path:
        folder = self._folder / f"worker-{next(self._numbers)}"
        try:
            folder.mkdir()
        except OSError as error:
            raise self._no_room(error) from error
        return folder

    def _retire(self, side: _Side) -> Steps[None]:
        """Kill the worker and forget it."""
        worker, side.worker = side.worker, None
        if worker is None:
            return
        try:
            yield from worker.reap(kill=True)
        except ZygoteDied:
            self._abandon(side)
        shutil.rmtree(worker.folder, ignore_errors=True)

    def _status(self, side: _Side, worker: Worker) -> Steps[str]:
        """How a worker ended that closed its connection."""
        try:
            status = yield from worker.reap(kill=True)
        except ZygoteDied:
            self._abandon(side)
            return _OF_ZYGOTE
        return signal_name(status)

    def _abandon(self, side: _Side) -> None:
        """End a zygote and its worker without a word with them."""
        worker, side.worker = side.worker, None
        zygote, side.zygote = side.zygote, None
        if worker is not None:
            worker.link.close()
            worker.kill_group()
        if zygote is not None:
            zygote.stop()

    def _documents(self, side: _Side, names: list[str]) -> Steps[dict[str, Any]]:
        """Asked of a worker, a second one where the first turns out to be dead."""
        message = {"kind": "document", "names": names}
        for attempt in range(2):
            worker = yield from self._worker(side)
            try:
                answer, _ = yield from worker.ask(message, (), seconds=_WARM_SECONDS)
            except (Late, protocol.Closed):
                self._abandon(side)
                if attempt:
                    raise
            else:
                documents: dict[str, Any] = answer["documents"]
                return documents
        raise AssertionError("unreachable")

    def _warm_inductor(self, side: _Side) -> Steps[None]:
        """Once per pool: find the vector instructions, and once per machine build the header."""
        if side.no_inductor is not None:
            return
        zygote = yield from self._zygote(side)
        mark = self._root / "keep" / f"warm-{zygote.versions['torch']}"
        self._say("inductor: looking for vector instructions")
        yield from zygote.ask({"kind": "warm", "folder": str(self._root / "keep" / "isa")})
        yield from self._retire(side)  # it was forked before the zygote was warm
        side.no_inductor = ""
        if mark.exists():
            return
        self._say("inductor: building its precompiled header, once per machine (10 to 30 s)")
        job = _warm_job()
        found = yield from self._attempt(side, job)
        if found.status is Status.OK:
            mark.touch()
        else:
            said = found.failure.message if found.failure else found.reason
            side.no_inductor = f"torch-inductor does not compile here: {said[:500]}"

    def _say(self, text: str) -> None:
        if self.on_status is not None:
            self.on_status(text)


def _is_spent(worker: Worker, job: Job, answer: Mapping[str, Any]) -> bool:
    """Whether a worker may not run another case: enough cases, grown, or left in another state."""
    grown = answer["rss"] - worker.first_rss
    return (
        job.alone
        or worker.cases >= _CASES[job.mode.framework]
        or grown > _GROWTH
        or answer["status"] == Status.MEMORY
        or any(not name.endswith("generator") for name in answer["moved"])
        # An error under ms.grad breaks indexing in the gradients of whatever follows.
        or (job.mode.framework == "mindspore" and "gradient_failure" in answer)
    )


# ------------------------------------------------------------------------------------- outcomes
def _unsupported(job: Job, reason: str) -> Outcome:
    return Outcome(job.mode.name, Status.UNSUPPORTED, reason=reason, source=job.lowered.source)


def _timeout(job: Job, phase: str, text: str, path: Path, seconds: float) -> Outcome:
    message = f"no answer within {seconds:.0f} s, in {phase}"
    failure = Failure("Timeout", message, text, phase, _node_in(text, path, job.lowered))
    return Outcome(
        job.mode.name,
        Status.TIMEOUT,
        failure=failure,
        stderr=text,
        seconds=seconds,
        reason=message,
        source=job.lowered.source,
    )


def _persistent(start: Callable[[], Steps[_Started]]) -> Steps[_Started]:
    """Start a process, again where a zygote is killed meanwhile; the last `ZygoteDied` goes on."""
    for _ in range(_OUTSIDE_DEATHS):
        try:
            return (yield from start())
        except ZygoteDied:
            continue
    return (yield from start())


def _died(job: Job, phase: str, signal: str, text: str, path: Path, seconds: float) -> Outcome:
    message = f"the worker died with {signal}, in {phase}"
    failure = Failure(signal, message, text, phase, _node_in(text, path, job.lowered))
    return Outcome(
        job.mode.name,
        Status.DIED,
        failure=failure,
        signal=signal,
        stderr=text,
        seconds=seconds,
        reason=message,
        source=job.lowered.source,
        trace=(f"died {signal} in {phase}",),
    )


def _node_in(text: str, path: Path, lowered: Lowered) -> str:
    """The node of the innermost line of the case in a dump of Python's stack (innermost first)."""
    for line in re.findall(re.escape(str(path)) + r'", line (\d+)', text):
        if int(line) in lowered.lines:
            return lowered.lines[int(line)]
    return ""


def _warm_job() -> Job:
    """The smallest case that needs a kernel."""
    x = Input("x", dense("float32", 8))
    lowered = Lowered(
        framework="torch",
        source=_WARM_SOURCE,
        inputs=("x",),
        setup_inputs=(),
        outputs=("v0",),
        cotangents=(),
        module_names=(),
        lines={},
        forms={},
        apis=(),
    )
    calls = (((x,), {"x": np.ones(8, np.float32)}),)
    mode: Mode = mode_named("torch-inductor")
    return Job(mode, lowered, Plan(), calls, deadline=_WARM_SECONDS)


# -------------------------------------------------------------------------------------- folders
def _sweep(root: Path) -> None:
    """Remove the folders of pools whose process is gone."""
    for folder in root.glob("pool-*"):
        match = re.fullmatch(r"pool-(\d+)-(\d+)-.*", folder.name)
        if match and _started(int(match[1])) != match[2]:
            shutil.rmtree(folder, ignore_errors=True)


def _started(pid: int) -> str:
    """When a process started, in clock ticks since boot; "" where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
