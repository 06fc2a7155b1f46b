"""Candidates: numbering, drawing, features."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from engine.candidates import FEATURES, Candidate, Candidates, Counts, candidates, novelty
from engine.errors import ConstraintViolated
from engine.mutators import MUTATORS, Site
from tests.engine.mutation_cases import FIXTURE
from tests.engine.test_tfg import Seen


def limited(seed: int = 0, **options: object) -> Candidates:
    return candidates(FIXTURE, limit=3, rng=np.random.default_rng(seed), **options)  # type: ignore[arg-type]


def test_every_number_is_a_candidate_of_its_row() -> None:
    found = limited()
    for at in np.linspace(0, len(found) - 1, 60).astype(int):
        candidate = found[int(at)]
        assert candidate.variant in candidate.mutator.variants
        assert candidate.site in found.sites_of(candidate.mutator)
    with pytest.raises(IndexError):
        found[len(found)]


def test_a_limit_bounds_the_candidates_of_a_row() -> None:
    found = limited()
    counts = Counter(found[at].mutator.name for at in range(len(found)))
    assert max(counts.values()) == 3
    assert len(found) < len(candidates(FIXTURE))


def test_contexts_have_a_row_for_every_candidate() -> None:
    found = limited()
    rows = found.contexts()
    assert rows.shape == (len(found), len(FEATURES))
    assert len(found.cells) == len(found)
    assert np.isfinite(rows).all()
    assert rows.min() >= 0.0
    assert rows.max() <= 1.5


def test_drawing_does_not_favour_rows_with_many_sites_or_variants() -> None:
    found, rng = candidates(FIXTURE), np.random.default_rng(0)
    drawn = Counter(found[found.draw(rng)].mutator.name for _ in range(4000))
    rows = {row.name for row, _ in found.variants if found.sites_of(row)}
    assert max(drawn.values()) < 5 * 4000 / len(rows)
    assert len(drawn) > 0.9 * len(rows)


def test_choosing_uniformly_gives_candidates_with_sites() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        candidate = candidates(FIXTURE).choose_uniform(rng)
        assert candidate.site in tuple(candidate.mutator.sites(FIXTURE))


def test_the_same_random_seed_draws_the_same_candidates() -> None:
    once, again = limited(7), limited(7)
    assert len(once) == len(again)
    assert [once[at].site for at in range(0, len(once), 97)] == [
        again[at].site for at in range(0, len(again), 97)
    ]


def test_a_pool_has_its_rows_only() -> None:
    found = limited(pool="TFG")
    assert {row.provenance.pools for row, _ in found.variants} == {("TFG",)}


def test_novelty_sinks_with_what_was_met() -> None:
    assert novelty({}, ["a", "b"]) == 1.0
    assert novelty({"a": 3}, ["a"]) == 0.5
    assert novelty({"a": 3}, ["a", "b"]) == 0.75
    assert novelty({"a": 3}, []) == 1.0


def test_a_candidate_that_was_run_is_less_novel_the_next_time() -> None:
    first = limited()
    counts = Counts()
    counts.note(first.elements(first[0]))
    second = limited(counts=counts)
    assert (second.contexts()[0, :3] < first.contexts()[0, :3]).all()


def test_counts_survive_json() -> None:
    counts = Counts()
    found = limited()
    counts.note(found.elements(found[5]))
    assert Counts.from_json(counts.to_json()) == counts


def test_reach_gradient_cost_and_depth_are_what_they_say() -> None:
    facts = {"v1": Seen(summary={"gradient": 1e-4}), "v16": Seen(summary={"gradient": 0.0})}
    found = candidates(FIXTURE, facts)
    early, late = (_row(found, value) for value in ("v1", "v16"))
    assert early[3] > late[3]
    assert early[4] == pytest.approx(0.5)
    assert late[4] == 0.0
    assert early[5] == pytest.approx(np.log10(513) / 6)
    assert early[6] < late[6]


def _row(found: Candidates, value: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rows = found.contexts()
    at = next(
        at
        for at in range(len(found))
        if (one := found[at]).site.value == value and one.mutator.name == "tensor.update.scale"
    )
    return np.asarray(rows[at])


def test_a_label_is_the_name_and_the_variant() -> None:
    row = MUTATORS["tensor.insertion.copy"]
    assert Candidate(row, "clone", Site()).label == "tensor.insertion.copy.clone"


def test_a_case_without_sites_says_so() -> None:
    found = candidates(FIXTURE)
    found.variants = ()
    assert len(found) == 0
    assert found.contexts().shape == (0, 7)
    with pytest.raises(ConstraintViolated, match="no mutator has a site"):
        found.draw(np.random.default_rng(0))


def involves(found: Candidates, candidate: Candidate, op: str) -> bool:
    """Whether the operator is named by the variant, at the site, or at the edge it touches."""
    graph, site = found.case.graph, candidate.site
    names = [*site.nodes, site.value, site.consumer]
    if not site.consumer:
        names += graph.users.get(site.value, ())
    return op in candidate.variant.split(".") or any(
        name in graph.by_name and graph.by_name[name].op == op for name in names
    )


def test_operators_leave_only_what_involves_them() -> None:
    everything, some = candidates(FIXTURE), candidates(FIXTURE, ops=("softmax",))
    wanted = [
        one
        for one in map(everything.__getitem__, range(len(everything)))
        if involves(everything, one, "softmax")
    ]
    assert [some[at] for at in range(len(some))] == wanted
    assert 0 < len(some) < len(everything)


def test_an_operator_that_the_model_lacks_is_brought_in() -> None:
    absent = "conv3d"
    assert absent not in {node.op for node in FIXTURE.graph.nodes}
    found = limited(ops=(absent,))
    assert len(found) > 0
    assert {found[at].variant for at in range(len(found))} == {absent}
    assert found.choose_uniform(np.random.default_rng(0)).variant == absent
