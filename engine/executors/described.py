"""What a report's form asks of the machine, said by the interpreter that ran the program."""

from __future__ import annotations

import getpass
import os
import platform
import re
import subprocess
from collections.abc import Mapping

from engine.executors.environment import Environment, process_variables

__all__ = ["described", "stripped"]

_SECONDS = 120
# For MindSpore what `torch.utils.collect_env` is for PyTorch, in the words of its issue template.
# In Python 3.9 syntax: it runs in the environment's interpreter.
_MINDSPORE = r"""
import importlib.metadata, os, platform, re, subprocess, sys
import mindspore, numpy

def said(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except OSError:
        return ""
    return done.stdout.partition("\n")[0].strip() if done.returncode == 0 else ""

def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""

def value(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else ""

def installed(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

wheel = value(r"^Tag: (.*)$", importlib.metadata.distribution("mindspore").read_text("WHEEL") or "")
commit = value(r"= '(.*)'", read(os.path.join(os.path.dirname(mindspore.__file__), ".commit_id")))
flags = value(r"^flags\s*: (.*)$", read("/proc/cpuinfo")).split()
wide = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve")
model = value(r"^model name\s*: (.*)$", read("/proc/cpuinfo")) or platform.machine()
has = [one for one in wide if one in flags]
cores = ", ".join(["%s, %s cores" % (model, os.cpu_count())] + has)
rows = [
    ("MindSpore version", mindspore.__version__),
    ("Source or binary", "binary (wheel %s)" % wheel if wheel else "source"),
    ("Commit", commit or "not said"),
    ("Device target", mindspore.get_context("device_target")),
    ("Python version", sys.version.replace("\n", " ")),
    ("OS platform", value(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release"))),
    ("Kernel", platform.platform()),
    ("GCC version", said("gcc", "--version") or "not installed"),
    ("Libc version", "-".join(platform.libc_ver())),
    ("CPU", cores),
    ("NumPy version", numpy.__version__),
    ("SciPy version", installed("scipy")),
]
print("\n".join("%s: %s" % row for row in rows if row[1]))
"""
_ASK = {
    "torch": ("-m", "torch.utils.collect_env"),
    "mindspore": ("-c", _MINDSPORE),
}
_PYTHON = "import platform as p; print(p.platform()); print(p.python_version())"
# Names of machines and accounts that tell nobody anything, or are words of their own.
_COMMON = frozenset({"localhost", "linux", "ubuntu", "debian", "python", "docker", "torch", "root"})


def described(environment: Environment) -> Mapping[str, str]:
    """System, Python, compiler, and `collect_env`: what the framework's own form wants to be told.

    All of it as the environment's interpreter says it, without paths and names of people and
    machines. What cannot be asked is left out. Takes the seconds of an import.
    """
    system, _, python = _said([environment.interpreter, "-I", "-c", _PYTHON]).partition("\n")
    found = {"os": system, "python": python}
    found["gcc"] = _said(["gcc", "--version"]).partition("\n")[0]
    asked = _said([environment.interpreter, "-I", *_ASK[environment.framework]])
    found["collect_env"] = stripped(asked, machine=platform.node(), account=_account())
    return {name: text for name, text in found.items() if text}


def stripped(text: str, *, machine: str, account: str) -> str:
    """A text without absolute paths (their last part stays) and without the two names."""
    text = re.sub(r"(?<![\w.:/~-])~?(?:/[\w.+@-]+)+/(?=[\w.+@-])", ".../", text)
    for name, word in ((machine, "HOST"), (account, "USER")):
        if len(name) > 3 and name.lower() not in _COMMON:
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", word, text)
    return text


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as containers have
        return ""


def _said(command: list[str]) -> str:
    """What a program prints, "" where it fails or does not exist."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, **process_variables()},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
