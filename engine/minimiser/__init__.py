"""Smaller cases with the same failure key."""

from engine.minimiser.naming import renamed
from engine.minimiser.passes import PASSES
from engine.minimiser.search import Budget, minimise, size

__all__ = ["PASSES", "Budget", "minimise", "renamed", "size"]
