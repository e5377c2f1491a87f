"""Where records and pictures go. Nothing is ever overwritten: a name that is taken gets a number."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from commlens.errors import CommlensError
from commlens.text import plural


def reserve_record_file(folder: Path, name: str) -> Path:
    """Creates `folder`/`name`-<time>.jsonl, empty. Raises CommlensError where it cannot be written."""

    def create(stem: str) -> Path:
        path = folder / f"{stem}.jsonl"
        path.touch(exist_ok=False)
        return path

    return _reserve(folder, name, create)


def reserve_folder(parent: Path, name: str) -> Path:
    """Creates the folder `parent`/`name`-<time>. Raises CommlensError where it cannot be written."""

    def create(stem: str) -> Path:
        path = parent / stem
        path.mkdir()
        return path

    return _reserve(parent, name, create)


def _reserve(folder: Path, name: str, create: Callable[[str], Path]) -> Path:
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            with suppress(FileExistsError):
                return create(stem if number == 1 else f"{stem}-{number}")
    except OSError as error:
        raise CommlensError(
            f"--out {folder}: results cannot be written there ({reason(error)}); name another folder"
        ) from None
    raise AssertionError("unreachable: count never ends")


def reason(error: OSError) -> str:
    """The operating system's reason, where it names a file in the way of a folder as such."""
    in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
    return "a file is in the way" if in_the_way else error.strerror or str(error)


def record_count(path: Path) -> int:
    """How many whole lines the file of records has; 0 where there is none."""
    with suppress(OSError):
        return path.read_bytes().count(b"\n") if is_file(path) else 0
    return 0


def is_file(path: Path) -> bool:
    """Whether it can be read back. A device or a pipe, to which records may go too, need not end."""
    try:
        return path.is_file()
    except OSError:
        return False


def kept(path: Path, before: int) -> str:
    """What a run that ended early leaves, where the file had `before` records: `3 records kept in FILE`."""
    with suppress(OSError):
        if path.exists() and not path.is_file():
            return f"what was recorded went to {path}"
    records = record_count(path) - before
    return f"{plural(records, 'record')} kept in {path}" if records else "no record was written"


def discard_if_empty(path: Path) -> None:
    """Removes a reserved file into which nothing was written."""
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()
