"""The linter: every rule with a script or report that keeps it, and one that breaks it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from campaigns.models import Environment
from engine.finding import Ablation, ModeAnswer, Weighed
from tests import factories
from triage.linting.labels import LABELS, proposed_labels
from triage.linting.model import Check, Subject, Verdict
from triage.linting.rules import RULES
from triage.linting.script import parsed
from triage.linting.service import (
    OverrideRefusedError,
    lint_report,
    override_rule,
    withdraw_override,
)
from triage.models import Bucket, DuplicateSearch, Report, Rerun
from triage.reporting import edit_report, link_report

pytestmark = pytest.mark.django_db

H, B, U, N = Verdict.HOLDS, Verdict.BROKEN, Verdict.UNKNOWN, Verdict.UNASKED
NOTE = (
    "I ran the script on my laptop with two releases and met this while porting a denoiser, whose "
    "mask is made by this call."
)
PLAIN = """import numpy as np
import torch

x = torch.tensor([1.0, 2.0])


def forward(x):
    return torch.exp(x)


got = torch.compile(forward, fullgraph=True)(x)
expected = np.array([2.718281828459045, 7.38905609893065])
"""
SAME = """from torch._dynamo.utils import same
assert same(got, forward(x), fp64_ref=forward(x.double()))
"""
SORTED = """def f(x):
    return x.argsort()


run = torch.compile(f)
assert (run(x) == f(x)).all()
"""
DRAWN = """import torch
import torch._inductor.config
{first}
torch.manual_seed(0)


def f(x):
    return torch.rand_like(x)


a = f(x)
{second}
b = torch.compile(f)(x)
"""
NAMED = """import numpy.testing as nt
from numpy import allclose as near
nt.assert_allclose(a)
near(a)
"""
FALLBACK, SEED = "torch._inductor.config.fallback_random = True", "torch.manual_seed(0)"
ASSERTED = "np.testing.assert_allclose(got.numpy(), expected, rtol=1.3e-06, atol=1e-05)\n"
GOOD = PLAIN + ASSERTED


def subject(script: str = GOOD, **fields: Any) -> Subject:
    """A draft whose script, and whose finding's, is this one."""
    draft = factories.report(bucket=factories.bucket(script=script, **fields))
    return Subject(draft, draft.finding.finding(), timezone.now())


def said(rule: str, script: str = GOOD, **fields: Any) -> Check:
    return RULES[rule].check(subject(script, **fields))


