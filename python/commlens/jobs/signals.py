"""Signals that ask us to end: listed while a job is run, so that nothing of it is lost or left."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def listed() -> Iterator[list[int]]:
    """Within, signals only get into the list. Where some came, they stay without effect: who has
    asked us once to end is obeyed already."""
    requests: list[int] = []
    came: list[int] = []  # these are not taken from the list

    def handle(number: int, _: FrameType | None) -> None:
        requests.append(number)
        came.append(number)

    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # under nohup
    wanted = [number for number in ENDING if number != signal.SIGHUP or not ignored]
    before = {number: signal.signal(number, handle) for number in wanted}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            # To the very end: Python takes its own handlers away before it ends.
            signal.signal(number, signal.SIG_IGN if came else handler)


@contextmanager
def obeyed() -> Iterator[None]:
    """Within, signals end us at once, for what may take as long as others like."""
    ours = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in ours.items():
        if handler is not signal.SIG_IGN:
            is_interrupt = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
