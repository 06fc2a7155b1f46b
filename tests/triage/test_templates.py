"""Templates of drafts: versions that are all kept, the sandbox, and errors with their line."""

from __future__ import annotations

from typing import Any

import pytest

from engine.finding import Finding
from tests import factories
from triage.drafting import apart, variables
from triage.drafting.apart import render_apart
from triage.drafting.rendering import MOST_CHARACTERS, TemplateFaultError, render_form
from triage.drafting.variables import VARIABLES, variables_of
from triage.drafting.versions import (
    back_to_shipped,
    back_to_version,
    current_version,
    differences,
    draft_now,
    save_version,
    shipped_texts,
)
from triage.models import DraftTemplate
from triage.reporting import draft_report
from triage.trackers import FORMS

FORM = "pytorch-pt2"


def changed(**texts: str) -> dict[str, str]:
    return {**shipped_texts(FORM), **texts}


# ---------------------------------------------------------------------------------------- versions
@pytest.mark.django_db
def test_first_use_puts_the_shipped_texts_on_record() -> None:
    version = current_version(FORM)
    assert (version.number, version.is_shipped, version.created_by) == (1, True, None)
    assert version.texts == shipped_texts(FORM)
    assert current_version(FORM) == version


@pytest.mark.django_db
def test_every_version_is_kept_and_a_draft_says_which_one_made_it() -> None:
    ada = factories.user("ada")
    first = factories.report()
    second = save_version(FORM, texts=changed(title="Hello {{ op }}"), why="shorter", who=ada)
    later = factories.report()
    assert (first.template, later.template) == (DraftTemplate.objects.get(number=1), second)
    assert (later.title, second.created_by, second.why) == ("Hello exp", ada, "shorter")
    assert [one.number for one in DraftTemplate.objects.filter(form=FORM)] == [2, 1]
    assert later.events.get(kind="drafted").after.endswith("templates of version 2")


@pytest.mark.django_db
def test_saving_what_is_there_makes_no_version() -> None:
    version = current_version(FORM)
    assert save_version(FORM, texts=changed(), why="", who=factories.user()) == version


@pytest.mark.django_db
def test_one_goes_back_to_any_version_and_to_what_is_shipped() -> None:
    ada = factories.user("ada")
    old = save_version(FORM, texts=changed(title="Old"), why="", who=ada)
    save_version(FORM, texts=changed(title="New"), why="", who=ada)
    again = back_to_version(old, who=ada)
    assert (again.texts, again.why) == (old.texts, f"Back to version {old.number}.")
    shipped = back_to_shipped(FORM, who=ada)
    assert (shipped.texts, shipped.is_shipped) == (shipped_texts(FORM), True)
    assert DraftTemplate.objects.filter(form=FORM).count() == 5


@pytest.mark.django_db
def test_new_release_takes_over_only_where_nobody_made_a_version() -> None:
    DraftTemplate.objects.create(form=FORM, number=1, texts={"title": "older"}, is_shipped=True)
    assert current_version(FORM).number == 2
    save_version(FORM, texts=changed(title="Mine"), why="", who=factories.user())
    DraftTemplate.objects.filter(number=2).update(texts={"title": "an older release"})
    assert current_version(FORM).texts["title"] == "Mine"


@pytest.mark.django_db
def test_older_shipped_texts_are_not_trusted_as_ours() -> None:
    """What the database holds is rendered apart, unless it is word for word what we ship."""
    version = save_version(FORM, texts=changed(title="{{ 7 * 6 }}"), why="", who=factories.user())
    made, used = draft_now(factories.engine_finding())
    assert (made.title, used) == ("42", version)


def test_differences_are_told_by_text() -> None:
    (one,) = differences(shipped_texts(FORM), changed(title="Hello\n"), FORMS[FORM])
    assert (one.key, one.title) == ("title", "Title")
    assert (one.before, one.after) == (shipped_texts(FORM)["title"], "Hello\n")


