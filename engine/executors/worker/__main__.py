"""Entry of a zygote: `python -I worker/__main__.py FRAMEWORK CONTROL_FD KEEP`.

The folder is loaded as the package `worker` without touching `sys.path`, so that no sibling (trace,
summary) can hide a module of the standard library from the framework.
"""

import importlib
import importlib.util
import sys
from pathlib import Path


def _load() -> None:
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        "worker", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["worker"] = package
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _load()
    importlib.import_module("worker.zygote").main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
