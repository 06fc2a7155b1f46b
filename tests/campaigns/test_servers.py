"""The same product on servers: PostgreSQL, Redis, RabbitMQ, each where it is there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.quality.kill_storm import processes

ROOT = Path(__file__).resolve().parents[2]
SERVERS = {
    "PostgreSQL": os.environ.get("TEST_POSTGRESQL_URL") or "postgresql://postgres@127.0.0.1:5432",
    "Redis": os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/9",
    "RabbitMQ": os.environ.get("TEST_RABBITMQ_URL") or "amqp://guest:guest@127.0.0.1:5672//",
}
PATIENCE = 600  # seconds, for importing frameworks on a busy machine

BEGIN = """
from campaigns.services import create_campaign
create_campaign(name="Servers", seeds=["convnextv2_tiny_compact", "qwen2_5_0_5b_compact"],
                modes=["torch-eager"], policy="random", random_seed=3, rounds=3)
"""
STATE = """
import json
from campaigns.models import Campaign, Mutant, WorkerHeartbeat
print(json.dumps({
    "status": Campaign.objects.get().status,
    "problem": Campaign.objects.get().problem,
    "rounds": sorted(Mutant.objects.values_list("shard__index", "round")),
    "workers": WorkerHeartbeat.objects.count(),
}))
"""


def need(server: str) -> str:
    """Its address; skips where nobody answers there."""
    parts = urlsplit(SERVERS[server])
    try:
        with socket.create_connection((parts.hostname, parts.port or 0), timeout=2):
            return SERVERS[server]
    except OSError:
        pytest.skip(f"no {server} at {parts.hostname}:{parts.port}")


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty PostgreSQL database of our own."""
    server, name = need("PostgreSQL"), f"flowmut_servers_{os.getpid()}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        yield f"{server}/{name}"
        link.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[arg-type]


@pytest.fixture
def var() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="flowmut-servers-"))
    yield folder
    for pid in processes(folder):
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)


def test_claims_records_sweeps_and_double_delivery_hold_on_postgresql() -> None:
    address = f"{need('PostgreSQL')}/flowmut_{os.getpid()}"
    files = [f"tests/campaigns/{name}.py" for name in ("test_shards", "test_tasks")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", *files],
        cwd=ROOT,
        env={**os.environ, "TEST_DATABASE_URL": address, "TEST_BROKER_URL": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


def run_to_the_end(var: Path, *, database: str, broker: str) -> dict[str, object]:
    """A small campaign with a real worker; its state, and how many processes the worker left."""
    variables = {
        **os.environ,
        "FLOWMUT_VAR_DIR": str(var),
        "DATABASE_URL": database,
        "CELERY_BROKER_URL": broker,
        "DJANGO_SETTINGS_MODULE": "flowmut_web.settings",
    }

    def manage(*arguments: str) -> str:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    celery = [sys.executable, "-m", "celery", "--app", "flowmut_web"]
    manage("migrate", "-v0")
    if broker:
        purge = [*celery, "purge", "--force", "--queues", "flowmut"]
        subprocess.run(purge, cwd=ROOT, env=variables, capture_output=True, check=True)
    manage("shell", "-v0", "-c", BEGIN)
    pool = ["--concurrency", "2"] if broker else ["--pool", "solo"]
    with (var / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [*celery, "worker", *pool, "--loglevel", "INFO"],
            cwd=ROOT,
            env=variables,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    state: dict[str, object] = {}
    until = time.monotonic() + PATIENCE
    while state.get("status") not in ("finished", "failed") and time.monotonic() < until:
        assert worker.poll() is None, (var / "worker.log").read_text()
        time.sleep(2)
        state = json.loads(manage("shell", "-v0", "-c", STATE).splitlines()[-1])
    worker.terminate()
    assert worker.wait(60) == 0, "a worker that is asked to stop does"
    state = json.loads(manage("shell", "-v0", "-c", STATE).splitlines()[-1])
    return {**state, "left": len(processes(var))}


EXPECTED = {
    "status": "finished",
    "problem": "",
    "rounds": [[shard, number] for shard in range(2) for number in range(3)],
    "workers": 0,
    "left": 0,
}


@pytest.mark.slow
@pytest.mark.torch
def test_campaign_on_sqlite_and_a_broker_of_files(var: Path) -> None:
    assert run_to_the_end(var, database="", broker="") == EXPECTED


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("broker", ["Redis", "RabbitMQ"])
def test_campaign_on_postgresql_and_a_broker(var: Path, database: str, broker: str) -> None:
    assert run_to_the_end(var, database=database, broker=need(broker)) == EXPECTED
