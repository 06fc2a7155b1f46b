"""The life of a worker: read a request, run it on the framework, answer. One case at a time.

A framework is a module with the functions that `Framework` lists; everything that both frameworks
need done in the same way is here.
"""

from __future__ import annotations

import gc
import itertools
import linecache
import os
import random
import re
import resource
import socket
import sys
import time
import traceback
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import numpy as np

from . import protocol
from .introspect import document
from .protocol import Block
from .summary import summarise

__all__ = ["Blocks", "Given", "Run", "Unable", "answer_of", "serve", "value_fields"]

MAX_TRACEBACK = 16_000
MAX_MESSAGE = 4_000


class Unable(Exception):
    """The request cannot be run in this mode, by our own rules: an UNSUPPORTED with a reason."""


@dataclass
class Blocks:
    """Arrays of the answer being put together; values refer to them by position."""

    items: list[Block] = field(default_factory=list)

    def add(self, block: Block) -> int:
        self.items.append(block)
        return len(self.items) - 1


@dataclass(frozen=True)
class Given:
    """One input as the pool describes it."""

    name: str
    block: Block
    layout: str = "contiguous"
    alias: str = ""
    requires_grad: bool = False


@dataclass
class Run:
    """A request being worked on, and what there is to answer so far."""

    request: dict[str, Any]
    module: Any
    calls: list[list[Given]]
    cotangents: list[Given]
    blocks: Blocks
    tell: Callable[[str], None]
    phase: str = "load"
    kept: list[Any] = field(default_factory=list)
    answer: dict[str, Any] = field(default_factory=dict)

    def enter(self, phase: str) -> None:
        """Name what is being done, here and to the pool, which reads it if we die."""
        self.phase = phase
        self.tell(phase)

    @property
    def mode(self) -> str:
        return str(self.request["mode"])

    @property
    def settings(self) -> dict[str, Any]:
        """What the mode's options ask for, by name."""
        return dict(self.request.get("settings", {}))

    @property
    def wants_state(self) -> bool:
        return bool(self.request["state"])

    def note_settings(self, seen: Mapping[str, Any]) -> None:
        """Add to the proof those of the settings asked for that were seen in force."""
        for name, wanted in self.settings.items():
            if seen.get(name) == wanted:
                self.answer["proof"][f"{name} in force"] = str(wanted)

    def prove_settings(self, seen: Mapping[str, Any]) -> None:
        """As `note_settings`; `Unable` where one was not in force: nothing falls back silently."""
        self.note_settings(seen)
        for name, wanted in self.settings.items():
            if seen.get(name) != wanted:
                raise Unable(f"{name}={wanted} was asked for and had no effect")