# ------------------------------------------------------------------------------------- the scripts
SCRIPTS: list[tuple[str, Verdict, str]] = [
    ("one_script", H, GOOD),
    ("one_script", B, "def forward(x:\n    pass\n"),
    ("short", H, GOOD),
    ("short", B, "\n".join(f"v{at} = {at}" for at in range(80))),
    ("asserts", H, GOOD),
    ("asserts", H, "x = 1\nassert x == 2, x\n"),
    (
        "asserts",
        H,
        'try:\n    f()\nexcept TypeError as error:\n    raise AssertionError("f") from error\n',
    ),
    ("asserts", H, 'print("the process dies of SIGSEGV here", flush=True)\nf()\n'),
    ("asserts", B, "print(1)\n"),
    # Self-contained.
    ("self_contained", H, GOOD),
    ("self_contained", H, "import math\nimport torch\nfrom torch import nn\nassert nn\n"),
    ("self_contained", B, "import transformers\n"),
    ("self_contained", B, "import requests\n"),
    ("self_contained", B, 'import torch\nw = torch.load("weights.pt")\n'),
    ("self_contained", B, 'x = open("data.txt").read()\n'),
    ("self_contained", B, 'import torch\nm = torch.hub.load("pytorch/vision", "resnet18")\n'),
    ("self_contained", B, 'from torch import nn\nm = nn.Module.from_pretrained("x")\n'),
    ("self_contained", B, 'path = "/home/ada/weights.npz"\n'),
    ("self_contained", B, 'url = "https://example.org/weights.npz"\n'),
    ("self_contained", H, '"""See https://example.org/page."""\nassert 1\n'),
    # Tolerances.
    ("tolerances", H, GOOD),
    ("tolerances", H, PLAIN + "torch.testing.assert_close(got, expected)\n"),
    ("tolerances", H, PLAIN + "np.testing.assert_allclose(got, expected, 1e-4, 1e-4)\n"),
    ("tolerances", B, PLAIN + "np.testing.assert_allclose(got, expected)\n"),
    ("tolerances", B, PLAIN + "np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-5)\n"),
    ("tolerances", B, PLAIN + "assert torch.allclose(got, expected, atol=1e-8)\n"),
    ("tolerances", B, PLAIN + "assert got.allclose(expected, rtol=0, atol=0)\n"),
    ("tolerances", B, PLAIN + "assert torch.equal(got, expected)\n"),
    ("tolerances", B, PLAIN + "assert (got - expected).abs().max() < 1e-9\n"),
    ("tolerances", B, PLAIN + "t = 1\nassert np.allclose(got, expected, rtol=t, atol=t)\n"),
    ("tolerances", N, "assert got.dtype == 1\n"),
    # Indices.
    ("indices", H, GOOD),
    ("indices", B, PLAIN + "assert torch.equal(got.argmax(), torch.tensor(1))\n"),
    (
        "indices",
        B,
        "def f(x):\n    return torch.topk(x, 2)\n\ngot = f(x)[1]\nassert np.allclose(got, 1)\n",
    ),
    (
        "indices",
        H,
        "def f(x):\n    return torch.topk(x, 2)\n\ngot = f(x)[0]\nassert np.allclose(got, 1)\n",
    ),
    ("indices", B, "v, i = torch.sort(x)\nassert (i == 1).all()\n"),
    ("indices", H, "v, i = torch.sort(x)\nassert (v == 1).all()\n"),
    ("indices", B, "got = torch.max(x, dim=1).indices\nassert np.array_equal(got, 1)\n"),
    ("indices", H, "got = torch.max(x, dim=1).values\nassert np.array_equal(got, 1)\n"),
    ("indices", H, "got = torch.max(x)\nassert np.array_equal(got, 1)\n"),
    ("indices", H, "i = x.argmax()\ngot = torch.gather(x, 0, i)\nassert np.allclose(got, 1)\n"),
    ("indices", B, SORTED),
    (
        "indices",
        B,
        "import numpy as np\ngot = ops.TopK()(x, 2)[1]\nnp.testing.assert_array_equal(got, 1)\n",
    ),
    ("indices", B, "i, v = ops.ArgMaxWithValue(axis=1)(x)\nassert (i == 1).all()\n"),
    # Float64 as the baseline.
    ("baseline", H, GOOD),
    (
        "baseline",
        H,
        PLAIN + "exact = np.exp(x.double().numpy())\n" + ASSERTED.replace("expected", "exact"),
    ),
    (
        "baseline",
        H,
        PLAIN + "exact = forward(x.double())\nassert torch.allclose(got, exact.float())\n",
    ),
    (
        "baseline",
        H,
        PLAIN + "exact = forward(x.to(torch.float64))\nassert torch.allclose(got, exact)\n",
    ),
    ("baseline", H, PLAIN + SAME),
    ("baseline", B, PLAIN + "eager = forward(x)\nassert torch.allclose(got, eager)\n"),
    (
        "baseline",
        B,
        PLAIN + "eager = forward(x)\nassert np.allclose(got.double(), eager.double())\n",
    ),
    ("baseline", B, PLAIN + "eager = forward(x)\ntorch.testing.assert_close(got, eager)\n"),
    ("baseline", N, "assert got.dtype == 1\n"),
    # Random numbers.
    ("random", H, GOOD),
    ("random", B, "import torch\nx = torch.rand(3)\n"),
    ("random", H, "import torch\ntorch.manual_seed(0)\nx = torch.rand(3)\n"),
    ("random", B, "import numpy as np\nx = np.random.rand(3)\n"),
    ("random", B, DRAWN.format(first="", second="")),
    ("random", B, DRAWN.format(first="", second=SEED)),
    ("random", B, DRAWN.format(first=FALLBACK, second="")),
    ("random", H, DRAWN.format(first=FALLBACK, second=SEED)),
    # Edge cases.
    ("edge_cases", H, GOOD),
    ("edge_cases", H, PLAIN.replace("7.38905609893065", "np.nan")),
    ("edge_cases", B, 'x = torch.tensor([float("nan")])\n'),
    ("edge_cases", B, "import numpy as np\nx = np.array([np.inf], np.float32)\n"),
    ("edge_cases", B, "x = torch.tensor([3e38])\n"),
    ("edge_cases", B, "x = np.zeros((0, 3), np.float32)\n"),
    ("edge_cases", B, "x = torch.tensor([2147483647])\n"),
    ("edge_cases", B, "x = torch.full((2,), torch.finfo(torch.float32).max)\n"),
]


