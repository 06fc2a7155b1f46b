"""Families of operators: type rules, requirements, sampling, the usual forms, and row builders.

A family says once what tens of rows have in common. Rows that fit none are written with `op(...)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from engine.errors import ConstraintViolated
from engine.ir.graph import Attr, Input, Random
from engine.ir.types import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    Dense,
    Extent,
    Type,
    is_float,
    is_integer,
    numpy_dtype,
)
from engine.ops.spec import Form, Limit, OpCall, OpSpec, Tolerance, op

__all__ = [
    "ELEMENTWISE_SHAPES",
    "MINDSPORE_FLOATS",
    "MINDSPORE_NUMBERS",
    "NUMBERS",
    "Array",
    "Forms",
    "axes_of",
    "axis_fits",
    "binary",
    "bool_type",
    "broadcast_shape",
    "broadcast_type",
    "broadcastable",
    "companion",
    "compared_type",
    "comparison",
    "cpu_refuses",
    "finfo",
    "float_bits",
    "has_axes",
    "lifted",
    "mindspore_calls",
    "no_bfloat16",
    "normalised_axis",
    "only",
    "promoted_broadcast_type",
    "promoted_type",
    "reduced_shape",
    "rounded",
    "same_type",
    "sample",
    "torch_calls",
    "unary",
]

Array: TypeAlias = "npt.NDArray[Any]"
Forms: TypeAlias = Mapping[str, "str | Form"]

NUMBERS = (*FLOATS, *INTEGERS)
MINDSPORE_FLOATS = ("float16", "float32", "float64")
MINDSPORE_NUMBERS = (*MINDSPORE_FLOATS, *INTEGERS)
ELEMENTWISE_SHAPES: tuple[tuple[int, ...], ...] = ((2, 3, 4), (5,), (), (1, 1), (0, 3))


def no_bfloat16(dtypes: tuple[str, ...]) -> tuple[Limit, ...]:
    """The limit of rows that take bfloat16: MindSpore keeps its kernels for Ascend."""
    if "bfloat16" not in dtypes:
        return ()
    return (
        Limit(
            "mindspore",
            reason="bfloat16 arithmetic is documented for Ascend; the CPU backend has no kernels",
            dtypes=("bfloat16",),
            version="2.10",
        ),
    )


def cpu_refuses(kernel: str, *dtypes: str) -> Limit:
    """The limit of rows whose MindSpore kernel names the dtypes it takes, and not these.

    The documentation gives no dtypes for them; the kernel's message does.
    """
    return Limit(
        "mindspore",
        reason=f"the CPU kernel of {kernel} says that it does not take {' or '.join(dtypes)}",
        dtypes=dtypes,
        version="2.10",
    )


# ------------------------------------------------------------------------------------ type rules
def same_type(call: OpCall) -> Type:
    """Dtype and shape of the first operand."""
    first = _leading(call)
    return Dense(first.dtype, first.shape)


def promoted_type(call: OpCall) -> Type:
    """Shape of the first operand; integers and bool become float32, the default dtype."""
    first = _leading(call)
    return Dense(_promoted(first.dtype), first.shape)


def bool_type(call: OpCall) -> Type:
    return Dense("bool", _leading(call).shape)


def broadcast_type(call: OpCall) -> Type:
    """Operands of one dtype, broadcast."""
    return Dense(_leading(call).dtype, _broadcast_of(call))


def promoted_broadcast_type(call: OpCall) -> Type:
    return Dense(_promoted(_leading(call).dtype), _broadcast_of(call))


def compared_type(call: OpCall) -> Type:
    """bool in the broadcast shape."""
    return Dense("bool", _broadcast_of(call))


def _promoted(dtype: str) -> str:
    return dtype if is_float(dtype) or dtype in COMPLEX else "float32"


def _leading(call: OpCall) -> Dense:
    return call[next(iter(call.types))]


def _broadcast_of(call: OpCall) -> tuple[Extent, ...]:
    return broadcast_shape([one.shape for one in call.types.values() if isinstance(one, Dense)])


def broadcast_shape(shapes: Sequence[tuple[Extent, ...]]) -> tuple[Extent, ...]:
    """The common shape, or `ConstraintViolated`. A dynamic extent meets itself or 1 only."""
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[Extent] = []
    for place in range(-rank, 0):
        seen = [shape[place] for shape in shapes if len(shape) >= -place]
        kept = list(dict.fromkeys(extent for extent in seen if extent != 1))
        if len(kept) > 1:
            raise ConstraintViolated(
                f"shapes {', '.join(map(str, shapes))} do not broadcast: {kept[0]} meets {kept[1]}"
            )
        result.append(kept[0] if kept else 1)
    return tuple(result)


def broadcastable(call: OpCall) -> Iterator[tuple[bool, str]]:
    """Every dense operand broadcasts with the others."""
    shapes = [one.shape for one in call.types.values() if isinstance(one, Dense)]
    try:
        broadcast_shape(shapes)
    except ConstraintViolated as refused:
        yield False, str(refused)


# ------------------------------------------------------------------------------------------ axes
def normalised_axis(axis: int, rank: int) -> int:
    """The axis counted from the front; a scalar has the axes 0 and -1, as PyTorch says."""
    return axis % max(rank, 1)


def axes_of(dim: Attr, rank: int) -> tuple[int, ...]:
    """Axes named by a `dim` attribute (None: all), counted from the front."""
    match dim:
        case None:
            return tuple(range(rank))
        case int():
            return (normalised_axis(dim, rank),)
        case tuple():
            return tuple(normalised_axis(one, rank) for one in dim if isinstance(one, int))
    raise AssertionError(f"dim is {dim!r}")


def axis_fits(call: OpCall) -> Iterator[tuple[bool, str]]:
    """The axes of `dim` exist and are distinct, for the first operand."""
    rank = _leading(call).rank
    dim = call.attr("dim")
    named = dim if isinstance(dim, tuple) else () if dim is None else (dim,)
    for one in named:
        assert isinstance(one, int), f"dim is {dim!r}"
        limit = max(rank, 1)
        yield -limit <= one < limit, f"axis {one} does not exist in {rank} dimensions"
    axes = axes_of(dim, rank)
    yield len(set(axes)) == len(axes), f"axes {dim} name one axis twice"


def reduced_shape(shape: tuple[Extent, ...], dim: Attr, *, keep: bool) -> tuple[Extent, ...]:
    """The shape after a reduction over `dim` (None: all axes)."""
    gone = set(axes_of(dim, len(shape))) if shape else set()
    if keep:
        return tuple(1 if at in gone else extent for at, extent in enumerate(shape))
    return tuple(extent for at, extent in enumerate(shape) if at not in gone)


# -------------------------------------------------------------------------------------- sampling
def sample(name: str, kind: Dense, *, seed: int, domain: tuple[float, float]) -> Input:
    """An input of a type with values in the domain, for any dtype."""
    low, high = domain
    if kind.dtype == "bool":
        init = Random("bernoulli", seed, (("p", 0.5),))
    elif is_integer(kind.dtype):
        floor = max(math.ceil(low), 0) if kind.dtype == "uint8" else math.ceil(low)
        init = Random(
            "integers", seed, (("low", float(floor)), ("high", float(max(floor, int(high)) + 1)))
        )
    else:
        init = Random("uniform", seed, (("low", low), ("high", high)))
    return Input(name, kind, init=init)


def companion(
    *names: str,
    domain: tuple[float, float] = (-2.0, 2.0),
    dtype: str | None = None,
    seed: int = 1,
) -> Callable[[Dense, Mapping[str, Attr]], Mapping[str, Input | tuple[Input, ...]]]:
    """Further operands of the shape of the first (and its dtype unless one is given)."""

    def companions(
        first: Dense, attrs: Mapping[str, Attr]
    ) -> Mapping[str, Input | tuple[Input, ...]]:
        kind = Dense(dtype or first.dtype, first.shape)
        return {
            name: sample(name, kind, seed=seed + at, domain=domain) for at, name in enumerate(names)
        }

    return companions


# ------------------------------------------------------------------------------------ references
def float_bits(dtype: np.dtype[np.generic]) -> int:
    """Width of a floating dtype, bfloat16 included; 0 for others."""
    if dtype.kind == "f" or dtype == numpy_dtype("bfloat16"):
        return dtype.itemsize * 8
    return 0


def finfo(dtype: np.dtype[np.generic]) -> Any:
    """Limits of a floating dtype, bfloat16 included."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def lifted(function: Callable[..., object], *, promote: bool = False) -> Callable[..., object]:
    """A NumPy reference that works for every dtype of a row.

    16-bit floats are computed in float32 and rounded once; with `promote`, integers and bool become
    float32 (computed in float64). Floating results come back in the dtype of the first operand.
    """

    def reference(*operands: object, **attrs: Attr) -> object:
        first = next(np.asarray(one).dtype for one in operands if one is not None)
        working, target = first, first
        if 0 < float_bits(first) < 32:
            working = np.dtype("float32")
        elif promote and first.kind in "iub":
            working, target = np.dtype("float64"), np.dtype("float32")
        given = [_cast_like(one, first, working) for one in operands]
        with np.errstate(all="ignore"):
            answer = _rounded(function(*given, **attrs), target)
        return answer.copy() if any(answer is one for one in operands) else answer

    return reference


