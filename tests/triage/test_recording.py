import math

import pytest

from engine.finding import ModeAnswer, Reproduction, Symptom
from engine.mutators import MUTATORS
from tests import factories
from triage.counting import facets_of
from triage.impact import impact, impact_points
from triage.models import Bucket, BucketEvent, Facet, FindingRecord
from triage.recording import record_finding

pytestmark = pytest.mark.django_db


def test_first_finding_of_a_signature_opens_a_bucket() -> None:
    record = factories.finding()
    bucket = record.bucket
    assert (bucket.status, bucket.count, bucket.symptom) == ("new", 1, "numerical")
    assert bucket.title == record.title
    assert bucket.events.get().kind == BucketEvent.Kind.CREATED


def test_finding_that_is_delivered_twice_is_recorded_once() -> None:
    shard = factories.shard()
    given = factories.engine_finding()
    first, was_new = record_finding(given, shard=shard)
    again, is_new = record_finding(given, shard=shard)
    assert (first, was_new, is_new) == (again, True, False)
    assert Bucket.objects.get().count == 1


def test_mutant_of_several_mutations_is_recorded_with_all_and_found_by_each() -> None:
    """Three of the longest names together are longer than most columns."""
    longest = sorted(
        (f"{one.name}.{name}" for one in MUTATORS.values() for name in one.variants), key=len
    )
    names = longest[-3:]
    record = factories.finding(mutator=" + ".join(names))
    assert record.mutator == " + ".join(names)
    found = record.bucket.facets.filter(kind=Facet.Kind.MUTATOR).values_list("value", flat=True)
    assert set(found) == set(names)


def test_equal_signatures_share_a_bucket_and_others_do_not() -> None:
    one = factories.finding(signature="a")
    two = factories.finding(signature="a")
    other = factories.finding(signature="b")
    assert one.bucket == two.bucket != other.bucket
    assert Bucket.objects.get(signature="a").count == 2


def test_two_failures_of_one_round_are_two_findings() -> None:
    shard = factories.shard()
    factories.finding(shard=shard, round=1, key="a")
    factories.finding(shard=shard, round=1, key="b")
    assert FindingRecord.objects.count() == 2


def test_smallest_member_gives_the_bucket_its_title() -> None:
    factories.finding(title="Nine operators", minimised_nodes=9)
    factories.finding(title="Two operators", minimised_nodes=2)
    bucket = factories.finding(title="Five operators", minimised_nodes=5).bucket
    assert (bucket.title, bucket.minimised_nodes) == ("Two operators", 2)


@pytest.mark.parametrize("status", list(Bucket.Status))
def test_machine_never_changes_what_a_person_decided(status: Bucket.Status) -> None:
    bucket = factories.bucket(status=status)
    factories.finding(bucket=bucket)
    bucket.refresh_from_db()
    assert bucket.status == status
    assert bucket.count == 2
    settled = {Bucket.Status.FIXED, Bucket.Status.FALSE_ALARM, Bucket.Status.KNOWN_LIMIT}
    flagged = status in settled
    assert (bucket.flag == Bucket.Flag.SEEN_AGAIN) == flagged


def test_numbers_that_json_cannot_say_come_back() -> None:
    answers = (
        ModeAnswer("torch-eager", "ok", "nan", error=math.nan),
        ModeAnswer("torch-aot", "ok", "inf", error=-math.inf),
        ModeAnswer("torch-inductor", "ok", "1", error=0.25),
        ModeAnswer("numpy", "unsupported", ""),
    )
    record = factories.finding(answers=answers)
    record.refresh_from_db()
    back = [answer.error for answer in record.finding().answers]
    assert math.isnan(back[0] or 0)
    assert back[1:] == [-math.inf, 0.25, None]


def test_everything_else_of_a_finding_comes_back_equal() -> None:
    given = factories.engine_finding(round=1)
    record, _ = record_finding(given, shard=factories.shard())
    record.refresh_from_db()
    assert record.finding() == given


def test_facets_are_the_minimised_operators_forms_and_dtypes() -> None:
    given = factories.engine_finding(
        parts={"calls": "conv2d.module > relu", "dtypes": "float32, small float"}
    )
    facets = facets_of(given)
    assert {
        (Facet.Kind.OP, "conv2d"),
        (Facet.Kind.OP, "relu"),
        (Facet.Kind.FORM, "module"),
        (Facet.Kind.DTYPE, "small float"),
        (Facet.Kind.MODE, "torch-inductor"),
    } <= facets
    assert all(value for _, value in facets)


def test_native_crash_outranks_everything_and_reasons_add_up() -> None:
    died = factories.engine_finding(
        symptom=Symptom.CRASH, answers=(ModeAnswer("torch-eager", "died", "SIGSEGV"),)
    )
    slow = factories.engine_finding(symptom=Symptom.EFFICIENCY, minimised_nodes=40)
    flaky = factories.engine_finding(reproduction=Reproduction(1, 3))
    assert impact(died) > impact(factories.engine_finding()) > impact(flaky) > impact(slow)
    for one in (died, slow, flaky):
        assert impact(one) == sum(point.points for point in impact_points(one)) <= 100
