"""Opens every file that a user names. It must be a regular file of limited size: devices, pipes and
sockets are refused, as reading them may never end."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from commlens.base.errors import CommlensError, reason
from commlens.base.text import format_bytes, shown

YAML = "a YAML file"
MOST_BYTES = 16 << 20  # of a text that is read at once: far more than ten thousand entries
_LONGEST_NAME = 200


def open_input(
    path: Path, option: str = "", kind: str = "a file", most_bytes: int = MOST_BYTES
) -> BinaryIO:
    """The file, which an option names, as a stream of bytes; `kind` is what it should be. Raises
    CommlensError for one that is not regular, is too large or cannot be read."""
    named = _named(option, path)
    try:
        if stat.S_ISREG(path.stat().st_mode):  # to open a device may have an effect
            # A pipe may have taken its place: to open it would wait for its other end.
            stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
            status = os.fstat(stream.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size <= most_bytes:
                return stream
            stream.close()
            if stat.S_ISREG(status.st_mode):
                raise CommlensError(f"{named} is larger than {format_bytes(most_bytes)}")
    except (OSError, ValueError) as error:
        raise CommlensError(f"{named} cannot be read: {reason(error)}") from None
    what = "a folder" if path.is_dir() else "a device or a pipe"
    raise CommlensError(f"{named} is {what}: name {kind}")


def read_start(
    path: Path, count: int, option: str = "", kind: str = "a file", most_bytes: int = MOST_BYTES
) -> bytes:
    """At most the first `count` bytes of such a file."""
    with open_input(path, option, kind, most_bytes) as stream:
        try:
            return stream.read(count)
        except OSError as error:  # as of /proc/self/mem
            raise CommlensError(f"{_named(option, path)} cannot be read: {reason(error)}") from None


def read_text(
    path: Path,
    option: str = "",
    kind: str = "a file",
    most_bytes: int = MOST_BYTES,
    *,
    is_lenient: bool = False,
) -> str:
    """The text of such a file. What is not UTF-8 is refused, or with `is_lenient` replaced by
    U+FFFD."""
    data = read_start(path, most_bytes, option, kind, most_bytes)
    if b"\0" not in data or is_lenient:
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8-sig", "replace" if is_lenient else "strict")
    raise CommlensError(f"{_named(option, path)} is not a text file in UTF-8")


def _named(option: str, path: Path) -> str:
    return f"{option} {shown(path, _LONGEST_NAME)}".strip()
