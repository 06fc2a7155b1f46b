"""Scripts of findings: valid, standalone, exact in every number, with an assertion for every kind.

What they do in the frameworks is tested in tests/executors/test_script_runs.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import engine
from engine.executors.outcome import Answer, Array, CallAnswer, Failure, Outcome, Status
from engine.ir.case import Case
from engine.ir.graph import Formula, Init, Input, Literal, Random, StoredBlob
from engine.ir.text import parse_case
from engine.ir.types import DTYPES, Dense, numpy_dtype
from engine.ir.values import materialise
from engine.literals import array_text, input_lines
from engine.oracles.comparison import Comparison, Gradients
from engine.oracles.verdict import Divergence, Kind
from engine.script import SMALL_HESSIAN, STATE, shown_by, write_script
from engine.script_run import PATIENCE, Ending, dies_of, hangs_for, run_script
from engine.trial import referees_of

PLAIN = """case 1
graph plain
  input x: float32[2,3] = [0.1, -0.2, nan, inf, -inf, 1e-7] requires_grad
  v0: float32[2,3] = exp(x)
  v1: float32[2,3] = neg(v0)
  return v0, v1
plan
  call
  gradient reverse
  check values gradients state
"""
VALUE = {
    Kind.DTYPE: "v1",
    Kind.SHAPE: "v1",
    Kind.NONFINITE: "v1",
    Kind.VALUES: "v1",
    Kind.SECOND_CALL: "v1",
    Kind.WRITE_LOST: "x",
    Kind.LAYOUT: "v1",
    Kind.INPUT_CHANGED: "x",
    Kind.GRADIENT: "gradient of x",
    Kind.GRADIENT_NONFINITE: "gradient of x",
}
MESSAGE = {Kind.DIED: "SIGSEGV", Kind.MOVED: "torch generator, torch threads"}
MODES = {
    "torch": ("torch-eager", "torch-aot", "torch-inductor"),
    "mindspore": ("mindspore-pynative", "mindspore-graph"),
}


def comparison_of(
    case: Case, blobs: Mapping[str, Array] | None = None, **outcomes: Outcome
) -> Comparison:
    exact = {
        name: array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        for name, array in materialise(case.graph, blobs).items()
    }
    return Comparison(
        case,
        {one.mode: one for one in outcomes.values()},
        referees_of(case, blobs or {}),
        lambda framework, node: True,
        gradients=Gradients(exact, lambda: (), lambda name, index: True),
    )


def script_of(
    text: str,
    kind: Kind,
    *,
    mode: str = "torch-aot",
    blobs: Mapping[str, Array] | None = None,
    **fields: Any,
) -> str:
    divergence = Divergence(
        kind,
        mode.split("-")[0],
        (mode,),
        value=fields.pop("value", VALUE.get(kind, "")),
        message=fields.pop("message", MESSAGE.get(kind, "")),
        **fields,
    )
    case = parse_case(text)
    script = write_script(comparison_of(case, blobs), divergence, blobs or {}, title="A title")
    assert_is_standalone(script, divergence)
    return script


def assert_is_standalone(script: str, divergence: Divergence) -> None:
    tree = ast.parse(script)
    roots: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").split(".")[0])
    assert roots - {"faulthandler"} == {"numpy", divergence.framework}
    said = ("assert", "AssertionError", dies_of("SIGSEGV"), hangs_for(PATIENCE))
    says = any(one in script for one in said)
    assert says
    assert script.rstrip().endswith('print("no difference")')
    assert "open(" not in script


# --------------------------------------------------------------------------------- every kind
@pytest.mark.parametrize("mode", [one for modes in MODES.values() for one in modes])
@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_standalone_script(kind: Kind, mode: str) -> None:
    message = MESSAGE.get(kind, "")
    if kind is Kind.MOVED and mode.startswith("mindspore"):
        message = "mindspore seed"
    script = script_of(PLAIN, kind, mode=mode, message=message, worst=(0, 1))
    compiled = {
        "torch-aot": 'backend="aot_eager", fullgraph=True, dynamic=False',
        "torch-inductor": 'backend="inductor", fullgraph=True, dynamic=False',
        "mindspore-graph": 'capture_mode="ast", fullgraph=True',
    }.get(mode)
    # MindSpore compiles the call and its gradient one by one.
    times = 2 if kind is Kind.MOVED and mode == "mindspore-graph" else 1
    assert compiled is None or script.count(compiled) == times


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("a contiguous result is strided", "assert got.is_contiguous()"),
        ("a copy shares its operand's storage", "assert not shares"),
        ("a view has storage of its own", "assert shares"),
    ],
)
def test_a_promised_layout_is_asserted_as_it_was_promised(message: str, wanted: str) -> None:
    assert wanted in script_of(PLAIN, Kind.LAYOUT, message=message)


def test_a_hang_is_ended_by_the_watchdog_of_the_script() -> None:
    script = script_of(PLAIN, Kind.HANG)
    assert f"faulthandler.dump_traceback_later({PATIENCE}, exit=True)" in script
    waiting = "import faulthandler, time\nfaulthandler.dump_traceback_later(0.2, exit=True)\n"
    ran = run_script(f"{waiting}print({hangs_for(PATIENCE)!r}, flush=True)\ntime.sleep(30)\n")
    assert ran.reproduced


def test_integers_are_compared_exactly() -> None:
    text = PLAIN.replace("float32", "int64").replace(
        "[0.1, -0.2, nan, inf, -inf, 1e-7] requires_grad", "[1, 2, 3, 4, 5, 9007199254740993]"
    )
    text = text.replace("exp(x)", "neg(x)").replace("  gradient reverse\n", "")
    script = script_of(text.replace(" gradients", ""), Kind.VALUES)
    assert "np.testing.assert_array_equal(got, expected)" in script
    assert "9007199254740993" in script
    assert ".double()" not in script


def test_the_baseline_is_shown_uncompiled_before_the_raise() -> None:
    script = script_of(PLAIN, Kind.RAISES)
    assert 'print("torch-eager:", forward(x))' in script
    assert "forward = torch.compile" not in script


@pytest.mark.parametrize(("outputs", "wanted"), [("v0, v1", "len(got) == 2"), ("v1", "not isin")])
def test_a_structure_is_that_of_all_outputs(outputs: str, wanted: str) -> None:
    script = script_of(PLAIN.replace("return v0, v1", f"return {outputs}"), Kind.STRUCTURE)
    assert wanted in script
    assert "got = got[" not in script


def test_state_that_moved_is_read_before_and_after() -> None:
    script = script_of(PLAIN, Kind.MOVED)
    reads = "[torch.get_rng_state().numpy().tobytes(), torch.get_num_threads()]"
    assert script.count(reads) == 2
    between = script.partition(reads)[2].partition(reads)[0]
    assert "torch.autograd.grad(" in between, "the gradient may be what moves it"
    plain = script_of(PLAIN.replace("  gradient reverse\n", ""), Kind.MOVED)
    assert "grad(" not in plain


def test_every_flag_of_the_workers_can_be_read_by_a_script() -> None:
    keys: set[str] = set()
    for module, function in (
        ("torch_worker", "flags"),
        ("mindspore_worker", "flags"),
        ("session", "_flags"),
    ):
        path = Path(engine.__file__).parent / "executors" / "worker" / f"{module}.py"
        flags = next(
            one
            for one in ast.parse(path.read_text()).body
            if isinstance(one, ast.FunctionDef) and one.name == function
        )
        keys |= {ast.literal_eval(key) for key in _dictionary(flags).keys if key is not None}
    assert keys == STATE.keys()


def _dictionary(function: ast.FunctionDef) -> ast.Dict:
    return next(one for one in ast.walk(function) if isinstance(one, ast.Dict))


def test_a_death_in_the_gradient_takes_the_gradient() -> None:
    case = parse_case(PLAIN)
    failure = Failure("SIGSEGV", "", "", "gradient")
    died = Outcome("torch-aot", Status.DIED, failure=failure, signal="SIGSEGV")
    divergence = Divergence(Kind.DIED, "torch", ("torch-aot",), message="SIGSEGV")
    script = write_script(comparison_of(case, died=died), divergence, {}, title="It dies")
    assert "torch.autograd.grad(loss(x, c0, c1)" in script.rpartition("here")[2]


# ------------------------------------------------------------------------------ calls and plans
TWO_CALLS = PLAIN.replace("  gradient reverse\n", "  call x: float32[4] = [5.0, 6.0, 7.0, 8.0]\n")


@pytest.mark.parametrize("kind", [Kind.SECOND_CALL, Kind.SHAPE, Kind.RAISES])
def test_a_second_call_gets_its_own_inputs(kind: Kind) -> None:
    script = script_of(TWO_CALLS, kind, call=1)
    first, second = script.index("0.1, -0.2"), script.index("5.0, 6.0, 7.0, 8.0")
    assert first < script.index("run = torch.compile") < script.index("run(x)") < second
    assert second < script.rindex("run(x)")
    assert kind is not Kind.SHAPE or "== (4,)" in script


def test_a_first_call_is_not_asked_for_the_second() -> None:
    assert "5.0" not in script_of(TWO_CALLS, Kind.VALUES)


@pytest.mark.parametrize("mode", ["torch-eager", "mindspore-pynative"])
def test_a_second_derivative_is_taken_twice(mode: str) -> None:
    script = script_of(PLAIN.replace("reverse", "second"), Kind.GRADIENT, mode=mode)
    assert len(re.findall(r"(?:autograd|ms)\.grad\(", script)) == 2


@pytest.mark.parametrize("shape", ["2,3", "20,30"])
def test_a_compiled_second_derivative_is_that_of_the_worker(shape: str) -> None:
    text = PLAIN.replace("reverse", "second").replace("2,3", shape)
    text = text.replace("[0.1, -0.2, nan, inf, -inf, 1e-7]", "normal(seed=0)")
    script = script_of(text, Kind.GRADIENT_RAISES, mode="torch-inductor")
    assert "torch.compile(second, " in script
    assert ("torch.func.hessian(" in script) is (shape == "2,3")
    worker = Path(engine.__file__).parent / "executors" / "worker" / "torch_worker.py"
    assert f"\nSMALL_HESSIAN = {SMALL_HESSIAN}  #" in worker.read_text()


@pytest.mark.parametrize("mode", ["torch-eager", "torch-aot", "mindspore-pynative"])
def test_a_forward_derivative_is_taken_along_a_direction(mode: str) -> None:
    script = script_of(PLAIN.replace("reverse", "forward"), Kind.GRADIENT_RAISES, mode=mode)
    assert "jvp(lambda x: loss(x, c0, c1), (x,), (d_x,))" in script
    assert "requires_grad_" not in script


def test_inputs_ask_for_a_gradient_only_where_the_plan_does() -> None:
    assert "requires_grad_()" in script_of(PLAIN, Kind.VALUES)
    assert "requires_grad_()" not in script_of(
        PLAIN.replace("  gradient reverse\n", ""), Kind.VALUES
    )


def test_a_set_up_with_weights_is_called_first() -> None:
    text = """case 1
