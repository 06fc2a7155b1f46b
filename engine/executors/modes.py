"""The modes in which a case is run: the registry MODES."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import BadInput

__all__ = ["MODES", "Mode", "mode_named"]


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One way to run a case.

    `is_costly`: seconds for every new kernel, so campaigns run it on a share of their rounds.
    `run` is what the worker is told; `deadline` in seconds, on an idle machine, for a compact case;
    `eager_mode` is the mode that this one is compared with first, itself where it is eager.
    """

    name: str
    framework: str
    run: str
    text: str
    deadline: float
    eager_mode: str
    is_compiled: bool = False
    is_costly: bool = False
    dtype_override: str | None = None

    @property
    def records(self) -> bool:
        """Whether the value of every node can be recorded."""
        return not self.is_compiled


MODES: Mapping[str, Mode] = {
    mode.name: mode
    for mode in (
        Mode(
            name="torch-eager",
            framework="torch",
            run="eager",
            text="PyTorch, operator by operator",
            deadline=20,
            eager_mode="torch-eager",
        ),
        Mode(
            name="torch-eager-f64",
            framework="torch",
            run="eager",
            text="PyTorch eager with every floating input in float64: a referee",
            deadline=20,
            eager_mode="torch-eager-f64",
            dtype_override="float64",
        ),
        Mode(
            name="torch-aot",
            framework="torch",
            run="aot",
            text='torch.compile(fullgraph=True, dynamic=False), backend "aot_eager"',
            deadline=60,
            eager_mode="torch-eager",
            is_compiled=True,
        ),
        Mode(
            name="torch-inductor",
            framework="torch",
            run="inductor",
            is_costly=True,
            text='torch.compile(fullgraph=True, dynamic=False), backend "inductor"',
            deadline=180,
            eager_mode="torch-eager",
            is_compiled=True,
        ),
        Mode(
            name="mindspore-pynative",
            framework="mindspore",
            run="pynative",
            text="MindSpore PyNative, operator by operator, launched synchronously",
            deadline=20,
            eager_mode="mindspore-pynative",
        ),
        Mode(
            name="mindspore-graph",
            framework="mindspore",
            run="graph",
            text='ms.jit(capture_mode="ast", fullgraph=True)',
            deadline=60,
            eager_mode="mindspore-pynative",
            is_compiled=True,
        ),
        Mode(
            name="numpy",
            framework="numpy",
            run="",
            text="The engine's own reference on NumPy, in this process",
            deadline=0,
            eager_mode="numpy",
        ),
    )
}


def mode_named(name: str) -> Mode:
    """The row; `BadInput` for a name that is none."""
    if name not in MODES:
        raise BadInput("mode", seen=repr(name), expected=f"one of {', '.join(MODES)}")
    return MODES[name]
