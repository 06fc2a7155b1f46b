"""A thousand duplicates cost one minimisation: counted through the loop, the slices and the
database. The frameworks are pretended, all else is real."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from campaigns.models import Campaign, ImportedSeed
from campaigns.pulse import Pulse
from campaigns.services import create_campaign
from campaigns.slices import run_slice
from engine import minimising, report, trial
from engine.campaign import campaign
from engine.events import RoundFinished
from engine.executors.pool import Pool
from engine.ir.case import Case
from engine.minimiser import minimise as real_minimise
from engine.options import Options
from engine.script_run import Ending, ScriptRun
from flowmut_web.worker import file_finding
from tests.engine.pretended import PretendedPool
from triage.models import FindingRecord
from triage.selectors import recorded_coarse_keys

MODES = ("torch-eager", "torch-aot")
SEED = """case 1
graph small
  input x: float32[2,3] = normal(seed=0, mean=0.0, std=1.0)
  weight w: float32[3,3] = normal(seed=1, mean=0.0, std=1.0)
  v0: float32[2,3] = matmul(x, w)
  v1: float32[2,3] = relu(v0)
  v2: float32[2,3] = tanh(v1)
  return v2
plan
  call
  check values
"""


@pytest.fixture
def seed(tmp_path: Path) -> str:
    path = tmp_path / "small.flow"
    path.write_text(SEED)
    return str(path)


@pytest.fixture
def minimisations(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """What was minimised. Scripts are not run, for there is nothing to run them on."""
    counted: list[Case] = []

    def minimise(case: Case, *given: Any, **more: Any) -> Case:
        counted.append(case)
        return real_minimise(case, *given, **more)

    monkeypatch.setattr(minimising, "minimise", minimise)
    monkeypatch.setattr(report, "run_script", lambda *_, **__: ScriptRun(Ending.REPRODUCED, 1, ""))
    monkeypatch.setattr(trial, "described", lambda environment: {})
    return counted


def broken_pool() -> Pool:
    """`relu` is off by one wherever it is compiled."""
    wrong = {"relu": lambda x: np.maximum(x, 0) + np.asarray(1, x.dtype)}
    return cast(Pool, PretendedPool(faults={"torch-aot": wrong}))


def test_duplicates_of_a_chain_cost_one_minimisation(seed: str, minimisations: list[Case]) -> None:
    options = Options(seed=seed, rounds=30, modes=MODES, ops=("relu",), stack=1, policy="random")
    rounds = [one for one in campaign(options, broken_pool()) if isinstance(one, RoundFinished)]
    failed = [one for one in rounds if one.verdict == "fail"]
    assert len(failed) > 10
    assert len(minimisations) == 1


@pytest.mark.django_db(transaction=True)
def test_duplicates_of_all_shards_cost_one_minimisation(minimisations: list[Case]) -> None:
    ImportedSeed.objects.create(
        name="small", kind=ImportedSeed.Kind.TEXT, text=SEED, state=ImportedSeed.State.DONE
    )
    asked: Campaign = create_campaign(
        name="Duplicates",
        seeds=["small", "small", "small"],
        modes=list(MODES),
        ops=["relu"],
        policy="random",
        random_seed=0,
        rounds=10,
    )
    failed = 0

    pool = broken_pool()
    for shard in asked.shards.order_by("index"):
        done = run_slice(
            shard.pk,
            pool=pool,
            pulse=Pulse(name="one"),
            on_finding=file_finding,
            recorded=recorded_coarse_keys,
            seconds=600,
        )
        assert done.rounds == 10
        failed += shard.mutants.filter(verdict="fail").count()
    assert failed > 10
    assert len(minimisations) == FindingRecord.objects.count() == 1
    assert recorded_coarse_keys(asked)
