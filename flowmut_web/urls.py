"""Root URLs. Pages of campaigns and of triage are in their own `urls` modules."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.authtoken.views import obtain_auth_token
from rest_framework.routers import DefaultRouter

from campaigns.api import CampaignViewSet, ShardViewSet
from campaigns.environment_api import EnvironmentViewSet
from flowmut_web.account import account_urls
from flowmut_web.api_page import show_api
from flowmut_web.catalogue.api import (
    MutationViewSet,
    OperatorViewSet,
    SeedViewSet,
)
from flowmut_web.overview import show_live, show_overview
from flowmut_web.views import health
from triage.api import (
    BisectionView,
    BucketViewSet,
    DraftTemplateViewSet,
    FindingViewSet,
    FollowUpView,
    MatrixView,
    ReportViewSet,
    RerunViewSet,
    RetestView,
    SavedViewViewSet,
    ScoreboardView,
    SubmissionViewSet,
    SuppressionViewSet,
    UndoView,
    VersionsView,
)
from triage.hook_views import receive_github

__all__ = ["urlpatterns"]

log_in_urls = [
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]

api_urls = [
    path("token/", obtain_auth_token, name="api-token"),
    path("scoreboard/", ScoreboardView.as_view(), name="api-scoreboard"),
    path("undo/<uuid:batch>/", UndoView.as_view(), name="api-undo"),
    path("versions/", MatrixView.as_view(), name="api-versions"),
    path("buckets/<str:uuid>/versions/", VersionsView.as_view(), name="api-bucket-versions"),
    path("buckets/<str:uuid>/retest/", RetestView.as_view(), name="api-bucket-retest"),
    path("buckets/<str:uuid>/bisection/", BisectionView.as_view(), name="api-bucket-bisection"),
    path("reports/<str:uuid>/follow-up/", FollowUpView.as_view(), name="api-follow-up"),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", show_api, name="api-docs"),
]

router = DefaultRouter()
router.register("campaigns", CampaignViewSet, "campaign")
router.register("shards", ShardViewSet, "shard")
router.register("environments", EnvironmentViewSet, "environment")
router.register("buckets", BucketViewSet, "bucket")
router.register("findings", FindingViewSet, "finding")
router.register("reports", ReportViewSet, "report")
router.register("templates", DraftTemplateViewSet, "template")
router.register("reruns", RerunViewSet, "rerun")
router.register("submissions", SubmissionViewSet, "submission")
router.register("suppressions", SuppressionViewSet, "suppression")
router.register("mutations", MutationViewSet, "mutation")
router.register("operators", OperatorViewSet, "operator")
router.register("seeds", SeedViewSet, "seed")
router.register("views", SavedViewViewSet, "view")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", show_overview, name="home"),
    path("overview/live/", show_live, name="show-live-overview"),
    path("health/", health, name="health"),
    path("account/", include([*log_in_urls, *account_urls])),
    path("api/", include(api_urls)),
    path("api/", include((router.urls, "api"))),
    path("admin/", admin.site.urls),
    path("campaigns/", include("campaigns.urls")),
    path("catalogue/", include("flowmut_web.catalogue.urls")),
    path("hooks/github/", receive_github, name="receive-github"),
    path("triage/", include("triage.urls")),
]
