"""Drafts: what a maintainer would read."""

from typing import Any

import pytest

from engine.finding import ModeAnswer, Symptom
from engine.oracles.verdict import Kind
from tests.factories import OLD, SCRIPT, engine_finding
from triage.drafting import Draft, draft, form_of
from triage.drafting.logs import error_text, printed
from triage.drafting.versions import shipped_texts
from triage.drafting.wording import (
    actual_sentence,
    expected_sentence,
    headline,
)
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


def drafted(**fields: Any) -> Draft:
    """A finding in the words that we ship."""
    finding = engine_finding(**fields)
    return draft(finding, shipped_texts(form_of(finding).key), trusted=True)


@pytest.mark.parametrize("framework", ["torch", "mindspore"])
@pytest.mark.parametrize("symptom", list(Symptom))
@pytest.mark.parametrize("eager", [True, False])
@pytest.mark.parametrize("old", [True, False])
def test_every_field_that_the_form_requires_is_filled(
    framework: str, symptom: Symptom, *, eager: bool, old: bool
) -> None:
    names = {"torch": ("torch-eager", "torch-inductor")}.get(
        framework, ("mindspore-pynative", "mindspore-graph")
    )
    modes = names[:1] if eager else names[1:]
    made = drafted(
        accused_framework=framework,
        accused_modes=modes,
        symptom=symptom,
        **(OLD if old else {}),
    )
    assert set(made.fields) == {field.key for field in made.form.fields}
    for field in made.form.fields:
        assert made.fields[field.key].strip() or not field.required, field.key
    everything = "".join(made.fields.values())
    assert SCRIPT.strip() in everything
    assert "FlowMuT Triage" in everything
    assert "2.13.0" in everything
    assert "{{" not in everything
    assert "\n\n\n" not in everything.replace(SCRIPT.strip(), "")


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("modes", [("torch-inductor",), ("mindspore-pynative", "mindspore-graph")])
def test_every_kind_of_difference_has_its_sentences(kind: Kind, modes: tuple[str, ...]) -> None:
    finding = engine_finding(
        parts={"kind": kind.value},
        title="torch.exp: does something",
        accused_framework=modes[0].partition("-")[0],
        accused_modes=modes,
    )
    assert finding.verdict not in actual_sentence(finding)
    assert headline(finding).startswith("torch.exp ")
    assert expected_sentence(finding).endswith(".")
    place = "under torch.compile" if len(modes) == 1 else "in PyNative and Graph mode"
    assert headline(finding).endswith(place)


def test_title_says_what_came_instead_of_what() -> None:
    answers = (
        ModeAnswer("torch-eager", "ok", "int32[2] 1, 2"),
        ModeAnswer("torch-inductor", "ok", "int64[2] 1, 2"),
    )
    made = drafted(title="torch.matmul: x", parts={"kind": "dtype"}, answers=answers)
    assert made.title == "torch.matmul returns int64 instead of int32 under torch.compile"
    pattern = drafted(title="torch.exp: x", parts={"kind": "NaN or Inf pattern"})
    assert pattern.title == "torch.exp gives 0.0 instead of 20.085536923187668 under torch.compile"


def test_compiler_report_has_the_ablation_and_the_justification() -> None:
    text = drafted().fields["describe"]
    assert "| mode | inductor | fails |" in text
    assert "| option | torch._inductor.config.emulate_precision_casts=True | passes |" in text
    assert "The result at index [3] is `20.085536923187668` when calculated in float64" in text
    assert "eager is off by 1.2e-07 at most" in text
    assert "four times the default tolerance of float32 (rtol=1.3e-06, atol=1e-05)" in text
    # What could not be run says nothing, and neither does another framework.
    assert "torch.special.exp" not in text


def test_answers_cannot_break_the_table() -> None:
    answer = ModeAnswer("torch-eager", "raised", "a | b\nc" + "d" * 300)
    text = drafted(answers=(answer,), accused_modes=("torch-eager",)).fields["describe"]
    line = next(line for line in text.splitlines() if line.startswith("| eager (wrong)"))
    assert r"a \| b c" in line
    assert len(line) < 250


def test_code_cannot_leave_its_block() -> None:
    script = 'text = """\n```\n"""\nassert False\n'
    text = drafted(script=script).fields["describe"]
    assert f"````python\n{script}````" in text


def test_collected_environment_is_given_word_for_word() -> None:
    environment = {"collect_env": "PyTorch version: 2.13.0", "python": "3.11"}
    assert (
        drafted(environment=environment).fields["versions"] == "```\nPyTorch version: 2.13.0\n```\n"
    )


def test_titles_follow_the_trackers_manner() -> None:
    assert drafted(title="exp is wrong").title == "[torch.compile] exp is wrong"
    mindspore = {"accused_framework": "mindspore", "accused_modes": ("mindspore-graph",)}
    assert drafted(title="exp is wrong", **mindspore).title == "[ST][MS][exp] exp is wrong"
    assert len(drafted(title="x" * 400).title) == 255


def test_error_text_has_no_frames_of_ours_and_says_nothing_twice() -> None:
    frames = (
        "Traceback (most recent call last):\n"
        '  File "./reproducer.py", line 20, in <module>\n    forward(x)\n'
        '  File "/usr/lib/python3.11/contextlib.py", line 81, in inner\n    return func()\n'
        "TypeError: no such call\n"
        "\nThe above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\nAssertionError: it raises\n"
    )
    worker = (
        'Traceback (most recent call last):\n  File "session.py", line 1, in _run\n    run()\n'
        '  File "case_1.py", line 6, in forward\n    exp(x)\nValueError: in Graph mode\n'
    )
    finding = engine_finding(
        accused_framework="mindspore",
        accused_modes=("mindspore-pynative", "mindspore-graph"),
        script_output=f"mindspore 2.10.0\n{frames}",
        answers=(
            ModeAnswer("mindspore-pynative", "raised", "raised TypeError: no such call", frames),
            ModeAnswer("mindspore-graph", "raised", "raised ValueError: in Graph mode", worker),
        ),
    )
    text = error_text(finding)
    assert text.count("TypeError: no such call") == 1
    assert "contextlib" not in text
    assert "AssertionError" not in text
    assert "session.py" not in text
    assert 'Graph:\nTraceback (most recent call last):\n  File "case_1.py", line 6' in text
    assert printed(finding) == "mindspore 2.10.0"


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
