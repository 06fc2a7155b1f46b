"""Every default that a form leaves out is the one in the framework's documented signature."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.executors.pool import Pool
from engine.ops import FRAMEWORKS
from tests.executors.documented_defaults import Claim, claims, documents, signature_of

pytestmark = pytest.mark.framework


@dataclass(frozen=True)
class Reading:
    """A default that the signature writes otherwise than what it stands for, and the sentence of
    the documentation that says so."""

    written: object
    meant: object
    sentence: str


_FORWARD = Reading(None, "backward", 'Default is ``"backward"`` (no normalization)')
_BACKWARD = Reading(None, "backward", 'Default is ``"backward"`` (normalize by ``1/n``)')
_MINDSPORE = Reading(None, "backward", 'Default: ``None`` that means ``"backward"``')
_TRANSFORMS = ("fft", "rfft", "hfft")
_AXES = ("", "2", "n")
_LINEAR = Reading(None, False, "For modes that use :attr:`align_corners`, ``None``")
READINGS = {
    **{
        (f"torch.fft.{start}{name}{axes}", "norm"): reading
        for start, reading in (("", _FORWARD), ("i", _BACKWARD))
        for name in _TRANSFORMS
        for axes in _AXES
    },
    **{
        (f"mindspore.{place}{start}{name}{axes}", "norm"): _MINDSPORE
        for place in ("ops.", "mint.fft.")
        for start in ("", "i")
        for name in _TRANSFORMS
        for axes in _AXES
    },
    ("torch.nn.functional.interpolate", "align_corners"): _LINEAR,
    ("torch.nn.functional.pad", "value"): Reading(None, 0, "Default: ``0``"),
    ("torch.topk", "dim"): Reading(
        None, -1, "If :attr:`dim` is not given, the last dimension of the `input` is chosen."
    ),
    ("torch.searchsorted", "right"): Reading(
        False, True, 'and "right" corresponds to True for :attr:`right`'
    ),
    ("mindspore.ops.count_nonzero", "axis"): Reading(
        (), None, "If no axis is specified then all non-zeros in the tensor are counted."
    ),
    ("mindspore.nn.GELU", "approximate"): Reading(
        True, "tanh", "If `approximate` is ``True``, The gaussian error linear activation is"
    ),
    ("mindspore.ops.pad", "value"): Reading(
        None, 0, "If the value is None, 0 is used as the default padding value."
    ),
    ("mindspore.ops.topk", "dim"): Reading(
        None, -1, "If dim is not given, the last dimension of the input is chosen."
    ),
    ("torch.trapezoid", "dx"): Reading(
        None, 1.0, "By default the spacing between elements is assumed to be 1"
    ),
    ("mindspore.ops.arange", "dtype"): Reading(
        None, "int64", "Tensor(shape=[4], dtype=Int64, value= [0, 1, 2, 3])"
    ),
    ("mindspore.ops.searchsorted", "right"): Reading(
        False, True, "and ``right`` corresponds to ``True`` for `right`"
    ),
}


@pytest.mark.parametrize(
    "framework", [pytest.param(one, marks=getattr(pytest.mark, one)) for one in FRAMEWORKS]
)
def test_what_a_form_leaves_out_is_the_documented_default(pool: Pool, framework: str) -> None:
    documented = documents(pool, framework)
    made = list(claims(framework, documented))
    assert len(made) > 90, "hardly a default could be compared"

    def is_right(claim: Claim) -> bool:
        signature = signature_of(documented[claim.api].signature)
        assert signature is not None
        written = signature.defaults[claim.parameter]
        if _same(written, claim.value):
            return True
        reading = READINGS.get((claim.api, claim.parameter))
        return (
            reading is not None
            and _same(written, reading.written)
            and _same(claim.value, reading.meant)
            and reading.sentence in documented[claim.api].text
        )

    assert [claim for claim in made if not is_right(claim)] == []


_DTYPES = {"torch.long": "int64", "torch.int64": "int64", "mindspore.int64": "int64"}


def _same(one: object, other: object) -> bool:
    """Equal, and not a truth value on one side and a number on the other; dtypes by their name."""
    one, other = _DTYPES.get(str(one), one), _DTYPES.get(str(other), other)
    return one == other and isinstance(one, bool) == isinstance(other, bool)


@pytest.mark.parametrize(
    "framework", [pytest.param(one, marks=getattr(pytest.mark, one)) for one in FRAMEWORKS]
)
def test_every_call_of_a_form_is_documented(pool: Pool, framework: str) -> None:
    documented = documents(pool, framework)
    assert [name for name, one in documented.items() if not one.exists] == []


def test_a_wrong_default_would_be_seen() -> None:
    signature = signature_of("gelu(input, approximate = 'none', *, eps: float = 1e-5) -> Tensor")
    assert signature is not None
    assert signature.names == ("input", "approximate", "eps")
    assert signature.defaults == {"approximate": "none", "eps": 1e-5}
