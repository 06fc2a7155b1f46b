"""URLs of campaigns and environments."""

from django.urls import include, path

from campaigns import views

__all__ = ["app_name", "urlpatterns"]

app_name = "campaigns"

campaign_urls = [
    path("", views.show_campaign, name="show-campaign"),
    path("progress/", views.show_progress, name="show-progress"),
    path("pause/", views.pause_campaign, name="pause-campaign"),
    path("resume/", views.resume_campaign, name="resume-campaign"),
    path("cancel/", views.cancel_campaign, name="cancel-campaign"),
]

urlpatterns = [
    path("", views.list_campaigns, name="list-campaigns"),
    path("new/", views.add_campaign, name="add-campaign"),
    path("environments/", views.list_environments, name="list-environments"),
    path("<uuid:uuid>/", include(campaign_urls)),
]