@pytest.mark.parametrize(("rule", "verdict", "script"), SCRIPTS)
def test_rule_reads_the_script(rule: str, verdict: Verdict, script: str) -> None:
    check = said(rule, script)
    assert check.verdict is verdict, check
    assert check.seen
    assert bool(check.expected) is check.blocks


def test_every_rule_about_scripts_was_shown_both() -> None:
    shown = {verdict: {rule for rule, one, _ in SCRIPTS if one is verdict} for verdict in (H, B)}
    assert shown[H] == shown[B]
    elsewhere = {
        *("further", "runs_now", "release", "versions", "own_duplicate", "known_limit"),
        *("searched", "english", "disclosed", "form", "places", "courtesy"),
    }
    assert shown[H] | elsewhere == set(RULES)


def test_two_scripts_are_one_too_many() -> None:
    draft = factories.report()
    draft.fields["describe"] += "\n```python\nassert 0\n```\n"
    check = RULES["one_script"].check(Subject(draft, draft.finding.finding(), timezone.now()))
    assert (check.verdict, check.seen) == (B, "2 blocks of Python")


def test_attachments_count_as_downloads() -> None:
    draft = factories.report()
    draft.fields["describe"] += "\nSee https://example.org/model.zip\n"
    check = RULES["self_contained"].check(Subject(draft, draft.finding.finding(), timezone.now()))
    assert "https://example.org/model.zip" in check.seen


def test_umbrella_makes_an_edge_case_acceptable() -> None:
    one = subject('x = torch.tensor([float("nan")])\n')
    one.report.fields["describe"] += "\nUmbrella: #88148\n"
    assert RULES["edge_cases"].check(one).verdict is H


def test_float64_has_its_own_default_tolerance() -> None:
    answers = (ModeAnswer("torch-inductor", "ok", "float64[2] 1, 2"),)
    text = PLAIN + "np.testing.assert_allclose(got, expected, rtol=1e-07, atol=1e-07)\n"
    assert said("tolerances", text, answers=answers).verdict is H
    assert said("tolerances", text).verdict is B  # of float32


def test_whole_numbers_may_be_compared_exactly() -> None:
    answers = (ModeAnswer("torch-inductor", "ok", "int64[2] 1, 2"),)
    text = PLAIN + "np.testing.assert_array_equal(got, expected)\n"
    assert said("tolerances", text, answers=answers).verdict is H


def test_names_are_resolved_through_imports() -> None:
    script = parsed(NAMED)
    assert [one.name for one in script.calls] == ["numpy.testing.assert_allclose", "numpy.allclose"]


def test_comments_and_documentation_change_nothing() -> None:
    one, two = parsed('"""A."""\nx = 1  # one\n'), parsed("x = 1\n")
    assert one.same_code(two)
    assert not one.same_code(parsed("x = 2\n"))


# -------------------------------------------------------------------------------------- what ran
@pytest.fixture
def environments() -> Environment:
    return Environment.objects.create(
        name="torch",
        framework="torch",
        interpreter="/x",
        healthy=True,
        versions={"torch": "2.13.0"},
    )


def ran(one: Subject, *, version: str = "2.13.0", hours: float = 1, **fields: Any) -> Rerun:
    fields.setdefault("endings", ("reproduced",) * 3)
    return factories.rerun(
        finding=one.report.finding,
        state=Rerun.State.DONE,
        versions={"torch": version},
        ended_at=one.now - timedelta(hours=hours),
        **fields,
    )


@pytest.mark.usefixtures("environments")
def test_script_must_have_run_lately_every_time() -> None:
    rule = RULES["runs_now"].check
    one = subject()
    assert rule(one).verdict is U
    ran(one, hours=30)
    assert rule(one).verdict is U
    ran(one, hours=2, endings=("reproduced", "passed", "reproduced"))
    assert rule(one).verdict is B
    ran(one)
    assert (rule(one).verdict, rule(one).seen) == (H, "reproduced 3 of 3 with torch 2.13.0")


