"""Seeds that people bring: uploaded, imported by a worker, used like any other, removed."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from onnx import TensorProto, helper, numpy_helper
from pytest_django import Settings

from campaigns.forms import CampaignForm
from campaigns.models import ImportedSeed
from campaigns.seeds import seed_file, seed_text
from campaigns.slices import options_of
from engine.errors import BadInput
from engine.executors.pool import Pool
from engine.seeds import load_start
from flowmut_web import seed_imports
from flowmut_web.tasks import import_seed as task
from flowmut_web.worker import child
from tests import factories
from tests.engine.pretended import PretendedPool

pytestmark = pytest.mark.django_db

LIST = "/catalogue/seeds/"
TEXT = """case 1

graph anything
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0)
  weight w: float32[4,3] = normal(seed=1, mean=0.0, std=0.5) requires_grad
  v0: float32[2,4] = linear(x, w)
  v1: float32[2,4] = relu(v0)
  return v1
"""


def onnx_model(op: str = "Relu") -> bytes:
    weight = numpy_helper.from_array(np.eye(3, 4, dtype="float32"), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node(op, ["y"], ["z"])]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    answer = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 4])
    graph = helper.make_graph(nodes, "made", [given], [answer], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 9
    return model.SerializeToString()


def uploaded(name: str = "mine", file: str = "mine.flow", **fields: Any) -> ImportedSeed:
    given: dict[str, Any] = {"content": TEXT.encode(), "who": factories.user(), **fields}
    return seed_imports.upload_seed(name, file=file, **given)


def run(seed: ImportedSeed, **pool: Any) -> ImportedSeed:
    pretended = cast(Pool, PretendedPool(**pool))
    assert seed_imports.run_import(seed.pk, owner="one", pool=pretended)
    return ImportedSeed.objects.get(pk=seed.pk)


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    settings.SEED_DIR = tmp_path / "seeds"


# ------------------------------------------------------------------------------------- importing
def test_a_graph_as_text_becomes_a_seed_under_the_name_that_was_given() -> None:
    done = run(uploaded())
    assert (done.state, done.problem, bytes(done.source)) == ("finished", "", b"")
    assert (done.parameters, done.scale, done.ops) == (12, "compact", {"linear": 1, "relu": 1})
    assert [one["agrees"] for one in done.report["checks"]] == [True, True]
    assert seed_text("mine") == TEXT.replace("graph anything", "graph mine")


def test_an_onnx_model_becomes_a_seed_with_a_report_of_what_was_mapped() -> None:
    done = run(uploaded(file="mine.onnx", content=onnx_model()))
    assert (done.state, done.problem) == ("finished", "")
    assert done.report["operators"] == {"onnx.MatMul": 1, "onnx.Relu": 1}
    assert [one["mode"] for one in done.report["checks"]] == ["torch-eager", "mindspore-pynative"]
    assert done.report["checks"][0]["agrees"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("mine.onnx", onnx_model("Hardmax"), r"1 operators .* onnx\.Hardmax \(1\)"),
        ("mine.onnx", b"nothing", "mine.onnx|model.onnx"),
        ("mine.flow", b"case 1\n\ngraph a\n  nonsense\n", "line 4"),
        ("mine.flow", b"\xff\xfe", "UTF-8"),
        ("mine.flow", TEXT.replace("v1: float32[2,4]", "v1: float32[9,9]").encode(), "v1"),
    ],
)
def test_what_cannot_be_imported_says_why(file: str, content: bytes, said: str) -> None:
    done = run(uploaded(file=file, content=content))
    assert done.state == "failed"
    assert re.search(said, done.problem), done.problem


def test_a_model_that_computes_something_else_is_refused() -> None:
    faults = {"torch-eager": {"relu": lambda x: x}}
    done = run(uploaded(file="mine.onnx", content=onnx_model()), faults=faults)
    assert done.state == "failed"
    assert "OVER THE TOLERANCE" in done.problem


@pytest.mark.parametrize("name", ["", "Mine", "../mine", "parseq", "none"])
def test_a_name_that_is_none_or_taken_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="name"):
        uploaded(name)


def test_a_name_is_taken_once() -> None:
    uploaded()
    with pytest.raises(BadInput, match="no seed has"):
        uploaded()


def test_an_upload_over_the_limit_or_of_another_kind_is_refused(settings: Settings) -> None:
    settings.SEED_UPLOAD_MB = 1
    with pytest.raises(BadInput, match="1 MB"):
        uploaded(content=b"x" * (2**20 + 1))
    with pytest.raises(BadInput, match="flowmut import"):
        uploaded(file="mine.pt2")


def test_the_task_is_one_step_and_a_lost_message_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = uploaded()
    assert seed_imports.is_import_waiting()
    (hint,) = seed_imports.sweep_imports()
    called: list[tuple[int, int | None]] = []
    monkeypatch.setattr(child, "seed_import", lambda job, epoch=None: called.append((job, epoch)))
    task(hint.job, hint.epoch)
    assert called == [(seed.pk, 0)]


# --------------------------------------------------------------------------------------- its use
def test_an_imported_seed_starts_campaigns_from_a_file_that_the_engine_reads() -> None:
    run(uploaded())
    form = CampaignForm(seeds=["mine"])
    assert form.initial["seeds"] == ["mine"]
    shard = factories.shard(seed="mine")
    path = options_of(shard).seed
    assert Path(path).stem == "mine"
    case, _ = load_start(path)
    assert case.graph.name == "mine"
    Path(path).unlink()
    assert seed_file("mine") == path
    assert Path(path).is_file()


def test_a_seed_that_a_campaign_used_stays() -> None:
    done = run(uploaded())
    factories.shard(seed="mine")
    with pytest.raises(BadInput, match="1 campaigns"):
        seed_imports.remove_seed(done)
    assert ImportedSeed.objects.filter(name="mine").exists()


def test_a_case_of_the_command_line_is_put_into_the_product(tmp_path: Path) -> None:
    file = tmp_path / "other.flow"
    file.write_text(TEXT, encoding="utf-8")
    out = StringIO()
    call_command("add_seed", str(file), stdout=out)
    assert out.getvalue().startswith("other: 12 parameters, compact")
    assert ImportedSeed.objects.get(name="other").state == "finished"
    with pytest.raises(CommandError, match="no seed has"):
        call_command("add_seed", str(file))


# ---------------------------------------------------------------------------------------- pages
@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(factories.user(is_staff=True))
    return client


def sent(client: Client, **fields: Any) -> Any:
    file = SimpleUploadedFile("mine.flow", TEXT.encode())
    return client.post(reverse("catalogue:upload-seed"), {"file": file, "name": "mine", **fields})


def test_only_administrators_upload_and_remove(client: Client) -> None:
    assert sent(client).status_code == 302  # to the log-in
    client.force_login(factories.user())
    assert sent(client).status_code == 403
    assert 'type="file"' not in client.get(LIST).content.decode()
    run(uploaded())
    assert client.post(f"{LIST}mine/remove/").status_code == 403


def test_an_upload_leads_to_its_progress_and_then_to_the_seed(administrator: Client) -> None:
    response = sent(administrator)
    assert response.url == f"{LIST}mine/"
    assert "It waits for a worker" in administrator.get(response.url).content.decode()
    assert "mine.flow" in administrator.get(LIST).content.decode()
    panel = administrator.get(response.url, headers={"HX-Request": "true"})
    assert "<html" not in panel.content.decode()
    run(ImportedSeed.objects.get())
    refreshed = administrator.get(response.url, headers={"HX-Request": "true"})
    assert refreshed["HX-Refresh"] == "true"
    page = administrator.get(response.url).content.decode()
    for said in ("Imported model", "Campaign from it", "data-panzoom", "Remove mine"):
        assert said in page, said
    assert [row.seed.name for row in administrator.get(LIST).context["rows"]][-1] == "mine"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": "Not A Name"}, "lower-case"),
        ({"file": SimpleUploadedFile("a.pt2", b"x")}, "flowmut import"),
        ({"file": SimpleUploadedFile("a.flow", b"")}, "empty"),
    ],
)
def test_what_is_wrong_with_an_upload_stands_at_its_field(
    administrator: Client, fields: dict[str, Any], said: str
) -> None:
    response = sent(administrator, **fields)
    assert response.status_code == 400
    assert said in response.content.decode()
    assert not ImportedSeed.objects.exists()


def test_a_failed_import_says_why_and_is_removed(administrator: Client) -> None:
    run(uploaded(content=b"case 1\n\ngraph a\n  nonsense\n"))
    page = administrator.get(f"{LIST}mine/").content.decode()
    assert "line 4" in page
    assert administrator.post(f"{LIST}mine/remove/").url == LIST
    assert not ImportedSeed.objects.exists()


def test_a_used_seed_is_kept_by_the_page_too(administrator: Client) -> None:
    run(uploaded())
    factories.shard(seed="mine")
    administrator.post(f"{LIST}mine/remove/")
    assert ImportedSeed.objects.filter(name="mine").exists()
    assert "Remove mine" not in administrator.get(f"{LIST}mine/").content.decode()


def test_a_page_says_how_the_modes_agree_and_how_mutants_ran(administrator: Client) -> None:
    shard = factories.shard(recorded_rounds=2)
    for number, status in enumerate(("ok", "raised")):
        statuses = {"torch-eager": status}
        factories.mutant(shard=shard, round=number, statuses=statuses)
    rows = {row.mode: row for row in administrator.get(f"{LIST}{shard.seed}/").context["modes"]}
    assert rows["torch-eager"].agrees
    assert (rows["torch-eager"].runs.ran, rows["torch-eager"].runs.asked) == (1, 2)
    assert rows["mindspore-graph"].runs.asked == 0
