"""REST API of versions: the matrix, one bucket's standing, retests, bisection, follow-ups."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from campaigns.models import Environment
from triage import retesting
from triage.api.findings import RerunSerializer
from triage.api.given import ConflictError, as_uuid, checked
from triage.follow_up import follow_up
from triage.models import Bucket, Framework, Report
from triage.people import person
from triage.reruns import ATTEMPTS
from triage.retesting import NothingToRunError
from triage.routing import resolved
from triage.standing import Outcome
from triage.version_forms import MatrixForm
from triage.versions import bucket_row, matrix

__all__ = ["BisectionView", "FollowUpView", "MatrixView", "RetestView", "VersionsView"]

_MOST = 100


class CellSerializer(serializers.Serializer[Any]):
    """What a version says about a bucket; `outcome` is null where nothing ran."""

    version = serializers.CharField(source="column.version")
    environments = serializers.SerializerMethodField()
    outcome = serializers.ChoiceField(
        choices=[one.value for one in Outcome], source="said.outcome", default=None
    )
    words = serializers.CharField(source="said.words", default="")
    when = serializers.DateTimeField(source="said.when", default=None)
    waiting = serializers.SerializerMethodField()

    def get_environments(self, cell: Any) -> list[str]:
        return [one.name for one in cell.column.environments]

    def get_waiting(self, cell: Any) -> int:
        return len(cell.waiting)


class RowSerializer(serializers.Serializer[Any]):
    """A bucket over the versions of its framework. Versions are null where there is none."""

    bucket = serializers.UUIDField(source="bucket.uuid")
    title = serializers.CharField(source="bucket.title")
    framework = serializers.ChoiceField(choices=Framework.choices, source="bucket.framework")
    cells = CellSerializer(many=True)
    words = serializers.CharField(source="standing.words")
    first_bad = serializers.CharField(source="standing.first_bad", allow_null=True)
    first_good = serializers.CharField(source="standing.first_good", allow_null=True)
    is_monotone = serializers.BooleanField(source="standing.is_monotone")
    fix_verified_on = serializers.CharField(source="verified.said.version", default=None)
    regressed_on = serializers.CharField(source="regressed.failing.version", default=None)


class NewRetestSerializer(serializers.Serializer[Any]):
    """Names of environments; without any, all healthy ones of the bucket's framework."""

    environments = serializers.SlugRelatedField[Any](
        slug_field="name", queryset=Environment.objects.all(), many=True, required=False
    )
    attempts = serializers.ChoiceField(choices=ATTEMPTS, default=3)


class NewBisectionSerializer(serializers.Serializer[Any]):
    attempts = serializers.ChoiceField(choices=ATTEMPTS, default=3)


class QueuedSerializer(serializers.Serializer[Any]):
    """`waiting`: runs that were queued before."""

    reruns = RerunSerializer(many=True)
    waiting = serializers.IntegerField()


class SearchSerializer(serializers.Serializer[Any]):
    """A search over the installed versions; `versions/` of the bucket says what it finds."""

    id = serializers.UUIDField(source="uuid")
    state = serializers.CharField()
    attempts = serializers.IntegerField()


class MatrixView(APIView):
    """Buckets against versions."""

    @extend_schema(
        parameters=[
            OpenApiParameter("framework", str, enum=Framework.values),
            OpenApiParameter("status", str, enum=Bucket.Status.values),
            OpenApiParameter("runs", str, enum=["yes", "no"]),
            OpenApiParameter("q", str, description="Words of the title, or the operator."),
        ],
        responses=RowSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """At most a hundred buckets, those with the most impact."""
        form = MatrixForm(request.query_params)
        if not form.is_valid():
            raise serializers.ValidationError(dict(form.errors.get_json_data()))
        framework = form.framework_or(Framework.TORCH)
        buckets = form.narrowed(Bucket.objects.filter(framework=framework))[:_MOST]
        found = matrix(list(buckets), framework=framework)
        return Response(RowSerializer(found.rows, many=True).data)


class VersionsView(APIView):
    """What the versions say about one bucket."""

    @extend_schema(responses=RowSerializer)
    def get(self, request: Request, uuid: str) -> Response:
        """First bad, first good, whether the fix is verified, and every version."""
        return Response(RowSerializer(bucket_row(_bucket(uuid))).data)


class RetestView(APIView):
    """Runs of a bucket's script on other versions."""

    @extend_schema(request=NewRetestSerializer, responses={201: QueuedSerializer})
    def post(self, request: Request, uuid: str) -> Response:
        """Queue them; workers run them."""
        bucket, given = _bucket(uuid), checked(NewRetestSerializer(data=request.data))
        healthy = Environment.objects.filter(framework=bucket.framework, healthy=True)
        chosen = given.get("environments") or list(healthy)
        strangers = [one.name for one in chosen if one.framework != bucket.framework]
        if strangers:
            text = f"{', '.join(strangers)}: not of {bucket.framework}."
            raise serializers.ValidationError({"environments": text})
        try:
            asked = retesting.retest(
                [bucket], chosen, who=person(request), attempts=given["attempts"]
            )
        except NothingToRunError as error:
            raise ConflictError(str(error)) from error
        return Response(QueuedSerializer(asked).data, status=201)


class BisectionView(APIView):
    """The search for a bucket's first bad and first good version."""

    @extend_schema(request=NewBisectionSerializer, responses={201: SearchSerializer})
    def post(self, request: Request, uuid: str) -> Response:
        """Begin it; it goes on by itself, a version at a time."""
        given = checked(NewBisectionSerializer(data=request.data))
        try:
            made = retesting.ask_bisection(_bucket(uuid), who=person(request), **given)
        except NothingToRunError as error:
            raise ConflictError(str(error)) from error
        return Response(SearchSerializer(made).data, status=201)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uuid: str) -> Response:
        """Cancel it, and the run that it waits for."""
        running = retesting.running_bisection(_bucket(uuid))
        if running is None:
            raise ConflictError("No search runs.")
        retesting.cancel_bisection(running)
        return Response(status=204)


class FollowUpView(APIView):
    """The comment for the tracker, drafted."""

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT})
    def get(self, request: Request, uuid: str) -> Response:
        """`text` is Markdown; nothing is sent."""
        rows = Report.objects.select_related("bucket", "finding")
        report = rows.filter(uuid=as_uuid(uuid)).first()
        if report is None:
            raise NotFound
        return Response({"text": follow_up(report, bucket_row(report.bucket))})


def _bucket(uuid: str) -> Bucket:
    found = Bucket.with_merged.filter(uuid=as_uuid(uuid)).first()
    if found is None:
        raise NotFound
    return resolved(found)