def _cast_like(operand: object, seen: np.dtype[np.generic], wanted: np.dtype[np.generic]) -> object:
    if isinstance(operand, tuple):
        return tuple(_cast_like(one, seen, wanted) for one in operand)
    if operand is None:
        return None
    array: Array = np.asarray(operand)
    return array.astype(wanted) if array.dtype == seen and seen != wanted else array


def rounded(answer: object, dtype: str) -> Array:
    """An array in the dtype, whatever NumPy made of it."""
    with np.errstate(all="ignore"):
        return np.asarray(answer).astype(numpy_dtype(dtype))


def _rounded(answer: object, target: np.dtype[np.generic]) -> Any:
    if isinstance(answer, tuple):
        return tuple(_rounded(one, target) for one in answer)
    array: Array = np.asarray(answer)
    if float_bits(array.dtype) and float_bits(target) and array.dtype != target:
        return array.astype(target)
    return array


# ----------------------------------------------------------------------------------------- forms
def torch_calls(
    function: str,
    args: str = "{x}",
    *,
    keyword: str = "input={x}",
    method: str = "auto",
    inplace: str = "auto",
    inplace_dtypes: tuple[str, ...] | None = None,
    module: str = "",
    aliases: Sequence[str] = (),
    more: Forms | None = None,
    **others: str | Form,
) -> dict[str, str | Form]:
    """The usual PyTorch forms of a function: plain, method, keyword, in place on a copy, module.

    `args` is the argument list of the function, starting with the receiver of the method. An empty
    string switches a form off. `module` is the constructor call of the nn.Module.
    """
    leaf = function.rpartition(".")[2]
    first, _, rest = args.partition(", ")
    found: dict[str, str | Form] = {"function": Form(f"{function}({args})", api=function)}
    if method:
        text = f"{first}.{leaf}({rest})" if method == "auto" else method
        found["method"] = Form(text, source=f"torch.Tensor.{leaf}: see {function}()")
    if keyword:
        found["keyword"] = Form(
            f"{function}({keyword})", source=f"{function}: the parameters' names"
        )
    if inplace:
        text = f"{first}.clone().{leaf}_({rest})" if inplace == "auto" else inplace
        found["inplace"] = Form(
            text,
            dtypes=inplace_dtypes,
            source=f"torch.Tensor.{leaf}_: in-place version of {leaf}()",
        )
    if module:
        found["module"] = Form(
            f"{{self}}({first})",
            setup=(f"{{self}} = {module}",),
            source=f"torch.{module.partition('(')[0]}: applies {leaf} to its input",
        )
    for alias in aliases:
        word = alias.replace("torch.", "").replace(".", "_").lower()
        found[f"function_{word}"] = Form(f"{alias}({args})", source=f"{alias}: alias of {function}")
    found.update(more or {})
    found.update(others)
    return found


