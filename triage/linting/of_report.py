"""Rules about the words of a report: the form, English, disclosure, nothing of this machine."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

from triage.drafting.variables import TOOL_NOTE
from triage.drafting.wording import actual_sentence, expected_sentence
from triage.linting.model import Check, Subject, broken, holds
from triage.models import Report

__all__ = [
    "PLACEHOLDER",
    "fills_the_form",
    "human_note",
    "is_disclosed",
    "is_english",
    "tells_no_places",
]

PLACEHOLDER = "Write here, in your own words"
_LEAST_WORDS = 8


def fills_the_form(subject: Subject) -> Check:
    """Title in the tracker's manner, every required field, and sizes that the tracker takes."""
    wrong = list(_form_faults(subject))
    if wrong:
        return broken("; ".join(wrong), "every required field, in the size that the tracker takes")
    return holds(f"{len(subject.form.fields)} fields, {_size(subject):,} characters")


_BODY = 65_536
_ADDRESS = 8_000


def _form_faults(subject: Subject) -> Iterator[str]:
    title = subject.report.title
    for field in subject.form.fields:
        if field.required and not subject.texts[field.key].strip():
            yield f"“{field.title}” is empty"
    if not title.strip():
        yield "the title is empty"
    if subject.form.title_pattern and not re.match(subject.form.title_pattern, title):
        yield f"the title does not begin as the tracker's do ({subject.form.title_example})"
    if _size(subject) > _BODY:
        yield f"{_size(subject):,} characters, of at most {_BODY:,}"
    if len(subject.form.url(title)) > _ADDRESS:
        yield "the title makes the address of the form too long"


def _size(subject: Subject) -> int:
    return sum(map(len, subject.texts.values()))


_OUTSIDE_CODE = re.compile(r"^(`{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_FOREIGN = re.compile(r"[^\W\d_a-zA-ZÀ-ɏµΑ-ω]+")
_COMMONEST = (
    "the a an and or of to in is are was it that this with for on as by not be has from where when "
    "but only which its at if so than same all no under into gives returns raises while can"
)


def is_english(subject: Subject) -> Check:
    """Outside of code and of the form's own headings; names of operators say nothing."""
    prose = "\n".join([subject.report.title, *map(_prose, subject.texts.values())])
    for heading in subject.form.headings:
        prose = prose.replace(heading, " ")
    foreign = _FOREIGN.findall(prose)
    if foreign:
        return broken(f"“{foreign[0][:40]}”", "English under the form's own headings")
    note = human_note(subject.texts)
    words = re.findall(r"[a-zA-Z']+", note.lower())
    if len(words) >= 12 and not set(words) & set(_COMMONEST.split()):
        return broken("the human note holds none of the commonest words of English", "English")
    return holds("English")


def _prose(text: str) -> str:
    return re.sub(r"`[^`\n]*`", " ", _OUTSIDE_CODE.sub(" ", text))


_NOTE = re.compile(
    r"^#+\s*Human note\s*$(.*?)(?=^#+\s|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE
)


def human_note(texts: Mapping[str, str]) -> str:
    """What the person wrote: the section “Human note” without its quotations."""
    for text in texts.values():
        if found := _NOTE.search(text):
            lines = [line for line in found[1].splitlines() if not line.lstrip().startswith(">")]
            return "\n".join(lines).strip()
    return ""


def is_disclosed(subject: Subject) -> Check:
    """The tool is named in a marked section, and a person says in own words why it matters."""
    quoted = [
        line
        for text in subject.texts.values()
        for line in text.splitlines()
        if line.startswith(">")
    ]
    wanted = (
        "a quoted line that names the tool (FlowMuT Triage), and under “### Human note” at least "
        f"{_LEAST_WORDS} words of your own"
    )
    if not any("FlowMuT" in line for line in quoted):
        return broken("no quoted line says that a tool was used", wanted)
    note = human_note(subject.texts)
    if not note or PLACEHOLDER in note:
        return broken("nobody has written the human note", wanted)
    words = re.findall(r"[^\W\d_]+", note)
    if len(words) < _LEAST_WORDS:
        return broken(f"the human note has {len(words)} words", wanted)
    if copied := _copied(subject, note):
        return broken(f"the human note is {copied}", wanted)
    return holds(f"tool named; human note of {len(words)} words")


_ALIKE = 0.85


def _copied(subject: Subject, note: str) -> str:
    """Where the note is not the person's own, from where it is."""
    made = (actual_sentence(subject.finding), expected_sentence(subject.finding), TOOL_NOTE)
    if any(
        _is_alike(note, text) for text in (*made, subject.finding.verdict, subject.report.title)
    ):
        return "what the tool wrote"
    others = Report.objects.filter(tracker=subject.report.tracker).exclude(pk=subject.report.pk)
    for other in others.order_by("-updated_at")[:200]:
        if _is_alike(note, human_note(other.fields)):
            return f"that of the report “{other.title}”"
    return ""


def _is_alike(one: str, two: str) -> bool:
    return bool(two) and difflib.SequenceMatcher(None, one.lower(), two.lower()).ratio() >= _ALIKE


_PLACES = re.compile(
    r"(?<![\w./:-])/(?:home|root|Users|tmp|mnt|srv)/[\w./-]+|https?://(?:localhost|127\.0\.0\.1)\S*"
)


def tells_no_places(subject: Subject) -> Check:
    """No paths of this machine, and no evidence behind an address of ours."""
    texts = "\n".join([subject.report.title, *subject.texts.values()])
    found = list(dict.fromkeys(_PLACES.findall(texts)))
    if found:
        return broken(
            ", ".join(one[:80] for one in found[:3]), "no path and no address of this machine"
        )
    return holds("no paths of this machine")
