"""Names for new records and pictures. Nothing is overwritten: a taken name gets a number."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from commlens.base.errors import CommlensError, reason


def reserve_record_file(folder: Path, name: str) -> Path:
    """Creates `folder`/`name`-<time>.jsonl, empty. Raises CommlensError where it cannot be
    written."""

    def create(stem: str) -> Path:
        path = folder / f"{stem}.jsonl"
        path.touch(exist_ok=False)
        return path

    return _reserve(folder, name, create)


def reserve_folder(parent: Path, name: str) -> Path:
    """Creates the folder `parent`/`name`-<time>. Raises CommlensError where that fails."""

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
            f"--out {folder}: results cannot be written there ({reason(error)}); "
            "name another folder"
        ) from None
    raise AssertionError("unreachable: count never ends")
