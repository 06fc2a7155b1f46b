"""The support matrix without a framework: what there is to run, what is kept, what is shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadInput
from engine.executors.reference import evaluate
from engine.ir.check import check
from engine.ir.types import FLOATS
from engine.ir.values import materialise
from engine.ops import FRAMEWORKS, OPS
from engine.ops.typing import check_types
from engine.support.bodies import NO_BODY
from engine.support.cells import cells, further, joined, refusals
from engine.support.page import support_json, support_page
from engine.support.store import Record, State, Store

RECORD = Record(
    framework="torch",
    op="relu",
    form="function",
    dtype="float32",
    mode="torch-eager",
    state=State.WORKS,
    digest="d1",
    version="2.13.0",
    backward=True,
)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_form_and_dtype_is_a_cell_or_says_why_not(framework: str) -> None:
    for spec in OPS.values():
        made = [(one.form, one.dtype) for one in cells(spec, framework)]
        refused = [(one.form, one.dtype) for one in refusals(spec, framework)]
        wanted = [(form, dtype) for dtype in spec.dtypes for form in spec.forms[framework]]
        assert sorted(made + refused) == sorted(wanted), spec.name
        assert all(one.reason for one in refusals(spec, framework)), spec.name


def test_calls_of_one_program_share_nothing() -> None:
    several = [*cells(OPS["relu_"], "torch")][:2] + [*cells(OPS["matmul"], "torch")][:1]
    made = joined(several, gradient=False)
    check(made)
    check_types(made.graph)
    assert made.graph.outputs == ("v0", "v1", "v2")
    operands = [set(node.operands) for node in made.graph.nodes]
    assert not operands[0] & operands[1]
    assert not operands[1] & operands[2]
    assert [node.form("torch") for node in made.graph.nodes] == [one.form for one in several]


def test_the_values_of_a_tuple_are_outputs_one_by_one() -> None:
    made = joined([*cells(OPS["chunk"], "torch")][:1], gradient=False)
    check(made)
    check_types(made.graph)
    assert made.graph.outputs == ("v0_0", "v0_1")


def test_a_gradient_is_asked_for_where_the_call_has_one() -> None:
    by_dtype = {one.dtype: one for one in cells(OPS["exp"], "torch") if one.form == "function"}
    assert by_dtype["float32"].case.plan.gradient == "reverse"
    assert all(one.requires_grad for one in by_dtype["float32"].case.graph.inputs)
    greater = next(one for one in cells(OPS["gt"], "torch") if one.dtype == "float32")
    assert greater.case.plan.gradient == "none"


def test_operators_with_bodies_are_called_with_the_plainest() -> None:
    with_bodies = [spec for spec in OPS.values() if "control" in spec.tags]
    for framework in FRAMEWORKS:
        for spec in with_bodies:
            several = [one for one in cells(spec, framework) if one.dtype == "float32"]
            assert [one.form for one in several] == [*spec.forms[framework]], spec.name
            made = joined(several, gradient=several[0].has_gradient)
            check(made)
            check_types(made.graph)
            with np.errstate(all="ignore"):
                evaluate(made.graph, materialise(made.graph.inputs))
    assert {one.reason for spec in with_bodies for one in refusals(spec, "torch")} == {NO_BODY}


def test_no_leaf_is_written_by_a_call_whose_gradient_is_asked_for() -> None:
    for framework in FRAMEWORKS:
        for spec in OPS.values():
            for cell in cells(spec, framework):
                graph = cell.case.graph
                leaves = {one.name for one in graph.inputs if one.requires_grad}
                call = graph.by_name["v0"]
                if cell.case.plan.gradient == "none":
                    assert not leaves, cell.words
                elif spec.writes or cell.written_as.restrides:
                    assert call.operands[0] not in leaves, cell.words
                    assert graph.by_name[call.operands[0] or ""].op == "clone", cell.words
                    assert leaves, cell.words


def test_no_gradient_is_asked_for_where_none_flows() -> None:
    (norm, *_) = (one for one in cells(OPS["batch_norm"], "torch") if one.dtype == "float32")
    asked = {one.name for one in norm.case.graph.inputs if one.requires_grad}
    assert asked == {"c0_x", "c0_w", "c0_b"}
    casts = [one for one in cells(OPS["cast_like"], "torch") if one.form == "function"]
    assert {one.dtype for one in casts if one.has_gradient} <= {*FLOATS, "bfloat16"}
    by_form = {one.form: one for one in cells(OPS["qr_r"], "torch") if one.dtype == "float32"}
    assert by_form["function"].has_gradient
    assert not by_form["keyword"].has_gradient


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_what_plainest_calls_do_not_reach_is_called_too(framework: str) -> None:
    calls = {one.name[2] for one in further(OPS["round"], framework)}
    assert {"function with decimals=1", "function with decimals=-1"} <= calls
    assert "function with without" not in " ".join(calls)
    assert {one.dtype for one in further(OPS["round"], framework)} == {"float32"}
    without = [one for one in further(OPS["layer_norm"], framework) if one.call == "without b"]
    assert all(one.case.graph.by_name["v0"].operands[-1] is None for one in without)
    for spec in (OPS["round"], OPS["slice"], OPS["layer_norm"]):
        digests = [one.digest for one in (*cells(spec, framework), *further(spec, framework))]
        assert len(set(digests)) == len(digests), spec.name


def test_a_cell_is_another_when_its_text_changes() -> None:
    cell = next(cells(OPS["relu"], "torch"))
    form = replace(OPS["relu"].forms["torch"][cell.form], call="torch.relu({x}) + 0")
    forms = {**OPS["relu"].forms, "torch": {cell.form: form}}
    other = replace(cell, example=replace(cell.example, spec=replace(OPS["relu"], forms=forms)))
    assert cell.digest != other.digest
    assert cell.digest == next(cells(OPS["relu"], "torch")).digest


# ------------------------------------------------------------------------------------ the store
def test_the_newest_record_of_a_cell_counts(tmp_path: Path) -> None:
    Store(tmp_path, "torch").add([RECORD])
    Store(tmp_path, "torch").add([replace(RECORD, state=State.RAISES, text="RuntimeError: no")])
    found = Store(tmp_path).records()
    assert [one.state for one in found.values()] == [State.RAISES]


def test_a_line_that_was_cut_off_is_forgotten_and_written_again(tmp_path: Path) -> None:
    Store(tmp_path, "torch").add([RECORD])
    path = tmp_path / "cells-torch.jsonl"
    path.write_text(path.read_text() + '{"framework": "to')
    assert list(Store(tmp_path).records().values()) == [RECORD]
    second = replace(RECORD, mode="torch-aot")
    Store(tmp_path, "torch").add([second])
    assert list(Store(tmp_path).records().values()) == [RECORD, second]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="support folder"):
        Store(tmp_path / "file")


# ------------------------------------------------------------------------------------- the page
def test_the_page_counts_and_says_what_lacks() -> None:
    wrong = replace(RECORD, mode="torch-aot", state=State.DIFFERS, text="said | so", backward=False)
    page = support_page([RECORD, wrong], {"torch": 3})
    assert "| works | " in page
    assert "| | not run yet | 2 | 2 |" in page
    assert "| relu |" in page
    row = next(line for line in page.splitlines() if line.startswith("| relu |"))
    assert row.endswith("| 1/1 | 0/1 |")
    assert "| relu.function | torch-aot | float32 | said \\| so |" in page


def test_the_json_lists_every_cell_that_does_not_work() -> None:
    said = "not captured: /home/me/env/lib/torch/_compile.py, 1/2 of it"
    wrong = replace(RECORD, mode="torch-aot", state=State.DIFFERS, text=said, finding="one")
    found = json.loads(json.dumps(support_json([RECORD, wrong], {"torch": 3})))
    assert found["versions"] == {"torch": "2.13.0"}
    assert found["cells"] == {"torch": 3}
    assert found["counts"]["relu"]["torch-eager"] == {"works": 1}
    assert [(one["mode"], one["finding"]) for one in found["lacking"]] == [("torch-aot", "one")]
    assert found["lacking"][0]["text"] == "not captured: .../_compile.py, 1/2 of it"
    assert {"while", "for"} <= {one["op"] for one in found["not run"]}