def only(condition: Callable[[OpCall], bool], form: str | Form) -> Form:
    """The form, where the condition holds too."""
    found = Form(form) if isinstance(form, str) else form
    return replace(found, when=lambda call: condition(call) and found.holds(call))


def has_axes(call: OpCall) -> bool:
    """A form's condition: its page asks for one axis at least."""
    return call["x"].rank > 0


def mindspore_calls(
    function: str,
    args: str = "{x}",
    *,
    keyword: str = "input={x}",
    method: str = "auto",
    primitive: str = "",
    mint: str | Sequence[str] = (),
    module: str = "",
    aliases: Sequence[str] = (),
    dtypes: tuple[str, ...] = MINDSPORE_FLOATS,
    when: Mapping[str, Attr] | None = None,
    result: str | None = None,
    more: Forms | None = None,
    **others: str | Form,
) -> dict[str, str | Form]:
    """The usual MindSpore forms: function, Tensor method, keyword, primitive class, mint, Cell.

    `primitive` and `module` are constructor calls without their package ("Sin()", "ReLU()"); a
    primitive is called with `args`, a Cell with the first argument. `mint` holds dotted names.
    `dtypes`, `when` and `result` hold for every form that says nothing else.
    """
    leaf = function.rpartition(".")[2]
    first, _, rest = args.partition(", ")
    found: dict[str, str | Form] = {"function": Form(f"{function}({args})", api=function)}
    if method:
        text = f"{first}.{leaf}({rest})" if method == "auto" else method
        found["method"] = Form(
            text, source=f"mindspore.Tensor.{leaf}: for details, see mindspore.{function}()"
        )
    if keyword:
        found["keyword"] = Form(
            f"{function}({keyword})", source=f"mindspore.{function}: the parameters' names"
        )
    if primitive:
        name = primitive.partition("(")[0]
        found["primitive"] = Form(
            f"{{self}}({args})",
            setup=(f"{{self}} = ops.{primitive}",),
            source=f"mindspore.ops.{name}: equivalent to mindspore.{function}()",
        )
    mints = ([mint] if mint else []) if isinstance(mint, str) else mint
    for at, name in enumerate(mints):
        word = name.removeprefix("mint.").replace(".", "_").lower()
        found[f"mint_{word}" if at else "mint"] = Form(
            f"{name}({args})", source=f"mindspore.{name}: same definition as mindspore.{function}()"
        )
    if module:
        found["module"] = Form(
            f"{{self}}({first})",
            setup=(f"{{self}} = nn.{module}",),
            source=f"mindspore.nn.{module.partition('(')[0]}: applies {leaf} element-wise",
        )
    for alias in aliases:
        word = alias.replace("ops.", "").replace(".", "_").lower()
        found[f"function_{word}"] = Form(
            f"{alias}({args})", source=f"mindspore.{alias}: alias for mindspore.{function}()"
        )
    found.update(more or {})
    found.update(others)
    usual = Form("", dtypes=dtypes, when=when, result=result)
    return {name: _completed(one, usual) for name, one in found.items()}


