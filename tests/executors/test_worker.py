"""What a worker answers: values, memory, gradients, proof, recordings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from engine.executors.lowering import Cotangent
from engine.executors.outcome import Answer, Outcome, Status
from engine.executors.pool import Pool
from engine.executors.request import ones_and_eighths
from engine.ir.case import Plan
from tests.executors.jobs import X, inputs_of, job

pytestmark = pytest.mark.framework
Run = Callable[..., Outcome]

HEAD = {
    "torch-eager": "import torch\n",
    "torch-aot": "import torch\n",
    "torch-inductor": "import torch\n",
    "mindspore-pynative": "import mindspore as ms\nfrom mindspore import ops\n",
    "mindspore-graph": "import mindspore as ms\nfrom mindspore import ops\n",
}
EAGER = ("torch-eager", "mindspore-pynative")
IDENTITY = "def forward(x):\n    return x\n"


def values(answer: Answer) -> np.ndarray[Any, Any]:
    assert answer.array is not None
    return answer.array


# ----------------------------------------------------------------------------------- transport
ARRAYS = {
    "float16": np.array([1.5, -0.0, 65504.0], np.float16),
    "bfloat16": np.array([1.5, np.nan, -3e38], ml_dtypes.bfloat16),
    "float64": np.array([[np.pi, np.inf], [-np.inf, np.nan]]),
    "int8": np.array([-128, 127], np.int8),
    "uint8": np.array([0, 255], np.uint8),
    "int64": np.array([2**62, -1]),
    "bool": np.array([[True], [False]]),
    "complex64": np.array([1 + 2j], np.complex64),
    "no axes": np.array(2.5, np.float32),
    "empty": np.zeros((0, 3), np.float32),
}


@pytest.mark.parametrize("mode", EAGER)
@pytest.mark.parametrize("kind", ARRAYS)
def test_bytes_arrive_and_come_back_as_they_are(run: Run, mode: str, kind: str) -> None:
    array = ARRAYS[kind]
    found = run(mode, HEAD[mode] + IDENTITY, {"x": array})
    assert found.status is Status.OK, found.failure
    (answer,) = found.calls[0].outputs
    assert (answer.dtype, answer.shape) == (str(array.dtype), array.shape)
    assert values(answer).dtype == array.dtype
    assert values(answer).tobytes() == array.tobytes()


@pytest.mark.parametrize("mode", EAGER)
def test_structure_names_what_is_nested_and_what_is_no_tensor(run: Run, mode: str) -> None:
    found = run(mode, HEAD[mode] + "def forward(x):\n    return x, [x, 3], (None, True)\n")
    assert found.calls[0].structure == "tuple(tensor, list(tensor, int), tuple(none, bool))"
    kinds = [answer.kind for answer in found.calls[0].outputs]
    assert kinds == ["tensor", "tensor", "int", "none", "bool"]


# -------------------------------------------------------------------------------------- memory
STRIDES = {
    "channels_last": ((60, 1, 15, 3), 0),
    "transposed": ((60, 20, 1, 4), 0),
    "strided": ((120, 40, 10, 2), 0),
    "offset": ((60, 20, 5, 1), 3),
    "expanded": ((0, 20, 5, 1), 0),
}


@pytest.mark.parametrize("mode", EAGER)
@pytest.mark.parametrize("layout", STRIDES)
def test_layout_is_real_and_changes_no_value(run: Run, mode: str, layout: str) -> None:
    arrays = {"x": np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)}
    inputs = inputs_of(arrays, x={"layout": layout})
    found = run(mode, HEAD[mode] + "def forward(x):\n    return x, x + 1\n", arrays, inputs=inputs)
    assert found.status is Status.OK, found.failure
    same, more = found.calls[0].outputs
    assert (same.strides, same.offset) == STRIDES[layout]
    expected = arrays["x"]
    if layout == "expanded":
        expected = np.broadcast_to(expected[:1], expected.shape)
    np.testing.assert_array_equal(values(same), expected)
    np.testing.assert_array_equal(values(more), expected + 1)
    assert (same.shares, more.shares) == (("x",), ())
    assert not found.calls[0].inputs_after


def test_layout_without_meaning_for_a_shape_is_unsupported(run: Run) -> None:
    inputs = inputs_of({"x": np.ones(3, np.float32)}, x={"layout": "channels_last"})
    found = run("torch-eager", HEAD["torch-eager"] + IDENTITY, {"x": np.ones(3)}, inputs=inputs)
    assert found.status is Status.UNSUPPORTED
    assert found.reason == "layout channels_last needs rank 3, the shape is [3]"


@pytest.mark.parametrize(
    ("mode", "write"), [("torch-eager", "x[0] = 9.0"), ("mindspore-pynative", "x[0] = 9.0")]
)
def test_write_to_an_input_is_seen_through_its_alias(run: Run, mode: str, write: str) -> None:
    arrays = {"x": np.zeros(4, np.float32), "y": np.zeros((2, 2), np.float32),
              "z": np.zeros(4, np.float32)}  # fmt: skip
    inputs = inputs_of(arrays, x={"alias": "g"}, y={"alias": "g"})
    source = f"{HEAD[mode]}def forward(x, y, z):\n    {write}\n    return y, z + 1\n"
    found = run(mode, source, arrays, inputs=inputs)
    assert found.status is Status.OK, found.failure
    y, z = found.calls[0].outputs
    assert (y.shares, z.shares) == (("x", "y"), ())
    after = found.calls[0].inputs_after
    assert sorted(after) == ["x", "y"]
    np.testing.assert_array_equal(values(after["y"]), [[9, 0], [0, 0]])


def test_inputs_are_not_compared_where_the_plan_does_not_ask(run: Run) -> None:
    source = HEAD["torch-eager"] + "def forward(x):\n    return x.add_(1)\n"
    assert run("torch-eager", source, plan=Plan(checks=("values",))).calls[0].inputs_after == {}


@pytest.mark.parametrize(
    ("mode", "line", "moved"),
    [
        ("torch-eager", "torch.rand(2) + x[0, 0]", "torch generator"),
        ("torch-eager", "torch.set_grad_enabled(False)", "torch grad mode"),
        ("torch-eager", "torch.set_default_dtype(torch.float64)", "torch default dtype"),
        (
            "mindspore-pynative",
            "ms.mint.rand(2) if 0 else ms.manual_seed(1)",
            "mindspore generator",
        ),
    ],
)
def test_generators_and_flags_that_moved_are_named(
    run: Run, mode: str, line: str, moved: str
) -> None:
    found = run(mode, f"{HEAD[mode]}def forward(x):\n    v0 = {line}\n    return x\n")
    assert moved in found.moved
    assert run(mode, HEAD[mode] + IDENTITY).moved == ()


@pytest.mark.parametrize("mode", EAGER)
def test_second_call_may_have_another_shape(run: Run, mode: str) -> None:
    source = HEAD[mode] + "def forward(x):\n    return x + 1\n"
    found = run(mode, source, later=[{"x": np.ones((4, 1), np.float32)}, X])
    assert [call.outputs[0].shape for call in found.calls] == [(2, 3), (4, 1), (2, 3)]


# ----------------------------------------------------------------------------------- gradients
W = {"x": np.array([0.5, -1.0, 2.0], np.float32), "w": np.array([1.0, 2.0, -1.0], np.float32)}
LOSS = """
def forward(x, w):
    v0 = x * x
    v1 = v0 * w
    return v1

