"""A person's own page."""

import pytest
from django.test import Client
from rest_framework.authtoken.models import Token

from tests import factories

pytestmark = pytest.mark.django_db


def test_stranger_is_sent_to_the_log_in_page(client: Client) -> None:
    for path in ("/account/", "/account/token/", "/account/preferences/", "/account/password/"):
        assert client.post(path)["Location"].startswith("/account/login/")


def test_token_is_made_replaced_and_revoked(client: Client) -> None:
    user = factories.user()
    client.force_login(user)
    assert "Make a token" in client.get("/account/").content.decode()
    client.post("/account/token/")
    first = Token.objects.get(user=user).key
    assert first in client.get("/account/").content.decode()
    client.post("/account/token/")
    assert Token.objects.get(user=user).key != first
    client.post("/account/token/revoke/")
    assert not Token.objects.exists()


def test_token_of_another_is_not_shown(client: Client) -> None:
    other = Token.objects.create(user=factories.user())
    client.force_login(factories.user())
    assert other.key not in client.get("/account/").content.decode()


def test_theme_and_keys_are_kept_in_this_browser(client: Client) -> None:
    client.force_login(factories.user())
    client.post("/account/preferences/", {"theme": "dark", "keys": "off"})
    page = client.get("/account/").content.decode()
    assert 'data-theme="dark"' in page
    assert 'data-keys="off"' in page
    client.post("/account/preferences/", {"theme": '"><script>', "keys": "maybe"})
    assert 'data-theme="dark"' in client.get("/account/").content.decode()
    client.post("/account/preferences/", {"theme": "system", "keys": "on"})
    assert "data-theme" not in client.get("/account/").content.decode()


def test_login_page_leads_to_where_one_wanted_to_go(client: Client) -> None:
    factories.user("ada", password="correct horse")
    form = {"username": "ada", "password": "correct horse", "next": "/triage/"}
    assert client.post("/account/login/", form)["Location"] == "/triage/"
    client.logout()
    wrong = client.post("/account/login/", {**form, "password": "battery staple"})
    assert "correct username and password" in wrong.content.decode()
