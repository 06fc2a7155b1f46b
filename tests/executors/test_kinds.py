"""One case for each kind of bug the engine must see, and for each false alarm it must not raise.

A file under `tests/data/kinds` begins with what is expected ("fail FRAMEWORK KIND" or "not fail")
and why. The bugs are those of torch 2.13.0 and mindspore 2.10.0; a case that stops failing there
has been fixed upstream and gets another example of its kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.executors.pool import Pool
from engine.ir.codec import load_case
from engine.ops.typing import check_types
from engine.oracles.verdict import Kind
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
    verdict = Bench(pool, modes).trial(case, blobs).verdict
    if said["expect"] == "not fail":
        assert not verdict.failed, verdict
        return
    _, framework, kind = said["expect"].split()
    seen = {(one.framework, one.kind) for one in verdict.divergences}
    assert (framework, Kind[kind]) in seen, verdict
