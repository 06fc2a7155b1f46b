"""URLs of campaigns, their rounds, and environments."""

from django.urls import include, path

from campaigns import comparison_views, environment_views, new_views, round_views, views

__all__ = ["app_name", "urlpatterns"]

app_name = "campaigns"

campaign_urls = [
    path("", views.show_campaign, name="show-campaign"),
    path("progress/", views.show_progress, name="show-progress"),
    path("rounds/", round_views.list_rounds, name="list-rounds"),
    path("pause/", views.pause_campaign, name="pause-campaign"),
    path("resume/", views.resume_campaign, name="resume-campaign"),
    path("cancel/", views.cancel_campaign, name="cancel-campaign"),
    path("clone/", new_views.clone_campaign, name="clone-campaign"),
]

urlpatterns = [
    path("", views.list_campaigns, name="list-campaigns"),
    path("new/", new_views.add_campaign, name="add-campaign"),
    path("new/estimate/", new_views.show_estimate, name="show-estimate"),
    path("compare/", comparison_views.compare_campaigns, name="compare-campaigns"),
    path("environments/", environment_views.list_environments, name="list-environments"),
    path("environments/add/", environment_views.add, name="add-environment"),
    path("environments/probe/", environment_views.probe_environments, name="probe-environments"),
    path("environments/<uuid:uuid>/remove/", environment_views.remove, name="remove-environment"),
    path("shards/<uuid:uuid>/<int:number>/", round_views.show_round, name="show-round"),
    path("<uuid:uuid>/", include(campaign_urls)),
]
