"""The shipped seeds against the published definitions they were imported from.

Skipped where torch or transformers is missing; run with the folder of transformers on PYTHONPATH.
The same weights go into the definition and into our lowered source; the answers must agree.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from engine.executors.lowering import lower
from engine.ir.case import Case
from engine.ir.values import materialise
from engine.making import STRIP
from engine.seeds import SEEDS, load_seed

torch = pytest.importorskip("torch", reason="torch is not installed here")
pytest.importorskip("transformers", reason="transformers, which defines the models, is missing")

pytestmark = [
    pytest.mark.framework,
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # those of the definitions are not ours
]
TOLERANCE = 1e-5
"""In parts of the greatest answer: tables are computed here by NumPy and there by PyTorch."""


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


def ours(case: Case, values: dict[str, np.ndarray], folder: Path) -> list[np.ndarray]:
    """The outputs of the lowered source in torch eager."""
    lowered = lower(case, "torch")
    file = folder / f"{case.graph.name}_lowered.py"
    file.write_text(lowered.source, encoding="utf-8")
    module = imported(file.stem, file)
    tensors = {name: torch.from_numpy(values[name].copy()) for name in lowered.inputs}
    if lowered.setup_inputs:
        module.setup(*(tensors[name] for name in lowered.setup_inputs))
    with torch.no_grad():
        answer = module.forward(*(tensors[name] for name in lowered.inputs))
    return several(answer)


def several(answer: Any) -> list[np.ndarray]:
    return [np.asarray(one.numpy()) for one in (answer if isinstance(answer, tuple) else (answer,))]


def published(name: str, case: Case, values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The answers of the published module with our weights, running estimates and inputs."""
    factories = imported("seed_models", Path(__file__).with_name("seed_models.py"))
    first = next(one for one in case.graph.inputs if one.role == "input")
    module, examples = getattr(factories, name)(values[first.name].shape[0])
    tables = dict(module.named_parameters()) | {
        path: one
        for path, one in module.named_buffers()
        if path.endswith(("running_mean", "running_var"))
    }
    with torch.no_grad():
        for path, table in tables.items():
            if value_name(path) in values:
                table.copy_(torch.from_numpy(values[value_name(path)]))
        given = {one: torch.from_numpy(values[one]) for one in examples}
        return several(module(**given))


@pytest.mark.parametrize("name", SEEDS)
def test_a_seed_computes_what_the_published_module_computes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    torch.set_num_threads(1)
    case = load_seed(name)
    values = {key: np.asarray(one) for key, one in materialise(case.graph, {}).items()}
    expected = published(name, case, values)
    seen = ours(case, values, tmp_path)
    assert len(seen) == len(expected)
    for one, other in zip(seen, expected, strict=True):
        difference, scale = float(np.abs(one - other).max()), float(np.abs(other).max())
        print(f"{name}: max difference {difference:.3g}, largest {scale:.3g}", file=sys.stderr)
        assert np.isfinite(other).all()
        assert difference <= TOLERANCE * scale
