"""What was found: findings in buckets, the decisions of people, and reports upstream.

Only services (`triage.services`, `recording`, `grouping`, `suppressing`, `reporting`) write these
rows. A decision of a person is never overwritten by a machine event: that raises a flag, which a
person takes down.
"""

from __future__ import annotations

import hashlib
import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils import timezone

from campaigns.models import Campaign, Environment, Job, Shard, StrictJSONEncoder
from engine.finding import SIGNATURE_VERSION, Finding
from triage.upstream.models import Following, HookDelivery, PastAddress, SitePause, UpstreamAnswer

__all__ = [
    "Bisection",
    "Bucket",
    "BucketEvent",
    "DefaultView",
    "DraftTemplate",
    "DuplicateSearch",
    "Facet",
    "Filing",
    "FindingRecord",
    "Following",
    "Framework",
    "GroupingRule",
    "HookDelivery",
    "Job",
    "Label",
    "Note",
    "PastAddress",
    "Report",
    "ReportEvent",
    "Rerun",
    "RuleOverride",
    "SavedView",
    "SitePause",
    "Submission",
    "Suppression",
    "Symptom",
    "Tracker",
    "UpstreamAnswer",
    "text_digest",
]


def text_digest(text: str) -> str:
    """sha256 in hexadecimal: what unique constraints compare in place of a long text."""
    return hashlib.sha256(text.encode()).hexdigest()


class Symptom(models.TextChoices):
    """The values of `engine.finding.Symptom`, with their names for people."""

    CRASH = "crash", "Crash"
    NUMERICAL = "numerical", "Numerical"
    STATE = "state", "State"
    EFFICIENCY = "efficiency", "Efficiency"


class Framework(models.TextChoices):
    TORCH = "torch", "PyTorch"
    MINDSPORE = "mindspore", "MindSpore"


class Label(models.Model):
    """A word that people put on buckets."""

    name = models.CharField(max_length=40)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(Lower("name"), name="label_name_once")]

    def __str__(self) -> str:
        return self.name


class StandingBuckets(models.Manager["Bucket"]):
    """Buckets that stand on their own: those merged into another are out of every list."""

    def get_queryset(self) -> models.QuerySet[Bucket]:
        return super().get_queryset().filter(merged_into=None)


