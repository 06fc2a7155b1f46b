import pytest

from tests import factories
from triage import services
from triage.models import Bucket, BucketEvent
from triage.services import MOVES, allowed_moves

pytestmark = pytest.mark.django_db
Status = Bucket.Status


def test_every_status_has_its_row_and_can_be_left() -> None:
    assert set(MOVES) == set(Status)
    assert all(MOVES.values())
    assert all(status not in targets for status, targets in MOVES.items())


@pytest.mark.parametrize("start", list(Status))
@pytest.mark.parametrize("to", list(Status))
def test_a_move_succeeds_exactly_where_the_table_says_so(start: Status, to: Status) -> None:
    bucket = factories.bucket(status=start)
    done = services.move_buckets([bucket], to=to, who=factories.user(), why="looked")
    bucket.refresh_from_db()
    if to in allowed_moves(start):
        assert (bucket.status, bucket.status_reason, done.changed) == (to, "looked", 1)
    else:
        assert (bucket.status, done.changed) == (start, 0)
        assert bool(done.refused) == (start != to)


def test_history_says_who_what_and_why() -> None:
    bucket, ada = factories.bucket(), factories.user("ada")
    services.move_buckets([bucket], to=Status.FALSE_ALARM, who=ada, why="documented")
    event = bucket.events.get(kind=BucketEvent.Kind.STATUS)
    assert (event.who, event.before, event.after, event.why) == (
        ada,
        "new",
        "false_alarm",
        "documented",
    )


def test_bulk_move_changes_what_may_move_and_names_the_rest() -> None:
    moving, staying = factories.bucket(), factories.bucket(status=Status.FIXED, title="Old one")
    done = services.move_buckets([moving, staying], to=Status.NEEDS_WORK, who=factories.user())
    assert done.changed == 1
    assert done.refused == ("Old one: fixed cannot become needs work",)


def test_duplicate_points_at_the_other_and_never_at_itself() -> None:
    one, two, ada = factories.bucket(), factories.bucket(), factories.user()
    refused = services.move_buckets([one], to=Status.DUPLICATE, who=ada, duplicate_of=one)
    assert refused.changed == 0
    services.move_buckets([one], to=Status.DUPLICATE, who=ada, duplicate_of=two)
    one.refresh_from_db()
    assert one.duplicate_of == two


def test_undo_takes_back_status_assignee_and_labels() -> None:
    buckets, ada = [factories.bucket(), factories.bucket()], factories.user("ada")
    actions = [
        services.move_buckets(buckets, to=Status.CONFIRMED, who=ada),
        services.assign_buckets(buckets, assignee=ada, who=ada),
        services.add_labels(buckets, names=["regression"], who=ada),
    ]
    for done in reversed(actions):
        assert services.undo_batch(done.batch, who=ada).changed == 2
    for bucket in Bucket.objects.all():
        assert (bucket.status, bucket.assignee, bucket.labels.count()) == ("new", None, 0)
    # Nothing is left to undo a second time.
    assert services.undo_batch(actions[0].batch, who=ada).changed == 0


def test_undo_leaves_what_somebody_changed_since() -> None:
    bucket, ada, bob = factories.bucket(), factories.user(), factories.user()
    done = services.move_buckets([bucket], to=Status.CONFIRMED, who=ada)
    services.move_buckets([bucket], to=Status.FALSE_ALARM, who=bob)
    undone = services.undo_batch(done.batch, who=ada)
    bucket.refresh_from_db()
    assert (undone.changed, len(undone.refused)) == (0, 1)
    assert bucket.status == Status.FALSE_ALARM


def test_labels_are_added_beside_the_others_whatever_their_case() -> None:
    bucket, ada = factories.bucket(), factories.user()
    services.add_labels([bucket], names=["NaN", " empty tensors "], who=ada)
    services.add_labels([bucket], names=["nan", "regression"], who=ada)
    assert sorted(label.name for label in bucket.labels.all()) == [
        "NaN",
        "empty tensors",
        "regression",
    ]
    services.remove_labels([bucket], names=["nan"], who=ada)
    assert bucket.labels.count() == 2


def test_flag_is_taken_down_by_a_person_and_remembered() -> None:
    bucket = factories.bucket(flag=Bucket.Flag.SEEN_AGAIN, flag_reason="round 7")
    services.clear_flag(bucket, who=factories.user())
    bucket.refresh_from_db()
    assert (bucket.flag, bucket.flag_reason) == ("", "")
    assert bucket.events.filter(kind=BucketEvent.Kind.FLAG_CLEARED).count() == 1
