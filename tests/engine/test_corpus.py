"""The corpus that chains start again from."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.corpus import Corpus, Entry
from engine.errors import BadInput


def entry(name: str, novel: int = 1) -> Entry:
    return Entry(name, ("a.b.c",), novel)


def test_the_graphs_of_least_worth_leave() -> None:
    corpus = Corpus()
    for number in range(20):
        corpus.add(entry(f"g{number}", novel=number + 1), f"text {number}")
    assert [one.novel for one in corpus.entries] == list(range(20, 8, -1))
    assert corpus.texts.keys() == {one.digest for one in corpus.entries}


def test_a_graph_is_taken_in_once() -> None:
    corpus = Corpus()
    corpus.add(entry("g"), "text")
    corpus.add(entry("g", novel=9), "text")
    assert len(corpus.entries) == 1


def test_an_empty_corpus_gives_the_seed() -> None:
    assert Corpus().pick(np.random.default_rng(0)) is None


def test_what_showed_more_is_started_from_more_often_until_it_was_visited() -> None:
    corpus = Corpus()
    corpus.add(entry("rich", novel=30), "")
    corpus.add(entry("poor", novel=1), "")
    rng = np.random.default_rng(0)
    picked = [corpus.pick(rng) for _ in range(40)]
    names = ["seed" if one is None else one.digest for one in picked]
    assert names.count("rich") > names.count("poor") > 0
    assert "seed" in names
    assert sum(one.visits for one in corpus.entries) == 40 - names.count("seed")


def test_a_checkpoint_restores_the_corpus_with_its_texts() -> None:
    corpus = Corpus()
    corpus.add(entry("g", novel=3), "text")
    corpus.pick(np.random.default_rng(0))
    checkpoint = json.loads(json.dumps({"corpus": corpus.state()}))
    assert Corpus.digests(checkpoint) == ("g",)
    assert Corpus.restored(checkpoint, {"g": "text"}) == corpus


def test_a_checkpoint_of_an_earlier_version_has_an_empty_corpus() -> None:
    assert Corpus.restored({}, {}) == Corpus()


def test_a_graph_without_text_is_named() -> None:
    checkpoint = {"corpus": [{"digest": "f00d", "lineage": [], "novel": 1, "visits": 0}]}
    with pytest.raises(BadInput, match="corpus graph f00d: saw no text"):
        Corpus.restored(checkpoint, {})


def test_a_corpus_that_is_no_list_is_refused() -> None:
    with pytest.raises(BadInput, match="checkpoint field corpus: saw str"):
        Corpus.digests({"corpus": "x"})
