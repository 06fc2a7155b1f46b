"""From a divergence to a finding: confirmed alone, minimised, scripted, described."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np

from engine.ablation import ablations, label
from engine.errors import ConstraintViolated
from engine.executors.apis import public_apis
from engine.executors.lowering import Unsupported, lower
from engine.executors.outcome import Answer, Array, Outcome, Status
from engine.facts import facts_in_words
from engine.finding import Finding, Localised, ModeAnswer, Reproduction, Step, Symptom
from engine.ir.case import Case, Plan
from engine.ir.graph import Graph, Node
from engine.ir.text import print_case
from engine.ir.window import cut
from engine.localisation import localised, until
from engine.minimising import needed_modes, smallest
from engine.oracles.judge import PHRASES, describe, modes_in_words
from engine.oracles.keys import form_name, form_of, signature_parts
from engine.oracles.verdict import Divergence, Kind
from engine.script import write_script
from engine.script_run import Ending, run_script
from engine.throttle import Throttle, coarse_key
from engine.trial import Bench, Trial, failed_with, referees_of
from engine.weighing import weighed

__all__ = ["Discovery", "report"]

_FURTHER = range(2)  # runs beside that of the script
_RAISED = (Kind.RAISES, Kind.DOCUMENTED, Kind.IN_FORM)
_VALUES = (Kind.VALUES, Kind.NONFINITE)
_SHORT = 24  # letters of a call that stands in a title


@dataclass(frozen=True)
class Discovery:
    """A failing window as the campaign found it.

    `profiled`: what was recorded of the parent, by value. `steps`: those mutations of `lineage`
    that are at hand. `located`: where the failure begins in the window.
    """

    seed: str
    round: int
    mutator: str
    lineage: tuple[str, ...]
    case: Case
    blobs: MutableMapping[str, Array]
    parent: Graph
    changed: tuple[str, ...]
    divergence: Divergence
    original_nodes: int
    profiled: Mapping[str, Answer] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    located: tuple[Localised, ...] = ()


def report(
    found: Discovery, bench: Bench, *, seconds: float, throttle: Throttle | None = None
) -> Iterator[Finding]:
    """The finding, or nothing where the failure does not repeat or is already on record.

    A failure counts when it repeats alone, in a fresh process, and its script shows it: what calls
    before it left behind in a worker is not this case's doing. `throttle` is told what was
    minimised; a second discovery of a signature that it knows is not reported again.
    """
    began = monotonic()
    met = coarse_key(found.divergence, found.located, found.case.graph).key
    found = _alone(_from_its_cause(found, bench), bench)
    key = found.divergence.key
    modes = needed_modes(found.divergence, bench.modes)
    whole = bench.trial(found.case, found.blobs, modes=modes, alone=True)
    begun = next((one for one in whole.verdict.divergences if one.key == key), None)
    if begun is None:
        return
    made = smallest(
        whole,
        begun,
        bench,
        found.blobs,
        located=found.located,
        seconds=seconds,
        changed=found.changed,
    )
    if made is None:
        return
    trial, divergence, small = made.trial, made.divergence, made.trial.case
    parts = signature_parts(divergence, small.graph)
    signature = hashlib.sha256("\n".join(f"{k}={v}" for k, v in parts.items()).encode()).hexdigest()
    places = localised(trial, divergence, bench, found.blobs)
    coarse = (
        met,
        coarse_key(found.divergence, found.located, found.case.graph).key,
        coarse_key(divergence, places, small.graph).key,
    )
    if throttle is not None:
        throttle.note_minimised(*coarse)
        if not throttle.is_new(signature):
            return
    everywhere = _everywhere(small, found.blobs, bench, trial)
    complete = replace(trial, comparison=replace(trial.comparison, outcomes=everywhere))
    ablated = ablations(complete, divergence, bench, found.blobs)
    title, verdict = _labelled(divergence, small.graph, label(ablated))
    script = write_script(trial.comparison, divergence, found.blobs, title=title)
    interpreter = bench.pool.environment(divergence.framework).interpreter
    # Whoever reads the finding has its script alone: what that does not show, nobody can act on.
    runs = [run_script(script, interpreter=interpreter)]
    if runs[0].ending is Ending.PASSED:
        runs.append(run_script(script, interpreter=interpreter))
    run = runs[-1]
    if run.ending is Ending.PASSED:
        return
    again = (made.bench.trial(small, found.blobs, modes=modes, alone=True) for _ in _FURTHER)
    repeated = sum(failed_with(one, key) for one in again)
    if not repeated + run.reproduced:
        return
    yield Finding(
        symptom=divergence.symptom,
        accused_framework=divergence.framework,
        accused_modes=divergence.modes,
        accused_op=accused_op(divergence, small, places),
        title=title,
        verdict=verdict,
        key=key,
        signature=signature,
        parts=parts,
        seed=found.seed,
        round=found.round,
        mutator=found.mutator,
        lineage=found.lineage,
        parent_text=print_case(Case(found.parent)),
        mutant_text=print_case(found.case),
        changed=found.changed,
        minimised_text=print_case(small),
        minimised_nodes=len(small.graph.nodes),
        original_nodes=found.original_nodes,
        divergence=divergence.value,
        answers=tuple(_answer(one, trial, divergence) for one in everywhere.values()),
        reproduction=Reproduction(repeated + run.reproduced, len(_FURTHER) + len(runs)),
        script=script,
        script_output=run.output,
        environment=bench.environment(divergence.framework),
        seconds=monotonic() - began,
        weighed=weighed(complete.comparison),
        ablations=ablated,
        localised=places,
        window_localised=found.located,
        coarse=coarse,
        steps=found.steps,
        parent_facts=facts_in_words(found.parent, found.profiled),
        mutant_facts=_mutant_facts(found, bench),
    )


def _from_its_cause(found: Discovery, bench: Bench) -> Discovery:
    """The program up to a call whose answer makes a later one raise, as a discovery of its own:
    whoever is given a wrong value says so in words of its own, and the cause is one."""
    graph, divergence = found.case.graph, found.divergence
    if divergence.symptom is not Symptom.CRASH:
        return found
    for place in found.located:
        if place.direction == "forward" and place.value in set(graph.by_name) - {divergence.node}:
            case = until(found.case, graph.position[place.value])
            trial = bench.trial(case, found.blobs, modes=needed_modes(divergence, bench.modes))
            for one in trial.verdict.divergences:
                is_cause = divergence.node or one.kind is not divergence.kind
                if is_cause and place.mode in one.modes:
                    return replace(found, case=case, divergence=one, located=(place,))
    return found


def _alone(found: Discovery, bench: Bench) -> Discovery:
    """The call that raised, given what it was given in the window, as a discovery of its own where
    it raises alike there: what other calls do to other modes is not its doing, and the finding of
    one call is the same in whatever window it was met."""
    graph, divergence = found.case.graph, found.divergence
    node = graph.by_name.get(divergence.node)
    if divergence.kind not in _RAISED or node is None or divergence.call or len(graph.nodes) == 1:
        return found
    referees = referees_of(found.case, found.blobs)
    try:
        values = referees[0].working if referees else {}
        case, blobs = cut(found.case, (node.name,), values, plan=Plan())
    except ConstraintViolated:
        return found  # what it is given is not known, or is no tensor
    given = {**found.blobs, **blobs}
    trial = bench.trial(case, given, modes=needed_modes(divergence, bench.modes))
    for one in trial.verdict.divergences:
        is_alike = one.kind in _RAISED and one.message == divergence.message
        if is_alike and set(one.modes) & set(divergence.modes):
            places = tuple(place for place in found.located if place.value == node.name)
            return replace(found, case=case, blobs=given, divergence=one, located=places)
    return found


def _everywhere(
    case: Case, blobs: Mapping[str, Array], bench: Bench, trial: Trial
) -> dict[str, Outcome]:
    """What every mode of the bench answers on the minimised case."""
    missing = tuple(mode for mode in bench.modes if mode not in trial.outcomes)
    more = bench.pool.run_modes(case, missing, blobs=blobs) if missing else {}
    return {**trial.outcomes, **more}


def _mutant_facts(found: Discovery, bench: Bench) -> dict[str, dict[str, str]]:
    """What flows in the failing window, by one more run that records.

    Where no eager mode answers there is no recording: what enters the window is known from the
    parent, and of the rest only what its types say.
    """
    for mode in ("torch-eager", "mindspore-pynative"):
        if mode in bench.modes:
            outcome = bench.pool.run(found.case, mode, blobs=found.blobs, record="facts")
            if outcome.recorded:
                return facts_in_words(found.case.graph, outcome.recorded)
    inputs = found.case.graph.input_by_name
    entering = {name: one for name, one in found.profiled.items() if name in inputs}
    return facts_in_words(found.case.graph, entering)


# ------------------------------------------------------------------------------------ for people
def _labelled(divergence: Divergence, graph: Graph, note: str) -> tuple[str, str]:
    """Title and verdict, both with the note that the difference is a known trade-off."""
    title, verdict = title_of(divergence, graph), describe(divergence)
    if not note:
        return title, verdict
    return f"{title}, {note}", f"{verdict}; the difference {note}"


def _answer(outcome: Outcome, trial: Trial, divergence: Divergence) -> ModeAnswer:
    errors = dict(divergence.errors)
    failure = outcome.failure or outcome.gradient_failure
    if failure is not None:
        lines = [line for line in failure.message.splitlines() if line.strip(" -")]
        summary = f"raised {failure.type}: {lines[0].strip() if lines else ''}"[:300]
        detail = failure.traceback or failure.message
    elif outcome.status is Status.OK:
        summary, detail = _shown(outcome, trial, divergence)
    else:
        summary = " ".join(one for one in (outcome.status.value, outcome.signal) if one)
        detail = outcome.reason or outcome.stderr
    return ModeAnswer(
        mode=outcome.mode,
        status=outcome.status.value,
        summary=summary,
        detail=detail[-6000:],
        error=errors.get(outcome.mode),
        seconds=outcome.seconds,
        proof=dict(outcome.proof),
    )


def _shown(outcome: Outcome, trial: Trial, divergence: Divergence) -> tuple[str, str]:
    name = divergence.value.removeprefix("gradient of ")
    if divergence.value.startswith("gradient of "):
        given = outcome.gradients.get(name)
        return (_values(given), "") if given is not None else ("no gradient", "")
    if name in trial.case.graph.input_by_name:
        after = outcome.calls[0].inputs_after.get(name) if outcome.calls else None
        return (f"{name} after the call: {_values(after)}" if after else f"{name} unchanged", "")
    outputs = outcome.calls[-1].outputs if outcome.calls else ()
    names = trial.case.graph.outputs
    lines = [f"{one}: {_values(two)}" for one, two in zip(names, outputs, strict=False)]
    place = names.index(name) if name in names and names.index(name) < len(outputs) else 0
    return (_values(outputs[place]) if outputs else "no output", "\n".join(lines))


def _values(answer: Answer) -> str:
    shape = ", ".join(map(str, answer.shape))
    head = f"{answer.dtype}[{shape}]"
    if answer.array is None:
        return head
    flat = answer.array.ravel()
    # bfloat16 is a kind of its own and takes no format.
    plain = flat.astype(np.float32) if flat.dtype.kind == "V" else flat
    shown = ", ".join(f"{one:.6g}" if plain.dtype.kind == "f" else str(one) for one in plain[:8])
    return f"{head} {shown}{', ...' if flat.size > 8 else ''}"


def title_of(divergence: Divergence, graph: Graph) -> str:
    """A title as a maintainer would write it: the call, what it does, where."""
    return (
        f"{_call_name(divergence, graph)}: {modes_in_words(divergence)} {PHRASES[divergence.kind]}"
    )


def _call_name(divergence: Divergence, graph: Graph) -> str:
    """The public API where the program is one call, or where it raised in one; else the operators:
    of the calls that a form is composed with, or a region makes, nobody knows which is wrong."""
    try:
        apis = lower(Case(graph), divergence.framework).apis
    except (Unsupported, ConstraintViolated):
        apis = ()
    nodes = graph.calls
    forms = [form_name(graph, node, divergence.framework) for node in nodes]
    plain = len(nodes) == 1 and not nodes[0].regions and not forms[0].startswith("composed")
    if plain and len(apis) == 1:
        return apis[0]
    written = [form_of(graph, node, divergence.framework) for node in nodes]
    called = [api for one in written if one for api in public_apis(one[1], divergence.framework)]
    raised = {api for api in called if api.rpartition(".")[2] in divergence.entered[:1]}
    if len(raised) == 1:
        return raised.pop()
    return " + ".join(
        dict.fromkeys(_as_called(one, graph, divergence.framework) for one in nodes[-3:])
    )


def _as_called(node: Node, graph: Graph, framework: str) -> str:
    """What a reader of the script sees of a call: the last name of its API, Python's own text where
    it is that, else the operator."""
    found = form_of(graph, node, framework)
    if found is None or node.regions:
        return node.op
    name, form = found
    apis = public_apis(form, framework)
    if len(apis) == 1:
        return apis[0].rpartition(".")[2]
    text = form.call.replace("{", "").replace("}", "")
    return text if name.startswith("builtin") and len(text) <= _SHORT else node.op


def accused_op(divergence: Divergence, case: Case, places: Sequence[Localised]) -> str:
    """The operator that is accused: the node that the divergence names, else the first whose value
    is wrong (a gradient may be right for a wrong value), else the last call.

    What raises, or gives a wrong value, may have been given something wrong, so there the first
    wrong value comes first. Where a smallest program with a wrong gradient has an output that the
    loss does not read, that is what poisons it.
    """
    graph = case.graph
    wrong = [place.value for place in places if place.direction == "forward"]
    named = [*_beside_the_loss(divergence, case), divergence.node, divergence.value]
    is_misled = divergence.symptom is Symptom.CRASH or divergence.kind in _VALUES
    for name in (*wrong, *named) if is_misled else (*named, *wrong):
        node = graph.by_name.get(name)
        if node is not None and node.op != "item":
            return node.op
    return graph.calls[-1].op if graph.calls else ""


def _beside_the_loss(divergence: Divergence, case: Case) -> list[str]:
    """Outputs that the loss does not read, where a gradient is wrong."""
    read = case.plan.loss_outputs
    if not read or divergence.kind not in (Kind.GRADIENT, Kind.GRADIENT_NONFINITE):
        return []
    return [name for place, name in enumerate(case.graph.outputs) if place not in read]
