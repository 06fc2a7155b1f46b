"""Options of modes: in force with proof, or unsupported with a reason; never a silent fall-back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.executors.outcome import Outcome, Status

pytestmark = pytest.mark.framework

Run = Callable[..., Outcome]
TORCH = "import torch\n\n\ndef forward(x):\n    return torch.sin(x) + 1\n"
HALF = "import torch\n\n\ndef forward(x):\n    return torch.sin(torch.exp(x)) * x\n"
MINDSPORE = "from mindspore import ops\n\n\ndef forward(x):\n    return ops.sin(x) + 1\n"
RAISES = "import torch\n\n\ndef forward(x):\n    return torch.sin(x).reshape(5)\n"


@pytest.mark.torch
def test_dynamic_extents_are_seen_in_the_captured_graph(run: Run) -> None:
    outcome = run("torch-aot+dynamic", TORCH)
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.proof["dynamic in force"] == "True"


@pytest.mark.torch
def test_a_plain_mode_has_no_settings_in_its_proof(run: Run) -> None:
    assert not [name for name in run("torch-aot", TORCH).proof if name.endswith("in force")]


@pytest.mark.torch
def test_extents_of_one_are_never_dynamic_and_that_is_said(run: Run) -> None:
    outcome = run("torch-aot+dynamic", TORCH, {"x": np.ones((1, 1), np.float32)})
    assert outcome.status is Status.UNSUPPORTED
    assert outcome.reason == "dynamic=True was asked for and had no effect"


@pytest.mark.torch
@pytest.mark.inductor
@pytest.mark.parametrize("option", ["emulate_precision_casts", "fallback_random"])
def test_inductor_had_the_option_while_it_compiled(run: Run, option: str) -> None:
    outcome = run(f"torch-inductor+{option}", HALF, {"x": np.ones(8, np.float16)})
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.proof[f"{option} in force"] == "True"
    assert outcome.proof["kernels"] == 1


@pytest.mark.torch
@pytest.mark.inductor
def test_several_options_go_together(run: Run) -> None:
    outcome = run("torch-inductor+dynamic+emulate_precision_casts", TORCH)
    assert outcome.status is Status.OK, outcome.reason
    assert {name for name in outcome.proof if name.endswith("in force")} == {
        "dynamic in force",
        "emulate_precision_casts in force",
    }


@pytest.mark.torch
def test_what_raises_while_it_is_compiled_claims_no_proof(run: Run) -> None:
    outcome = run("torch-aot+dynamic", RAISES)
    assert outcome.status is Status.RAISED
    assert "dynamic in force" not in outcome.proof


@pytest.mark.mindspore
def test_the_compiler_was_handed_the_level(run: Run) -> None:
    outcome = run("mindspore-graph+O1", MINDSPORE)
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.proof["jit_level in force"] == "O1"
