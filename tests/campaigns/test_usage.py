"""Statistics of mutations over all recorded rounds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from campaigns.models import Refusal
from campaigns.usage import Usage, mutation_usage, newest_of, outcomes_of, refusals_of, rounds_by_id
from tests import factories

pytestmark = pytest.mark.django_db
Queries = Callable[[int], AbstractContextManager[Any]]


def test_round_counts_for_each_of_its_mutations(django_assert_num_queries: Queries) -> None:
    shard = factories.shard()
    common = {"mutator": "swap", "variant": "left", "parent": "a", "digest": "b"}
    factories.mutant(shard=shard, round=0, accepted=True, reward=0.5, further=["drop"], **common)
    factories.mutant(
        shard=shard, round=1, accepted=False, verdict="fail", reward=1.0, reason="differs", **common
    )
    factories.mutant(
        shard=shard, round=2, accepted=False, mutator="drop", variant="", verdict="flaky"
    )
    factories.mutant(shard=shard, round=3, accepted=False, mutator="", variant="")
    Refusal.objects.create(shard=shard, mutation="grow.one", reason="too large", count=3)
    with django_assert_num_queries(2):
        usage = mutation_usage()
    first = shard.mutants.get(round=0)
    assert usage["swap.left"] == Usage(2, 1, 1, 0, 0, 0.75, first.pk, first.pk)
    assert (usage["drop"].rounds, usage["drop"].flaky, usage["drop"].accepted_id) == (
        2,
        1,
        first.pk,
    )
    assert usage["grow.one"] == Usage(refused=3)
    assert set(usage) == {"swap.left", "drop", "grow.one"}


def test_round_that_changed_nothing_proves_nothing() -> None:
    shard = factories.shard()
    factories.mutant(shard=shard, round=0, accepted=True, parent="a", digest="a")
    factories.mutant(shard=shard, round=1, accepted=False, parent="a", digest="b")
    used = mutation_usage()["insert_unary.exp"]
    assert used.accepted_id == 0
    assert used.passed_id == shard.mutants.get(round=1).pk


def test_sum_weighs_rewards_by_rounds() -> None:
    parts = [Usage(rounds=1, reward=1.0, accepted_id=4), Usage(rounds=3, reward=0.0), Usage()]
    both = Usage.together(parts)
    assert (both.rounds, both.reward, both.accepted_id) == (4, 0.25, 4)
    assert Usage.together([]) == Usage()


def test_reasons_are_those_of_the_mutations_asked_for() -> None:
    shard = factories.shard()
    for number, reason in enumerate(["differs", "differs", "raises"]):
        factories.mutant(
            shard=shard,
            round=number,
            accepted=False,
            mutator="other",
            variant="",
            further=["swap.left"],
            reason=reason,
        )
    factories.mutant(shard=shard, round=9, accepted=False, mutator="drop", reason="elsewhere")
    second = factories.shard()
    for one, count in ((shard, 2), (second, 5)):
        Refusal.objects.create(shard=one, mutation="swap.left", reason="too large", count=count)
        Refusal.objects.create(shard=one, mutation="drop", reason="dead", count=count)
    assert outcomes_of(["swap.left", "swap.right"]) == (("differs", 2), ("raises", 1))
    assert refusals_of(["swap.left"]) == (("too large", 7),)
    assert [one.round for one in newest_of(["swap.left", "drop.exp"])] == [9, 2, 1, 0]
    found = rounds_by_id([shard.mutants.get(round=0).pk, 0])
    assert [one.shard.campaign for one in found.values()] == [shard.campaign]
