"""The shipped seeds against the published definitions they were imported from.

Skipped where torch or transformers is missing; run with the folder of transformers on PYTHONPATH.
The same weights go into the published module and into our lowered source; the logits must agree.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from engine.executors.lowering import lower
from engine.ir.case import Case
from engine.ir.values import materialise
from engine.seeds import load_seed
from engine.seeds.making import STRIP

torch = pytest.importorskip("torch", reason="torch is not installed here")
pytest.importorskip("transformers", reason="transformers, which defines the models, is missing")

pytestmark = [pytest.mark.framework, pytest.mark.torch, pytest.mark.slow]
TOLERANCE = 1e-5
"""On logits of magnitude 2 to 6."""


def imported(name: str, path: Path) -> ModuleType:
    """A module from a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def value_name(path: str) -> str:
    prefix = next((one for one in STRIP if path.startswith(one)), "")
    return path.removeprefix(prefix).replace(".", "_")


def ours(case: Case, values: dict[str, np.ndarray], folder: Path) -> np.ndarray:
    """The first output of the lowered source in torch eager."""
    lowered = lower(case, "torch")
    file = folder / f"{case.graph.name}_lowered.py"
    file.write_text(lowered.source, encoding="utf-8")
    module = imported(file.stem, file)
    tensors = {name: torch.from_numpy(values[name]) for name in lowered.inputs}
    if lowered.setup_inputs:
        module.setup(*(tensors[name] for name in lowered.setup_inputs))
    with torch.no_grad():
        answer = module.forward(*(tensors[name] for name in lowered.inputs))
    found = answer[0] if isinstance(answer, tuple) else answer
    return np.asarray(found.numpy())


def published(name: str, case: Case, values: dict[str, np.ndarray]) -> np.ndarray:
    """The logits of the published module with our weights and input."""
    factories = imported("seed_models", Path(__file__).with_name("seed_models.py"))
    module, examples = getattr(factories, name)()
    with torch.no_grad():
        for path, parameter in module.named_parameters():
            parameter.copy_(torch.from_numpy(values[value_name(path)]))
        given = {one: torch.from_numpy(values[one]) for one in examples}
        return np.asarray(module(**given).numpy())


@pytest.mark.parametrize(
    "name",
    ["convnextv2_tiny_compact", "qwen2_5_0_5b_compact", "convnextv2_tiny", "qwen2_5_0_5b"],
)
def test_a_seed_computes_what_the_published_module_computes(name: str, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    case = load_seed(name)
    values = {key: np.asarray(one) for key, one in materialise(case.graph, {}).items()}
    expected = published(name, case, values)
    seen = ours(case, values, tmp_path)
    difference = float(np.abs(seen - expected).max())
    scale = float(np.abs(expected).max())
    print(f"{name}: max difference {difference:.3g}, largest logit {scale:.3g}", file=sys.stderr)
    assert np.isfinite(expected).all()
    assert difference <= TOLERANCE