graph cell
  input x: float32[2,4] = normal(seed=0)
  weight w: float32[3,4] = normal(seed=1)
  weight b: float32[3] = normal(seed=2)
  v1: float32[2,3] = linear(x, w, b) as torch:module mindspore:module
  return v1
plan
  call
  check values
"""
    for mode in ("torch-eager", "mindspore-pynative"):
        script = script_of(text, Kind.VALUES, mode=mode)
        assert script.index("\nsetup(w, b)") < script.index("got = forward(")


# ------------------------------------------------------------------------------------- numbers
class _Tensors:
    """Stands for torch and for mindspore: tensors are arrays, and a few methods are theirs."""

    class Tensor(np.ndarray[Any, Any]):
        def to(self, dtype: Any) -> Any:
            return self.astype(dtype).view(_Tensors.Tensor)

        def view(self, *shape: Any) -> Any:
            if len(shape) == 1 and isinstance(shape[0], type):
                return np.ndarray.view(self, shape[0])
            return self.reshape(*shape)

        permute = np.ndarray.transpose

        def expand(self, shape: Any) -> Any:
            return np.broadcast_to(self, shape)

        broadcast_to = expand

        def requires_grad_(self) -> Any:
            return self

    bfloat16 = ml_dtypes.bfloat16
    bool_ = np.bool_

    def __getattr__(self, name: str) -> Any:
        return np.dtype(name)

    @staticmethod
    def from_numpy(array: Array) -> Any:
        assert isinstance(array, np.ndarray)
        return np.ndarray.view(array, _Tensors.Tensor)


def made_by(lines: list[str]) -> dict[str, Array]:
    """What the lines assign, on a stand-in for the frameworks."""

    def tensor(array: Array, dtype: Any) -> Any:
        return np.ndarray.view(np.asarray(array).astype(dtype), _Tensors.Tensor)

    scope: dict[str, Any] = {"np": np, "torch": _Tensors(), "ms": _Tensors(), "Tensor": tensor}
    exec("\n".join(lines), scope)
    return {name: np.asarray(one) for name, one in scope.items() if isinstance(one, np.ndarray)}


def assert_same_bytes(seen: Array, wanted: Array) -> None:
    assert (seen.dtype, seen.shape) == (wanted.dtype, wanted.shape)
    is_nan = np.isnan(wanted.astype(np.complex128))
    assert np.array_equal(is_nan, np.isnan(seen.astype(np.complex128)))
    assert seen[~is_nan].tobytes() == wanted[~is_nan].tobytes()


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    dtype = draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    source = "float32" if dtype == "bfloat16" else dtype
    array: Array = draw(npst.arrays(source, shape))
    with np.errstate(all="ignore"):
        return array.astype(numpy_dtype(dtype))


@pytest.mark.parametrize("framework", ["torch", "mindspore"])
@settings(max_examples=60)
@given(array=arrays())
def test_written_numbers_read_back_as_the_same_numbers(framework: str, array: Array) -> None:
    given_ = Input("x", Dense(array.dtype.name, array.shape), init=StoredBlob("0" * 64))
    lines = input_lines([given_], {"x": array}, framework)
    assert_same_bytes(made_by(lines)["x"], array)


@pytest.mark.parametrize(
    ("dtype", "numbers", "text"),
    [
        ("float32", [0.1, 1e-7, 3.0], "0.1, 1e-07, 3.0"),
        ("float16", [0.1, 65504.0], "0.1, 65500.0"),
        ("bfloat16", [0.1, 3.0], "0.1, 3.0"),
        ("float64", [0.1, 1 / 3], "0.1, 0.3333333333333333"),
        ("float32", [np.nan, np.inf, -np.inf], "np.nan, np.inf, -np.inf"),
        ("bool", [True, False], "True, False"),
        ("int64", [2**63 - 1, -(2**63)], "9223372036854775807, -9223372036854775808"),
        ("complex64", [0.1 - 2j], "complex(0.1, -2.0)"),
    ],
)
def test_numbers_are_written_as_short_as_they_can_be(
    dtype: str, numbers: list[Any], text: str
) -> None:
    written = array_text(np.array(numbers).astype(numpy_dtype(dtype)))
    assert re.sub(r"\s+", " ", written).strip("[] ") == text


@pytest.mark.parametrize(
    ("dtype", "init", "is_short"),
    [
        ("float32", Random("normal", 3, (("mean", 0.5), ("std", 2.0))), True),
        ("float16", Random("normal", 3), True),
        ("bfloat16", Random("normal", 3), True),
        ("float64", Random("uniform", 3, (("low", -1.0), ("high", 2.0))), True),
        ("int64", Random("integers", 3, (("low", 0), ("high", 9))), True),
        ("int32", Random("normal", 3, (("mean", 0.0), ("std", 9.0))), False),
        ("bool", Random("normal", 3), False),
        ("complex64", Random("normal", 3), False),
        ("float32", Random("bernoulli", 3), False),
        ("float32", Formula("arange", (("start", 1), ("step", 1))), True),
        ("uint8", Formula("arange", (("start", 200), ("step", 1))), True),
        ("int32", Formula("arange", (("start", 0), ("step", 0.6))), False),
        ("float32", Formula("full", (("value", float("nan")),)), True),
        ("int32", Formula("full", (("value", float("nan")),)), False),
        ("int32", Formula("full", (("value", 2.7),)), False),
        ("bool", Formula("full", (("value", -1),)), False),
    ],
)
def test_a_generator_stands_for_an_array_only_if_it_gives_it(
    dtype: str, init: Init, *, is_short: bool
) -> None:
    given_ = Input("x", Dense(dtype, (10, 10)), init=init)
    array = materialise((given_,))["x"]
    for framework in ("torch", "mindspore"):
        lines = input_lines([given_], {"x": array}, framework)
        assert (len("".join(lines)) < 200) is is_short
        assert_same_bytes(made_by(lines)["x"], array)


@pytest.mark.parametrize("framework", ["torch", "mindspore"])
@pytest.mark.parametrize(
    "layout", ["contiguous", "channels_last", "transposed", "strided", "offset", "expanded"]
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
def test_an_input_keeps_its_values_in_every_layout(layout: str, framework: str, dtype: str) -> None:
    given_ = Input("x", Dense(dtype, (2, 3, 4)), init=Random("normal", 1), layout=layout)
    array = materialise((given_,))["x"]
    wanted = np.broadcast_to(array[:1], array.shape) if layout == "expanded" else array
    lines = input_lines([given_], {"x": array}, framework)
    assert_same_bytes(made_by(lines)["x"], wanted)
    assert (
        lines == input_lines([replace(given_, layout="contiguous")], {"x": array}, framework)
    ) is (layout == "contiguous")


def test_inputs_of_one_alias_group_share_their_storage() -> None:
    inputs = [
        Input("x", Dense("float32", (2,)), init=Literal((1.0, 2.0)), alias="g"),
        Input("y", Dense("float32", (2, 2)), init=Literal((3.0, 4.0, 5.0, 6.0)), alias="g"),
    ]
    made = made_by(input_lines(inputs, materialise(inputs[1:]) | {"x": np.ones(2, "f4")}, "torch"))
    np.testing.assert_array_equal(made["x"], [3, 4])
    assert np.shares_memory(made["x"], made["y"])


# ------------------------------------------------------------------------------------ expected
def large(value: str) -> str:
    return f"""case 1