def loss(x, w, c0):
    v1 = forward(x, w)
    return (v1 * c0).sum()
"""


def _with_gradient(run: Run, mode: str, kind: str, source: str = LOSS) -> Outcome:
    wanted = {"requires_grad": True}
    return run(
        mode,
        HEAD[mode] + source,
        W,
        inputs=inputs_of(W, x=wanted, w=wanted),
        plan=Plan(gradient=kind),
        cotangents=[Cotangent("c0", 0, (3,), "float32")],
    )


@pytest.mark.parametrize("mode", ["torch-eager", "torch-aot", "mindspore-pynative"])
@pytest.mark.parametrize("kind", ["reverse", "forward", "second"])
def test_gradients_are_those_of_the_formula(run: Run, mode: str, kind: str) -> None:
    found = _with_gradient(run, mode, kind)
    x, w, c = W["x"], W["w"], ones_and_eighths((3,), "float32")
    u = np.array([1, 1.125, 1.25], np.float32)
    first = {"x": 2 * x * w * c, "w": x * x * c}
    second = {
        "x": 2 * u * first["x"] * 2 * w * c + 2 * u * first["w"] * 2 * x * c,
        "w": 2 * u * first["x"] * 2 * x * c,
    }
    tangent = {"loss": np.sum((first["x"] + first["w"]) * u)}
    expected: dict[str, Any] = {"reverse": first, "forward": tangent, "second": second}[kind]
    assert found.status is Status.OK
    assert found.gradient_failure is None
    assert sorted(found.gradients) == sorted(expected)
    for name, array in expected.items():
        answer = found.gradients[name]
        assert answer is not None
        np.testing.assert_allclose(values(answer), array, rtol=1e-5)


def test_input_that_the_loss_does_not_use_has_no_gradient(run: Run) -> None:
    found = _with_gradient(run, "torch-eager", "reverse", LOSS.replace("v0 * w", "v0 * 2"))
    assert found.gradients["w"] is None
    assert found.gradients["x"] is not None


def test_gradient_that_fails_leaves_the_calls(run: Run) -> None:
    written = LOSS.replace("v0 = x * x", "v0 = x.mul_(x)")
    found = _with_gradient(run, "torch-eager", "reverse", written)
    assert found.status is Status.OK
    np.testing.assert_array_equal(values(found.calls[0].outputs[0]), W["x"] ** 2 * W["w"])
    assert found.gradient_failure is not None
    assert "leaf Variable" in found.gradient_failure.message
    assert found.gradient_failure.node == "L4"


def test_setup_is_called_with_what_it_takes(run: Run) -> None:
    source = (
        "import torch\nfrom torch import nn\n\n"
        "def setup(w):\n    global layer\n"
        "    layer = nn.Linear(3, 1, bias=False)\n    layer.weight = nn.Parameter(w[None])\n\n"
        "def forward(x, w):\n    v0 = layer(x)\n    return v0\n"
    )
    found = run("torch-eager", source, W, setup=["w"])
    np.testing.assert_allclose(values(found.calls[0].outputs[0]), [W["x"] @ W["w"]])


# --------------------------------------------------------------------------------------- proof
def test_compiled_torch_shows_its_graph_and_agrees(run: Run) -> None:
    found = _with_gradient(run, "torch-aot", "reverse")
    assert found.proof["unique_graphs"] == 1
    assert found.proof["graph_breaks"] == 0
    assert "aten.mul.Tensor:float32" in found.trace


@pytest.mark.inductor
def test_inductor_shows_its_kernels(run: Run) -> None:
    source = HEAD["torch-inductor"] + "def forward(x):\n    v0 = torch.exp(x)\n    return v0 * 2\n"
    found = run("torch-inductor", source, alone=True)
    assert found.status is Status.OK, (found.failure, found.reason)
    assert found.proof["kernels"] == 1
    assert found.proof["unique_graphs"] == 1
    np.testing.assert_allclose(values(found.calls[0].outputs[0]), 2 * np.exp(X["x"]), rtol=1e-5)


def test_compiled_mindspore_shows_its_graph_and_agrees(run: Run) -> None:
    source = HEAD["mindspore-graph"] + "def forward(x):\n    v0 = ops.exp(x)\n    return v0 * 2\n"
    found = run("mindspore-graph", source)
    assert found.status is Status.OK, found.failure
    assert found.proof["compiled_graphs"] == 1
    np.testing.assert_allclose(values(found.calls[0].outputs[0]), 2 * np.exp(X["x"]), rtol=1e-5)


def test_compiled_mindspore_differentiates(run: Run) -> None:
    found = _with_gradient(run, "mindspore-graph", "reverse")
    gradient = found.gradients["w"]
    assert gradient is not None, found.gradient_failure
    expected = W["x"] ** 2 * ones_and_eighths((3,), "float32")
    np.testing.assert_allclose(values(gradient), expected, rtol=1e-6)


def test_graph_break_is_unsupported_and_not_a_fall_back(run: Run) -> None:
    source = "import torch\ndef forward(x):\n    torch._dynamo.graph_break()\n    return x + 1\n"
    found = run("torch-aot", source)
    assert found.status is Status.UNSUPPORTED
    assert "torch.compile did not capture it" in found.reason


def test_program_without_an_operator_is_not_called_compiled(run: Run) -> None:
    found = run("torch-aot", HEAD["torch-aot"] + IDENTITY)
    assert found.status is Status.UNSUPPORTED
    assert "nothing was compiled" in found.reason


@pytest.mark.parametrize(
    "trouble",
    ["import torch._no_such_module", "open('/nowhere/at/all')", "raise Error() from lost"],
)
@pytest.mark.parametrize("mode", ["torch-eager", "mindspore-pynative"])
def test_what_the_machine_lacks_is_not_the_frameworks_fault(
    run: Run, mode: str, trouble: str
) -> None:
    source = (
        "class Error(Exception): pass\nlost = ModuleNotFoundError('gone')\n"
        f"def forward(x):\n    {trouble}\n    return x\n"
    )
    found = run(mode, HEAD[mode] + source)
    assert found.status is Status.UNSUPPORTED
    assert found.reason.startswith("the machine or the installation is at fault: ")


def test_lack_while_differentiating_is_not_the_frameworks_fault(run: Run) -> None:
    written = LOSS.replace("v0 = x * x", "v0 = x * x; x.requires_grad and open('/nowhere/at/all')")
    found = _with_gradient(run, "torch-eager", "reverse", written)
    assert found.status is Status.UNSUPPORTED
    assert "FileNotFoundError" in found.reason


def test_error_names_the_function_that_the_line_had_entered(run: Run) -> None:
    source = (
        HEAD["mindspore-pynative"]
        + "def forward(x):\n    return ops.relu(ops.inverse(ops.ones((1, 1), ms.float32)))\n"
    )
    found = run("mindspore-pynative", source)
    assert found.failure is not None
    assert found.failure.entered[:1] == ("inverse",)


def test_compile_error_of_mindspore_names_its_node(run: Run) -> None:
    source = (
        HEAD["mindspore-graph"] + "def forward(x):\n    v0 = x + 1\n    return ops.matmul(v0, v0)\n"
    )
    found = run("mindspore-graph", source)
    assert found.failure is not None
    assert (found.status, found.failure.phase) == (Status.RAISED, "compile")
    assert found.failure.node == "L5"


def test_compile_error_that_shows_another_line_blames_the_kernel_that_it_names(run: Run) -> None:
    source = (
        HEAD["mindspore-graph"]
        + "def forward(x):\n    v0 = ops.abs(x)\n    v1 = ops.csr_mul(v0.to_csr(), x).to_dense()\n"
        "    v2 = ops.neg(v1)\n    return v2\n"
    )
    found = run("mindspore-graph", source)
    assert found.failure is not None
    assert "op[CSRMul]" in found.failure.message
    assert found.failure.node == "L5"


def test_compile_error_that_names_a_kernel_by_another_name_blames_what_is_called_most_like_it(
    run: Run,
) -> None:
    source = (
        HEAD["mindspore-graph"].replace("import ops", "import mint, ops")
        + "def forward(x):\n    v0 = ops.flatten(x)\n    return mint.floor_divide(v0, 2)\n"
    )
    found = run("mindspore-graph", source)
    assert found.failure is not None
    assert "op [FloorDivScalar]" in found.failure.message
    assert found.failure.node == "L5"


# ----------------------------------------------------------------------------------- recording
RECORDED = """
def forward(x):
    v0 = x.reshape(3, 2)
    v1 = v0 + 1
    v2 = v1[0]
    return v2
