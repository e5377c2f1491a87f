"""Records as a file of the native program would give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commlens.model import Record, read
from sample_records import lines, make_record


def parsed(*records: dict[str, Any]) -> list[Record]:
    loaded = read(lines(records))
    assert not loaded.problems, loaded.problems
    return loaded.records


def record(**changes: Any) -> Record:
    return parsed(make_record(**changes))[0]


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(lines(records)))
    return path
