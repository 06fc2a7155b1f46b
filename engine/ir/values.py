"""From initialisers to arrays: the same bytes in every process and for every framework.

Arrays come out contiguous, in the declared dtype; the layout that an input asks for is applied
where the framework makes its tensor. A new kind of values is a function in `RANDOM` or `FORMULAS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from engine.errors import BadInput
from engine.ir.graph import Attr, Formula, Graph, Input, Literal, Random, StoredBlob
from engine.ir.types import COMPLEX, INTEGERS, Csr, Dense, Scalar, Type, numpy_dtype

__all__ = ["FORMULAS", "RANDOM", "Array", "materialise", "to_dtype"]

Array: TypeAlias = "npt.NDArray[np.generic]"
Shape: TypeAlias = "tuple[int, ...]"
Floats: TypeAlias = "npt.NDArray[np.float64]"

_SCALARS = {"int": "int64", "float": "float64", "bool": "bool"}


def materialise(
    of: Graph | Iterable[Input], blobs: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """Arrays of all inputs by name.

    Inputs of one alias group get views of one array. A sparse input comes as the dense array it
    stands for, a scalar as an array without axes. `blobs` are found by digest; `BadInput` where one
    is missing, or where an initialiser or its parameters are unknown.
    """
    inputs = of.inputs if isinstance(of, Graph) else tuple(of)
    found: dict[str, Array] = {}
    groups: dict[str, Array] = {}
    for given in inputs:
        dtype, shape = _dtype_and_shape(given)
        if given.alias and given.alias in groups:
            found[given.name] = groups[given.alias].reshape(shape)
            continue
        values = _values(given, dtype, shape, blobs or {})
        if isinstance(given.type, Csr):
            values = _sparse(values, given.type)
        found[given.name] = values
        if given.alias:
            groups[given.alias] = values
    return found


def _dtype_and_shape(given: Input) -> tuple[str, Shape]:
    of: Type = given.type
    match of:
        case Dense() if of.is_static:
            return of.dtype, of.extents
        case Csr():
            return of.dtype, of.shape
        case Scalar(kind):
            return _SCALARS[kind], ()
    raise BadInput(f"input {given.name}", seen=of, expected="a tensor of static shape or a scalar")


def _values(given: Input, dtype: str, shape: Shape, blobs: Mapping[str, Array]) -> Array:
    match given.init:
        case Random(kind, seed, parameters):
            if seed < 0:
                raise BadInput(f"seed of {given.name}", seen=seed, expected="a number from 0")
            rng = np.random.Generator(np.random.PCG64(seed))
            values = _computed(RANDOM, kind, given.name, dict(parameters), rng, shape)
            if dtype in COMPLEX:
                imag = _computed(RANDOM, kind, given.name, dict(parameters), rng, shape)
                values = values.astype("complex128") + imag.astype("complex128") * 1j
            return to_dtype(values, dtype)
        case Formula(name, parameters):
            values = _computed(FORMULAS, name, given.name, dict(parameters), shape)
            return to_dtype(values, dtype)
        case Literal(written):
            if len(written) != int(np.prod(shape, dtype=np.int64)):
                raise BadInput(
                    f"input {given.name}", seen=f"{len(written)} values", expected=f"shape {shape}"
                )
            return to_dtype(np.array(written).reshape(shape), dtype)
        case StoredBlob(digest):
            return _from_blob(given.name, digest, dtype, shape, blobs)


def _from_blob(
    name: str, digest: str, dtype: str, shape: Shape, blobs: Mapping[str, Array]
) -> Array:
    blob = blobs.get(digest)
    if blob is None:
        raise BadInput(f"input {name}", seen="no such blob", expected=f"a blob {digest}")
    expected = numpy_dtype(dtype)
    if blob.nbytes != expected.itemsize * int(np.prod(shape, dtype=np.int64)):
        raise BadInput(
            f"input {name}", seen=f"a blob of {blob.nbytes} bytes", expected=f"{dtype} of {shape}"
        )
    return np.frombuffer(np.ascontiguousarray(blob).tobytes(), expected).reshape(shape)


def to_dtype(values: Array, dtype: str) -> Array:
    """Values in a dtype by name: rounded and clipped for integers, "above zero" for bool."""
    if dtype == "bool":
        truths = values if values.dtype == np.bool_ else values.astype("float64") > 0
        return np.asarray(truths, order="C")
    if dtype in INTEGERS and values.dtype.kind not in "iub":
        limits = np.iinfo(numpy_dtype(dtype).name)
        values = np.clip(np.rint(np.nan_to_num(values.astype("float64"))), limits.min, limits.max)
    with np.errstate(
        all="ignore"
    ):  # values out of a small dtype's range become infinite on purpose
        return values.astype(numpy_dtype(dtype), order="C")


def _computed(
    table: Mapping[str, Callable[..., Array]],
    kind: str,
    name: str,
    parameters: Mapping[str, Attr],
    *arguments: object,
) -> Array:
    """The values that a row of a table gives for an input; `BadInput` where it cannot."""
    function = table.get(kind)
    if function is None:
        raise BadInput(f"initialiser of {name}", seen=kind, expected=f"one of {', '.join(table)}")
    known = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    for parameter in parameters:
        if parameter not in known:
            expected = f"parameters {', '.join(known) or '(none)'}"
            raise BadInput(f"{kind} of {name}", seen=parameter, expected=expected)
    try:
        return function(*arguments, **parameters)
    except (IndexError, TypeError, ValueError) as error:
        raise BadInput(
            f"{kind} of {name}", seen=error, expected="parameters and a shape that fit it"
        ) from error


def _sparse(values: Array, of: Csr) -> Array:
    """All but `nnz` of the values set to zero, at places that depend on the size alone."""
    rng = np.random.Generator(np.random.PCG64(values.size))
    zeros = rng.permutation(values.size)[of.nnz :]
    flat = values.reshape(-1).copy()
    flat[zeros] = 0
    return flat.reshape(of.shape)


# ------------------------------------------------------------------------------------- random
Rng: TypeAlias = "np.random.Generator"


def _normal(rng: Rng, shape: Shape, *, mean: float = 0.0, std: float = 1.0) -> Array:
    return np.asarray(mean + std * rng.standard_normal(shape))


def _uniform(rng: Rng, shape: Shape, *, low: float = 0.0, high: float = 1.0) -> Array:
    return np.asarray(rng.uniform(low, high, shape))


def _integers(rng: Rng, shape: Shape, *, low: float = 0, high: float = 10) -> Array:
    return np.asarray(rng.integers(int(low), int(high), shape))


def _bernoulli(rng: Rng, shape: Shape, *, p: float = 0.5) -> Array:
    return np.asarray((rng.random(shape) < p).astype("int64"))


def _permutation(rng: Rng, shape: Shape) -> Array:
    """The numbers from 0 to the extent of the last axis, in a new order in each row."""
    if not shape:
        return np.zeros((), "int64")
    return np.asarray(rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1))


RANDOM: Mapping[str, Callable[..., Array]] = {
    "normal": _normal,
    "uniform": _uniform,
    "integers": _integers,
    "bernoulli": _bernoulli,
    "permutation": _permutation,
}


# ----------------------------------------------------------------------------------- formulas
def _arange(shape: Shape, *, start: float = 0, step: float = 1) -> Array:
    """start, start + step, ... in row-major order."""
    count = int(np.prod(shape, dtype=np.int64))
    return np.asarray(start + step * np.arange(count)).reshape(shape)


def _positions(shape: Shape, *, start: int = 0) -> Array:
    """0, 1, 2, ... along the last axis, the same in every row."""
    return np.broadcast_to(start + np.arange(shape[-1]), shape)


def _full(shape: Shape, *, value: float = 0.0) -> Array:
    return np.full(shape, value)


def _cycle(shape: Shape, *, values: tuple[float, ...]) -> Array:
    """The values over and over in row-major order."""
    return np.resize(np.array(values), shape)


def _linspace(shape: Shape, *, start: float = 0.0, stop: float = 1.0) -> Array:
    return np.linspace(start, stop, int(np.prod(shape, dtype=np.int64))).reshape(shape)


def _eye(shape: Shape) -> Array:
    return np.broadcast_to(np.eye(shape[-2], shape[-1]), shape)


def _causal_mask(
    shape: Shape, *, masked: float = -np.inf, visible: float = 0.0, window: int = 0
) -> Array:
    """[..., query, key]: a key may be seen if it is not later than the query.

    Queries are the last positions where there are more keys than queries. `window` over 0 lets a
    query see that many keys back, itself counted.
    """
    queries, keys = shape[-2:]
    distance = np.arange(keys - queries, keys)[:, None] - np.arange(keys)[None, :]
    seen = (distance >= 0) & ((distance < window) | (window <= 0))
    return np.broadcast_to(np.where(seen, visible, masked), shape)


def _angles(
    shape: Shape, base: float, start: int, *, interleaved: bool, single: bool = False
) -> Array:
    """Rotary angles [..., position, feature]: position times base ** (-2 i / features).

    Su et al. 2021, RoFormer, section 3.2.2. The two features of a pair share one angle: they are
    half the features apart, or neighbours where `interleaved`. `single`: in float32 throughout, as
    published language models compute them; at position 500 that is an angle off by 1e-5.
    """
    length, features = shape[-2:]
    working = np.dtype("float32" if single else "float64")
    exponents = (np.arange(0, features // 2 * 2, 2) / features).astype(working)
    frequencies = 1.0 / np.power(np.asarray(base, working), exponents)
    angles = np.outer(np.arange(start, start + length).astype(working), frequencies)
    paired = np.repeat(angles, 2, axis=1) if interleaved else np.concatenate([angles, angles], 1)
    return np.broadcast_to(paired, shape)


def _rope_cos(
    shape: Shape,
    *,
    base: float = 10000.0,
    start: int = 0,
    interleaved: bool = False,
    single: bool = False,
) -> Array:
    angles = _angles(shape, base, start, interleaved=interleaved, single=single)
    return np.asarray(np.cos(angles))


def _rope_sin(
    shape: Shape,
    *,
    base: float = 10000.0,
    start: int = 0,
    interleaved: bool = False,
    single: bool = False,
) -> Array:
    angles = _angles(shape, base, start, interleaved=interleaved, single=single)
    return np.asarray(np.sin(angles))


def _sinusoidal(shape: Shape, *, base: float = 10000.0) -> Array:
    """Vaswani et al. 2017, section 3.5: sine at even features, cosine at odd ones."""
    angles = _angles(shape, base, 0, interleaved=True)
    return np.where(np.arange(shape[-1]) % 2 == 0, np.sin(angles), np.cos(angles))


def _relative_position_index(shape: Shape, *, window: int) -> Array:
    """Liu et al. 2021, Swin: row of the bias table for each pair of places in a square window."""
    places = np.stack(np.meshgrid(np.arange(window), np.arange(window), indexing="ij"))
    flat = places.reshape(2, -1)
    offset = flat[:, :, None] - flat[:, None, :] + window - 1
    return np.asarray(offset[0] * (2 * window - 1) + offset[1]).reshape(shape)


def _window_coordinates(shape: Shape, *, window: int) -> Array:
    """Liu et al. 2022, Swin V2, section 3.3: log-spaced offsets (..., 2 w - 1, 2 w - 1, 2)."""
    offsets = np.arange(1 - window, window, dtype="float32") / np.float32(window - 1) * 8
    spaced = np.sign(offsets) * np.log2(np.abs(offsets) + 1) / np.log2(np.float32(8))
    table: Array = np.stack(np.meshgrid(spaced, spaced, indexing="ij"), axis=-1)
    return table.reshape(shape)


def _shift_mask(
    shape: Shape, *, height: int, width: int, window: int, shift: int, masked: float = -100.0
) -> Array:
    """Liu et al. 2021, Swin, figure 4: 0 between places of one region of a shifted plane.

    (..., windows, ..., places, places): the plane is padded to whole windows, and the windows of a
    plane come row by row.
    """
    rows, columns = -(-height // window), -(-width // window)
    bands = [np.zeros(count * window, "int64") for count in (rows, columns)]
    for band in bands:
        band[-window:] = 1
        band[-shift:] = 2
    region = bands[0][:, None] * 3 + bands[1][None, :]
    cells = region.reshape(rows, window, columns, window).swapaxes(1, 2)
    flat = cells.reshape(-1, window * window)
    return np.where(flat[:, :, None] == flat[:, None, :], 0.0, masked).reshape(shape)


def _band_mask(shape: Shape, *, reach: int, masked: float = -np.inf, visible: float = 0.0) -> Array:
    """[..., query, key]: a key may be seen if it is at most `reach` places away."""
    queries, keys = shape[-2:]
    apart = np.abs(np.arange(queries)[:, None] - np.arange(keys)[None, :])
    return np.broadcast_to(np.where(apart <= reach, visible, masked), shape)


def _start_mask(shape: Shape, *, masked: float = -np.inf, visible: float = 0.0) -> Array:
    """Only the first key may be seen."""
    return np.broadcast_to(np.where(np.arange(shape[-1]) == 0, visible, masked), shape)


def _cloze_mask(shape: Shape, *, masked: float = -np.inf, visible: float = 0.0) -> Array:
    """Bautista and Atienza 2022, PARSeq: all keys but the one after the query's own place."""
    queries, keys = shape[-2:]
    own = np.arange(keys)[None, :] == np.arange(queries)[:, None] + 1
    return np.broadcast_to(np.where(own, masked, visible), shape)


