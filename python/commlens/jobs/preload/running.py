"""Runs a command line with a library preloaded into its MPI program."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from commlens.base.errors import CommlensError, Status, reason, say
from commlens.base.outputs import reserve
from commlens.jobs import process
from commlens.jobs.preload.library import BuiltLibrary, Preload, check_alone, find_library
from commlens.jobs.preload.program import Command, check_preloadable, family, parse
from commlens.jobs.preload.ranks import File, Left, collect, losses

_POLL_S = 0.05
# Who signals a whole process group, as `timeout` does, has told the launcher too. A launcher that
# is told twice may end before its ranks.
_FORWARD_AFTER_S = 1.0
_ENOUGH_BYTES = 1 << 20  # for the files of some ranks
_REMOVAL_TRIES = 5


@dataclass(frozen=True)
class Program:
    """The program of a command line, with a library for it."""

    preload: Preload
    command: Command
    name: str  # of several, the first
    family: str  # of its MPI; empty if unknown
    library: BuiltLibrary

    @classmethod
    def of(cls, preload: Preload, words: Sequence[str]) -> Program:
        """Raises CommlensError where there is no program or no library for it, and its subclass
        NotPreloadableError where none can be preloaded into the program."""
        check_alone(preload)
        command = parse(words)
        names = [words[position] for position in command.programs]
        for name in names:
            check_preloadable(name)
        mpi = next(filter(None, map(family, names)), "")
        return cls(preload, command, names[0], mpi, find_library(preload, names[0], mpi))

    def run(
        self, folder: Path, settings: Mapping[str, str], requests: list[int], kind: type[File]
    ) -> tuple[int, Left[File]]:
        """The status of the command, and what its ranks wrote into the folder."""
        preloaded = {
            "LD_PRELOAD": self.library.preloaded(),
            self.preload.folder_variable: str(folder),
        }
        status = run(self.command.with_environment({**preloaded, **settings}), requests)
        left = collect(folder, kind)
        if left.refused:
            # The refused ranks end with this status, but their launcher may report another one.
            status = Status.USAGE
        return status, left

    def explain(self, left: Left[File]) -> None:
        """Says why ranks left nothing, where that is so."""
        variable, page = self.preload.variable, f"docs/{self.preload.name}.md"
        if left.refused:
            say(
                f"the library was built for {self.library.mpi}, but the program runs "
                f"{left.refused[0]}: build it for that MPI ({page}) and name it in {variable}"
            )
        elif not left.jobs:
            say(f"nothing was recorded: {self._why_nothing(left)}")

    def _why_nothing(self, left: Left[File]) -> str:
        if left.lost:
            return "; ".join(losses(left.lost))
        if left.unseen:
            return (
                f"{left.unseen[0]} used MPI, but called none of its MPI_ functions in a way that "
                "can be seen: it calls PMPI_ functions, or opens the MPI library itself (dlopen); "
                "link it to the MPI library"
            )
        if self.family:
            return f"no rank of {self.name} reached the end of MPI_Init"
        return f"{self.name} is not linked to MPI, and nothing that it started completed MPI_Init"


@contextmanager
def folder_of_ranks(out: Path, preload: Preload) -> Iterator[Path]:
    """Beside the record, so that other nodes see it too; a temporary folder if that fails."""
    try:
        folder = reserve(out, f"{preload.name}-ranks").resolve()
        _check_space(folder, out)
    except CommlensError as error:
        say(f"{error}. The program runs, and its record is not kept")
        folder = Path(tempfile.mkdtemp(prefix=f"commlens-{preload.name}-"))
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


def run(command: Sequence[str], requests: list[int]) -> int:
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


def write_records(out: Path, name: str, records: Sequence[msgspec.Struct]) -> Path | None:
    """A new file of these lines in the folder; None where it cannot be written, which is said."""
    try:
        path = reserve(out, name, ".jsonl")
    except CommlensError:
        return None  # reported before the program ran
    try:
        path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    except OSError as error:
        say(f"--out {out}: the record cannot be written ({reason(error)})")
        with suppress(OSError):
            path.unlink()
        return None
    return path
