"""Rows for tests, with sensible values for everything that a test does not name."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from campaigns.models import Campaign, Environment, Mutant, Shard
from campaigns.services import create_campaign
from engine.finding import (
    Ablation,
    Finding,
    Localised,
    ModeAnswer,
    Reproduction,
    Step,
    Symptom,
    Weighed,
)
from triage.models import Bucket, FindingRecord, Report, Rerun
from triage.recording import record_finding
from triage.reporting import draft_report

__all__ = [
    "OLD",
    "bucket",
    "campaign",
    "engine_finding",
    "environment",
    "finding",
    "mutant",
    "report",
    "rerun",
    "shard",
    "user",
    "verified",
]

_numbers = count(1)
SEED = "convnextv2_tiny_compact"
# What findings of earlier versions do not have.
OLD: dict[str, Any] = {
    "weighed": (),
    "ablations": (),
    "localised": (),
    "steps": (),
    "parent_facts": {},
    "mutant_facts": {},
    "window_localised": (),
}
PARENT = """graph block
  input x: float32[1,8,16,16] = normal(seed=0, mean=0.0, std=1.0)
  weight w0: float32[8,8,3,3] = normal(seed=1, mean=0.0, std=0.1)
  v0: float32[1,8,16,16] = conv2d(x, w0, none; padding=(1, 1), stride=(1, 1))
  v1: float32[1,8,16,16] = relu(v0)
  v2: float32[1,8,16,16] = add(v1, x)
  return v2
"""
MUTANT = """graph block
  input x: float32[1,8,16,16] = normal(seed=0, mean=0.0, std=1.0)
  weight w0: float32[8,8,3,3] = normal(seed=1, mean=0.0, std=0.1)
  v0: float32[1,8,16,16] = conv2d(x, w0, none; padding=(1, 1), stride=(1, 1))
  m0: float32[1,8,16,16] = exp(v0)
  v1: float32[1,8,16,16] = relu(m0)
  v2: float32[1,8,16,16] = sub(v1, x)
  return v2
"""
SWAPPED = PARENT.replace("add(v1, x)", "sub(v1, x)")
MINIMISED = """case 1

graph block
  input x: float32[4] = [1.0, 2.0, 3.0, nan]
  v0: float32[4] = exp(x)
  return v0

plan
  call
  check values
"""
_EXP_EAGER = ("7.3890562", "7.38905609893065")
_EXP_OFF = ("0.0", "20.085536923187668")
SCRIPT = '''"""exp of a NaN differs under torch.compile."""

import numpy as np
import torch

x = torch.tensor([1.0, 2.0, 3.0, float("nan")])


def forward(x):
    v0 = torch.exp(x)
    return v0


eager = forward(x)
compiled = torch.compile(forward, fullgraph=True)(x)
exact = np.exp(x.double().numpy())
print("torch", torch.__version__)
assert np.allclose(compiled.numpy(), exact, rtol=1.3e-6, atol=1e-5, equal_nan=True), compiled
print("no difference")
'''


def user(name: str = "", **fields: Any) -> User:
    """A person who may log in."""
    return User.objects.create_user(name or f"person{next(_numbers)}", **fields)


def campaign(*, shards: int = 1, **fields: Any) -> Campaign:
    """A pending campaign with as many shards as asked for."""
    status = fields.pop("status", None)
    values: dict[str, Any] = {
        "name": "Quick look",
        "seeds": [SEED] * shards,
        "modes": ["torch-eager", "torch-inductor"],
        "policy": "random",
        "random_seed": 0,
        "rounds": 10,
        **fields,
    }
    made = create_campaign(**values)
    if status is not None:
        made.status = status
        made.started_at = timezone.now()
        made.save()
    return made


def shard(*, campaign: Campaign | None = None, **fields: Any) -> Shard:
    """The first shard of a campaign, changed as asked."""
    found = (campaign or globals()["campaign"]()).shards.get(index=0)
    for name, value in fields.items():
        setattr(found, name, value)
    found.save()
    return found


def environment(name: str, version: str = "", **fields: Any) -> Environment:
    """An interpreter, our own by default; its framework is the first word of its name."""
    framework = name.split()[0]
    versions = {framework: version} if version else {}
    values = {
        "name": name,
        "framework": framework,
        "interpreter": sys.executable,
        "versions": versions,
        "healthy": bool(version),
        **fields,
    }
    return Environment.objects.create(**values)


def mutant(*, shard: Shard, round: int, **fields: Any) -> Mutant:  # noqa: A002 (the column's name)
    """A recorded round. The shard's counters are not touched."""
    values: dict[str, Any] = {
        "mutator": "insert_unary",
        "variant": "exp",
        "accepted": round % 2 == 0,
        "verdict": Mutant.Verdict.PASS,
        "statuses": {"torch-eager": "ok", "torch-inductor": "ok"},
        "seconds": 1.5,
        "executions": 2,
        **fields,
    }
    return Mutant.objects.create(shard=shard, round=round, **values)


