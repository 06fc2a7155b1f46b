"""Rows of the ATen table: what a call of PyTorch becomes computes what PyTorch documents."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from engine.errors import BadInput
from engine.executors.reference import evaluate
from engine.ir.graph import Graph
from engine.ir.values import materialise
from engine.seeds.importing import import_graph

RNG = np.random.default_rng(7)
X = RNG.normal(size=(2, 3, 4)).astype("float32")
Y = RNG.normal(size=(2, 3, 4)).astype("float32")
IDS = np.array([[2, 0, 1, 1], [1, 1, 2, 0]])
TRUTHS = X > 0
MATRIX = X[0]
Q, K, V = (RNG.normal(size=(2, 4, 5, 6)).astype("float32") for _ in range(3))
SHARED = K[:, :2], V[:, :2]
SEEN = np.tri(5, dtype=bool)


def made(target: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Graph, Any]:
    """The graph of one call whose arrays are inputs, and the values of these inputs."""
    values: dict[str, np.ndarray] = {}

    def written(one: Any) -> Any:
        if isinstance(one, np.ndarray):
            values[name := f"x{len(values)}"] = one
            return {"value": name}
        return [written(item) for item in one] if isinstance(one, list) else one

    call = {
        "name": "call",
        "target": target,
        "args": [written(one) for one in args],
        "kwargs": {name: written(one) for name, one in kwargs.items()},
        "scope": "",
        "outputs": [],
    }
    inputs = [
        {"name": name, "given": name, "shape": list(one.shape), "dtype": str(one.dtype)}
        for name, one in values.items()
    ]
    first = {"name": "item", "target": "getitem", "args": [{"value": "call"}, 0], "kwargs": {}}
    several = target == "aten.split.Tensor"
    program = {
        "inputs": inputs,
        "parameters": [],
        "constants": [],
        "nodes": [call, {**first, "scope": "", "outputs": []}] if several else [call],
        "outputs": ["item" if several else "call"],
    }
    return import_graph(program, name="small"), values


def computed(target: str, *args: Any, **kwargs: Any) -> np.ndarray:
    graph, values = made(target, args, kwargs)
    given = materialise([one for one in graph.inputs if one.role == "constant"], {})
    return np.asarray(evaluate(graph, {**given, **values})[graph.outputs[0]])


def attended(scores: np.ndarray, v: np.ndarray) -> np.ndarray:
    parts = np.exp(scores - scores.max(-1, keepdims=True))
    found: np.ndarray = parts / parts.sum(-1, keepdims=True) @ v
    return found


def scores(q: np.ndarray, k: np.ndarray, scale: float = 6**-0.5) -> np.ndarray:
    found: np.ndarray = q @ k.swapaxes(-1, -2) * scale
    return found


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
HIDDEN = np.where(SEEN, 0.0, -np.inf)
TWICE = tuple(np.repeat(one, 2, axis=1) for one in SHARED)
BIAS = RNG.normal(size=(2, 1, 5, 5)).astype("float32")
SDPA = "aten.scaled_dot_product_attention.default"


@pytest.mark.parametrize(
    ("target", "args", "kwargs", "expected"),
    [
        (SDPA, (Q, K, V), {}, attended(scores(Q, K), V)),
        (SDPA, (Q, K, V), {"scale": 0.5}, attended(scores(Q, K, 0.5), V)),
        (SDPA, (Q, K, V, SEEN), {}, attended(scores(Q, K) + HIDDEN, V)),
        (SDPA, (Q, K, V, BIAS), {}, attended(scores(Q, K) + BIAS, V)),
        (SDPA, (Q, K, V, None, 0.0, True), {}, attended(scores(Q, K) + HIDDEN, V)),
        (SDPA, (Q, *SHARED), {"enable_gqa": True}, attended(scores(Q, TWICE[0]), TWICE[1])),
        ("aten.addmm.default", (X[0, 0], MATRIX.T, MATRIX), {}, X[0, 0] + MATRIX.T @ MATRIX),
        (
            "aten.addmm.default",
            (MATRIX[:, :3], MATRIX, MATRIX.T),
            {"alpha": 2, "beta": 3},
            3 * MATRIX[:, :3] + 2 * (MATRIX @ MATRIX.T),
        ),
        ("aten.log_softmax.int", (X, -1), {}, X - np.log(np.exp(X).sum(-1, keepdims=True))),
        (
            "aten.rms_norm.default",
            (X, [4], X[0, 0], 1e-5),
            {},
            X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5) * X[0, 0],
        ),
        ("aten.amax.default", (X, [1]), {}, X.max(1)),
        ("aten.elu.default", (X, 0.5), {}, np.where(X > 0, X, 0.5 * np.expm1(X))),
        ("aten.softplus.default", (X,), {}, np.log1p(np.exp(X))),
        ("aten.hardswish.default", (X,), {}, X * np.clip(X + 3, 0, 6) / 6),
        ("aten.relu6.default", (X * 9,), {}, np.clip(X * 9, 0, 6)),
        ("aten.mish.default", (X,), {}, X * np.tanh(np.log1p(np.exp(X)))),
        ("aten.erf.default", (X,), {}, np.vectorize(math.erf)(X)),
        ("aten.floor.default", (X,), {}, np.floor(X)),
        ("aten.reciprocal.default", (X,), {}, 1 / X),
        ("aten.maximum.default", (X, Y), {}, np.maximum(X, Y)),
        ("aten.minimum.default", (X, Y), {}, np.minimum(X, Y)),
        ("aten.cumsum.default", (X, 1), {}, X.cumsum(1)),
        ("aten.cumsum.default", (IDS.astype("int32"), -1), {}, IDS.cumsum(-1)),
        ("aten.squeeze.default", (X[:, :1, :1],), {}, X[:, 0, 0]),
        ("aten.squeeze.dim", (X[:, :1], 1), {}, X[:, 0]),
        ("aten.squeeze.dim", (X, 1), {}, X),
        ("aten.squeeze.dims", (X[:1, :1], [0, 1]), {}, X[0, 0]),
        ("aten.t.default", (MATRIX,), {}, MATRIX.T),
        ("aten.movedim.int", (X, 0, 2), {}, np.moveaxis(X, 0, 2)),
        ("aten.unflatten.int", (X, 2, [2, 2]), {}, X.reshape(2, 3, 2, 2)),
        ("aten.split.Tensor", (X, 3, 2), {}, X[..., :3]),
        *(
            (f"aten.{name}.{kind}", (IDS, other), {}, compare(IDS, other))
            for kind, other in (("Scalar", 1), ("Tensor", IDS[::-1].copy()))
            for name, compare in COMPARISONS.items()
        ),
        ("aten.where.self", (TRUTHS, X, Y), {}, np.where(TRUTHS, X, Y)),
        ("aten.where.ScalarOther", (TRUTHS, X, 2.0), {}, np.where(TRUTHS, X, 2.0)),
        (
            "aten.masked_fill.Tensor",
            (X, TRUTHS, np.array(3.0, dtype="float32")),
            {},
            np.where(TRUTHS, 3.0, X),
        ),
        ("aten.ones_like.default", (X,), {}, np.ones_like(X)),
        ("aten.logical_not.default", (TRUTHS,), {}, ~TRUTHS),
        ("aten.bitwise_not.default", (TRUTHS,), {}, ~TRUTHS),
        *(
            (f"aten.{name}", (TRUTHS, X > 1), {}, TRUTHS & (X > 1))
            for name in ("logical_and.default", "bitwise_and.Tensor", "__and__.Tensor")
        ),
        *(
            (f"aten.{name}", (TRUTHS, X < -1), {}, TRUTHS | (X < -1))
            for name in ("logical_or.default", "bitwise_or.Tensor", "__or__.Tensor")
        ),
        ("aten.type_as.default", (IDS, X), {}, IDS.astype("float32")),
        ("aten.to.device", (IDS, {"other": "cpu"}, {"dtype": "float32"}), {}, IDS.astype("f4")),
        ("aten.index.Tensor", (MATRIX, [IDS]), {}, MATRIX[IDS]),
        ("aten.index.Tensor", (X, [np.array([1, 0]), np.array([2, 0])]), {}, X[[1, 0], [2, 0]]),
    ],
)
def test_a_call_computes_what_pytorch_documents(
    target: str, args: tuple[Any, ...], kwargs: dict[str, Any], expected: np.ndarray
) -> None:
    found = computed(target, *args, **kwargs)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


def test_a_convolution_of_one_axis_slides_its_kernel() -> None:
    kernel = RNG.normal(size=(2, 3, 2)).astype("float32")
    found = computed("aten.conv1d.default", X, kernel, None, [2])
    steps = [np.einsum("nct,oct->no", X[:, :, at : at + 2], kernel) for at in (0, 2)]
    np.testing.assert_allclose(found, np.stack(steps, -1), rtol=2e-5, atol=1e-6)


def test_a_transposed_convolution_adds_the_kernel_at_every_place() -> None:
    plane = RNG.normal(size=(1, 2, 3, 3)).astype("float32")
    kernel = RNG.normal(size=(2, 4, 2, 2)).astype("float32")
    found = computed("aten.conv_transpose2d.input", plane, kernel, None, [2, 2])
    expected = np.einsum("nchw,cokl->nohkwl", plane, kernel).reshape(1, 4, 6, 6)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


def test_a_transposed_convolution_of_one_axis_adds_the_kernel_at_every_place() -> None:
    kernel = RNG.normal(size=(3, 5, 2)).astype("float32")
    found = computed("aten.conv_transpose1d.default", X, kernel, None, [2])
    expected = np.einsum("nct,cok->notk", X, kernel).reshape(2, 5, 8)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("target", "args", "said"),
    [
        (SDPA, (Q, K, V, None, 0.1), "dropout"),
        ("aten.index.Tensor", (MATRIX, [MATRIX > 0]), "positions"),
        ("aten.index.Tensor", (X, [None, IDS]), "positions"),
        ("aten.bitwise_not.default", (IDS,), "int64"),
        ("aten.elu.default", (X, 1.0, 2.0), "scale"),
    ],
)
def test_a_call_that_no_row_covers_is_refused_by_name(
    target: str, args: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        computed(target, *args)
    assert target in str(caught.value)


def test_masks_of_one_shape_are_one_constant() -> None:
    graph, _ = made(SDPA, (Q, K, V, None, 0.0, True), {})
    assert [one.name for one in graph.inputs if one.role == "constant"] == ["causal_mask_5x5"]
