"""GitHub's webhook: signed, once, and believed in nothing but which issue it is about."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from django.conf import LazySettings
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from tests import factories
from triage import hook_views
from triage.models import Following, HookDelivery, Report

pytestmark = pytest.mark.django_db
SECRET = "for tests"
ISSUE = {"repository": {"full_name": "PyTorch/pytorch"}, "issue": {"number": 7}, "action": "closed"}


@pytest.fixture(autouse=True)
def _secret(settings: LazySettings) -> None:
    settings.GITHUB_WEBHOOK_SECRET = SECRET


@pytest.fixture
def following() -> Following:
    url = "https://github.com/PyTorch/pytorch/issues/7"
    report = factories.report(status="reported", upstream_url=url, upstream_id="7")
    return Following.objects.create(report=report, site="github", address=url, next_at=None)


def send(data: Any, *, secret: str = SECRET, event: str = "issues", **headers: str) -> HttpResponse:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = {"X-Hub-Signature-256": signature, "X-GitHub-Event": event, **headers}
    client = Client(enforce_csrf_checks=True)
    answer: HttpResponse = client.post(
        "/hooks/github/", body, content_type="application/json", headers=given
    )
    return answer


def test_signed_message_makes_its_report_due(following: Following) -> None:
    answer = send(ISSUE)
    assert (answer.status_code, json.loads(answer.content)) == (
        202,
        {"asked": 1, "repeated": False},
    )
    following.refresh_from_db()
    assert following.next_at is not None
    assert following.next_at <= timezone.now()
    assert Report.objects.get().status == "reported"  # what it says is not believed


def test_message_that_is_repeated_does_nothing_whatever_its_headers(following: Following) -> None:
    send(ISSUE, **{"X-GitHub-Delivery": "one"})
    Following.objects.update(next_at=None)
    answer = send(ISSUE, **{"X-GitHub-Delivery": "two"})
    assert (answer.status_code, json.loads(answer.content)) == (200, {"asked": 0, "repeated": True})
    following.refresh_from_db()
    assert following.next_at is None
    assert HookDelivery.objects.count() == 1


@pytest.mark.parametrize("secret", ["wrong", ""])
def test_wrong_signature_is_refused(following: Following, secret: str) -> None:
    assert send(ISSUE, secret=secret).status_code == 403
    following.refresh_from_db()
    assert following.next_at is None
    assert not HookDelivery.objects.exists()


@pytest.mark.parametrize("signature", ["", "sha256=", "sha1=abc", "sha256=\u00fc", "nonsense"])
def test_signature_of_another_shape_is_refused(signature: str) -> None:
    body = json.dumps(ISSUE)
    headers = {"X-Hub-Signature-256": signature} if signature else {}
    answer = Client().post("/hooks/github/", body, content_type="application/json", headers=headers)
    assert answer.status_code == 403


def test_closed_without_a_secret(settings: LazySettings) -> None:
    settings.GITHUB_WEBHOOK_SECRET = ""
    assert send(ISSUE, secret="").status_code == 404


def test_large_message_is_refused_before_it_is_read() -> None:
    assert send(b"x" * (hook_views.MOST_BYTES + 1)).status_code == 413


@pytest.mark.parametrize("body", [b"", b"nonsense", b"[]", b'"text"', b"\xff"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    assert send(body).status_code == 400
    assert not HookDelivery.objects.exists()


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"repository": None, "issue": []},
        {"repository": {"full_name": "pytorch"}, "issue": {"number": 7}},
        {"repository": {"full_name": "PyTorch/pytorch"}, "issue": {"number": True}},
        {"repository": {"full_name": "PyTorch/pytorch"}, "issue": {"number": "../8"}},
        {"repository": {"full_name": "other/pytorch"}, "issue": {"number": 7}},
    ],
)
def test_message_about_nothing_that_is_followed(following: Following, data: Any) -> None:
    assert json.loads(send(data).content)["asked"] == 0
    following.refresh_from_db()
    assert following.next_at is None


def test_ping_is_answered_and_not_kept() -> None:
    assert json.loads(send({"zen": "x"}, event="ping").content) == {"pong": True}
    assert not HookDelivery.objects.exists()


def test_pull_request_that_ends_the_issue_or_is_known_makes_it_due(following: Following) -> None:
    pull = {
        "html_url": "https://github.com/PyTorch/pytorch/pull/9",
        "title": "Mend",
        "body": "Fixes #7",
    }
    data = {"repository": ISSUE["repository"], "pull_request": pull, "action": "opened"}
    assert json.loads(send(data, event="pull_request").content)["asked"] == 1
    following.pulls = [{"url": pull["html_url"], "title": "Mend", "state": "open", "closes": True}]
    following.save()
    data = {**data, "pull_request": {**pull, "body": None}, "action": "closed"}
    assert json.loads(send(data, event="pull_request").content)["asked"] == 1


def test_only_post_is_taken() -> None:
    assert Client().get("/hooks/github/").status_code == 405
