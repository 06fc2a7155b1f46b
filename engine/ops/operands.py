"""Inputs that stand beside a first operand: weights, other operands, legal indices."""

from __future__ import annotations

from engine.ir.graph import Input, Random
from engine.ir.types import COMPLEX, FLOATS, Dense, Extent

__all__ = ["beside", "index", "positive", "probability", "spread", "weight"]


def beside(name: str, given: Dense, seed: int = 11) -> Input:
    """An ordinary operand of this type."""
    return Input(name, Dense(given.dtype, given.shape), init=ordinary(given.dtype, seed))


def spread(name: str, dtype: str, *shape: Extent, low: float, high: float, seed: int = 11) -> Input:
    """Uniform values in [low, high)."""
    init = Random("uniform", seed, (("low", low), ("high", high)))
    return Input(name, Dense(dtype, tuple(shape)), init=init)


def positive(name: str, dtype: str, *shape: Extent, seed: int = 13) -> Input:
    """Values from 0.5 to 2: variances, scales, divisors."""
    return spread(name, dtype, *shape, low=0.5, high=2.0, seed=seed)


def probability(name: str, dtype: str, *shape: Extent, seed: int = 17) -> Input:
    """Values well inside (0, 1)."""
    return spread(name, dtype, *shape, low=0.1, high=0.9, seed=seed)


def weight(name: str, dtype: str, *shape: Extent, std: float = 0.5, seed: int = 19) -> Input:
    """A trainable operand."""
    init = (
        Random("normal", seed, (("mean", 0.0), ("std", std)))
        if dtype in (*FLOATS, *COMPLEX)
        else ordinary(dtype, seed)
    )
    return Input(name, Dense(dtype, tuple(shape)), role="weight", init=init)


def index(
    name: str, *shape: Extent, below: int, dtype: str = "int64", low: int = 0, seed: int = 23
) -> Input:
    """Integers in [low, below), as an index of an axis of that extent wants them."""
    init = Random("integers", seed, (("low", low), ("high", below)))
    return Input(name, Dense(dtype, tuple(shape)), role="constant", init=init)


def ordinary(dtype: str, seed: int) -> Random:
    """The initialiser of ordinary values of a dtype."""
    if dtype == "bool":
        return Random("bernoulli", seed, (("p", 0.5),))
    if dtype == "uint8":
        return Random("integers", seed, (("low", 0), ("high", 6)))
    if dtype in FLOATS or dtype in COMPLEX:
        return Random("normal", seed, (("mean", 0.0), ("std", 1.0)))
    return Random("integers", seed, (("low", -5), ("high", 6)))
