"""Rows about what trackers say. Machines write them; what people decided is on the report itself.

Written by `triage.following`, `triage.polling` and `triage.hooks` only.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone

__all__ = ["Following", "HookDelivery", "PastAddress", "SitePause", "UpstreamAnswer"]

_STATUS_LENGTH = 20
_WORDS_LENGTH = 500


class Following(models.Model):
    """What the tracker says of a report now, and when it is asked again.

    `observed`: one of `Report.Status`, by `triage.mapping`; "" before the first answer.
    `address`: where the issue is asked for, the linked address or the one that it led on to.
    `pulls`: objects with url, title, state and closes. `was_fixed`: it had been closed as done, so
    that an open state means that it came back. `next_at`: when it is due; claiming it moves that.
    """

    report = models.OneToOneField(
        "triage.Report", on_delete=models.CASCADE, related_name="following"
    )
    site = models.CharField(max_length=20, help_text="A key of `triage.upstream.sites.SITES`.")
    address = models.CharField(max_length=500)
    observed = models.CharField(max_length=_STATUS_LENGTH, blank=True)
    observed_why = models.CharField(max_length=200, blank=True, help_text="The table's row.")
    observed_at = models.DateTimeField(null=True, blank=True, help_text="Since when it is so.")
    title = models.TextField(blank=True)
    state = models.CharField(max_length=40, blank=True)
    state_reason = models.CharField(max_length=100, blank=True)
    labels = models.JSONField(default=list, blank=True)
    assignees = models.JSONField(default=list, blank=True)
    pulls = models.JSONField(default=list, blank=True)
    awaits_author = models.BooleanField(default=False)
    last_activity = models.DateTimeField(null=True, blank=True)
    duplicate_of = models.CharField(max_length=500, blank=True)
    original_observed = models.CharField(
        max_length=_STATUS_LENGTH, blank=True, help_text="The status of what it duplicates."
    )
    was_fixed = models.BooleanField(default=False)
    seen_at = models.DateTimeField(null=True, blank=True, help_text="The last good answer.")
    problem = models.CharField(max_length=_WORDS_LENGTH, blank=True)
    problem_kind = models.CharField(max_length=20, blank=True)
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    next_at = models.DateTimeField(null=True, blank=True, help_text="None: only when asked.")

    class Meta:
        indexes = [
            # What the sweep looks for, and what a webhook finds its report by.
            models.Index(fields=["next_at"], name="following_due"),
            models.Index(fields=["address"], name="following_address"),
        ]

    def __str__(self) -> str:
        return f"{self.address}: {self.observed or 'not seen yet'}"

    @property
    def observed_label(self) -> str:
        """For people, "" before the first answer."""
        return str(type(self.report).Status(self.observed).label) if self.observed else ""


class UpstreamAnswer(models.Model):
    """A raw answer of a tracker, or what went wrong, with its time. Only ever added.

    The same again is no new row: `times` and `last_at` say how often and until when. `parts`: name
    -> {"body", "etag"}; `kind`: "answer" or the kind of an `UpstreamError`.
    """

    # What downloads and the API show of it.
    SHOWN = (
        *("address", "kind", "status", "message", "observed", "state", "state_reason"),
        *("labels", "parts", "is_of_original", "asked_at", "last_at", "times"),
    )

    report = models.ForeignKey("triage.Report", on_delete=models.CASCADE, related_name="answers")
    address = models.CharField(max_length=500)
    kind = models.CharField(max_length=20)
    status = models.PositiveIntegerField(default=0, help_text="HTTP's; 0 without an answer.")
    message = models.CharField(max_length=_WORDS_LENGTH, blank=True)
    observed = models.CharField(max_length=_STATUS_LENGTH, blank=True)
    state = models.CharField(max_length=40, blank=True)
    state_reason = models.CharField(max_length=100, blank=True)
    labels = models.JSONField(default=list, blank=True)
    parts = models.JSONField(default=dict, blank=True)
    is_of_original = models.BooleanField(
        default=False, help_text="Of the issue that the report's own is a duplicate of."
    )
    asked_at = models.DateTimeField(default=timezone.now)
    last_at = models.DateTimeField(default=timezone.now)
    times = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-asked_at", "-id"]
        indexes = [
            models.Index(fields=["report", "-asked_at"], name="answer_of_report"),
            models.Index(fields=["observed"], name="answer_observed"),
        ]

    def __str__(self) -> str:
        return f"{self.asked_at:%Y-%m-%d %H:%M} {self.kind}: {self.state or self.message}"


class PastAddress(models.Model):
    """An address that a report had before: trackers move, and old links must still lead here."""

    report = models.ForeignKey(
        "triage.Report", on_delete=models.CASCADE, related_name="past_addresses"
    )
    address = models.CharField(max_length=500)
    why = models.CharField(max_length=200)
    left_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-left_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["report", "address"], name="past_address_once"),
        ]

    def __str__(self) -> str:
        return self.address


class SitePause(models.Model):
    """A tracker that wants to be left alone for a while; every report there waits."""

    site = models.CharField(max_length=20, unique=True)
    until = models.DateTimeField()
    why = models.CharField(max_length=_WORDS_LENGTH)

    def __str__(self) -> str:
        return f"{self.site} until {self.until:%Y-%m-%d %H:%M}"


class HookDelivery(models.Model):
    """A message of a webhook that was taken. The same message again is told so and does nothing."""

    digest = models.CharField(max_length=64, unique=True, help_text="sha256 of the body.")
    delivery = models.CharField(max_length=100, blank=True)
    event = models.CharField(max_length=60)
    received_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-received_at", "-id"]

    def __str__(self) -> str:
        return f"{self.event} {self.delivery}"
