"""Kills processes of the product in mid-campaign and compares the record with an undisturbed run.

    .venv/bin/python tests/quality/kill_storm.py --kills 200

Starts the product in a temporary storage folder (SQLite and a broker of files, unless DATABASE_URL
and CELERY_BROKER_URL name servers) and runs a campaign with the random policy undisturbed. Then it
runs the same one again and again, and kills -9 a Celery child, Celery's main process, a zygote, a
worker, a web process or the supervisor at random times; what the product does not start again
itself is started again. In the end:

* every round that was ever seen on record is still there, unchanged, and none is there twice;
* the counters of every shard are those of its rounds;
* each campaign has the lineage that its random seed gives undisturbed;
* no process is left.

With --seconds it stops killing then. Prints one line for each kill, and JSON at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parents[2]
# How often each is drawn; there are children only with a server as broker. After the supervisor
# everything starts anew, so it is drawn least.
KINDS = {
    "celery child": 3,
    "celery main": 3,
    "zygote": 3,
    "worker": 3,
    "web": 2,
    "supervisor": 1,
}
_LONGEST_WAIT = 180.0  # seconds for a round, before the next kill
MODES = ["torch-eager", "torch-aot", "mindspore-pynative"]
SEEDS = ["convnextv2_tiny_compact", "qwen2_5_0_5b_compact"]
# What makes the lineage; times and reasons are not part of it.
LINEAGE = ("shard__index", "round", "mutator", "variant", "site", "accepted", "parent", "digest")

Lineage: TypeAlias = list[tuple[object, ...]]


# ---------------------------------------------------------------------------------- processes
@dataclass(frozen=True)
class Process:
    """A process of the product, told by the storage folder in its environment."""

    pid: int
    parent: int
    command: str


def processes(var: Path) -> dict[int, Process]:
    """All that have this storage folder, zombies left out."""
    mark = f"FLOWMUT_VAR_DIR={var}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if state != "Z":
                pid = int(folder.name)
                found[pid] = Process(pid, int(parent), command)
    found.pop(os.getpid(), None)
    return found


def kind_of(process: Process, every: dict[int, Process]) -> str:
    """One of `KINDS`, or "" for compilers and the like."""
    parent = every.get(process.parent)
    above = parent.command if parent else ""
    if "manage.py up" in process.command:
        return "supervisor"
    if "gunicorn" in process.command:
        return "web"
    if "celery" in process.command:
        return "celery child" if "celery" in above else "celery main"
    if "executors/worker/__main__.py" in process.command:
        return "worker" if "executors/worker/__main__.py" in above else "zygote"
    return ""


# ------------------------------------------------------------------------------------ product
@dataclass
class Product:
    """The product on a storage folder of its own; started again when its supervisor was killed."""

    var: Path
    process: subprocess.Popen[bytes] | None = None
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.variables = {
            **os.environ,
            "FLOWMUT_VAR_DIR": str(self.var),
            "FLOWMUT_BIND": address,
            "FLOWMUT_WORKER_PROCESSES": "2",
        }

    def start(self) -> None:
        """Start it, or start it again; the log is appended to."""
        with (self.var / "up.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--no-campaign"],
                cwd=ROOT,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def tend(self) -> None:
        """Start it again if it is gone; its own children may take a moment to leave."""
        if self.process is not None and self.process.poll() is not None:
            time.sleep(1)
            self.start()

    def stop(self, *, seconds: float = 90.0) -> int:
        """Ask it to stop; how many processes are left ten seconds after it has."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(seconds)
        until = time.monotonic() + 10
        while processes(self.var) and time.monotonic() < until:
            time.sleep(0.5)
        return len(processes(self.var))


@contextmanager
def product(var: Path) -> Iterator[Product]:
    """Runs for the body; whatever happens, nothing of it stays."""
    running = Product(var)
    running.start()
    try:
        yield running
    finally:
        for pid in processes(var):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if running.process is not None:
            running.process.wait()


# ------------------------------------------------------------------------------------- record
def begin(*, rounds: int, random_seed: int) -> int:
    """A campaign of two shards; its key."""
    from campaigns.services import create_campaign

    made = create_campaign(
        name="Storm",
        seeds=SEEDS,
        modes=MODES,
        policy="random",
        random_seed=random_seed,
        rounds=rounds,
    )
    return made.pk


def lineage(campaign: int) -> Lineage:
    """Who descends from whom, in order."""
    from campaigns.models import Mutant

    rows = Mutant.objects.filter(shard__campaign=campaign).order_by("shard__index", "round")
    return [tuple(json.dumps(value) for value in row) for row in rows.values_list(*LINEAGE)]


def rounds_on_record(campaign: int) -> dict[tuple[int, int], tuple[int, str]]:
    """Row and digest of each (shard, round)."""
    from campaigns.models import Mutant

    rows = Mutant.objects.filter(shard__campaign=campaign)
    return {
        (shard, number): (pk, digest)
        for pk, shard, number, digest in rows.values_list("pk", "shard_id", "round", "digest")
    }


def is_open(campaign: int) -> bool:
    from campaigns.models import Campaign

    return Campaign.objects.get(pk=campaign).is_live()


