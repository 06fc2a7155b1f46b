"""Complex numbers: made of two real tensors, taken apart, conjugated.

The vocabulary has complex64 alone, so what makes complex numbers takes float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from engine.errors import ConstraintViolated
from engine.ir.types import COMPLEX, Dense, is_float
from engine.ops.families import ELEMENTWISE_SHAPES, MINDSPORE_FLOATS, Array, companion
from engine.ops.rules import (
    like,
    limited,
    mindspore_method,
    mindspore_primitive,
    resized,
    same_as_first,
    static,
    torch_method,
)
from engine.ops.spec import Form, OpCall, Tolerance, op

_REAL = ("float32", "float64", "float16")
_BOTH = (*COMPLEX, *_REAL)
SHAPES = ((2, 3, 4), (5,), (1, 1), (0, 3))


def complex_type(call: OpCall) -> Dense:
    return resized(call["x"], static(call["x"]), "complex64")


def part_type(call: OpCall) -> Dense:
    """The real dtype that a complex one is made of."""
    return resized(call["x"], static(call["x"]), "float32")


def one_shape(call: OpCall) -> Iterator[tuple[bool, str]]:
    yield call["x"].shape == call["y"].shape, "the two parts have different shapes"


def joined(real: Array, imag: Array) -> Array:
    """A complex array; unlike a sum it keeps the signs of zeros and infinite parts apart."""
    found = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    found.real, found.imag = real, imag
    return found


# ------------------------------------------------------------------------------------- making
op(
    "complex",
    "x y",
    dtypes=("float32",),
    infer=complex_type,
    requires=one_shape,
    reference=lambda x, y: joined(x, y),
    companions=companion("y"),
    tolerance=Tolerance.EXACT,
    shapes=SHAPES,
    tags={"complex", "binary"},
    torch={
        "function": "torch.complex({x}, {y})",
        "keyword": Form("torch.complex(real={x}, imag={y})", source="torch.complex: names"),
        "composed": Form(
            "torch.view_as_complex(torch.stack(({x}, {y}), dim=-1))",
            source="torch.view_as_complex: the last dimension of size 2 holds real and imaginary",
        ),
    },
    mindspore={
        "primitive": "ops.Complex()({x}, {y})",
        "primitive_kept": Form(
            "{self}({x}, {y})",
            setup=("{self} = ops.Complex()",),
            source="mindspore.ops.Complex: returns a complex tensor from real and imag part",
        ),
    },
)
op(
    "polar",
    "x y",
    dtypes=("float32",),
    infer=complex_type,
    requires=one_shape,
    reference=lambda x, y: joined(x * np.cos(y), x * np.sin(y)),
    companions=companion("y", domain=(-3.0, 3.0)),
    tolerance=Tolerance.TRANSCENDENTAL,
    domain=(0.1, 2.0),
    shapes=SHAPES,
    tags={"complex", "binary"},
    torch={
        "function": "torch.polar({x}, {y})",
        "keyword": Form("torch.polar(abs={x}, angle={y})", source="torch.polar: names"),
        "composed": Form(
            "torch.complex({x} * torch.cos({y}), {x} * torch.sin({y}))",
            source="torch.polar: out = abs cos(angle) + abs sin(angle) j",
        ),
    },
    mindspore={
        "function": "ops.polar({x}, {y})",
        "keyword": Form("ops.polar(abs={x}, angle={y})", source="mindspore.ops.polar: names"),
        "mint": Form("mint.polar({x}, {y})", source="mindspore.mint.polar: polar to Cartesian"),
        "primitive": Form(
            "{self}({x}, {y})",
            setup=("{self} = ops.Polar()",),
            source=mindspore_primitive("Polar", "polar"),
        ),
        "composed": Form(
            "ops.Complex()({x} * ops.cos({y}), {x} * ops.sin({y}))",
            source="mindspore.ops.polar: y = abs cos(angle) + abs sin(angle) j",
        ),
    },
)


# --------------------------------------------------------------------------------- taking apart
def _part(name: str, take: Callable[[Array], object], dtypes: tuple[str, ...]) -> None:
    """real and imag, which share memory with the complex tensor in PyTorch."""
    op(
        name,
        "x",
        dtypes=dtypes,
        infer=part_type,
        reference=take,
        tolerance=Tolerance.EXACT,
        shapes=SHAPES,
        tags={"complex", "view"},
        views="x",
        torch={
            "function": f"torch.{name}({{x}})",
            "builtin": Form(f"{{x}}.{name}", source=f"torch.Tensor.{name}: the {name} part"),
            "keyword": Form(f"torch.{name}(input={{x}})", source=f"torch.{name}: names"),
            "composed": Form(
                f"torch.view_as_real({{x}})[..., {int(name == 'imag')}]",
                dtypes=COMPLEX,
                source="torch.view_as_real: the last dimension holds real and imaginary part",
            ),
        },
        mindspore={
            "function": f"ops.{name}({{x}})",
            "method": Form(f"{{x}}.{name}()", source=mindspore_method(name)),
            "keyword": Form(f"ops.{name}(input={{x}})", source=f"mindspore.ops.{name}: names"),
            "primitive": Form(
                "{self}({x})",
                setup=(f"{{self}} = ops.{name.capitalize()}()",),
                source=mindspore_primitive(name.capitalize(), name),
            ),
        },
    )


# Both frameworks take the real part of real numbers, too; PyTorch has no imaginary part of them.
_part("real", lambda x: x.real, (*COMPLEX, "float32"))
_part("imag", lambda x: x.imag, COMPLEX)


def halves(x: Array) -> object:
    """Real and imaginary parts as a last axis, sharing memory."""
    parts = x.real
    return np.lib.stride_tricks.as_strided(
        parts, (*parts.shape, 2), (*parts.strides, parts.itemsize)
    )


op(
    "view_as_real",
    "x",
    dtypes=COMPLEX,
    infer=lambda call: resized(call["x"], (*static(call["x"]), 2), "float32"),
    reference=halves,
    tolerance=Tolerance.EXACT,
    shapes=SHAPES,
    tags={"complex", "view"},
    views="x",
    torch={
        "function": "torch.view_as_real({x})",
        "keyword": Form("torch.view_as_real(input={x})", source="torch.view_as_real: names"),
    },
    mindspore={
        "function": "ops.view_as_real({x})",
        "keyword": Form("ops.view_as_real(input={x})", source="mindspore.ops.view_as_real: names"),
        "composed": Form(
            "ops.stack((ops.real({x}), ops.imag({x})), -1)",
            source="mindspore.ops.view_as_real: composed of the real and imaginary parts",
        ),
    },
)


def paired_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    if not shape or shape[-1] != 2:
        raise ConstraintViolated(f"the last axis of {shape} is not of size 2")
    return resized(call["x"], shape[:-1], "complex64")


op(
    "view_as_complex",
    "x",
    dtypes=("float32",),
    infer=paired_type,
    reference=lambda x: joined(x[..., 0], x[..., 1]),
    tolerance=Tolerance.EXACT,
    shapes=((3, 4, 2), (2,), (1, 2)),
    tags={"complex"},
    torch={
        "function": Form(
            "torch.view_as_complex({x}.contiguous()).clone()", api="torch.view_as_complex"
        ),
        "composed": Form(
            "torch.complex({x}[..., 0], {x}[..., 1])",
            source="torch.view_as_complex: the last dimension holds real and imaginary part",
        ),
    },
    mindspore={
        "primitive": Form("ops.Complex()({x}[..., 0], {x}[..., 1])", api="ops.Complex"),
    },
    doc="A copy in both frameworks: MindSpore has no view of another dtype.",
)


# ----------------------------------------------------------------------------------- functions
def _angle(x: Array) -> Array:
    """The argument of a complex number; pi for a negative real one, 0 for others."""
    found: Array = np.angle(x).astype(x.real.dtype)
    return np.where(np.isnan(x), x, found) if x.dtype.kind == "f" else found


def real_type(call: OpCall) -> Dense:
    x = call["x"]
    return like(x) if is_float(x.dtype) else part_type(call)


op(
    "angle",
    "x",
    dtypes=_BOTH[:3],
    infer=real_type,
    reference=_angle,
    tolerance=Tolerance.TRANSCENDENTAL,
    shapes=ELEMENTWISE_SHAPES,
    tags={"complex", "elementwise"},
    torch={
        "function": "torch.angle({x})",
        "method": Form("{x}.angle()", source=torch_method("angle")),
        "keyword": Form("torch.angle(input={x})", source="torch.angle: names"),
        "composed": Form(
            "torch.atan2(torch.imag({x}), torch.real({x}))",
            dtypes=COMPLEX,
            source="torch.atan2: the angle of the vector (other, input) with (1, 0)",
        ),
    },
    mindspore=limited(
        COMPLEX,
        {
            "function": "ops.angle({x})",
            "method": Form("{x}.angle()", source=mindspore_method("angle")),
            "keyword": Form("ops.angle(input={x})", source="mindspore.ops.angle: names"),
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Angle()",),
                source=mindspore_primitive("Angle", "angle"),
            ),
        },
    ),
    doc="Of a real tensor in PyTorch alone: MindSpore documents it for complex tensors.",
)
op(
    "conj",
    "x",
    dtypes=_BOTH,
    infer=same_as_first,
    reference=lambda x: np.conj(x).copy(),
    tolerance=Tolerance.EXACT,
    shapes=ELEMENTWISE_SHAPES,
    tags={"complex", "elementwise", "shape-preserving"},
    torch={
        "function": Form("torch.conj_physical({x})", api="torch.conj_physical"),
        "method": Form("{x}.conj_physical()", source=torch_method("conj_physical")),
        "function_lazy": Form(
            "torch.conj({x}).clone()",
            source="torch.conj: computes the element-wise conjugate, lazily",
        ),
        "method_resolved": Form(
            "{x}.conj().resolve_conj().clone()",
            source="torch.resolve_conj: materialises the conjugation",
        ),
        "inplace": Form(
            "{x}.clone().conj_physical_()",
            source="torch.Tensor.conj_physical_: in-place version of conj_physical()",
        ),
        "composed": Form(
            "torch.complex(torch.real({x}), -torch.imag({x}))",
            dtypes=COMPLEX,
            source="torch.conj: the sign of the imaginary part is turned",
        ),
    },
    mindspore=limited(
        (*COMPLEX, *MINDSPORE_FLOATS),
        {
            "function": "ops.conj({x})",
            "method": Form("{x}.conj()", source=mindspore_method("conj")),
            "keyword": Form("ops.conj(input={x})", source="mindspore.ops.conj: names"),
            "primitive": Form(
                "{self}({x})",
                setup=("{self} = ops.Conj()",),
                source=mindspore_primitive("Conj", "conj"),
            ),
        },
    ),
)
op(
    "sgn",
    "x",
    dtypes=_BOTH,
    infer=same_as_first,
    reference=lambda x: np.sign(x) if x.dtype.kind == "f" else _direction(x),
    tolerance=Tolerance.ELEMENTWISE,
    shapes=ELEMENTWISE_SHAPES,
    tags={"complex", "elementwise", "shape-preserving"},
    torch={
        "function": "torch.sgn({x})",
        "method": Form("{x}.sgn()", source=torch_method("sgn")),
        "keyword": Form("torch.sgn(input={x})", source="torch.sgn: names"),
        "inplace": Form("{x}.clone().sgn_()", source="torch.Tensor.sgn_: in-place version of sgn"),
        "function_sign": Form(
            "torch.sign({x})",
            dtypes=_REAL,
            source="torch.sgn: an extension of torch.sign() to complex tensors",
        ),
    },
    mindspore=limited(
        (*COMPLEX, *MINDSPORE_FLOATS),
        {
            "function": "ops.sgn({x})",
            "method": Form("{x}.sgn()", source=mindspore_method("sgn")),
            "keyword": Form("ops.sgn(input={x})", source="mindspore.ops.sgn: names"),
            "function_sign": Form(
                "ops.sign({x})",
                dtypes=MINDSPORE_FLOATS,
                source="mindspore.ops.sgn: for real input the same as mindspore.ops.sign",
            ),
        },
    ),
)


def _direction(x: Array) -> Array:
    size = np.abs(x)
    found: Array = np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)
    return found


op(
    "isreal",
    "x",
    dtypes=_BOTH,
    infer=lambda call: resized(call["x"], static(call["x"]), "bool"),
    reference=lambda x: np.asarray(np.isreal(x)),
    tolerance=Tolerance.EXACT,
    shapes=ELEMENTWISE_SHAPES,
    tags={"complex", "elementwise"},
    differentiable=False,
    torch={
        "function": "torch.isreal({x})",
        "method": Form("{x}.isreal()", source=torch_method("isreal")),
        "composed": Form(
            "torch.imag({x}) == 0",
            dtypes=COMPLEX,
            source="torch.isreal: complex values are real when their imaginary part is 0",
        ),
    },
    mindspore=limited(
        (*COMPLEX, *MINDSPORE_FLOATS),
        {
            "function": "ops.isreal({x})",
            "method": Form("{x}.isreal()", source=mindspore_method("isreal")),
            "keyword": Form("ops.isreal(input={x})", source="mindspore.ops.isreal: names"),
            "composed": Form(
                "ops.imag({x}) == 0",
                dtypes=COMPLEX,
                source="mindspore.ops.isreal: real when the imaginary part is 0",
            ),
        },
    ),
)


def adjoint_type(call: OpCall) -> Dense:
    shape = static(call["x"])
    if len(shape) < 2:
        raise ConstraintViolated(f"a tensor of rank {len(shape)}, expected a matrix")
    return resized(call["x"], (*shape[:-2], shape[-1], shape[-2]))


_ADJOINT: Mapping[str, str | Form] = {
    "function": "ops.adjoint({x})",
    "method": Form("{x}.adjoint()", source=mindspore_method("adjoint")),
    "builtin": Form("{x}.mH", source="mindspore.Tensor.mH: accessing it is calling adjoint()"),
    "builtin_h": Form(
        "{x}.H",
        when=lambda call: call["x"].rank == 2,
        source="mindspore.Tensor.H: of a matrix, conjugated and transposed",
    ),
    "composed": Form(
        "ops.conj(ops.swapaxes({x}, -1, -2))",
        source="mindspore.ops.adjoint: conjugation, and transpose of the last two dimensions",
    ),
}
op(
    "adjoint",
    "x",
    dtypes=_BOTH,
    infer=adjoint_type,
    reference=lambda x: np.conj(np.swapaxes(x, -1, -2)).copy(),
    tolerance=Tolerance.EXACT,
    shapes=((2, 3, 4), (3, 2), (1, 1)),
    tags={"complex", "rotation"},
    torch={
        "function": Form("torch.adjoint({x}).clone()", api="torch.adjoint"),
        "method": Form("{x}.adjoint().clone()", source=torch_method("adjoint")),
        "builtin": Form("{x}.mH.clone()", source="torch.Tensor.mH: equivalent to adjoint()"),
        "builtin_h": Form(
            "{x}.H.clone()",
            when=lambda call: call["x"].rank == 2,
            source="torch.Tensor.H: of a matrix, transposed and conjugated",
        ),
        "composed": Form(
            "{x}.transpose(-2, -1).conj().clone()",
            source="torch.adjoint: equal to x.transpose(-2, -1).conj() for complex tensors",
        ),
    },
    mindspore=limited((*COMPLEX, *MINDSPORE_FLOATS), _ADJOINT),
)
op(
    "complex_abs",
    "x",
    dtypes=COMPLEX,
    infer=part_type,
    reference=np.abs,
    tolerance=Tolerance.ELEMENTWISE,
    shapes=ELEMENTWISE_SHAPES,
    tags={"complex", "elementwise"},
    torch={
        "function": "torch.abs({x})",
        "composed": Form(
            "torch.hypot(torch.real({x}), torch.imag({x}))",
            source="torch.hypot: the square root of the sum of squares",
        ),
        "composed_norm": Form(
            "torch.linalg.vector_norm(torch.view_as_real({x}), dim=-1)",
            source="torch.view_as_real: the last dimension holds real and imaginary part",
        ),
    },
    mindspore={
        "primitive": "ops.ComplexAbs()({x})",
        "composed": Form(
            "ops.hypot(ops.real({x}), ops.imag({x}))",
            source="mindspore.ops.ComplexAbs: sqrt(a^2 + b^2)",
        ),
    },
)
