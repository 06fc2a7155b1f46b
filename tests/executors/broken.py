"""Real frameworks with broken operators: an environment whose interpreter breaks them on import.

The folder is a virtual environment over the one that runs the tests. A file that its `site` loads
watches for the framework and replaces public functions once it is imported, so that zygotes,
workers and standalone scripts all meet the same faults, and nothing in the engine knows of them.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from engine.executors.environment import Environment

__all__ = ["MINDSPORE_FAULTS", "TORCH_FAULTS", "broken_environment"]

_HOOK = '''\
"""Breaks a framework as soon as it is imported."""
import importlib.abc
import importlib.machinery
import sys

FRAMEWORK = "{framework}"


class Loader(importlib.abc.Loader):
    def __init__(self, real):
        self.real = real

    def create_module(self, spec):
        return self.real.create_module(spec)

    def exec_module(self, module):
        self.real.exec_module(module)
        import planted_faults


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != FRAMEWORK:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = Loader(spec.loader)
        return spec


sys.meta_path.insert(0, Finder())
'''

TORCH_FAULTS = '''\
"""One operator is broken in each way. What is compiled is traced first: only then is there a
tracing context."""
import ctypes
import sys
import time

import torch
from torch._guards import TracingContext


def is_traced():
    return TracingContext.try_get() is not None


right = {name: getattr(torch, name) for name in ("sin", "sinh", "cos", "tan", "erf", "erfc",
         "acos", "square", "exp2", "expm1", "deg2rad", "clone", "atan", "asinh")}


def sin(x):  # dies
    ctypes.string_at(0)
    return right["sin"](x)


def sinh(x):  # does not come back
    while True:
        time.sleep(1)


def cos(x):  # one of its own assertions fails
    raise RuntimeError("planted INTERNAL ASSERT FAILED at \\"planted.cpp\\":7, please report a bug")


def tan(x):  # raises when it is compiled
    if is_traced():
        raise ValueError("planted: tan is out of order")
    return right["tan"](x)


def erf(x):  # returns a pair when it is compiled
    return (right["erf"](x), x) if is_traced() else right["erf"](x)


def erfc(x):  # returns another dtype when it is compiled
    return right["erfc"](x).double() if is_traced() else right["erfc"](x)


def acos(x):  # returns another shape when it is compiled
    return right["acos"](x)[None] if is_traced() else right["acos"](x)


def log(x):  # raises in this form; the method does not
    raise TypeError("planted: log takes no argument of this name")


def square(x):  # wrong values
    return right["square"](x) * 1.01


def exp2(x):  # infinite
    return right["exp2"](x) / 0


@torch.library.custom_op("planted::expm1", mutates_args=())
def without_gradient(x: torch.Tensor) -> torch.Tensor:
    return right["expm1"](x)


@without_gradient.register_fake
def _(x):
    return torch.empty_like(x)


def expm1(x):  # its gradient raises when it is compiled
    return without_gradient(x) if is_traced() else right["expm1"](x)


def deg2rad(x):  # moves the generator
    torch.rand(1)
    return right["deg2rad"](x)


def clone(x, **rest):  # gives a view of what it is to copy
    return x.view(x.shape)


def rad2deg(x):  # changes its operand
    x.mul_(1.5)
    return x * 57.29577951308232


def atan(x):  # its gradient is wrong in every mode, in float64 too
    kept = x.detach()
    return right["atan"](kept) + 2 * (x - kept)


class Bent(torch.autograd.Function):  # its derivative is wrong in forward mode alone
    @staticmethod
    def forward(x):
        return right["asinh"](x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient / torch.sqrt(1 + x * x)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * tangent / torch.sqrt(1 + x * x)


def asinh(x):
    return right["asinh"](x) if is_traced() else Bent.apply(x)


def frac(x):  # answers otherwise the second time that a program calls it, unless compiled
    if is_traced():
        return x - torch.trunc(x)
    calls = sys._getframe(1).f_globals.setdefault("planted_calls", [])
    calls.append(1)
    return x - torch.trunc(x) + len(calls) - 1


def sin_(self):  # loses what it should write
    return self


for name in (*right, "log", "rad2deg", "frac"):
    setattr(torch, name, globals()[name])
torch.Tensor.sin_ = sin_
'''

MINDSPORE_FAULTS = '''\
import mindspore
from mindspore import ops

right = {name: getattr(ops, name) for name in ("tanhshrink", "softsign")}
root = ops.Sqrt()


def tanhshrink(input):  # wrong gradient
    kept = ops.stop_gradient(input)
    return right["tanhshrink"](kept) + 2 * (input - kept)


def softsign(input):  # NaN in the gradient
    return right["softsign"](input) + 0 * root(input - ops.stop_gradient(input))


def exp(input):
    """Computes the exponential.

    Supported Platforms:
        ``Ascend`` ``GPU`` ``CPU``
    """
    raise RuntimeError("planted: no exponential today")


for name in (*right, "exp"):
    setattr(ops, name, globals()[name])
'''


def broken_environment(folder: Path, framework: str, faults: str) -> Environment:
    """A virtual environment in `folder` whose `framework` has the faults of a Python source."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    home = Path(sys.base_prefix) / "bin"
    interpreter = folder / "bin" / "python"
    interpreter.symlink_to(home / version)
    (folder / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    (packages / "planted_hook.py").write_text(_HOOK.format(framework=framework))
    (packages / "planted_faults.py").write_text(faults)
    real = sysconfig.get_paths()["purelib"]
    (packages / "planted.pth").write_text(f"{real}\nimport planted_hook\n")
    return Environment(f"broken {framework}", framework, str(interpreter))
