"""Similar buckets with their reasons, families, members with why they are here, and history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests import factories
from triage import grouping, rules, services
from triage.alike import family_buckets, similar_buckets
from triage.bucket_selectors import HISTORY_SHOWN
from triage.counting import family_of
from triage.history import bucket_history, sentence
from triage.members import differing_parts, members_page
from triage.models import Bucket, BucketEvent, FindingRecord

pytestmark = pytest.mark.django_db
STATE = {
    "symptom": "state",
    "framework": "mindspore",
    "modes": "mindspore-graph",
    "kind": "in-place result lost",
    "message": "",
    "dtypes": "float32",
}


@pytest.fixture
def ada() -> User:
    return factories.user("ada")


def lost(op: str, **parts: str) -> Bucket:
    return factories.bucket(
        symptom="state",
        accused_framework="mindspore",
        accused_op=op,
        title=f"Tensor.{op} has no effect",
        parts={**STATE, "calls": f"{op}.method", **parts},
    )


# -------------------------------------------------------------------------------------- likeness
def test_family_fails_alike_but_for_the_operator() -> None:
    add, sub, mul = (lost(op) for op in ("add_", "sub_", "mul_"))
    lost("sub_", calls="sub_.function")
    lost("sub_", modes="mindspore-pynative")
    lost("add_", dtypes="integer")
    assert set(family_buckets(add)) == {sub, mul}


def test_names_of_operators_in_a_message_do_not_part_a_family() -> None:
    parts = {**STATE, "kind": "raises in one mode"}
    one = {**parts, "calls": "relu.function", "message": "RuntimeError: no kernel for aten::relu_"}
    two = {**parts, "calls": "selu.function", "message": "RuntimeError: no kernel for aten::selu_"}
    other = {**two, "message": "RuntimeError: something else in selu"}
    assert family_of(one, "relu") == family_of(two, "selu") != family_of(other, "selu")
    assert family_of({}, "relu") == family_of(one, "") == ""


def test_similar_buckets_are_ranked_and_say_why() -> None:
    bucket = lost("add_")
    near = lost("add_", dtypes="integer")
    far = lost("add_", modes="mindspore-pynative", kind="values", calls="relu.method > add_.out")
    lost("relu")
    merged = lost("add_", dtypes="bool")
    grouping.merge_buckets([merged], into=near, who=factories.user())
    found = similar_buckets(bucket)
    assert [one.bucket for one in found] == [near, far]
    assert found[0].points > found[1].points
    assert "same accused operator add_" in found[0].reasons
    assert any(reason.startswith("title") for reason in found[0].reasons)


def test_similar_buckets_take_the_same_number_of_queries_at_any_size(
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    bucket = lost("add_")
    for size in (2, 12):
        for number in range(size):
            lost("add_", dtypes=f"{size} {number}")
        with django_assert_num_queries(3):
            assert similar_buckets(bucket)


# --------------------------------------------------------------------------------------- members
def test_every_member_says_why_it_is_here(ada: User) -> None:
    bucket, other, third = lost("add_"), lost("sub_"), lost("mul_")
    by_rule = {name: STATE[name] for name in ("symptom", "kind")} | {"calls": "div_.method"}
    grouping.merge_buckets([other], into=bucket, who=ada, why="one kernel")
    late = factories.finding(bucket=other, parts={**STATE, "calls": "sub_.method"})
    factories.finding(bucket=bucket, parts={**STATE, "calls": "div_.method"})
    rules.set_rule(bucket, parts=by_rule, who=ada)
    ruled = factories.finding(signature="new", parts={**STATE, "calls": "div_.method"})
    members = {member.record.pk: member for member in members_page(bucket).members}
    assert late.bucket == ruled.bucket == bucket
    assert members[late.pk].reason.startswith("by the signature of")
    assert members[late.pk].event == other.events.get(kind=BucketEvent.Kind.MERGED)
    assert members[ruled.pk].reason.startswith("by the rule: ")
    moved = next(one for one in members.values() if one.reason.startswith("merged from"))
    assert moved.event is not None
    assert (moved.event.who, moved.event.why) == (ada, "one kernel")
    assert sum(one.reason == "by its signature" for one in members.values()) == 2
    assert moved.differs == {"calls": "sub_.method"}
    (calls,) = differing_parts(Bucket.objects.get(pk=bucket.pk))
    assert calls.name == "calls"
    assert dict(calls.values) == {"add_.method": 1, "sub_.method": 2, "div_.method": 2}
    assert third.pk != bucket.pk


def test_members_come_in_pages(django_assert_num_queries: Callable[[int], Any]) -> None:
    bucket = lost("add_")
    for _ in range(24):
        factories.finding(bucket=bucket, parts=STATE)
    with django_assert_num_queries(2):
        first = members_page(bucket)
    second = members_page(bucket, "2")
    assert (len(first.members), len(second.members)) == (20, 5)


# --------------------------------------------------------------------------------------- history
def told(bucket: Bucket) -> list[str]:
    return [
        " ".join(
            filter(None, [line.who, line.text, line.other.title if line.other else "", line.tail])
        )
        for line in bucket_history(Bucket.objects.get(pk=bucket.pk))
    ]


def undoable(bucket: Bucket) -> list[str]:
    lines = bucket_history(Bucket.objects.get(pk=bucket.pk))
    return [line.text for line in lines if line.undo is not None]


def test_every_kind_of_line_is_a_sentence() -> None:
    details = {"entered": 1, "left": 0, "after": {"kind": "values"}, "findings": 2}
    for kind in BucketEvent.Kind:
        event = BucketEvent(kind=kind, before="new", after="confirmed", details=details)
        text, _ = sentence(event)
        assert text
        assert kind.value not in text or "_" not in kind.value


def test_history_reads_as_sentences_and_includes_what_was_merged(ada: User) -> None:
    bucket, other = lost("add_"), lost("sub_")
    services.move_buckets([other], to="confirmed", who=ada, why="by hand")
    services.assign_buckets([other], assignee=ada, who=ada)
    services.move_buckets([bucket], to="false_alarm", false_alarm="tie", who=ada)
    grouping.merge_buckets([other], into=bucket, who=ada, why="one kernel")
    lines = told(bucket)
    assert "ada judged it a false alarm: tie or order of equals" in lines
    assert "ada confirmed the bug" in lines
    assert (
        "ada brought 1 finding here from Tensor.sub_ has no effect "
        "(confirmed bug, assigned to ada, reason: by hand)"
    ) in lines
    assert "ada merged it, with 1 finding, into Tensor.add_ has no effect" in lines
    assert "the engine opened the bucket" in lines


def test_undo_is_offered_only_while_it_would_work(ada: User) -> None:
    bucket = lost("add_")
    services.move_buckets([bucket], to="needs_work", who=ada)
    last = services.move_buckets([bucket], to="confirmed", who=ada)
    services.add_labels([bucket], names=["nan"], who=ada)
    assert undoable(bucket) == ["added the label nan", "confirmed the bug"]
    services.undo_batch(last.batch, who=ada)
    assert undoable(bucket) == ["added the label nan", "said that it needs work"]
    assert "ada took back: confirmed the bug (it was needs work)" in told(bucket)


def test_long_history_is_shown_in_part_with_a_way_to_all_of_it(client: Client, ada: User) -> None:
    client.force_login(ada)
    bucket = lost("add_")
    for number in range(HISTORY_SHOWN + 3):
        services.add_note(bucket, text=f"note {number}", who=ada)
    path = bucket.get_absolute_url()
    page = client.get(path)
    assert len(page.context["page"].history) == HISTORY_SHOWN
    assert "?history=all#history" in page.content.decode()
    whole = client.get(path, {"history": "all"})
    assert len(whole.context["page"].history) == HISTORY_SHOWN + 4
    assert "?history=all#history" not in whole.content.decode()


def test_merge_split_and_rule_can_be_undone_from_the_history(ada: User) -> None:
    bucket, other = lost("add_"), lost("sub_")
    member = factories.finding(bucket=bucket, parts=STATE)
    grouping.merge_buckets([other], into=bucket, who=ada)
    _, made = grouping.split_bucket(
        bucket, members=FindingRecord.objects.filter(pk=member.pk), who=ada
    )
    rules.set_rule(bucket, parts={"calls": "add_.method"}, who=ada)
    for line in bucket_history(bucket):
        if line.undo is not None:
            assert services.undo_batch(line.undo, who=ada).changed == 1
    assert undoable(bucket) == []
    assert set(Bucket.objects.all()) == {bucket, other}
    assert Bucket.with_merged.get(pk=made.pk).merged_into == bucket
