"""Types of values: dense and sparse tensors, scalars and tuples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = [
    "COMPLEX",
    "DTYPES",
    "FLOATS",
    "INTEGERS",
    "Csr",
    "Dense",
    "Dynamic",
    "Extent",
    "Scalar",
    "Tuple",
    "Type",
    "contiguous_strides",
    "dense",
    "extent_bound",
    "is_float",
    "is_integer",
    "itemsize",
    "numpy_dtype",
]

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
COMPLEX = ("complex64",)
DTYPES = (*FLOATS, *INTEGERS, "bool", *COMPLEX)

_NUMPY: dict[str, npt.DTypeLike] = {
    **{name: name for name in DTYPES if name != "bfloat16"},
    "bfloat16": ml_dtypes.bfloat16,
    "complex128": "complex128",  # of the float64 referee alone, no declared type has it
}


@dataclass(frozen=True)
class Dynamic:
    """An extent known only after running, at most `bound` (masked_select, unique, nonzero)."""

    bound: int


Extent: TypeAlias = "int | Dynamic"


@dataclass(frozen=True)
class Dense:
    """A dense tensor. `strides` are in elements; None means contiguous (row-major)."""

    dtype: str
    shape: tuple[Extent, ...]
    strides: tuple[int, ...] | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @cached_property
    def is_static(self) -> bool:
        return not any(isinstance(extent, Dynamic) for extent in self.shape)

    @property
    def extents(self) -> tuple[int, ...]:
        """The concrete shape; raises `ValueError` where an extent is dynamic."""
        if not self.is_static:
            raise ValueError(f"{self} has a dynamic extent where a concrete shape is needed")
        return tuple(extent for extent in self.shape if isinstance(extent, int))

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """The shape with dynamic extents replaced by their bounds."""
        return tuple(extent_bound(extent) for extent in self.shape)

    @cached_property
    def elements(self) -> int:
        """Number of elements, at most."""
        return math.prod(self.bounds)


@dataclass(frozen=True)
class Csr:
    """A two-dimensional sparse tensor in compressed rows, with at most `nnz` stored values."""

    dtype: str
    shape: tuple[int, int]
    nnz: int
    index_dtype: str = "int32"


@dataclass(frozen=True)
class Scalar:
    """A Python number: `kind` is "int", "float" or "bool"."""

    kind: str


@dataclass(frozen=True)
class Tuple:
    """Several values returned together; `item` nodes pick one."""

    items: tuple[Type, ...]


Type: TypeAlias = "Dense | Csr | Scalar | Tuple"


def dense(dtype: str, *shape: Extent, strides: tuple[int, ...] | None = None) -> Dense:
    """Short spelling: `dense("float32", 2, 3)`."""
    return Dense(dtype, tuple(shape), strides)


def extent_bound(extent: Extent) -> int:
    return extent.bound if isinstance(extent, Dynamic) else extent


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements, as the frameworks report them (an extent of 0 counts as 1)."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def numpy_dtype(name: str) -> np.dtype[np.generic]:
    """The NumPy dtype of a dtype name; bfloat16 is the one of `ml_dtypes`."""
    return np.dtype(_NUMPY[name])


def itemsize(name: str) -> int:
    return numpy_dtype(name).itemsize


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS
