"""Verdicts with what goes with them, and suppressions from their making to their end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests import factories
from triage import services, suppressing
from triage.filters import NEEDS_A_PERSON
from triage.models import Bucket, BucketEvent, FindingRecord, Suppression
from triage.recording import raise_flag

pytestmark = pytest.mark.django_db
PARTS = {"kind": "values", "calls": "exp.function", "dtypes": "float32"}
S = Bucket.Status


@pytest.fixture
def ada() -> User:
    return factories.user("ada")


def found(signature: str, **parts: str) -> FindingRecord:
    return factories.finding(signature=signature, title=signature, parts={**PARTS, **parts})


def asking() -> set[str]:
    """Titles of the buckets that need a person."""
    return set(Bucket.objects.filter(NEEDS_A_PERSON).values_list("title", flat=True))


def limited(bucket: Bucket, who: User, **fields: object) -> Suppression:
    """The bucket as a known limit; its suppression."""
    services.move_buckets(
        [bucket], to=S.KNOWN_LIMIT, who=who, why="documented", source="docs", **fields
    )
    return Suppression.objects.get(bucket=bucket, lifted_at=None)


# -------------------------------------------------------------------------------------- verdicts
def test_false_alarm_has_a_kind_which_undo_takes_back(ada: User) -> None:
    bucket = found("s").bucket
    done = services.move_buckets(
        [bucket], to=S.FALSE_ALARM, who=ada, false_alarm="tie", why="argmax"
    )
    bucket.refresh_from_db()
    assert bucket.get_false_alarm_display() == "Tie or order of equals"
    services.undo_batch(done.batch, who=ada)
    bucket.refresh_from_db()
    assert (bucket.status, bucket.false_alarm, bucket.status_reason) == ("new", "", "")


def test_undo_brings_back_the_earlier_verdict_with_its_reason(ada: User) -> None:
    one, two = found("one").bucket, found("two").bucket
    services.move_buckets([one], to=S.DUPLICATE, duplicate_of=two, who=ada, why="same kernel")
    done = services.move_buckets([one], to=S.CONFIRMED, who=ada)
    services.undo_batch(done.batch, who=ada)
    one.refresh_from_db()
    assert (one.status, one.status_reason, one.duplicate_of) == ("duplicate", "same kernel", two)


def test_two_buckets_cannot_be_duplicates_of_each_other(ada: User) -> None:
    one, two = found("one").bucket, found("two").bucket
    services.move_buckets([one], to=S.DUPLICATE, duplicate_of=two, who=ada)
    done = services.move_buckets([two], to=S.DUPLICATE, duplicate_of=one, who=ada)
    assert "is a duplicate of it" in done.refused[0]


@pytest.mark.parametrize("status", list(S))
@pytest.mark.parametrize("flag", [flag for flag in Bucket.Flag if flag])
def test_no_flag_of_a_machine_touches_a_status(status: Bucket.Status, flag: Bucket.Flag) -> None:
    bucket = factories.bucket(status=status)
    raise_flag(bucket, flag=flag, why="seen")
    bucket.refresh_from_db()
    assert (bucket.status, bucket.flag) == (status, flag)
    assert bucket.events.get(kind=BucketEvent.Kind.FLAG).who is None


# ---------------------------------------------------------------------------------- suppressions
def test_known_limit_suppresses_what_its_members_share_for_half_a_year(ada: User) -> None:
    bucket = found("s").bucket
    made = limited(bucket, ada)
    assert (made.parts, made.reason, made.source) == (PARTS, "documented", "docs")
    assert (made.expires_at - timezone.now()).days in (179, 180)
    bucket.refresh_from_db()
    assert bucket.suppression == made


def test_what_matches_is_recorded_and_asks_nobody(ada: User) -> None:
    made = limited(found("s").bucket, ada, parts={"calls": "exp.function"})
    caught, other = found("new one", dtypes="integer"), found("free", calls="log.function")
    assert (caught.suppression, other.suppression) == (made, None)
    assert caught.bucket.suppression == made
    assert asking() == {"free"}
    again = found("s")
    again.bucket.refresh_from_db()
    assert (again.bucket.status, again.bucket.flag) == ("known_limit", "")


def test_bucket_that_a_person_judged_or_that_has_other_members_is_not_held(ada: User) -> None:
    judged = found("judged", dtypes="integer").bucket
    services.move_buckets([judged], to=S.CONFIRMED, who=ada)
    mixed = found("mixed", calls="log.function").bucket
    limited(found("s").bucket, ada, parts={"calls": "exp.function"})
    found("judged", dtypes="integer")
    found("mixed")
    assert asking() == {"judged", "mixed"}
    mixed.refresh_from_db()
    assert mixed.suppression is None


def test_suppression_covers_what_is_here_already_and_undo_frees_it(ada: User) -> None:
    bucket, other = found("s").bucket, found("other", dtypes="integer").bucket
    parts = {"calls": "exp.function"}
    assert suppressing.would_catch(bucket, parts).count() == 2
    done = services.move_buckets([bucket], to=S.KNOWN_LIMIT, who=ada, parts=parts)
    assert asking() == set()
    services.undo_batch(done.batch, who=ada)
    other.refresh_from_db()
    assert (asking(), other.suppression) == ({"s", "other"}, None)
    assert Suppression.objects.get().lifted_at is not None


def test_leaving_the_verdict_lifts_its_suppression_and_undo_restores_it(ada: User) -> None:
    bucket = found("s").bucket
    made = limited(bucket, ada)
    done = services.move_buckets([bucket], to=S.CONFIRMED, who=ada)
    made.refresh_from_db()
    assert not made.is_active
    services.undo_batch(done.batch, who=ada)
    made.refresh_from_db()
    bucket.refresh_from_db()
    assert (made.is_active, bucket.suppression, bucket.status) == (True, made, "known_limit")


def test_buckets_come_back_with_a_flag_when_a_suppression_expires(ada: User) -> None:
    limit = found("s").bucket
    made = limited(limit, ada, parts={"calls": "exp.function"})
    caught = found("caught", dtypes="integer").bucket
    Suppression.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    # Nothing need have run yet for the inbox to show what nobody judged.
    assert asking() == {"caught"}
    assert suppressing.end_suppressions() == 2
    assert suppressing.end_suppressions() == 0
    for bucket, status in ((limit, "known_limit"), (caught, "new")):
        bucket.refresh_from_db()
        assert (bucket.status, bucket.flag) == (status, "suppression_ended")
        assert "documented" in bucket.flag_reason
    assert asking() == {"s", "caught"}
    made.refresh_from_db()
    assert made.ended_at is not None


def test_later_end_quiets_again_and_undo_moves_it_back(ada: User) -> None:
    bucket = found("s").bucket
    made = limited(bucket, ada)
    past = timezone.now() - timedelta(days=1)
    Suppression.objects.update(expires_at=past)
    suppressing.end_suppressions()
    made.refresh_from_db()
    done = suppressing.set_expiry(made, expires_at=timezone.now() + timedelta(days=9), who=ada)
    bucket.refresh_from_db()
    assert (made.is_active, bucket.suppression) == (True, made)
    services.undo_batch(done.batch, who=ada)
    made.refresh_from_db()
    bucket.refresh_from_db()
    assert (made.is_active, bucket.suppression) == (False, None)


def test_finding_after_the_end_flags_the_known_limit(ada: User) -> None:
    bucket = found("s").bucket
    suppressing.lift_suppression(limited(bucket, ada), who=ada)
    found("s")
    bucket.refresh_from_db()
    assert (bucket.status, bucket.flag) == ("known_limit", "seen_again")


def test_lifted_suppression_can_be_brought_back(ada: User) -> None:
    bucket = found("s").bucket
    made = limited(bucket, ada, parts={"calls": "exp.function"})
    found("caught", dtypes="integer")
    done = suppressing.lift_suppression(made, who=ada)
    assert asking() == {"caught"}
    services.undo_batch(done.batch, who=ada)
    assert asking() == set()