class Bucket(models.Model):
    """Findings that fail alike: one bug, as far as the engine and the people can tell.

    `title`, `verdict`, `parts` and the counters describe its members (`triage.counting`); `status`,
    `assignee` and `labels` are people's. A finding comes in by its signature, by a rule or by a
    person's merge or split; see `triage.routing`. A bucket that was merged keeps its row, so that
    its address and its signature lead to where its findings are now.
    """

    class Status(models.TextChoices):
        NEW = "new", "New"
        NEEDS_WORK = "needs_work", "Needs work"
        CONFIRMED = "confirmed", "Confirmed bug"
        REPORTED = "reported", "Reported"
        FIXED = "fixed", "Fixed"
        FALSE_ALARM = "false_alarm", "False alarm"
        DUPLICATE = "duplicate", "Duplicate"
        KNOWN_LIMIT = "known_limit", "Known limit"

    class FalseAlarm(models.TextChoices):
        """Why a difference is no bug; the kinds that `docs/judging.md` tells apart."""

        ROUNDING = "rounding", "Rounding within tolerance"
        TIE = "tie", "Tie or order of equals"
        UNDEFINED = "undefined", "Undefined value"
        DOCUMENTED = "documented", "Documented difference"
        REFERENCE = "reference", "Wrong reference"
        UNSUPPORTED = "unsupported", "Unsupported here"
        FLAKY = "flaky", "Flaky"
        OTHER = "other", "Something else"

    class Flag(models.TextChoices):
        """What a machine saw that a person should look at."""

        NONE = "", "None"
        SEEN_AGAIN = "seen_again", "Seen again"
        NOT_REPRODUCED = "not_reproduced", "No longer reproduces"
        CLOSED_UPSTREAM = "closed_upstream", "Closed upstream"
        SUPPRESSION_ENDED = "suppression_ended", "Suppression ended"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    signature = models.TextField()
    signature_digest = models.CharField(max_length=64)
    signature_version = models.PositiveSmallIntegerField(default=SIGNATURE_VERSION)

    title = models.CharField(max_length=300)
    verdict = models.TextField()
    symptom = models.CharField(max_length=20, choices=Symptom)
    framework = models.CharField(max_length=20, choices=Framework)
    op = models.CharField(max_length=120, blank=True, help_text="The accused operator.")
    minimised_nodes = models.PositiveIntegerField(default=0, help_text="Of the smallest member.")
    reproduced = models.PositiveIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    impact = models.IntegerField(default=0, help_text="Sorts the inbox; see `triage.impact`.")
    impact_points = models.JSONField(
        default=list, blank=True, help_text="[points, reason] of the member with the most."
    )
    count = models.PositiveIntegerField(default=0)
    first_seen = models.DateTimeField(default=timezone.now)
    last_seen = models.DateTimeField(default=timezone.now)

    status = models.CharField(max_length=20, choices=Status, default=Status.NEW)
    status_reason = models.CharField(max_length=500, blank=True)
    status_at = models.DateTimeField(null=True, blank=True, help_text="Last set by a person.")
    false_alarm = models.CharField(
        max_length=20, choices=FalseAlarm, blank=True, help_text="Its kind, where it is one."
    )
    duplicate_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="duplicates"
    )
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="assigned_buckets",
    )
    labels = models.ManyToManyField(Label, blank=True, related_name="buckets")
    flag = models.CharField(max_length=20, choices=Flag, blank=True, default=Flag.NONE)
    flag_reason = models.CharField(max_length=500, blank=True)
    flag_at = models.DateTimeField(null=True, blank=True)

    parts = models.JSONField(
        default=dict, help_text="Parts of the signature that all members share, by name."
    )
    family = models.CharField(
        max_length=64, blank=True, help_text="Equal where buckets fail alike but for the operator."
    )
    merged_into = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="merged"
    )
    merged_by = models.ForeignKey(
        "BucketEvent", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    suppression = models.ForeignKey(
        "Suppression",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="buckets",
        help_text="What keeps it from asking for a person.",
    )

    # The first one is Django's own: an address of a merged bucket must be found, to be led on.
    with_merged = models.Manager["Bucket"]()
    objects = StandingBuckets()

    class Meta:
        ordering = ["-impact", "-last_seen", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(merged_into=None) | ~Q(merged_into=models.F("id")),
                name="bucket_not_in_itself",
            ),
            models.UniqueConstraint(
                fields=["signature_digest", "signature_version"], name="bucket_per_signature"
            ),
            models.CheckConstraint(
                condition=Q(reproduced__lte=models.F("attempts")), name="reproduced_of_attempts"
            ),
        ]
        indexes = [
            models.Index(fields=["status", "-impact", "-last_seen"], name="bucket_inbox"),
            models.Index(fields=["-last_seen"], name="bucket_newest"),
            models.Index(fields=["family"], name="bucket_family"),
            models.Index(fields=["op"], name="bucket_op"),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("triage:show-bucket", args=[self.uuid])


class Facet(models.Model):
    """One thing by which the inbox filters a bucket: a mode, an operator, a dtype, a seed."""

    class Kind(models.TextChoices):
        MODE = "mode", "Mode"
        OP = "op", "Operator"
        FORM = "form", "Form"
        DTYPE = "dtype", "Dtype"
        SEED = "seed", "Seed"
        MUTATOR = "mutator", "Mutation"

    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="facets")
    kind = models.CharField(max_length=10, choices=Kind)
    value = models.CharField(max_length=120)

    class Meta:
        ordering = ["kind", "value"]
        constraints = [
            models.UniqueConstraint(fields=["bucket", "kind", "value"], name="facet_once"),
        ]
        indexes = [models.Index(fields=["kind", "value"], name="facet_lookup")]

    def __str__(self) -> str:
        return f"{self.kind}: {self.value}"


