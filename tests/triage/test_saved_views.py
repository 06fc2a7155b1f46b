"""Saved views: own, shared, renamed, dropped, and the one that an inbox opens with."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests import factories
from triage import saved_views
from triage.models import DefaultView, SavedView

pytestmark = pytest.mark.django_db
INBOX, VIEWS = "/triage/", "/triage/views/"


def view(owner: User, name: str = "Crashes", **fields: Any) -> SavedView:
    return saved_views.save_view(
        owner=owner, name=name, **{"query": "symptom=crash", "shared": False, **fields}
    )


def test_view_is_saved_without_page_and_blanks_and_shown_with_its_count(
    client: Client, person: User
) -> None:
    factories.bucket(symptom="crash")
    factories.bucket(symptom="state")
    given = {"name": "Crashes", "query": "symptom=crash&page=4&q=&sort=title&zebra=1"}
    response = client.post("/triage/views/save/", given)
    assert response["Location"] == "/triage/?symptom=crash&sort=title"
    saved = [one for one in client.get(response["Location"]).context["views"] if one.saved]
    assert [(one.name, one.count, one.is_current) for one in saved] == [("Crashes", 1, True)]
    assert SavedView.objects.get().owner == person


def test_saving_a_view_again_replaces_it() -> None:
    ada = factories.user()
    view(ada, query="q=a")
    again = view(ada, query="q=b", shared=True)
    assert (ada.saved_views.count(), again.query, again.shared) == (1, "q=b", True)


@pytest.mark.usefixtures("person")
def test_nameless_view_is_not_saved(client: Client) -> None:
    page = client.post("/triage/views/save/", {"name": " "}, follow=True).content.decode()
    assert "A view needs a name" in page
    assert not SavedView.objects.exists()


def test_fixed_views_count_what_is_mine_unassigned_and_flagged(
    client: Client, person: User
) -> None:
    factories.bucket(assignee=person)
    factories.bucket()
    factories.bucket(status="fixed", flag="seen_again")
    factories.bucket(status="fixed")
    views = {one.name: one.count for one in client.get(INBOX).context["views"]}
    assert views == {"Needs a person": 3, "Mine": 1, "Unassigned": 2, "Flagged": 1, "All": 4}


def test_view_of_somebody_else_is_seen_when_it_is_shared_and_changed_by_nobody_else(
    client: Client, person: User
) -> None:
    other = view(factories.user("bob"), "Bob's")
    assert "Bob&#x27;s" not in client.get(INBOX).content.decode()
    saved_views.edit_view(other, name="Bob's", shared=True)
    assert "Bob&#x27;s" in client.get(INBOX).content.decode()
    assert "only its owner may" in client.get(VIEWS).content.decode()
    for name in ("edit-view", "delete-view"):
        path = reverse(f"triage:{name}", args=[other.pk])
        assert client.post(path, {"name": "Mine now"}).status_code == 404
    other.refresh_from_db()
    assert other.name == "Bob's"
    assert person.saved_views.count() == 0


def test_view_is_renamed_shared_and_deleted(client: Client, person: User) -> None:
    mine = view(person)
    path = reverse("triage:edit-view", args=[mine.pk])
    client.post(path, {"name": "Crashes of all", "shared": "on"})
    mine.refresh_from_db()
    assert (mine.name, mine.shared) == ("Crashes of all", True)
    client.post(reverse("triage:delete-view", args=[mine.pk]))
    assert not SavedView.objects.exists()


def test_name_of_another_view_of_ones_own_is_refused(client: Client, person: User) -> None:
    first, _ = view(person, "First"), view(person, "Second")
    path = reverse("triage:edit-view", args=[first.pk])
    page = client.post(path, {"name": "Second"}, follow=True).content.decode()
    assert "You have another view named “Second”." in page
    assert "A view needs a name" in client.post(path, {"name": ""}, follow=True).content.decode()
    first.refresh_from_db()
    assert first.name == "First"


def test_inbox_opens_with_the_chosen_view_and_every_other_address_is_obeyed(
    client: Client, person: User
) -> None:
    mine = view(person)
    client.post("/triage/views/default/", {"view": mine.pk})
    assert client.get(INBOX)["Location"] == "/triage/?symptom=crash"
    assert client.get(INBOX, {"status": "open"}).status_code == 200
    assert "(default)" in client.get(INBOX, {"status": "open"}).content.decode()
    client.post("/triage/views/default/")
    assert client.get(INBOX).status_code == 200


def test_default_view_goes_when_it_is_no_longer_shared(client: Client, person: User) -> None:
    bob = factories.user("bob")
    other = view(bob, shared=True)
    client.post("/triage/views/default/", {"view": other.pk})
    saved_views.choose_default(owner=bob, view=other)
    saved_views.edit_view(other, name="Crashes", shared=False)
    assert [one.owner for one in DefaultView.objects.all()] == [bob]
    assert client.get(INBOX).status_code == 200
    hidden = client.post("/triage/views/default/", {"view": other.pk})
    assert hidden.status_code == 404
    assert not DefaultView.objects.filter(owner=person).exists()


@pytest.mark.usefixtures("person")
def test_page_of_views_says_how_to_save_one(client: Client) -> None:
    assert "No view is saved" in client.get(VIEWS).content.decode()


def test_pages_of_views_make_the_same_number_of_queries_for_any_number(
    client: Client, person: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    factories.bucket()
    for size in (1, 12):
        for number in range(size):
            view(person, f"{size} {number}", query=f"op={number}&label=a&campaign={factories.SEED}")
        # Session, user, views 2, navigation 3.
        with django_assert_num_queries(7):
            assert client.get(VIEWS).status_code == 200
