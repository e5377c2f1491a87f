"""Runs a job, a launcher and its ranks: streams what it writes, forwards signals, and leaves
nothing of it behind."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from types import FrameType
from typing import IO, NamedTuple

import psutil

from commlens.base.errors import CommlensError

# Launchers put ranks into process groups of their own, so a group does not reach all of a job: its
# environment does.
MARK = "COMMLENS_JOB"

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_POLL_S = 0.1
_AFTERMATH_S = 1.0  # how long ranks may outlive their launcher before they are killed
# Seconds that a job is given to end: after the forwarded signal, after SIGTERM, after SIGKILL.
_SECONDS_TO_OBEY = (5.0, 3.0, 1.0)
_SECONDS_WHEN_STALLED = (1.0, 1.0, 1.0)  # it makes no progress: there is nothing to wait for


@dataclass(frozen=True)
class Outcome:
    """How a job has ended."""

    status: int  # the launcher's; 128 + n where signal n ended the launcher itself
    interrupted: int | None = None  # the first of the user's signals that was forwarded
    ended_because: str = ""  # the reason that `why_end` gave
    killed_by: int | None = None  # the signal that ended the launcher itself


class Times(NamedTuple):
    """Seconds of a running job."""

    since_start: float
    since_output: float  # since it has written something


WhyEnd = Callable[[Times], str]


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    take_output: Callable[[bytes], object],
    take_error: Callable[[bytes], object],
    requests: list[int],
    *,
    why_end: WhyEnd = lambda _: "",
) -> Outcome:
    """Runs `command` until it ends; what it writes goes to `take_output` and `take_error` as it
    comes.

    The signals that get into `requests` meanwhile are taken from it and forwarded to the launcher;
    if the job does not end, all of it gets SIGTERM, then SIGKILL. The same happens where `why_end`,
    which is asked all the time, has a reason. Nothing of the job outlives this process, not even
    where that is killed. Raises CommlensError where the command cannot be started.
    """
    mark = uuid.uuid4().hex
    with guard(mark):
        running = _Running(command, environment, mark)
        with running.launcher as launcher:
            takers = {launcher.stdout: take_output, launcher.stderr: take_error}
            try:
                running.stream(takers, requests, why_end)
            finally:
                running.clean_up()
    status = launcher.returncode
    killed_by = -status if status < 0 else None
    status = 128 + killed_by if killed_by else status
    return Outcome(status, running.interrupted, running.ended_because, killed_by)


def run_within(
    command: Sequence[str], environment: Mapping[str, str], requests: list[int], limit_s: float
) -> tuple[Outcome, str, str]:
    """Runs `command` for at most `limit_s`, and returns its standard output and error, too."""
    output, error = bytearray(), bytearray()
    outcome = run(
        command,
        environment,
        output.extend,
        error.extend,
        requests,
        why_end=lambda times: "it takes too long" if times.since_start > limit_s else "",
    )
    return outcome, output.decode(errors="replace"), error.decode(errors="replace")


class _Running:
    """A job that has been started."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], mark: str) -> None:
        self.interrupted: int | None = None
        self.ended_because = ""
        self._mark = mark
        self._seconds_to_obey = _SECONDS_TO_OBEY
        self._steps_taken = 0
        self._next_step = math.inf  # when the job gets the next, stronger signal
        try:
            # A session of its own: the terminal's Ctrl-C must come to us alone, or ranks die before
            # they can say anything.
            self.launcher = subprocess.Popen(
                command,
                env={**environment, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise CommlensError(f"{command[0]} cannot be started: {error.strerror}") from None

    def stream(
        self,
        takers: Mapping[IO[bytes] | None, Callable[[bytes], object]],
        requests: list[int],
        why_end: WhyEnd,
    ) -> None:
        """Hands on what the job writes until its end, which it is asked for where there is a signal
        of the user or a reason."""
        started = written = time.monotonic()
        ended: float | None = None
        with selectors.DefaultSelector() as selector:
            for stream, take in takers.items():
                selector.register(stream, selectors.EVENT_READ, take)  # type: ignore[arg-type]
            while selector.get_map() or self.launcher.poll() is None:
                for key, _ in selector.select(_POLL_S):
                    data = os.read(key.fd, 65536)
                    if data:
                        written = time.monotonic()
                        key.data(data)
                    else:
                        selector.unregister(key.fileobj)
                now = time.monotonic()
                if ended is None and self.launcher.poll() is not None:
                    ended = now
                if ended is not None and now > ended + _AFTERMATH_S:
                    return  # a rank that outlived its launcher holds the pipes: clean_up ends it
                if ended is None and self._steps_taken == 0:
                    self.ended_because = why_end(Times(now - started, now - written))
                    if self.ended_because:
                        self._seconds_to_obey = _SECONDS_WHEN_STALLED
                        self._stop(signal.SIGTERM)
                while requests:
                    number = requests.pop(0)
                    self.interrupted = self.interrupted or number
                    self._stop(number)
                if time.monotonic() >= self._next_step:
                    self._stop(signal.SIGKILL)

    def _stop(self, first: int) -> None:
        """Asks the launcher to end with the signal `first`; asked again, goes on to SIGTERM and to
        SIGKILL for all."""
        if self._steps_taken == 0:
            with suppress(ProcessLookupError):
                self.launcher.send_signal(first)
        else:
            self._signal_all(signal.SIGTERM if self._steps_taken == 1 else signal.SIGKILL)
        self._next_step = time.monotonic() + self._seconds_to_obey[min(self._steps_taken, 2)]
        self._steps_taken += 1

    def clean_up(self) -> None:
        """After this no process of the job is left on this machine."""
        if self.launcher.poll() is None:
            self._signal_all(signal.SIGKILL)
        self.launcher.wait()
        deadline = time.monotonic() + _AFTERMATH_S
        while members(self._mark):
            if time.monotonic() > deadline:
                self._signal_all(signal.SIGKILL)
            time.sleep(0.02)

    def _signal_all(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.launcher.pid, number)
        for member in members(self._mark):
            with suppress(psutil.Error):
                member.send_signal(number)


def members(mark: str) -> list[psutil.Process]:
    """The processes that carry a job's mark; those that have ended carry none."""
    return [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get(MARK) == mark
    ]


def end_members(mark: str) -> None:
    """Ends the processes that outlive their launcher: asks them, then kills them."""
    for number, seconds in (signal.SIGTERM, _AFTERMATH_S), (signal.SIGKILL, _SECONDS_TO_OBEY[1]):
        deadline = time.monotonic() + seconds
        while members(mark) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        for member in members(mark):
            with suppress(psutil.Error):
                member.send_signal(number)


@contextmanager
def guard(mark: str) -> Iterator[None]:
    """Within, the processes on this machine with `mark` in their environment do not outlive this
    one."""
    script = (files(__package__) / "guard.sh").read_text(encoding="utf-8")
    with subprocess.Popen(
        ["/bin/sh", "-c", script, "commlens-guard", mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a signal to the command's group does not reach it
    ) as guard:
        try:
            yield
        finally:
            guard.kill()


@contextmanager
def signals_listed() -> Iterator[list[int]]:
    """Within, signals that ask commlens to end only get into the list, so that nothing of a job is
    lost or left. If any came, further ones stay without effect: the end is on its way."""
    requests: list[int] = []
    came: list[int] = []  # these are not taken from the list

    def handle(number: int, _: FrameType | None) -> None:
        requests.append(number)
        came.append(number)

    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # under nohup
    wanted = [number for number in _ENDING if number != signal.SIGHUP or not ignored]
    if threading.current_thread() is not threading.main_thread():
        wanted = []  # Python gives them to the main thread alone
    before = {number: signal.signal(number, handle) for number in wanted}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            # To the very end: Python takes its own handlers away before it ends.
            signal.signal(number, signal.SIG_IGN if came else handler)


@contextmanager
def signals_restored() -> Iterator[None]:
    """For a program that goes on after an interruption: afterwards signals do what they did."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in _ENDING} if is_main else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_obeyed() -> Iterator[None]:
    """Within, signals end us at once, for what may take as long as others like."""
    ours = {number: signal.getsignal(number) for number in _ENDING}
    for number, handler in ours.items():
        if handler is not signal.SIG_IGN:
            is_interrupt = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