class GroupingRule(models.Model):
    """Findings whose signature has these parts belong to this bucket, whatever its other parts.

    A bucket has at most one active rule. Of several that match a finding, the one with more parts
    wins; `triage.grouping` refuses two that could not be told apart.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="rules")
    parts = models.JSONField(help_text="Name of a part of the signature -> its value.")
    why = models.CharField(max_length=500, blank=True)
    active = models.BooleanField(default=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["bucket"], condition=Q(active=True), name="rule_of_bucket_once"
            ),
        ]

    def __str__(self) -> str:
        return ", ".join(f"{name} is {value}" for name, value in self.parts.items())


class Suppression(models.Model):
    """A known limit: new findings with these parts are recorded, and ask nobody until it ends.

    It ends on `expires_at`, or when a person lifts it. Nothing that it caught is deleted.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bucket = models.ForeignKey(
        Bucket,
        on_delete=models.CASCADE,
        related_name="own_suppressions",
        help_text="The known limit that it came from.",
    )
    parts = models.JSONField(help_text="Name of a part of the signature -> its value.")
    reason = models.CharField(max_length=500)
    source = models.CharField(
        max_length=500, blank=True, help_text="An address, or the line of the documentation."
    )
    expires_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    lifted_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(
        null=True, blank=True, help_text="When its buckets were flagged after it had expired."
    )

    class Meta:
        ordering = ["expires_at", "id"]
        indexes = [
            models.Index(
                fields=["expires_at"],
                condition=Q(lifted_at=None, ended_at=None),
                name="suppression_due",
            )
        ]

    def __str__(self) -> str:
        return self.reason

    @property
    def is_active(self) -> bool:
        return self.lifted_at is None and self.expires_at > timezone.now()


class Submission(Job):
    """A reproducer that somebody wrote, until it is a finding or has proved nothing.

    `kind`: see `engine.foreign`. `answers`: what each mode, or each attempt of a script, said.
    `reason`: how it was judged, or why it is no finding. `isolation`: what became of the network.
    """

    class Kind(models.TextChoices):
        MODULE = "module", "Inputs and a function"
        SCRIPT = "script", "Script with an assertion"

    name = models.CharField(max_length=120, help_text="Of the file.")
    text = models.TextField()
    kind = models.CharField(max_length=10, choices=Kind)
    framework = models.CharField(max_length=20, choices=Framework)
    environment = models.ForeignKey(
        Environment, null=True, blank=True, on_delete=models.SET_NULL, related_name="submissions"
    )
    attempts = models.PositiveSmallIntegerField(default=3)
    everywhere = models.BooleanField(
        default=False, help_text="Then on all environments of the framework, too."
    )
    symptom = models.CharField(
        max_length=20, choices=Symptom, blank=True, help_text="Empty: by how it fails."
    )
    answers = models.JSONField(default=list, blank=True, encoder=StrictJSONEncoder)
    reason = models.TextField(blank=True)
    isolation = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-asked_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(owner="") & Q(lease_until__isnull=False)),
                name="running_submission_has_lease",
            ),
        ]
        indexes = [models.Index(fields=["state", "asked_at"], name="submission_to_claim")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("triage:show-submission", args=[self.uuid])


class FindingRecord(models.Model):
    """A finding that the engine confirmed. What it says never changes, no cleanup deletes it.

    A round of a shard made it, a script that somebody submitted, or a run on the command line that
    was adopted; the last two have no campaign.

    Lists filter and show the columns; `data` is the whole of it, as `Finding.to_json` gives. Which
    bucket it is in, people may change: `rule` and `moved` say why it is there, and where both are
    empty its signature brought it.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bucket = models.ForeignKey(Bucket, on_delete=models.PROTECT, related_name="findings")
    campaign = models.ForeignKey(
        Campaign, null=True, blank=True, on_delete=models.PROTECT, related_name="findings"
    )
    shard = models.ForeignKey(
        Shard, null=True, blank=True, on_delete=models.PROTECT, related_name="finding_records"
    )
    submission = models.OneToOneField(
        "Submission", null=True, blank=True, on_delete=models.PROTECT, related_name="finding"
    )
    adopted = models.CharField(
        max_length=300,
        blank=True,
        help_text="Which run of the command line it was adopted from, and under which name.",
    )
    round = models.PositiveIntegerField()
    key = models.TextField(help_text="The failure key.")
    key_digest = models.CharField(max_length=64)
    coarse = models.TextField(default="", help_text="Coarse keys, one a line.")

    symptom = models.CharField(max_length=20, choices=Symptom)
    framework = models.CharField(max_length=20, choices=Framework)
    op = models.CharField(max_length=120, blank=True)
    title = models.CharField(max_length=300)
    seed = models.CharField(max_length=80)
    mutator = models.TextField(help_text="Names of all mutations of the round.")
    minimised_nodes = models.PositiveIntegerField()
    original_nodes = models.PositiveIntegerField()
    reproduced = models.PositiveIntegerField()
    attempts = models.PositiveIntegerField()
    signature_digest = models.CharField(max_length=64, default="")
    parts = models.JSONField(default=dict, help_text="Parts of the signature by name.")
    impact = models.IntegerField(default=0)
    data = models.JSONField(encoder=StrictJSONEncoder)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    rule = models.ForeignKey(
        GroupingRule,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="findings",
        help_text="What brought it, where a rule did.",
    )
    moved = models.ForeignKey(
        "BucketEvent",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="moved_findings",
        help_text="The merge or split that brought it, where a person did.",
    )
    suppression = models.ForeignKey(
        Suppression, null=True, blank=True, on_delete=models.SET_NULL, related_name="findings"
    )

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["shard", "round", "key_digest"], name="finding_recorded_once"
            ),
            models.CheckConstraint(
                condition=Q(
                    shard__isnull=False, campaign__isnull=False, submission=None, adopted=""
                )
                | Q(shard=None, campaign=None, submission__isnull=False, adopted="")
                | (Q(shard=None, campaign=None, submission=None) & ~Q(adopted="")),
                name="finding_of_one_source",
            ),
            models.UniqueConstraint(
                fields=["adopted"], condition=~Q(adopted=""), name="finding_adopted_once"
            ),
        ]
        indexes = [
            models.Index(fields=["bucket", "minimised_nodes"], name="finding_smallest"),
            models.Index(fields=["campaign", "-created_at"], name="finding_of_campaign"),
            models.Index(fields=["signature_digest"], name="finding_signature"),
        ]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("triage:show-finding", args=[self.uuid])

    def finding(self) -> Finding:
        """The engine's own object; `KeyError` or `TypeError` where another version wrote it."""
        return Finding.from_json(self.data)


class Note(models.Model):
    """What a person wrote about a bucket, in Markdown.

    `deleted_in`: the batch of the event that deleted it; undoing that brings it back.
    """

    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="notes")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    edited_at = models.DateTimeField(null=True, blank=True)
    deleted_in = models.UUIDField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return self.text[:60]


