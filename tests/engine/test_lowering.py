import ast
from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from engine.executors.apis import public_api, public_apis
from engine.executors.lowering import Cotangent, Lowered, Unsupported, lower
from engine.ir.case import Case
from engine.ir.graph import Graph
from engine.ir.text import parse_case
from engine.ops.spec import FRAMEWORKS, OPS, Form
from tests.sample_rows import sample_rows
from tests.strategies import operator_graphs


@pytest.fixture(autouse=True)
def rows() -> Iterator[None]:
    with sample_rows():
        yield


def lowered(body: str, framework: str = "torch", *, plan: str = "", **options: str) -> Lowered:
    head = "case 1\ngraph g\n  input x: float32[2,3] = normal(seed=0)\n"
    return lower(parse_case(f"{head}{body}\n{plan}"), framework, **options)


def forward(body: str, framework: str = "torch", **options: str) -> list[str]:
    """The statements of `forward`, its head left out."""
    text = lowered(body, framework, **options).source.split("def forward")[1]
    return [line.strip() for line in text.splitlines()[1:] if line]


def test_file_has_imports_objects_setup_forward_and_loss_in_this_order() -> None:
    found = lowered(
        "weight w: float32[4,2] = normal(seed=1)\n"
        "v0: float32[2,3] = s_neg(x) as torch:module\n"
        'v1: float32[4,3] = s_mix(v0, w, none; rate=1.0, mode="same", sizes=()) as torch:module\n'
        "return v1",
        plan="plan\ngradient reverse",
    )
    assert found.source == (
        "from torch import nn\n"
        "\n\n"
        "s_neg_v0 = nn.Negative()\n"
        "\n\n"
        "def setup(w):\n"
        "    global s_mix_v1\n"
        "    s_mix_v1 = nn.Mix(w.shape[0])\n"
        "    s_mix_v1.weight = nn.Parameter(w)\n"
        "\n\n"
        "def forward(x, w):\n"
        "    v0 = s_neg_v0(x)\n"
        "    v1 = s_mix_v1(v0)\n"
        "    return v1\n"
        "\n\n"
        "def loss(x, w, c0):\n"
        "    v1 = forward(x, w)\n"
        "    return (v1 * c0).sum()\n"
    )
    assert found.inputs == ("x", "w")
    assert found.setup_inputs == ("w",)
    assert found.module_names == ("s_neg_v0", "s_mix_v1")
    assert found.cotangents == (Cotangent("c0", 0, (4, 3), "float32"),)
    assert found.apis == ("torch.nn.Negative", "torch.nn.Mix")
    assert found.forms == {"v0": "module", "v1": "module"}
    assert {
        found.source.splitlines()[at - 1].strip(): name for at, name in found.lines.items()
    } == {
        "s_neg_v0 = nn.Negative()": "v0",
        "s_mix_v1 = nn.Mix(w.shape[0])": "v1",
        "s_mix_v1.weight = nn.Parameter(w)": "v1",
        "v0 = s_neg_v0(x)": "v0",
        "v1 = s_mix_v1(v0)": "v1",
    }


def test_only_what_is_used_is_imported() -> None:
    assert lowered("return x").source.startswith("def forward(x):")
    text = lowered("v: float32[2,3] = s_neg(x)\nreturn v", "mindspore").source
    assert text.splitlines()[0] == "from mindspore import ops"
    cast = lowered('v: float16[2,3] = s_cast(x; dtype="float16")\nreturn v', "mindspore").source
    assert cast.splitlines()[0] == "import mindspore as ms"


def test_values_are_literals_of_python() -> None:
    body = (
        "input w: float32[4,2] = normal(seed=0)\n"
        'v: float32[4,3] = s_mix(x, w, none; rate=%s, mode="same", sizes=%s)\nreturn v'
    )
    assert forward(body % ("nan", "(2,)"))[0] == (
        'v = F.mix(x, w, None, rate=float("nan"), mode="same", sizes=(2,))'
    )
    assert forward(body % ("-inf", "()"), "mindspore")[0] == (
        'v = mint.mix(x, w, None, float("-inf"), "same", ())'
    )


