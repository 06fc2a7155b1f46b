"""Drawings are kept, found again by all they depend on, and never in the way."""

from pathlib import Path
from typing import Any

import pytest
from django.utils.safestring import SafeString, mark_safe

from triage import drawings
from triage.drawings import drawing, drawing_key


class Pen:
    """Counts how often it draws."""

    def __init__(self) -> None:
        self.drawn = 0

    def __call__(self) -> SafeString:
        self.drawn += 1
        return mark_safe(f"<svg>é {self.drawn}</svg>")


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.PICTURE_DIR = tmp_path
    return tmp_path


def test_drawing_is_made_once() -> None:
    pen = Pen()
    assert [drawing("a" * 64, pen) for _ in range(3)] == ["<svg>é 1</svg>"] * 3
    assert pen.drawn == 1


def test_key_depends_on_everything_and_not_on_the_order_of_names() -> None:
    assert drawing_key("a", {"x": 1, "y": 2}) == drawing_key("a", {"y": 2, "x": 1})
    keys = {drawing_key(*parts) for parts in (("a", "b"), ("ab",), ("a", ["b"]), ("a", None))}
    assert len(keys) == 4


def test_new_version_of_the_drawing_finds_no_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawing_key("a")
    monkeypatch.setattr(drawings, "VERSION", drawings.VERSION + 1)
    assert drawing_key("a") != before


def test_spoilt_file_is_drawn_again(folder: Path) -> None:
    pen = Pen()
    drawing("b" * 64, pen)
    (file,) = folder.rglob("*.svg.gz")
    for spoilt in (b"", b"no gzip", file.read_bytes()[:15]):
        file.write_bytes(spoilt)
        assert drawing("b" * 64, pen).startswith("<svg>")
    assert pen.drawn == 4


def test_folder_that_cannot_be_written_costs_time_only(folder: Path) -> None:
    (folder / "cc").write_text("a file where a folder should be")
    pen = Pen()
    assert [drawing("c" * 64, pen) for _ in range(2)] == ["<svg>é 1</svg>", "<svg>é 2</svg>"]


def test_only_the_newest_are_kept(folder: Path) -> None:
    for number in range(30):
        drawing(f"dd{number:062d}", Pen())
    assert len(list(folder.rglob("*.svg.gz"))) == 16
