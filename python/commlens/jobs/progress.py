"""Shows what a job has measured so far, where its tables follow."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from rich.text import Text

from commlens.base.text import printable

_PAUSE_S = 10.0  # as between the progress lines of the native program
_USUAL_WIDTH = 80  # of a terminal that does not tell its own


def plain(row: str) -> str:
    """A line of the native program without its colors, and without what could steer a terminal."""
    return printable(Text.from_ansi(row).plain)


class NewestRow:
    """The newest row of a job on the standard error: on a terminal in one line that is overwritten,
    elsewhere as a line of its own every ten seconds."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._said = time.monotonic()
        self._shown = 0  # characters on the line of a terminal

    def show(self, lines: Sequence[str], left: Callable[[], str] = str) -> None:
        """Shows the last row among the lines that a job has written, and how long it will still
        take."""
        row = next((line for line in reversed(lines) if line and not line.startswith("#")), "")
        if not row:
            return
        if self._on_terminal:
            end = left()
            room = max(0, _width() - 1 - len(end))  # in the last column it would be two lines
            text = f"{plain(row)[:room]}{end}"[: _width() - 1]
            self._write("\r" + text.ljust(self._shown))
            self._shown = len(text)
        elif time.monotonic() - self._said >= _PAUSE_S:
            self._said = time.monotonic()
            self._write(f"commlens progress: {' '.join(plain(row).split())}{left()}\n")

    def clear(self) -> None:
        """Clears the line of a terminal, for another message."""
        if self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _write(self, text: str) -> None:
        with suppress(OSError):  # progress that nobody can read ends nothing
            sys.stderr.write(text)
            sys.stderr.flush()


def _width() -> int:
    with suppress(OSError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL_WIDTH
    return _USUAL_WIDTH