@pytest.mark.parametrize(
    ("framework", "dtype", "override", "written"),
    [
        ("torch", "float16", "", "torch.float16"),
        ("torch", "bool", "", "torch.bool"),
        ("mindspore", "bool", "", "ms.bool_"),
        ("mindspore", "int64", "", "ms.int64"),
        ("torch", "float16", "float64", "torch.float64"),
        ("torch", "float64", "float64", "torch.float64"),
        ("torch", "complex64", "float64", "torch.complex128"),
        ("torch", "int64", "float64", "torch.int64"),
    ],
)
def test_dtypes_are_those_of_the_framework(
    framework: str, dtype: str, override: str, written: str
) -> None:
    body = f'v: {dtype}[2,3] = s_cast(x; dtype="{dtype}")\nreturn v'
    options = {"dtype_override": override} if override else {}
    call = "to" if framework == "torch" else "astype"
    assert forward(body, framework, **options)[0] == f"v = x.{call}({written})"


def test_names_that_python_or_the_file_needs_are_changed() -> None:
    names = ("lambda", "input", "torch", "F", "sum", "forward", "loss", "ms")
    nodes = "".join(f"{name}: float32[2,3] = s_neg(x)\n" for name in names)
    found = lowered(f"{nodes}return {', '.join(names)}")
    tree = ast.parse(found.source)
    stored = [one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and "v" not in one.id]
    assert {f"{name}_" for name in names} <= set(stored)
    assert found.outputs == names


def test_name_that_is_already_taken_is_changed_again() -> None:
    body = "in: float32[2,3] = s_neg(x)\nin_: float32[2,3] = s_neg(in)\nreturn in, in_"
    assert forward(body) == ["in_ = torch.neg(x)", "in__ = torch.neg(in_)", "return in_, in__"]


def test_object_of_a_node_never_hides_a_value() -> None:
    body = (
        "s_neg_v: float32[2,3] = s_neg(x)\nv: float32[2,3] = s_neg(x) as torch:module\n"
        "return v, s_neg_v"
    )
    assert lowered(body).module_names == ("s_neg_v_",)


def test_item_in_place_and_variadic_nodes() -> None:
    body = (
        "t: (float32[1,3], float32[1,3]) = s_halves(x) views x\n"
        "a: float32[1,3] = item(t; index=1)\n"
        "b: float32[1,3] = s_add_(a, a) writes a\n"
        "c: float32[3,3] = s_join(b, x)\n"
        "return c"
    )
    assert forward(body) == [
        "t = torch.chunk(x, 2)",
        "a = t[1]",
        "a.add_(a)",
        "b = a",
        "c = torch.cat((b, x))",
        "return c",
    ]
    assert lowered(body).lines == {5: "t", 6: "a", 7: "b", 8: "b", 9: "c"}


def test_part_of_an_answer_is_picked_on_the_same_line_where_python_allows() -> None:
    body = "v: float32[2] = s_max(x)%s\nreturn v"
    assert forward(body % "") == ["v = torch.max(x, -1).values", "return v"]
    assert forward(body % " as torch:composed") == ["v = x + x", "v = v[0]", "return v"]
    assert forward(body % " as torch:method")[:2] == [
        "v = x.max(-1)",
        "v = v.values + 0 * v.indices",
    ]


def test_form_that_does_not_hold_gives_way_to_the_plainest() -> None:
    found = lowered("v: float32[2,3] = s_neg(x) as torch:builtin\nreturn v")
    assert found.forms == {"v": "function"}


MODULE = (
    "input w: float32[4,2] = normal(seed=1)\nu: float32[4,2] = s_neg(w)\n"
    'v: float32[4,3] = s_mix(x, %s, none; rate=1.0, mode="same", sizes=()) as torch:module\n'
    "return v"
)


def test_module_is_built_of_inputs_alone() -> None:
    assert lowered(MODULE % "w").forms["v"] == "module"
    assert lowered(MODULE % "u").forms["v"] == "function"


