"""The modes in which a case is run: the registry MODES, and the options a mode may be given.

A mode with options is written "torch-inductor+dynamic+fallback_random" wherever a mode is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.errors import BadInput

__all__ = ["MODES", "OPTIONS", "Mode", "Option", "base_of", "mode_named"]


@dataclass(frozen=True, kw_only=True)
class Mode:
    """One way to run a case.

    `is_costly`: seconds for every new kernel, so campaigns run it on a share of their rounds.
    `run` is what the worker is told; `deadline` in seconds, on an idle machine, for a compact case;
    `eager_mode` is the mode that this one is compared with first, itself where it is eager.
    `settings`: what its options ask of the worker, by name; a worker that cannot prove that a
    setting was in force answers "unsupported".
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
    settings: tuple[tuple[str, bool | str], ...] = ()

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


@dataclass(frozen=True, kw_only=True)
class Option:
    """One setting of some modes, named after the mode with a "+"."""

    name: str
    modes: tuple[str, ...]
    setting: tuple[str, bool | str]
    text: str


OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        Option(
            name="dynamic",
            modes=("torch-aot", "torch-inductor"),
            setting=("dynamic", True),
            text="torch.compile(dynamic=True): extents are symbols, but for 0 and 1",
        ),
        Option(
            name="emulate_precision_casts",
            modes=("torch-inductor",),
            setting=("emulate_precision_casts", True),
            text="inductor rounds between fused operators of small floats, as eager mode does",
        ),
        Option(
            name="fallback_random",
            modes=("torch-inductor",),
            setting=("fallback_random", True),
            text="inductor leaves random operators to eager mode's generator",
        ),
        Option(
            name="O1",
            modes=("mindspore-graph",),
            setting=("jit_level", "O1"),
            text='ms.jit(jit_level="O1"): more passes over the graph than O0, the default',
        ),
    )
}


def mode_named(name: str) -> Mode:
    """The row, with the options that follow its name; `BadInput` for a name that is none."""
    base, *options = name.split("+")
    if base not in MODES:
        raise BadInput("mode", seen=repr(base), expected=f"one of {', '.join(MODES)}")
    row = MODES[base]
    settings: dict[str, bool | str] = {}
    for option in options:
        fitting = [one.name for one in OPTIONS.values() if base in one.modes]
        if option not in fitting:
            expected = f"one of {', '.join(fitting)}" if fitting else "none, it has no options"
            raise BadInput(f"option of mode {base}", seen=repr(option), expected=expected)
        key, value = OPTIONS[option].setting
        settings[key] = value
    return replace(row, name=name, settings=tuple(settings.items())) if options else row


def base_of(name: str) -> str:
    """The mode without its options."""
    return name.partition("+")[0]
