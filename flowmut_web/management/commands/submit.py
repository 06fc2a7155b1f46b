"""A reproducer on the command line: run here at once, or left to the workers."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from campaigns.environments import ensure_environments, environment_named
from campaigns.identity import worker_name
from engine.errors import BadInput
from triage.models import Framework, Submission, Symptom
from triage.reruns import ATTEMPTS
from triage.submitting import run_submission, submit

__all__ = ["Command"]


class Command(BaseCommand):
    """`flowmut submit SCRIPT`. Exit codes: 0 a finding, or queued, 1 no finding, 2 bad input."""

    help = "make a finding of a reproducer: inputs and a function, or a script that asserts"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("script", type=Path)
        parser.add_argument("--framework", choices=Framework.values, default="")
        parser.add_argument(
            "--environment", help="where it is judged (default: the framework's own)"
        )
        parser.add_argument("--attempts", type=int, choices=ATTEMPTS, default=3)
        parser.add_argument("--symptom", choices=Symptom.values, default="")
        parser.add_argument(
            "--everywhere", action="store_true", help="then run it on all environments, by workers"
        )
        parser.add_argument("--queue", action="store_true", help="leave it to the workers")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_environments(settings.WORKER_INTERPRETERS)
        try:
            made = self._submit(options)
        except BadInput as error:
            raise CommandError(str(error), returncode=2) from error
        if not options["queue"]:
            say = (lambda text: None) if options["json"] else self.stdout.write
            run_submission(
                made.pk,
                owner=worker_name(),
                scratch=settings.SCRATCH_DIR,
                say=lambda text: say(f"  {text}"),
            )
            made.refresh_from_db()
        if options["json"]:
            self.stdout.write(json.dumps(_report(made)))
        else:
            self._show(made)
        if made.state == Submission.State.FAILED:
            raise CommandError(made.problem, returncode=2)
        if made.state == Submission.State.DONE and not hasattr(made, "finding"):
            raise CommandError("It is no finding.", returncode=1)

    def _submit(self, options: dict[str, Any]) -> Submission:
        path: Path = options["script"]
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"reproducer {path}", seen=error, expected="a text file") from error
        at = environment_named(options["environment"]) if options["environment"] else None
        return submit(
            text,
            name=path.name,
            who=None,
            framework=options["framework"],
            symptom=options["symptom"],
            environment=at,
            attempts=options["attempts"],
            everywhere=options["everywhere"],
        )

    def _show(self, made: Submission) -> None:
        for one in made.answers:
            self.stdout.write(f"{one['mode']}: {one['status']}, {one['summary']}")
        for text in (made.reason, made.isolation and f"isolation: {made.isolation}"):
            if text:
                self.stdout.write(text)
        if made.state == Submission.State.QUEUED:
            self.stdout.write(f"queued; {made.get_absolute_url()} says how it goes")
        if hasattr(made, "finding"):
            record = made.finding
            told = f"{record.title} ({record.reproduced} of {record.attempts})"
            self.stdout.write(f"finding: {told}\n{record.get_absolute_url()}")


def _report(made: Submission) -> dict[str, object]:
    finding = getattr(made, "finding", None)
    return {
        "id": str(made.uuid),
        "state": made.state,
        "reason": made.reason,
        "problem": made.problem,
        "isolation": made.isolation,
        "answers": made.answers,
        "finding": str(finding.uuid) if finding else None,
        "bucket": str(finding.bucket.uuid) if finding else None,
    }
