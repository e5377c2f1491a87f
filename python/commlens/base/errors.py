"""Exit statuses, and what ends the command with a sentence instead of a traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

from commlens.base.text import printable

_LONGEST = 800  # characters of a message


class Status(IntEnum):
    """Exit statuses, those of the native program. A signal that ends the command gives 128 + its
    number."""

    OK = 0
    FAILED = 1  # a wrong result, a failing call, a rank that died
    USAGE = 2
    STALLED = 3  # the watchdog ended the run
    NOTHING_RAN = 4  # everything that was asked for was skipped


_WORDS: dict[int, str] = {  # from the best to the worst
    Status.OK: "ok",
    Status.NOTHING_RAN: "skipped",
    Status.USAGE: "bad usage",
    Status.STALLED: "stalled",
    Status.FAILED: "failed",
}


def status_text(status: int) -> str:
    """For tables: `ok`, `bad usage`; the number of an unknown one."""
    return _WORDS.get(status, str(status))


def worst(statuses: Iterable[int]) -> int:
    """The status with which several jobs end together; an unknown one, such as that of a signal,
    is worse than all."""
    order = {status: place for place, status in enumerate(_WORDS)}
    return max(statuses, key=lambda status: order.get(status, len(order)), default=Status.OK)


class CommlensError(Exception):
    """Something that the user can put right: its text is one line that names the thing, the value
    and the fix. `problems` are what is wrong with single lines of a file."""

    def __init__(
        self, message: str, status: int = Status.USAGE, problems: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.status, self.problems = status, problems


def say(message: str) -> None:
    """One line to the user; the standard output belongs to tables and to the native program. Of one
    that repeats what was written at great length, the beginning and the fix."""
    line = " ".join(message.splitlines())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 2 :]}"
    with suppress(OSError):  # a message that nobody can read ends nothing
        print(f"commlens: {printable(line)}", file=sys.stderr, flush=True)


def reason(error: OSError | ValueError) -> str:
    """The operating system's reason, where it names a file in the way of a folder as such; Python
    raises ValueError for a name that no file can have."""
    if not isinstance(error, (FileExistsError, NotADirectoryError)):
        return getattr(error, "strerror", None) or str(error)
    is_link = error.filename is not None and Path(error.filename).is_symlink()
    obstacle = "a symbolic link that leads to no folder" if is_link else "a file"
    return f"{obstacle} is in the way"
