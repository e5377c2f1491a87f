"""A trace (docs/trace.md) of any number of ranks, as small as one can be."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path


def write_ring(path: Path, ranks: int) -> Path:
    """Each rank sends to the next one, ten times; then a sum over all of them."""
    functions = [
        "MPI_Irecv bnTrtcQ",
        "MPI_Send bnTrtc",
        "MPI_Wait q",
        "MPI_Allreduce bbnToc",
    ]
    events: list[tuple[int, list[int]]] = []
    bodies = []
    for rank in range(ranks):
        first = len(events)
        events += [
            (0, [0, 100, 0, (rank - 1) % ranks, 7, 0, 0]),
            (1, [0, 100, 0, (rank + 1) % ranks, 7, 0]),
            (2, [0]),
            (3, [0, 0, 3, 0, 0, 0]),
        ]
        leaves = [_numbers(2 * (first + i) + 1) for i in range(4)]
        bodies.append(_list([_numbers(2 * 10) + _list(leaves[:3]), leaves[3]]))
    header = {
        "ranks": ranks,
        "mpi": "",
        "seconds": 0.001,
        "complete": True,
        "events": [31] * ranks,
        "dropped": [0] * ranks,
        "unit_ns": 1,
    }
    content = b"commlens trace 1\n"
    content += _block("H", _text(json.dumps(header)))
    content += _block("F", _list(_text(name) for name in functions))
    content += _block("O", _list([_text("MPI_SUM")]))
    content += _block("T", _list([_text("MPI_DOUBLE") + _numbers(8, 0, 8, 1)]))
    content += _block("A", _list([]))
    content += _block(
        "E", _list(_numbers(function) + _list(map(_signed, own)) for function, own in events)
    )
    for body in bodies:
        content += _block("B", body)
    for rank in range(ranks):
        times = [
            _numbers(count, *[1000 * count] * 3, 1000, 1000, count) for count in (10, 10, 10, 1)
        ]
        content += _block("R", _numbers(rank, rank) + _list(times))
    path.write_bytes(content)
    return path


def _block(kind: str, content: bytes) -> bytes:
    return kind.encode() + struct.pack("<II", len(content), zlib.crc32(content)) + content


def _numbers(*values: int) -> bytes:
    encoded = bytearray()
    for value in values:
        while value >= 128:
            encoded.append(value % 128 + 128)
            value //= 128
        encoded.append(value)
    return bytes(encoded)


def _signed(value: int) -> bytes:
    return _numbers(2 * value if value >= 0 else -2 * value - 1)


def _text(text: str) -> bytes:
    return _numbers(len(text)) + text.encode()


def _list(items: Iterable[bytes]) -> bytes:
    parts = list(items)
    return _numbers(len(parts)) + b"".join(parts)