class BucketEvent(models.Model):
    """One line of a bucket's history. Only ever added.

    `who` is None where a machine did it. Events of one action carry one `batch`, which undo takes
    back. `other`: the other bucket of a merge, a split, a rule or a duplicate. `details`: what undo
    needs to know, by kind; see the service that wrote it.
    """

    class Kind(models.TextChoices):
        CREATED = "created", "Created"
        STATUS = "status", "Status"
        ASSIGNEE = "assignee", "Assignee"
        LABELS = "labels", "Labels"
        NOTE = "note", "Note"
        FLAG = "flag", "Flag"
        FLAG_CLEARED = "flag_cleared", "Flag taken down"
        REPORT = "report", "Report"
        MERGED = "merged", "Merged"
        SPLIT = "split", "Split"
        MADE_BY_SPLIT = "made_by_split", "Made by a split"
        TOOK_IN = "took_in", "Took in findings"
        GAVE_UP = "gave_up", "Gave up findings"
        RULE = "rule", "Rule"
        SUPPRESSION = "suppression", "Suppression"
        SUPPRESSION_LIFTED = "suppression_lifted", "Suppression lifted"
        SUPPRESSION_EXPIRY = "suppression_expiry", "Expiry of the suppression"
        RERUN = "rerun", "Run again"
        NOTE_EDITED = "note_edited", "Note edited"
        NOTE_DELETED = "note_deleted", "Note deleted"

    bucket = models.ForeignKey(Bucket, on_delete=models.CASCADE, related_name="events")
    who = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    kind = models.CharField(max_length=20, choices=Kind)
    before = models.CharField(max_length=500, blank=True)
    after = models.CharField(max_length=500, blank=True)
    why = models.CharField(max_length=500, blank=True)
    other = models.ForeignKey(
        Bucket, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    details = models.JSONField(default=dict, blank=True)
    batch = models.UUIDField(default=uuid.uuid4, db_index=True, editable=False)
    undone = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.before} -> {self.after}"


class SavedView(models.Model):
    """Filters of the inbox under a name: a query string, own or shared."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000, blank=True)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="view_name_once"),
        ]

    def __str__(self) -> str:
        return self.name


class DefaultView(models.Model):
    """The view, own or shared, that a person's inbox opens with."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="default_view"
    )
    view = models.ForeignKey(SavedView, on_delete=models.CASCADE, related_name="default_of")

    def __str__(self) -> str:
        return f"{self.owner}: {self.view}"


