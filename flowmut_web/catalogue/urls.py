"""URLs of the catalogue."""

from django.urls import path
from django.views.generic import RedirectView

from flowmut_web.catalogue import mutators, operators, seed_imports, seeds

__all__ = ["app_name", "urlpatterns"]

app_name = "catalogue"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="catalogue:list-mutators"), name="show-catalogue"),
    path("mutations/", mutators.list_mutators, name="list-mutators"),
    path("mutations/<str:name>/", mutators.show_mutator, name="show-mutator"),
    path("operators/", operators.list_operators, name="list-operators"),
    path("operators/<str:name>/", operators.show_operator, name="show-operator"),
    path("seeds/", seeds.list_seeds, name="list-seeds"),
    path("seeds/upload/", seed_imports.upload, name="upload-seed"),
    path("seeds/<str:name>/", seeds.show_seed, name="show-seed"),
    path("seeds/<str:name>/remove/", seed_imports.remove, name="remove-seed"),
    path("seeds/<str:name>/graph/", seeds.show_graph, name="show-graph"),
    path("seeds/<str:name>/graph.svg", seeds.download_picture, name="download-picture"),
    path("seeds/<str:name>/graph.flow", seeds.download_graph, name="download-graph"),
]
