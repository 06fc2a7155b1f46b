"""The loop on real frameworks: events, recorded values of the chain, resuming."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from engine.campaign import Campaign, campaign
from engine.chain import Chain
from engine.errors import BadInput
from engine.events import CampaignFinished, CampaignStarted, RoundFinished
from engine.executors.outcome import Status
from engine.executors.pool import Pool
from engine.ir.types import Dense
from engine.mutators import MUTATORS
from engine.mutators.apply import apply
from engine.options import Options
from engine.seeds import load_seed
from engine.steps import restored

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.mindspore]

OPTIONS = Options(
    seed="convnextv2_tiny_compact",
    rounds=8,
    modes=("torch-eager", "mindspore-pynative"),
    policy="random",
    random_seed=4,
)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as one:
        yield one


@pytest.fixture(scope="module")
def finished(pool: Pool) -> tuple[Campaign, list[RoundFinished]]:
    one = Campaign(OPTIONS, pool)
    events = list(one.events())
    assert isinstance(events[0], CampaignStarted)
    assert isinstance(events[-1], CampaignFinished)
    return one, [event for event in events if isinstance(event, RoundFinished)]


def test_every_round_is_told_once_and_in_order(
    finished: tuple[Campaign, list[RoundFinished]],
) -> None:
    assert [one.round for one in finished[1]] == list(range(OPTIONS.rounds))


def test_equal_reasons_are_counted_together_whatever_values_they_name(
    finished: tuple[Campaign, list[RoundFinished]],
) -> None:
    names = set(load_seed(OPTIONS.seed).graph.types)
    words = {word for one in finished[1] for reason in one.rejected for word in reason.split()}
    assert words
    assert not words & names


def test_operators_that_nothing_brings_in_are_refused_at_the_start(pool: Pool) -> None:
    with pytest.raises(BadInput, match="detach"):
        next(Campaign(replace(OPTIONS, ops=("detach",)), pool).events())


def test_refusals_are_told_by_reason_and_by_mutation(
    finished: tuple[Campaign, list[RoundFinished]],
) -> None:
    for one in finished[1]:
        by_mutation = sum(sum(reasons.values()) for reasons in one.refused.values())
        assert by_mutation == sum(one.rejected.values())
    assert any(one.refused for one in finished[1])


def test_values_kept_over_mutations_are_those_of_a_fresh_run(
    finished: tuple[Campaign, list[RoundFinished]], pool: Pool
) -> None:
    chain = finished[0].chain
    fresh = Chain.profiled(chain.case, (), pool)
    assert chain.values.keys() == fresh.values.keys()
    for name, array in fresh.values.items():
        # A cone is fed with contiguous copies, for which a product may be summed in another order.
        before, after = (one.astype(np.float64) for one in (chain.values[name], array))
        np.testing.assert_allclose(before, after, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(("kind", "is_at_the_start"), [("batch", False), ("layout", True)])
def test_a_second_call_with_other_inputs_needs_no_more_than_a_window(
    pool: Pool, kind: str, *, is_at_the_start: bool
) -> None:
    chain = Chain.profiled(load_seed(OPTIONS.seed), (), pool)
    row = MUTATORS["subgraph.update.plan.second_call"]
    site = list(row.sites(chain.case))[40]
    mutant = apply(chain.case, row, kind, site, np.random.default_rng(0), facts=chain.facts)
    window, blobs, _ = chain.windowed(mutant.case, (), site, pool, limit=12, modes=OPTIONS.modes)
    # A layout is lost at the first kernel, so there the window lies where the input is read.
    assert ("x" in window.graph.input_by_name) == is_at_the_start
    assert len(window.graph.nodes) <= 12
    given = window.plan.calls[1].inputs
    assert given
    if kind == "batch":
        assert {one.type.extents[0] for one in given if isinstance(one.type, Dense)} == {3}
    outcome = pool.run(window, "torch-eager", blobs=blobs)
    assert outcome.status is Status.OK
    assert len(outcome.calls) == 2


def kept(rounds: list[RoundFinished]) -> dict[str, str]:
    """The texts that a recorder keeps, by digest."""
    return {str(one.checkpoint["graph"]): one.graph_text for one in rounds}


def test_a_resumed_campaign_does_the_same_rounds(
    finished: tuple[Campaign, list[RoundFinished]], pool: Pool
) -> None:
    rounds = finished[1]
    stopped = rounds[4]
    events = campaign(
        OPTIONS,
        pool,
        checkpoint=stopped.checkpoint,
        graph_text=stopped.graph_text,
        corpus=kept(rounds),
    )
    again = [event for event in events if isinstance(event, RoundFinished)]
    assert [(one.round, one.mutator, one.digest, one.accepted) for one in again] == [
        (one.round, one.mutator, one.digest, one.accepted) for one in rounds[5:]
    ]


def test_a_resumed_campaign_still_has_the_steps_of_its_lineage(
    finished: tuple[Campaign, list[RoundFinished]], pool: Pool
) -> None:
    stopped = next(one for one in finished[1] if one.checkpoint["steps"])
    texts = kept(finished[1])
    resumed = Campaign(
        OPTIONS, pool, checkpoint=stopped.checkpoint, graph_text=stopped.graph_text, corpus=texts
    ).chain
    assert resumed.steps
    assert tuple(one.mutator for one in resumed.steps) == resumed.lineage[-len(resumed.steps) :]
    assert resumed.steps == restored(json.loads(json.dumps(stopped.checkpoint["steps"])))
    before = {key: one for key, one in stopped.checkpoint.items() if key != "steps"}
    older = Campaign(
        OPTIONS, pool, checkpoint=before, graph_text=stopped.graph_text, corpus=texts
    ).chain
    assert (older.lineage, older.steps) == (resumed.lineage, ())


def test_an_unknown_checkpoint_format_is_refused(pool: Pool) -> None:
    with pytest.raises(BadInput, match="checkpoint format: saw 99, expected 1"):
        Campaign(OPTIONS, pool, checkpoint={"format": 99})


def test_a_worker_with_another_limit_of_memory_is_replaced(pool: Pool) -> None:
    before = pool.address_space
    try:
        pool.limit(before + (1 << 30))
        assert pool.address_space == before + (1 << 30)
        assert pool.run(load_seed(OPTIONS.seed), "torch-eager").status is Status.OK
    finally:
        pool.limit(before)
