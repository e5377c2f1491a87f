"""The file in which the records of a command are kept, and the file of each of its jobs.

A job writes a file of its own, so that its records are known however it ends. Where records are
collected in another file, the user's or that of several jobs, the job's file lies beside that one,
and its lines are appended when the job has ended. Nothing measured is lost: where they cannot be
appended, the job's own file stays, and is named.
"""

from __future__ import annotations

import os
import shutil
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from commlens.base import outputs
from commlens.base.errors import CommlensError, reason
from commlens.base.outputs import reserve
from commlens.base.text import plural
from commlens.jobs import process
from commlens.model import Record, Start, load

# A device or a pipe, to which records may go too, need not end. Path.is_file raises some errors.
_is_regular = os.path.isfile


@dataclass(frozen=True)
class Kept:
    """The records that a job has left."""

    records: list[Record]
    path: Path  # where they are
    problems: list[str] = field(default_factory=list)  # lines that are no records
    failure: str = ""  # why they are not where they should be
    start: Start | None = None  # the last, where the job came so far
    expected: int = 0  # records that it was to write, where it came so far

    def __str__(self) -> str:
        if not self.records:
            return "no record was written"
        verb = "kept in" if _is_regular(self.path) else "written to"
        return f"{plural(len(self.records), 'record')} {verb} {self.path}"


class RecordFile:
    """Where records are kept; `collects`: jobs write files of their own beside it."""

    def __init__(self, path: Path, *, collects: bool = False, spare: Path | None = None) -> None:
        self.path = path
        self._collects = collects
        self._spare = spare  # the folder for files of jobs that cannot lie beside it

    @classmethod
    def of_user(cls, path: Path, spare: Path) -> RecordFile:
        """The file that the user has named. Raises CommlensError where it cannot be written."""
        outputs.check(path, outputs.RECORDS, "--record")
        is_new = not os.path.lexists(path)
        if is_new or _is_regular(path) or path.is_dir():
            try:
                with path.open("ab"):
                    pass
            except OSError as error:
                raise CommlensError(
                    f"--record {path}: records cannot be written there ({error.strerror})"
                ) from None
        if is_new:
            path.unlink()
        return cls(path, collects=True, spare=spare)

    def begin_job(self) -> Path:
        """The file for the records of the next job."""
        if not self._collects:
            return self.path
        name = f"{self.path.stem}-job"
        if self._is_file or self._spare is None:
            with suppress(CommlensError):
                return reserve(self.path.parent, name, ".jsonl")
        return reserve(self._spare or self.path.parent, name, ".jsonl")

    def end_job(self, path: Path) -> Kept:
        """Keeps what the job has written to its own file, and returns what that is."""
        kept = Kept([], path)
        if path.exists():
            loaded = load([path])
            start = loaded.launches[-1] if loaded.launches else None
            expected = sum(start.records or 0 for start in loaded.launches)
            kept = Kept(loaded.records, path, loaded.problems, start=start, expected=expected)
        if kept.records or kept.problems:
            if path == self.path:
                return kept
            try:
                # A pipe may block for as long as its reader likes.
                with nullcontext() if self._is_file else process.signals_obeyed():
                    append(path, self.path)
            except OSError as error:
                failure = f"{self.path}: no record can be written there ({reason(error)})"
                return replace(kept, failure=f"{failure}; {kept}")
        with suppress(OSError):
            path.unlink()
        if path.parent == self._spare:
            with suppress(OSError):  # it is in use
                path.parent.rmdir()
        return replace(kept, path=self.path)

    @property
    def _is_file(self) -> bool:
        """Or will be one."""
        return _is_regular(self.path) or not self.path.exists()

    def discard_if_empty(self) -> None:
        """Removes a file into which nothing was written."""
        with suppress(OSError):
            if _is_regular(self.path) and self.path.stat().st_size == 0:
                self.path.unlink()


def append(source: Path, target: Path) -> None:
    """Appends all lines of a file to another, or none where that fails. Raises OSError."""
    before = target.stat().st_size if _is_regular(target) else 0
    # Without O_NONBLOCK a pipe that nobody reads would never be open.
    descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o666)
    os.set_blocking(descriptor, True)
    try:
        with os.fdopen(descriptor, "wb") as file, source.open("rb") as lines:
            if before:
                with target.open("rb") as present:
                    present.seek(-1, os.SEEK_END)
                    is_whole = present.read() == b"\n"
                if not is_whole:
                    file.write(b"\n")  # half a line of an earlier crash stays apart
            shutil.copyfileobj(lines, file)
    except OSError:
        with suppress(OSError):
            if _is_regular(target):
                os.truncate(target, before)
        raise
