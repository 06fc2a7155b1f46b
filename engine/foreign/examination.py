"""From a reproducer to a finding, or to the reason why it is none."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from engine.finding import SIGNATURE_VERSION, Finding, ModeAnswer, Reproduction, Symptom
from engine.foreign.differences import Difference, Ran, difference
from engine.foreign.reading import Kind, Reproducer
from engine.foreign.running import run_modes
from engine.foreign.tracing import traced
from engine.foreign.writing import comparing_script, ending_script
from engine.oracles.verdict import Kind as Wrong
from engine.script_run import Ending, ScriptRun, run_script

__all__ = ["Examined", "Workshop", "examine"]

SEED = "submitted"
_NUMBER = re.compile(r"[-+]?\b\d[\d.]*(?:e[-+]?\d+)?\b|0x[0-9a-f]+", re.IGNORECASE)
_LINE = 160


@dataclass(frozen=True)
class Workshop:
    """Where and how reproducers run: `versions` are those of the interpreter, for the record.

    `deadline` in seconds for each process, `address_space` in bytes, `scratch`: where their folders
    are made. `watch` is called about every second, `say` at each step.
    """

    interpreter: str
    versions: Mapping[str, str]
    attempts: int = 3
    deadline: float = 180.0
    address_space: int = 16 * 2**30
    scratch: Path | None = None
    watch: Callable[[], None] = lambda: None
    say: Callable[[str], None] = lambda text: None

    def run(self, text: str) -> ScriptRun:
        """A script, alone and isolated."""
        return run_script(
            text,
            interpreter=self.interpreter,
            deadline=self.deadline,
            address_space=self.address_space,
            scratch=self.scratch,
            watch=self.watch,
            offline=True,
        )


@dataclass(frozen=True)
class Examined:
    """`answers`: what each mode or attempt said. `reason`: why there is no finding, "" where there
    is one, or how it was judged. `isolation`: what became of the network."""

    answers: tuple[ModeAnswer, ...]
    finding: Finding | None
    reason: str
    isolation: str


def examine(
    reproducer: Reproducer, workshop: Workshop, *, symptom: Symptom | None = None
) -> Examined:
    """Run it and judge. `symptom`: what a person calls it; else it is read from how it fails.

    `BadInput` where it is not what it claims to be: no inputs, an error before the assertion.
    """
    if reproducer.kind is Kind.SCRIPT:
        return _examine_script(reproducer, workshop, symptom)
    return _examine_function(reproducer, workshop, symptom)


# ------------------------------------------------------------------------------------------ scripts
def _examine_script(
    reproducer: Reproducer, workshop: Workshop, symptom: Symptom | None
) -> Examined:
    text = ending_script(reproducer)
    began = monotonic()
    runs = _attempts(text, workshop)
    answers = tuple(_attempt(at, run) for at, run in enumerate(runs, start=1))
    isolation = runs[-1].isolation
    shown = next((run for run in runs if run.reproduced), None)
    if shown is None:
        return Examined(answers, None, _why_not(reproducer, runs), isolation)
    message = _message(shown)
    finding = _finding(
        reproducer,
        workshop,
        symptom=symptom or _symptom(shown),
        modes=(),
        kind="assertion",
        message=message,
        title=reproducer.doc or f"{reproducer.op or reproducer.name}: {message}",
        verdict=f"The script says: {message}",
        answers=answers,
        script=text,
        runs=runs,
        seconds=monotonic() - began,
    )
    return Examined(answers, finding, "", isolation)


def _attempts(text: str, workshop: Workshop) -> list[ScriptRun]:
    """As many as asked for; two that could not run are enough."""
    runs: list[ScriptRun] = []
    for number in range(1, workshop.attempts + 1):
        workshop.say(f"attempt {number} of {workshop.attempts}")
        runs.append(workshop.run(text))
        if sum(run.ending is Ending.NOT_RUN for run in runs) >= 2:
            break
    return runs


def _attempt(number: int, run: ScriptRun) -> ModeAnswer:
    statuses = {Ending.REPRODUCED: "raised", Ending.PASSED: "ok", Ending.NOT_RUN: "unsupported"}
    summary = _message(run) if run.reproduced else run.reason or "nothing is wrong"
    return ModeAnswer(
        mode=f"attempt {number}",
        status=statuses[run.ending],
        summary=summary[:300],
        detail=run.output,
        seconds=run.seconds,
    )


def _why_not(reproducer: Reproducer, runs: list[ScriptRun]) -> str:
    if any(run.ending is Ending.PASSED for run in runs):
        passed = sum(run.ending is Ending.PASSED for run in runs)
        return f"The assertion holds: passed {passed} of {len(runs)}. There is nothing to report."
    why = runs[-1].reason
    return (
        f"It could not run: {why}. A script shows a bug by an AssertionError: catch what the"
        " framework raises, and assert that it does not."
    )


def _message(run: ScriptRun) -> str:
    """The assertion's first line, or how it died."""
    at = run.output.rfind("AssertionError")
    if at < 0:
        lines = [one for one in run.output.splitlines() if one.strip()]
        return (lines or ["it died"])[0][:_LINE]
    lines = [one.strip() for one in run.output[at:].splitlines() if one.strip()]
    first = lines[0].partition(":")[2].strip()
    return (first or " ".join(lines[1:3]) or "an assertion fails")[:_LINE]


