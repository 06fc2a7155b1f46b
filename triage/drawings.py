"""Drawings kept in the storage folder, so that a large graph is laid out once.

A drawing is found by the digest of everything it depends on. Each of 256 folders keeps its newest.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

__all__ = ["VERSION", "drawing", "drawing_key"]

# To be raised whenever the layout or the drawing changes.
VERSION = 3
_KEPT = 16


def drawing_key(*parts: object) -> str:
    """Digest of plain values (text, numbers, lists, mappings), the same in every process."""
    text = json.dumps([VERSION, *parts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def drawing(key: str, draw: Callable[[], SafeString]) -> SafeString:
    """What `draw` gives, kept under `key`; a file that cannot be read or written costs time."""
    file = Path(settings.PICTURE_DIR) / key[:2] / f"{key}.svg.gz"
    kept = _kept(file)
    if kept:
        # Only `draw` wrote there, which escapes what it is given.
        return mark_safe(kept)
    drawn = draw()
    with suppress(OSError):
        _keep(file, drawn)
    return drawn


def _kept(file: Path) -> str:
    """What the file holds, "" where there is none or it is spoilt."""
    try:
        return gzip.decompress(file.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return ""


def _keep(file: Path, drawn: str) -> None:
    """Write completely or not at all, then remove the oldest beyond those kept."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.write_bytes(gzip.compress(drawn.encode(), compresslevel=3, mtime=0))
    fresh.replace(file)
    for old in sorted(_aged(file.parent), reverse=True)[_KEPT:]:
        old[1].unlink(missing_ok=True)


def _aged(folder: Path) -> Iterator[tuple[float, Path]]:
    for one in folder.glob("*.svg.gz"):
        try:
            yield one.stat().st_mtime, one
        except FileNotFoundError:
            continue  # another process removed it