def test_module_is_not_built_of_an_input_that_a_call_replaces() -> None:
    again = "plan\ncall\ncall w: float32[4,2] = normal(seed=8)"
    assert lowered(MODULE % "w", plan=again).forms["v"] == "function"
    other = "plan\ncall\ncall x: float32[2,3] = normal(seed=8)"
    assert lowered(MODULE % "w", plan=other).forms["v"] == "module"


def test_framework_without_a_form_is_unsupported() -> None:
    body = "t: (float32[1,3], float32[1,3]) = s_halves(x)\nreturn t"
    with pytest.raises(Unsupported, match="t: s_halves has no mindspore form for this call"):
        lowered(body, "mindspore")


def test_known_limit_is_unsupported_with_its_reason() -> None:
    body = 'h: float16[2,3] = s_cast(x; dtype="float16")\nv: %s[4,3] = s_join(%s, %s)\nreturn v'
    with pytest.raises(Unsupported, match="v: s_join as function: no kernel for float16"):
        lowered(body % ("float16", "h", "h"), "mindspore")
    assert lowered(body % ("float32", "x", "x"), "mindspore").forms["v"] == "function"
    assert lowered(body % ("float16", "h", "h"), "torch").forms["v"] == "function"


def test_a_module_ahead_of_a_loop_is_given_the_input_by_its_name_outside() -> None:
    module = 's_mix(c, k, none; rate=1.0, mode="same", sizes=()) as mindspore:module'
    body = (
        "weight w: float32[2,3] = normal(seed=1)\n"
        "v: float32[2,3] = for(x; trips=2) as mindspore:primitive bound 2\n"
        f"  body (c: float32[2,3]) captures (k = w)\n    b: float32[2,3] = {module}\n    yield b\n"
        "return v"
    )
    setup, loop = lowered(body, "mindspore").source.split("def forward")
    assert "def setup(w):" in setup
    assert "w_" in loop  # what the loop carries is called otherwise
    assert "w_" not in setup.replace("w_shape", "")


def test_modules_of_mindspore_do_not_share_the_names_of_their_weights() -> None:
    module = 's_mix(%s, w, none; rate=1.0, mode="same", sizes=()) as %s:module'
    body = (
        "weight w: float32[2,2] = normal(seed=1)\n"
        f"v: float32[2,3] = {module % ('x', 'FRAMEWORK')}\n"
        f"u: float32[2,3] = {module % ('v', 'FRAMEWORK')}\n"
        "return u"
    )
    source = lowered(body.replace("FRAMEWORK", "mindspore"), "mindspore").source
    assert "    s_mix_v = nn.Mix(w)\n    s_mix_u = nn.Mix(w)\n" in source
    assert source.count("update_parameters_name") == 1
    assert '    s_mix_u.update_parameters_name("s_mix_u.")\n' in source
    assert "update_parameters_name" not in lowered(body.replace("FRAMEWORK", "torch")).source


# --------------------------------------------------------------------------------------- loss
OUTPUTS = (
    'h: float16[2,3] = s_cast(x; dtype="float16")\n'
    'd: float64[2,3] = s_cast(x; dtype="float64")\n'
    'i: int64[2,3] = s_cast(x; dtype="int64")\n'
    'c: complex64[2,3] = s_cast(x; dtype="complex64")\n'
    "return x, h, d, i, c"
)


def loss(body: str, framework: str, *, plan: str, **options: str) -> list[str]:
    text = lowered(body, framework, plan=plan, **options).source
    return [line.strip() for line in text.split("def loss")[1].splitlines()[1:]]


def test_loss_weighs_floating_outputs_and_widens_narrow_ones() -> None:
    plan = "plan\ngradient reverse"
    assert loss(OUTPUTS, "torch", plan=plan)[1] == (
        "return (x * c0).sum() + (h.to(torch.float32) * c1).sum() + (d * c2).sum()"
    )
    assert loss(OUTPUTS, "mindspore", plan=plan)[1] == (
        "return (x * c0).sum() + (h.astype(ms.float32) * c1).sum() + (d * c2).sum()"
    )
    found = lowered(OUTPUTS, plan=plan).cotangents
    assert [(one.output, one.dtype) for one in found] == [
        (0, "float32"),
        (1, "float32"),
        (2, "float64"),
    ]


