"""Names for new records and pictures. Nothing is overwritten: a taken name gets a number."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path

from commlens.base.errors import CommlensError, reason


def reserve(folder: Path, name: str, ending: str = "") -> Path:
    """Creates the folder, or with an ending the empty file, `folder`/`name`-<time>`ending`. Raises
    CommlensError where it cannot be written."""
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            path = folder / f"{stem if number == 1 else f'{stem}-{number}'}{ending}"
            with suppress(FileExistsError):
                path.touch(exist_ok=False) if ending else path.mkdir()
                return path
    except OSError as error:
        raise CommlensError(
            f"--out {folder}: results cannot be written there ({reason(error)}); "
            "name another folder"
        ) from None
    raise AssertionError("unreachable: count never ends")


def write_text(out: Path, path: Path, text: str) -> None:
    """Writes a file, and the folders that it needs; `out` is what the user named. Raises
    CommlensError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        file = "the file" if path == out else path.name
        raise CommlensError(f"--out {out}: {file} cannot be written ({reason(error)})") from None
