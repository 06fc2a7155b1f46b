"""Running a finding's script again: queue, claim, attempts, what they say, and what is lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from queue import Empty
from threading import Barrier, Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from campaigns.identity import is_gone, worker_name
from campaigns.models import Environment, WorkerHeartbeat
from campaigns.pulse import Pulse
from flowmut_web.celery import app
from flowmut_web.tasks import run_rerun as task
from flowmut_web.tasks import sweep
from flowmut_web.worker import child
from tests import factories
from triage import leases, reruns
from triage.grouping import merge_buckets
from triage.models import Bucket, FindingRecord, Rerun

pytestmark = pytest.mark.django_db

SHOWS = "print('torch 9.1')\nassert 1 == 2, 'wrong'"
PASSES = "print('torch 9.2')\nprint('no difference')"
BROKEN = "import no_such_module"
SLEEPS = "import time\ntime.sleep(60)"


def asked(script: str = SHOWS, *, attempts: int = 3, **fields: Any) -> Rerun:
    record = factories.finding(script=script, **fields)
    return reruns.ask_rerun(record, who=factories.user(), attempts=attempts)


def run(rerun: Rerun, scratch: Path, **options: Any) -> Rerun:
    assert reruns.run_rerun(rerun.pk, owner="one", scratch=scratch, **options)
    rerun.refresh_from_db()
    return rerun


# ------------------------------------------------------------------------------------- what it says
def test_every_attempt_is_recorded_and_counted(tmp_path: Path) -> None:
    rerun = run(asked(), tmp_path)
    assert (rerun.state, rerun.words) == ("finished", "reproduced 3 of 3")
    assert [one["ending"] for one in rerun.results] == ["reproduced"] * 3
    assert all("AssertionError: wrong" in one["output"] for one in rerun.results)
    assert rerun.versions == {"torch": "9.1"}
    assert rerun.interpreter == sys.executable
    assert list(tmp_path.iterdir()) == []


def test_result_is_a_line_of_the_history_with_who_asked_and_where(tmp_path: Path) -> None:
    rerun = run(asked(attempts=1), tmp_path)
    event = rerun.finding.bucket.events.get(kind="rerun")
    assert (event.after, event.why) == ("reproduced 1 of 1", "With torch 9.1.")
    assert event.who == rerun.asked_by


def test_result_goes_to_the_bucket_that_has_the_finding_in_the_end(tmp_path: Path) -> None:
    rerun, other = asked(attempts=1), factories.bucket()

    def merge() -> bool:
        if not rerun.finding.bucket.merged_into_id:
            merge_buckets([rerun.finding.bucket], into=other, who=factories.user())
            rerun.finding.bucket.refresh_from_db()
        return False

    FindingRecord.objects.filter(pk=rerun.finding_id).update(
        data=rerun.finding.data | {"script": f"import time\ntime.sleep(2)\n{SHOWS}"}
    )
    run(rerun, tmp_path, is_stopping=merge)
    assert other.events.get(kind="rerun").after == "reproduced 1 of 1"


def test_script_that_passes_every_time_raises_a_flag_and_leaves_the_status(tmp_path: Path) -> None:
    rerun = run(asked(PASSES, attempts=1), tmp_path)
    assert rerun.words == "no longer reproduces: passed 1 of 1"
    bucket = Bucket.objects.get()
    assert (bucket.status, bucket.flag) == ("new", "not_reproduced")
    assert bucket.flag_reason == "No longer reproduces: passed 1 of 1, with torch 9.2."


@pytest.mark.parametrize("status", ["fixed", "false_alarm", "duplicate", "known_limit"])
def test_passing_is_no_news_where_nobody_takes_it_for_a_bug(status: str, tmp_path: Path) -> None:
    rerun = asked(PASSES, attempts=1)
    Bucket.objects.update(status=status)
    run(rerun, tmp_path)
    assert Bucket.objects.get().flag == ""


def test_what_is_fixed_and_reproduces_is_flagged(tmp_path: Path) -> None:
    rerun = asked(attempts=1)
    Bucket.objects.update(status="fixed")
    run(rerun, tmp_path)
    assert Bucket.objects.get().flag == "seen_again"


def test_what_could_not_run_is_never_a_pass(tmp_path: Path) -> None:
    rerun = run(asked(BROKEN, attempts=5), tmp_path)
    assert rerun.state == "failed"
    assert rerun.words == "could not run: ModuleNotFoundError: No module named 'no_such_module'"
    assert len(rerun.results) == 2, "the others could not run either"
    assert Bucket.objects.get().flag == ""


def test_one_attempt_that_could_not_run_keeps_the_rest_from_saying_fixed(tmp_path: Path) -> None:
    marker = tmp_path / "second"
    script = (
        f"from pathlib import Path\nmarker = Path({str(marker)!r})\n"
        "if not marker.exists():\n    marker.touch()\n    raise SystemExit(3)\n" + PASSES
    )
    rerun = run(asked(script, attempts=2), tmp_path)
    assert rerun.words == "passed 1 of 2, 1 could not run"
    assert Bucket.objects.get().flag == ""


def test_attempt_that_does_not_end_in_time_could_not_run(tmp_path: Path) -> None:
    rerun = run(asked(SLEEPS, attempts=1), tmp_path, deadline=0.5)
    assert rerun.words == "could not run: not finished after 0 s"


def test_finding_without_a_script_says_so(tmp_path: Path) -> None:
    assert run(asked(""), tmp_path).words == "could not run: the finding holds no script"


def test_interpreter_that_is_not_there_could_not_run(settings: Settings, tmp_path: Path) -> None:
    settings.WORKER_INTERPRETERS = {"torch": "/no/such/python"}
    words = run(asked(attempts=1), tmp_path).words
    assert words.startswith("could not run: /no/such/python cannot be started")


def test_chosen_environment_runs_it(tmp_path: Path) -> None:
    other = tmp_path / "other-python"
    other.symlink_to(sys.executable)
    nightly = Environment.objects.create(
        name="torch nightly",
        framework="torch",
        interpreter=str(other),
        versions={"python": "3.11.2", "torch": "9.0"},
    )
    record = factories.finding(script=SHOWS)
    rerun = reruns.ask_rerun(record, who=factories.user(), environment=nightly, attempts=1)
    run(rerun, tmp_path)
    assert rerun.interpreter == str(other)
    assert rerun.versions == {"python": "3.11.2", "torch": "9.1"}, "what was printed is the truth"


# ------------------------------------------------------------------------------------------- claims
def test_rerun_is_claimed_once(tmp_path: Path) -> None:
    rerun = asked()
    claim = reruns.claim_rerun(rerun.pk, owner="one", epoch=0)
    assert claim is not None
    assert reruns.claim_rerun(rerun.pk, owner="two") is None
    assert not reruns.run_rerun(rerun.pk, owner="two", scratch=tmp_path)


def test_message_of_an_earlier_epoch_is_void() -> None:
    rerun = asked()
    Rerun.objects.update(epoch=1)
    assert reruns.claim_rerun(rerun.pk, owner="one", epoch=0) is None
    assert reruns.claim_rerun(rerun.pk, owner="one", epoch=1) is not None


def test_second_rerun_of_a_finding_waits_and_of_another_does_not(tmp_path: Path) -> None:
    first = asked()
    second = reruns.ask_rerun(first.finding, who=factories.user())
    other = asked()
    assert reruns.claim_rerun(first.pk, owner="one") is not None
    assert reruns.claim_rerun(second.pk, owner="two") is None
    assert [hint.job for hint in reruns.sweep_reruns()] == [other.pk]
    reruns.cancel_rerun(first)
    assert reruns.claim_rerun(second.pk, owner="two") is not None


@pytest.mark.django_db(transaction=True)
def test_of_many_who_claim_at_once_one_gets_a_finding() -> None:
    first = asked()
    both = [first, reruns.ask_rerun(first.finding, who=factories.user())]
    barrier, claims = Barrier(4), []

    def claim(number: int) -> None:
        barrier.wait()
        claims.append(reruns.claim_rerun(both[number % 2].pk, owner=f"worker {number}"))
        connection.close()

    threads = [Thread(target=claim, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one is not None for one in claims) == 1
    assert Rerun.objects.filter(state="running").count() == 1


def test_cancelled_while_it_runs_ends_soon_and_says_nothing(
    tmp_path: Path,
) -> None:
    rerun = asked(SLEEPS)
    began = timezone.now()

    def cancel() -> bool:
        return not reruns.cancel_rerun(rerun)

    assert reruns.run_rerun(rerun.pk, owner="one", scratch=tmp_path, is_stopping=cancel)
    rerun.refresh_from_db()
    assert (rerun.state, rerun.results) == ("cancelled", [])
    assert timezone.now() - began < timedelta(seconds=30)
    assert not rerun.finding.bucket.events.filter(kind="rerun").exists()


def test_worker_that_must_stop_gives_it_back(tmp_path: Path) -> None:
    rerun = run(asked(SLEEPS), tmp_path, is_stopping=lambda: True)
    assert (rerun.state, rerun.owner, rerun.lease_until) == ("queued", "", None)
    assert [hint.job for hint in reruns.sweep_reruns()] == [rerun.pk]


# ------------------------------------------------------------------------------------------- sweeps
def test_rerun_of_a_dead_worker_is_queued_again_and_given_up_in_the_end() -> None:
    rerun = asked()
    gone = worker_name().replace(f":{os.getpid()}.", ":1.")
    for _ in range(3):
        claim = reruns.claim_rerun(rerun.pk, owner=gone)
        assert claim is not None
        hints = reruns.sweep_reruns(is_gone=is_gone)
    rerun.refresh_from_db()
    assert (hints, rerun.state) == ([], "failed")
    assert rerun.words == "could not run: the worker that ran it was lost 3 times"


def test_lease_that_ran_out_frees_it_and_its_old_owner_writes_nothing() -> None:
    rerun = asked()
    claim = reruns.claim_rerun(rerun.pk, owner="elsewhere")
    assert claim is not None
    assert reruns.sweep_reruns() == []
    later = timezone.now() + leases.LEASE + timedelta(seconds=1)
    assert [hint.epoch for hint in reruns.sweep_reruns(now=later)] == [1]
    assert claim.held.update(results=[1]) == 0


# ----------------------------------------------------------------------------------------- messages
def messages() -> list[tuple[str, list[Any]]]:
    """Take everything from the queue: task and arguments."""
    taken = []
    with app.connection_for_read() as opened, opened.SimpleQueue("flowmut") as queue:
        while True:
            try:
                message = queue.get(timeout=0.2)
            except Empty:
                return taken
            message.ack()
            taken.append((message.headers["task"], message.payload[0]))


@pytest.fixture
def _quiet_broker() -> Iterator[None]:
    messages()
    yield
    messages()
    child.close()


@pytest.mark.usefixtures("_quiet_broker")
@pytest.mark.django_db(transaction=True)
def test_asking_sends_a_message_that_the_task_takes() -> None:
    rerun = asked(attempts=1)
    assert messages() == [("flowmut.run_rerun", [rerun.pk, 0])]
    task(rerun.pk, 0)
    rerun.refresh_from_db()
    assert rerun.words == "reproduced 1 of 1"


def test_worker_says_that_it_runs_a_script() -> None:
    pulse = Pulse(name="one")
    with pulse.busy("runs a script again"):
        assert WorkerHeartbeat.objects.get().what == "runs a script again"
    pulse.beat()
    assert WorkerHeartbeat.objects.get().what == "waits for work"


@pytest.mark.usefixtures("_quiet_broker")
@pytest.mark.django_db(transaction=True)
def test_lost_message_is_sent_again_by_the_sweep() -> None:
    rerun = asked()
    messages()
    sweep()
    assert ("flowmut.run_rerun", [rerun.pk, 0]) in messages()


@pytest.mark.usefixtures("_quiet_broker")
@pytest.mark.django_db(transaction=True)
def test_work_command_runs_scripts_first() -> None:
    rerun = asked(attempts=1)
    factories.campaign()
    call_command("work", "--once")
    rerun.refresh_from_db()
    assert rerun.state == "finished"


def test_slice_ends_after_its_round_while_a_person_waits() -> None:
    assert not child._should_yield()
    rerun = asked()
    assert child._should_yield()
    reruns.claim_rerun(rerun.pk, owner="one")
    assert not child._should_yield()


# -------------------------------------------------------------------------------------------- pages
def test_person_asks_on_the_page_looks_and_cancels(client: Client, person: User) -> None:
    record = factories.finding()
    path = reverse("triage:add-rerun", args=[record.uuid])
    assert client.get(path).status_code == 405
    response = client.post(path, {"attempts": "5"})
    assert response.headers["Location"] == f"{record.get_absolute_url()}#rerun"
    rerun = Rerun.objects.get()
    assert (rerun.attempts, rerun.asked_by, rerun.environment) == (5, person, None)
    page = client.get(record.get_absolute_url()).content.decode()
    assert "waits for a worker" in page
    assert "No worker was heard of lately" in page
    client.post(reverse("triage:cancel-rerun", args=[rerun.uuid]))
    assert ">Cancelled<" in client.get(record.get_absolute_url()).content.decode()


@pytest.mark.usefixtures("person")
def test_panel_asks_for_itself_only_while_something_runs(client: Client) -> None:
    rerun = factories.rerun(endings=["reproduced"])
    path = reverse("triage:show-reruns", args=[rerun.finding.uuid])
    assert "data-poll" in client.get(path).content.decode()
    Rerun.objects.update(state="finished", ended_at=timezone.now())
    ended = client.get(path).content.decode()
    assert "data-poll" not in ended
    assert "Reproduced 1 of 1" in ended


@pytest.mark.usefixtures("person")
def test_asking_by_script_answers_with_the_panel(client: Client) -> None:
    record = factories.finding()
    path = reverse("triage:add-rerun", args=[record.uuid])
    page = client.post(path, {"attempts": "1"}, headers={"HX-Request": "true"}).content.decode()
    assert "data-poll" in page
    assert "<html" not in page


@pytest.mark.usefixtures("person")
def test_only_environments_of_the_framework_can_be_chosen(client: Client) -> None:
    for name in ("torch", "torch nightly", "mindspore", "torchvision"):
        factories.environment(name)
    record = factories.finding()
    page = client.get(record.get_absolute_url())
    offered = page.context["rerun_form"].fields["environment"].queryset
    assert [one.name for one in offered] == ["torch", "torch nightly"]
    stranger = Environment.objects.get(name="mindspore")
    fields = {"attempts": "1", "environment": str(stranger.uuid)}
    client.post(reverse("triage:add-rerun", args=[record.uuid]), fields)
    assert not Rerun.objects.exists()


@pytest.mark.usefixtures("person")
def test_what_attempts_printed_is_plain_text(client: Client) -> None:
    rerun = factories.rerun(endings=["reproduced", "passed"], state="finished")
    response = client.get(reverse("triage:download-rerun", args=[rerun.uuid]))
    assert response["Content-Type"].startswith("text/plain")
    assert "# attempt 2 of 3: passed, exit status 1" in response.content.decode()


def test_strangers_see_and_ask_nothing(client: Client) -> None:
    record = factories.finding()
    for route in ("add-rerun", "show-reruns"):
        response = client.post(reverse(f"triage:{route}", args=[record.uuid]))
        assert response.status_code == 302
        assert "/login/" in response.headers["Location"]
    assert not Rerun.objects.exists()


# ----------------------------------------------------------------------------------------- for real
REAL = '''"""relu of a number below zero."""

import numpy as np
import torch

x = torch.tensor([-1.0, 2.0])
print("torch", torch.__version__)
got = torch.compile(torch.relu, backend="aot_eager", fullgraph=True)(x).numpy()
expected = np.array([{expected}, 2.0])
np.testing.assert_allclose(got, expected)
print("no difference")
'''


@pytest.mark.framework
@pytest.mark.torch
@pytest.mark.parametrize(
    ("expected", "words"),
    [("-1.0", "reproduced 1 of 1"), ("0.0", "no longer reproduces: passed 1 of 1")],
)
def test_stored_script_runs_on_the_framework(expected: str, words: str, tmp_path: Path) -> None:
    record: FindingRecord = factories.finding(script=REAL.format(expected=expected))
    rerun = reruns.ask_rerun(record, who=factories.user(), attempts=1)
    run(rerun, tmp_path)
    assert rerun.words == words, rerun.results
    assert rerun.versions["torch"][0].isdigit()
