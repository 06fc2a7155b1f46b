"""Nodes with bodies agree with the interpreter in every form, in the modes that run eagerly."""

from __future__ import annotations

import numpy as np
import pytest

from engine.executors.outcome import Status
from engine.executors.pool import Pool
from engine.executors.reference import evaluate
from engine.ir.values import materialise
from tests.control_cases import BODIES, control_case
from tests.executors.ops_agreement import MODES

pytestmark = pytest.mark.framework

FORMS = [
    pytest.param(op, framework, form, marks=getattr(pytest.mark, framework))
    for op, table in BODIES.items()
    for framework, forms in table.items()
    for form in forms
]


@pytest.mark.parametrize(("op", "framework", "form"), FORMS)
def test_form_agrees_with_the_interpreter(pool: Pool, op: str, framework: str, form: str) -> None:
    case = control_case(op, framework, form)
    outcome = pool.run(case, MODES[framework])
    assert outcome.status is Status.OK, outcome.failure
    values = evaluate(case.graph, materialise(case.graph.inputs))
    wanted = [array for name, array in values.items() if name.partition(".")[0] == "v"]
    answers = outcome.calls[0].outputs
    assert len(answers) == len(wanted)
    for answer, want in zip(answers, wanted, strict=True):
        assert answer.array is not None
        np.testing.assert_allclose(answer.array, want, rtol=1e-6)