def engine_finding(**fields: Any) -> Finding:
    """What the engine would give: inductor is wrong about exp."""
    plain = Finding(
        symptom=Symptom.NUMERICAL,
        accused_framework="torch",
        accused_modes=("torch-inductor",),
        accused_op="exp",
        title="torch.compile gives a wrong exp for NaN",
        verdict="torch-inductor returns 0.0 where float64 and eager return NaN.",
        key="numerical|torch|torch-inductor|values",
        signature="numerical|torch|torch-inductor|values|exp",
        parts={"calls": "exp.function", "dtypes": "float32", "kind": "values"},
        seed=SEED,
        round=3,
        mutator="insert_unary.exp",
        lineage=("swap_binary.sub", "insert_unary.exp"),
        parent_text=PARENT,
        mutant_text=MUTANT,
        changed=("m0",),
        minimised_text=MINIMISED,
        minimised_nodes=1,
        original_nodes=38,
        divergence="m0",
        answers=(
            ModeAnswer("torch-eager", "ok", "float32[4] 2.718, 7.389, 20.09, nan", error=1e-7),
            ModeAnswer(
                "torch-inductor",
                "ok",
                "float32[4] 2.718, 7.389, 20.09, 0",
                detail="tensor([2.7183, 7.3891, 20.0855, 0.0000])",
                error=float("inf"),
                seconds=2.4,
                proof={"graphs compiled": 1},
            ),
        ),
        reproduction=Reproduction(3, 3),
        script=SCRIPT,
        script_output="torch 2.13.0\nAssertionError: tensor([2.7183, 7.3891, 20.0855, 0.0000])",
        environment={"torch": "2.13.0", "python": "3.11.2", "numpy": "1.26.4"},
        seconds=12.5,
        weighed=(
            Weighed(
                "torch-eager", 0, "v0", "value", 1.2e-7, 1.1e-4, 7.7e-6, 0.0011, (1,), *_EXP_EAGER
            ),
            Weighed(
                "torch-inductor", 0, "v0", "value", 20.09, 1.1e-4, 7.7e-6, 1.8e5, (3,), *_EXP_OFF
            ),
        ),
        ablations=(
            Ablation("mode", "torch-eager", "passes"),
            Ablation("mode", "torch-aot", "passes"),
            Ablation("mode", "torch-inductor", "fails"),
            Ablation("option", "emulate_precision_casts", "passes"),
            Ablation("option", "dynamic", "fails"),
            Ablation("dtype", "float64", "fails"),
            Ablation("dtype", "float16", "differs", "off by one unit in the last place"),
            Ablation("form", "Tensor.exp", "fails"),
            Ablation("form", "torch.special.exp", "could not run", "there is no such function"),
        ),
        localised=(Localised("forward", "torch-inductor", "v0", "exp", "0 where float64 has nan"),),
        window_localised=(
            Localised("forward", "torch-inductor", "m0", "exp", "0 at (0, 3), float64 has nan"),
        ),
        steps=(
            Step("swap_binary.sub", PARENT, SWAPPED, ("v2",)),
            Step("insert_unary.exp", SWAPPED, MUTANT, ("m0",)),
        ),
        parent_facts={"v0": {"dtype": "float32", "shape": "1, 8, 16, 16", "values": "-2.1 to 2.4"}},
        mutant_facts={
            "v0": {"dtype": "float32", "shape": "1, 8, 16, 16", "values": "-2.1 to 2.4"},
            "m0": {"dtype": "float32", "shape": "1, 8, 16, 16", "values": "0.12 to 11.0"},
        },
    )
    if "symptom" in fields:
        fields["symptom"] = Symptom(fields["symptom"])
    return replace(plain, **fields)


def finding(
    *,
    shard: Shard | None = None,
    bucket: Bucket | None = None,
    now: datetime | None = None,
    **fields: Any,
) -> FindingRecord:
    """A recorded finding; each is of another round. `bucket`: the one whose signature it has."""
    fields.setdefault("round", next(_numbers))
    if bucket is not None:
        fields.setdefault("signature", bucket.signature)
    record, _ = record_finding(
        engine_finding(**fields), shard=shard or globals()["shard"](), now=now
    )
    return record


def bucket(**fields: Any) -> Bucket:
    """A bucket of one finding with a signature of its own. Status, flag and the like as asked."""
    of_bucket = {
        name: fields.pop(name)
        for name in ("status", "flag", "flag_reason", "assignee", "first_seen", "last_seen")
        if name in fields
    }
    fields.setdefault("signature", f"signature {next(_numbers)}")
    made = finding(**fields).bucket
    for name, value in of_bucket.items():
        setattr(made, name, value)
    made.save()
    return made


def report(*, bucket: Bucket | None = None, who: User | None = None, **fields: Any) -> Report:
    """A draft, or what the fields say."""
    record = (bucket or globals()["bucket"]()).findings.first()
    assert record is not None
    made = draft_report(record, who=who or user())
    for name, value in fields.items():
        setattr(made, name, value)
    made.save()
    return made


def rerun(*, finding: FindingRecord | None = None, **fields: Any) -> Rerun:
    """A queued rerun of three attempts, or what the fields say. `endings`: results of attempts."""
    endings = fields.pop("endings", ())
    results = [
        {"ending": one, "returncode": 1, "reason": "", "seconds": 2.5, "output": "torch 2.13.0"}
        for one in endings
    ]
    record = finding or globals()["finding"]()
    return Rerun.objects.create(finding=record, results=results, **fields)


def verified(bucket: Bucket, *, version: str = "2.99.0") -> Rerun:
    """A run by which the bucket's fix counts as verified: five passes on a newer version."""
    return rerun(
        finding=bucket.findings.first(),
        attempts=5,
        state=Rerun.State.DONE,
        endings=["passed"] * 5,
        versions={bucket.framework: version},
        ended_at=timezone.now(),
    )


def days_ago(days: float) -> datetime:
    """A time in the past."""
    return timezone.now() - timedelta(days=days)
