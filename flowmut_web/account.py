"""A person's own page: how pages look and behave, and the token for the API."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse_lazy
from django.views.decorators.http import require_POST, require_safe
from rest_framework.authtoken.models import Token

from campaigns.people import person

__all__ = ["account_urls", "make_token", "revoke_token", "set_preferences", "show_account"]

_YEAR = 365 * 24 * 3600
_PREFERENCES = {"theme": ("system", "light", "dark"), "keys": ("on", "off")}


@require_safe
def show_account(request: HttpRequest) -> HttpResponse:
    context = {
        "token": Token.objects.filter(user=person(request)).first(),
        "theme": request.COOKIES.get("theme", "system"),
        "keys": request.COOKIES.get("keys", "on"),
        "themes": _PREFERENCES["theme"],
        "switches": _PREFERENCES["keys"],
    }
    return render(request, "account/show.html", context)


@require_POST
def set_preferences(request: HttpRequest) -> HttpResponse:
    """Kept in cookies of this browser: they are about a screen and a keyboard."""
    response = redirect("show-account")
    for name, values in _PREFERENCES.items():
        value = request.POST.get(name, "")
        if value in values:
            response.set_cookie(
                name, value, max_age=_YEAR, samesite="Lax", secure=request.is_secure()
            )
    return response


@require_POST
def make_token(request: HttpRequest) -> HttpResponse:
    """A new token; the old one stops to work."""
    Token.objects.filter(user=person(request)).delete()
    Token.objects.create(user=person(request))
    messages.success(request, "The token is new; one that was there before no longer works.")
    return redirect("show-account")


@require_POST
def revoke_token(request: HttpRequest) -> HttpResponse:
    Token.objects.filter(user=person(request)).delete()
    messages.success(request, "The token no longer works.")
    return redirect("show-account")


account_urls = [
    path("", show_account, name="show-account"),
    path("preferences/", set_preferences, name="set-preferences"),
    path("token/", make_token, name="make-token"),
    path("token/revoke/", revoke_token, name="revoke-token"),
    path(
        "password/",
        PasswordChangeView.as_view(
            template_name="account/password.html", success_url=reverse_lazy("show-account")
        ),
        name="change-password",
    ),
]
