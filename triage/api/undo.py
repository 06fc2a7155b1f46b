"""REST API: taking an action back."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from triage import services
from triage.api.given import DoneSerializer
from triage.people import person

__all__ = ["UndoView"]


class UndoView(APIView):
    """Takes back what one action did, where everything is still as that action left it."""

    @extend_schema(request=None, responses=DoneSerializer)
    def post(self, request: Request, batch: UUID) -> Response:
        """Undo by the batch that the action's answer and the history name."""
        done = services.undo_batch(batch, who=person(request))
        return Response(DoneSerializer(done).data)