def test_loss_in_float64_changes_no_dtype() -> None:
    plan = "plan\ngradient reverse"
    found = lowered(OUTPUTS, plan=plan, dtype_override="float64")
    assert ".to(torch.float32)" not in found.source
    assert {one.dtype for one in found.cotangents} == {"float64"}


def test_loss_uses_the_outputs_of_the_plan() -> None:
    found = loss(OUTPUTS, "torch", plan="plan\ngradient reverse\nloss 2")
    assert found == ["x, h, d, i, c = forward(x)", "return (d * c0).sum()"]


def test_output_that_is_returned_twice_has_two_names_in_the_loss() -> None:
    assert loss("return x, x", "torch", plan="plan\ngradient reverse") == [
        "x_0, x_1 = forward(x)",
        "return (x_0 * c0).sum() + (x_1 * c1).sum()",
    ]


def test_file_has_no_loss_where_nothing_can_be_differentiated() -> None:
    body = 'i: int64[2,3] = s_cast(x; dtype="int64")\nreturn i'
    found = lowered(body, plan="plan\ngradient reverse")
    assert found.cotangents == ()
    assert "loss" not in found.source
    assert "loss" not in lowered("return x").source


# -------------------------------------------------------------------------------------- loops
LOOP = """w: float32[2,3] = s_neg(x)
v: float32[2,3] = for(w; trips=3) bound 3
  body (c: float32[2,3]) captures (k = x)
    b: float32[2,3] = s_add_(c, k) writes c
    yield b
t: (float32[2,3], float32[2,3]) = while(v, w) bound 4
  body (d: float32[2,3], e: float32[2,3])
    p: float32[2] = s_max(d)
    q: bool[] = s_cast(p; dtype="bool")
    yield q
  body (d2: float32[2,3], e2: float32[2,3])
    f: float32[2,3] = s_neg(e2)
    yield f, d2
r: float32[2,3] = item(t; index=0)
return r"""


def test_a_condition_may_stand_beside_the_count_of_turns() -> None:
    both = LOOP.replace("while(v, w) bound 4", "while(v, w) as torch:builtin_and bound 4")
    text = lowered(both).source
    assert "    while q and turns < 4:\n" in text
    assert text.count("p = torch.max(d2, -1).values\n") == 2
    assert "break" not in text


def test_loops_are_statements_that_assign_what_they_carry() -> None:
    text = lowered(LOOP).source.split("def forward(x):\n")[1]
    assert text == (
        "    w = torch.neg(x)\n"
        "    c = w\n"
        "    for turn in range(3):\n"
        "        c.add_(x)\n"
        "        b = c\n"
        "        c = b\n"
        "    v = c\n"
        "    d2, e2 = v, w\n"
        "    turns = 0\n"
        "    while turns < 4:\n"
        "        p = torch.max(d2, -1).values\n"
        "        q = p.to(torch.bool)\n"
        "        if not q:\n"
        "            break\n"
        "        f = torch.neg(e2)\n"
        "        d2, e2 = f, d2\n"
        "        turns = turns + 1\n"
        "    t = (d2, e2)\n"
        "    r = t[0]\n"
        "    return r\n"
    )


def test_lines_of_a_loop_belong_to_its_node() -> None:
    found = lowered(LOOP)
    names = [found.lines[at] for at in sorted(found.lines)]
    assert names == ["w", *["v"] * 6, *["t"] * 11, "r"]
    assert found.forms == {
        "w": "function",
        "v": "builtin",
        "b": "method",
        "t": "builtin",
        "p": "function",
        "q": "function",
        "f": "function",
    }


def test_two_bodies_may_use_one_name() -> None:
    body = (
        "v: float32[2,3] = for(x; trips=1) bound 1\n"
        "  body (c: float32[2,3])\n    b: float32[2,3] = s_neg(c)\n    yield b\n"
        "w: float32[2,3] = for(v; trips=1) bound 1\n"
        "  body (c: float32[2,3])\n    b: float32[2,3] = s_neg(c)\n    yield b\n"
        "return v, w"
    )
    assert "c_ = v" in forward(body)


