"""Imports of seeds: asked for by a person, done by a worker, removed while nothing used them.

How a job is held is in `triage.leases`; what an import is, in `engine.importation`. A `.pt2`
file and a module run code of whoever made them, so these are for the command line alone.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from campaigns.models import ImportedSeed, Shard
from engine.errors import BadInput, EngineError
from engine.executors.outcome import Array, Status
from engine.executors.pool import Pool
from engine.importation import Difference, compared, imported, read
from engine.ir.case import Case
from engine.ir.codec import blob_path, load_case, save_case
from engine.ir.text import RESERVED, parse_case
from engine.ops.typing import check_types
from engine.seeds import SEEDS, parameter_count, seed_scale, trainable_count
from engine.seeds.counting import ops_in
from engine.seeds.importing import unmapped
from triage import leases
from triage.leases import Claim, Hint, LostJobError, StoppingError, Watch

if TYPE_CHECKING:
    from django.contrib.auth.models import User

__all__ = [
    "KINDS",
    "TASK",
    "add_case",
    "is_import_waiting",
    "remove_seed",
    "run_import",
    "sweep_imports",
    "upload_seed",
]

logger = logging.getLogger(__name__)
TASK = "flowmut.import_seed"  # the task's name in `flowmut_web.tasks`
KINDS = {".onnx": ImportedSeed.Kind.ONNX, ".flow": ImportedSeed.Kind.TEXT}
MODES = ("torch-eager", "mindspore-pynative")
_DEADLINE = 300.0  # seconds for the process that reads a model
_Kind = ImportedSeed.Kind


# -------------------------------------------------------------------------------------- by people
def upload_seed(name: str, *, file: str, content: bytes, who: User | None) -> ImportedSeed:
    """Queue the import of an uploaded file. `BadInput` where its name, kind or size is wrong."""
    kind = KINDS.get(Path(file).suffix.lower())
    if kind is None:
        expected = f"{' or '.join(KINDS)}; a .pt2 file or a module: `flowmut import`"
        raise BadInput("file", seen=file, expected=expected)
    most = settings.SEED_UPLOAD_MB
    if not 0 < len(content) <= most * 2**20:
        raise BadInput("file", seen=f"{len(content):,} bytes", expected=f"1 byte to {most} MB")
    made = _created(name, file=file[:120], kind=kind, source=content, asked_by=who)
    transaction.on_commit(partial(leases.send, TASK, made))
    return made


def add_case(name: str, path: Path, *, who: User | None = None) -> ImportedSeed:
    """Put a case of the command line into the product, at once."""
    case, blobs = load_case(path)
    result = _Result.of(_renamed(case, name), blobs, {})
    return _created(
        name,
        file=path.name,
        kind=_Kind.CASE,
        asked_by=who,
        state=ImportedSeed.State.DONE,
        ended_at=timezone.now(),
        **result.columns(),
    )


def _created(name: str, **columns: object) -> ImportedSeed:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,59}", name) or name in RESERVED:
        expected = "a lower-case letter, then letters, digits and underscores"
        raise BadInput("name", seen=repr(name), expected=expected)
    taken = BadInput("name", seen=repr(name), expected="one that no seed has")
    if name in SEEDS:
        raise taken
    try:
        with transaction.atomic():
            return ImportedSeed.objects.create(name=name, **columns)
    except IntegrityError:
        raise taken from None


def remove_seed(seed: ImportedSeed) -> None:
    """Forget it; `BadInput` where a campaign has used it, whose findings come from it."""
    used = Shard.objects.filter(seed=seed.name).values("campaign").distinct().count()
    if used:
        raise BadInput(seed.name, seen=f"{used} campaigns that used it", expected="none")
    seed.delete()


# ------------------------------------------------------------------------------------ by a worker
def _claimable() -> QuerySet[ImportedSeed]:
    return ImportedSeed.objects.filter(state=ImportedSeed.State.QUEUED)


def is_import_waiting() -> bool:
    """Whether a person waits for an import. One query."""
    return _claimable().exists()


def sweep_imports(*, is_gone: Callable[[str], bool] = lambda owner: False) -> list[Hint]:
    """Hints for those that wait, and for those whose worker died."""
    return leases.sweep(_claimable(), is_gone=is_gone)


def run_import(
    seed: int,
    *,
    owner: str,
    pool: Pool,
    epoch: int | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
) -> bool:
    """Claim an upload, import it and record what comes of it; whether it was to be had."""
    claim = leases.claim(_claimable(), seed, owner=owner, epoch=epoch)
    if claim is None:
        return False
    watch = Watch(claim, is_stopping)
    try:
        _import(claim, pool, watch)
    except LostJobError:
        logger.info("the import %s is no longer ours", claim.job)
    except BaseException as error:
        claim.release()
        if not isinstance(error, StoppingError):
            raise
    return True


def _import(claim: Claim[ImportedSeed], pool: Pool, watch: Watch) -> None:
    job = claim.job
    now = timezone.now
    try:
        with tempfile.TemporaryDirectory(dir=settings.SCRATCH_DIR) as folder:
            path = Path(folder) / "model.onnx"
            if job.kind == _Kind.ONNX:
                result = _of_onnx(job, path, pool, watch)
            else:
                result = _of_text(job, pool, watch)
    except (EngineError, zipfile.BadZipFile) as error:
        claim.end(ImportedSeed.State.FAILED, problem=str(error), now=now(), source=b"")
        return
    claim.end(ImportedSeed.State.DONE, problem="", now=now(), source=b"", **result.columns())


@dataclass(frozen=True)
class _Result:
    """What an import comes to."""

    case: Case
    text: str
    blobs: bytes
    scale: str
    report: Mapping[str, object]

    @classmethod
    def of(cls, case: Case, blobs: Mapping[str, Array], report: Mapping[str, object]) -> _Result:
        with tempfile.TemporaryDirectory(dir=settings.SCRATCH_DIR) as scratch:
            path = Path(scratch) / f"{case.graph.name}.flow"
            save_case(path, case, blobs)
            packed = blob_path(path)
            return cls(
                case,
                path.read_text(encoding="utf-8"),
                packed.read_bytes() if packed.exists() else b"",
                seed_scale(str(path)),
                report,
            )

    def columns(self) -> dict[str, object]:
        return {
            "text": self.text,
            "blobs": self.blobs,
            "scale": self.scale,
            "ops": dict(ops_in(self.text)),
            "parameters": parameter_count(self.case.graph),
            "trainable": trainable_count(self.case.graph),
            "report": dict(self.report),
        }


def _of_onnx(job: ImportedSeed, path: Path, pool: Pool, watch: Watch) -> _Result:
    """Read by a process of its own, mapped, and compared with the reference evaluator."""
    path.write_bytes(bytes(job.source))
    source = read(str(path), interpreter=Path(sys.executable), deadline=_DEADLINE)
    watch()
    missing = unmapped(source.exported)
    if missing:
        listed = ", ".join(f"{target} ({count})" for target, count in missing.most_common())
        raise BadInput(
            job.file,
            seen=f"{len(missing)} operators that have no counterpart: {listed}",
            expected="operators of the vocabulary",
        )
    found = imported(source, name=job.name)
    watch()
    checks = compared(source, found, pool)
    watch()
    if not checks[0].agrees:
        raise BadInput(job.file, seen=checks[0].text, expected="what the original computes")
    report = found.report() | {"checks": [one.report() for one in checks]}
    return _Result.of(found.case, found.blobs, report)


def _of_text(job: ImportedSeed, pool: Pool, watch: Watch) -> _Result:
    """Parsed, checked, and run in both frameworks."""
    try:
        case = parse_case(bytes(job.source).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadInput(job.file, seen=error, expected="text in UTF-8") from error
    check_types(case.graph)
    watch()
    case = _renamed(case, job.name)
    outcomes = pool.run_modes(case, MODES)
    watch()
    checks = []
    for mode in MODES:
        failure = outcomes[mode].failure
        said = f"{failure.type}: {failure.message}" if failure else outcomes[mode].reason
        agrees = outcomes[mode].status is Status.OK
        reason = "ran" if agrees else f"{outcomes[mode].status.value}: {said}"
        checks.append(Difference(mode, agrees=agrees, reason=reason[:500]))
    if not any(one.agrees for one in checks):
        seen = "; ".join(one.text for one in checks)
        raise BadInput(job.file, seen=seen, expected="a graph that runs in one of the frameworks")
    return _Result.of(case, {}, {"checks": [one.report() for one in checks]})


def _renamed(case: Case, name: str) -> Case:
    return replace(case, graph=replace(case.graph, name=name))
