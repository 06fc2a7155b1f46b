"""Operators of a shipped seed, counted from its text: parsing a large one takes seconds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

from engine.seeds import seed_named

__all__ = ["op_counts", "ops_in"]

# A node's line: name, type, "=", operator, "(". Inputs have an initialiser there.
_NODE = re.compile(r"^ +(?!(?:input|weight|constant) )\w+: .*? = (\w+)\(", re.MULTILINE)


@cache
def op_counts(name: str) -> Mapping[str, int]:
    """Calls of each operator in a seed, commonest first; `BadInput` where there is no such seed."""
    return ops_in(seed_named(name).file.read_text(encoding="utf-8"))


def ops_in(text: str) -> Mapping[str, int]:
    """Calls of each operator in the text of a case, commonest first."""
    return dict(Counter(_NODE.findall(text)).most_common())
