"""What doctor wrote, beside the records that a report is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from commlens.base.errors import CommlensError, reason
from commlens.model import embedded
from commlens.render.doctor_document import FILE, Document, parse

_MOST_BYTES = 2**24


@dataclass(frozen=True)
class Examined:
    """`texts` are the files by their names."""

    texts: list[tuple[str, str]] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def examined(paths: Iterable[Path]) -> tuple[list[Path], Examined]:
    """The paths that have records, and what doctor wrote: in files *.json, beside the records of a
    folder, and in reports."""
    with_records: list[Path] = []
    found = Examined()
    for path in paths:
        own = list(_texts(path))
        for name, text in own:
            try:
                found.documents.append(parse(text))
                found.texts.append((name, text))
            except ValueError as error:
                found.problems.append(f"{path if path.is_file() else path / name}: {error}")
        is_without = path.suffix == ".json" or (path.is_dir() and not any(path.glob("*.jsonl")))
        if not (own and is_without):
            with_records.append(path)
    return with_records, found


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    file = path / FILE if path.is_dir() else path
    if path.suffix == ".json" or (path.is_dir() and file.is_file()):
        yield file.name, _read(file)
    elif path.is_file() and embedded.is_page(path):
        with suppress(ValueError):  # of a page that is damaged: who reads its records says so
            for name, lines in embedded.unpacked(path, embedded.DOCTOR):
                yield name, "".join(lines)


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise CommlensError(f"{file} is too large for what doctor writes")
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise CommlensError(f"{file} cannot be read: {reason(error)}") from None