@pytest.mark.usefixtures("environments")
def test_run_on_an_older_version_does_not_hide_one_on_the_newest() -> None:
    one = subject()
    ran(one, hours=3)
    ran(one, hours=1, version="2.12.0", endings=("passed",) * 3)
    assert RULES["runs_now"].check(one).verdict is H


@pytest.mark.usefixtures("environments")
def test_script_in_the_report_is_the_one_that_runs() -> None:
    one = subject()
    ran(one)
    one.report.fields["describe"] = f"```python\n# shorter\n{GOOD}```"
    again = Subject(one.report, one.finding, one.now)
    assert RULES["runs_now"].check(again).verdict is H
    one.report.fields["describe"] = f"```python\n{GOOD}print(1)\n```"
    again = Subject(one.report, one.finding, one.now)
    assert "not the one of the finding" in RULES["runs_now"].check(again).seen


def test_release_is_the_newest_that_an_environment_has(environments: Environment) -> None:
    rule = RULES["release"].check
    one = subject()
    assert rule(one).verdict is H
    environments.versions = {"torch": "2.14.0"}
    environments.save()
    assert rule(one).verdict is B
    ran(one, version="2.14.0+cpu")
    assert rule(one).verdict is H
    Environment.objects.all().delete()
    assert rule(one).verdict is U


def test_versions_are_captured_and_named() -> None:
    assert said("versions").verdict is B
    given = {"torch": "2.13.0+cpu", "collect_env": "PyTorch version: 2.13.0+cpu"}
    one = subject(environment=given)
    assert RULES["versions"].check(one).verdict is H
    one.report.fields["versions"] = "see above"
    assert RULES["versions"].check(Subject(one.report, one.finding, one.now)).verdict is B


def weighed(mode: str, error: float) -> Weighed:
    return Weighed(mode, 0, "v0", "value", error, 1e-4, 1e-6, error / 1e-4, (0,), "1.0", "2.0")


def test_compiled_side_must_be_further_from_float64() -> None:
    worse = (weighed("torch-eager", 1e-7), weighed("torch-inductor", 1.0))
    same = (weighed("torch-eager", 1.0), weighed("torch-inductor", 1.0))
    alone = (weighed("torch-inductor", 1.0),)
    verdicts = [said("further", weighed=rows).verdict for rows in (worse, same, alone, ())]
    assert verdicts == [H, B, U, N]


# ------------------------------------------------------------------------------------- the words
def with_note(one: Subject, note: str = NOTE) -> Subject:
    text = one.report.fields["describe"]
    placeholder = text[text.index("(Write here") : text.index(")\n", text.index("(Write here")) + 1]
    one.report.fields["describe"] = text.replace(placeholder, note)
    return Subject(one.report, one.finding, one.now)


@pytest.mark.parametrize(
    ("note", "verdict"),
    [
        (NOTE, H),
        ("Too short.", B),
        ("> " + NOTE, B),
        ("(Write here, in your own words: what you checked yourself and why it matters.)", B),
        ("`exp` gives wrong values under torch.compile; eager and aot_eager are right.", B),
    ],
)
def test_person_says_in_own_words_why_it_matters(note: str, verdict: Verdict) -> None:
    one = with_note(subject(parts={"kind": "values"}), note)
    assert RULES["disclosed"].check(one).verdict is verdict


def test_note_of_another_report_is_not_ones_own() -> None:
    first = with_note(subject())
    first.report.save()
    check = RULES["disclosed"].check(with_note(subject()))
    assert "that of the report" in check.seen


def test_tool_must_be_named_in_a_quotation() -> None:
    one = with_note(subject())
    one.report.fields["describe"] = one.report.fields["describe"].replace("> Found", "Found")
    check = RULES["disclosed"].check(Subject(one.report, one.finding, one.now))
    assert check.seen == "no quoted line says that a tool was used"


def test_english_under_the_forms_own_headings() -> None:
    graph = {"accused_framework": "mindspore", "accused_modes": ("mindspore-graph",)}
    one = subject(**graph)
    assert RULES["english"].check(one).verdict is H
    one.report.fields["notes"] += "\n这个问题很重要\n"
    assert RULES["english"].check(Subject(one.report, one.finding, one.now)).verdict is B
    german = "Das habe ich selbst geprüft und es betrifft unser Modell beim Training sehr stark"
    check = RULES["english"].check(with_note(subject(), german))
    assert check.verdict is B
    assert RULES["english"].check(with_note(subject(), "Über 20 µs: " + NOTE)).verdict is H


