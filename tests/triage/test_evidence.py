"""What the bucket page says of a finding: figures of the referee, ablations, what to do next."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from engine.finding import Ablation, Finding, ModeAnswer, Weighed
from tests import factories
from triage.evidence import ablation_axes, ablation_sentence, quantities, words
from triage.models import Bucket, Report
from triage.summary import next_step, summary
from triage.text import log, times


def weighed(mode: str, ratio: float, **fields: Any) -> Weighed:
    plain = Weighed(mode, 0, "v0", "value", ratio * 1e-4, 1e-4, 1e-5, ratio, (0,), "1", "2")
    return replace(plain, **fields)


def found(*rows: Weighed) -> Finding:
    return factories.engine_finding(weighed=rows)


# ------------------------------------------------------------------------------------- the referee
def test_who_is_beyond_what_is_allowed_and_who_is_further_from_float64_is_said() -> None:
    (one,) = quantities(found(weighed("torch-eager", 0.5), weighed("torch-inductor", 40.0)))
    assert one.sentence == (
        "torch-inductor is beyond what is allowed, 40 times it; torch-eager stays within it."
        " torch-inductor is further from float64 than torch-eager: 0.004 against 5e-05."
    )
    eager, inductor = one.figures
    assert (eager.is_over, inductor.is_over) == (False, True)
    assert (eager.is_accused, inductor.is_accused) == (False, True)
    assert "error 0.004, allowed 0.0001: beyond" in inductor.bar


def test_quantities_that_somebody_has_wrong_come_first() -> None:
    fine = [weighed(mode, 0.1, name="v0") for mode in ("torch-eager", "torch-inductor")]
    wrong = [weighed("torch-eager", 0.1, name="v1"), weighed("torch-inductor", 3.0, name="v1")]
    gradient = weighed("torch-eager", 0.1, quantity="gradient", name="x", call=1)
    shown = quantities(found(*fine, gradient, *wrong))
    assert [(one.name, one.kind, one.call) for one in shown] == [
        ("v1", "value", 0),
        ("v0", "value", 0),
        ("x", "gradient", 1),
    ]
    assert shown[1].sentence == "Every mode that answered is within what is allowed."


@pytest.mark.parametrize("ratio", [inf, nan])
def test_numbers_without_end_are_beyond_and_have_a_full_bar(ratio: float) -> None:
    (one,) = quantities(found(weighed("torch-eager", ratio, error=ratio)))
    assert one.figures[0].is_over
    assert 'class="error" y="7.0" width="150"' in one.figures[0].bar
    assert one.sentence == "torch-eager is beyond what is allowed; no mode stays within it."


def test_error_of_nothing_has_no_bar() -> None:
    (one,) = quantities(found(weighed("torch-eager", 0.0), weighed("torch-aot", 2.0)))
    assert 'class="error" y="7.0" width="0.0"' in one.figures[0].bar


def test_longer_bars_are_greater_errors() -> None:
    ratios = [1e-9, 1e-3, 1.0, 50.0, 1e12]
    (one,) = quantities(found(*(weighed(f"mode {ratio}", ratio) for ratio in ratios)))
    lengths = [float(figure.bar.split('class="error"')[1].split('"')[3]) for figure in one.figures]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) == len(lengths)


# --------------------------------------------------------------------------------------- ablations
def test_matrix_is_said_in_one_sentence() -> None:
    assert ablation_sentence(factories.engine_finding()) == (
        "Fails only in torch-inductor; goes away with emulate_precision_casts; stays with dynamic;"
        " fails with float64 too; every form of the call that runs fails."
    )


def test_what_could_not_run_says_nothing() -> None:
    rows = (Ablation("mode", "torch-aot", "could not run"), Ablation("mode", "numpy", "fails"))
    finding = factories.engine_finding(ablations=rows)
    assert ablation_sentence(finding) == "Fails in numpy, and no mode passes."
    assert ablation_sentence(factories.engine_finding(ablations=rows[:1])) == ""


def test_rows_of_the_matrix_begin_with_what_fails() -> None:
    axes = ablation_axes(factories.engine_finding())
    assert [axis.name for axis in axes] == ["mode", "option", "dtype", "form"]
    assert [cell.result for cell in axes[0].cells] == ["fails", "passes", "passes"]


def test_axis_of_a_later_version_is_shown_under_its_own_name() -> None:
    finding = factories.engine_finding(ablations=(Ablation("threads", "8", "fails"),))
    assert [(axis.label, len(axis.cells)) for axis in ablation_axes(finding)] == [("threads", 1)]


# ----------------------------------------------------------------------------------------- summary
@pytest.mark.django_db
def test_summary_says_who_is_accused_and_why_it_is_believed() -> None:
    record = factories.finding()
    latest = factories.rerun(finding=record, state="finished", endings=["passed"])
    said = summary(record, record.finding(), latest=latest)
    assert said.accused == "PyTorch 2.13.0 in torch-inductor, operator exp"
    assert said.reasons[0] == "It reproduced 3 of 3 times, each in a fresh process."
    assert said.reasons[1] == "When last run again it passed 1 of 1."
    assert said.script == f"reproduce_exp_{str(record.uuid)[:8]}.py"
    assert said.said == ""


@pytest.mark.django_db
def test_summary_repeats_what_an_accused_mode_said_instead_of_an_answer() -> None:
    answers = (
        ModeAnswer("torch-eager", "raised", "raised TypeError: of another mode"),
        ModeAnswer("torch-inductor", "raised", "raised ValueError: at least 2 rows"),
    )
    record = factories.finding(answers=answers)
    said = summary(record, record.finding(), latest=None).said
    assert said == "raised ValueError: at least 2 rows"


@pytest.mark.django_db
def test_summary_of_an_older_finding_names_the_modes_that_answer() -> None:
    record = factories.finding(**factories.OLD)
    reasons = summary(record, record.finding(), latest=None).reasons
    assert reasons[1:] == ("torch-eager answers as expected.",)


@pytest.mark.parametrize(
    ("items", "text"),
    [((), ""), (("a",), "a"), (("a", "b"), "a and b"), (("a", "b", "c"), "a, b and c")],
)
def test_names_are_joined_as_people_do(items: tuple[str, ...], text: str) -> None:
    assert words(items) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0, "0 times"),
        (1e-7, "under 0.01 times"),
        (0.1234, "0.123 times"),
        (40.0, "40 times"),
        (183_456.0, "180,000 times"),
        (inf, "inf times"),
        (nan, "nan times"),
    ],
)
def test_ratios_are_short(ratio: float, text: str) -> None:
    assert times(ratio) == text


def test_long_text_is_folded_before_its_last_lines() -> None:
    text = "\n".join(f"line {number}" for number in range(100))
    folded = log(text)
    assert (folded.folded, folded.shown) == (70, 30)
    assert folded.first.splitlines()[0] == "line 0"
    assert folded.last.splitlines()[-1] == "line 99"
    assert folded.size.startswith("100 lines, ")
    assert log("one").first == ""
    assert log("").last == ""


# --------------------------------------------------------------------------------------- what next
STEPS = [
    ({"status": "new"}, "Nobody has judged this. Read the script, then confirm or dismiss it."),
    ({"status": "needs_work"}, "It needs work before it can be judged."),
    ({"status": "confirmed"}, "Confirmed. Draft a report in its tracker's form."),
    ({"status": "reported"}, "Reported, but no report is linked."),
    ({"status": "fixed"}, "Nothing is left to do. Run it again with a newer version"),
    ({"status": "false_alarm"}, "Nothing is left to do: it is a false alarm."),
    ({"status": "new", "flag": "not_reproduced"}, "It no longer reproduces."),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("fields", "text"), STEPS)
def test_next_step_follows_status_and_flag(fields: dict[str, str], text: str) -> None:
    bucket = factories.bucket(**fields)
    step = next_step(bucket, record=bucket.findings.get(), reports=())
    assert step.text.startswith(text)


@pytest.mark.django_db
def test_every_status_and_flag_has_a_next_step() -> None:
    for status in Bucket.Status:
        for flag in Bucket.Flag:
            bucket = Bucket(status=status, flag=flag, title="a")
            assert next_step(bucket, record=None, reports=()).text


@pytest.mark.django_db
def test_next_step_follows_the_report() -> None:
    report = factories.report()
    bucket, record = report.bucket, report.finding
    bucket.status = "confirmed"
    step = next_step(bucket, record=record, reports=[report])
    assert (step.action, step.url) == ("Open the draft", report.get_absolute_url())
    report.upstream_url = "https://github.com/pytorch/pytorch/issues/7"
    for status, text in {
        Report.Status.REPORTED: "Reported; waiting for upstream.",
        Report.Status.FIX_CLAIMED: "Upstream says that it is fixed.",
        Report.Status.REJECTED: "Upstream has rejected it.",
    }.items():
        report.status, bucket.status = status, "reported"
        assert next_step(bucket, record=record, reports=[report]).text.startswith(text)
    bucket.status = "confirmed"
    assert "Set the status to reported" in next_step(bucket, record=record, reports=[report]).text


@pytest.mark.django_db
def test_next_step_names_who_is_to_judge() -> None:
    bucket = factories.bucket(assignee=factories.user("ada"))
    assert next_step(bucket, record=None, reports=()).text.startswith("ada has not judged this.")
