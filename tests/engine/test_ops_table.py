"""One test per rule over all rows of the operator table."""

from __future__ import annotations

import ast
import builtins
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from engine.executors.apis import MODULES
from engine.ir.types import FLOATS, Dense, Tuple, Type, numpy_dtype
from engine.ir.values import materialise
from engine.ops import FRAMEWORKS, OPS, Form, OpSpec
from engine.ops.examples import Example, examples
from engine.ops.typing import bind

ROWS = {name: spec for name, spec in OPS.items() if "control" not in spec.tags}
FEW = 24
"""Attribute combinations of a dtype and shape that a test looks at, ordinary first."""

every_row = pytest.mark.parametrize("spec", ROWS.values(), ids=ROWS)


def some_examples(spec: OpSpec) -> Iterator[Example]:
    """Every dtype and shape, with the first few attribute combinations of each."""
    for dtype, shape in itertools.product(spec.dtypes, spec.shapes):
        yield from itertools.islice(examples(spec, dtypes=[dtype], shapes=[shape]), FEW)


def arguments(example: Example) -> tuple[list[Any], Mapping[str, np.ndarray[Any, Any]]]:
    """What the reference is called with, and the arrays behind it by name."""
    arrays = materialise(example.inputs)
    slots = bind(example.spec, example.operands)
    given = [
        tuple(arrays[name] for name in one)
        if isinstance(one, tuple)
        else (None if one is None else arrays[one])
        for one in slots.values()
    ]
    return given, arrays


def assert_has_type(answer: Any, kind: Type, example: Example) -> None:
    about = f"{[one.type for one in example.inputs]} {example.attrs}"
    if isinstance(kind, Tuple):
        assert isinstance(answer, tuple), about
        assert len(answer) == len(kind.items), about
        for one, inner in zip(answer, kind.items, strict=True):
            assert_has_type(one, inner, example)
    elif isinstance(kind, Dense):
        array = np.asarray(answer)
        assert array.dtype == numpy_dtype(kind.dtype), about
        if kind.is_static:
            assert array.shape == kind.shape, about
        else:
            assert all(seen <= most for seen, most in zip(array.shape, kind.bounds, strict=True)), (
                about
            )


@every_row
def test_inferred_type_is_that_of_the_reference(spec: OpSpec) -> None:
    count = 0
    for example in some_examples(spec):
        given, _ = arguments(example)
        with np.errstate(all="ignore"):
            answer = spec.reference(*given, **example.attrs)
        assert_has_type(answer, example.type, example)
        count += 1
    assert count > 0, "no example is legal"


@every_row
def test_every_dtype_has_a_legal_example(spec: OpSpec) -> None:
    lacking = [one for one in spec.dtypes if next(examples(spec, dtypes=[one]), None) is None]
    assert lacking == []


@every_row
def test_reference_leaves_its_operands_alone(spec: OpSpec) -> None:
    for dtype in spec.dtypes:
        example = next(examples(spec, dtypes=[dtype]))
        given, arrays = arguments(example)
        before = {name: array.tobytes() for name, array in arrays.items()}
        with np.errstate(all="ignore"):
            spec.reference(*given, **example.attrs)
        assert {name: array.tobytes() for name, array in arrays.items()} == before


@every_row
def test_operator_that_is_no_view_answers_with_new_memory(spec: OpSpec) -> None:
    if spec.views is not None or "view" in spec.tags:
        pytest.skip("views share memory")
    example = next(examples(spec))
    given, arrays = arguments(example)
    with np.errstate(all="ignore"):
        answer = spec.reference(*given, **example.attrs)
    for one in answer if isinstance(answer, tuple) else (answer,):
        assert not any(one is array for array in arrays.values())


@every_row
def test_shape_preserving_row_keeps_the_type_of_floats(spec: OpSpec) -> None:
    if "shape-preserving" not in spec.tags:
        pytest.skip("the row does not promise it")
    for dtype in (one for one in spec.dtypes if one in FLOATS):
        example = next(examples(spec, dtypes=[dtype]))
        assert example.type == Dense(dtype, example.call[spec.first.name].shape)


