"""The engine is a library of few dependencies; import-linter checks directions, this names."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine"
WORKER = ENGINE / "executors" / "worker"
ALLOWED = {"engine", "numpy", "scipy", "ml_dtypes", "networkx", "threadpoolctl"}
# The interpreter of an environment has its framework and NumPy; the import workers also read ONNX
# files and published models.
ALLOWED_IN_WORKER = {"numpy", "torch", "mindspore", "onnx", "timm", "transformers"}


def _imported(path: Path) -> Iterator[str]:
    """Top-level names of the packages a file imports, other than the standard library's."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names:
                yield top


def test_engine_imports_only_what_it_may() -> None:
    files = [path for path in ENGINE.rglob("*.py") if WORKER not in path.parents]
    extra = {
        (path.relative_to(ENGINE).as_posix(), name)
        for path in files
        for name in _imported(path)
        # The command line draws progress; no other module prints.
        if name not in ALLOWED | ({"rich"} if path.name == "cli.py" else set())
    }
    assert extra == set()


def test_triage_sees_nothing_of_campaigns_but_their_models() -> None:
    seen = {
        (path.name, node.module)
        for path in (ROOT / "triage").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("campaigns")
    }
    assert {module for _, module in seen} <= {"campaigns.models"}, seen


def test_worker_imports_nothing_of_this_project_but_its_siblings() -> None:
    siblings = {path.stem for path in WORKER.rglob("*.py")}
    extra = {
        (path.name, name)
        for path in WORKER.rglob("*.py")
        for name in _imported(path)
        if name not in ALLOWED_IN_WORKER | siblings
    }
    assert extra == set()


def test_worker_parses_as_python_3_9() -> None:
    for path in WORKER.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
        assert isinstance(tree, ast.Module)