def faults_of_record(campaign: int, *, rounds: int) -> list[str]:
    """What is wrong with the rows of an ended campaign."""
    from campaigns.models import Campaign

    found = Campaign.objects.get(pk=campaign)
    faults = [] if found.status == "finished" else [f"it is {found.status}: {found.problem}"]
    for shard in found.shards.all():
        rows = list(shard.mutants.order_by("round"))
        if [row.round for row in rows] != list(range(rounds)):
            faults.append(f"{shard}: rounds {[row.round for row in rows]} of {rounds}")
        told = (shard.recorded_rounds, shard.next_round, shard.accepted, shard.executions)
        counted = (
            len(rows),
            len(rows),
            sum(row.accepted for row in rows),
            sum(row.executions for row in rows),
        )
        if told != counted:
            faults.append(f"{shard}: counters {told}, rows {counted}")
        if shard.last_error:
            faults.append(f"{shard}: {shard.status}: {shard.last_error}")
    return faults


def differences(expected: Lineage, found: Lineage) -> list[str]:
    """The first round of each shard that is another one; rounds that are missing are told apart."""
    other = {row[:2]: row for row in found}
    faults: dict[object, str] = {}
    for row in expected:
        seen = other.get(row[:2], row)
        if seen != row:
            faults.setdefault(row[0], f"lineage: {seen}, not {row}")
    return list(faults.values())


# -------------------------------------------------------------------------------------- storm
def storm(
    running: Product,
    campaign: int,
    done: Counter[str],
    *,
    kills: int,
    until: float,
    rng: random.Random,
) -> list[str]:
    """Kill until so many are killed in all, the time is over or the campaign has ended.

    Adds to `done`, by kind; the faults that were seen meanwhile.
    """
    seen: dict[tuple[int, int], tuple[int, str]] = {}
    faults: list[str] = []
    while sum(done.values()) < kills and time.monotonic() < until and is_open(campaign):
        if rng.random() < 0.5:
            _wait_for_round(running, campaign)
        time.sleep(rng.uniform(0.2, 6.0))
        running.tend()
        kind = _kill_one(running.var, rng)
        if not kind:
            continue
        done[kind] += 1
        now = rounds_on_record(campaign)
        lost = [key for key, row in seen.items() if now.get(key) != row]
        faults += [f"round {key} was on record and is gone or another" for key in lost]
        seen = now
        print(f"{sum(done.values()):4} {kind:13} {len(now)} rounds on record", flush=True)
    return faults


def _wait_for_round(running: Product, campaign: int) -> None:
    """Half of the kills hit a campaign at work, the others whatever is just starting again."""
    before, until = len(rounds_on_record(campaign)), time.monotonic() + _LONGEST_WAIT
    while len(rounds_on_record(campaign)) == before and time.monotonic() < until:
        if not is_open(campaign):
            return
        running.tend()
        time.sleep(0.5)


def _kill_one(var: Path, rng: random.Random) -> str:
    """Kill a process of a kind drawn at random; the kind, "" where there is nothing to kill."""
    every = processes(var)
    there: dict[str, list[int]] = {}
    for one in every.values():
        there.setdefault(kind_of(one, every), []).append(one.pid)
    kinds = [kind for kind in KINDS if kind in there]
    if not kinds:
        return ""
    kind = rng.choices(kinds, weights=[KINDS[one] for one in kinds])[0]
    with suppress(ProcessLookupError):
        os.kill(rng.choice(there[kind]), signal.SIGKILL)
        return kind
    return ""


def wait_for_end(running: Product, campaign: int, *, seconds: float) -> None:
    """Let it finish in peace."""
    until = time.monotonic() + seconds
    while is_open(campaign) and time.monotonic() < until:
        running.tend()
        time.sleep(2)


# --------------------------------------------------------------------------------------- main
def run(*, kills: int, rounds: int, random_seed: int, seconds: float, var: Path) -> dict[str, Any]:
    """The undisturbed campaign, then the same one in the storm; what was seen."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    rng = random.Random(random_seed)
    calm = begin(rounds=rounds, random_seed=random_seed)
    began = time.monotonic()
    with product(var) as running:
        wait_for_end(running, calm, seconds=seconds)
        calm_seconds = time.monotonic() - began
        print(f"undisturbed: {len(lineage(calm))} rounds in {calm_seconds:.0f} s", flush=True)
        faults, done, until = list[str](), Counter[str](), time.monotonic() + seconds
        stormy: list[int] = []
        while sum(done.values()) < kills and time.monotonic() < until:
            stormy.append(begin(rounds=rounds, random_seed=random_seed))
            faults += storm(running, stormy[-1], done, kills=kills, until=until, rng=rng)
        print("no more kills; it may finish", flush=True)
        running.tend()
        wait_for_end(running, stormy[-1], seconds=seconds)
        running.tend()
        left = running.stop()
    expected = lineage(calm)
    for campaign in (calm, *stormy):
        faults += faults_of_record(campaign, rounds=rounds)
        faults += differences(expected, lineage(campaign))
    if left:
        faults.append(f"{left} processes left")
    return {
        "kills": sum(done.values()),
        "by kind": dict(done),
        "campaigns": len(stormy),
        "rounds": len(expected) * len(stormy),
        "seconds": round(time.monotonic() - began),
        "faults": faults,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=40, help="of each of the two shards")
    parser.add_argument("--random-seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=7200, help="longest time of each part")
    parser.add_argument("--keep", action="store_true", help="leave the storage folder")
    given = parser.parse_args()
    var = Path(tempfile.mkdtemp(prefix="flowmut-storm-"))
    os.environ["FLOWMUT_VAR_DIR"] = str(var)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowmut_web.settings")
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()
    try:
        seen = run(
            kills=given.kills,
            rounds=given.rounds,
            random_seed=given.random_seed,
            seconds=given.seconds,
            var=var,
        )
    finally:
        if not given.keep:
            shutil.rmtree(var, ignore_errors=True)
    print(json.dumps(seen, indent=1))
    return 1 if seen["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
