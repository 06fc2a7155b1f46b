"""Tasks, their messages, and what a worker's process does with a finding."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from campaigns import services
from campaigns.environments import engine_environments
from campaigns.models import Environment, Shard, WorkerHeartbeat
from campaigns.shards import claim_shard
from flowmut_web.celery import SWEEP_SECONDS, Sweeper, app
from flowmut_web.tasks import HINT_SECONDS, probe_environments, run_shard, sweep
from flowmut_web.worker import Child, child, file_finding
from tests.campaigns.scripted import ScriptedEngine, campaign, finding
from triage.models import Bucket, FindingRecord

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _quiet_broker() -> Iterator[None]:
    messages()
    yield
    messages()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedEngine]:
    scripted = ScriptedEngine()
    monkeypatch.setattr(child, "engine", scripted)
    yield scripted
    child.close()


def messages() -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Take everything from the queue: task, arguments, headers."""
    taken = []
    with app.connection_for_read() as connection, connection.SimpleQueue("flowmut") as queue:
        while True:
            try:
                message = queue.get(timeout=0.2)
            except Empty:
                return taken
            message.ack()
            arguments = message.payload[0]
            taken.append((message.headers["task"], arguments, message.headers))


def test_slice_sends_a_message_for_the_next(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = campaign(rounds=3).shards.get()
    monkeypatch.setattr(child.stopping, "is_set", lambda: True)  # one round for each slice
    run_shard(shard.pk, 0)
    ((name, arguments, headers),) = messages()
    shard.refresh_from_db()
    assert (name, arguments) == ("flowmut.run_shard", [shard.pk, shard.epoch])
    assert headers["expires"] is None
    run_shard(*arguments)
    assert engine.starts == [0, 1]
    assert shard.mutants.count() == 2


def test_message_delivered_twice_is_worked_on_once(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = campaign(rounds=3).shards.get()
    monkeypatch.setattr(child.stopping, "is_set", lambda: True)
    for _ in range(2):
        run_shard(shard.pk, 0)
    assert len(messages()) == 1
    assert shard.mutants.count() == 1


def test_ended_shard_sends_nothing(engine: ScriptedEngine) -> None:
    shard = campaign(rounds=2).shards.get()
    run_shard(shard.pk, 0)
    assert messages() == []
    shard.refresh_from_db()
    assert shard.status == Shard.Status.FINISHED


def test_worker_shows_that_it_lives(engine: ScriptedEngine) -> None:
    run_shard(campaign(rounds=1).shards.get().pk, 0)
    assert WorkerHeartbeat.objects.get().is_alive(timezone.now())
    child.close()
    assert not WorkerHeartbeat.objects.exists()


def test_sweep_hints_at_what_waits_and_at_nothing_else() -> None:
    waits, held = campaign(shards=2).shards.all()
    assert claim_shard(held.pk, owner="one") is not None
    services.pause_campaign(campaign())
    sweep()
    ((name, arguments, headers),) = messages()
    assert (name, arguments) == ("flowmut.run_shard", [waits.pk, 0])
    assert headers["expires"] is not None, f"a hint is dropped after {HINT_SECONDS} s"


def test_every_worker_sends_itself_a_sweep_at_its_start_and_regularly() -> None:
    repeated: list[tuple[float, Any, tuple[Any, ...]]] = []

    def repeat(seconds: float, call: Any, arguments: tuple[Any, ...]) -> SimpleNamespace:
        repeated.append((seconds, call, arguments))
        return SimpleNamespace(cancel=repeated.clear)

    consumer = SimpleNamespace(app=app, timer=SimpleNamespace(call_repeatedly=repeat))
    step = Sweeper(consumer)
    step.start(consumer)
    assert [name for name, _, _ in messages()] == ["flowmut.sweep"]
    ((seconds, call, arguments),) = repeated
    assert seconds == SWEEP_SECONDS
    call(*arguments)
    assert [name for name, _, _ in messages()] == ["flowmut.sweep"]
    step.stop(consumer)
    assert repeated == []


def test_finding_is_filed_once_however_often_its_round_is_run() -> None:
    shard = campaign().shards.get()
    assert file_finding(finding(0), shard) is True
    assert file_finding(finding(0), shard) is False
    assert file_finding(finding(1), shard) is True
    assert (FindingRecord.objects.count(), Bucket.objects.get().count) == (2, 2)


def test_findings_of_a_slice_reach_triage_and_the_counters(engine: ScriptedEngine) -> None:
    engine.findings = {1: [finding(1)]}
    shard = campaign(rounds=2).shards.get()
    run_shard(shard.pk, 0)
    shard.refresh_from_db()
    assert shard.crash_findings == FindingRecord.objects.filter(shard=shard).count() == 1


def test_interrupt_outside_a_slice_does_nothing() -> None:
    idle = Child()
    idle._on_alarm(14, None)
    assert not idle.stopping.is_set()


def test_unusable_interpreter_is_shown_with_the_reason(settings: Settings) -> None:
    settings.WORKER_INTERPRETERS = {"torch": "/no/such/python"}
    probe_environments()
    found = Environment.objects.get()
    assert (found.name, found.healthy, found.versions) == ("torch", False, {})
    assert "/no/such/python" in found.problem
    assert found.last_probe is not None


def test_interpreter_that_a_person_set_is_the_one_that_runs() -> None:
    Environment.objects.create(name="torch", framework="torch", interpreter="/opt/python")
    chosen = engine_environments({"torch": "/usr/bin/python3", "mindspore": "/usr/bin/python3"})
    assert chosen["torch"].interpreter == "/opt/python"
    assert chosen["mindspore"].interpreter == "/usr/bin/python3"
