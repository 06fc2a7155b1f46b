"""Parts of the executors that need no framework."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.executors.processes import Steps, Wait, drive
from engine.executors.request import settled
from engine.executors.worker.instrument import instrumented
from engine.executors.worker.introspect import platforms, supported
from engine.executors.worker.protocol import Block, Closed, receive, send
from engine.executors.worker.summary import summarise
from engine.ir.graph import Input
from engine.ir.types import dense


def test_frame_carries_text_and_arrays_of_any_shape_and_order() -> None:
    ours, theirs = socket.socketpair()
    blocks = [
        Block("bfloat16", np.array([0x3FC0, 0x7FC0], np.uint16)),
        Block("float32", np.arange(6, dtype=np.float32).reshape(2, 3).T),
        Block("int64", np.zeros((0, 2), np.int64)),
        Block("bool", np.array(True)),
    ]
    with ours, theirs:
        send(ours, {"kind": "run", "name": "ä"}, blocks)
        message, found = receive(theirs)
    assert message == {"kind": "run", "name": "ä"}
    for sent, got in zip(blocks, found, strict=True):
        assert got.dtype == sent.dtype
        assert got.bits.shape == sent.bits.shape
        assert np.array_equal(got.bits, sent.bits)


def test_large_frames_do_not_need_a_large_socket_buffer() -> None:
    ours, theirs = socket.socketpair()
    big = Block("uint8", np.arange(10_000_000, dtype=np.uint8))
    with ours, theirs:
        sender = threading.Thread(target=send, args=(ours, {}, [big]))
        sender.start()
        _, (found,) = receive(theirs)
        sender.join()
    assert np.array_equal(found.bits, big.bits)


def test_frame_cut_short_is_told_from_silence() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(b"\0" * 3)
        with pytest.raises(Closed, match="after 3 of 16 bytes"):
            receive(theirs)


def test_summary_counts_what_is_special_and_describes_the_rest() -> None:
    facts = summarise(Block("float32", np.array([1, -3, 0, np.nan, np.inf], np.float32)))
    assert (facts["zeros"], facts["nans"], facts["infs"], facts["size"]) == (1, 1, 1, 5)
    assert (facts["min"], facts["max"]) == (-3, 1)
    assert facts["mean"] == pytest.approx(-2 / 3)
    assert facts["mean_abs"] == pytest.approx(4 / 3)
    assert "min" not in summarise(Block("float32", np.array([np.nan], np.float32)))
    assert summarise(Block("bfloat16", np.array([0x3FC0], np.uint16)))["mean"] == 1.5


def test_notes_follow_nodes_by_line_and_the_last_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "case.py"
    path.write_text("def forward(x):\n    y = x, 1\n    y = y[0]\n"
                    "    for k in (1,):\n        y += k\n"
                    "    z = y * two\n    return z\n")  # fmt: skip
    seen: dict[str, Any] = {}
    lines = {"2": "a", "3": "a", "6": "b"}
    made = instrumented(str(path), lines, {"two": 2}, seen.__setitem__)
    assert made(5) == 12
    assert seen == {"a": 5, "b": 12}


def test_platforms_are_read_from_their_own_line() -> None:
    text = "Does it.\n\nSupported Platforms:\n    ``Ascend`` ``CPU``\n\nExamples:\n    GPU\n"
    assert platforms(text) == ["Ascend", "CPU"]
    assert platforms("Runs on CPU.") is None


def test_platforms_of_a_page_that_refers_to_another_are_those_of_the_other() -> None:
    def other() -> None:
        """Does it.

        Supported Platforms:
            ``CPU``
        """

    names = {"mindspore": SimpleNamespace(ops=SimpleNamespace(other=other))}
    refers = "For details, please refer to :func:`mindspore.ops.other`.\n"
    assert supported(names, refers) == ["CPU"]
    assert supported(names, f"{refers}\nSupported Platforms:\n    ``Ascend``\n") == ["Ascend"]
    assert supported(names, "Please refer to :func:`mindspore.ops.nothing`.") is None
    assert supported(names, "In-place version of sin().") is None


def test_expanded_and_aliased_inputs_are_settled_before_anyone_sees_them() -> None:
    inputs = [
        Input("x", dense("float32", 1, 2), layout="expanded"),
        Input("y", dense("float32", 4), alias="g"),
        Input("z", dense("float32", 1, 2), alias="g"),
    ]
    arrays = {
        "x": np.array([[1, 2]], np.float32),
        "y": np.arange(4, dtype=np.float32),
        "z": np.array([[7, 8]], np.float32),
    }
    found = settled(inputs, arrays)
    assert found["x"].tolist() == [[1, 1]]
    assert found["z"].tolist() == [[0, 1]]


def test_waits_are_served_as_they_end_and_an_error_closes_the_others() -> None:
    ours, theirs = socket.socketpair()
    ended: list[str] = []

    def late() -> Steps[str]:
        ready = yield Wait(ours, 0.05)
        assert not ready
        theirs.sendall(b"x")
        return "late"

    def early() -> Steps[str]:
        ready = yield Wait(ours, 30)
        return "woken" if ready else "not woken"

    def failing() -> Steps[str]:
        yield Wait(ours, 0)
        raise ValueError("no")

    def waiting() -> Steps[str]:
        try:
            yield Wait(theirs, 30)
        finally:
            ended.append("closed")
        return ""

    with ours, theirs:
        assert drive([late()]) == ["late"]
        assert drive([early()]) == ["woken"]
        with pytest.raises(ValueError, match="no"):
            drive([waiting(), failing()])
    assert ended == ["closed"]
