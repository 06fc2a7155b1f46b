"""Foreign reproducers: what they are, the scripts that are made of them, who is accused."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from pathlib import Path
from time import sleep

import numpy as np
import pytest

from engine.errors import BadInput
from engine.finding import Symptom
from engine.foreign.differences import Difference, Ran, difference
from engine.foreign.examination import Workshop, examine
from engine.foreign.reading import MOST_BYTES, Kind, read
from engine.foreign.writing import comparing_script, ending_script
from engine.oracles.verdict import Kind as Wrong
from engine.script_run import run_script

MODULE = "import torch\ninputs = [torch.ones(2)]\ndef function(x):\n    return torch.exp(x)\n"
SCRIPT = "import torch\nimport torch.nn.functional as F\nassert F.relu(torch.ones(1)) == 2, 'off'\n"
MINDSPORE = """import mindspore as ms
from mindspore import ops


def inputs():
    return [ms.Tensor([1.0])]


def forward(x):
    return ops.log(x)
"""
RAISES = """import torch
try:
    torch.exp(1)
except TypeError as error:
    raise AssertionError("raises") from error
"""
CLOSE = "import numpy as np\nimport torch\nnp.testing.assert_allclose(torch.sin(torch.ones(1)), 0)"


# ------------------------------------------------------------------------------------------ reading
@pytest.mark.parametrize(
    ("text", "kind", "framework", "calls"),
    [
        (MODULE, Kind.MODULE, "torch", ("torch.exp",)),
        (SCRIPT, Kind.SCRIPT, "torch", ("torch.nn.functional.relu",)),
        (
            MINDSPORE,
            Kind.MODULE,
            "mindspore",
            ("mindspore.ops.log",),
        ),
        (
            RAISES,
            Kind.SCRIPT,
            "torch",
            ("torch.exp",),
        ),
        (
            CLOSE,
            Kind.SCRIPT,
            "torch",
            ("torch.sin",),
        ),
    ],
)
def test_kind_framework_and_calls_are_read_without_running(
    text: str, kind: Kind, framework: str, calls: tuple[str, ...]
) -> None:
    found = read(text, name="one.py")
    assert (found.kind, found.framework, found.calls) == (kind, framework, calls)


@pytest.mark.parametrize(
    ("text", "framework", "message"),
    [
        ("import torch\ndef f(:", "", "saw invalid syntax in line 2, expected Python"),
        ("import torch\nx = 1\n", "", "saw neither `function` nor an assertion"),
        ("import torch\ndef function(x): return x\n", "", "saw `function` without `inputs`"),
        ("assert False", "", "saw no import of a framework"),
        ("import torch, mindspore\nassert False", "", "saw imports of both frameworks"),
        ("import torch\nassert False", "mindspore", "saw no import of mindspore"),
        ("import torch\nassert False", "jax", "saw framework jax"),
        ("#" * (MOST_BYTES + 1), "", f"expected at most {MOST_BYTES}"),
        ("import torch\nassert '\0'", "", "expected Python"),
    ],
)
def test_what_is_neither_kind_is_refused_with_what_was_expected(
    text: str, framework: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        read(text, name="one.py", framework=framework)


def test_framework_is_chosen_where_both_are_imported() -> None:
    text = "import torch\nimport mindspore\nassert False"
    assert read(text, name="one.py", framework="mindspore").framework == "mindspore"


# ------------------------------------------------------------------------------------------ writing
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import torch\nassert 1\n", 'print("torch", torch.__version__)'),
        ("import torch as t\nassert 1\n", 'print("torch", t.__version__)'),
        ("import torch.nn\nassert 1\n", 'print("torch", torch.__version__)'),
        ('"""Doc."""\nfrom __future__ import annotations\nimport torch\nassert 1\n', None),
    ],
)
def test_script_gets_its_version_and_its_last_line(text: str, line: str | None) -> None:
    made = ending_script(read(text, name="one.py"))
    ast.parse(made)
    assert made.endswith('print("no difference")\n')
    assert (line or 'print("torch", torch.__version__)') in made


@pytest.mark.parametrize(
    "text",
    [
        "from torch import nn\nassert nn\n",
        "import torch, \\\n    os\nassert 1\n",
        "if True:\n    import torch\nassert 1\n",
    ],
)
def test_version_is_left_out_where_no_line_can_be_put(text: str) -> None:
    made = ending_script(read(text, name="one.py"))
    ast.parse(made)
    assert "__version__" not in made


@pytest.mark.parametrize("kind", list(Wrong))
def test_comparing_script_is_python_for_every_kind(kind: Wrong) -> None:
    found = Difference(kind, "torch-inductor", "torch-eager", "result", "float32", "SIGSEGV")
    made = comparing_script(read(MODULE, name="one.py"), found)
    ast.parse(made)
    assert made.startswith(MODULE.rstrip())


# -------------------------------------------------------------------------------------- differences
def ran(mode: str, status: str = "ok", values: object = (1.0, 2.0), **fields: str) -> Ran:
    dtype = fields.pop("dtype", "float32")
    array = np.asarray(values, "float64")
    if status != "ok":
        return Ran(mode, status, f"{status} here", raised=fields.get("raised", "RuntimeError"))
    return Ran(mode, status, "", dtypes={"result": dtype}, values={"result": array})


EAGER, EXACT, AOT = ran("torch-eager"), ran("torch-eager-f64", dtype="float64"), ran("torch-aot")


def judged(*others: Ran) -> tuple[str, str, str] | None:
    modes = {one.mode: one for one in (EAGER, EXACT, AOT, *others)}
    found = difference(modes, framework="torch")
    return found and (found.kind.value, found.mode, found.reference)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], None),
        ([ran("torch-inductor")], None),
        (
            [ran("torch-inductor", values=(1.0, 2.1))],
            ("values", "torch-inductor", "torch-eager-f64"),
        ),
        ([ran("torch-inductor", values=(1.0, 2.0 + 1e-6))], None),
        (
            [ran("torch-inductor", values=(1.0, np.nan))],
            ("values", "torch-inductor", "torch-eager-f64"),
        ),
        (
            [ran("torch-inductor", "raised")],
            ("raises in one mode", "torch-inductor", "torch-eager"),
        ),
        ([ran("torch-inductor", "died")], ("died", "torch-inductor", "torch-eager")),
        ([ran("torch-inductor", "timeout")], None),
        ([ran("torch-inductor", "unsupported")], None),
        ([ran("torch-inductor", dtype="int64")], ("dtype", "torch-inductor", "torch-eager")),
        (
            [ran("torch-inductor", values=((1.0, 2.0),))],
            ("shape", "torch-inductor", "torch-eager"),
        ),
        ([ran("torch-eager", "raised")], ("raises in one mode", "torch-eager", "torch-aot")),
        ([ran("torch-eager", "raised"), ran("torch-aot", "raised")], None),
        (
            [ran("torch-inductor", values=(9, 9)), ran("torch-eager-f64", "raised")],
            ("values", "torch-inductor", "torch-eager"),
        ),
        ([ran("torch-eager", values=(1.0, 2.1))], None),
    ],
)
def test_modes_are_judged_by_what_they_answered(
    others: list[Ran], expected: tuple[str, str, str] | None
) -> None:
    assert judged(*others) == expected


# ------------------------------------------------------------------------------------------ running
def workshop(tmp_path: Path, attempts: int = 1) -> Workshop:
    return Workshop(
        interpreter=sys.executable,
        versions={"torch": "9.9"},
        attempts=attempts,
        deadline=60.0,
        scratch=tmp_path,
    )


@pytest.fixture
def stand_in(tmp_path: Path) -> str:
    """A line that makes `import torch` cheap: a module of that name beside the script."""
    return (
        "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\n"
        "sys.modules['torch'].__version__ = '9.9'\n"
    )


@pytest.mark.parametrize(
    ("body", "symptom", "title"),
    [
        ("assert 1 == 2, 'exp of 3 is 4'", "numerical", "one.py: exp of 3 is 4"),
        (
            "try:\n    {}['a']\nexcept KeyError as e:\n    raise AssertionError('raises') from e",
            "crash",
            "one.py: raises",
        ),
    ],
)
def test_script_whose_assertion_fails_is_a_finding(
    body: str, symptom: str, title: str, stand_in: str, tmp_path: Path
) -> None:
    text = f"{stand_in}import torch\n{body}\n"
    found = examine(read(text, name="one.py"), workshop(tmp_path, attempts=3))
    assert found.finding is not None
    assert (found.finding.symptom.value, found.finding.title) == (symptom, title)
    assert (found.finding.reproduction.reproduced, found.finding.reproduction.attempts) == (3, 3)
    assert run_script(found.finding.script).reproduced
    assert [one.mode for one in found.answers] == ["attempt 1", "attempt 2", "attempt 3"]
    chosen = examine(read(text, name="one.py"), workshop(tmp_path), symptom=Symptom.STATE)
    assert chosen.finding is not None
    assert chosen.finding.symptom is Symptom.STATE


def test_failures_that_differ_in_numbers_share_a_signature(stand_in: str, tmp_path: Path) -> None:
    made = [
        examine(
            read(f"{stand_in}import torch\nassert 0, 'off by {n}e-3 at 0x{n}f'", name="one.py"),
            workshop(tmp_path),
        ).finding
        for n in (1, 25)
    ]
    assert made[0] is not None
    assert made[1] is not None
    assert made[0].signature == made[1].signature
    assert made[0].title != made[1].title


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("assert True", "The assertion holds: passed 1 of 1"),
        ("torch.nothing()\nassert False", "It could not run: AttributeError"),
        ("raise SystemExit(3)\nassert False", "It could not run: exit status 3"),
    ],
)
def test_script_that_shows_nothing_says_why(
    body: str, reason: str, stand_in: str, tmp_path: Path
) -> None:
    found = examine(read(f"{stand_in}import torch\n{body}\n", name="one.py"), workshop(tmp_path))
    assert found.finding is None
    assert found.reason.startswith(reason)


def test_script_runs_without_network_secrets_or_home(
    stand_in: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    text = (
        f"{stand_in}import torch\nimport os, socket\n"
        "assert 'SOME_TOKEN' not in os.environ, 'token'\n"
        "assert os.environ['HOME'] == os.getcwd(), 'home'\n"
        "assert os.listdir('.') == ['reproducer.py'], os.listdir('.')\n"
        "names = [name for _, name in socket.if_nameindex()]\n"
        "assert names == ['lo'], f'network {names}'\n"
    )
    found = examine(read(text, name="one.py"), workshop(tmp_path))
    if found.isolation != "no network":
        assert found.isolation.startswith("the network is open: ")
        pytest.skip(f"the kernel closes no network here: {found.isolation}")
    assert found.reason.startswith("The assertion holds"), found.answers
    assert list(tmp_path.iterdir()) == []


def test_what_a_script_starts_ends_with_it(stand_in: str, tmp_path: Path) -> None:
    text = (
        f"{stand_in}import torch\nimport subprocess\n"
        f"child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "assert False, 'done'\n"
    )
    examine(read(text, name="one.py"), workshop(tmp_path))
    pid = (tmp_path / "pid").read_text()
    for _ in range(100):  # the kernel kills a group a moment after it was asked
        if not _lives(pid):
            break
        sleep(0.1)
    assert not _lives(pid)


def _lives(pid: str) -> bool:
    try:
        return "Z (zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_memory_and_time_are_limited(stand_in: str, tmp_path: Path) -> None:
    greedy = f"{stand_in}import torch\nx = bytearray(40 * 2**30)\nassert False"
    found = examine(read(greedy, name="one.py"), workshop(tmp_path))
    assert "not enough memory" in found.reason
    slow = f"{stand_in}import torch\nimport time\ntime.sleep(99)\nassert False"
    late = examine(read(slow, name="one.py"), replace(workshop(tmp_path), deadline=1.0))
    assert "not finished after 1 s" in late.reason
