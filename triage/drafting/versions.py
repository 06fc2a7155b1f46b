"""Versions of the templates of a form: the shipped ones, those that people made, going back.

Every version is kept. The one of the highest number holds; going back makes a new version of the
old texts. What the product ships becomes a version of its own when it is first needed, and again
when a release ships other texts, unless people have made theirs meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from engine.finding import Finding
from triage.drafting import Draft, draft, form_of
from triage.drafting.rendering import TITLE
from triage.models import DraftTemplate
from triage.trackers import FORMS, Form

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "MOST_TEMPLATE",
    "TextDifference",
    "back_to_shipped",
    "back_to_version",
    "current_version",
    "differences",
    "draft_now",
    "draft_with",
    "save_version",
    "shipped_texts",
    "text_titles",
]

MOST_TEMPLATE = 20_000
"""Characters of one text."""
_SHIPPED = Path(__file__).parent / "shipped"


@dataclass(frozen=True)
class TextDifference:
    """One text that two versions have differently."""

    key: str
    title: str
    before: str
    after: str


@cache
def shipped_texts(form: str) -> Mapping[str, str]:
    """The product's own texts of a form: title, fields, and the partial ones."""
    partial = {path.stem: path.read_text() for path in sorted(_SHIPPED.glob("_*.md"))}
    keys = (TITLE, *(field.key for field in FORMS[form].fields))
    return {key: (_SHIPPED / form / f"{key}.md").read_text() for key in keys} | partial


def text_titles(form: Form) -> dict[str, str]:
    """The texts of a form in order, with their names for people."""
    titles = {TITLE: "Title"} | {field.key: field.title for field in form.fields}
    partial = (key for key in shipped_texts(form.key) if key.startswith("_"))
    return titles | {key: f"Included as “{key}”" for key in partial}


def current_version(form: str) -> DraftTemplate:
    """The version that holds; a new row where what we ship was not on record."""
    latest = DraftTemplate.objects.filter(form=form).first()
    shipped = dict(shipped_texts(form))
    if latest is not None and not (latest.is_shipped and latest.texts != shipped):
        return latest
    return _add(form, shipped, is_shipped=True, why="Shipped with the product.", who=None)


def save_version(form: str, *, texts: Mapping[str, str], why: str, who: User) -> DraftTemplate:
    """A new version; the one that holds where nothing changed."""
    latest = current_version(form)
    if latest.texts == dict(texts):
        return latest
    return _add(form, texts, is_shipped=False, why=why, who=who)


def back_to_version(version: DraftTemplate, *, who: User) -> DraftTemplate:
    """A new version with the texts of an old one."""
    latest = current_version(version.form)
    if latest.texts == version.texts:
        return latest
    why = f"Back to version {version.number}."
    return _add(version.form, version.texts, is_shipped=False, why=why, who=who)


def back_to_shipped(form: str, *, who: User) -> DraftTemplate:
    """What this release ships; and what the next ones will, until somebody changes it."""
    latest = current_version(form)
    if latest.is_shipped:
        return latest
    shipped = shipped_texts(form)
    return _add(form, shipped, is_shipped=True, why="Back to what is shipped.", who=who)


def _add(
    form: str, texts: Mapping[str, str], *, is_shipped: bool, why: str, who: User | None
) -> DraftTemplate:
    """The next number; where somebody took it at the same moment, the one after it."""
    while True:
        latest = DraftTemplate.objects.filter(form=form).first()
        number = latest.number + 1 if latest else 1
        try:
            with transaction.atomic():
                return DraftTemplate.objects.create(
                    form=form,
                    number=number,
                    texts=dict(texts),
                    is_shipped=is_shipped,
                    why=why,
                    created_by=who,
                )
        except IntegrityError:
            continue


def draft_with(version: DraftTemplate, finding: Finding) -> Draft:
    """The finding in a version's words."""
    is_ours = version.is_shipped and version.texts == dict(shipped_texts(version.form))
    return draft(finding, version.texts, form=FORMS[version.form], trusted=is_ours)


def draft_now(finding: Finding) -> tuple[Draft, DraftTemplate]:
    """The finding in the words of the version that holds for its form."""
    version = current_version(form_of(finding).key)
    return draft_with(version, finding), version


def differences(
    before: Mapping[str, str], after: Mapping[str, str], form: Form
) -> Iterator[TextDifference]:
    """The texts that differ, in the order of the form."""
    for key, title in text_titles(form).items():
        old, new = before.get(key, ""), after.get(key, "")
        if old != new:
            yield TextDifference(key, title, old, new)
