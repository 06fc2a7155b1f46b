"""What outcomes on several versions add up to, and which version a search asks next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from packaging.version import Version

from triage.standing import Outcome, next_version, standing, version_of

BAD = "First bad: 2.0 (the one before it, 1.0, passed)."
F, P, N, S = Outcome.FAILS, Outcome.PASSES, Outcome.NOT_RUN, Outcome.FLAKY


def said(**outcomes: Outcome) -> dict[Version, Outcome]:
    """By version: `v1=F` is 1.0."""
    return {Version(f"{name[1:]}.0"): one for name, one in outcomes.items()}


def versions(*numbers: int) -> list[Version]:
    return [Version(f"{number}.0") for number in numbers]


@pytest.mark.parametrize(
    ("outcomes", "first_bad", "first_good", "words"),
    [
        ({}, None, None, "No version has said anything yet."),
        (said(v1=F), None, None, "Only 1.0 has run: it fails."),
        (said(v1=F, v2=F), None, None, "It fails on all 2 versions that ran."),
        (said(v1=P, v2=P), None, None, "It passes on all 2 versions that ran."),
        (
            said(v1=P, v2=F),
            "2.0",
            None,
            BAD,
        ),
        (said(v1=F, v2=P), None, "2.0", "First good: 2.0 (the one before it, 1.0, failed)."),
        (
            said(v1=P, v2=S, v3=P),
            "2.0",
            "3.0",
            f"{BAD} First good: 3.0 (the one before it, 2.0, failed).",
        ),
        (said(v1=F, v2=N, v3=P), None, "3.0", "First good: 3.0 (the one before it, 1.0, failed)."),
    ],
)
def test_history_in_words(
    outcomes: dict[Version, Outcome], first_bad: str | None, first_good: str | None, words: str
) -> None:
    found = standing(outcomes)
    assert (found.first_bad and str(found.first_bad)) == first_bad
    assert (found.first_good and str(found.first_good)) == first_good
    assert found.words == words
    assert found.is_monotone


def test_history_that_comes_and_goes_is_said_and_not_hidden() -> None:
    found = standing(said(v1=F, v2=P, v3=F, v4=P))
    assert not found.is_monotone
    assert found.words.startswith(
        "It comes and goes: fails on 1.0, passes on 2.0, fails on 3.0, passes on 4.0."
    )
    assert (str(found.first_bad), str(found.first_good)) == ("3.0", "4.0")


def test_what_could_not_run_is_no_pass() -> None:
    found = standing(said(v1=F, v2=N))
    assert found.first_good is None
    assert found.known == (Version("1.0"),)


def test_installed_versions_that_did_not_run_are_counted_between() -> None:
    found = standing(said(v1=P, v4=F), installed=versions(1, 2, 3, 4))
    assert found.words == (
        "First bad: 4.0 (the one before it, 1.0, passed, with 2 installed between that did not"
        " run)."
    )


def search(truth: dict[Version, Outcome], known: dict[Version, Outcome]) -> list[Version]:
    """The versions that a search asks, in order."""
    known, asked = dict(known), []
    while (chosen := next_version(list(truth), known)) is not None:
        assert chosen not in known, "nothing is asked twice"
        known[chosen] = truth[chosen]
        asked.append(chosen)
    return asked


def test_search_asks_both_ends_and_then_the_middle() -> None:
    truth = dict.fromkeys(versions(*range(1, 17)), F)
    truth |= dict.fromkeys(versions(*range(1, 12)), P)
    asked = search(truth, {})
    assert asked[:2] == versions(1, 16)
    assert len(asked) == 2 + 4, "sixteen versions take four steps more"
    assert set(versions(11, 12)) <= set(asked)


def test_search_passes_over_what_cannot_run() -> None:
    truth = said(v1=P, v2=P, v3=N, v4=F, v5=F)
    assert search(truth, {})[:3] == versions(1, 5, 3)
    known = {one: truth[one] for one in search(truth, {})}
    assert str(standing(known).first_bad) == "4.0"
    assert not any(change.between for change in standing(known, installed=list(truth)).changes)


@given(
    some.lists(some.sampled_from([F, P, N, S]), min_size=1, max_size=12),
    some.sets(some.integers(0, 11)),
)
def test_search_leaves_no_open_version_beside_a_change(
    outcomes: list[Outcome], before: set[int]
) -> None:
    truth = dict(zip(versions(*range(1, len(outcomes) + 1)), outcomes, strict=True))
    known = {one: truth[one] for at, one in enumerate(truth) if at in before}
    for one in search(truth, known):
        known[one] = truth[one]
    found = standing(known, installed=list(truth))
    assert all(change.between == 0 for change in found.changes)
    assert found.known or all(one is N for one in outcomes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2.13.0+cpu", "2.13.0"), ("2.14.0.dev20261120+cpu", "2.14.0.dev20261120"), ("?", None)],
)
def test_how_it_was_built_does_not_make_it_older(text: str, expected: str | None) -> None:
    found = version_of(text)
    assert (found and str(found)) == expected
