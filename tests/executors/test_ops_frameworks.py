"""Every form of every row agrees with the reference, but for the disagreements on record.

`tests/data/support/known.json` holds what the frameworks get wrong: a form that is listed there and
agrees after all fails here as much as one that is not listed and disagrees.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.executors.outcome import Status
from engine.executors.pool import Pool
from engine.ops import FRAMEWORKS, OPS, OpSpec
from engine.support.cells import cells
from tests.executors.ops_agreement import Disagreement, disagreements, ordinary_dtypes

pytestmark = pytest.mark.framework

ROWS = {name: spec for name, spec in OPS.items() if "control" not in spec.tags}
VIEWS = {name: spec for name, spec in ROWS.items() if spec.views}
PATH = Path(__file__).parent.parent / "data" / "support" / "known.json"
KNOWN = [Disagreement(**one) for one in json.loads(PATH.read_text())]

every_row = pytest.mark.parametrize("spec", ROWS.values(), ids=ROWS)
every_framework = pytest.mark.parametrize(
    "framework", [pytest.param(one, marks=getattr(pytest.mark, one)) for one in FRAMEWORKS]
)


def assert_only_known(pool: Pool, spec: OpSpec, framework: str, dtypes: Sequence[str]) -> None:
    found = {one.key: one.evidence for one in disagreements(pool, spec, framework, dtypes)}
    known = {
        one.key
        for one in KNOWN
        if (one.op, one.framework) == (spec.name, framework) and one.dtype in dtypes
    }
    new = {key: evidence for key, evidence in found.items() if key not in known}
    assert new == {}, "these disagree"
    assert known - found.keys() == set(), "these agree by now"


@every_framework
@every_row
def test_forms_agree_in_the_ordinary_dtypes(pool: Pool, spec: OpSpec, framework: str) -> None:
    assert_only_known(pool, spec, framework, ordinary_dtypes(spec))


@pytest.mark.slow
@every_framework
@every_row
def test_forms_agree_in_the_other_dtypes(pool: Pool, spec: OpSpec, framework: str) -> None:
    others = [one for one in spec.dtypes if one not in ordinary_dtypes(spec)]
    if not others:
        pytest.skip("the row has no other dtypes")
    assert_only_known(pool, spec, framework, others)


@pytest.mark.torch
@pytest.mark.parametrize("spec", VIEWS.values(), ids=VIEWS)
def test_every_form_of_a_view_shares_its_storage(pool: Pool, spec: OpSpec) -> None:
    """PyTorch documents its views; a copy that has the same numbers is no form of one."""
    copies = []
    for cell in cells(spec, "torch"):
        # Where a call changes its operand's strides, the operand is a view that is made for it.
        if cell.dtype == "float32" and not cell.written_as.restrides:
            outcome = pool.run(cell.case, "torch-eager")
            outputs = outcome.calls[0].outputs if outcome.status is Status.OK else ()
            if not all(one.shares for one in outputs):
                copies.append(cell.form)
    assert copies == []


def test_known_disagreements_name_forms_that_exist() -> None:
    assert len({one.key for one in KNOWN}) == len(KNOWN)
    for one in KNOWN:
        assert one.dtype in OPS[one.op].dtypes, one
        assert one.form in OPS[one.op].forms[one.framework], one
        assert one.evidence, one