class Tracker(models.TextChoices):
    """Where reports go; their forms are in `triage.trackers`."""

    PYTORCH = "pytorch", "PyTorch on GitHub"
    MINDSPORE = "mindspore", "MindSpore on AtomGit"


class DraftTemplate(models.Model):
    """One version of the templates of a form, kept for good; the one of the highest number holds.

    `texts`: Jinja by the key of the form's field, the title's, and partial ones, whose names begin
    with an underscore. `is_shipped`: they came with the product, and go with its next release.
    """

    form = models.CharField(max_length=40)
    number = models.PositiveIntegerField()
    texts = models.JSONField()
    is_shipped = models.BooleanField(default=False)
    why = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["form", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["form", "number"], name="template_version_once"),
        ]

    def __str__(self) -> str:
        return f"version {self.number}"


class Report(models.Model):
    """A report in a tracker's own form, drafted here, filed there by a person.

    `fields`: name of the form's field -> Markdown. `Status` moves by `triage.reporting.MOVES`.
    """

    class Status(models.TextChoices):
        """How far it got. A person moves it; machines only propose a status."""

        DRAFT = "draft", "Draft"
        REPORTED = "reported", "Reported"
        NEEDS_INFO = "needs_info", "Needs info"
        ROUTED = "routed", "Routed"
        CONFIRMED = "confirmed", "Confirmed"
        IN_PROGRESS = "in_progress", "In progress"
        FIX_CLAIMED = "fix_claimed", "Fix claimed"
        FIXED = "fixed", "Fixed, verified"
        REGRESSED = "regressed", "Regressed"
        REJECTED = "rejected", "Rejected"
        DUPLICATE = "duplicate", "Duplicate"

    class Proposer(models.TextChoices):
        """Which machine proposes a status."""

        NOBODY = "", "Nobody"
        UPSTREAM = "upstream", "The tracker"
        RETEST = "retest", "A retest"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    bucket = models.ForeignKey(Bucket, on_delete=models.PROTECT, related_name="reports")
    finding = models.ForeignKey(FindingRecord, on_delete=models.PROTECT, related_name="reports")
    tracker = models.CharField(max_length=20, choices=Tracker)
    form = models.CharField(max_length=40, help_text="Which of the tracker's forms.")
    title = models.CharField(max_length=255)
    fields = models.JSONField(default=dict)
    template = models.ForeignKey(
        DraftTemplate,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="reports",
        help_text="What it was drafted with; none in reports of earlier versions.",
    )
    status = models.CharField(max_length=20, choices=Status, default=Status.DRAFT)
    upstream_url = models.URLField(max_length=500, blank=True)
    upstream_id = models.CharField(max_length=40, blank=True)
    proposed = models.CharField(
        max_length=20,
        choices=Status,
        blank=True,
        help_text="The status that a machine saw grounds for; a person takes it over or not.",
    )
    proposed_by = models.CharField(max_length=20, choices=Proposer, blank=True)
    proposed_why = models.CharField(max_length=500, blank=True)
    proposed_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-updated_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["upstream_url"],
                condition=~Q(upstream_url=""),
                name="report_upstream_once",
                violation_error_message="Another report is linked to that address.",
            ),
            models.CheckConstraint(
                condition=Q(status="draft") | ~Q(upstream_url=""), name="filed_report_has_url"
            ),
        ]
        indexes = [models.Index(fields=["status", "-updated_at"], name="report_by_status")]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("triage:show-report", args=[self.uuid])


