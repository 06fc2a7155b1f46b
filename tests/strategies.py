"""Hypothesis strategies for types, graphs and cases.

`graphs` and `cases` are well-formed and know no operator; `operator_graphs` are chains of real
ones.
"""

from __future__ import annotations

import math

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings

from engine.errors import ConstraintViolated
from engine.ir.case import CHECKS, GRADIENTS, Call, Case, Plan
from engine.ir.check import LAYOUTS
from engine.ir.graph import (
    Attr,
    Formula,
    Graph,
    Init,
    Input,
    Literal,
    Node,
    Random,
    Region,
    StoredBlob,
)
from engine.ir.text import CLAIMS, ROLES
from engine.ir.types import DTYPES, FLOATS, Csr, Dense, Dynamic, Scalar, Tuple, Type
from engine.ops import OPS
from engine.ops.typing import infer_node

__all__ = ["attrs", "cases", "graphs", "inputs", "names", "operator_graphs", "types"]

# How long a draw takes is the machine's business; a test that fails by the clock is a flaky one.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("untimed")


WORDS = (
    *("x", "y", "v0", "_", "A9", "input", "weight", "graph", "return", "yield", "body", "plan"),
    *("call", "as", "views", "item", "csr", "scalar", "lambda", "inf_", "nan1", "complex"),
    "abcdef01" * 8,
)
names = st.sampled_from(WORDS)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
floats = st.floats().map(lambda value: math.nan if math.isnan(value) else value)
scalars = st.none() | st.booleans() | st.integers() | floats | st.text(max_size=8)
attrs: st.SearchStrategy[Attr] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6
)
attr_pairs = st.dictionaries(names, attrs, max_size=3).map(lambda pairs: tuple(pairs.items()))


# -------------------------------------------------------------------------------------- types
def shapes(most: int = 5) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, most), max_size=4).map(tuple)


@st.composite
def static_types(draw: st.DrawFn) -> Dense:
    shape = draw(shapes())
    strides = draw(st.none() | st.tuples(*(st.integers(-3, 64) for _ in shape)))
    return Dense(draw(st.sampled_from(DTYPES)), shape, strides)


@st.composite
def dynamic_types(draw: st.DrawFn) -> Dense:
    static = draw(static_types())
    return Dense(static.dtype, (Dynamic(draw(st.integers(0, 9))), *static.shape))


@st.composite
def sparse_types(draw: st.DrawFn) -> Csr:
    rows, columns = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    nnz = draw(st.integers(0, rows * columns))
    return Csr(
        draw(st.sampled_from(FLOATS)),
        (rows, columns),
        nnz,
        draw(st.sampled_from(("int32", "int64"))),
    )


input_types = (
    static_types() | sparse_types() | st.sampled_from(("int", "float", "bool")).map(Scalar)
)
types: st.SearchStrategy[Type] = st.recursive(
    input_types | dynamic_types(),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: Tuple(tuple(items))),
    max_leaves=4,
)


# ------------------------------------------------------------------------------------- inputs
randoms = st.builds(
    Random,
    st.sampled_from(("normal", "uniform", "integers", "bernoulli", "permutation")),
    st.integers(0, 2**32),
    st.dictionaries(names.filter("seed".__ne__), floats | st.integers(), max_size=2).map(
        lambda pairs: tuple(pairs.items())
    ),
)
formulas = st.builds(Formula, names, attr_pairs)


@st.composite
def inits(draw: st.DrawFn, of: Type) -> Init:
    written: list[st.SearchStrategy[Init]] = [randoms, formulas, st.builds(StoredBlob, digests)]
    if isinstance(of, Dense) and of.elements <= 8:
        number: st.SearchStrategy[complex] = st.integers(-9, 9) | st.booleans()
        if of.dtype in FLOATS:
            number = floats
        elif of.dtype == "complex64":
            number = st.complex_numbers(allow_nan=False)
        values = st.lists(number, min_size=of.elements, max_size=of.elements)
        written.append(values.map(lambda found: Literal(tuple(found))))
    return draw(st.one_of(written))


@st.composite
def inputs(draw: st.DrawFn, name: str) -> Input:
    of = draw(input_types)
    may_require = isinstance(of, Dense) and of.dtype in (*FLOATS, "complex64")
    return Input(
        name,
        of,
        draw(st.sampled_from(ROLES)),
        draw(inits(of)),
        draw(st.sampled_from(LAYOUTS)),
        "",
        may_require and draw(st.booleans()),
    )


