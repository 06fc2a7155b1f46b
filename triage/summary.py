"""What a triager asks first about a bucket: what is wrong, who is accused, why, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from engine.finding import Finding
from triage.evidence import ablation_sentence, quantities, words
from triage.models import Bucket, FindingRecord, Framework, Report, Rerun

__all__ = ["NextStep", "Summary", "next_step", "script_name", "summary"]


@dataclass(frozen=True)
class NextStep:
    """What a person does next. `since`: how long it has been so. `action`: the text of a link.

    `url`: where the link goes; a form is posted there where `posts`.
    """

    text: str
    since: datetime | None = None
    action: str = ""
    url: str = ""
    posts: bool = False


@dataclass(frozen=True)
class Summary:
    """`said`: what the accused mode said instead of an answer, or nothing where it answered.

    `reasons`: why it is believed, the strongest first. `script`: the name it is saved under.
    """

    wrong: str
    said: str
    accused: str
    reasons: tuple[str, ...]
    script: str
    ends: str


def script_name(record: FindingRecord) -> str:
    """The name under which a finding's script is saved."""
    return f"reproduce_{record.op or record.symptom}_{str(record.uuid)[:8]}.py"


def summary(record: FindingRecord, finding: Finding, *, latest: Rerun | None) -> Summary:
    """The facts of one finding in a few sentences."""
    dies = any(answer.status == "died" for answer in finding.answers)
    return Summary(
        wrong=finding.verdict,
        said=_said(finding),
        accused=_accused(finding),
        reasons=tuple(_reasons(finding, latest)),
        script=script_name(record),
        ends="It dies" if dies else "It ends with an AssertionError",
    )


def _said(finding: Finding) -> str:
    accused = (answer for answer in finding.answers if answer.mode in finding.accused_modes)
    return next((answer.summary for answer in accused if answer.status != "ok"), "")


def _accused(finding: Finding) -> str:
    name = finding.accused_framework
    label = Framework(name).label if name in Framework else name
    version = finding.environment.get(name, "")
    where = f" in {words(finding.accused_modes)}" if finding.accused_modes else ""
    op = f", operator {finding.accused_op}" if finding.accused_op else ""
    return " ".join(part for part in (str(label), version) if part) + where + op


def _reasons(finding: Finding, latest: Rerun | None) -> Iterator[str]:
    again = finding.reproduction
    yield f"It reproduced {again.reproduced} of {again.attempts} times, each in a fresh process."
    if latest is not None:
        yield f"When last run again it {_past(latest.words)}."
    wrong = next((one for one in quantities(finding) if one.has_wrong), None)
    if wrong is not None:
        yield wrong.sentence
    elif agree := _agreeing(finding):
        yield f"{words(agree)} {'answers' if len(agree) == 1 else 'answer'} as expected."
    if meaning := ablation_sentence(finding):
        yield meaning


def _past(said: str) -> str:
    return said.replace("no longer reproduces: passed", "passed")


def _agreeing(finding: Finding) -> Sequence[str]:
    """Modes that answered within what is allowed."""
    return [
        answer.mode
        for answer in finding.answers
        if answer.mode not in finding.accused_modes
        and answer.status == "ok"
        and (answer.error is None or answer.error <= 1)
    ]


# -------------------------------------------------------------------------------------- what next
_S, _F, _R = Bucket.Status, Bucket.Flag, Report.Status
_FLAGGED = {
    _F.SEEN_AGAIN: "It was seen again after somebody settled it. Does the verdict still hold?",
    _F.NOT_REPRODUCED: "It no longer reproduces. Is it fixed, or did only the environment change?",
    _F.CLOSED_UPSTREAM: "Its report was closed upstream. Read why, and run it again.",
    _F.SUPPRESSION_ENDED: "The suppression has ended. Is the limit still known and accepted?",
}
_OPEN = {
    _S.NEW: "Read the script, then confirm or dismiss it.",
    _S.NEEDS_WORK: "It needs work before it can be judged. Do that, then confirm or dismiss it.",
}
_SETTLED = {
    _S.FIXED: "Nothing is left to do. Run it again with a newer version to be sure.",
    _S.FALSE_ALARM: "Nothing is left to do: it is a false alarm.",
    _S.DUPLICATE: "Nothing is left to do here. Go on at the bucket that it duplicates.",
    _S.KNOWN_LIMIT: "Nothing is left to do: the limit is known.",
}
_UPSTREAM = {
    _R.REPORTED: "Reported; waiting for upstream.",
    _R.NEEDS_INFO: "Upstream asks for more. Read the question, and answer it there.",
    _R.ROUTED: "Upstream has passed it on to those who know; waiting for them.",
    _R.CONFIRMED: "Upstream has confirmed it; waiting for the fix.",
    _R.IN_PROGRESS: "Upstream works on it; waiting for the fix.",
    _R.FIX_CLAIMED: "Upstream says that it is fixed. Run it again with a version that has the fix.",
    _R.FIXED: "Fixed upstream and verified. Set the status to fixed.",
    _R.REGRESSED: "It is back after a fix. Say so upstream, with the version that fails.",
    _R.REJECTED: "Upstream has rejected it. Read why; then dismiss it, or answer.",
    _R.DUPLICATE: "Upstream knows it already. Follow the other issue.",
}


def next_step(
    bucket: Bucket, *, record: FindingRecord | None, reports: Sequence[Report]
) -> NextStep:
    """Computed from the flag, which comes first, the status and the reports."""
    status, since = _S(bucket.status), bucket.status_at
    if bucket.flag:
        text = _FLAGGED.get(_F(bucket.flag), bucket.flag_reason)
        return NextStep(f"{text} Decide, then say that you have looked.", bucket.flag_at)
    if status in _OPEN:
        text, since = _OPEN[status], since or bucket.first_seen
        if status == _S.NEW:
            who = f"{bucket.assignee} has not" if bucket.assignee else "Nobody has"
            text = f"{who} judged this. {text}"
        return NextStep(text, since, "Decide", "#decide-title")
    if status == _S.CONFIRMED:
        return _report_step(record, reports, since)
    if status == _S.REPORTED:
        return _upstream_step(reports, since)
    return NextStep(_SETTLED.get(status, "Nothing is left to do."), since)


def _report_step(
    record: FindingRecord | None, reports: Sequence[Report], since: datetime | None
) -> NextStep:
    draft = next((one for one in reports if one.status == _R.DRAFT), None)
    if any(one.upstream_url for one in reports):
        text = "Confirmed and filed. Set the status to reported."
        return NextStep(text, since, "Decide", "#decide-title")
    if draft is not None:
        text = "Confirmed, and a report is drafted. Read it, file it on the tracker, link it here."
        return NextStep(text, draft.updated_at, "Open the draft", draft.get_absolute_url())
    if record is None:
        return NextStep("Confirmed, but no finding is left to report.", since)
    url = reverse("triage:add-report", args=[record.uuid])
    text = "Confirmed. Draft a report in its tracker's form."
    return NextStep(text, since, "Draft it", url, posts=True)


def _upstream_step(reports: Sequence[Report], since: datetime | None) -> NextStep:
    filed = [one for one in reports if one.status != _R.DRAFT]
    if not filed:
        text = "Reported, but no report is linked. Link the issue, so that it can be followed."
        return NextStep(text, since)
    latest = max(filed, key=lambda one: one.updated_at)
    text = _UPSTREAM.get(_R(latest.status), "Follow the report.")
    return NextStep(text, latest.updated_at, "Open the report", latest.get_absolute_url())
