"""`flowmut adopt`: findings of the command line become rows, once."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from engine.finding import Finding
from tests import factories
from triage.adopting import adopt_findings
from triage.models import Bucket, FindingRecord

pytestmark = pytest.mark.django_db


def write(folder: Path, name: str, finding: Finding) -> None:
    (folder / "findings").mkdir(parents=True, exist_ok=True)
    (folder / "findings" / f"{name}.json").write_text(json.dumps(finding.to_json()))


def test_findings_of_a_folder_are_adopted_once(tmp_path: Path) -> None:
    one, other = factories.engine_finding(), factories.engine_finding(signature="another")
    write(tmp_path / "support", "torch-relu", one)
    write(tmp_path / "support", "torch-tanh", other)
    assert adopt_findings(tmp_path / "support") == (2, 0)
    assert adopt_findings(tmp_path / "support") == (0, 2)
    assert FindingRecord.objects.count() == 2
    assert Bucket.objects.count() == 2
    record = FindingRecord.objects.get(adopted__startswith="support: torch-relu-")
    assert record.campaign is None
    assert record.finding() == one


def test_a_settled_bucket_says_that_it_was_adopted_again(tmp_path: Path) -> None:
    found = factories.engine_finding()
    write(tmp_path / "one", "a", found)
    adopt_findings(tmp_path / "one")
    Bucket.objects.update(status=Bucket.Status.FIXED)
    write(tmp_path / "two", "a", replace(found, title="again"))
    adopt_findings(tmp_path / "two")
    bucket = Bucket.objects.get()
    assert bucket.flag == Bucket.Flag.SEEN_AGAIN
    assert bucket.flag_reason.startswith("Adopted again: two: a-")


def test_a_folder_that_is_none_and_a_file_that_is_no_finding_are_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no findings in it"):
        call_command("adopt", str(tmp_path))
    (tmp_path / "findings").mkdir()
    (tmp_path / "findings" / "one.json").write_text("{}")
    with pytest.raises(CommandError, match=r"finding .*one\.json"):
        call_command("adopt", str(tmp_path))
    assert not FindingRecord.objects.exists()


def test_the_command_says_how_many_and_the_pages_show_where_from(
    tmp_path: Path, client: Client
) -> None:
    write(tmp_path / "nightly", "a", factories.engine_finding())
    out = io.StringIO()
    call_command("adopt", str(tmp_path / "nightly"), stdout=out)
    assert "1 findings taken in, 0 known already" in out.getvalue()
    client.force_login(factories.user())
    record = FindingRecord.objects.get()
    for url in (
        record.get_absolute_url(),
        record.bucket.get_absolute_url(),
        reverse("triage:list-buckets"),
    ):
        page = client.get(url)
        assert page.status_code == 200
    assert "nightly: a-" in client.get(record.get_absolute_url()).content.decode()