graph large
  input x: {value}
  v1: {value.partition(" = ")[0]} = neg(x)
  return v1
plan
  call
  check values state
"""


@pytest.mark.parametrize(
    ("value", "worst", "said"),
    [
        ("float32[9,9] = formula arange(start=0, step=1)", (1, 2), "got[(1, 2)]"),
        ("complex64[9,9] = normal(seed=0)", (1, 2, 1), "got[(1, 2)]"),
        ("int64[99] = formula arange(start=0, step=1)", (7,), "expected = -7"),
        ("float32[9,9] = formula arange(start=0, step=1)", (), "expected = np.array([["),
        ("float32[] = [2.0]", (), "expected = np.array(-2.0)"),
        ("complex64[1] = [complex(1.0, 2.0)]", (0, 1), "[complex(-1.0, -2.0)]"),
        ("float32[0,3] = normal(seed=0)", (), "expected = np.array(np.zeros((0, 3)))"),
    ],
)
def test_a_long_answer_is_compared_at_its_worst_element(
    value: str, worst: tuple[int, ...], said: str
) -> None:
    assert said in script_of(large(value), Kind.VALUES, mode="torch-eager", worst=worst)


@pytest.mark.parametrize("kind", [Kind.WRITE_LOST, Kind.INPUT_CHANGED])
def test_the_input_after_the_call_is_compared_with_its_own_copy(kind: Kind) -> None:
    for dtype in ("float32", "complex64", "bfloat16"):
        script = script_of(large(f"{dtype}[2] = normal(seed=0)"), kind)
        assert "before = x" in script
        assert ".copy()" in script


def test_quotes_in_a_title_do_not_end_the_docstring() -> None:
    case = parse_case(PLAIN)
    divergence = Divergence(Kind.DTYPE, "torch", ("torch-aot",), value="v1", evidence=('"""\\',))
    script = write_script(comparison_of(case), divergence, {}, title='a """ and \\x')
    assert isinstance(ast.parse(script).body[0], ast.Expr)


