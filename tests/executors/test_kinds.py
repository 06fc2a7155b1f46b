"""One case for each kind of bug the engine must see, and for each false alarm it must not raise.

A file under `tests/data/kinds` begins with what is expected and why: "fail FRAMEWORK KIND", with
" in MODE,MODE" where those alone may be accused, "not fail", or "inconclusive". All share one pool;
"alone" is for those that leave something behind in their process, and says what. The bugs are those
of torch 2.13.0 and mindspore 2.10.0; a case that stops failing there has been fixed upstream and
gets another example of its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.executors.pool import Pool
from engine.ir.codec import load_case
from engine.ops.typing import check_types
from engine.oracles.verdict import Kind, Ruling
from engine.trial import Bench

pytestmark = [
    pytest.mark.framework,
    pytest.mark.torch,
    pytest.mark.mindspore,
    pytest.mark.xdist_group("kinds"),
]

KINDS = sorted((Path(__file__).parents[1] / "data" / "kinds").glob("*.flow"))
MODES = ("torch-eager", "torch-aot", "mindspore-pynative", "mindspore-graph")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as one:
        yield one


def header(path: Path) -> dict[str, str]:
    lines = [line[2:] for line in path.read_text().splitlines() if line.startswith("# ")]
    return dict(line.split(": ", 1) for line in lines if ": " in line)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.inductor] if "torch-inductor" in path.read_text() else [],
        )
        for path in KINDS
    ],
)
def test_a_kind_is_judged_as_its_file_says(pool: Pool, path: Path) -> None:
    said = header(path)
    case, blobs = load_case(path)
    check_types(case.graph)
    modes = tuple(said["modes"].split()) if "modes" in said else MODES
    verdict = Bench(pool, modes).trial(case, blobs, alone="alone" in said).verdict
    if said["expect"] == "not fail":
        assert not verdict.failed, verdict
    elif said["expect"] == "inconclusive":
        assert verdict.ruling is Ruling.INCONCLUSIVE, verdict
    else:
        _, framework, kind, *only = said["expect"].split()
        seen = {(one.framework, one.kind, one.modes) for one in verdict.divergences}
        accused = {modes for *what, modes in seen if what == [framework, Kind[kind]]}
        assert accused, verdict
        assert not only or accused == {tuple(only[1].split(","))}, verdict


def test_there_are_siblings_of_every_kind_and_enough_that_only_look_like_bugs() -> None:
    expected = [header(path)["expect"] for path in KINDS]
    alike = [one for one in expected if not one.startswith("fail")]
    assert len(expected) - len(alike) >= 25
    assert len(alike) >= 60
    kinds = {one.split()[2] for one in expected if one.startswith("fail")}
    assert kinds >= {"RAISES", "DOCUMENTED", "SHAPE", "DTYPE", "VALUES", "NONFINITE", "LAYOUT"}
    assert kinds >= {"GRADIENT", "GRADIENT_NONFINITE", "WRITE_LOST"}
