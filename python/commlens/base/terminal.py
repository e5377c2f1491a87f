"""The standard output, whatever becomes of it, and whatever the records hold that are printed.

Everything that commands print goes through here: no text can steer a terminal, a character that the
locale does not know is replaced, and a full disk or a reader that has left does not end a command
before it has done its work.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from commlens.base.text import printable_lines, whole_number

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_OF_A_FILE = 160  # characters, where the output is not a terminal
_ASCII = {"·": "|", "─": "-", "→": ">", "µ": "u", "…": ".", **dict(zip("▁▂▃▄▅▆▇█", "_.-~=+*#"))}
_STAND_IN = "commlens.stand-in"  # the name of the handler below


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    """ASCII for what the encoding of the output does not have."""
    assert isinstance(error, UnicodeEncodeError)
    characters = error.object[error.start : error.end]
    return "".join(_ASCII.get(letter, "?") for letter in characters), error.end


codecs.register_error(_STAND_IN, _stand_in)


def console() -> Console:
    """The standard output, for tables, which `print_things` writes there. COLUMNS sets its width,
    that of a file too."""
    from rich.console import Console

    has_width = sys.stdout.isatty() or has_columns()
    # Rich itself would take a COLUMNS of 0 as it is, and print nothing.
    width = shutil.get_terminal_size().columns if has_width else _WIDTH_OF_A_FILE
    return Console(width=width, highlight=False)


def has_columns() -> bool:
    """Whether COLUMNS is a width: some shells set it to 0, where they do not know it."""
    return bool(whole_number(os.environ.get("COLUMNS")))


def echo(text: object) -> None:
    """One or more lines on the standard output."""
    print(printable_lines(str(text)))


class _File(io.FileIO):
    """What is written after the first error is dropped, and the error is kept."""

    error: OSError | None = None

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override]
        if self.error is None:
            try:
                return super().write(data)
            except OSError as error:
                self.error = error
        return len(data)


@contextmanager
def standard_output() -> Iterator[_File]:
    """Puts an output in the place of `sys.stdout` that raises nothing; its first error is in the
    `error` of what this gives, complete when it ends."""
    _occupy_closed_streams()
    before = sys.stdout
    if before is None:
        file = _File(os.open(os.devnull, os.O_WRONLY), "w")
        file.error = OSError(errno.EBADF, "it is closed")
        encoding, by_line = "utf-8", False
    else:
        with suppress(OSError):
            before.flush()
        file = _File(before.fileno(), "w", closefd=False)
        encoding, by_line = before.encoding, bool(before.line_buffering)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(file), encoding, _STAND_IN, line_buffering=by_line
    )
    try:
        yield file
    finally:
        sys.stdout.flush()
        sys.stdout = before


def _occupy_closed_streams() -> None:
    """A file that is opened later must not become the standard output or the standard error."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
