"""Where trackers send their messages. Nobody is logged in there: a signature lets a message in."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from triage.hooks import BadMessageError, is_signed, take_message

__all__ = ["MOST_BYTES", "receive_github"]

MOST_BYTES = 2**20


@csrf_exempt
@login_not_required
@require_POST
def receive_github(request: HttpRequest) -> JsonResponse:
    """202 and how many reports are asked after; 200 for a ping and for a message that came before.

    404 where no secret is set, 413 above 1 MiB, 403 for a wrong signature, 400 for what is no JSON.
    """
    secret: str = settings.GITHUB_WEBHOOK_SECRET
    if not secret:
        return _refused("The webhook is closed: FLOWMUT_GITHUB_WEBHOOK_SECRET is not set.", 404)
    if int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES:
        return _refused(f"At most {MOST_BYTES} bytes.", 413)
    body = request.body
    if not is_signed(body, request.headers.get("X-Hub-Signature-256", ""), secret=secret):
        return _refused("The signature does not fit.", 403)
    event = request.headers.get("X-GitHub-Event", "")
    if event == "ping":
        return JsonResponse({"pong": True})
    try:
        taken = take_message(
            body, event=event, delivery=request.headers.get("X-GitHub-Delivery", "")
        )
    except BadMessageError as error:
        return _refused(str(error), 400)
    answer = {"asked": taken.asked, "repeated": taken.is_repeated}
    return JsonResponse(answer, status=200 if taken.is_repeated else 202)


def _refused(why: str, status: int) -> JsonResponse:
    return JsonResponse({"error": why}, status=status)
