"""The files that commands write. A new name is reserved, with a number if it is taken; a file that
the user names is replaced only if commlens wrote it, as the same kind of output."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from commlens.base.errors import CommlensError, reason

_LONGEST_NAME = 100  # bytes
_ENDS_BYTES = 1 << 16  # of the beginning and of the end of a file, where its mark is


class Kind(NamedTuple):
    """A kind of output, and the regular expression by which its files are recognized."""

    name: str
    mark: str


PICTURE_MARK = "drawn by commlens"  # in the metadata of a picture
RECORDS = Kind("records", r'\A\s*\{[^\n]*"(?:kind"\s*:\s*"(?:st|rec|rer)|profile"\s*:\s*\d)')
TIMELINE = Kind("a timeline", r'\A\{"displayTimeUnit":"ms","traceEvents":\[')
PICTURE = Kind("a picture", PICTURE_MARK)
PAGE = Kind("a report", r'\A<!doctype html>[^\0]*<meta name="generator" content="commlens ')
MARKDOWN = Kind("a report", r"\A# [^\0]*\n## What was found\n")
TABLE = Kind("a history", r"\Amachine,benchmark,case,metric,")
PARQUET = Kind("a history", r"(?s)\APAR1.*written by commlens")
JUNIT = Kind("a JUnit file", r'\A<\?xml [^>]*>\s*<testsuites name="commlens history"')
PROMETHEUS = Kind("metrics of Prometheus", r"\A# HELP commlens_")
EXAMINATION = Kind("what doctor found", r'\A\{\s*"checks":')


def check(path: Path, kind: Kind, option: str = "--out", inputs: Iterable[Path] = ()) -> None:
    """Raises CommlensError where writing there would lose something: an input of the command, or a
    file that commlens did not write as this kind. To a device or a pipe anything can be written."""
    try:
        if path.exists() and _is_stream(path):
            return
        why = ""
        if not path.exists():
            why = why_not_made(path)
        elif path.is_dir():
            why = "it is a folder"
        elif any(other.exists() and path.samefile(other) for other in inputs):
            why = "this command reads it"
        elif path.stat().st_size and not re.search(kind.mark.encode(), _ends(path)):
            why = f"it exists, and commlens did not write it as {kind.name}"
    except (OSError, ValueError) as error:
        why = reason(error)
    if why:
        raise CommlensError(f"{option} {path} cannot be written: {why}; name another file")


def why_not_made(path: Path) -> str:
    """Why a new file cannot be made there; empty where it may."""
    folder = Path(os.path.realpath(path)).parent
    while not os.path.lexists(folder):  # those that are missing are made
        folder = folder.parent
    if not folder.is_dir():
        return "a file is in the way"
    return "" if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"


def _is_stream(path: Path) -> bool:
    mode = path.stat().st_mode
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _ends(path: Path) -> bytes:
    with path.open("rb") as file:
        beginning = file.read(_ENDS_BYTES)
        file.seek(max(file.tell(), path.stat().st_size - _ENDS_BYTES))
        return beginning + file.read(_ENDS_BYTES)


def is_name(text: str) -> bool:
    """Whether a new file or folder can have this name: a single component of a path, not hidden."""
    is_plain = text.isprintable() and "/" not in text and not text.startswith((".", "-"))
    return bool(text) and is_plain and len(text.encode(errors="replace")) <= _LONGEST_NAME


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


def write(path: Path, data: str | bytes, kind: Kind, option: str = "--out") -> None:
    """Writes a file of this kind, and the folders that it needs. Raises CommlensError where that
    fails, or would lose something (`check`)."""
    check(path, kind, option)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without O_NONBLOCK a pipe that nobody reads would never be open.
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
            os.set_blocking(file.fileno(), True)
            file.write(data.encode(errors="replace") if isinstance(data, str) else data)
    except OSError as error:
        if path.is_file():  # half of it would be nobody's, and in the way of the next one
            with suppress(OSError):
                os.truncate(path, 0)
        raise CommlensError(
            f"{option} {path}: {kind.name} cannot be written there ({reason(error)})"
        ) from None


def write_at_once(path: Path, data: str | bytes, kind: Kind, option: str = "--out") -> None:
    """The same of a file that others may read at any time: it is the old one, or the new one."""
    check(path, kind, option)
    if path.exists() and _is_stream(path):
        write(path, data, kind, option)
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    write(unfinished, data, kind, option)
    try:
        if path.exists():
            unfinished.chmod(stat.S_IMODE(path.stat().st_mode))
        unfinished.replace(Path(os.path.realpath(path)))  # a link stays one
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise CommlensError(
            f"{option} {path}: {kind.name} cannot be written there ({reason(error)})"
        ) from None