# ------------------------------------------------------------------------------------------ forms
def written(spec: OpSpec, form: Form) -> list[str]:
    """Setup, statements, call and result with names and literals in place."""
    fill = {one.name: "None" if one.optional else one.name for one in spec.operands}
    fill |= {name: repr(values[0]) for name, values in spec.attrs.items()}
    fill |= {"self": "made", "out": "answer"}
    fill |= {name: "torch.float32" for name in spec.attrs if name.endswith("dtype")}
    texts = (*form.setup, *form.before, form.call, *([form.result] if form.result else []))
    return [text.format_map(fill) for text in texts]


def names_read(text: str) -> set[str]:
    """Names that a piece of Python takes from outside."""
    seen = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Name)]
    made = {one.id for one in seen if isinstance(one.ctx, ast.Store)}
    made |= {one.arg for one in ast.walk(ast.parse(text)) if isinstance(one, ast.arg)}
    return {one.id for one in seen} - made


@every_row
def test_forms_are_python_over_known_modules(spec: OpSpec) -> None:
    for framework in FRAMEWORKS:
        known = {*MODULES[framework], "torch", "made", "answer", *dir(builtins)}
        known |= {one.name for one in spec.operands}
        for name, form in spec.forms[framework].items():
            for text in written(spec, form):
                assert names_read(text) <= known, f"{framework} {name}: {text}"


@every_row
def test_every_form_can_be_used_and_says_why_it_is_equal(spec: OpSpec) -> None:
    """A form has a source unless it is the plainest one for some call."""
    for framework in FRAMEWORKS:
        unused = dict(spec.forms[framework])
        plainest = {next(iter(unused), "")}
        for example in examples(spec):
            names = spec.forms_for(framework, example.call)
            plainest.update(names[:1])
            for name in names:
                unused.pop(name, None)
            if not unused:
                break
        assert list(unused) == [], f"{framework}: no example is written like this"
        unsaid = {name for name, form in spec.forms[framework].items() if not form.source}
        assert unsaid <= plainest, f"{framework}: no source"


@every_row
def test_no_two_forms_of_a_row_are_written_alike(spec: OpSpec) -> None:
    for framework in FRAMEWORKS:
        texts: dict[tuple[object, ...], str] = {}
        for name, form in spec.forms[framework].items():
            text = (form.setup, form.before, form.call, form.result)
            assert text not in texts, f"{framework}: {name} is {texts[text]}"
            texts[text] = name


@every_row
def test_every_example_can_be_written_for_torch(spec: OpSpec) -> None:
    if not spec.forms["torch"]:
        pytest.skip("the row is MindSpore's alone")
    for example in some_examples(spec):
        assert spec.forms_for("torch", example.call), f"{example.attrs}"


@every_row
def test_limits_name_forms_and_dtypes_of_the_row(spec: OpSpec) -> None:
    for limit in spec.limits:
        assert limit.framework in FRAMEWORKS
        assert limit.reason
        assert limit.form == "" or limit.form in spec.forms[limit.framework]
        assert set(limit.dtypes) <= set(spec.dtypes)


@every_row
def test_names_are_those_of_values_and_files(spec: OpSpec) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", spec.name)
    assert all(re.fullmatch(r"[a-z_]+", tag.replace("-", "_")) for tag in spec.tags)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "float32", "float64", "complex64", "complex128"]
)
def test_can_cast_answers_for_the_dtypes_of_the_referee_too(dtype: str) -> None:
    answer = OPS["can_cast"].reference(np.zeros(1, dtype), to_dtype="complex64")
    assert answer == np.True_
    into_bool = OPS["can_cast"].reference(np.zeros(1, dtype), to_dtype="bool")
    assert into_bool == np.bool_(dtype == "bool")
