"""What runs on several versions say about a bug: where it came, where it went, what is open.

Pure: outcomes by version in, words out. What could not run is never counted as a pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from packaging.version import InvalidVersion, Version

__all__ = ["Change", "Outcome", "Standing", "next_version", "standing", "version_of"]


class Outcome(StrEnum):
    """What a version says. `FLAKY`: some attempts failed and some passed; the bug is there."""

    FAILS = "fails"
    FLAKY = "fails at times"
    PASSES = "passes"
    NOT_RUN = "could not run"

    @property
    def has_bug(self) -> bool:
        return self in (Outcome.FAILS, Outcome.FLAKY)

    @property
    def is_known(self) -> bool:
        return self is not Outcome.NOT_RUN


@dataclass(frozen=True)
class Change:
    """Two neighbours, of those that said something, that do not agree.

    `between`: how many installed versions lie between them and have said nothing yet.
    """

    before: Version
    after: Version
    brings_bug: bool
    between: int = 0


@dataclass(frozen=True)
class Standing:
    """`known`: versions that said something, the oldest first; `failing` of them have the bug."""

    known: tuple[Version, ...] = ()
    failing: frozenset[Version] = frozenset()
    changes: tuple[Change, ...] = ()

    @property
    def first_bad(self) -> Version | None:
        """The first version with the bug after one without it; None where nothing older passes."""
        return next((one.after for one in self.changes if one.brings_bug), None)

    @property
    def first_good(self) -> Version | None:
        """The first version without the bug after all that have it; None where the newest has."""
        last = self.changes[-1] if self.changes else None
        return last.after if last and not last.brings_bug else None

    @property
    def is_monotone(self) -> bool:
        """Whether the bug came and went at most once."""
        return sum(one.brings_bug for one in self.changes) + self._starts_bad <= 1

    @property
    def _starts_bad(self) -> bool:
        return bool(self.known) and self.known[0] in self.failing

    @property
    def newest_failing(self) -> Version | None:
        return max(self.failing, default=None)

    @property
    def words(self) -> str:
        """A sentence or two for people."""
        if not self.known:
            return "No version has said anything yet."
        if not self.changes:
            verb = "fails" if self._starts_bad else "passes"
            if len(self.known) == 1:
                return f"Only {self.known[0]} has run: it {verb}."
            return f"It {verb} on all {len(self.known)} versions that ran."
        if not self.is_monotone:
            history = ", ".join(
                f"{'fails' if one in self.failing else 'passes'} on {one}" for one in self.known
            )
            return f"It comes and goes: {history}. No single first bad version tells that story."
        return " ".join(_changed(one) for one in self.changes)


def _changed(one: Change) -> str:
    what = "First bad" if one.brings_bug else "First good"
    last = "passed" if one.brings_bug else "failed"
    open_ = f", with {one.between} installed between that did not run" if one.between else ""
    return f"{what}: {one.after} (the one before it, {one.before}, {last}{open_})."


def standing(outcomes: Mapping[Version, Outcome], *, installed: Sequence[Version] = ()) -> Standing:
    """What the outcomes add up to. `installed`: versions that could still be asked."""
    known = tuple(sorted(one for one, said in outcomes.items() if said.is_known))
    failing = frozenset(one for one in known if outcomes[one].has_bug)
    changes = tuple(
        Change(
            before,
            after,
            after in failing,
            sum(before < one < after and one not in outcomes for one in set(installed)),
        )
        for before, after in pairwise(known)
        if (before in failing) != (after in failing)
    )
    return Standing(known, failing, changes)


def next_version(
    installed: Sequence[Version], outcomes: Mapping[Version, Outcome]
) -> Version | None:
    """The version that bisection asks next; None where none is left that could tell more.

    The oldest and the newest first, then the middle between two that do not agree. One that could
    not run is passed over for its neighbour.
    """
    usable = sorted({one for one in installed if one not in outcomes or outcomes[one].is_known})
    for end in (*usable[:1], *usable[-1:]):
        if end not in outcomes:
            return end
    for change in standing(outcomes).changes:
        open_ = [
            one for one in usable if change.before < one < change.after and one not in outcomes
        ]
        if open_:
            return open_[len(open_) // 2]
    return None


def version_of(text: str) -> Version | None:
    """None for what is no version. What follows a plus says how it was built, not how old it is."""
    try:
        return Version(text.partition("+")[0])
    except InvalidVersion:
        return None
