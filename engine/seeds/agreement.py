"""How the modes agree on the shipped seeds, as `scripts/seeds.py` measured it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from engine.seeds import DATA

__all__ = ["FIGURES", "PROFILE", "figures_of"]

FIGURES = DATA / "agreement.json"
PROFILE = "profile"
"""The entry of a seed that is no mode: its speed and the scale of its activations."""


@cache
def _all() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def figures_of(name: str) -> Mapping[str, Any]:
    """By mode: status, difference to float64 in parts of the greatest value, seconds, gigabytes;
    empty where nothing was measured. `PROFILE`: see `scripts/seeds.py`."""
    return _all().get(name, {})