# ------------------------------------------------------------------------------------ the loop
def serve(link: socket.socket, framework: Any) -> None:
    """Answer requests until the pool closes the connection."""
    framework.begin()
    while True:
        try:
            request, blocks = protocol.receive(link)
        except protocol.Closed:
            return
        if request["kind"] == "document":
            answer: dict[str, Any] = document(framework.NAMESPACES, request["names"])
            protocol.send(link, answer)
            continue
        answer, arrays = _run(link, framework, request, blocks)
        answer["rss"] = _resident()
        answer["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        sys.stdout.flush()
        sys.stderr.flush()
        protocol.send(link, answer, arrays)


def _run(
    link: socket.socket, framework: Any, request: dict[str, Any], blocks: list[Block]
) -> tuple[dict[str, Any], list[Block]]:
    started = time.perf_counter()
    path = str(request["path"])
    name = Path(path).stem
    module = types.ModuleType(name)
    run = Run(
        request=request,
        module=module,
        calls=[[_given(one, blocks) for one in call] for call in request["calls"]],
        cotangents=[_given(one, blocks) for one in request["cotangents"]],
        blocks=Blocks(),
        tell=lambda phase: protocol.send(link, {"phase": phase}),
    )
    run.answer.update(status="ok", calls=[], gradients={}, recorded={}, proof={}, trace=[])
    framework.seed()
    before = _flags(framework)
    try:
        run.enter("import")
        module.__file__ = path
        sys.modules[name] = module
        exec(compile(Path(path).read_text(), path, "exec"), module.__dict__)
        framework.run(run)
    except Unable as reason:
        run.answer.update(status="unsupported", reason=str(reason))
    except Exception as error:  # noqa: BLE001 - the boundary: whatever the framework raises is data
        if lacking := lacks(error):
            run.answer.update(status="unsupported", reason=lacking)
        else:
            run.answer.update(status=_status(error), failure=failure(run, error))
    finally:
        sys.modules.pop(name, None)
        linecache.checkcache(path)
    after = _flags(framework)
    run.answer["moved"] = sorted(key for key in after if after[key] != before.get(key))
    framework.tidy(run)
    del run.module
    module.__dict__.clear()
    gc.collect(0)
    run.answer["seconds"] = time.perf_counter() - started
    return run.answer, run.blocks.items


def _given(described: dict[str, Any], blocks: Sequence[Block]) -> Given:
    rest = {key: value for key, value in described.items() if key != "block"}
    return Given(block=blocks[described["block"]], **rest)


# ------------------------------------------------------------------------------------- failures
def failure(run: Run, error: BaseException) -> dict[str, Any]:
    """The exception as data; the node is the one whose line raised.

    `Unable` where it is the machine that lacks something.
    """
    if lacking := lacks(error):
        raise Unable(lacking) from error
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    text = "".join(lines)
    kept = text if len(text) <= MAX_TRACEBACK else f"{text[:4000]}\n[...]\n{text[-12000:]}"
    compiling = compiled_in(error)
    return {
        "type": f"{type(error).__module__}.{type(error).__qualname__}".replace("builtins.", ""),
        "message": str(error)[:MAX_MESSAGE],
        "traceback": kept,
        "phase": "compile" if compiling else run.phase,
        "node": _node(run, error, text),
        "entered": _entered(run, error),
    }


def lacks(error: BaseException) -> str:
    """What the machine or the installation lacks, "" where the framework itself is to blame.

    A module that cannot be found, and what the system refuses (a full disk, a file or a folder that
    is gone, too many open files), say nothing about the program that was run.
    """
    link: BaseException | None = error
    while link is not None:
        is_refused = isinstance(link, OSError) and link.errno is not None
        if is_refused or isinstance(link, ModuleNotFoundError):
            return f"the machine or the installation is at fault: {type(link).__name__}: {link}"
        link = link.__cause__
    return ""


_COMPILERS = (
    "/torch/_dynamo/convert_frame.py",
    "/torch/_dynamo/symbolic_convert.py",
    "/torch/_functorch/aot_autograd.py",
    "/torch/_inductor/compile_fx.py",
)


# Where `ms.jit` compiles; until 2.8 in the second.
_MINDSPORE = ("/mindspore/graph/api.py", "/mindspore/common/api.py")


def compiled_in(error: BaseException) -> bool:
    """Whether the exception passed through a compiler's frames."""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith(_COMPILERS):
            return True
        if frame.filename.endswith(_MINDSPORE) and frame.name == "compile":
            return True
    return False


def _node(run: Run, error: BaseException, text: str) -> str:
    path = run.request["path"]
    lines: Mapping[str, str] = run.request["lines"]
    # The kernel that MindSpore names is right where the place that it shows is another node's.
    kernel = re.search(r"\bop ?\[(\w+)\]", str(error))
    called = _calling(kernel[1], path, lines) if kernel else ""
    if called:
        return called
    places = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path and frame.name != "<module>"
    ]
    # Compilers say the line in words: `File "path", line 7` (PyTorch), `In file path:7, 9~27`.
    places += _said(path, text)
    # MindSpore shows where the kernel was asked for, innermost first, before where the graph's
    # other nodes come from.
    stack = text.partition("- The Function Call Stack:")[2].partition("\n\n---")[0]
    for place in (*_said(path, stack), *reversed(places)):
        if str(place) in lines:
            return lines[str(place)]
    return ""