class ReportEvent(models.Model):
    """One line of a report's history. Only ever added."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="events")
    who = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    kind = models.CharField(
        max_length=20,
        help_text="What happened: drafted, edited, linked, moved, proposed and others.",
    )
    before = models.CharField(max_length=500, blank=True)
    after = models.CharField(max_length=500, blank=True)
    why = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.before} -> {self.after}"


class RuleOverride(models.Model):
    """A person files although a rule of the linter is broken, and says why.

    It holds for what the rule saw then (`seen`): once it sees something else, it asks again.
    """

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="overrides")
    rule = models.CharField(max_length=40)
    seen = models.TextField()
    reason = models.CharField(max_length=500)
    who = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["report", "rule"], name="override_of_rule_once"),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


class DuplicateSearch(models.Model):
    """The tracker was asked whether it knows the bug already.

    `issues`: an object for each found: url, name, title, state, reason, labels, last_activity.
    `problem`: why there is no answer, for a person.
    """

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="searches")
    query = models.CharField(max_length=200)
    issues = models.JSONField(default=list)
    problem = models.CharField(max_length=500, blank=True)
    who = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return self.query


class Filing(models.Model):
    """A report posted through the tracker's API: first the intent, then what came of it.

    A report has at most one that is not refused: whoever comes second, by a double click or after a
    crash, finds it and looks on the tracker for what the first one may have left there.
    """

    class State(models.TextChoices):
        INTENDED = "intended", "Being filed"
        UNKNOWN = "unknown", "Nobody knows whether it arrived"
        POSTED = "posted", "Filed"
        REFUSED = "refused", "Refused"

    report = models.ForeignKey(Report, on_delete=models.PROTECT, related_name="filings")
    state = models.CharField(max_length=20, choices=State, default=State.INTENDED)
    title = models.CharField(max_length=255)
    body = models.TextField()
    url = models.URLField(max_length=500, blank=True)
    problem = models.CharField(max_length=500, blank=True)
    who = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["report"], condition=~Q(state="refused"), name="filed_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()}: {self.title}"


class Bisection(models.Model):
    """A search for the versions between which a bug came and went, by reruns of one script.

    It goes on by `triage.retesting`, a rerun at a time, until no installed version tells more.
    """

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        DONE = "finished", "Done"
        CANCELLED = "cancelled", "Cancelled"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    finding = models.ForeignKey(FindingRecord, on_delete=models.CASCADE, related_name="bisections")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    attempts = models.PositiveSmallIntegerField(default=3)
    state = models.CharField(max_length=20, choices=State, default=State.RUNNING)
    asked_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-asked_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["finding"], condition=Q(state="running"), name="one_bisection_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.finding}: {self.get_state_display()}"


class Rerun(Job):
    """The stored script of a finding run again: who asked, where it ran, what it said.

    `results`: an object for each attempt, `engine.script_run.ScriptRun` without the columns.
    """

    finding = models.ForeignKey(FindingRecord, on_delete=models.CASCADE, related_name="reruns")
    environment = models.ForeignKey(
        Environment,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="reruns",
        help_text="None for the framework's own.",
    )
    bisection = models.ForeignKey(
        Bisection, null=True, blank=True, on_delete=models.SET_NULL, related_name="reruns"
    )
    attempts = models.PositiveSmallIntegerField(default=3)
    interpreter = models.CharField(max_length=500, blank=True, help_text="What ran it.")
    versions = models.JSONField(default=dict, blank=True, help_text="Package to version.")
    results = models.JSONField(default=list, blank=True, encoder=StrictJSONEncoder)

    class Meta:
        ordering = ["-asked_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["finding"], condition=Q(state="running"), name="one_rerun_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(attempts__gte=1, attempts__lte=10), name="rerun_attempts"
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(owner="") & Q(lease_until__isnull=False)),
                name="running_rerun_has_lease",
            ),
        ]
        indexes = [
            # What a worker looks for, and the panel of a finding.
            models.Index(fields=["state", "asked_at"], name="rerun_to_claim"),
            models.Index(fields=["finding", "-asked_at"], name="rerun_of_finding"),
        ]

    def __str__(self) -> str:
        return self.words

    @property
    def reproduced(self) -> int:
        return self._ended("reproduced")

    @property
    def passed(self) -> int:
        return self._ended("passed")

    @property
    def words(self) -> str:
        """What it says about the bug, as far as it has got."""
        ran = len(self.results)
        match self.state:
            case self.State.FAILED:
                return f"could not run: {self.problem}"
            case self.State.QUEUED | self.State.RUNNING | self.State.CANCELLED:
                return self.detail or "cancelled"
        lacking = ran - self.reproduced - self.passed
        rest = f", {lacking} could not run" if lacking else ""
        if self.reproduced:
            return f"reproduced {self.reproduced} of {ran}{rest}"
        if lacking:
            return f"passed {self.passed} of {ran}{rest}"
        return f"no longer reproduces: passed {self.passed} of {ran}"

    @property
    def detail(self) -> str:
        """What its state leaves open."""
        match self.state:
            case self.State.QUEUED:
                return "waits for a worker"
            case self.State.RUNNING:
                now = min(len(self.results) + 1, self.attempts)
                return f"attempt {now} of {self.attempts}"
        return self.problem

    def _ended(self, ending: str) -> int:
        return sum(one["ending"] == ending for one in self.results)
