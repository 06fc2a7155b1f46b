"""Claiming, recording, sweeping, and slices over a scripted engine."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import cast

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from campaigns import services
from campaigns.identity import is_gone, worker_name
from campaigns.models import Campaign, GraphText, Mutant, Shard, WorkerHeartbeat, pack_json
from campaigns.pulse import Pulse
from campaigns.shards import (
    LEASE,
    Claim,
    LostLeaseError,
    claim_shard,
    fail_shard,
    finish_shard,
    record_round,
    release_shard,
    renew_lease,
    sweep_expired,
)
from campaigns.slices import _TRIES_AGAIN, Slice, options_of, run_slice
from engine.errors import BadInput
from engine.executors.pool import Pool
from engine.executors.processes import ZygoteDied
from engine.finding import Finding, Symptom
from tests.campaigns.scripted import SEED, ScriptedEngine, campaign, finding, round_event

# Threads and other connections must see what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

NO_POOL = cast(Pool, None)  # a scripted engine runs nothing


def _shard(**fields: object) -> Shard:
    return campaign(**fields).shards.get()  # type: ignore[arg-type]


def _claim(shard: Shard, owner: str = "one") -> Claim:
    claim = claim_shard(shard.pk, owner=owner)
    assert claim is not None
    return claim


def _ignore(finding: Finding, shard: Shard) -> bool:
    return True


def _record(claim: Claim, number: int, *findings: Finding) -> None:
    record_round(claim, event=round_event(number), findings=findings, on_finding=_ignore)


def _slice(shard: Shard, engine: ScriptedEngine, **given: object) -> Slice:
    values: dict[str, object] = {"on_finding": _ignore, "pulse": Pulse(name="one"), **given}
    return run_slice(shard.pk, pool=NO_POOL, engine=engine, **values)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------ claim
def test_claim_starts_shard_and_campaign() -> None:
    shard = _shard()
    claim = _claim(shard)
    shard.refresh_from_db()
    assert (shard.status, shard.owner, shard.epoch) == ("running", "one", 1)
    assert shard.campaign.status == Campaign.Status.RUNNING
    assert claim.epoch == 1


def test_held_shard_is_not_claimed() -> None:
    shard = _shard()
    _claim(shard)
    assert claim_shard(shard.pk, owner="two") is None


def test_shard_with_expired_lease_is_claimed() -> None:
    shard = _shard()
    _claim(shard)
    later = timezone.now() + LEASE + timedelta(seconds=1)
    claim = claim_shard(shard.pk, owner="two", now=later)
    assert claim is not None
    assert (claim.shard.owner, claim.epoch) == ("two", 2)


@pytest.mark.parametrize("end", [services.pause_campaign, services.cancel_campaign])
def test_paused_or_cancelled_campaign_is_not_claimed(end: Callable[[Campaign], Campaign]) -> None:
    shard = _shard()
    end(shard.campaign)
    assert claim_shard(shard.pk, owner="one") is None


def test_shard_is_not_claimed_before_its_retry() -> None:
    shard = _shard()
    now = timezone.now()
    Shard.objects.update(retry_at=now + timedelta(seconds=5))
    assert claim_shard(shard.pk, owner="one", now=now) is None
    assert claim_shard(shard.pk, owner="one", now=now + timedelta(seconds=6)) is not None


def test_hint_of_an_older_epoch_is_void() -> None:
    shard = _shard()
    hint = release_shard(_claim(shard))
    assert hint is not None
    assert claim_shard(shard.pk, owner="two", epoch=0) is None
    assert claim_shard(shard.pk, owner="two", epoch=hint.epoch) is not None


def test_of_many_who_claim_at_once_exactly_one_gets_it() -> None:
    shard = _shard()
    start, got = threading.Barrier(6), list[Claim | None]()

    def claim(owner: str) -> None:
        try:
            start.wait()
            got.append(claim_shard(shard.pk, owner=owner))
        finally:
            connection.close()

    threads = [threading.Thread(target=claim, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 6
    assert len([one for one in got if one]) == 1
    shard.refresh_from_db()
    assert shard.epoch == 1


# ----------------------------------------------------------------------------------------- record
def test_recorded_round_is_a_row_with_counters_checkpoint_and_graph() -> None:
    shard = _shard()
    claim = _claim(shard)
    _record(claim, 0, finding(0), finding(0, key="other", symptom=Symptom.STATE))
    _record(claim, 1)
    shard.refresh_from_db()
    assert [one.round for one in shard.mutants.order_by("round")] == [0, 1]
    assert (shard.next_round, shard.recorded_rounds, shard.accepted) == (2, 2, 1)
    assert (shard.rejected, shard.rejected_reasons) == (4, {"kernel too large": 4})
    refusals = shard.refusals.values_list("mutation", "reason", "count")
    assert list(refusals) == [("grow.kernel", "kernel too large", 4)]
    assert (shard.crash_findings, shard.state_findings, shard.findings) == (1, 1, 2)
    assert (shard.executions, shard.seconds) == (6, 0.5)
    assert GraphText.objects.count() == 2


def test_round_of_a_lost_epoch_is_not_recorded() -> None:
    shard = _shard()
    old = _claim(shard)
    later = timezone.now() + LEASE + timedelta(seconds=1)
    assert claim_shard(shard.pk, owner="two", now=later) is not None
    with pytest.raises(LostLeaseError):
        _record(old, 0)
    assert Mutant.objects.count() == 0


def test_round_is_not_recorded_twice() -> None:
    claim = _claim(_shard())
    _record(claim, 0)
    with pytest.raises(LostLeaseError):
        _record(claim, 0)
    assert Mutant.objects.count() == 1


def test_round_is_not_skipped() -> None:
    claim = _claim(_shard())
    with pytest.raises(LostLeaseError):
        _record(claim, 1)


def test_finding_that_cannot_be_filed_takes_its_round_with_it() -> None:
    shard = _shard()
    claim = _claim(shard)

    def refuse(finding: Finding, shard: Shard) -> bool:
        raise RuntimeError("no room")

    with pytest.raises(RuntimeError, match="no room"):
        record_round(claim, event=round_event(0), findings=[finding()], on_finding=refuse)
    shard.refresh_from_db()
    assert (shard.next_round, shard.checkpoint, Mutant.objects.count()) == (0, None, 0)


def test_finding_on_record_is_not_counted_again() -> None:
    shard = _shard()
    claim = _claim(shard)
    record_round(
        claim, event=round_event(0), findings=[finding()], on_finding=lambda one, shard: False
    )
    shard.refresh_from_db()
    assert (shard.recorded_rounds, shard.findings) == (1, 0)


def test_rejected_reasons_stay_few() -> None:
    shard = _shard()
    claim = _claim(shard)
    many = {f"reason {number}": 1 for number in range(300)}
    record_round(claim, event=round_event(0, rejected=many), on_finding=_ignore)
    shard.refresh_from_db()
    assert len(shard.rejected_reasons) == 101
    assert sum(shard.rejected_reasons.values()) == shard.rejected == 300


# ------------------------------------------------------------------------------- renew and release
def test_lease_is_renewed_only_by_who_holds_it() -> None:
    shard = _shard()
    first = _claim(shard)
    now = timezone.now() + LEASE + timedelta(seconds=1)
    second = claim_shard(shard.pk, owner="two", now=now)
    assert second is not None
    assert renew_lease(second, now=now) is True
    assert renew_lease(first, now=now) is False


def test_old_owner_cannot_release_finish_or_fail() -> None:
    shard = _shard()
    old = _claim(shard)
    later = timezone.now() + LEASE + timedelta(seconds=1)
    claim_shard(shard.pk, owner="two", now=later)
    assert release_shard(old) is None
    finish_shard(old, reason="done")
    fail_shard(old, error="broken")
    shard.refresh_from_db()
    assert (shard.status, shard.owner) == ("running", "two")


def test_last_shard_ends_the_campaign() -> None:
    whole = campaign(shards=2)
    first, second = whole.shards.all()
    finish_shard(_claim(first), reason="all rounds are done")
    whole.refresh_from_db()
    assert whole.status == Campaign.Status.RUNNING
    finish_shard(_claim(second), reason="all rounds are done")
    whole.refresh_from_db()
    assert (whole.status, whole.problem) == (Campaign.Status.FINISHED, "")
    assert whole.finished_at is not None


def test_failed_shard_is_named_and_the_others_go_on() -> None:
    whole = campaign(shards=2)
    first, second = whole.shards.all()
    fail_shard(_claim(first), error="Traceback\nKeyError: 'x'")
    finish_shard(_claim(second), reason="all rounds are done")
    whole.refresh_from_db()
    assert whole.status == Campaign.Status.FINISHED
    assert whole.problem == f"1 of 2 shards failed. {SEED} (0): KeyError: 'x'"


def test_campaign_whose_shards_all_failed_is_failed_and_can_be_resumed() -> None:
    shard = _shard()
    fail_shard(_claim(shard), error="KeyError: 'x'")
    whole = Campaign.objects.get()
    assert whole.status == Campaign.Status.FAILED
    services.resume_campaign(whole)
    assert [hint.shard for hint in sweep_expired()] == [shard.pk]


# ------------------------------------------------------------------------------------------ sweep
def test_sweep_queues_what_dead_workers_held() -> None:
    shard = _shard()
    old = _claim(shard)
    later = timezone.now() + LEASE + timedelta(seconds=1)
    (hint,) = sweep_expired(now=later)
    shard.refresh_from_db()
    assert (shard.status, shard.owner) == ("queued", "")
    assert (hint.shard, hint.epoch) == (shard.pk, shard.epoch)
    with pytest.raises(LostLeaseError):
        _record(old, 0)


def test_sweep_does_not_wait_for_the_lease_of_a_process_that_is_gone() -> None:
    shard = _shard()
    gone = subprocess.run(
        [sys.executable, "-c", "from campaigns.identity import *; print(worker_name())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    _claim(shard, owner=gone)
    WorkerHeartbeat.objects.create(name=gone)
    assert [hint.shard for hint in sweep_expired()] == [shard.pk]
    assert not WorkerHeartbeat.objects.exists()


@pytest.mark.parametrize(
    "owner",
    [worker_name(), "elsewhere-1:1.ff", "one"],
    ids=["this process", "elsewhere", "no host"],
)
def test_sweep_leaves_who_lives_or_is_elsewhere_alone(owner: str) -> None:
    _claim(_shard(), owner=owner)
    WorkerHeartbeat.objects.create(name=owner)
    assert sweep_expired() == []
    assert WorkerHeartbeat.objects.exists()


def test_another_process_with_the_same_number_is_not_taken_for_the_worker() -> None:
    place, _, _ = worker_name().rpartition(".")
    assert is_gone(f"{place}.1") is True
    assert is_gone(worker_name()) is False


def test_sweep_leaves_held_and_paused_shards_alone() -> None:
    _claim(_shard())
    services.pause_campaign(_shard().campaign)
    assert sweep_expired() == []


def test_sweep_hints_at_the_shard_that_is_behind_first() -> None:
    first, second = campaign(shards=2).shards.all()
    claim = _claim(first)
    _record(claim, 0)
    release_shard(claim)
    assert [hint.shard for hint in sweep_expired()] == [second.pk, first.pk]


def test_sweep_ends_a_campaign_that_nobody_closed() -> None:
    shard = _shard()
    claim = _claim(shard)
    services.pause_campaign(shard.campaign)
    finish_shard(claim, reason="all rounds are done")
    whole = Campaign.objects.get()
    assert whole.status == Campaign.Status.PAUSED
    services.resume_campaign(whole)
    sweep_expired()
    whole.refresh_from_db()
    assert whole.status == Campaign.Status.FINISHED


def test_sweep_forgets_workers_of_long_ago() -> None:
    now = timezone.now()
    WorkerHeartbeat.objects.create(name="old", last_seen=now - timedelta(hours=2))
    WorkerHeartbeat.objects.create(name="new", last_seen=now)
    sweep_expired(now=now)
    assert [one.name for one in WorkerHeartbeat.objects.all()] == ["new"]


# ------------------------------------------------------------------------------------------ slice
def test_slice_runs_a_shard_to_its_end() -> None:
    shard = _shard(rounds=3)
    done = _slice(shard, ScriptedEngine())
    shard.refresh_from_db()
    assert done == Slice(claimed=True, rounds=3)
    assert (shard.status, shard.finish_reason) == ("finished", "all rounds are done")
    assert shard.mutants.count() == 3


def test_slice_that_is_over_goes_on_from_its_checkpoint() -> None:
    shard, engine = _shard(rounds=3), ScriptedEngine()
    first = _slice(shard, engine, seconds=0)
    assert first.rounds == 1
    assert first.hint is not None
    second = _slice(shard, engine, epoch=first.hint.epoch)
    assert second == Slice(claimed=True, rounds=2)
    assert engine.starts == [0, 1]
    assert [one.round for one in shard.mutants.order_by("round")] == [0, 1, 2]


def test_slice_delivered_twice_runs_once() -> None:
    shard, engine = _shard(rounds=2), ScriptedEngine()
    epoch = shard.epoch
    _slice(shard, engine, epoch=epoch, seconds=0)
    assert _slice(shard, engine, epoch=epoch, seconds=0) == Slice(claimed=False)
    assert shard.mutants.count() == 1


def test_round_of_a_finding_is_recorded_with_it() -> None:
    shard, seen = _shard(rounds=2), list[tuple[str, int]]()

    def file(one: Finding, shard: Shard) -> bool:
        seen.append((one.key, shard.mutants.count()))
        return True

    findings = {1: [finding(1, key="a"), finding(1, key="b")]}
    _slice(shard, ScriptedEngine(findings=findings), on_finding=file)
    shard.refresh_from_db()
    assert seen == [("a", 2), ("b", 2)]
    assert shard.crash_findings == 2


@pytest.mark.parametrize("end", [services.pause_campaign, services.cancel_campaign])
def test_slice_stops_when_the_campaign_does(end: Callable[[Campaign], Campaign]) -> None:
    shard = _shard(rounds=5)

    def before(number: int) -> None:
        if number == 1:
            end(Campaign.objects.get())

    done = _slice(shard, ScriptedEngine(before=before))
    shard.refresh_from_db()
    paused = shard.campaign.status == Campaign.Status.PAUSED
    assert done.rounds == (2 if paused else 1), "a pause records the round in flight"
    assert shard.status == ("queued" if paused else "cancelled")


def test_slice_told_to_stop_records_its_round_first() -> None:
    shard = _shard(rounds=5)
    done = _slice(shard, ScriptedEngine(), is_stopping=lambda: True)
    assert done.rounds == 1
    assert done.hint is not None


def test_slice_that_lost_its_lease_records_nothing_more() -> None:
    shard = _shard(rounds=3)

    def before(number: int) -> None:
        if number == 1:
            now = timezone.now() + LEASE + timedelta(seconds=1)
            assert claim_shard(shard.pk, owner="two", now=now) is not None

    done = _slice(shard, ScriptedEngine(before=before))
    shard.refresh_from_db()
    assert (done.rounds, shard.owner, shard.mutants.count()) == (1, "two", 1)


def test_pulse_renews_the_lease_of_a_long_round() -> None:
    shard, leases = _shard(rounds=1), list[bool]()
    pulse = Pulse(name="one", beat=0.02)

    def before(number: int) -> None:
        Shard.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        for _ in range(500):
            if Shard.objects.get().is_leased(timezone.now()):
                break
            threading.Event().wait(0.02)
        leases.append(Shard.objects.get().is_leased(timezone.now()))
        assert WorkerHeartbeat.objects.get().shard == shard

    with pulse:
        _slice(shard, ScriptedEngine(before=before), pulse=pulse)
    assert leases == [True]
    assert not WorkerHeartbeat.objects.exists()


def test_pulse_tells_the_slice_that_the_lease_is_lost() -> None:
    shard = _shard(rounds=1)
    pulse = Pulse(name="one", beat=0.02)

    def before(number: int) -> None:
        now = timezone.now() + LEASE + timedelta(seconds=1)
        assert claim_shard(shard.pk, owner="two", now=now) is not None
        assert pulse.lost.wait(10)

    with pulse:
        done = _slice(shard, ScriptedEngine(before=before), pulse=pulse)
    assert done == Slice(claimed=True)


# ---------------------------------------------------------------------------------------- trouble
def _raise(error: BaseException) -> Callable[[int], None]:
    def before(number: int) -> None:
        raise error

    return before


def test_bad_input_fails_the_shard_with_its_text() -> None:
    shard = _shard()
    error = BadInput("environment torch", seen="no file", expected="an interpreter")
    assert _slice(shard, ScriptedEngine(before=_raise(error))).hint is None
    shard.refresh_from_db()
    assert (shard.status, shard.last_error) == ("failed", str(error))


def test_unknown_seed_fails_the_shard_with_its_text() -> None:
    shard = _shard()
    Shard.objects.update(seed="no_such_seed")
    _slice(shard, ScriptedEngine())
    shard.refresh_from_db()
    assert shard.status == "failed"
    assert "no_such_seed" in shard.last_error


def test_slice_that_raises_is_tried_again_later() -> None:
    shard = _shard()
    assert _slice(shard, ScriptedEngine(before=_raise(ZygoteDied("killed")))).hint is None
    shard.refresh_from_db()
    assert (shard.status, shard.errors) == ("queued", 1)
    assert shard.retry_at is not None
    assert shard.retry_at > timezone.now()
    assert "ZygoteDied: killed" in shard.last_error


def test_bug_that_raises_every_time_fails_the_shard_with_its_trace() -> None:
    shard = _shard()
    for _ in range(_TRIES_AGAIN + 1):
        Shard.objects.update(retry_at=None)
        assert _slice(shard, ScriptedEngine(before=_raise(KeyError("lost")))).claimed
    shard.refresh_from_db()
    assert shard.status == "failed"
    assert shard.last_error.startswith("Traceback")
    assert "KeyError: 'lost'" in shard.last_error
    assert "KeyError: 'lost'" in Campaign.objects.get().problem


def test_trouble_of_the_database_is_tried_again_later() -> None:
    shard = _shard()
    with pytest.raises(OperationalError):
        _slice(shard, ScriptedEngine(before=_raise(OperationalError("gone"))))
    shard.refresh_from_db()
    assert (shard.status, shard.errors) == ("queued", 1)
    assert shard.retry_at is not None
    assert shard.retry_at > timezone.now()
    assert "gone" in shard.last_error


def test_slice_that_is_told_to_leave_frees_its_shard() -> None:
    shard = _shard()
    with pytest.raises(SystemExit):
        _slice(shard, ScriptedEngine(before=_raise(SystemExit(1))))
    shard.refresh_from_db()
    assert (shard.status, shard.owner) == ("queued", "")


def _break_format(shard: Shard) -> None:
    Shard.objects.update(checkpoint_format=99)


def _break_bytes(shard: Shard) -> None:
    Shard.objects.update(checkpoint=b"not packed")


def _break_graph(shard: Shard) -> None:
    GraphText.objects.update(packed=GraphText.pack("case 1\n\ngraph x\n  nonsense\n"))


def _lose_graph(shard: Shard) -> None:
    GraphText.objects.all().delete()


@pytest.mark.parametrize("damage", [_break_format, _break_bytes, _break_graph, _lose_graph])
def test_unreadable_checkpoint_pauses_the_campaign(damage: Callable[[Shard], None]) -> None:
    shard, engine = _shard(rounds=3), ScriptedEngine()
    _slice(shard, engine, seconds=0)
    damage(shard)
    assert _slice(shard, engine).hint is None
    shard.refresh_from_db()
    assert shard.campaign.status == Campaign.Status.PAUSED
    assert "cannot be read" in shard.campaign.problem
    assert (shard.status, engine.starts) == ("queued", [0])


def test_checkpoint_that_the_engine_refuses_pauses_the_campaign() -> None:
    shard = _shard(rounds=3)
    state = {"format": 1, "next_round": 1, "graph": ""}
    Shard.objects.update(checkpoint=pack_json(state), next_round=1)

    def refuse(*args: object, **kwargs: object) -> Iterator[object]:
        raise BadInput("checkpoint field policy", seen=None, expected="an object")
        yield

    _slice(shard, cast(ScriptedEngine, refuse))
    assert Campaign.objects.get().status == Campaign.Status.PAUSED


def test_options_follow_the_campaign_and_its_preset() -> None:
    whole = campaign(shards=2, rounds=7, random_seed=5, preset=Campaign.Preset.QUICK_LOOK)
    first, second = (options_of(shard) for shard in whole.shards.all())
    assert (first.seed, first.rounds, first.policy) == (SEED, 7, "random")
    assert (first.random_seed, second.random_seed) == (5, 6)
    assert first.minimise_seconds == 45.0