def _completed(form: str | Form, usual: Form) -> Form:
    made = form if isinstance(form, Form) else Form(form)
    return replace(
        made,
        dtypes=made.dtypes or usual.dtypes,
        when=made.when or usual.when,
        result=made.result or usual.result,
    )


# -------------------------------------------------------------------------------------- families
def unary(
    name: str,
    *,
    reference: Callable[..., object],
    torch: Forms,
    mindspore: Forms | None,
    infer: Callable[[OpCall], Type] = same_type,
    dtypes: tuple[str, ...] = FLOATS,
    tolerance: Tolerance = Tolerance.TRANSCENDENTAL,
    domain: tuple[float, float] = (-2.0, 2.0),
    attrs: Mapping[str, tuple[Attr, ...]] | None = None,
    tags: Sequence[str] = (),
    differentiable: bool = True,
    limits: tuple[Limit, ...] = (),
) -> OpSpec:
    """An element-wise function of one tensor.

    `infer` is `same_type`, `promoted_type` (integers become float32) or `bool_type`.
    """
    preserving = ("shape-preserving",) if infer is not bool_type else ()
    return op(
        name,
        "x",
        attrs=attrs,
        infer=infer,
        reference=lifted(reference, promote=infer is promoted_type),
        torch=torch,
        mindspore=mindspore,
        dtypes=dtypes,
        tolerance=tolerance,
        domain=domain,
        shapes=ELEMENTWISE_SHAPES,
        tags=("elementwise", *preserving, *tags),
        differentiable=differentiable and infer is not bool_type,
        limits=(*limits, *no_bfloat16(dtypes)),
    )


def binary(
    name: str,
    *,
    reference: Callable[..., object],
    torch: Forms,
    mindspore: Forms | None,
    infer: Callable[[OpCall], Type] = broadcast_type,
    dtypes: tuple[str, ...] = FLOATS,
    tolerance: Tolerance = Tolerance.ELEMENTWISE,
    domain: tuple[float, float] = (-2.0, 2.0),
    attrs: Mapping[str, tuple[Attr, ...]] | None = None,
    requires: Callable[[OpCall], Iterator[tuple[bool, str]]] | None = None,
    tags: Sequence[str] = (),
    differentiable: bool = True,
    lift: bool = True,
    mixed: bool = False,
    limits: tuple[Limit, ...] = (),
) -> OpSpec:
    """An element-wise function of two tensors of one dtype, broadcast.

    `lift=False`: the reference sees 16-bit floats as they are and its answer is left alone.
    `mixed`: the second may have another dtype, see `engine.ops.promotion`.
    """
    promote = infer is promoted_broadcast_type

    def needs(call: OpCall) -> Iterator[tuple[bool, str]]:
        yield from broadcastable(call)
        if requires is not None:
            yield from requires(call)

    return op(
        name,
        "x y:mixed" if mixed else "x y",
        attrs=attrs,
        infer=infer,
        requires=needs,
        reference=lifted(reference, promote=promote) if lift else reference,
        torch=torch,
        mindspore=mindspore,
        dtypes=dtypes,
        tolerance=tolerance,
        domain=domain,
        companions=companion("y", domain=domain),
        shapes=ELEMENTWISE_SHAPES,
        tags=("elementwise", "binary", *tags),
        differentiable=differentiable and infer is not compared_type,
        limits=(*limits, *no_bfloat16(dtypes)),
    )


def comparison(
    name: str,
    *,
    reference: Callable[..., object],
    torch: Forms,
    mindspore: Forms | None,
    dtypes: tuple[str, ...],
    tags: Sequence[str] = (),
) -> OpSpec:
    """A binary function to bool; exact."""
    return binary(
        name,
        reference=reference,
        torch=torch,
        mindspore=mindspore,
        infer=compared_type,
        dtypes=dtypes,
        tolerance=Tolerance.EXACT,
        tags=("comparison", *tags),
        differentiable=False,
    )
