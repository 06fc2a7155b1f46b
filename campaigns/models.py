"""What is run: environments, campaigns, their shards, and every round that was recorded.

Only services write these rows (`campaigns.services`, and the steps of jobs); pages read them
through `campaigns.selectors`.
"""

from __future__ import annotations

import json
import math
import uuid
import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone
from packaging.version import InvalidVersion, Version

__all__ = [
    "CHECKPOINT_FORMAT",
    "HEARTBEAT_STALE",
    "MOST_ROUNDS",
    "Campaign",
    "CampaignEvent",
    "Environment",
    "GraphText",
    "ImportedSeed",
    "Job",
    "Mutant",
    "Refusal",
    "Shard",
    "StrictJSONEncoder",
    "WorkerHeartbeat",
    "pack_json",
    "unpack_json",
]

# Version of what `Shard.checkpoint` holds; a checkpoint of another version pauses its campaign.
CHECKPOINT_FORMAT = 1
# Rounds of a shard where only time limits them.
MOST_ROUNDS = 1_000_000
# A worker says that it lives every ten seconds; after three misses it is shown as silent.
HEARTBEAT_STALE = timedelta(seconds=35)


def pack_json(data: Mapping[str, object]) -> bytes:
    """Compressed JSON, the same bytes for the same data."""
    return zlib.compress(json.dumps(data, sort_keys=True, separators=(",", ":")).encode())


def unpack_json(packed: bytes | memoryview) -> dict[str, Any]:
    """What `pack_json` packed; `zlib.error` or `ValueError` where it is damaged."""
    data = json.loads(zlib.decompress(bytes(packed)))
    if not isinstance(data, dict):
        raise ValueError(f"packed JSON: saw {type(data).__name__}, expected an object")
    return data


class StrictJSONEncoder(json.JSONEncoder):
    """Numbers that JSON cannot say become the strings "nan", "inf" and "-inf".

    Databases refuse them, and mutants and findings are full of them. `float` reads them back.
    """

    def encode(self, o: object) -> str:
        return super().encode(_finite(o))


def _finite(data: object) -> object:
    match data:
        case float() if not math.isfinite(data):
            return str(data)
        case dict():
            return {key: _finite(value) for key, value in data.items()}
        case list() | tuple():
            return [_finite(value) for value in data]
        case _:
            return data


class Environment(models.Model):
    """An interpreter that runs one framework, and what it said when it was last asked.

    `spec` and `folder` are those of an environment that was made here: what pip was asked for, and
    the folder that is deleted with it.
    """

    class Framework(models.TextChoices):
        TORCH = "torch", "PyTorch"
        MINDSPORE = "mindspore", "MindSpore"

    class Kind(models.TextChoices):
        RELEASE = "release", "Release"
        NIGHTLY = "nightly", "Nightly"
        DEV = "dev", "Development build"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=80, unique=True)
    framework = models.CharField(max_length=20, choices=Framework)
    interpreter = models.CharField(max_length=500, help_text="Path of a Python interpreter.")
    spec = models.CharField(max_length=200, blank=True, editable=False)
    folder = models.CharField(max_length=500, blank=True, editable=False)
    versions = models.JSONField(default=dict, blank=True, help_text="Package to version.")
    healthy = models.BooleanField(default=False)
    problem = models.TextField(blank=True, help_text="Why it cannot be used, for a person.")
    last_probe = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_own(self) -> bool:
        """Whether it is the one that campaigns run on."""
        return self.name == self.framework

    @property
    def version(self) -> str:
        """Of the framework, "" where it has not said."""
        return str(self.versions.get(self.framework, ""))

    @property
    def kind(self) -> str:
        """By the version: "2.14.0.dev20261120" is a nightly, "2.14.0a0+git1f3" somebody's build."""
        try:
            version = Version(self.version)
        except InvalidVersion:
            return ""
        if version.is_devrelease:
            return self.Kind.NIGHTLY
        return self.Kind.DEV if version.is_prerelease else self.Kind.RELEASE

    def get_kind_display(self) -> str:
        return self.Kind(self.kind).label if self.kind else ""


