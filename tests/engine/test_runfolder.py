"""A run folder: what is recorded, what a kill leaves, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.events import FindingFound, RoundFinished
from engine.finding import Finding, Reproduction, Symptom
from engine.options import Options
from engine.runfolder import RunFolder
from engine.seeds import SEEDS

OPTIONS = Options(seed=next(iter(SEEDS)), rounds=5)


def a_round(number: int, graph_text: str = "") -> RoundFinished:
    return RoundFinished(
        round=number,
        mutator="operator.update.attribute.dim",
        variant="",
        site={},
        accepted=True,
        verdict="pass",
        reason="",
        parent="",
        digest="",
        nodes=3,
        rejected={},
        statuses={},
        reward=0.0,
        novel=0,
        executions=4,
        seconds=0.1,
        checkpoint={"format": 1, "next_round": number + 1, "graph": "abc" if graph_text else ""},
        graph_text=graph_text,
    )


def a_finding(number: int) -> FindingFound:
    finding = Finding(
        symptom=Symptom.CRASH,
        accused_framework="torch",
        accused_modes=("torch-aot",),
        accused_op="sin",
        title="title",
        verdict="",
        key="key",
        signature="0" * 64,
        parts={},
        seed="seed",
        round=number,
        mutator="",
        lineage=("a",),
        parent_text="",
        mutant_text="",
        changed=(),
        minimised_text="",
        minimised_nodes=1,
        original_nodes=9,
        divergence="",
        answers=(),
        reproduction=Reproduction(3, 3),
        script="print()\n",
        script_output="",
        environment={},
    )
    return FindingFound(number, finding)


def rounds_of(folder: RunFolder) -> list[int]:
    return [json.loads(line)["round"] for line in folder.events.read_text().splitlines()]


def test_a_recorded_round_is_found_again(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", OPTIONS)
    folder.record(a_round(0, "the graph"))
    checkpoint, graph = RunFolder.open(tmp_path / "run", OPTIONS).checkpoint()
    assert checkpoint is not None
    assert (checkpoint["next_round"], graph) == (1, "the graph")


def test_what_was_written_of_a_round_in_flight_is_dropped(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", OPTIONS)
    folder.record(a_finding(0))
    folder.record(a_round(0))
    folder.record(a_finding(1))
    with folder.events.open("a") as stream:
        stream.write('{"event": "RoundFini')
    checkpoint, _ = folder.checkpoint()
    assert checkpoint is not None
    assert checkpoint["next_round"] == 1
    assert rounds_of(folder) == [0, 0]
    assert [path.name[:6] for path, _ in folder.findings()] == ["000000"]


def test_a_finding_survives_the_round_trip(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", OPTIONS)
    event = a_finding(0)
    folder.record(event)
    assert [finding for _, finding in folder.findings()] == [event.finding]


def test_more_rounds_may_be_asked_for_but_no_other_policy(tmp_path: Path) -> None:
    RunFolder.open(tmp_path / "run", OPTIONS)
    RunFolder.open(tmp_path / "run", replace(OPTIONS, rounds=50))
    with pytest.raises(BadInput, match="policy: saw linucb, expected random"):
        RunFolder.open(tmp_path / "run", replace(OPTIONS, policy="random"))


def test_a_broken_checkpoint_is_named(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", OPTIONS)
    (folder.path / "checkpoint.json").write_text("{")
    with pytest.raises(BadInput, match=r"checkpoint\.json: saw .*, expected JSON"):
        folder.checkpoint()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"run folder .* expected a writable folder"):
        RunFolder.open(tmp_path / "file" / "run", OPTIONS)


def test_a_finding_that_was_being_written_when_the_process_died_is_dropped(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "run", OPTIONS)
    folder.record(a_finding(0))
    folder.record(a_round(0))
    torn = folder.path / "findings" / ".000001-0123456789ab.json.4711"
    torn.write_text("{")
    folder.checkpoint()
    assert not torn.exists()
    assert len(list(folder.findings())) == 1


def test_a_folder_of_an_older_version_has_the_defaults_of_later_options(tmp_path: Path) -> None:
    RunFolder.open(tmp_path, OPTIONS)
    path = tmp_path / "options.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({name: one for name, one in known.items() if name != "ops"}))
    assert RunFolder.open(tmp_path, OPTIONS).path == tmp_path
    with pytest.raises(BadInput, match="ops"):
        RunFolder.open(tmp_path, replace(OPTIONS, ops=("relu",)))


@pytest.mark.parametrize(
    ("wrong", "named"), [({"pool": "none"}, "pool"), ({"ops": ("no_such_op",)}, "operator")]
)
def test_options_name_what_there_is_not(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        Options(seed=OPTIONS.seed, rounds=1, **wrong)  # type: ignore[arg-type]
