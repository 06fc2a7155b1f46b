"""Submitted reproducers: queued, run by a worker, findings like any other; pages, command, API."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from engine.errors import BadInput
from flowmut_web.tasks import run_submission as task
from flowmut_web.worker import child
from tests import factories
from triage import leases, submitting
from triage.models import Bucket, FindingRecord, Report, Rerun, Submission
from triage.reporting import draft_report

pytestmark = pytest.mark.django_db

STAND_IN = (
    "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\n"
    "sys.modules['torch'].__version__ = '9.9'\nimport torch\n"
)
FAILS = f"{STAND_IN}assert torch is None, 'exp of 3 is 4'\n"
HOLDS = f"{STAND_IN}assert torch\n"
BROKEN = f"{STAND_IN}torch.nothing()\nassert torch\n"


@pytest.fixture(autouse=True)
def _asked_without_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitting, "probe", lambda environment: {environment.framework: "2.13.0"})


def submitted(text: str = FAILS, **fields: Any) -> Submission:
    given: dict[str, Any] = {"name": "one.py", "who": factories.user(), "attempts": 1, **fields}
    return submitting.submit(text, **given)


def run(submission: Submission, scratch: Path) -> Submission:
    assert submitting.run_submission(submission.pk, owner="one", scratch=scratch)
    return Submission.objects.get(pk=submission.pk)


# ------------------------------------------------------------------------------------------ running
def test_script_becomes_a_finding_in_a_bucket(tmp_path: Path) -> None:
    done = run(submitted(attempts=3), tmp_path)
    assert (done.state, done.problem) == ("finished", "")
    record = done.finding
    assert (record.title, record.campaign, record.shard) == ("one.py: exp of 3 is 4", None, None)
    assert (record.reproduced, record.attempts) == (3, 3)
    assert record.data["environment"] == {"torch": "2.13.0"}
    assert record.bucket.status == Bucket.Status.NEW
    assert done.isolation


def test_the_same_failure_again_is_counted_in_its_bucket(tmp_path: Path) -> None:
    first = run(submitted(), tmp_path).finding.bucket
    Bucket.objects.update(status="fixed")
    second = run(submitted(FAILS.replace("3 is 4", "5 is 6")), tmp_path).finding.bucket
    assert first == second
    second.refresh_from_db()
    assert (second.count, second.flag, second.flag_reason) == (
        2,
        "seen_again",
        "Submitted again: one.py.",
    )


def test_finding_is_drafted_and_rerun_as_any_other(tmp_path: Path) -> None:
    from triage import reruns

    record = run(submitted(), tmp_path).finding
    report = draft_report(record, who=factories.user())
    assert "exp of 3 is 4" in "".join(report.fields.values())
    rerun = reruns.ask_rerun(record, who=factories.user(), attempts=1)
    reruns.run_rerun(rerun.pk, owner="one", scratch=tmp_path)
    rerun.refresh_from_db()
    assert rerun.words == "reproduced 1 of 1"


@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        (HOLDS, "finished", "The assertion holds: passed 1 of 1"),
        (BROKEN, "finished", "It could not run: AttributeError"),
    ],
)
def test_script_that_shows_nothing_is_no_finding(
    text: str, state: str, said: str, tmp_path: Path
) -> None:
    done = run(submitted(text), tmp_path)
    assert done.state == state
    assert done.reason.startswith(said)
    assert not FindingRecord.objects.exists()


def test_interpreter_that_does_not_answer_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(environment: object) -> None:
        raise BadInput("environment torch", seen="no file", expected="a Python interpreter")

    monkeypatch.setattr(submitting, "probe", dies)
    done = run(submitted(), tmp_path)
    assert (done.state, done.problem) == (
        "failed",
        "environment torch: saw no file, expected a Python interpreter",
    )


def test_finding_is_run_on_the_other_environments_where_asked(tmp_path: Path) -> None:
    factories.environment("torch", "2.13.0")
    old = factories.environment("torch old", "2.12.0")
    factories.environment("mindspore", "2.10.0")
    run(submitted(everywhere=True), tmp_path)
    assert [one.environment for one in Rerun.objects.all()] == [old]


def test_what_cannot_be_submitted_says_why() -> None:
    other = factories.environment("mindspore", "2.10.0")
    for given, message in (
        ({"environment": other}, "expected an environment of torch"),
        ({"symptom": "odd"}, "symptom: saw odd"),
        ({"text": "x = 1"}, "saw neither `function` nor an assertion"),
    ):
        with pytest.raises(BadInput, match=message):
            submitted(**given)
    assert not Submission.objects.exists()


# ---------------------------------------------------------------------------------------- as a job
def test_submission_is_claimed_once_and_swept_when_its_worker_is_gone(tmp_path: Path) -> None:
    made = submitted()
    rows = Submission.objects.filter(state="queued")
    claim = leases.claim(rows, made.pk, owner="one")
    assert claim is not None
    assert not submitting.run_submission(made.pk, owner="two", scratch=tmp_path)
    Submission.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert [hint.job for hint in submitting.sweep_submissions()] == [made.pk]
    with pytest.raises(leases.LostJobError):
        claim.write(reason="too late")


def test_worker_takes_it_by_task_and_by_command(settings: Settings, tmp_path: Path) -> None:
    settings.SCRATCH_DIR = tmp_path
    first, second = submitted(), submitted(HOLDS)
    assert submitting.is_submission_waiting()
    task(first.pk, first.epoch)
    out = StringIO()
    try:
        call_command("work", "--once", stdout=out)
    finally:
        child.close()
    assert out.getvalue() == f"submission {second.pk}: done\n"
    assert set(Submission.objects.values_list("state", flat=True)) == {"finished"}


def test_cancelled_submission_leaves_nothing(tmp_path: Path) -> None:
    made = submitted()
    assert submitting.cancel_submission(made)
    assert not submitting.cancel_submission(made)
    assert not submitting.run_submission(made.pk, owner="one", scratch=tmp_path)


# ------------------------------------------------------------------------------------------ command
def script(folder: Path, text: str) -> str:
    path = folder / "one.py"
    path.write_text(text)
    return str(path)


def test_command_runs_it_and_says_what_came_of_it(settings: Settings, tmp_path: Path) -> None:
    settings.SCRATCH_DIR = tmp_path
    out = StringIO()
    call_command("submit", script(tmp_path, FAILS), "--attempts", "1", stdout=out)
    assert "attempt 1: raised, exp of 3 is 4" in out.getvalue()
    assert "finding: one.py: exp of 3 is 4 (1 of 1)" in out.getvalue()
    told = StringIO()
    call_command("submit", script(tmp_path, FAILS), "--json", stdout=told)
    report = json.loads(told.getvalue())
    assert report["finding"] == str(FindingRecord.objects.order_by("-pk")[0].uuid)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [(HOLDS, 1, "It is no finding."), ("x = 1", 2, "saw neither `function` nor an assertion")],
)
def test_command_ends_by_what_came_of_it(
    text: str, code: int, message: str, settings: Settings, tmp_path: Path
) -> None:
    settings.SCRATCH_DIR = tmp_path
    with pytest.raises(CommandError, match=message) as caught:
        call_command("submit", script(tmp_path, text), stdout=StringIO())
    assert caught.value.returncode == code


def test_command_leaves_it_to_the_workers_where_asked(tmp_path: Path) -> None:
    out = StringIO()
    call_command("submit", script(tmp_path, FAILS), "--queue", stdout=out)
    assert Submission.objects.get().state == "queued"
    assert out.getvalue().startswith("queued; /triage/submissions/")
    with pytest.raises(CommandError, match="No such file"):
        call_command("submit", str(tmp_path / "none.py"))


# -------------------------------------------------------------------------------------------- pages
def upload(client: Client, text: str | bytes = FAILS, **fields: Any) -> Any:
    raw = text.encode() if isinstance(text, str) else text
    given = {"script": SimpleUploadedFile("one.py", raw), "attempts": "1", **fields}
    return client.post(reverse("triage:add-submission"), given)


def test_upload_is_for_administrators_and_off_by_default(
    client: Client, settings: Settings
) -> None:
    client.force_login(factories.user(is_staff=True))
    page = client.get(reverse("triage:list-submissions")).content.decode()
    assert "switched off" in page
    assert upload(client).status_code == 403
    settings.SCRIPT_UPLOAD = True
    client.force_login(factories.user())
    assert upload(client).status_code == 403
    assert (
        "Administrators upload scripts"
        in client.get(reverse("triage:list-submissions")).content.decode()
    )
    assert not Submission.objects.exists()


def test_administrator_uploads_and_follows_it(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.SCRIPT_UPLOAD = True
    client.force_login(factories.user("ada", is_staff=True))
    assert upload(client).status_code == 302
    made = Submission.objects.get()
    assert "It waits for a worker." in client.get(made.get_absolute_url()).content.decode()
    done = run(made, tmp_path)
    page = client.get(done.get_absolute_url()).content.decode()
    assert "It is a finding" in page
    assert "exp of 3 is 4" in page
    panel = client.get(done.get_absolute_url(), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in panel
    bucket = client.get(done.finding.get_absolute_url()).content.decode()
    assert "Submitted as" in bucket
    assert 'id="graph-title"' not in bucket, "a script has no graph"
    listed = client.get(reverse("triage:list-submissions")).content.decode()
    assert done.finding.title in listed
    text = client.get(reverse("triage:download-submission", args=[made.uuid]))
    assert text.content.decode() == FAILS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "saw neither `function` nor an assertion"),
        (b"\xff\xfe", "It is no text in UTF-8."),
        ("#" * 100_001, "100001 bytes; at most 100000."),
    ],
)
def test_upload_that_cannot_be_taken_says_why(
    text: str | bytes, message: str, client: Client, settings: Settings
) -> None:
    settings.SCRIPT_UPLOAD = True
    client.force_login(factories.user(is_staff=True))
    refused = upload(client, text)
    assert refused.status_code == 400
    assert message in refused.content.decode()


def test_submission_is_cancelled_by_who_made_it_or_an_administrator(client: Client) -> None:
    made = submitted()
    path = reverse("triage:cancel-submission", args=[made.uuid])
    client.force_login(factories.user())
    assert client.post(path).status_code == 403
    assert made.asked_by is not None
    client.force_login(made.asked_by)
    client.post(path)
    made.refresh_from_db()
    assert made.state == "cancelled"


# ---------------------------------------------------------------------------------------------- API
def test_api_submits_lists_and_cancels(client: Client, tmp_path: Path) -> None:
    given = {"name": "one.py", "text": FAILS, "attempts": 1}
    client.force_login(factories.user())
    assert client.post("/api/submissions/", given, "application/json").status_code == 403
    client.force_login(factories.user(is_staff=True))
    made = client.post("/api/submissions/", given, "application/json")
    assert (made.status_code, made.json()["state"], made.json()["finding"]) == (201, "queued", None)
    refused = client.post("/api/submissions/", given | {"text": "x = 1"}, "application/json")
    assert "saw neither" in refused.json()["text"]
    run(Submission.objects.get(), tmp_path)
    found = client.get(f"/api/submissions/{made.json()['id']}/").json()
    assert found["finding"] == str(FindingRecord.objects.get().uuid)
    assert found["bucket"] == str(Bucket.objects.get().uuid)
    listed = client.get("/api/submissions/?state=finished").json()["results"]
    assert [one["id"] for one in listed] == [found["id"]]
    late = client.post(f"/api/submissions/{found['id']}/cancel/")
    assert late.status_code == 409
    finding = client.get(f"/api/findings/{found['finding']}/").json()
    assert (finding["campaign"], finding["shard"]) == (None, None)
    assert not Report.objects.exists()