class Campaign(models.Model):
    """A run of the engine: seeds, modes and a policy, divided into shards."""

    class Preset(models.TextChoices):
        QUICK_LOOK = "quick_look", "Quick look"
        OVERNIGHT = "overnight", "Overnight"
        ONE_OPERATOR = "one_operator", "One operator"
        ONE_SEED = "one_seed", "One seed"
        CUSTOM = "custom", "Custom"

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        FINISHED = "finished", "Finished"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = models.CharField(max_length=120)
    preset = models.CharField(max_length=20, choices=Preset, default=Preset.CUSTOM)
    seeds = models.JSONField(default=list, help_text="Names of seeds; one shard each.")
    modes = models.JSONField(default=list, help_text="Names of the modes each mutant is run in.")
    policy = models.CharField(max_length=40, default="linucb")
    pool = models.CharField(max_length=10, default="full", help_text="Which mutators are tried.")
    ops = models.JSONField(
        default=list,
        blank=True,
        help_text="Operators of which every mutation involves one; none for any.",
    )
    random_seed = models.PositiveBigIntegerField(default=0)
    rounds = models.PositiveIntegerField(help_text="At most so many rounds of each shard.")
    minutes = models.PositiveIntegerField(
        null=True, blank=True, help_text="Time in rounds of each shard; none for no limit."
    )
    workers = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="At most so many shards at once; none for no limit."
    )
    status = models.CharField(max_length=20, choices=Status, default=Status.PENDING)
    problem = models.TextField(blank=True, help_text="Why it is paused or failed, for a person.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    cloned_from = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="clones"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["status"], name="campaign_by_status")]
        constraints = [
            models.CheckConstraint(condition=Q(rounds__gt=0), name="campaign_has_rounds"),
            models.CheckConstraint(
                condition=Q(minutes=None) | Q(minutes__gt=0), name="campaign_has_time"
            ),
            models.CheckConstraint(
                condition=Q(workers=None) | Q(workers__gt=0), name="campaign_has_workers"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("campaigns:show-campaign", args=[self.uuid])

    def is_live(self) -> bool:
        """Whether workers may still record rounds."""
        return self.status in {self.Status.PENDING, self.Status.RUNNING}

    def has_round_limit(self) -> bool:
        """Whether rounds were asked for, and not time alone."""
        return self.rounds < MOST_ROUNDS

    def share_done(self, rounds: int, seconds: float, *, shards: int = 1) -> float:
        """How much of what was asked for is done, from 0 to 1: rounds or time, what is further."""
        share = rounds / (self.rounds * shards) if shards else 0.0
        if self.minutes and shards:
            share = max(share, seconds / (self.minutes * 60 * shards))
        return min(1.0, share)


class CampaignEvent(models.Model):
    """One line of a campaign's history. Only ever added; `who` is None where a machine did it."""

    class Kind(models.TextChoices):
        CREATED = "created", "Started"
        RUNNING = "running", "First shard claimed"
        PAUSED = "paused", "Paused"
        PENDING = "pending", "Resumed"
        CANCELLED = "cancelled", "Cancelled"
        FINISHED = "finished", "Finished"
        FAILED = "failed", "Failed"
        SHARD_FINISHED = "shard_finished", "Shard finished"
        SHARD_FAILED = "shard_failed", "Shard failed"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="events")
    who = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    kind = models.CharField(max_length=20, choices=Kind)
    why = models.TextField(blank=True, help_text="For a person.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.why}" if self.why else self.get_kind_display()


class Shard(models.Model):
    """One chain: a seed of a campaign, claimed by one worker at a time.

    A worker holds it by `owner`, `lease_until` and `epoch`: claiming raises the epoch, and every
    write of a worker is conditional on the epoch it claimed. Counters are what the campaign page
    shows; they change in the same transaction as the round that they count.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        FINISHED = "finished", "Finished"
        CANCELLED = "cancelled", "Cancelled"
        FAILED = "failed", "Failed"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="shards")
    index = models.PositiveIntegerField()
    seed = models.CharField(max_length=80)
    status = models.CharField(max_length=20, choices=Status, default=Status.QUEUED)

    owner = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True, help_text="Not claimed before.")
    errors = models.PositiveIntegerField(default=0, help_text="Slices that raised, in a row.")
    last_error = models.TextField(blank=True)

    next_round = models.PositiveIntegerField(default=0)
    checkpoint = models.BinaryField(null=True, blank=True, help_text="See `pack_json`.")
    checkpoint_format = models.PositiveSmallIntegerField(default=CHECKPOINT_FORMAT)
    finish_reason = models.TextField(blank=True)

    recorded_rounds = models.PositiveIntegerField(default=0)
    accepted = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0, help_text="Candidates refused.")
    rejected_reasons = models.JSONField(default=dict, blank=True, help_text="Reason to count.")
    crash_findings = models.PositiveIntegerField(default=0)
    numerical_findings = models.PositiveIntegerField(default=0)
    state_findings = models.PositiveIntegerField(default=0)
    efficiency_findings = models.PositiveIntegerField(default=0)
    executions = models.PositiveBigIntegerField(default=0)
    seconds = models.FloatField(default=0.0, help_text="Spent in rounds.")

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["campaign", "index"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "index"], name="shard_once_in_campaign"),
            models.CheckConstraint(
                condition=~Q(status="running") | (~Q(owner="") & Q(lease_until__isnull=False)),
                name="running_shard_has_lease",
            ),
            models.CheckConstraint(
                condition=Q(recorded_rounds__gte=F("accepted")), name="accepted_are_rounds"
            ),
        ]
        indexes = [
            # What a worker looks for: queued, or running with a lease that ran out.
            models.Index(fields=["status", "lease_until"], name="shard_to_claim"),
        ]

    def __str__(self) -> str:
        return f"{self.seed} ({self.index})"

    @property
    def findings(self) -> int:
        return (
            self.crash_findings
            + self.numerical_findings
            + self.state_findings
            + self.efficiency_findings
        )

    def is_leased(self, now: datetime) -> bool:
        return self.lease_until is not None and self.lease_until > now


class Mutant(models.Model):
    """One recorded round of a shard: the mutant and what its modes answered.

    Kept small: the graph's text is in `GraphText` under `digest`, and only where it is needed
    again.
    """

    class Verdict(models.TextChoices):
        PASS = "pass", "Pass"
        FAIL = "fail", "Fail"
        INCONCLUSIVE = "inconclusive", "Inconclusive"
        FLAKY = "flaky", "Flaky"
        REJECTED = "rejected", "Rejected"

    shard = models.ForeignKey(Shard, on_delete=models.CASCADE, related_name="mutants")
    round = models.PositiveIntegerField()
    mutator = models.CharField(max_length=120, blank=True)
    variant = models.CharField(max_length=120, blank=True)
    further = models.JSONField(
        default=list, blank=True, help_text="Names of the mutations stacked on the first."
    )
    site = models.JSONField(default=dict, blank=True, encoder=StrictJSONEncoder)
    accepted = models.BooleanField()
    verdict = models.CharField(max_length=20, choices=Verdict)
    reason = models.TextField(blank=True)
    parent = models.CharField(max_length=64, blank=True, help_text="Digest of the parent graph.")
    digest = models.CharField(max_length=64, blank=True)
    nodes = models.PositiveIntegerField(default=0)
    depth = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Mutations between the seed and the chain's graph after the round.",
    )
    rejected = models.JSONField(default=dict, blank=True, help_text="Reason to count.")
    statuses = models.JSONField(default=dict, blank=True, help_text="Mode to status.")
    reward = models.FloatField(default=0.0)
    novel = models.PositiveIntegerField(default=0)
    executions = models.PositiveIntegerField(default=0)
    findings = models.PositiveIntegerField(default=0, help_text="New ones of this round.")
    seconds = models.FloatField(default=0.0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["shard", "round"]
        constraints = [
            models.UniqueConstraint(fields=["shard", "round"], name="round_recorded_once"),
        ]
        indexes = [
            # The campaign page's curve and newest rounds.
            models.Index(fields=["shard", "-created_at"], name="mutant_newest"),
        ]

    def __str__(self) -> str:
        return f"round {self.round} of {self.shard_id}"

    def get_absolute_url(self) -> str:
        return reverse("campaigns:show-round", args=[self.shard.uuid, self.round])

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of all its mutations, in order."""
        first = f"{self.mutator}.{self.variant}" if self.variant else self.mutator
        return (first, *self.further) if first else ()


class Refusal(models.Model):
    """How often candidates of one mutation were refused for one reason, before anything ran.

    Counted in the transaction of the round; rounds keep their reasons without the mutation.
    """

    shard = models.ForeignKey(Shard, on_delete=models.CASCADE, related_name="refusals")
    mutation = models.CharField(max_length=240, help_text="Name and variant.")
    reason = models.CharField(max_length=120)
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["shard", "mutation", "reason"], name="refusal_counted_once"
            ),
        ]
        indexes = [
            # What a mutation's page shows.
            models.Index(fields=["mutation"], name="refusal_of_mutation"),
        ]

    def __str__(self) -> str:
        return f"{self.mutation}: {self.reason}"


class GraphText(models.Model):
    """The text of a graph by its digest, compressed: seeds, corpus and findings."""

    digest = models.CharField(max_length=64, primary_key=True)
    packed = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.digest[:12]

    @property
    def text(self) -> str:
        return zlib.decompress(bytes(self.packed)).decode()

    @staticmethod
    def pack(text: str) -> bytes:
        return zlib.compress(text.encode())


class WorkerHeartbeat(models.Model):
    """A worker process, when it was last heard of and what it does."""

    name = models.CharField(max_length=120, unique=True)
    what = models.CharField(max_length=200, blank=True)
    shard = models.ForeignKey(
        Shard, null=True, blank=True, on_delete=models.SET_NULL, related_name="workers"
    )
    started_at = models.DateTimeField(default=timezone.now)
    last_seen = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def is_alive(self, now: datetime) -> bool:
        return now - self.last_seen < HEARTBEAT_STALE


class Job(models.Model):
    """What a worker does for a person who waits: held by owner and lease; `epoch` counts claims.

    `triage.leases` claims, renews, sweeps.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Queued"
        RUNNING = "running", "Running"
        DONE = "finished", "Done"
        FAILED = "failed", "Could not run"
        CANCELLED = "cancelled", "Cancelled"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    owner = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True, help_text="Why it could not run, for a person.")
    asked_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_open(self) -> bool:
        return self.state in {self.State.QUEUED, self.State.RUNNING}


class ImportedSeed(Job):
    """A model that somebody brought: uploaded, or put here on the command line.

    `source`: the uploaded file until it is imported. `text` and `blobs` are the case and the
    archive of its blobs, as files on the command line are; a campaign finds it by `name`. `ops`:
    calls of each operator. `report`: what was mapped, and how far each mode is from the original.
    """

    class Kind(models.TextChoices):
        ONNX = "onnx", "ONNX model"
        TEXT = "text", "Graph as text"
        CASE = "case", "Case of the command line"

    name = models.CharField(max_length=60, unique=True)
    file = models.CharField(max_length=120, blank=True, help_text="Name of the uploaded file.")
    kind = models.CharField(max_length=10, choices=Kind)
    source = models.BinaryField(default=bytes, blank=True)
    text = models.TextField(blank=True)
    blobs = models.BinaryField(default=bytes, blank=True)
    parameters = models.PositiveBigIntegerField(default=0)
    trainable = models.PositiveBigIntegerField(default=0)
    scale = models.CharField(max_length=10, default="compact")
    ops = models.JSONField(default=dict, blank=True)
    report = models.JSONField(default=dict, blank=True, encoder=StrictJSONEncoder)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(owner="") & Q(lease_until__isnull=False)),
                name="running_import_has_lease",
            ),
        ]

    def __str__(self) -> str:
        return self.name