# ---------------------------------------------------------------------------------- how it ended
@pytest.mark.parametrize(
    ("script", "reproduced"),
    [
        ("assert 1 == 2", True),
        (
            "try:\n    1 / 0\nexcept Exception as error:\n    raise AssertionError() from error",
            True,
        ),
        ("assert False, 'line\\nand line'", True),
        ("print('no difference')", False),
        ("raise RuntimeError('AssertionError: no')", False),
        ("import sys\nprint('AssertionError', file=sys.stderr)\nsys.exit(3)", False),
        ("import os\nos.kill(os.getpid(), 11)", False),
        (f"import os\nprint({dies_of('SIGSEGV')!r}, flush=True)\nos.kill(os.getpid(), 11)", True),
        (f"import os\nprint({dies_of('SIGSEGV')!r}, flush=True)\nos.kill(os.getpid(), 9)", False),
    ],
)
def test_a_script_reproduces_only_what_it_says(script: str, *, reproduced: bool) -> None:
    assert run_script(script).reproduced is reproduced


def test_a_script_that_does_not_end_does_not_reproduce() -> None:
    run = run_script("while True: pass", deadline=0.5)
    assert (run.reproduced, run.returncode) == (False, -9)
    assert (run.ending, run.reason) == (Ending.NOT_RUN, "not finished after 0 s")