# --------------------------------------------------------------------------------------- variables
@pytest.mark.parametrize("framework", ["torch", "mindspore"])
@pytest.mark.parametrize("old", [True, False])
def test_every_variable_has_a_meaning_and_a_plain_value(framework: str, *, old: bool) -> None:
    finding = factories.engine_finding(
        accused_framework=framework, **(factories.OLD if old else {})
    )
    for one in VARIABLES:
        assert one.meaning.endswith((".", ")")), one.name
        value = one.value(finding)
        kind = {"text": str, "number": int, "truth value": bool, "dictionary": dict}
        assert isinstance(value, kind.get(one.kind, list)), one.name
    assert len({one.name for one in VARIABLES}) == len(VARIABLES)


def test_templates_that_we_ship_use_every_kind_of_evidence() -> None:
    said = "\n".join(text for form in FORMS for text in shipped_texts(form).values())
    unused = {one.name for one in VARIABLES if one.name not in said}
    # Of use to people who write their own.
    assert unused <= {
        *("framework", "version", "symptom", "is_numerical", "modes", "modes_in_words"),
        *("dtypes", "environment", "program"),
    }


def test_finding_itself_is_not_handed_to_templates() -> None:
    given = variables_of(factories.engine_finding())
    assert not any(isinstance(value, Finding) for value in given.values())
    assert variables.TOOL_NOTE in given.values()


# ----------------------------------------------------------------------------------------- sandbox
def fault(text: str, **given: Any) -> TemplateFaultError:
    with pytest.raises(TemplateFaultError) as caught:
        render_apart({"describe": text}, given)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("one\ntwo {{ nothing }}", 2, "'nothing' is undefined"),
        ("one\n{% if %}", 2, "Expected an expression"),
        ("one\n\n{% for a in b %}", 3, "Unexpected end of template"),
        ("{{ 1 / 0 }}", 1, "ZeroDivisionError"),
        ("one\n{{ title.nothing }}", 2, "has no attribute 'nothing'"),
        ("one\n{{ title|nothing }}", 2, "No filter named 'nothing'"),
        ("{% include 'nothing' %}", 1, "nothing"),
        ("{{ title.__class__ }}", 1, "is unsafe"),
        ("{{ ''.__class__.__mro__ }}", 1, "is unsafe"),
        ("{{ title.format.__globals__ }}", 1, "is unsafe"),
        ("{{ range(10**9) }}", 1, "Range too big"),
    ],
)
def test_error_says_its_line_and_what_is_wrong(text: str, line: int, says: str) -> None:
    found = fault(text, title="A title")
    assert (found.field, found.line) == ("describe", line)
    assert says in found.message


def test_error_in_an_included_text_says_which() -> None:
    with pytest.raises(TemplateFaultError) as caught:
        render_form({"describe": "{% include '_part' %}", "_part": "one\n{{ nothing }}"}, {})
    assert (caught.value.field, caught.value.line) == ("_part", 2)


def test_output_has_an_end() -> None:
    found = fault("{% for a in range(99999) %}0123456789{% endfor %}")
    assert f"more than {MOST_CHARACTERS:,} characters" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "{% set r = range(99999) %}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}",
        "{{ 'a' * (10 ** 10) }}",
        "{{ 9 ** (9 ** 9) }}",
    ],
)
def test_what_takes_too_long_or_too_much_ends(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "SECONDS", 2)
    assert "more" in fault(text).message


def test_plain_data_reaches_the_process_apart() -> None:
    made = render_apart({"describe": "{{ title }} {{ rows|length }}"}, {"title": "x", "rows": [1]})
    assert made == {"describe": "x 1\n"}


@pytest.mark.django_db
def test_report_is_not_made_where_the_template_is_broken() -> None:
    ada = factories.user("ada")
    record = factories.finding()
    save_version(FORM, texts=changed(describe="{{ nothing }}"), why="", who=ada)
    with pytest.raises(TemplateFaultError, match="describe, line 1: 'nothing' is undefined"):
        draft_report(record, who=ada)
    assert not record.reports.exists()
