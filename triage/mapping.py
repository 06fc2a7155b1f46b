"""From what a tracker says to a status of ours: a table, in which the first row that fits counts.

The tracker's words mean what its maintainers wrote down: PyTorch's maintainer guide and triage
rules, MindSpore's issue process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triage.models import Report
from triage.reporting import MOVES
from triage.upstream.issue import UpstreamIssue

__all__ = ["OBSERVABLE", "RULES", "MappingRule", "observed_rule", "status_to_propose"]

_S = Report.Status
_GITHUB = ("github",)
_V5 = ("gitee", "atomgit")
# A maintainer cannot tell us that we verified a fix, nor is a draft upstream.
OBSERVABLE = frozenset(_S) - {_S.DRAFT, _S.FIXED}


@dataclass(frozen=True)
class MappingRule:
    """A row. What is left empty does not matter; of several words one is enough.

    `reasons`: GitHub's reason or the name of a Gitee or AtomGit state; `pull`: a pull request that
    ends the issue is "open" or "merged"; `came_back`: it had been closed as done, and is open.
    """

    ours: Report.Status
    sites: tuple[str, ...]
    says: str
    states: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    pull: str = ""
    is_duplicate: bool = False
    came_back: bool = False
    awaits_author: bool = False

    def fits(self, issue: UpstreamIssue, *, came_back: bool) -> bool:
        ending = {one.state for one in issue.pulls if one.closes}
        return all(
            (
                issue.ref.site in self.sites,
                not self.states or issue.state in self.states,
                not self.reasons or issue.state_reason.casefold() in self.reasons,
                not self.labels
                or not {one.casefold() for one in issue.labels}.isdisjoint(self.labels),
                not self.pull or self.pull in ending,
                not self.is_duplicate or bool(issue.duplicate_of),
                not self.came_back or came_back,
                not self.awaits_author or issue.awaits_author,
            )
        )


_OPEN, _CLOSED = ("open",), ("closed",)
_REFUSED = ("won't fix", "wontfix")
_V5_OVER = ("closed", "rejected")
_V5_OPEN = ("open", "progressing")

RULES: tuple[MappingRule, ...] = (
    MappingRule(_S.DUPLICATE, _GITHUB, "closed as a duplicate", _CLOSED, ("duplicate",)),
    MappingRule(_S.REJECTED, _GITHUB, "closed as not planned", _CLOSED, ("not_planned",)),
    MappingRule(_S.REJECTED, _GITHUB, "closed with “won't fix”", _CLOSED, labels=_REFUSED),
    MappingRule(_S.FIX_CLAIMED, _GITHUB, "closed as completed, or without a reason", _CLOSED),
    MappingRule(_S.IN_PROGRESS, _GITHUB, "a pull request that ends it is open", _OPEN, pull="open"),
    MappingRule(
        _S.REGRESSED, _GITHUB, "reopened after it was closed as completed", _OPEN, came_back=True
    ),
    MappingRule(
        _S.FIX_CLAIMED, _GITHUB, "a pull request that ends it is merged", _OPEN, pull="merged"
    ),
    MappingRule(_S.REJECTED, _GITHUB, "open with “won't fix”", _OPEN, labels=_REFUSED),
    MappingRule(
        _S.NEEDS_INFO,
        _GITHUB,
        "“needs reproduction” or “needs research”",
        _OPEN,
        labels=("needs reproduction", "needs research"),
    ),
    MappingRule(
        _S.CONFIRMED,
        _GITHUB,
        "“actionable”, “high priority” or “needs design”",
        _OPEN,
        labels=("actionable", "high priority", "needs design"),
    ),
    MappingRule(_S.ROUTED, _GITHUB, "“triaged”", _OPEN, labels=("triaged",)),
    MappingRule(_S.REPORTED, _GITHUB, "open, and nothing of the above", _OPEN),
    MappingRule(
        _S.DUPLICATE, _V5, "over, and a comment names the original", _V5_OVER, is_duplicate=True
    ),
    MappingRule(_S.REJECTED, _V5, "rejected", ("rejected",)),
    MappingRule(_S.REJECTED, _V5, "REJECTED (已拒绝)", reasons=("rejected", "已拒绝", "拒绝")),
    MappingRule(
        _S.FIX_CLAIMED,
        _V5,
        "VALIDATION or DONE (待验证, 已完成)",
        reasons=("validation", "done", "待验证", "验证中", "已完成", "已验收"),
    ),
    MappingRule(_S.FIX_CLAIMED, _V5, "closed", _CLOSED),
    MappingRule(
        _S.REGRESSED, _V5, "open again after VALIDATION, DONE or closed", _V5_OPEN, came_back=True
    ),
    MappingRule(_S.FIX_CLAIMED, _V5, "a linked pull request is merged", _V5_OPEN, pull="merged"),
    MappingRule(_S.IN_PROGRESS, _V5, "WIP (进行中)", reasons=("wip", "进行中", "修复中")),
    MappingRule(_S.IN_PROGRESS, _V5, "progressing", ("progressing",)),
    MappingRule(_S.IN_PROGRESS, _V5, "a linked pull request is open", _V5_OPEN, pull="open"),
    MappingRule(
        _S.NEEDS_INFO,
        _V5,
        "“mindspore-assistant”, and the last word is not ours",
        _V5_OPEN,
        labels=("mindspore-assistant",),
        awaits_author=True,
    ),
    MappingRule(_S.CONFIRMED, _V5, "ACCEPTED (已接纳)", reasons=("accepted", "已接纳", "已确认")),
    MappingRule(_S.REPORTED, _V5, "TODO, or open", _V5_OPEN),
)
# From each status of ours, what a tracker may say without contradicting it: labels come late, and
# whatever was verified here stays so as long as the issue is closed.
_LATE = frozenset({_S.REPORTED, _S.ROUTED})
_AGREES: Mapping[str, frozenset[str]] = {
    _S.REPORTED: frozenset({_S.REGRESSED}),
    _S.NEEDS_INFO: frozenset({_S.REGRESSED}),
    _S.ROUTED: _LATE | {_S.REGRESSED},
    _S.CONFIRMED: _LATE | {_S.REGRESSED},
    _S.IN_PROGRESS: _LATE | {_S.CONFIRMED, _S.REGRESSED},
    _S.FIXED: frozenset({_S.FIX_CLAIMED, _S.REJECTED, _S.DUPLICATE}),
    _S.REGRESSED: _LATE | {_S.CONFIRMED},
}


def observed_rule(issue: UpstreamIssue, *, was_fixed: bool) -> MappingRule:
    """The row that fits. `was_fixed`: an earlier answer said that it was closed as done.

    GitHub's own timeline knows that better, where there is one.
    """
    came_back = was_fixed
    if issue.ref.site in _GITHUB and issue.parts:
        came_back = issue.closed_before == "completed"
    return next(rule for rule in RULES if rule.fits(issue, came_back=came_back))


def status_to_propose(ours: str, observed: str) -> Report.Status | None:
    """What a person should look at, None where the tracker says nothing that contradicts us."""
    if not observed or observed == ours or observed in _AGREES.get(ours, frozenset()):
        return None
    if observed in MOVES[ours]:
        return _S(observed)
    # Closed as done here, and open there: it came back. Settled here, and back there: it lives.
    back = _S.REGRESSED if ours in {_S.FIX_CLAIMED, _S.FIXED} else _S.REPORTED
    return back if back in MOVES[ours] else None
