"""The rules, as a table. What a tracker publishes comes first, then what keeps us honest."""

from __future__ import annotations

from collections.abc import Mapping

from triage.linting import of_inputs, of_numbers, of_records, of_report, of_runs, of_script
from triage.linting.model import Rule
from triage.models import Tracker

__all__ = ["RULES"]

_FORM = "https://github.com/pytorch/pytorch/blob/main/.github/ISSUE_TEMPLATE/bug-report.yml"
_POLICY = "https://github.com/pytorch/pytorch/blob/main/AI_POLICY.md"
_CHECKLIST = "PyTorch's checklist for fuzzers"
_OURS = "house rule"
_PYTORCH = (Tracker.PYTORCH.value,)

_ALL = (
    Rule("tolerances", "Default tolerances", _CHECKLIST, of_numbers.has_tolerances, _FORM),
    Rule("indices", "No indices compared", _CHECKLIST, of_numbers.compares_no_indices, _FORM),
    Rule("baseline", "Float64 as the baseline", _CHECKLIST, of_numbers.has_exact_baseline, _FORM),
    Rule(
        "further",
        "Compiled is further from float64 than eager",
        "a maintainer's words in pytorch#143182",
        of_runs.is_further_than_eager,
        "https://github.com/pytorch/pytorch/issues/143182",
        _PYTORCH,
    ),
    Rule("random", "Same random numbers", _CHECKLIST, of_inputs.draws_alike, _FORM),
    Rule("one_script", "One script", "the trackers' forms", of_script.is_one_script, _FORM),
    Rule("short", "Short", "PyTorch's form: as succinct as possible", of_script.is_short, _FORM),
    Rule(
        "self_contained",
        "Self-contained, nothing downloaded",
        "PyTorch's form: fully self-contained",
        of_script.is_self_contained,
        _FORM,
    ),
    Rule("asserts", "Asserts the difference", "PyTorch's triage rules", of_script.has_assertion),
    Rule("runs_now", "Runs now, and fails as said", "PyTorch's triage rules", of_runs.runs_now),
    Rule("release", "Current release", "the trackers' forms", of_runs.is_on_current_release),
    Rule("versions", "Versions captured", "the trackers' forms", of_runs.has_versions, _FORM),
    Rule(
        "edge_cases",
        "Edge cases under an umbrella",
        "PyTorch's triage rules: module: edge cases",
        of_inputs.lists_extreme_values,
        "https://github.com/pytorch/pytorch/issues/88148",
        _PYTORCH,
    ),
    Rule("own_duplicate", "No duplicate of ours", _OURS, of_records.is_no_own_duplicate),
    Rule("known_limit", "No known limit", _OURS, of_records.is_no_known_limit),
    Rule("searched", "Tracker searched", "the trackers' forms", of_records.was_searched),
    Rule("english", "English", "the trackers' working language", of_report.is_english),
    Rule(
        "disclosed",
        "Tool disclosed, with a human note",
        "PyTorch's AI_POLICY.md; “Is there a human note?” (pytorch#195483)",
        of_report.is_disclosed,
        _POLICY,
    ),
    Rule("form", "The form is filled", "the trackers' forms", of_report.fills_the_form, _FORM),
    Rule("places", "Nothing of this machine", _OURS, of_report.tells_no_places),
    Rule("courtesy", "Daily limit", "upstream's patience", of_records.is_within_courtesy),
)
RULES: Mapping[str, Rule] = {rule.key: rule for rule in _ALL}