@pytest.mark.parametrize(
    ("script", "ending", "reason"),
    [
        ("print('no difference')", Ending.PASSED, ""),
        ("assert 1 == 2", Ending.REPRODUCED, ""),
        ("print('fine')", Ending.NOT_RUN, "it ended without printing “no difference”"),
        ("import no_such", Ending.NOT_RUN, "ModuleNotFoundError: No module named 'no_such'"),
        ("import sys\nsys.exit(3)", Ending.NOT_RUN, "exit status 3"),
        ("import os\nos.kill(os.getpid(), 9)", Ending.NOT_RUN, "the process died of SIGKILL"),
        (
            "try:\n    bytearray(2**42)\nexcept MemoryError as e:\n    raise AssertionError from e",
            Ending.NOT_RUN,
            "not enough memory",
        ),
    ],
)
def test_what_could_not_run_is_neither_reproduced_nor_passed(
    script: str, ending: Ending, reason: str
) -> None:
    run = run_script(script, address_space=2**32)
    assert (run.ending, run.reason) == (ending, reason), run.output


def test_an_interpreter_that_is_not_there_could_not_run() -> None:
    run = run_script("assert 1 == 2", interpreter="/no/such/python")
    assert run.ending is Ending.NOT_RUN
    assert run.reason == "/no/such/python cannot be started: No such file or directory"