def test_form_is_filled_in_the_trackers_manner() -> None:
    assert said("form").verdict is H
    one = subject()
    one.report.fields["versions"] = " "
    assert "“Versions” is empty" in RULES["form"].check(one).seen
    graph = subject(accused_framework="mindspore", accused_modes=("mindspore-graph",))
    assert RULES["form"].check(graph).verdict is H
    graph.report.title = "exp is wrong"
    assert "[ST][MS][operator]" in RULES["form"].check(graph).seen
    long = subject()
    long.report.fields["describe"] = "x" * 70_000
    assert "of at most 65,536" in RULES["form"].check(long).seen


@pytest.mark.parametrize("text", ["in /home/ada/x.py", "http://localhost:8000/triage/", "/tmp/a/b"])
def test_nothing_of_this_machine_is_told(text: str) -> None:
    one = subject()
    assert RULES["places"].check(one).verdict is H
    one.report.fields["describe"] += text
    assert RULES["places"].check(Subject(one.report, one.finding, one.now)).verdict is B


# --------------------------------------------------------------------------------- other records
URL = "https://github.com/pytorch/pytorch/issues/1"


def test_report_of_the_same_bucket_is_a_duplicate() -> None:
    one = subject()
    rule = RULES["own_duplicate"].check
    assert rule(one).verdict is H
    factories.report(bucket=one.report.bucket, status="reported", upstream_url=URL)
    assert rule(one).verdict is B
    Report.objects.filter(upstream_url=URL).update(status="rejected")
    assert rule(one).verdict is H
    one.report.bucket.status = Bucket.Status.DUPLICATE
    assert rule(one).verdict is B


def test_known_limit_is_no_report() -> None:
    one = subject()
    rule = RULES["known_limit"].check
    assert rule(one).verdict is H
    one.report.bucket.status = Bucket.Status.KNOWN_LIMIT
    assert rule(one).verdict is B
    one.report.bucket.status = Bucket.Status.FALSE_ALARM
    assert rule(one).verdict is B


def test_tracker_must_have_been_searched_lately() -> None:
    one = subject()
    rule = RULES["searched"].check
    assert rule(one).verdict is U
    made = DuplicateSearch.objects.create(report=one.report, query="exp", problem="no answer")
    assert rule(one).verdict is U
    made.problem = ""
    made.save()
    assert rule(one).verdict is H
    DuplicateSearch.objects.update(created_at=one.now - timedelta(days=8))
    assert rule(one).verdict is U


def test_no_more_than_a_few_reports_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REPORTS_A_DAY", {"pytorch": 1, "mindspore": 1})
    one = subject()
    rule = RULES["courtesy"].check
    assert rule(one).verdict is H
    joined = factories.report(bucket=factories.bucket(title="joined"))
    link_report(joined, url=f"{URL}1", who=factories.user(), kind="joined")
    assert rule(one).verdict is H  # nothing was filed
    filed = factories.report(bucket=factories.bucket(title="filed"))
    link_report(filed, url=URL, who=factories.user())
    assert (rule(one).verdict, rule(one).seen[:6]) == (B, "1 of 1")
    filed.events.update(created_at=one.now - timedelta(days=2))
    assert rule(one).verdict is H


# ------------------------------------------------------------------------------------- overrides
def test_override_holds_for_what_was_seen_and_is_kept_in_the_history() -> None:
    ada = factories.user("ada")
    draft = factories.report()
    row = next(one for one in lint_report(draft).rows if one.rule.key == "edge_cases")
    assert row.blocks
    reason = "Masked attention makes such rows in ordinary models."
    override_rule(draft, rule="edge_cases", seen=row.check.seen, reason=reason, who=ada)
    again = next(one for one in lint_report(draft).rows if one.rule.key == "edge_cases")
    assert (again.blocks, again.word) == (False, "overridden")
    event = draft.events.get(kind="overridden")
    assert (event.before, event.why, event.who) == ("Edge cases under an umbrella", reason, ada)
    # Another script, another question.
    text = draft.fields["describe"].replace('float("nan")', 'float("inf")')
    edit_report(draft, title=draft.title, fields={"describe": text}, who=ada)
    changed = next(one for one in lint_report(draft).rows if one.rule.key == "edge_cases")
    assert changed.blocks


