"""`commlens profile`: runs an MPI program with the profiling library and records the result."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from commlens.base import outputs
from commlens.base.errors import CommlensError, Status, reason, say
from commlens.base.outputs import reserve
from commlens.jobs import process
from commlens.model.profile import Profile
from commlens.profile import program as profile_program
from commlens.profile.jobs import Left, collect, losses, profiles
from commlens.profile.traces.collect import KIND as TRACE
from commlens.profile.traces.collect import write_traces

_POLL_S = 0.05
# Who signals a whole process group, as `timeout` does, has told the launcher too. A launcher that
# is told twice may end before its ranks.
_FORWARD_AFTER_S = 1.0
_ENOUGH_BYTES = 1 << 20  # for the files of some ranks
_REMOVAL_TRIES = 5


@dataclass(frozen=True)
class ProfileOptions:
    """What the profiling library records."""

    call_depth: int = 0  # of call sites; 0: none are recorded
    with_waiting: bool = False
    with_regions: bool = False
    trace: Path | None = None  # the file of the calls


@dataclass(frozen=True)
class ProfiledRun:
    """How a profiled command ended, and its profiles."""

    status: int  # the program's, from its launcher; Status.USAGE where the library refused it
    profiles: list[Profile] = field(default_factory=list)  # one for each job
    file: Path | None = None  # of the records
    traces: list[Path] = field(default_factory=list)  # one for each job


def run(words: Sequence[str], out: Path, options: ProfileOptions = ProfileOptions()) -> ProfiledRun:
    """Runs the command to its end. Raises CommlensError if it cannot be profiled; it is not run."""
    if options.trace is not None:
        outputs.check(options.trace, TRACE, "--trace")
    command = profile_program.parse(words)
    names = [words[position] for position in command.programs]
    family = next(filter(None, map(profile_program.family, names)), "")
    library = profile_program.find_library(names[0], family)
    with process.signals_listed() as requests, _folder_of_ranks(out) as folder:
        settings = _settings(library.path, folder, options)
        status = _run(command.with_environment(settings), requests)
        left = collect(folder)
        recorded = profiles(words, left, status)
        file = _write(out, recorded) if recorded else None
        traces, traced = _traces(folder, left, options.trace) if options.trace else ([], Status.OK)
    if left.refused:
        say(
            f"the library was built for {library.mpi}, but the program runs {left.refused[0]}: "
            "build it for that MPI (docs/profile.md) and name it in COMMLENS_PROFILE_LIBRARY"
        )
        # The refused ranks end with this status, but their launcher may report another one.
        status = Status.USAGE
    elif not recorded:
        _explain_nothing(names[0], family, left)
    status = status or traced
    return ProfiledRun(status, recorded, file, traces)


def _traces(folder: Path, left: Left, file: Path) -> tuple[list[Path], int]:
    """Those that could be written, one for each job, and a status: FAILED where one could not be,
    or there is none."""
    traces: list[Path] = []
    try:
        traces.extend(write_traces(folder, left, file))
    except CommlensError as error:
        say(str(error))
        return traces, Status.FAILED
    return traces, Status.OK if traces else Status.FAILED


def _settings(library: Path, folder: Path, options: ProfileOptions) -> dict[str, str]:
    preloads = [str(library), *filter(None, [os.environ.get("LD_PRELOAD")])]
    return {
        "LD_PRELOAD": ":".join(preloads),
        "COMMLENS_PROFILE_OUT": str(folder),
        **({"COMMLENS_PROFILE_CALLSITES": str(options.call_depth)} if options.call_depth else {}),
        **({"COMMLENS_PROFILE_WAITING": "1"} if options.with_waiting else {}),
        **({"COMMLENS_PROFILE_REGIONS": "1"} if options.with_regions else {}),
        **({"COMMLENS_PROFILE_TRACE": "1"} if options.trace else {}),
    }


@contextmanager
def _folder_of_ranks(out: Path) -> Iterator[Path]:
    """Beside the record, so that other nodes see it too; a temporary folder if that fails."""
    try:
        folder = reserve(out, "profile-ranks").resolve()
        _check_space(folder, out)
    except CommlensError as error:
        say(f"{error}. The program runs, and its record is not kept")
        folder = Path(tempfile.mkdtemp(prefix="commlens-profile-"))
    try:
        yield folder
    finally:
        _remove(folder)


def _check_space(folder: Path, out: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(_ENOUGH_BYTES))
    except OSError as error:
        _remove(folder)
        raise CommlensError(
            f"--out {out}: results cannot be written there ({reason(error)}); name another folder"
        ) from None


def _remove(folder: Path) -> None:
    """Also while a rank that outlived its launcher writes its file."""
    for _ in range(_REMOVAL_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(_POLL_S)


def _run(command: Sequence[str], requests: list[int]) -> int:
    """The status of the command, which has our streams. Signals are passed on to it, once each, and
    what outlives it then is ended, such as a launcher that a script has started. Nothing of it
    outlives this process."""
    mark = uuid.uuid4().hex
    with process.guard(mark):
        try:
            launcher = subprocess.Popen(command, env={**os.environ, process.MARK: mark})
        except OSError as error:
            raise CommlensError(f"{command[0]} cannot be started: {error.strerror}") from None
        status, is_signaled = _awaited(launcher, requests)
        if is_signaled or status < 0:
            process.end_members(mark)
    return status if status >= 0 else 128 - status


def _awaited(launcher: subprocess.Popen[bytes], requests: list[int]) -> tuple[int, bool]:
    """Its status, and whether there was a signal."""
    due: dict[int, float] = {}  # when a signal is passed on
    is_signaled = False
    while True:
        with suppress(subprocess.TimeoutExpired):
            return launcher.wait(_POLL_S), is_signaled
        is_signaled = is_signaled or bool(requests)
        while requests:
            number = requests.pop(0)
            if number != signal.SIGINT:  # the terminal sends it to the launcher too
                due.setdefault(number, time.monotonic() + _FORWARD_AFTER_S)
        for number in [number for number, when in due.items() if when <= time.monotonic()]:
            launcher.send_signal(number)
            due[number] = float("inf")


def _explain_nothing(program: str, family: str, left: Left) -> None:
    if left.lost:
        why = "; ".join(losses(left.lost))
    elif left.unseen:
        why = (
            f"{left.unseen[0]} used MPI, but called none of its MPI_ functions in a way that can "
            "be seen: it calls PMPI_ functions, or opens the MPI library itself (dlopen); link it "
            "to the MPI library"
        )
    elif family:
        why = f"no rank of {program} reached the end of MPI_Init"
    else:
        why = f"{program} is not linked to MPI, and nothing that it started completed MPI_Init"
    say(f"nothing was recorded: {why}")


def _write(out: Path, recorded: Sequence[Profile]) -> Path | None:
    try:
        path = reserve(out, "profile", ".jsonl")
    except CommlensError:
        return None  # reported before the program ran
    try:
        path.write_bytes(b"".join(msgspec.json.encode(profile) + b"\n" for profile in recorded))
    except OSError as error:
        say(f"--out {out}: the record cannot be written ({reason(error)})")
        with suppress(OSError):
            path.unlink()
        return None
    return path
