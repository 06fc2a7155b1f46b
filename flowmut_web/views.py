"""Views of the project itself."""

from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

__all__ = ["health"]


@require_safe
@login_not_required
def health(request: HttpRequest) -> HttpResponse:
    """Say that the web process answers and reaches its database; for load balancers and `up`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok\n", content_type="text/plain")
