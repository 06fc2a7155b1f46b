"""Root URLs. Pages of campaigns and of triage are in their own `urls` modules."""

from importlib.util import find_spec

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.authtoken.views import obtain_auth_token

from flowmut_web.views import health

__all__ = ["urlpatterns"]

account_urls = [
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]

api_urls = [
    path("token/", obtain_auth_token, name="api-token"),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api-docs"),
]

part_urls = [
    path(f"{part}/", include(f"{part}.urls"))
    for part in ("campaigns", "triage")
    if find_spec(f"{part}.urls")
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(url="/campaigns/"), name="home"),
    path("health/", health, name="health"),
    path("account/", include(account_urls)),
    path("api/", include(api_urls)),
    path("admin/", admin.site.urls),
    *part_urls,
]
