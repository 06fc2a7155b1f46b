"""Folders and files that the installation keeps outside the database."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

__all__ = ["kept_secret", "make_folder"]


def make_folder(path: Path) -> Path:
    """Make a folder that only the owner may read, and its parents."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"{path}: cannot be made ({error.strerror})") from error
    return path


def kept_secret(path: Path) -> str:
    """The secret in `path`, made there (mode 600) by whoever asks first.

    The file is linked into place complete, so that two processes that start together agree.
    """
    if not path.exists():
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(50))
            try:
                os.link(fresh, path)
            except FileExistsError:
                pass  # another process was first; its secret is the one
            finally:
                fresh.unlink()
        except OSError as error:
            raise ImproperlyConfigured(f"{path}: cannot be written ({error.strerror})") from error
    secret = path.read_text(encoding="ascii").strip()
    if not secret:
        raise ImproperlyConfigured(f"{path}: saw an empty file, expected the secret key")
    return secret