# ------------------------------------------------------------------------------ graphs, cases
@st.composite
def nodes(draw: st.DrawFn, fresh: list[str], seen: list[str], *, deep: bool) -> Node:
    """A node that reads values of `seen` and takes its name, and its body's names, from `fresh`."""
    name = fresh.pop()
    operands = draw(st.lists(st.none() | st.sampled_from(seen), max_size=3)) if seen else []
    bodies = []
    if deep and draw(st.integers(0, 4)) == 0:
        bodies = [draw(regions(fresh, seen)) for _ in range(draw(st.integers(1, 2)))]
    present = [one for one in operands if one is not None]
    views = draw(st.none() | st.sampled_from(present)) if present else None
    forms = draw(st.dictionaries(st.sampled_from(("torch", "mindspore")), names, max_size=2))
    return Node(
        name,
        draw(names),
        tuple(operands),
        draw(types),
        draw(attr_pairs),
        tuple(forms.items()),
        None,
        views,
        tuple(bodies),
        draw(st.integers(0, 9)) if bodies else None,
    )


@st.composite
def regions(draw: st.DrawFn, fresh: list[str], outside: list[str]) -> Region:
    parameters = tuple(Input(fresh.pop(), draw(types)) for _ in range(draw(st.integers(1, 2))))
    captures: tuple[tuple[str, str], ...] = ()
    if outside and draw(st.booleans()):
        captures = ((fresh.pop(), draw(st.sampled_from(outside))),)
    seen = [one.name for one in parameters] + [inner for inner, _ in captures]
    inner = []
    for _ in range(draw(st.integers(0, 2))):
        inner.append(draw(nodes(fresh, seen, deep=False)))
        seen.append(inner[-1].name)
    results = draw(st.lists(st.sampled_from(seen), min_size=1, max_size=2))
    return Region(parameters, captures, tuple(inner), tuple(results))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Well-formed graphs of invented operators."""
    turn = draw(st.integers(0, len(WORDS) - 1))
    words = (*WORDS[turn:], *WORDS[:turn])
    fresh = [f"{word}{number}" for number in (2, 1, "") for word in words]
    given = tuple(draw(inputs(fresh.pop())) for _ in range(draw(st.integers(0, 3))))
    seen = [one.name for one in given]
    found = []
    for _ in range(draw(st.integers(0 if seen else 1, 4))):
        found.append(draw(nodes(fresh, seen, deep=True)))
        seen.append(found[-1].name)
    outputs = draw(st.lists(st.sampled_from(seen), min_size=1, max_size=3))
    return Graph(draw(names), given, tuple(found), tuple(outputs))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    graph = draw(graphs())
    calls = []
    for _ in range(draw(st.integers(1, 2))):
        chosen = [one.name for one in graph.inputs if draw(st.booleans())]
        calls.append(Call(tuple(draw(inputs(name)) for name in chosen)))
    plan = Plan(
        tuple(calls),
        draw(st.sampled_from(GRADIENTS)),
        tuple(draw(st.lists(st.sampled_from(CHECKS), min_size=1, unique=True))),
        tuple(draw(st.lists(st.integers(0, len(graph.outputs) - 1), max_size=2))),
    )
    return Case(graph, plan, draw(st.sampled_from(("", *CLAIMS))))


UNARY = sorted(
    name
    for name, row in OPS.items()
    # A decomposition has no answer for NaN, which other operators of a chain may give.
    if len(row.operands) == 1 and not row.random and not row.tags & {"control", "decomposition"}
)


@st.composite
def operator_graphs(draw: st.DrawFn) -> Graph:
    """Chains of one-operand operators of the table on one floating input."""
    dtype = draw(st.sampled_from(("float32", "float64", "float16", "bfloat16")))
    start = Input("x", Dense(dtype, draw(st.lists(st.integers(1, 4), max_size=3).map(tuple))))
    known: dict[str, Type] = {"x": start.type}
    found: list[Node] = []
    for _ in range(draw(st.integers(1, 4))):
        row = OPS[draw(st.sampled_from(UNARY))]
        chosen = {name: draw(st.sampled_from(values)) for name, values in row.attrs.items()}
        node = Node(
            f"v{len(found)}",
            row.name,
            (list(known)[-1],),
            start.type,
            tuple(sorted(chosen.items())),
        )
        try:
            of = infer_node(node, known)
        except ConstraintViolated:
            continue
        if isinstance(of, Dense) and of.is_static:
            found.append(Node(node.name, node.op, node.operands, of, node.attrs))
            known[node.name] = of
    return Graph("chain", (start,), tuple(found), (list(known)[-1],))
