"""The records within a report: a page is its own data.

Each file of records is a link to be saved from the page, without a script: gzip in a data URL.
"""

from __future__ import annotations

import re
import zlib
from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from commlens.base.errors import CommlensError
from commlens.base.inputs import read_start, read_text
from commlens.model.record import Record
from commlens.model.start import Start

DATA_URL = "data:application/gzip;base64,"
_PAGE = b"<!doctype html>"
_LINK = re.compile(rf'<a class="(\w+)" download="([^"]*)\.gz" href="{DATA_URL}([\w+/=]*)"')
RECORDS, DOCTOR = "records", "doctor"  # classes of links
_MOST_BYTES = 2**28  # of a page, and of a file in it, which a small page can hold compressed


def pack(lines: Iterable[bytes], most_bytes: int) -> str | None:
    """The URL of a file of these lines; None if they or it would be too large to be sent."""
    # A gzip file without a name and a time; digits of measured times seldom repeat.
    packer = zlib.compressobj(9, wbits=31, strategy=zlib.Z_FILTERED)
    packed, unpacked_bytes = bytearray(), 0
    for line in lines:
        unpacked_bytes += len(line)
        packed += packer.compress(line)
        if unpacked_bytes > _MOST_BYTES or len(packed) > most_bytes:
            return None
    packed += packer.flush()
    return DATA_URL + b64encode(packed).decode() if len(packed) <= most_bytes else None


def encoded(
    launches: Iterable[Start], records: Iterable[Record], others: Iterable[msgspec.Struct]
) -> Iterator[bytes]:
    """The lines of a file that has them: as they were read, with what is secret masked, and with
    fewer digits: most of those that a program writes are below the resolution of a clock."""
    for start in launches:
        line = replace(start.line, environment=start.environment, command=start.command)
        yield _line(line)
    yield from map(_line, records)
    yield from map(_line, others)


def _line(value: Any) -> bytes:
    return msgspec.json.encode(_shortened(msgspec.to_builtins(value, enc_hook=_plain))) + b"\n"


def _shortened(value: Any) -> Any:
    """Nine digits of each number that is not a whole one."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [_shortened(element) for element in value]
    if isinstance(value, dict):
        return {name: _shortened(element) for name, element in value.items()}
    return value


def _plain(value: Any) -> Any:
    """What a record holds beside what JSON has."""
    if isinstance(value, Start):
        return value.start
    if isinstance(value, array):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"a {type(value)} in a record")


def is_page(file: Path) -> bool:
    """Whether it may be a report."""
    try:
        return read_start(file, 64, most_bytes=_MOST_BYTES).lstrip().lower().startswith(_PAGE)
    except CommlensError:
        return False  # whoever reads it reports what is wrong with it


def unpacked(file: Path, kind: str = RECORDS) -> Iterator[tuple[str, list[str]]]:
    """The names and the lines of the files of this kind in a report.

    Raises ValueError for a page without any, and for data that is damaged or too large.
    """
    links = _LINK.findall(read_text(file, most_bytes=_MOST_BYTES, is_lenient=True))
    if not links:
        raise ValueError("a page without records in it")
    for link_class, name, data in links:
        if link_class == kind:
            yield unescape(name), _lines(data)


def _lines(data: str) -> list[str]:
    try:
        unpacker = zlib.decompressobj(wbits=31)
        whole = unpacker.decompress(b64decode(data, validate=True), _MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"its records are damaged ({error})") from None
    if not unpacker.eof:
        more = bool(unpacker.unconsumed_tail)
        raise ValueError(f"its records are {'too large' if more else 'damaged: cut short'}")
    return list(StringIO(whole.decode(errors="replace"), newline="\n"))
