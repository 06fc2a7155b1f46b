"""Drafts: what a maintainer would read."""

import pytest

from engine.finding import ModeAnswer, Symptom
from tests.factories import SCRIPT, engine_finding
from triage.drafting import draft, without_places
from triage.trackers import FORMS, form_for, upstream_id


@pytest.mark.parametrize(
    ("framework", "modes", "form"),
    [
        ("torch", ("torch-inductor",), "pytorch-pt2"),
        ("torch", ("torch-aot", "torch-inductor"), "pytorch-pt2"),
        ("torch", ("torch-eager",), "pytorch-bug"),
        ("torch", ("torch-eager", "torch-inductor"), "pytorch-bug"),
        ("torch", (), "pytorch-bug"),
        ("mindspore", ("mindspore-graph",), "mindspore-bug"),
    ],
)
def test_finding_goes_into_the_form_it_belongs_in(
    framework: str, modes: tuple[str, ...], form: str
) -> None:
    assert form_for(framework, modes).key == form


@pytest.mark.parametrize("framework", ["torch", "mindspore"])
@pytest.mark.parametrize("symptom", list(Symptom))
@pytest.mark.parametrize("eager", [True, False])
def test_every_field_that_the_form_requires_is_filled(
    framework: str, symptom: Symptom, *, eager: bool
) -> None:
    names = {"torch": ("torch-eager", "torch-inductor")}.get(
        framework, ("mindspore-pynative", "mindspore-graph")
    )
    modes = names[:1] if eager else names[1:]
    made = draft(engine_finding(accused_framework=framework, accused_modes=modes, symptom=symptom))
    assert set(made.fields) == {field.key for field in made.form.fields}
    for field in made.form.fields:
        assert made.fields[field.key].strip() or not field.required, field.key
    everything = "\n".join(made.fields.values())
    assert SCRIPT.strip() in everything
    assert "FlowMuT Triage" in everything
    assert "2.13.0" in everything
    assert "{{" not in everything
    assert "\n\n\n" not in everything.replace(SCRIPT.strip(), "")


def test_compiler_report_has_the_ablation_and_the_justification() -> None:
    text = draft(engine_finding()).fields["describe"]
    assert "| torch-inductor (wrong) | float32[4] 2.718, 7.389, 20.09, 0 | inf |" in text
    assert "further from it than eager" in text


def test_answers_cannot_break_the_table() -> None:
    answer = ModeAnswer("torch-inductor", "raised", "a | b\nc" + "d" * 300)
    text = draft(engine_finding(answers=(answer,))).fields["describe"]
    line = next(line for line in text.splitlines() if line.startswith("| torch-inductor"))
    assert r"a \| b c" in line
    assert len(line) < 250


def test_collected_environment_is_given_word_for_word() -> None:
    given = engine_finding(environment={"collect_env": "PyTorch version: 2.13.0", "python": "3.11"})
    assert draft(given).fields["versions"] == "```\nPyTorch version: 2.13.0\n```\n"


def test_titles_follow_the_trackers_manner() -> None:
    assert draft(engine_finding(title="exp is wrong")).title == "[torch.compile] exp is wrong"
    mindspore = engine_finding(
        title="exp is wrong", accused_framework="mindspore", accused_modes=("mindspore-graph",)
    )
    assert draft(mindspore).title == "[ST][MS][exp] exp is wrong"
    assert len(draft(engine_finding(title="x" * 400)).title) == 255


def test_form_opens_with_its_title_where_the_tracker_can_fill_it() -> None:
    url = FORMS["pytorch-pt2"].url("a & b?")
    assert url.startswith("https://github.com/pytorch/pytorch/issues/new?")
    assert "template=pt2-bug-report.yml" in url
    assert "title=a+%26+b%3F" in url
    assert "title" not in FORMS["mindspore-bug"].url("a")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://github.com/pytorch/pytorch/issues/123456", "123456"),
        ("https://github.com/pytorch/pytorch/issues/123456/?a=1#issuecomment-9", "123456"),
        ("https://gitee.com/mindspore/mindspore/issues/I5LBGV", "I5LBGV"),
    ],
)
def test_id_is_read_from_the_address(url: str, found: str) -> None:
    assert upstream_id(url) == found


def test_reports_do_not_tell_where_things_lie_on_our_machine() -> None:
    log = (
        'File "/home/ada/project/lib/python3.11/site-packages/numpy/testing/utils.py", line 1\n'
        'File "/usr/lib/python3.11/contextlib.py", line 81\n'
        'File "/home/ada/run/reproducer.py", line 3\n'
        "mindspore/core/include/abstract/dshape.h:99 GetShapeVector\n"
        "see https://www.mindspore.cn/search?inputValue=/rank_0/om/analyze_fail.ir\n"
    )
    text = without_places(log)
    assert "/home" not in text
    assert 'File ".../site-packages/numpy/testing/utils.py"' in text
    assert 'File ".../python3.11/contextlib.py"' in text
    assert 'File "reproducer.py"' in text
    assert "mindspore/core/include/abstract/dshape.h:99" in text
    assert "https://www.mindspore.cn/search?inputValue=/rank_0/om/analyze_fail.ir" in text
