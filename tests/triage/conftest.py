from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests import factories


@pytest.fixture
def person(client: Client, db: None) -> User:
    """Somebody who is logged in with `client`."""
    user = factories.user("ada")
    client.force_login(user)
    return user
