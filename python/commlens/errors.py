"""Exit statuses, and the one exception that ends the command with a sentence instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Status(IntEnum):
    """Exit statuses, those of the native program. A signal that ends the command gives 128 + its number."""

    OK = 0
    FAILED = 1  # a wrong result, a failing call, a rank that died
    USAGE = 2
    STALLED = 3  # the watchdog ended the run
    NOTHING_RAN = 4  # everything that was asked for was skipped


_FROM_BEST_TO_WORST: list[int] = [Status.OK, Status.NOTHING_RAN, Status.USAGE, Status.STALLED, Status.FAILED]


def worst(statuses: Iterable[int]) -> int:
    """The status with which several runs end together; an unknown one, such as that of a signal, is worse than all."""
    return max(
        statuses,
        key=lambda status: _FROM_BEST_TO_WORST.index(status) if status in _FROM_BEST_TO_WORST else 99,
        default=Status.OK,
    )


class CommlensError(Exception):
    """Something that the user can put right: its text is one line that names the thing, the value and the cure."""

    def __init__(self, message: str, status: int = Status.USAGE) -> None:
        super().__init__(message)
        self.status = status
