"""Rules about the form of the script: one, short, self-contained, with an assertion."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from triage.linting.model import Check, Subject, broken, holds
from triage.linting.script import Script

__all__ = ["MOST_LINES", "has_assertion", "is_one_script", "is_self_contained", "is_short"]

MOST_LINES = 60
"""Of code. Maintainers' words: as succinct (minimal) as possible."""


def is_one_script(subject: Subject) -> Check:
    """One block of Python, which parses."""
    script = subject.script
    if script.problem:
        return broken(script.problem, "one script in a block of Python that parses")
    if script.blocks > 1:
        return broken(f"{script.blocks} blocks of Python", "one script that shows the bug")
    return holds("one script")


def is_short(subject: Subject) -> Check:
    lines = subject.script.code_lines
    seen = f"{lines} line{'s' if lines != 1 else ''} of code"
    return holds(seen) if lines <= MOST_LINES else broken(seen, f"at most {MOST_LINES}")


def has_assertion(subject: Subject) -> Check:
    """A maintainer's machine must be able to tell whether the bug is there."""
    if subject.script.announced:
        return holds(f"it says “{subject.script.announced}” before the call")
    if subject.script.asserts:
        return holds("it ends with an AssertionError while the bug is there")
    return broken("no assertion", "an assert, numpy.testing.assert_..., or torch.testing")


# ----------------------------------------------------------------------------------- self-contained
_NUMERIC = frozenset({"numpy", "torch", "mindspore", "scipy", "ml_dtypes"})
_READING = frozenset(
    {
        *("open", "torch.load", "numpy.load", "numpy.loadtxt", "numpy.fromfile", "pickle.load"),
        *("numpy.genfromtxt", "mindspore.load_checkpoint", "mindspore.load", "torch.jit.load"),
        *("torch.export.load", "os.system", "os.popen"),
    }
)
_FETCHING = frozenset(
    {
        "from_pretrained",
        "load_url",
        "load_state_dict_from_url",
        "urlopen",
        "urlretrieve",
        "hf_hub_download",
    }
)
_NETWORK = frozenset({"urllib", "requests", "http", "socket", "httpx", "ftplib", "subprocess"})


def is_self_contained(subject: Subject) -> Check:
    """Imports of the framework, NumPy and the standard library alone; no file, nothing fetched."""
    script = subject.script
    found = [*_foreign_imports(script), *_fetches(script), *_attachments(subject)]
    if not found:
        return holds(
            f"it imports {', '.join(sorted(script.imported)) or 'nothing'}, and reads no file"
        )
    return broken(
        "; ".join(found), "the framework and NumPy alone; no file, download or link to one"
    )


def _foreign_imports(script: Script) -> Iterator[str]:
    for name in sorted(script.imported):
        if name in _NETWORK:
            yield f"it imports {name}"
        elif name not in _NUMERIC and name not in sys.stdlib_module_names:
            yield f"it imports {name}, which is not the framework, NumPy or the standard library"


def _fetches(script: Script) -> Iterator[str]:
    for called in script.calls:
        if called.name in _READING or called.last in _FETCHING or called.name == "torch.hub.load":
            yield f"line {called.line} calls {called.name.removeprefix('.')}"
    for text in script.strings:
        if re.match(r"(?:https?|ftp)://", text):
            yield f"it names the address {text[:80]}"
        elif re.match(r"/[\w.-]+/[\w./-]*\w$", text):
            yield f"it names the path {text[:80]}"


_ATTACHED = re.compile(
    r"https?://\S+?\.(?:zip|tar|tgz|gz|pt|pth|pkl|onnx|ckpt|npz)\b"
    r"|https?://(?:drive\.google|huggingface|colab\.research|gist\.github)\.\S+",
    re.IGNORECASE,
)


def _attachments(subject: Subject) -> Iterator[str]:
    for text in subject.texts.values():
        for found in _ATTACHED.findall(text):
            yield f"the text links to {found[:80]}"
