"""ONNX models as seeds: every row of the table against ONNX's own reference evaluator."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from engine.errors import BadInput
from engine.executors.reference import evaluate
from engine.executors.worker import import_onnx
from engine.importation import Imported, Source, imported, read
from engine.ir.graph import Literal, Random
from engine.ir.values import materialise
from engine.seeds.building import value_name
from engine.seeds.importing import unmapped
from engine.seeds.onnx_rows import ONNX

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
KINDS = {FLOAT: "float32", INT: "int64", BOOL: "bool"}
RNG = np.random.default_rng(5)
IMAGE, MATRIX = (2, 4, 6, 6), (3, 4)
Given = tuple[int, tuple[int, ...]] | np.ndarray


def floats(*shape: int) -> tuple[int, tuple[int, ...]]:
    return FLOAT, shape


def numbers(*shape: int) -> np.ndarray:
    """A weight, far enough from 0 to divide by."""
    return (RNG.random(shape) + 0.5).astype("float32")


def whole(*values: int) -> np.ndarray:
    return np.array(values, dtype="int64")


def model(op: str, given: Sequence[Given], outputs: int = 1, opset: int = 20, **attrs: Any) -> Any:
    """A model of one node. An operand that is an array is an initialiser, others are inputs."""
    names = [f"operand.{at}" for at in range(len(given))]
    inputs = [
        helper.make_tensor_value_info(name, one[0], one[1])
        for name, one in zip(names, given, strict=True)
        if isinstance(one, tuple)
    ]
    held = [
        numpy_helper.from_array(one, name)
        for name, one in zip(names, given, strict=True)
        if isinstance(one, np.ndarray)
    ]
    results = [f"result.{at}" for at in range(outputs)]
    node = helper.make_node(op, names, results, name="/block/node", **attrs)
    made = helper.make_graph(
        [node],
        "made",
        inputs,
        [helper.make_tensor_value_info(name, FLOAT, None) for name in results],
        held,
    )
    return finished(made, opset)


def finished(graph: Any, opset: int) -> Any:
    """The model of a graph, with the types of its outputs."""
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 9
    for one in made.graph.output:
        one.ClearField("type")
    inferred = onnx.shape_inference.infer_shapes(made, data_prop=True).graph.output
    for one, typed in zip(made.graph.output, inferred, strict=True):
        one.type.CopyFrom(typed.type)
        if not one.type.tensor_type.HasField("shape"):
            one.type.tensor_type.shape.dim.add().dim_param = "open"
    return made


def taken_in(made: Any, folder: Path, batch: int = 2) -> tuple[Source, Imported]:
    file = folder / "model.onnx"
    onnx.save(made, file)
    exported, arrays = import_onnx.read(str(file), batch)
    given = [{**one, "given": value_name(one["given"])} for one in exported["inputs"]]
    source = Source({**exported, "inputs": given}, arrays)
    return source, imported(source, name="mine", weights="blobs")


def assert_computes_the_same(source: Source, found: Imported) -> None:
    graph = found.case.graph
    values = {
        one["given"]: source.arrays[f"input_{at}"]
        for at, one in enumerate(source.exported["inputs"])
    }
    answers = evaluate(graph, {**materialise(graph, found.blobs), **values})
    for at, name in enumerate(graph.outputs):
        expected = source.arrays[f"output_{at}"]
        assert answers[name].dtype == expected.dtype
        np.testing.assert_allclose(answers[name], expected, rtol=1e-4, atol=1e-5)


# One model for each row, and further ones where a row has several ways.
ELEMENTWISE = """
Relu Sigmoid Erf Exp Abs Neg Floor Ceil Sqrt Reciprocal Softplus Mish Tanh Log Sign Sin Cos Tan Asin
Acos Atan Sinh Cosh Asinh Acosh Atanh Softsign Selu HardSwish IsNaN IsInf Round LeakyRelu Elu Celu
Gelu HardSigmoid Identity Dropout
""".split()  # noqa: SIM905
TWO = "Add Sub Mul Div Equal Greater GreaterOrEqual Less LessOrEqual Max Min Sum".split()  # noqa: SIM905
REDUCTIONS = [f"Reduce{one}" for one in ("Mean", "Sum", "Max", "Min", "Prod", "L1", "L2")]
Row = tuple[str, Sequence[Given], Mapping[str, Any]]
MODELS: list[Row] = [
    *((op, [floats(*MATRIX)], {}) for op in ELEMENTWISE),
    *((op, [floats(*MATRIX), floats(4)], {}) for op in TWO),
    *((op, [floats(*MATRIX), np.array(2.5, "float32")], {}) for op in TWO[:4]),
    *((op, [floats(*IMAGE), whole(1, -1)], {"keepdims": 0}) for op in REDUCTIONS),
    *((op, [floats(*IMAGE)], {}) for op in REDUCTIONS[:2]),
    *((op, [(BOOL, MATRIX), (BOOL, (4,))], {}) for op in ("And", "Or", "Xor")),
    ("Not", [(BOOL, MATRIX)], {}),
    ("HardSigmoid", [floats(*MATRIX)], {"alpha": 1 / 6, "beta": 0.5}),
    ("Gelu", [floats(*MATRIX)], {"approximate": "tanh"}),
    ("PRelu", [floats(*IMAGE), numbers(4, 1, 1)], {}),
    ("Clip", [floats(*MATRIX), np.array(-0.5, "float32"), np.array(0.25, "float32")], {}),
    ("Cast", [floats(*MATRIX)], {"to": INT}),
    ("Pow", [floats(*MATRIX), np.array(3.0, "float32")], {}),
    ("Pow", [floats(*MATRIX), np.array([2.0, 1.0, 2.0, 3.0], "float32")], {}),
    ("Max", [floats(*MATRIX), floats(4), floats(3, 1)], {}),
    ("Where", [(BOOL, MATRIX), floats(*MATRIX), floats(1, 4)], {}),
    ("MatMul", [floats(2, 3, 4), numbers(4, 5)], {}),
    ("Gemm", [floats(3, 4), numbers(5, 4), numbers(5)], {"transB": 1}),
    (
        "Gemm",
        [floats(4, 3), numbers(4, 5), numbers(3, 5)],
        {"transA": 1, "alpha": 0.5, "beta": 2.0},
    ),
    ("Conv", [floats(*IMAGE), numbers(6, 2, 3, 3), numbers(6)], {"group": 2, "pads": [1, 0, 1, 0]}),
    ("Conv", [floats(*IMAGE), numbers(6, 4, 3, 3)], {"pads": [0, 1, 1, 2], "strides": [2, 1]}),
    ("Conv", [floats(2, 4, 9), numbers(3, 4, 3)], {"dilations": [2]}),
    ("ConvTranspose", [floats(*IMAGE), numbers(4, 3, 3, 3)], {"strides": [2, 2]}),
    ("Einsum", [floats(2, 3, 4), floats(2, 4, 5)], {"equation": "bij,bjk->bik"}),
    ("BatchNormalization", [floats(*IMAGE), *(numbers(4) for _ in range(4))], {"epsilon": 1e-3}),
    ("LayerNormalization", [floats(2, 3, 4), numbers(3, 4), numbers(3, 4)], {"axis": 1}),
    ("InstanceNormalization", [floats(*IMAGE), numbers(4), numbers(4)], {}),
    ("Softmax", [floats(*MATRIX)], {"axis": 0}),
    ("LogSoftmax", [floats(*MATRIX)], {}),
    ("Reshape", [floats(2, 3, 4), whole(0, -1)], {}),
    ("Flatten", [floats(2, 3, 4)], {"axis": 2}),
    ("Transpose", [floats(2, 3, 4)], {"perm": [2, 0, 1]}),
    ("Transpose", [floats(2, 3, 4)], {}),
    ("Squeeze", [floats(2, 1, 4, 1), whole(-1)], {}),
    ("Squeeze", [floats(2, 1, 4, 1)], {}),
    ("Unsqueeze", [floats(2, 3), whole(0, -1)], {}),
    ("Concat", [floats(2, 3), floats(2, 4), numbers(2, 1)], {"axis": -1}),
    ("Slice", [floats(2, 6, 6), whole(1, -5), whole(2**40, -1), whole(1, 2), whole(1, 2)], {}),
    ("Gather", [floats(*MATRIX), np.array(1, "int64")], {"axis": 1}),
    ("Gather", [numbers(7, 4), (INT, (2, 3))], {}),
    ("Gather", [floats(2, 5, 3), whole(4, 0, 0, 1).reshape(2, 2)], {"axis": 1}),
    ("GatherElements", [floats(*MATRIX), whole(2, 0, 1, 2).reshape(1, 4)], {}),
    ("Expand", [floats(3, 1), whole(2, 1, 4)], {}),
    ("Tile", [floats(3, 2), whole(2, 3)], {}),
    ("Pad", [floats(*IMAGE), whole(0, 0, 1, 0, 0, 0, 2, 1), np.array(0.5, "float32")], {}),
    ("Pad", [floats(*IMAGE), whole(1, 1, 2, 2), np.array(0, "float32"), whole(2, 3)], {}),
    ("Pad", [floats(*IMAGE), whole(0, 0, 1, 2, 0, 0, 1, 2)], {"mode": "reflect"}),
    ("Pad", [floats(*IMAGE), whole(0, 0, 1, 2, 0, 0, 1, 2)], {"mode": "edge"}),
    ("DepthToSpace", [floats(*IMAGE)], {"blocksize": 2}),
    ("DepthToSpace", [floats(*IMAGE)], {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", [floats(*IMAGE)], {"blocksize": 3}),
    ("Trilu", [floats(4, 4), np.array(1, "int64")], {"upper": 0}),
    ("Trilu", [floats(4, 4)], {}),
    ("ArgMax", [floats(*MATRIX)], {"axis": 1}),
    ("ArgMin", [floats(*MATRIX)], {"keepdims": 0}),
    ("CumSum", [floats(*MATRIX), np.array(1, "int64")], {}),
    (
        "MaxPool",
        [floats(*IMAGE)],
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    ("AveragePool", [floats(*IMAGE)], {"kernel_shape": [2, 3], "strides": [2, 2]}),
    (
        "AveragePool",
        [floats(*IMAGE)],
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
    ),
    ("GlobalAveragePool", [floats(*IMAGE)], {}),
    ("GlobalMaxPool", [floats(*IMAGE)], {}),
]
SEVERAL: list[tuple[str, Sequence[Given], int, Mapping[str, Any]]] = [
    ("Split", [floats(2, 7), whole(3, 4)], 2, {"axis": 1}),
    ("Split", [floats(2, 7)], 3, {"axis": -1, "num_outputs": 3}),
    ("TopK", [floats(3, 7), whole(2)], 2, {"largest": 0}),
]
NONE = np.array([], "float32")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # logarithms of what is below 0
@pytest.mark.parametrize(("op", "given", "attrs"), MODELS, ids=[one[0] for one in MODELS])
def test_a_row_computes_what_the_reference_evaluator_does(
    op: str, given: Sequence[Given], attrs: Mapping[str, Any], tmp_path: Path
) -> None:
    assert_computes_the_same(*taken_in(model(op, given, **attrs), tmp_path))


@pytest.mark.parametrize(("op", "given", "outputs", "attrs"), SEVERAL)
def test_several_results_are_told_apart(
    op: str, given: Sequence[Given], outputs: int, attrs: Mapping[str, Any], tmp_path: Path
) -> None:
    assert_computes_the_same(*taken_in(model(op, given, outputs, **attrs), tmp_path))


RESIZES = [
    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
]


@pytest.mark.parametrize("attrs", RESIZES)
def test_an_image_is_resized_as_the_reference_evaluator_does(
    attrs: Mapping[str, Any], tmp_path: Path
) -> None:
    scales = np.array([1, 1, 2, 2], "float32")
    assert_computes_the_same(
        *taken_in(model("Resize", [floats(*IMAGE), NONE, scales], **attrs), tmp_path)
    )


def test_every_row_has_a_model() -> None:
    tried = {one[0] for one in MODELS} | {one[0] for one in SEVERAL} | {"Resize"}
    assert {f"onnx.{one}" for one in tried} == set(ONNX)


# ---------------------------------------------------------------------------------- whole models
def block(*, symbolic: bool = False, opset: int = 17) -> Any:
    """Tokens looked up, a shape that is computed from a shape, attention, a classifier."""
    table, weight, bias = numbers(20, 8), numbers(8, 8) - 1, numbers(8)
    extent = ["n", 5] if symbolic else [2, 5]
    shape = helper.make_node("Shape", ["ids"], ["shape"])
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], name="/embed/Gather"),
        shape,
        helper.make_node("Concat", ["shape", "split"], ["apart"], axis=0),
        helper.make_node("Reshape", ["rows", "apart"], ["heads"], name="/attention/Reshape"),
        helper.make_node("Transpose", ["heads"], ["q"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["heads"], ["k"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["q", "k"], ["scores"], name="/attention/MatMul"),
        helper.make_node("Div", ["scores", "root"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "q"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["back", "joined"], ["tokens"]),
        helper.make_node("Gemm", ["tokens", "linear.weight", "linear.bias"], ["y"], transB=1),
    ]
    held = {
        "table": table,
        "split": whole(2, 4),
        "joined": whole(-1, 8),
        "root": np.array(2.0, "float32"),
        "linear.weight": weight,
        "linear.bias": bias,
    }
    made = helper.make_graph(
        nodes,
        "block",
        [helper.make_tensor_value_info("ids", INT, extent)],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    return finished(made, opset)


def test_a_model_of_an_older_opset_keeps_names_scopes_and_legal_ids(tmp_path: Path) -> None:
    source, found = taken_in(block(opset=13), tmp_path)
    assert_computes_the_same(source, found)
    graph = imported(source, name="mine").case.graph
    assert graph.input_by_name["ids"].init == Random("integers", 0, (("low", 0), ("high", 20)))
    assert {"linear_weight", "linear_bias", "table"} <= set(graph.input_by_name)
    assert {"embed_v0", "attention_v0"} <= set(graph.types)


def test_an_open_batch_is_the_one_asked_for(tmp_path: Path) -> None:
    source, found = taken_in(block(symbolic=True), tmp_path, batch=3)
    assert source.arrays["input_0"].shape == (3, 5)
    assert_computes_the_same(source, found)


def test_what_is_computed_from_shapes_alone_is_constant(tmp_path: Path) -> None:
    _, found = taken_in(block(), tmp_path)
    assert "onnx.Shape" not in found.targets
    reshaped = next(node for node in found.case.graph.nodes if node.op == "reshape")
    assert reshaped.attr("shape") == (2, 5, 2, 4)


def test_a_causal_mask_of_any_length_hides_what_it_hid(tmp_path: Path) -> None:
    mask = np.triu(np.full((12, 12), -np.inf, dtype="float32"), 1)
    made = model("Add", [floats(2, 12, 12), whole(0)])
    made.graph.initializer.pop()
    made.graph.node.insert(0, helper.make_node("Constant", [], ["operand.1"]))
    made.graph.node[0].attribute.append(
        helper.make_attribute("value", numpy_helper.from_array(mask))
    )
    assert_computes_the_same(*taken_in(made, tmp_path))


def test_a_local_function_is_written_out(tmp_path: Path) -> None:
    body = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["c"])]
    opset = helper.make_opsetid("", 20)
    function = helper.make_function("own", "Folded", ["a"], ["c"], body, [opset])
    made = model("Relu", [floats(*MATRIX)])
    made.graph.node[0].op_type, made.graph.node[0].domain = "Folded", "own"
    made.functions.append(function)
    made.opset_import.append(helper.make_opsetid("own", 1))
    source, found = taken_in(made, tmp_path)
    assert [node.op for node in found.case.graph.nodes] == ["relu", "neg"]
    assert_computes_the_same(source, found)


# ------------------------------------------------------------------------------------- refusals
def test_operators_without_a_row_are_listed_with_their_counts(tmp_path: Path) -> None:
    made = model("Hardmax", [floats(*MATRIX)])
    made.graph.node[0].output[0] = "between"
    made.graph.node.append(helper.make_node("Hardmax", ["between"], ["result.0"]))
    onnx.save(made, tmp_path / "model.onnx")
    exported, _ = import_onnx.read(str(tmp_path / "model.onnx"), 2)
    assert unmapped(exported) == {"onnx.Hardmax": 2}


def test_a_shape_that_depends_on_values_is_refused_by_name(tmp_path: Path) -> None:
    made = model("Tile", [floats(2, 2), (INT, (2,))])
    with pytest.raises(BadInput, match=r"onnx\.Tile.*repeats that is computed"):
        taken_in(made, tmp_path)


def test_what_is_no_model_is_answered_with_what_the_library_says(tmp_path: Path) -> None:
    file = tmp_path / "broken.onnx"
    file.write_bytes(b"no protocol buffer")
    with pytest.raises(BadInput, match=r"broken\.onnx.*Error"):
        read(str(file), interpreter=Path(sys.executable))
    with pytest.raises(BadInput, match="no such file"):
        read(str(tmp_path / "absent.onnx"), interpreter=Path(sys.executable))


def test_a_model_is_read_by_a_process_of_its_own(tmp_path: Path) -> None:
    onnx.save(block(), tmp_path / "model.onnx")
    source = read(str(tmp_path / "model.onnx"), interpreter=Path(sys.executable))
    found = imported(source, name="mine")
    assert found.report()["parameters"] == 20 * 8 + 8 * 8 + 8
    literals = [one for one in found.case.graph.inputs if isinstance(one.init, Literal)]
    assert not literals