"""


@pytest.mark.parametrize("mode", EAGER)
def test_recording_has_every_value_and_who_shares_it(run: Run, mode: str) -> None:
    found = run(mode, HEAD[mode] + RECORDED, record="values")
    first = HEAD[mode].count("\n") + 3
    v0, v1, v2 = (found.recorded[f"L{first + k}"] for k in range(3))
    assert [one.shares for one in (v0, v1, v2)] == [("x",), (), (f"L{first + 1}",)]
    np.testing.assert_array_equal(values(v1), X["x"].reshape(3, 2) + 1)
    assert v1.summary["mean"] == 3.5
    assert v1.summary["zeros"] == 0
    assert found.recorded["x"].summary["max"] == 5


def test_recording_of_facts_carries_no_elements(run: Run) -> None:
    found = run("torch-eager", HEAD["torch-eager"] + RECORDED, record="facts")
    assert {one.array is None for one in found.recorded.values()} == {True}
    assert found.calls[0].outputs[0].array is not None


def test_eager_torch_tells_the_operators_it_dispatched(run: Run) -> None:
    assert "aten.add.Tensor:float32" in run("torch-eager", HEAD["torch-eager"] + RECORDED).trace


def test_float64_mode_widens_the_inputs(pool: Pool) -> None:
    source = HEAD["torch-eager"] + "def forward(x):\n    return x + 1\n"
    found = pool.run_jobs([job("torch-eager-f64", source)])["torch-eager-f64"]
    assert found.calls[0].outputs[0].dtype == "float64"
