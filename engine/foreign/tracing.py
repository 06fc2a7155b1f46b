"""Traces a submitted PyTorch function into a case, which the engine judges as any other.

Not every function can be traced, and a traced one is written in the engine's own call forms: what
is wrong about a form alone is seen by `engine.foreign.differences`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.executors.environment import Environment
from engine.executors.pool import Pool
from engine.finding import Finding
from engine.importation import as_given, imported, read
from engine.options import Options
from engine.report import Discovery, report
from engine.script_run import confined
from engine.seeds.importing import unmapped
from engine.trial import Bench

if TYPE_CHECKING:
    from engine.foreign.examination import Workshop
    from engine.foreign.reading import Reproducer

__all__ = ["Traced", "traced"]

_MINIMISING = 120.0
_MODES = tuple(one for one in Options.modes if one.startswith("torch"))
# What `engine.executors.worker.import_torch` asks for: a module in eval mode, and named examples.
_FACTORY = """
import torch
import submitted

# The exporter hands inputs over by name, so `forward` has to have their names.
_FORWARD = "def forward(self, {{names}}):\\n    return self.function({{given}})"


def factory():
    made = submitted.inputs() if callable(submitted.inputs) else submitted.inputs
    if not isinstance(made, dict):
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        made, given = {{f"x{{at}}": one for at, one in enumerate(made)}}, "{{0}}"
    else:
        given = "{{0}}={{0}}"
    text = _FORWARD.format(names=", ".join(made), given=", ".join(given.format(n) for n in made))
    found = {{}}
    exec(text, found)
    kind = type("Submitted", (torch.nn.Module,), {{"forward": found["forward"]}})
    model = kind()
    model.function = submitted.{function}
    return model.eval(), made
"""


@dataclass(frozen=True)
class Traced:
    """`has_ruled`: whether the engine ran the case and ruled over it. `reason`: in words."""

    finding: Finding | None
    has_ruled: bool
    reason: str


def traced(reproducer: Reproducer, workshop: Workshop) -> Traced:
    """What the engine says of the function as a case; nothing of it is special but its origin."""
    try:
        with tempfile.TemporaryDirectory(dir=workshop.scratch) as place:
            folder = Path(place)
            (folder / "submitted.py").write_text(reproducer.text, encoding="utf-8")
            text = _FACTORY.format(function=reproducer.function)
            (folder / "submitted_factory.py").write_text(text, encoding="utf-8")
            source = read(
                "submitted_factory:factory",
                interpreter=Path(workshop.interpreter),
                search=[folder],
                launcher=confined(
                    workshop.interpreter, address_space=workshop.address_space, note=folder
                ),
                deadline=workshop.deadline,
            )
        missing = unmapped(source.exported)
        if missing:
            names = ", ".join(sorted(missing))
            return Traced(None, False, f"not traced: no operator of ours stands for {names}")
        case, blobs = as_given(source, imported(source, name="submitted"))
    except EngineError as error:
        return Traced(None, False, f"not traced: {error}")
    environment = Environment("submitted", "torch", workshop.interpreter)
    with Pool(environments={"torch": environment}, scratch=workshop.scratch) as pool:
        bench = Bench(pool, _MODES)
        trial = bench.trial(case, blobs)
        verdict = trial.verdict
        if not verdict.failed:
            return Traced(None, True, f"traced, and judged: {verdict.ruling}, {verdict.reason}")
        found = Discovery(
            seed="submitted",
            round=0,
            mutator="",
            lineage=(),
            case=trial.case,
            blobs=blobs,
            parent=trial.case.graph,
            changed=(),
            divergence=verdict.divergences[0],
            original_nodes=len(trial.case.graph.nodes),
        )
        finding = next(report(found, bench, seconds=_MINIMISING), None)
    if finding is None:
        return Traced(None, False, "traced, but what was wrong did not repeat alone")
    return Traced(finding, True, "traced into a case and judged by the engine")
