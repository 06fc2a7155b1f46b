"""The page of two campaigns side by side."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from campaigns.comparison import compare
from campaigns.forms import CompareForm
from campaigns.models import Campaign

__all__ = ["compare_campaigns"]


@require_safe
def compare_campaigns(request: HttpRequest) -> HttpResponse:
    """`?first=` and `?second=`; without them the page asks which."""
    both = "first" in request.GET and "second" in request.GET
    form = CompareForm(request.GET if both else None, initial=request.GET.dict())
    found = None
    if form.is_valid():
        found = compare(form.cleaned_data["first"], form.cleaned_data["second"])
    context = {"form": form, "comparison": found, "many": Campaign.objects.count() > 1}
    return render(request, "campaigns/compare.html", context)
