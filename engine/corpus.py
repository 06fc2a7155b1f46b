"""The corpus of a chain: accepted graphs that showed something new, to start again from.

Entries name their graphs by digest; whoever records a campaign keeps the texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from engine.checkpoint import CheckpointReader
from engine.errors import BadInput

__all__ = ["Corpus", "Entry"]

_SIZE = 12


@dataclass(frozen=True)
class Entry:
    """A graph by its digest. `novel`: trace events that it was first to show; `visits`: how often a
    chain started from it."""

    digest: str
    lineage: tuple[str, ...]
    novel: int
    visits: int = 0

    @property
    def worth(self) -> float:
        """What it showed, shared among the starts from it."""
        return self.novel / (1.0 + self.visits)


@dataclass
class Corpus:
    """At most twelve entries, those of the greatest worth, with the texts of their graphs."""

    entries: list[Entry] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def add(self, entry: Entry, text: str) -> None:
        """Take a graph in; the one of least worth leaves where there are too many."""
        if any(one.digest == entry.digest for one in self.entries):
            return
        self.entries.append(entry)
        self.texts[entry.digest] = text
        self.entries = sorted(self.entries, key=lambda one: -one.worth)[:_SIZE]
        self.texts = {one.digest: self.texts[one.digest] for one in self.entries}

    def pick(self, rng: np.random.Generator) -> Entry | None:
        """An entry by its worth, or None, which stands for the seed and weighs as the mean of them.

        The visit is counted.
        """
        worth = np.array([one.worth for one in self.entries])
        if not worth.sum():
            return None
        shares = np.append(worth, worth.mean())
        at = int(rng.choice(len(shares), p=shares / shares.sum()))
        if at == len(worth):
            return None
        found = self.entries[at]
        self.entries[at] = replace(found, visits=found.visits + 1)
        return found

    def state(self) -> list[dict[str, object]]:
        return [{**asdict(one), "lineage": list(one.lineage)} for one in self.entries]

    @staticmethod
    def digests(checkpoint: Mapping[str, object]) -> tuple[str, ...]:
        """The graphs that a checkpoint's corpus needs; none in one of an earlier version."""
        return tuple(one.digest for one in _entries(checkpoint))

    @classmethod
    def restored(cls, checkpoint: Mapping[str, object], texts: Mapping[str, str]) -> Corpus:
        """The corpus of a checkpoint; `BadInput` where the text of a graph is missing."""
        entries = _entries(checkpoint)
        for one in entries:
            if one.digest not in texts:
                raise BadInput(
                    f"checkpoint corpus graph {one.digest[:12]}",
                    seen="no text",
                    expected="the text that was recorded with its round",
                )
        return cls(entries, {one.digest: texts[one.digest] for one in entries})


def _entries(checkpoint: Mapping[str, object]) -> list[Entry]:
    listed = checkpoint.get("corpus", [])
    if not isinstance(listed, list) or not all(isinstance(one, Mapping) for one in listed):
        raise BadInput("checkpoint field corpus", seen=type(listed).__name__, expected="a list")
    return [_entry(one) for one in listed]


def _entry(data: Mapping[str, object]) -> Entry:
    read = CheckpointReader(data, "checkpoint corpus")
    lineage: Sequence[object] = read.sequence("lineage")
    return Entry(
        str(data.get("digest")),
        tuple(str(one) for one in lineage),
        read.integer("novel"),
        read.integer("visits"),
    )
