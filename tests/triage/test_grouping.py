"""Merging, splitting, rules: what moves, what stays, and that undo brings all of it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests import factories
from triage import grouping, rules, services
from triage.counting import recount
from triage.grouping import GroupingRefusedError
from triage.models import Bucket, BucketEvent, FindingRecord, GroupingRule

pytestmark = pytest.mark.django_db
PARTS = {
    "version": "1",
    "symptom": "numerical",
    "framework": "torch",
    "modes": "torch-inductor",
    "kind": "values",
    "message": "",
    "calls": "exp.function",
    "dtypes": "float32",
}


@pytest.fixture
def ada() -> User:
    return factories.user("ada")


def found(signature: str, **parts: str) -> FindingRecord:
    return factories.finding(signature=signature, parts={**PARTS, **parts}, title=signature)


def counted(bucket: Bucket) -> dict[str, Any]:
    """All that is told from members."""
    fresh = Bucket.with_merged.get(pk=bucket.pk)
    names = ("title", "verdict", "count", "impact", "impact_points", "reproduced", "attempts")
    more = ("minimised_nodes", "first_seen", "last_seen", "parts", "family", "op", "symptom")
    facets = sorted(fresh.facets.values_list("kind", "value"))
    return {name: getattr(fresh, name) for name in names + more} | {"facets": facets}


# -------------------------------------------------------------------------------------- counting
def test_counting_one_by_one_and_counting_all_again_agree() -> None:
    shard = factories.shard()
    for number in range(6):
        factories.finding(
            shard=shard,
            signature="s",
            title=f"title {number}",
            minimised_nodes=[5, 2, 4, 2, 1, 3][number],
            mutator=f"m{number}",
            seed=f"seed {number % 2}",
            symptom="crash" if number == 3 else "numerical",
            parts={**PARTS, "dtypes": f"float{number % 2}"},
            now=factories.days_ago(number),
        )
    bucket = Bucket.objects.get()
    before = counted(bucket)
    assert before["count"] == 6
    assert "dtypes" not in before["parts"]
    recount(bucket)
    assert counted(bucket) == before


# --------------------------------------------------------------------------------------- merging
def test_merge_moves_everything_people_wrote_and_keeps_what_they_decided(ada: User) -> None:
    target, source = found("target").bucket, found("source").bucket
    factories.finding(bucket=source)
    services.move_buckets([source], to="confirmed", who=ada, why="seen")
    services.assign_buckets([source], assignee=ada, who=ada)
    services.add_labels([source], names=["nan"], who=ada)
    services.add_note(source, text="look here", who=ada)
    report = factories.report(bucket=source)
    source.refresh_from_db()

    grouping.merge_buckets([source], into=target, who=ada, why="one bug")
    target.refresh_from_db()
    report.refresh_from_db()
    assert (target.count, target.status) == (3, "new")
    assert target.notes.get().text == "look here"
    assert report.bucket == target
    assert target.labels.get().name == "nan"
    assert list(Bucket.objects.all()) == [target]
    told = target.events.get(kind=BucketEvent.Kind.TOOK_IN).details
    assert (told["status"], told["assignee"], told["findings"]) == ("confirmed", "ada", 2)


def test_undone_merge_restores_both_exactly(ada: User) -> None:
    target, source = found("target").bucket, found("source", calls="log.function").bucket
    services.add_labels([source], names=["nan"], who=ada)
    services.add_note(source, text="look here", who=ada)
    before = counted(target), counted(source)
    done = grouping.merge_buckets([source], into=target, who=ada)
    assert counted(target) != before[0]
    assert services.undo_batch(done.batch, who=ada).changed == 1
    assert (counted(target), counted(source)) == before
    source.refresh_from_db()
    assert source.merged_into is None
    assert (source.notes.count(), source.labels.count()) == (1, 1)
    assert (target.notes.count(), target.labels.count()) == (0, 0)
    assert not FindingRecord.objects.exclude(moved=None).exists()
    assert services.undo_batch(done.batch, who=ada).changed == 0


def test_new_findings_of_a_merged_signature_go_to_the_target_and_back_after_undo(ada: User) -> None:
    target, source = found("target").bucket, found("source").bucket
    done = grouping.merge_buckets([source], into=target, who=ada)
    later = found("source")
    assert later.bucket == target
    services.undo_batch(done.batch, who=ada)
    later.refresh_from_db()
    assert later.bucket == source
    assert found("source").bucket == source


def test_merges_in_a_row_lead_to_the_end_and_are_undone_last_first(ada: User) -> None:
    one, two, three = (found(name).bucket for name in ("one", "two", "three"))
    first = grouping.merge_buckets([one], into=two, who=ada)
    second = grouping.merge_buckets([two], into=three, who=ada)
    assert found("one").bucket == three
    assert services.undo_batch(first.batch, who=ada).refused
    services.undo_batch(second.batch, who=ada)
    assert found("one").bucket == two
    services.undo_batch(first.batch, who=ada)
    counts = {bucket.title: bucket.count for bucket in Bucket.objects.all()}
    assert counts == {"one": 3, "two": 1, "three": 1}


def test_merging_what_makes_no_sense_is_refused_with_the_reason(ada: User) -> None:
    one, two = found("one").bucket, found("two").bucket
    with pytest.raises(GroupingRefusedError, match="into itself"):
        grouping.check_merge([one], into=one)
    services.move_buckets([one], to="duplicate", duplicate_of=two, who=ada)
    with pytest.raises(GroupingRefusedError, match="other way round"):
        grouping.merge_buckets([two], into=one, who=ada)
    grouping.merge_buckets([one], into=two, who=ada)
    with pytest.raises(GroupingRefusedError, match="already"):
        grouping.merge_buckets([one], into=found("three").bucket, who=ada)
    assert services.move_buckets([one], to="new", who=ada).refused


def test_flag_of_a_merged_bucket_is_not_lost(ada: User) -> None:
    target, source = found("target").bucket, factories.bucket(flag="seen_again", flag_reason="r")
    grouping.merge_buckets([source], into=target, who=ada)
    target.refresh_from_db()
    assert (target.flag, target.flag_reason, target.status) == ("seen_again", "r", "new")


# ------------------------------------------------------------------------------------- splitting
def test_split_members_get_a_bucket_and_their_signature_stays_with_the_old(ada: User) -> None:
    members = [found("s", dtypes=name) for name in ("float32", "float32", "integer")]
    old = members[0].bucket
    before = counted(old)
    picked = FindingRecord.objects.filter(pk=members[2].pk)
    done, made = grouping.split_bucket(old, members=picked, who=ada, why="another kernel")
    old.refresh_from_db()
    assert (old.count, made.count, made.status) == (2, 1, "new")
    assert old.parts["dtypes"] == "float32"
    assert made.parts["dtypes"] == "integer"
    assert found("s", dtypes="integer").bucket == old
    FindingRecord.objects.latest("pk").delete()
    services.undo_batch(done.batch, who=ada)
    assert counted(old) == before
    made.refresh_from_db()
    assert (made.merged_into, made.count) == (old, 0)


def test_what_people_wrote_about_a_split_bucket_survives_its_undo(ada: User) -> None:
    members = [found("s"), found("s")]
    old = members[0].bucket
    done, made = grouping.split_bucket(
        old, members=FindingRecord.objects.filter(pk=members[1].pk), who=ada
    )
    services.add_note(made, text="about the new one", who=ada)
    services.undo_batch(done.batch, who=ada)
    assert old.notes.get().text == "about the new one"


def test_a_split_that_leaves_nothing_is_refused(ada: User) -> None:
    member = found("s")
    everything = FindingRecord.objects.filter(bucket=member.bucket)
    with pytest.raises(GroupingRefusedError, match="must stay"):
        grouping.split_bucket(member.bucket, members=everything, who=ada)
    with pytest.raises(GroupingRefusedError, match="Pick"):
        grouping.split_bucket(member.bucket, members=FindingRecord.objects.none(), who=ada)


# ----------------------------------------------------------------------------------------- rules
WIDE = {name: PARTS[name] for name in ("symptom", "framework", "modes", "kind", "calls")}


def test_rule_takes_in_what_matches_now_and_later_and_empties_are_merged(ada: User) -> None:
    bucket = found("float", dtypes="float32").bucket
    other = found("integer", dtypes="integer").bucket
    half = found("half", dtypes="small float").bucket
    stranger = found("half", calls="log.function")
    services.add_note(other, text="kept", who=ada)

    plan = rules.plan_rule(bucket, WIDE)
    assert [(shift.source, len(shift.records), shift.empties) for shift in plan.enter] == [
        (other, 1, True),
        (half, 1, False),
    ]
    assert (plan.entering, plan.leaving, plan.stay) == (2, 0, 1)
    assert not GroupingRule.objects.exists()

    before = counted(bucket), counted(other), counted(half)
    done = rules.set_rule(bucket, parts=WIDE, who=ada, why="dtypes do not matter")
    bucket.refresh_from_db()
    other.refresh_from_db()
    assert (bucket.count, other.merged_into) == (3, bucket)
    assert bucket.notes.get().text == "kept"
    stranger.refresh_from_db()
    assert stranger.bucket == half
    later = found("yet another", dtypes="bool")
    assert (later.bucket, later.rule) == (bucket, bucket.rules.get(active=True))

    services.undo_batch(done.batch, who=ada)
    other.refresh_from_db()
    assert (other.merged_into, other.notes.count()) == (None, 1)
    assert (counted(bucket), counted(other), counted(half)) == before
    later.refresh_from_db()
    assert (later.bucket.title, later.rule) == ("yet another", None)
    assert not GroupingRule.objects.filter(active=True).exists()


def test_narrower_rule_sends_away_what_it_does_not_match(ada: User) -> None:
    bucket = found("float", dtypes="float32").bucket
    found("integer", dtypes="integer")
    rules.set_rule(bucket, parts=WIDE, who=ada)
    narrow = {**WIDE, "dtypes": "float32"}
    plan = rules.plan_rule(bucket, narrow)
    assert (plan.entering, plan.leaving, plan.stay) == (0, 1, 1)
    done = rules.set_rule(bucket, parts=narrow, who=ada)
    assert Bucket.objects.get(title="integer").count == 1
    services.undo_batch(done.batch, who=ada)
    bucket.refresh_from_db()
    assert (bucket.count, bucket.rules.get(active=True).parts) == (2, WIDE)


def test_the_rule_with_more_parts_wins(ada: User) -> None:
    wide, narrow = found("wide").bucket, found("narrow", dtypes="integer").bucket
    rules.set_rule(narrow, parts={**WIDE, "dtypes": "integer"}, who=ada)
    rules.set_rule(wide, parts=WIDE, who=ada)
    assert found("x", dtypes="integer").bucket == narrow
    assert found("y", dtypes="bool").bucket == wide
    assert Bucket.objects.get(pk=narrow.pk).count == 2


def test_rules_that_could_not_be_told_apart_are_refused(ada: User) -> None:
    one, two = found("one", dtypes="float32").bucket, found("two", calls="log.function").bucket
    rules.set_rule(one, parts={"kind": "values", "calls": "exp.function"}, who=ada)
    with pytest.raises(GroupingRefusedError, match="nothing would say which wins"):
        rules.plan_rule(two, {"kind": "values", "dtypes": "float32"})
    with pytest.raises(GroupingRefusedError, match="No member"):
        rules.plan_rule(two, {"calls": "exp.function"})
    wanted = {"calls": "log.function", "dtypes": "float32"}
    rules.set_rule(two, parts=wanted, who=ada)
    second = FindingRecord.objects.filter(pk=found("two", calls="log.function").pk)
    _, made = grouping.split_bucket(two, members=second, who=ada)
    with pytest.raises(GroupingRefusedError, match="exactly this rule"):
        rules.plan_rule(made, wanted)


def test_rule_that_is_far_too_wide_is_refused() -> None:
    bucket = found("first").bucket
    for number in range(101):
        found(f"another {number}", calls=f"op{number}.function")
    with pytest.raises(GroupingRefusedError, match="from 101 buckets"):
        rules.plan_rule(bucket, {"kind": "values"})


def test_rules_leave_what_a_person_placed(ada: User) -> None:
    first, second = found("s"), found("s")
    _, made = grouping.split_bucket(
        first.bucket, members=FindingRecord.objects.filter(pk=second.pk), who=ada
    )
    rules.set_rule(first.bucket, parts=WIDE, who=ada)
    second.refresh_from_db()
    assert second.bucket == made


def test_rule_of_a_merged_bucket_goes_on_for_the_target(ada: User) -> None:
    source, target = found("source").bucket, found("target", calls="log.function").bucket
    rules.set_rule(source, parts=WIDE, who=ada)
    grouping.merge_buckets([source], into=target, who=ada)
    assert found("new", dtypes="bool").bucket == target


def test_merging_and_planning_take_the_same_number_of_queries_at_any_size(
    ada: User, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    target = found("target").bucket
    source = found("source").bucket
    for _ in range(12):
        factories.finding(bucket=source, parts=PARTS)
    with django_assert_max_num_queries(60):
        grouping.merge_buckets([source], into=target, who=ada)
