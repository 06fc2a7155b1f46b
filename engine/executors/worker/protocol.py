"""Messages between the pool and its processes: one JSON object and the bytes of its arrays.

A frame is two unsigned 64-bit big-endian lengths, the JSON text, and the arrays one after another
in row-major order. `message["blocks"]` gives the dtype and shape of each array. bfloat16, which
NumPy lacks, travels as its uint16 bits under the dtype "bfloat16".
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Block", "Closed", "receive", "send"]

_LENGTHS = struct.Struct(">QQ")
_CHUNK = 1 << 20


class Closed(Exception):
    """The other side is gone: end of file, or a broken connection."""


@dataclass(frozen=True)
class Block:
    """An array as it travels: `bits` has the dtype itself, or uint16 for bfloat16."""

    dtype: str
    bits: npt.NDArray[Any]


def send(link: socket.socket, message: dict[str, Any], blocks: Sequence[Block] = ()) -> None:
    """Send a frame; raises `Closed` where the other side is gone, `TimeoutError` if it is slow."""
    heads = [{"dtype": one.dtype, "shape": list(one.bits.shape)} for one in blocks]
    text = json.dumps({**message, "blocks": heads}).encode()
    size = sum(one.bits.nbytes for one in blocks)
    try:
        link.sendall(_LENGTHS.pack(len(text), size) + text)
        for one in blocks:
            if one.bits.nbytes:
                link.sendall(np.ascontiguousarray(one.bits).reshape(-1).view(np.uint8).data)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise Closed("the connection broke while sending") from error


def receive(link: socket.socket) -> tuple[dict[str, Any], list[Block]]:
    """The next frame; raises `Closed` at end of file, `TimeoutError` on the socket's timeout."""
    head, size = _LENGTHS.unpack(_exactly(link, _LENGTHS.size))
    message: dict[str, Any] = json.loads(bytes(_exactly(link, head)))
    body = memoryview(_exactly(link, size))
    blocks = []
    start = 0
    for block in message.pop("blocks"):
        dtype = np.dtype("uint16" if block["dtype"] == "bfloat16" else block["dtype"])
        shape = tuple(block["shape"])
        end = start + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        bits = np.frombuffer(body[start:end], dtype=dtype).reshape(shape)
        blocks.append(Block(block["dtype"], bits))
        start = end
    return message, blocks


def _exactly(link: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    filled = 0
    while filled < size:
        try:
            count = link.recv_into(view[filled:], min(size - filled, _CHUNK))
        except ConnectionResetError as error:
            raise Closed("the connection broke while receiving") from error
        if count == 0:
            raise Closed(f"end of file after {filled} of {size} bytes")
        filled += count
    return data
