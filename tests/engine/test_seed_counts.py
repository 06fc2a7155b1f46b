"""Operators counted from a seed's text are those that parsing finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from engine.errors import BadInput
from engine.ir.graph import Graph
from engine.seeds import SEEDS, load_seed
from engine.seeds.counting import op_counts


def _ops(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        yield node.op
        for region in node.regions:
            yield from _ops(region.graph)


@pytest.mark.parametrize("name", [name for name, seed in SEEDS.items() if seed.scale == "compact"])
def test_counts_are_those_of_the_parsed_graph(name: str) -> None:
    assert op_counts(name) == Counter(_ops(load_seed(name).graph))


@pytest.mark.parametrize("name", list(SEEDS))
def test_commonest_operator_comes_first(name: str) -> None:
    counts = list(op_counts(name).values())
    assert counts == sorted(counts, reverse=True)


def test_unknown_seed_is_refused() -> None:
    with pytest.raises(BadInput, match="zebra"):
        op_counts("zebra")
