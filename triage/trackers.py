"""The trackers' own forms: what each asks, and where a person opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from triage.models import Tracker

__all__ = ["FORMS", "Form", "FormField", "form_for", "upstream_id"]


@dataclass(frozen=True)
class FormField:
    """One field of a form. `key` names its template in `triage/drafting/shipped/FORM/KEY.md`."""

    key: str
    title: str
    help: str
    required: bool = True


@dataclass(frozen=True)
class Form:
    """A form of a tracker. `open_url`: its page; `query`: what its address can fill in.

    `title_pattern`: how titles begin, with an example. `headings`: words of the form in another
    language than English, which its fields may repeat.
    """

    key: str
    tracker: Tracker
    title: str
    open_url: str
    query: tuple[tuple[str, str], ...]
    can_fill_title: bool
    fields: tuple[FormField, ...]
    rules: tuple[str, ...]
    rules_url: str
    title_pattern: str = ""
    title_example: str = ""
    headings: tuple[str, ...] = ()

    def url(self, title: str) -> str:
        """Address of the form with the title filled in where the tracker can."""
        query = dict(self.query) | ({"title": title} if self.can_fill_title else {})
        return f"{self.open_url}?{urlencode(query)}" if query else self.open_url


_PYTORCH_NEW = "https://github.com/pytorch/pytorch/issues/new"
_PYTORCH_RULES = (
    "Tolerances are the defaults of torch.testing.",
    "No indices of max, min and the like are compared.",
    "Eager and torch.compile are compared with a higher precision as the baseline.",
    "Random state is the same on both sides.",
    "The script is short, self-contained and downloads nothing.",
    "You have read it and say in your own words why it matters; tools are disclosed.",
)
_VERSIONS = FormField("versions", "Versions", "Output of torch.utils.collect_env, where it is run.")

FORMS: Mapping[str, Form] = {
    form.key: form
    for form in (
        Form(
            key="pytorch-bug",
            tracker=Tracker.PYTORCH,
            title="🐛 Bug Report",
            open_url=_PYTORCH_NEW,
            query=(("template", "bug-report.yml"),),
            can_fill_title=True,
            fields=(
                FormField("describe", "🐛 Describe the bug", "Clear, minimal, self-contained."),
                _VERSIONS,
            ),
            rules=_PYTORCH_RULES,
            rules_url="https://github.com/pytorch/pytorch/blob/main/CONTRIBUTING.md",
        ),
        Form(
            key="pytorch-pt2",
            tracker=Tracker.PYTORCH,
            title="🐛 torch.compile Bug Report",
            open_url=_PYTORCH_NEW,
            query=(("template", "pt2-bug-report.yml"),),
            can_fill_title=True,
            fields=(
                FormField(
                    "describe",
                    "🐛 Describe the bug",
                    "With the ablation over backends and a minimal reproducer.",
                ),
                FormField("logs", "Error logs", "The error text.", required=False),
                _VERSIONS,
            ),
            rules=_PYTORCH_RULES,
            rules_url="https://github.com/pytorch/pytorch/blob/main/CONTRIBUTING.md",
        ),
        Form(
            key="mindspore-bug",
            tracker=Tracker.MINDSPORE,
            title="Bug-Report",
            open_url="https://atomgit.com/mindspore/mindspore/issues",
            query=(),
            can_fill_title=False,
            fields=(
                FormField("describe", "Describe the current behavior / 问题描述", ""),
                FormField("environment", "Environment / 环境信息", "Hardware, software, mode."),
                FormField("testcase", "Related testcase / 关联用例", "The script."),
                FormField("steps", "Steps to reproduce the issue / 重现步骤", ""),
                FormField("expected", "Describe the expected behavior / 预期结果", ""),
                FormField("logs", "Related log / screenshot / 日志 / 截图", ""),
                FormField("notes", "Special notes / 备注", "", required=False),
            ),
            rules=(
                "English text under the form's two-language headings.",
                "The title begins with [ST][MS] and the feature or operator.",
                "A question that nobody answers for 14 days is closed.",
            ),
            rules_url="https://atomgit.com/mindspore/mindspore",
            title_pattern=r"\[(?:UT|CT|ST|MDT|LITE)\]\[M\w+\]\[[\w. -]+\]",
            title_example="[ST][MS][operator]",
            headings=("硬件环境", "软件环境", "执行模式"),
        ),
    )
}
_COMPILED = ("torch-aot", "torch-inductor")


def form_for(framework: str, accused_modes: tuple[str, ...]) -> Form:
    """The form that a finding belongs in: pt2 where only compiled modes of PyTorch are accused."""
    if framework == "mindspore":
        return FORMS["mindspore-bug"]
    compiled = accused_modes and all(mode in _COMPILED for mode in accused_modes)
    return FORMS["pytorch-pt2" if compiled else "pytorch-bug"]


def upstream_id(url: str) -> str:
    """Last part of an issue's address: a number, or an id such as I5LBGV."""
    return url.split("?")[0].split("#")[0].rstrip("/").rpartition("/")[2][:40]