# So many letters at least must a call and a kernel begin with alike.
_LEAST_ALIKE = 5


def _calling(kernel: str, path: str, lines: Mapping[str, str]) -> str:
    """The node whose line calls the kernel, or what is called most like it; "" where several are.

    `FloorDivScalar` is that of `floor_divide(x, 2)`.
    """
    wanted = kernel.lower()
    alike: dict[str, int] = {}
    for number, node in lines.items():
        text = linecache.getline(path, int(number)).lower().replace("_", "")
        for name in re.findall(r"(\w+)\(", text):
            length = _LEAST_ALIKE + len(wanted) if name == wanted else _common(name, wanted)
            alike[node] = max(length, alike.get(node, 0))
    most = max(alike.values(), default=0)
    found = [node for node, length in alike.items() if length == most]
    return found[0] if len(found) == 1 and most >= _LEAST_ALIKE else ""


def _common(one: str, other: str) -> int:
    """How many letters two names begin with alike."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))


def _entered(run: Run, error: BaseException) -> list[str]:
    """Functions that were called from the last line of the program that the traceback shows."""
    names: list[str] = []
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == run.request["path"]:
            return names[::-1]
        names.append(frame.name)
    return []


def _said(path: str, text: str) -> list[int]:
    return [int(number) for number in re.findall(re.escape(path) + r'"?(?::|, line )(\d+)', text)]


def _status(error: BaseException) -> str:
    """ "memory" where the address space set by us was exhausted, else "raised"."""
    if isinstance(error, MemoryError):
        return "memory"
    said = ("std::bad_alloc", "Allocate memory failed", "can't allocate memory")
    return "memory" if any(words in str(error) for words in said) else "raised"


# --------------------------------------------------------------------------------------- values
def value_fields(
    blocks: Blocks,
    block: Block,
    facts: dict[str, Any],
    *,
    array: bool = True,
    summary: bool = False,
) -> dict[str, Any]:
    """The message form of a value: its facts, and its elements or a summary of them."""
    fields = dict(facts)
    if array:
        fields["block"] = blocks.add(block)
    if summary:
        fields["summary"] = summarise(block)
    return fields


def answer_of(
    value: Any, leaf: Callable[[Any], dict[str, Any] | None]
) -> tuple[str, list[dict[str, Any]]]:
    """Structure text and the leaves in order. `leaf` gives None for what it does not know."""
    if isinstance(value, (tuple, list)):
        parts = [answer_of(one, leaf) for one in value]
        kind = "list" if isinstance(value, list) else "tuple"
        inside = ", ".join(text for text, _ in parts)
        return f"{kind}({inside})", [one for _, leaves in parts for one in leaves]
    if value is None:
        return "none", [{"dtype": "none", "shape": [], "kind": "none"}]
    fields = leaf(value)
    if fields is None:
        return type(value).__name__, [{"dtype": type(value).__name__, "shape": [], "kind": "other"}]
    return str(fields["kind"]), [fields]


def python_number(value: Any) -> Block | None:
    """A Python number as a 0-d array: int64, float64, bool, complex128; None for anything else."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        try:
            array = np.asarray(value)
        except OverflowError:
            return None
        return Block(str(array.dtype), array)
    return None


# -------------------------------------------------------------------------------- global state
def _flags(framework: Any) -> dict[str, Any]:
    """Every generator and global flag that a call should leave alone."""
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002 - watched, not used
    return {
        "numpy generator": (kind, np.asarray(keys).tobytes(), rest),
        "python generator": random.getstate(),
        "numpy errors": np.geterr(),
        "flushing of subnormals": bool(np.float32(1e-40) * np.float32(1) == 0),
        "rounding": bool(np.float64(1) + np.float64(2.0**-53) == 1),
        "working folder": os.getcwd(),  # noqa: PTH109 - compared, not used
        **framework.flags(),
    }


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
