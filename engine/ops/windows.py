"""Windows of signal processing, as long as the last extent of an operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import special

from engine.ir.graph import Attr
from engine.ops.families import Array
from engine.ops.rules import default, mindspore_primitive, static
from engine.ops.sequences import EXTENT, FLOATING, in_dtype, lent
from engine.ops.spec import Form, Tolerance


def window(shape: Callable[..., Array]) -> Callable[..., Array]:
    """A window over `x.shape[-1]` points; a periodic one leaves out the last of one more."""

    def reference(x: Array, *, periodic: bool, dtype: str, **more: float) -> Array:
        count = x.shape[-1]
        if count == 1:
            return in_dtype(np.ones(1), dtype)
        last = count if periodic else count - 1
        return in_dtype(shape(np.arange(count) / last, **more), dtype)

    return reference


def _window(
    name: str,
    shape: Callable[..., Array],
    *,
    takes_tensor: bool,
    more: Mapping[str, tuple[Attr, ...]] | None = None,
) -> None:
    extra = "".join(f", {{{one}}}" for one in more or {})
    named = "".join(f", {one}={{{one}}}" for one in more or {})
    length = f"Tensor({EXTENT}, ms.int32)" if takes_tensor else EXTENT
    camel = "".join(word.capitalize() for word in name.split("_"))
    mindspore: dict[str, str | Form] = {
        "function": f"ops.{name}({length}, {{periodic}}{extra}, dtype={{dtype}})",
        "keyword": Form(
            f"ops.{name}(window_length={length}, periodic={{periodic}}{named}, dtype={{dtype}})",
            source=f"mindspore.ops.{name}: names",
        ),
        "default": Form(
            f"ops.{name}({length}{named}, dtype={{dtype}})",
            when={"periodic": True},
            source=default(f"mindspore.ops.{name}", "periodic=True"),
        ),
    }
    if takes_tensor:
        mindspore["primitive"] = Form(
            f"ops.{camel}({{periodic}}, {{dtype}})({length})",
            source=mindspore_primitive(camel, name),
        )
    lent(
        name,
        attrs={"periodic": (True, False), **(more or {}), "dtype": FLOATING},
        reference=window(shape),
        tolerance=Tolerance.TRANSCENDENTAL,
        torch={
            "function": f"torch.{name}({EXTENT}, {{periodic}}{extra}, dtype={{dtype}})",
            "keyword": Form(
                f"torch.{name}(window_length={EXTENT}, periodic={{periodic}}{named},"
                " dtype={dtype})",
                source=f"torch.{name}: names",
            ),
            "default": Form(
                f"torch.{name}({EXTENT}{named}, dtype={{dtype}})"
                if not more
                else f"torch.{name}({EXTENT}, periodic=True{named}, dtype={{dtype}})",
                when={"periodic": True},
                source=default(f"torch.{name}", "periodic=True"),
            ),
            "composed": Form(
                f"torch.{name}({EXTENT} + 1, False{extra}, dtype={{dtype}})[:-1]",
                when=lambda call: bool(call.attr("periodic")) and static(call["x"])[-1] > 1,
                source=f"torch.{name}: periodic is the symmetric window of L + 1 points, cut [:-1]",
            ),
        },
        mindspore=mindspore,
    )


_window("hann_window", lambda t: 0.5 - 0.5 * np.cos(2 * np.pi * t), takes_tensor=False)
_window(
    "hamming_window",
    lambda t, alpha, beta: alpha - beta * np.cos(2 * np.pi * t),
    takes_tensor=False,
    more={"alpha": (0.54, 0.6), "beta": (0.46, 0.4)},
)
_window(
    "blackman_window",
    lambda t: 0.42 - 0.5 * np.cos(2 * np.pi * t) + 0.08 * np.cos(4 * np.pi * t),
    takes_tensor=True,
)
_window("bartlett_window", lambda t: 1 - np.abs(2 * t - 1), takes_tensor=True)
_window(
    "kaiser_window",
    lambda t, beta: special.i0(beta * np.sqrt(1 - (2 * t - 1) ** 2)) / special.i0(beta),
    takes_tensor=False,
    more={"beta": (12.0, 5.0)},
)
