"""Adds records to a store that several jobs on several machines may write to, and loses none.

Who writes holds a lock on a file beside the store. Where it cannot be had in time, or the store
cannot be written, the records go into a spool folder beside the store, each batch as a file of its
own that appears whole; the next one who writes takes it in. A batch that was taken in and whose
file is still there, as after a crash, is taken in again: each record is stored once.
"""

from __future__ import annotations

import fcntl
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from commlens.base.errors import CommlensError, Status, reason, say
from commlens.base.text import plural
from commlens.compare.history.entries import Batch, rows_of
from commlens.compare.history.store import (
    Inserter,
    changing,
    check,
    check_there,
    reading,
    remove,
    shrink,
    stored,
)

_LOCK, _SPOOL = ".lock", ".spool"  # after the name of the store
_ENDING, _UNREADABLE = ".batch", ".unreadable"
_PATIENCE_S = 20.0
_POLL_S = 0.02, 0.2  # at random, so that writers do not meet again


@dataclass(frozen=True)
class Added:
    """What has become of a batch."""

    path: Path
    added: int = 0  # of this batch, and of what was in the spool folder
    present: int = 0  # was there before
    spooled: int = 0  # waits for the next one who writes
    why: str = ""  # it waits

    def __str__(self) -> str:
        if self.spooled:
            records = plural(self.spooled, "record")
            return f"{records} kept beside {self.path}, for the next `history add` ({self.why})"
        before = f", {plural(self.present, 'record')} there before" if self.present else ""
        return f"{plural(self.added, 'record')} added to {self.path}{before}"


def add(path: Path, batch: Batch, patience_s: float = _PATIENCE_S) -> Added:
    """Adds the records, each once. Raises CommlensError where they can be kept nowhere."""
    check(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommlensError(f"--store {path} cannot be written: {reason(error)}") from None
    why = ""
    with locked(path, patience_s) as why_not:
        why = why_not
        if not why:
            try:
                return _stored(path, batch)
            except sqlite3.Error as error:
                why = str(error)
    return _spooled(path, batch, why)


def merge(path: Path, other: Path) -> Added:
    """Adds all that another store has. Raises CommlensError where that fails."""
    check(path)
    if path.exists() and other.exists() and path.samefile(other):
        raise CommlensError(f"OTHER {other} is the store itself; name another one")
    with reading(other, "OTHER") as source, exclusive(path), changing(path) as connection:
        inserter = Inserter(connection)
        inserter.insert(stored(source))
    return Added(path, inserter.added, inserter.present)


class Pruned(NamedTuple):
    """What `prune` has removed, or would."""

    records: int
    launches: int  # of which nothing is left
    kept: int  # records


def prune(
    path: Path, *, before: str = "", newest: int | None = None, is_dry: bool = False
) -> Pruned:
    """Removes the records of launches before this time, and of each case all but those of the
    newest launches. Raises CommlensError where that fails."""
    if is_dry:
        with reading(path) as connection:
            return _to_prune(connection, before, newest)[0]
    check_there(path)
    with exclusive(path):
        with changing(path) as connection:
            pruned, numbers = _to_prune(connection, before, newest)
            remove(connection, numbers)
        shrink(path)
    return pruned


def _to_prune(
    connection: sqlite3.Connection, before: str, newest: int | None
) -> tuple[Pruned, list[int]]:
    """What would be left, and the numbers of the records that would not."""
    rows = connection.execute(
        "SELECT records.id, of_case, launch, time FROM records"
        " JOIN launches ON launches.id = launch ORDER BY time DESC, launch DESC"
    ).fetchall()
    launches_of: dict[int, dict[int, None]] = {}  # of a case, the newest first
    for _, case, launch, _ in rows:
        launches_of.setdefault(case, {})[launch] = None
    kept_launches = {case: {*list(launches)[:newest]} for case, launches in launches_of.items()}
    kept = [row for row in rows if row[3] >= before and row[2] in kept_launches[row[1]]]
    left = {row[0] for row in kept}
    removed = [row[0] for row in rows if row[0] not in left]
    launches = {row[2] for row in rows} - {row[2] for row in kept}
    return Pruned(len(removed), len(launches), len(kept)), removed


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """While nobody else writes to the store. Raises CommlensError where somebody does all the
    time, or where what is done fails."""
    with locked(path, _PATIENCE_S) as why:
        if why:
            raise CommlensError(f"--store {path}: {why}; try again", Status.FAILED)
        try:
            yield
        except sqlite3.Error as error:
            raise CommlensError(
                f"--store {path} cannot be written: {error}", Status.FAILED
            ) from None


@contextmanager
def locked(path: Path, patience_s: float) -> Iterator[str]:
    """Holds the lock, which ends with its process; gives why it could not be had, else nothing."""
    descriptor, why = -1, ""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(path.with_name(path.name + _LOCK), flags, 0o666)
        why = _why_not_locked(descriptor, patience_s)
    except OSError as error:
        why = f"it cannot be locked: {reason(error)}"
    try:
        yield why
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _why_not_locked(descriptor: int, patience_s: float) -> str:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return f"others have been writing for {patience_s:g} s"
            time.sleep(random.uniform(*_POLL_S))
        else:
            return ""


def _stored(path: Path, batch: Batch) -> Added:
    waiting = list(_waiting(path))
    with changing(path) as connection:
        inserter = Inserter(connection)
        for _, waited in waiting:
            inserter.insert(rows_of(waited))
        present = inserter.present  # of the spool folder: that is nobody's news
        inserter.insert(rows_of(batch))
    for file, _ in waiting:
        with suppress(OSError):
            file.unlink()
    return Added(path, inserter.added, inserter.present - present)


def waiting(path: Path) -> bool:
    """Whether records wait beside the store."""
    return any(path.with_name(path.name + _SPOOL).glob(f"*{_ENDING}"))


def _waiting(path: Path) -> Iterator[tuple[Path, Batch]]:
    """The batches in the spool folder. One that cannot be read is put aside."""
    for file in sorted(path.with_name(path.name + _SPOOL).glob(f"*{_ENDING}")):
        try:
            yield file, Batch.of_bytes(file.read_bytes())
        except OSError as error:
            say(f"{file}: {reason(error)}; it stays there")
        except ValueError as error:
            with suppress(OSError):
                file.rename(file.with_suffix(_UNREADABLE))
            say(f"{file}: not what `history add` writes ({error}); it is kept as *{_UNREADABLE}")


def _spooled(path: Path, batch: Batch, why: str) -> Added:
    folder = path.with_name(path.name + _SPOOL)
    name = f"{time.time_ns()}-{uuid4().hex}"
    unfinished = folder / f"{name}.new"
    try:
        folder.mkdir(exist_ok=True)
        with unfinished.open("wb") as file:
            file.write(batch.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(folder / f"{name}{_ENDING}")
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise CommlensError(
            f"--store {path} cannot be written ({why}), nor can {folder} ({reason(error)}): the"
            " records are only in their files; name another store",
            Status.FAILED,
        ) from None
    return Added(path, spooled=len(batch.records), why=why)
