"""Runs one job, a launcher and its ranks: streams what it says, hands signals on, and leaves nothing of it behind."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from commlens.errors import CommlensError

# Launchers put ranks into process groups of their own, so a group does not reach all of a job: its environment does.
_MARK = "COMMLENS_JOB"

_POLL_S = 0.1
_AFTERMATH_S = 1.0  # how long ranks may outlive their launcher before they are killed
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Patience:
    """Seconds that a job is given to end: after the signal that was handed on, and after SIGTERM."""

    after_signal_s: float = 5.0
    after_terminate_s: float = 3.0


@dataclass(frozen=True)
class Outcome:
    status: int  # the launcher's; 128 + n where signal n ended the launcher itself
    interrupted: int | None = None  # the signal that the user sent to us
    timed_out: bool = False


def run_job(
    command: Sequence[str],
    environment: Mapping[str, str],
    take_output: Callable[[bytes], object],
    take_error: Callable[[bytes], object],
    *,
    time_limit_s: float | None = None,
    patience: Patience = Patience(),
) -> Outcome:
    """Runs `command` until it ends, giving what it writes to `take_output` and `take_error` as it comes.

    SIGINT, SIGTERM and SIGHUP are handed on to the launcher; if the job does not end, all of it gets SIGTERM, then
    SIGKILL. The same happens at the time limit. Raises CommlensError where the command cannot be started.
    """
    mark = uuid.uuid4().hex
    try:
        # A session of its own: the terminal's Ctrl-C must come to us alone, or ranks die before they can say anything.
        process = subprocess.Popen(
            command,
            env={**environment, _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise CommlensError(f"{command[0]} cannot be started: {error.strerror}") from None
    job = _Job(process, f"{_MARK}={mark}".encode(), patience)
    try:
        with _signals_handed_to(job):
            _stream(job, take_output, take_error, time_limit_s)
    finally:
        job.clean_up()
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Outcome(status, job.interrupted, job.timed_out)


class _Job:
    def __init__(self, process: subprocess.Popen[bytes], mark: bytes, patience: Patience) -> None:
        self.process = process
        self.interrupted: int | None = None
        self.timed_out = False
        self.requests: list[int] = []  # signals that the user sent and that were not handled yet
        self._mark = mark
        self._seconds_to_obey = (patience.after_signal_s, patience.after_terminate_s, 1.0)
        self._steps_taken = 0
        self._next_step = math.inf  # when the job gets the next, stronger signal

    def heed(self) -> None:
        """Hands the user's signals on, and becomes stronger where the time given to the last one is over."""
        while self.requests:
            number = self.requests.pop(0)
            self.interrupted = self.interrupted or number
            self.stop(number)
        if time.monotonic() >= self._next_step:
            self.stop(signal.SIGKILL)

    def stop(self, first: int) -> None:
        """Asks the launcher to end with the signal `first`; asked again, goes on to SIGTERM and to SIGKILL for all."""
        if self._steps_taken == 0:
            with suppress(ProcessLookupError):
                self.process.send_signal(first)
        else:
            self._signal_all(signal.SIGTERM if self._steps_taken == 1 else signal.SIGKILL)
        self._next_step = time.monotonic() + self._seconds_to_obey[min(self._steps_taken, 2)]
        self._steps_taken += 1

    def clean_up(self) -> None:
        """After this no process of the job is left on this machine."""
        if self.process.poll() is None:
            self._signal_all(signal.SIGKILL)
        self.process.wait()
        deadline = time.monotonic() + _AFTERMATH_S
        while self._members():
            if time.monotonic() > deadline:
                self._signal_all(signal.SIGKILL)
            time.sleep(0.02)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _signal_all(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)
        for member in self._members():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member, number)

    def _members(self) -> list[int]:
        """The processes that carry the job's mark in their environment; those that have ended carry none."""
        members = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self._mark in (entry / "environ").read_bytes().split(b"\0"):
                    members.append(int(entry.name))
        return members


@contextmanager
def _signals_handed_to(job: _Job) -> Iterator[None]:
    def handle(number: int, _: FrameType | None) -> None:
        job.requests.append(number)

    previous = {number: signal.signal(number, handle) for number in _FORWARDED}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _stream(
    job: _Job, take_output: Callable[[bytes], object], take_error: Callable[[bytes], object], time_limit_s: float | None
) -> None:
    process = job.process
    assert process.stdout is not None and process.stderr is not None  # both are pipes
    started = time.monotonic()
    ended: float | None = None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, take_output)
        selector.register(process.stderr, selectors.EVENT_READ, take_error)
        while selector.get_map() or process.poll() is None:
            for key, _ in selector.select(_POLL_S) if selector.get_map() else _wait(process):
                data = os.read(key.fd, 65536)
                if data:
                    key.data(data)
                else:
                    selector.unregister(key.fileobj)
            now = time.monotonic()
            if ended is None and process.poll() is not None:
                ended = now
            if ended is not None and now > ended + _AFTERMATH_S:
                return  # a rank that outlived its launcher holds the pipes open: clean_up ends it
            if time_limit_s is not None and now > started + time_limit_s and not job.timed_out:
                job.timed_out = True
                job.stop(signal.SIGTERM)
            job.heed()


def _wait(process: subprocess.Popen[bytes]) -> list[tuple[selectors.SelectorKey, int]]:
    """Both streams are closed but the process runs on: wait a moment for it."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_POLL_S)
    return []