def test_what_a_script_started_ends_with_it(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid)\nprint('no difference')"
    )
    run = run_script(script, scratch=tmp_path)
    assert run.ending is Ending.PASSED
    with suppress(FileNotFoundError, ProcessLookupError):  # until its end is noticed
        state = Path("/proc", run.output.split()[0], "stat")
        until = monotonic() + 20
        while state.read_text().rpartition(")")[2].split()[0] != "Z":
            assert monotonic() < until, "it still runs"
    assert list(tmp_path.iterdir()) == []


def test_a_watcher_ends_a_script_by_raising() -> None:
    def leave() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        run_script("import time\ntime.sleep(60)", watch=leave)


def test_a_script_sees_nothing_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ada:secret@db/flowmut")
    monkeypatch.setenv("FLOWMUT_SECRET_KEY", "secret")
    run = run_script("import os\nassert 'secret' in str(os.environ)\n")
    assert run.reproduced, "the test's own settings are seen otherwise"


# ------------------------------------------------------------------------ what a maintainer asks
WIDE = """case 1
graph wide
  input x: float64[2] = [0.5, 1.0]
  v0: float64[2] = exp(x)
  return v0
plan
  call
  check values
"""


@pytest.mark.parametrize(
    ("off", "tolerance"),
    [(1e-5, "rtol=1e-07, atol=1e-07"), (2e-8, "rtol=7.450580596923828e-09, atol=1e-10")],
)
def test_default_tolerance_is_asserted_where_it_shows_the_difference(
    off: float, tolerance: str
) -> None:
    case = parse_case(WIDE)
    wrong = np.exp(np.array([0.5, 1.0])) * (1 + off)
    answer = Answer("float64", (2,), array=wrong)
    outcome = Outcome("mindspore-graph", Status.OK, calls=(CallAnswer("tensor", (answer,)),))
    divergence = Divergence(Kind.VALUES, "mindspore", ("mindspore-graph",), value="v0", worst=(1,))
    script = write_script(comparison_of(case, graph=outcome), divergence, {}, title="A title")
    assert tolerance in script


