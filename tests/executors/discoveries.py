"""From a case that fails to its finding, as a campaign goes."""

from __future__ import annotations

from engine.finding import Finding
from engine.ir.case import Case
from engine.localisation import localised
from engine.oracles.verdict import Kind
from engine.report import Discovery, report
from engine.trial import Bench

__all__ = ["found_in"]


def found_in(bench: Bench, case: Case, kind: Kind, *, node: str = "") -> Finding:
    """The finding of a failure of this kind, at a node where one is named, minimised within two
    minutes."""
    trial = bench.trial(case, {})
    (divergence, *_) = [
        one
        for one in trial.verdict.divergences
        if one.kind is kind and (not node or one.node == node)
    ]
    discovery = Discovery(
        seed="small",
        round=0,
        mutator="",
        lineage=(),
        case=case,
        blobs={},
        parent=case.graph,
        changed=(),
        divergence=divergence,
        original_nodes=len(case.graph.nodes),
        located=localised(trial, divergence, bench, {}),
    )
    (finding,) = report(discovery, bench, seconds=120.0)
    return finding