def _frequencies(shape: Shape, *, base: float = 10000.0) -> Array:
    """base ** (-i / n), i = 0 ... n - 1, along the last axis."""
    count = shape[-1]
    return np.broadcast_to(base ** (-np.arange(count) / count), shape)


def _plane_waves(
    shape: Shape, *, height: int, width: int, base: float = 10000.0, by_columns: bool = False
) -> Array:
    """Sine and cosine of the column, then of the row: (..., height * width, features).

    Each has a quarter of the features. Places come row by row, or column by column.
    """
    count = shape[-1] // 4
    omega = base ** (-np.arange(count) / count)
    down, across = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    ordered = [place.T if by_columns else place for place in (across, down)]
    angles = [np.outer(place.ravel().astype("float64"), omega) for place in ordered]
    parts = [function(angle) for angle in angles for function in (np.sin, np.cos)]
    return np.broadcast_to(np.concatenate(parts, axis=1), shape)


def _plane_sine(
    shape: Shape, *, height: int, width: int, base: float = 10000.0, layout: str = "planes"
) -> Array:
    """Carion et al. 2020, DETR: of rows, then of columns counted from 1 and scaled to 2 pi.

    `layout`: "planes" (..., features, height, width), "places" (..., height * width, features) or
    "places_first" (height * width, ..., features).
    """
    features = shape[-3] if layout == "planes" else shape[-1]
    half = features // 2
    omega = base ** (-2 * (np.arange(half) // 2) / half)
    planes = []
    for extent, axis in ((height, 0), (width, 1)):
        place = (np.arange(extent) + 1) / (extent + 1e-6) * 2 * np.pi
        angles = np.outer(place, omega)
        waves = np.where(np.arange(half) % 2 == 0, np.sin(angles), np.cos(angles))
        planes.append(np.repeat(np.expand_dims(waves, 1 - axis), (width, height)[axis], 1 - axis))
    table = np.concatenate(planes, axis=-1)
    match layout:
        case "planes":
            ordered = table.transpose(2, 0, 1)
        case "places":
            ordered = table.reshape(-1, features)
        case "places_first":
            ordered = table.reshape(-1, *(1,) * (len(shape) - 2), features)
        case _:
            raise ValueError(f"layout {layout!r}, expected planes, places or places_first")
    return np.broadcast_to(ordered, shape)


def _cells(
    height: int, width: int, strides: tuple[int, ...]
) -> list[tuple[Floats, Floats, int, int]]:
    """Columns and rows of the places of every scale, row by row, and its extents."""
    found = []
    for stride in strides:
        rows, columns = height // stride, width // stride
        down, across = np.meshgrid(np.arange(float(rows)), np.arange(float(columns)), indexing="ij")
        found.append((across.ravel(), down.ravel(), columns, rows))
    return found


def _grid_centres(shape: Shape, *, height: int, width: int, strides: tuple[int, ...]) -> Array:
    """Middles of the places of all scales in units of their scale: (..., 2, places), x first."""
    cells = _cells(height, width, strides)
    middles = [np.stack([across, down]) + 0.5 for across, down, _, _ in cells]
    return np.broadcast_to(np.concatenate(middles, axis=1), shape)


def _grid_strides(shape: Shape, *, height: int, width: int, strides: tuple[int, ...]) -> Array:
    """The stride of each place of all scales, along the last axis."""
    cells = _cells(height, width, strides)
    sizes = [np.full(one[0].size, stride) for one, stride in zip(cells, strides, strict=True)]
    return np.broadcast_to(np.concatenate(sizes), shape)


def _boxes(height: int, width: int, strides: tuple[int, ...], size: float) -> Floats:
    """Centre and extent of a square box at each place, in parts of the image: (places, 4)."""
    boxes = []
    for level, (across, down, columns, rows) in enumerate(_cells(height, width, strides)):
        extent = np.full(across.size, size * 2.0**level)
        boxes.append(
            np.stack([(across + 0.5) / columns, (down + 0.5) / rows, extent, extent], axis=1)
        )
    return np.concatenate(boxes)


def _anchors(
    shape: Shape,
    *,
    height: int,
    width: int,
    strides: tuple[int, ...],
    size: float = 0.05,
    margin: float = 0.01,
) -> Array:
    """Zhao et al. 2024, RT-DETR: logits of boxes; outside the margin the greatest float32."""
    boxes = _boxes(height, width, strides, size)
    inside = ((boxes > margin) & (boxes < 1 - margin)).all(1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        logits = np.log(boxes / (1 - boxes))
    return np.broadcast_to(np.where(inside, logits, np.finfo("float32").max), shape)


def _anchor_mask(
    shape: Shape,
    *,
    height: int,
    width: int,
    strides: tuple[int, ...],
    size: float = 0.05,
    margin: float = 0.01,
) -> Array:
    """1 for the boxes of `anchors` that lie within the margin, else 0: (..., places, 1)."""
    boxes = _boxes(height, width, strides, size)
    inside = ((boxes > margin) & (boxes < 1 - margin)).all(1, keepdims=True)
    return np.broadcast_to(inside.astype("int64"), shape)


def _reference_points(shape: Shape, *, height: int, width: int, strides: tuple[int, ...]) -> Array:
    """Middles of the places of all scales in parts of the image: (..., places, ..., 2), x first."""
    middles = _boxes(height, width, strides, 0.0)[:, :2]
    extra = (1,) * (len(shape) - 3)
    return np.broadcast_to(middles.reshape(-1, *extra, 2), shape)


FORMULAS: Mapping[str, Callable[..., Array]] = {
    "arange": _arange,
    "positions": _positions,
    "full": _full,
    "cycle": _cycle,
    "linspace": _linspace,
    "eye": _eye,
    "causal_mask": _causal_mask,
    "rope_cos": _rope_cos,
    "rope_sin": _rope_sin,
    "sinusoidal": _sinusoidal,
    "relative_position_index": _relative_position_index,
    "window_coordinates": _window_coordinates,
    "shift_mask": _shift_mask,
    "band_mask": _band_mask,
    "start_mask": _start_mask,
    "cloze_mask": _cloze_mask,
    "frequencies": _frequencies,
    "plane_waves": _plane_waves,
    "plane_sine": _plane_sine,
    "grid_centres": _grid_centres,
    "grid_strides": _grid_strides,
    "anchors": _anchors,
    "anchor_mask": _anchor_mask,
    "reference_points": _reference_points,
}