def test_override_can_be_taken_back() -> None:
    ada = factories.user("ada")
    draft = factories.report()
    seen = next(one for one in lint_report(draft).rows if one.rule.key == "searched").check.seen
    override_rule(draft, rule="searched", seen=seen, reason="Searched by hand.", who=ada)
    assert withdraw_override(draft, rule="searched", who=ada)
    assert not withdraw_override(draft, rule="searched", who=ada)
    assert draft.events.filter(kind="override withdrawn").exists()


@pytest.mark.parametrize(
    ("rule", "seen", "says"),
    [
        ("short", "x", "does not block"),
        ("nothing", "x", "does not block"),
        ("searched", "x", "something else"),
    ],
)
def test_what_does_not_block_is_not_overridden(rule: str, seen: str, says: str) -> None:
    draft = factories.report()
    with pytest.raises(OverrideRefusedError, match=says):
        override_rule(draft, rule=rule, seen=seen, reason="because it is", who=factories.user())


def test_those_that_block_come_first_and_rules_of_other_trackers_are_left_out() -> None:
    lint = lint_report(factories.report())
    blocks = [row.blocks for row in lint.rows]
    assert blocks == sorted(blocks, reverse=True)
    assert not lint.passes
    mindspore = factories.bucket(accused_framework="mindspore", accused_modes=("mindspore-graph",))
    keys = {row.rule.key for row in lint_report(factories.report(bucket=mindspore)).rows}
    assert "further" not in keys
    assert "english" in keys


# ----------------------------------------------------------------------------------------- labels
def labels(**fields: Any) -> set[str]:
    record = factories.finding(**fields)
    tracker = "mindspore" if record.framework == "mindspore" else "pytorch"
    return {one.label for one in proposed_labels(record, tracker)}


def modes(**results: str) -> tuple[Ablation, ...]:
    names = {"eager": "torch-eager", "aot": "torch-aot", "inductor": "torch-inductor"}
    return tuple(Ablation("mode", names[name], said) for name, said in results.items())


def test_rubric_goes_by_what_the_ablations_say() -> None:
    only = modes(eager="passes", aot="passes", inductor="fails")
    found = labels(ablations=only, parts={"kind": "values"}, script=GOOD)
    assert found == {
        *("topic: fuzzer", "oncall: pt2", "module: inductor", "oncall: cpu inductor"),
        *("module: correctness (silent)", "pt2: numerics-discrepancy"),
    }
    both = modes(eager="passes", aot="fails", inductor="fails")
    assert "module: pt2-dispatcher" in labels(ablations=both, script=GOOD)
    assert "module: inductor" not in labels(ablations=both, script=GOOD)
    assert {"module: edge cases", "low priority"} <= labels(ablations=only)
    nonfinite = labels(ablations=only, parts={"kind": "NaN or Inf pattern"})
    assert "module: NaNs and Infs" in nonfinite


def test_rubric_knows_tracing_crashes_dynamic_shapes_and_regressions() -> None:
    traced = ModeAnswer(
        "torch-inductor", "raised", "raised Unsupported: x", "torch._dynamo.exc.Unsupported"
    )
    both = modes(eager="passes", aot="fails", inductor="fails")
    found = labels(ablations=both, answers=(traced,), parts={"kind": "raises in one mode"})
    assert "module: dynamo" in found
    assert "module: pt2-dispatcher" not in found
    assert "module: crash" in labels(parts={"kind": "died"})
    dynamic = labels(
        accused_modes=("torch-inductor+dynamic",),
        ablations=modes(eager="passes", inductor="passes"),
    )
    assert "module: dynamic shapes" in dynamic
    record = factories.finding()
    factories.rerun(
        finding=record, state="finished", versions={"torch": "2.12.0"}, endings=("passed",) * 3
    )
    assert "module: regression" in {one.label for one in proposed_labels(record, "pytorch")}


def test_mindspores_words_name_device_and_mode() -> None:
    found = labels(accused_framework="mindspore", accused_modes=("mindspore-graph",), ablations=())
    assert found == {"/kind bug", "/device cpu", "/mode graph"}


def test_every_label_is_proposed_once_in_these_tests() -> None:
    assert len({rule.label for rule in LABELS}) == len(LABELS)
