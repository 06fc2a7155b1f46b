"""The standalone scripts of foreign reproducers: they end as `engine.script_run` expects."""

from __future__ import annotations

import ast

from engine.foreign.differences import Difference
from engine.foreign.reading import Kind, Reproducer
from engine.oracles.numeric import CLEARLY, tolerance_of
from engine.oracles.verdict import Kind as Wrong
from engine.script_run import NO_DIFFERENCE, dies_of

__all__ = ["ARRAYS", "COMPILED", "comparing_script", "ending_script"]

# How each mode calls the function, given its name.
COMPILED = {
    "torch-eager": "{}",
    "torch-eager-f64": "{}",
    "torch-aot": 'torch.compile({}, backend="aot_eager")',
    "torch-inductor": 'torch.compile({}, backend="inductor")',
    "mindspore-pynative": "{}",
    "mindspore-graph": 'ms.jit({}, capture_mode="ast")',
}
_IMPORT = {"torch": "import torch", "mindspore": "import mindspore as ms"}
_VERSION = {
    "torch": 'print("torch", torch.__version__)',
    "mindspore": 'print("mindspore", ms.__version__)',
}
_GIVEN = '''
def _given():
    """Inputs of their own for each call, as (positional, named)."""
    made = inputs() if callable(inputs) else copy.deepcopy(inputs)
    if isinstance(made, dict):
        return (), made
    return (tuple(made) if isinstance(made, (tuple, list)) else (made,)), {}
'''
_WIDE = '''
def _wide(value):
    """Narrower floats as float64."""
    narrow = (torch.float32, torch.float16, torch.bfloat16)
    return value.double() if getattr(value, "dtype", None) in narrow else value
'''
ARRAYS = '''
def _arrays(value, path="result"):
    """Every tensor of a result, by place."""
    if isinstance(value, dict):
        pairs = [(f"{path}[{key!r}]", one) for key, one in value.items()]
    elif isinstance(value, (tuple, list)):
        pairs = [(f"{path}[{at}]", one) for at, one in enumerate(value)]
    else:
        return {path: value}
    return {k: v for place, one in pairs for k, v in _arrays(one, place).items()}


def _dtype(value):
    return str(getattr(value, "dtype", type(value).__name__)).rpartition(".")[2].lower()


def _numbers(value):
    """Floats of any width as float64, complex as complex128, the rest as it is."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.resolve_conj().resolve_neg() if value.is_complex() else value
        value = (value.double() if value.is_floating_point() else value).numpy()
    elif hasattr(value, "asnumpy"):
        # bfloat16 has no NumPy type of its own.
        value = (value.float() if _dtype(value) == "bfloat16" else value).asnumpy()
    array = np.asarray(value)
    return array.astype({"f": "float64", "c": "complex128"}.get(array.dtype.kind, array.dtype))
'''


def ending_script(reproducer: Reproducer) -> str:
    """A plain script with two lines added: the framework's version after its import, and the last
    line, which it reaches where nothing is wrong."""
    assert reproducer.kind is Kind.SCRIPT
    lines = reproducer.text.rstrip().splitlines()
    for node in ast.parse(reproducer.text).body:
        name = _imported_as(node, reproducer.framework)
        if name and node.end_lineno == node.lineno:
            lines.insert(node.lineno, f'print("{reproducer.framework}", {name}.__version__)')
            break
    return "\n".join([*lines, f'print("{NO_DIFFERENCE}")', ""])


def _imported_as(node: ast.stmt, framework: str) -> str:
    """The name under which a statement imports the framework, "" where it does not."""
    if not isinstance(node, ast.Import):
        return ""
    for one in node.names:
        if one.name == framework:
            return one.asname or one.name
        if one.name.startswith(f"{framework}.") and not one.asname:
            return framework
    return ""


def comparing_script(reproducer: Reproducer, found: Difference) -> str:
    """A module with a comparison of two modes below it."""
    framework, name = reproducer.framework, reproducer.function
    trusted = COMPILED[found.reference].format(name)
    accused = COMPILED[found.mode].format(name)
    parts = [
        reproducer.text.rstrip(),
        "\n\n# Added when this was submitted: the function in two modes, and what has to agree.",
        f"import copy\n\nimport numpy as np\n{_IMPORT[framework]}",
        f"{_GIVEN}\n{ARRAYS}\n",
        f"{_WIDE}\n" if found.reference == "torch-eager-f64" else "",
        _VERSION[framework],
        _call("expected", trusted, widened=found.reference == "torch-eager-f64"),
        _accused(accused, found),
        _assertion(found),
        f'print("{NO_DIFFERENCE}")\n',
    ]
    return "\n".join(parts)


def _call(result: str, function: str, *, widened: bool = False) -> str:
    lines = ["args, named = _given()"]
    if widened:
        lines += [
            "args = tuple(_wide(one) for one in args)",
            "named = {key: _wide(one) for key, one in named.items()}",
        ]
    lines += [
        f"{result} = _arrays({function}(*args, **named))",
        # A call may return before it has computed, and raise only when it is asked for its values.
        f"_ = [_numbers(one) for one in {result}.values()]",
    ]
    return "\n".join(lines)


def _accused(function: str, found: Difference) -> str:
    call = _call("answer", function)
    if found.kind is Wrong.DIED:
        return f'print("{dies_of(found.detail)}", flush=True)\n{call}'
    body = "\n".join(f"    {line}" for line in call.splitlines())
    raised = f'raise AssertionError(f"{found.mode} raises {{type(error).__name__}}: {{error}}")'
    return f"try:\n{body}\nexcept Exception as error:\n    {raised} from error"


def _assertion(found: Difference) -> str:
    match found.kind:
        case Wrong.STRUCTURE:
            return "assert list(answer) == list(expected), (list(answer), list(expected))"
        case Wrong.DTYPE:
            left, right = f"_dtype(answer[{found.place!r}])", f"_dtype(expected[{found.place!r}])"
        case Wrong.SHAPE:
            left = f"np.shape(_numbers(answer[{found.place!r}]))"
            right = f"np.shape(_numbers(expected[{found.place!r}]))"
        case Wrong.VALUES | Wrong.NONFINITE:
            rtol, atol = (CLEARLY * one for one in tolerance_of(found.dtype))
            return (
                f"np.testing.assert_allclose(\n    _numbers(answer[{found.place!r}]),\n"
                f"    _numbers(expected[{found.place!r}]),\n"
                f"    rtol={rtol!r},\n    atol={atol!r},\n    err_msg={found.place!r},\n)"
            )
        case _:
            return ""
    return f"assert {left} == {right}, ({left}, {right})"
