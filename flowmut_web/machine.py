"""What this machine has of the things that pip cannot install, and what each missing one costs."""

import os
import shutil
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "NEEDS",
    "Need",
    "browser",
    "compiler",
    "graphviz",
    "main",
    "python_headers",
    "worker_processes",
]

_SHARD_MEMORY = 3 << 30  # two frameworks, two workers, a compiler


@dataclass(frozen=True)
class Need:
    """One optional thing. `find` gives where it is, or None; `cost` is what is lost without it."""

    name: str
    find: Callable[[], str | None]
    cost: str
    package: str


def compiler() -> str | None:
    """The C++ compiler that torch.compile calls."""
    return shutil.which("g++") or shutil.which("clang++")


def python_headers() -> str | None:
    """Where Python.h of this interpreter is; torch.compile's kernels include it."""
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return str(header.parent) if header.exists() else None


def graphviz() -> str | None:
    """The `dot` program."""
    return shutil.which("dot")


def browser() -> str | None:
    """A Chromium for the browser tests; Playwright's own download is not used."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


NEEDS = (
    Need(
        name="C++ compiler",
        find=compiler,
        cost="the mode torch-inductor is UNSUPPORTED, so bugs of PyTorch's compiler are not found",
        package="g++",
    ),
    Need(
        name="Python headers",
        find=python_headers,
        cost="the mode torch-inductor is UNSUPPORTED, so bugs of PyTorch's compiler are not found",
        package="python3.11-dev",
    ),
    Need(
        name="Graphviz",
        find=graphviz,
        cost="graphs are laid out by a plainer built-in layout",
        package="graphviz",
    ),
)


def worker_processes() -> int:
    """How many shards run side by side: one for each core that has the memory for it."""
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, _memory() // _SHARD_MEMORY))


def _memory() -> int:
    """Bytes that this machine has, or that its container may use."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    said = limit.read_text().strip() if limit.exists() else ""
    return min(whole, int(said)) if said.isdigit() else whole


def main() -> None:
    """Print one line for each need."""
    for need in NEEDS:
        place = need.find()
        if place is None:
            print(f"    {need.name}: missing; {need.cost} (Debian: apt-get install {need.package})")
        else:
            print(f"    {need.name}: {place}")


if __name__ == "__main__":
    main()
