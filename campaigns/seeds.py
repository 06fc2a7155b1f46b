"""Seeds that a campaign can start from here: those that the engine ships, and imported ones."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from campaigns.models import ImportedSeed, Job
from engine.errors import BadInput
from engine.seeds import SEEDS, Seed

__all__ = ["all_seeds", "imported_seeds", "ready_seeds", "seed_file", "seed_scales", "seed_text"]


def imported_seeds() -> QuerySet[ImportedSeed]:
    """Without what makes a row heavy."""
    return ImportedSeed.objects.select_related("asked_by").defer("source", "text", "blobs")


def ready_seeds() -> QuerySet[ImportedSeed]:
    """Those that a campaign can start from."""
    return imported_seeds().filter(state=Job.State.DONE)


def all_seeds() -> Mapping[str, Seed]:
    """Every seed by name, shipped ones first. One query."""
    return {**SEEDS, **{one.name: _as_seed(one) for one in ready_seeds()}}


def _as_seed(row: ImportedSeed) -> Seed:
    return Seed(
        name=row.name,
        title=row.name,
        paper=f"Imported from {row.file}" if row.file else "Imported on the command line",
        scale=row.scale,
        task="imported model",
        parameters=row.parameters,
        trainable=row.trainable,
        licence="that of its maker",
    )


def seed_scales() -> Mapping[str, str]:
    """ "full" or "compact", by name. One query."""
    return {name: seed.scale for name, seed in all_seeds().items()}


def seed_text(name: str) -> str:
    """The case as text; `BadInput` where there is no such seed."""
    if name in SEEDS:
        return SEEDS[name].file.read_text(encoding="utf-8")
    return _row(name).text


def seed_file(name: str) -> str:
    """What the engine calls a seed: the name of a shipped one, the path of an imported one.

    Its files are written to this machine's storage where they are not there yet. The folder is
    named by the row, so that a seed of the same name that came later has files of its own.
    """
    if name in SEEDS:
        return name
    row = _row(name)
    path = Path(settings.SEED_DIR) / str(row.uuid) / f"{name}.flow"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if row.blobs:
            _write(path.with_suffix(".npz"), bytes(row.blobs))
        _write(path, row.text.encode())
    return str(path)


def _row(name: str) -> ImportedSeed:
    found = ImportedSeed.objects.filter(name=name, state=Job.State.DONE).first()
    if found is None:
        raise BadInput("seed", seen=name, expected="a shipped seed, or one that is imported here")
    return found


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing, whoever else writes it."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(path)