@pytest.mark.parametrize("off", [1e-5, 6e-8, 1.7e-8])
def test_what_is_asserted_of_a_gradient_shows_the_difference(off: float) -> None:
    exact = np.array([1.414213562373095])
    rtol, atol = shown_by(exact * (1 + off), exact, (0,), "float64", times=4)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(exact * (1 + off), exact, rtol=rtol, atol=atol)


def test_eager_mode_is_printed_beside_a_compiled_answer() -> None:
    script = script_of(PLAIN, Kind.VALUES, mode="torch-inductor", worst=(0, 1))
    assert "eager = forward(x)[1]" in script
    assert script.index("got = torch.compile(") < script.index("eager = forward(x)")
    pynative = script_of(PLAIN, Kind.VALUES, mode="mindspore-graph", worst=(0, 1))
    assert 'print("pynative:"' in pynative
    # Eager mode is the accused, writes to what it was given, or draws other numbers.
    assert "eager = " not in script_of(PLAIN, Kind.VALUES, mode="torch-eager", worst=(0, 1))
    writes = PLAIN.replace("exp(x)", "exp_(x) writes x")
    assert "eager = " not in script_of(writes, Kind.VALUES, mode="torch-inductor", worst=(0, 1))


def test_of_a_long_output_whole_lines_are_kept() -> None:
    run = run_script("for at in range(3000):\n    print('line', at)\nassert False\n")
    assert run.output.splitlines()[0].startswith("line ")
    assert "AssertionError" in run.output


def test_of_a_long_output_both_ends_are_kept() -> None:
    ran = run_script("for at in range(5000):\n    print('line', at)\nprint('no difference')\n")
    lines = ran.output.splitlines()
    assert lines[0] == "line 0"
    assert lines[-1] == "no difference"
    (between,) = [one for one in lines if "characters left out" in one]
    assert lines[lines.index(between) + 1].startswith("line ")
    assert len(ran.output) < 6200
