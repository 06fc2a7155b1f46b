"""How much of each framework's own list of operators our call forms reach.

    python scripts/api_coverage.py torch|mindspore [--check]

Writes docs/api/FRAMEWORK.txt: every name of the framework's list, "+" before those that a form
calls, and prints the missing. With --check, says whether the file is up to date, and exits with 1
where it is not.

PyTorch's list: its dispatcher's operators that have a kernel for autograd and a public Python name.
MindSpore's: public functions and classes of `ops`, functions of `mint`, and methods of Tensor whose
documentation lists CPU, or refers to a function that does.
"""

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from engine.executors.apis import public_api
from engine.executors.worker.introspect import supported
from engine.ops import OPS

__all__ = ["listing", "main", "reached", "share"]

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "api"
_PREFIXES = {
    "linalg_": "torch.linalg",
    "special_": "torch.special",
    "fft_": "torch.fft",
    "sparse_": "torch.sparse",
}
_PLACES = ("torch", "torch.nn.functional", "torch.Tensor", "torch.linalg", "torch.special")


def reached(framework: str) -> set[str]:
    """Public names that our forms call."""
    forms = (form for spec in OPS.values() for form in spec.forms[framework].values())
    return {public_api(form, framework) for form in forms} - {""}


def share(rows: list[tuple[str, bool]]) -> float:
    """The part of the list that is reached."""
    return sum(is_reached for _, is_reached in rows) / len(rows)


def listing(framework: str) -> list[tuple[str, bool]]:
    """Names of the framework's list, in order, and whether a form reaches each."""
    called = reached(framework)
    if framework == "torch":
        return sorted((name, bool(names & called)) for name, names in _of_torch().items())
    return sorted((name, name in called) for name in _of_mindspore())


def _of_torch() -> dict[str, set[str]]:
    """Operator -> the public names under which it can be called."""
    import torch

    found: dict[str, set[str]] = {}
    for full in torch._C._dispatch_get_all_op_names():
        space, _, rest = full.partition("::")
        name = rest.partition(".")[0]
        if space != "aten" or name.startswith("_") or name.endswith("_backward"):
            continue
        if any(
            torch._C._dispatch_has_kernel_for_dispatch_key(full, key)
            for key in ("Autograd", "AutogradCPU")
        ):
            names = set(_public_names(name, torch))
            if names:
                found[name] = names
    return found


def _public_names(name: str, torch: object) -> Iterator[str]:
    for prefix, place in _PREFIXES.items():
        if name.startswith(prefix) and _exists(torch, f"{place}.{name.removeprefix(prefix)}"):
            yield f"{place}.{name.removeprefix(prefix)}"
    for place in _PLACES:
        if _exists(torch, f"{place}.{name}"):
            yield f"{place}.{name}"


def _exists(torch: object, dotted: str) -> bool:
    value: object = torch
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value is not None


def _of_mindspore() -> Iterator[str]:
    import mindspore
    from mindspore import Tensor, mint, ops

    for place, owner in (
        ("mindspore.ops", ops),
        ("mindspore.mint", mint),
        ("mindspore.mint.nn.functional", mint.nn.functional),
        ("mindspore.mint.linalg", mint.linalg),
        ("mindspore.mint.special", mint.special),
        ("mindspore.Tensor", Tensor),
    ):
        for name in dir(owner):
            found = getattr(owner, name)
            if not name.startswith("_") and callable(found) and _lists_cpu(found, mindspore):
                yield f"{place}.{name}"


def _lists_cpu(found: object, mindspore: object) -> bool:
    said = supported({"mindspore": mindspore}, inspect.getdoc(found) or "")
    return said is not None and "CPU" in said


def _text(rows: list[tuple[str, bool]]) -> str:
    return "".join(f"{'+' if is_reached else '-'} {name}\n" for name, is_reached in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", choices=("torch", "mindspore"))
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    rows = listing(given.framework)
    path = FOLDER / f"{given.framework}.txt"
    print(
        f"{given.framework}: {sum(is_reached for _, is_reached in rows)} of {len(rows)},"
        f" {share(rows):.1%}"
    )
    if given.check:
        if not path.exists() or path.read_text() != _text(rows):
            print(f"{path} is not up to date: run scripts/api_coverage.py {given.framework}")
            return 1
        return 0
    path.parent.mkdir(exist_ok=True)
    path.write_text(_text(rows))
    print("missing:", ", ".join(name for name, is_reached in rows if not is_reached))
    return 0


if __name__ == "__main__":
    sys.exit(main())