def _symptom(run: ScriptRun) -> Symptom:
    """A crash where it died, or where the assertion was made of another exception."""
    if run.returncode < 0 or " exception was the direct cause" in run.output:
        return Symptom.CRASH
    caught = "During handling of the above exception" in run.output
    return Symptom.CRASH if caught else Symptom.NUMERICAL


# ---------------------------------------------------------------------------------------- functions
def _examine_function(
    reproducer: Reproducer, workshop: Workshop, symptom: Symptom | None
) -> Examined:
    began = monotonic()
    ran, isolation = run_modes(
        reproducer,
        interpreter=workshop.interpreter,
        deadline=workshop.deadline,
        address_space=workshop.address_space,
        scratch=workshop.scratch,
        watch=workshop.watch,
        say=workshop.say,
    )
    answers = tuple(_answer(one) for one in ran.values())
    found = difference(ran, framework=reproducer.framework)
    if reproducer.framework == "torch":
        workshop.say("tracing it into a case")
        case = traced(reproducer, workshop)
        workshop.say(case.reason)
        if case.finding is not None:
            return Examined(answers, case.finding, case.reason, isolation)
        if found is not None and case.has_ruled and found.kind is Wrong.VALUES:
            return Examined(answers, None, case.reason, isolation)
    if found is None:
        return Examined(answers, None, _agreement(ran), isolation)
    script = comparing_script(reproducer, found)
    runs = _attempts(script, workshop)
    if not any(run.reproduced for run in runs):
        reason = (
            f"{found.mode}: {found.kind}, but it does not repeat in a script: {runs[-1].reason}"
        )
        return Examined(answers, None, reason, isolation)
    finding = _finding(
        reproducer,
        workshop,
        symptom=symptom or found.kind.symptom,
        modes=(found.mode,),
        kind=found.kind.value,
        message=found.detail if found.kind.symptom is Symptom.CRASH else "",
        title=f"{reproducer.op or reproducer.function}: {_said(found, ran)}",
        verdict=f"{_said(found, ran)}; {found.reference} says otherwise.",
        answers=answers,
        script=script,
        runs=runs,
        seconds=monotonic() - began,
    )
    return Examined(answers, finding, "judged by what its modes answer", isolation)


def _answer(one: Ran) -> ModeAnswer:
    return ModeAnswer(one.mode, one.status, one.says, detail=one.output, seconds=one.seconds)


def _agreement(ran: Mapping[str, Ran]) -> str:
    if all(one.status == "raised" for one in ran.values()):
        kinds = sorted({one.raised for one in ran.values()})
        return (
            f"Every mode raises ({', '.join(kinds)}): no two differ. Where it should not raise at"
            " all, submit a script that asserts so."
        )
    late = [one.mode for one in ran.values() if one.status == "timeout"]
    rest = f" Not done in time, which says nothing: {', '.join(late)}." if late else ""
    return f"Every mode that ran agrees within the default tolerances.{rest}"


def _said(found: Difference, ran: Mapping[str, Ran]) -> str:
    if found.kind is Wrong.RAISES:
        return f"{found.mode} {ran[found.mode].says}"[:_LINE]
    place = f" ({found.place})" if found.place not in ("", "result") else ""
    return f"{found.mode}: {found.kind.value}{place}, {found.detail}"[:_LINE]


# ----------------------------------------------------------------------------------------- findings
def _finding(
    reproducer: Reproducer,
    workshop: Workshop,
    *,
    symptom: Symptom,
    modes: tuple[str, ...],
    kind: str,
    message: str,
    title: str,
    verdict: str,
    answers: tuple[ModeAnswer, ...],
    script: str,
    runs: list[ScriptRun],
    seconds: float,
) -> Finding:
    """A finding without a graph. Calls that fail alike share a bucket, whatever the numbers."""
    parts = {
        "version": str(SIGNATURE_VERSION),
        "symptom": symptom.value,
        "framework": reproducer.framework,
        "modes": ",".join(modes),
        "kind": kind,
        "message": _NUMBER.sub("<n>", message),
        "calls": " > ".join(reproducer.calls),
        "dtypes": "",
    }
    text = "\n".join(f"{name}={one}" for name, one in parts.items())
    shown = next(run for run in runs if run.reproduced)
    return Finding(
        symptom=symptom,
        accused_framework=reproducer.framework,
        accused_modes=modes,
        accused_op=reproducer.op,
        title=title,
        verdict=verdict,
        key="|".join(parts[one] for one in ("symptom", "framework", "modes", "kind", "message")),
        signature=hashlib.sha256(text.encode()).hexdigest(),
        parts=parts,
        seed=SEED,
        round=0,
        mutator="",
        lineage=(),
        parent_text="",
        mutant_text="",
        changed=(),
        minimised_text="",
        minimised_nodes=len(reproducer.calls),
        original_nodes=len(reproducer.calls),
        divergence="",
        answers=answers,
        reproduction=Reproduction(sum(run.reproduced for run in runs), len(runs)),
        script=script,
        script_output=shown.output,
        environment=workshop.versions,
        seconds=seconds,
    )