# --------------------------------------------------------------------------------------- apis
@pytest.mark.parametrize(
    ("framework", "form", "api"),
    [
        ("torch", Form("F.relu({x})"), "torch.nn.functional.relu"),
        ("torch", Form("torch.linalg.norm({x})"), "torch.linalg.norm"),
        ("torch", Form("{x}.max({dim})[0]"), "torch.Tensor.max"),
        ("torch", Form("{x}.clone().sgn_()"), "torch.Tensor.sgn_"),
        ("torch", Form("{x}.mH.clone()"), "torch.Tensor.clone"),
        ("torch", Form("{x}", before=("{x}.add_({y})",)), "torch.Tensor.add_"),
        ("torch", Form("{self}({x})", setup=("{self} = nn.ReLU()",)), "torch.nn.ReLU"),
        (
            "torch",
            Form("{self}({x})", setup=("{self} = nn.Dropout(0.5).eval()",)),
            "torch.nn.Dropout",
        ),
        ("torch", Form("-{x}"), ""),
        ("torch", Form("abs({x})"), ""),
        ("torch", Form("{x}[{i}:{j}]"), ""),
        ("mindspore", Form("ops.relu({x})"), "mindspore.ops.relu"),
        ("mindspore", Form("ops.ReLU()({x})"), "mindspore.ops.ReLU"),
        ("mindspore", Form("mint.nn.functional.relu({x})"), "mindspore.mint.nn.functional.relu"),
        ("mindspore", Form("{self}({x})", setup=("{self} = nn.Tanh()",)), "mindspore.nn.Tanh"),
        ("mindspore", Form("{x}.max(axis={dim})"), "mindspore.Tensor.max"),
        ("mindspore", Form("Tensor({v})"), "mindspore.Tensor"),
        ("mindspore", Form("ops.csr_abs({x}.to_csr()).to_dense()"), "mindspore.ops.csr_abs"),
        ("mindspore", Form("{x}.to_csr().to_dense()"), "mindspore.CSRTensor.to_dense"),
        (
            "mindspore",
            Form("ops.csr_to_coo({x}.to_csr()).to_dense()"),
            "mindspore.COOTensor.to_dense",
        ),
        ("mindspore", Form("ms.jit({x})", api="ops.abs"), "mindspore.ops.abs"),
    ],
)
def test_public_name_of_what_a_form_calls(framework: str, form: Form, api: str) -> None:
    assert public_api(form, framework) == api


def test_every_call_of_a_form_has_a_name() -> None:
    form = Form("ops.csr_relu({x}.to_csr()).to_dense()", setup=("{self} = nn.Tanh()",))
    wanted = {
        "mindspore.ops.csr_relu",
        "mindspore.Tensor.to_csr",
        "mindspore.Tensor.to_dense",
        "mindspore.nn.Tanh",
    }
    assert set(public_apis(form, "mindspore")) == wanted


def test_every_form_of_the_table_has_a_name_or_is_syntax() -> None:
    for row in OPS.values():
        for framework in FRAMEWORKS:
            for form in row.forms.get(framework, {}).values():
                api = public_api(form, framework)
                assert api == "" or api.split(".")[0] == framework


# ---------------------------------------------------------------------------------- the table
@given(operator_graphs())
@settings(max_examples=60)
def test_chain_of_operators_is_a_line_a_node_in_order(graph: Graph) -> None:
    for framework in FRAMEWORKS:
        try:
            found = lower(Case(graph), framework)
        except Unsupported as reason:
            assert str(reason).split(":")[0] in graph.by_name  # noqa: PT017 (names the node)
            continue
        tree = ast.parse(found.source)
        made = tree.body[-1]
        assert isinstance(made, ast.FunctionDef)
        within = [name for line, name in found.lines.items() if line > made.lineno]
        assert list(dict.fromkeys(within)) == [one.name for one in graph.nodes]
        assert lower(Case(graph), framework).source == found.source
