"""Reads files of records, joins each record with its start, and says what is wrong with lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Union

import msgspec

from commlens.errors import CommlensError
from commlens.profile import record as profile_record
from commlens.records.record import Record
from commlens.records.start import SCHEMA_VERSION, Start, StartLine

_NO_RECORD = f"not a record of schema {SCHEMA_VERSION}"


@dataclass(frozen=True)
class Loaded:
    records: list[Record] = field(default_factory=list)
    problems: list[str] = field(
        default_factory=list
    )  # "file:line: what is wrong", "file:2-40: ..."
    profiles: list[profile_record.Profile] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)  # with and without records


def load(paths: Iterable[Path]) -> Loaded:
    """The records and profiles in the files, and in the *.jsonl files of the folders.

    Raises CommlensError for a file that cannot be read and for a folder without records.
    """
    loaded = Loaded()
    for path in paths:
        for file in _files(path):
            _read(_lines(file), str(file), loaded)
    return loaded


def read(lines: Iterable[str], name: str = "records") -> Loaded:
    """The records and profiles in the lines of one file, which problems call `name`."""
    loaded = Loaded()
    _read(lines, name, loaded)
    return loaded


def _read(lines: Iterable[str], name: str, loaded: Loaded) -> None:
    reader = _Reader()
    problems: list[tuple[int, str]] = []
    for number, line in enumerate(lines, start=1):
        try:
            if profile_record.is_profile(line):
                loaded.profiles.append(profile_record.parse(line))
                continue
            found = reader.parse(line)
            if isinstance(found, Record):
                loaded.records.append(found)
            elif found is not None:
                loaded.starts.append(found)
        except ValueError as error:
            problems.append((number, str(error)))
    loaded.problems.extend(f"{name}:{where}: {text}" for where, text in _merged(problems))


def _merged(problems: Iterable[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Lines in a row with the same problem as one, `2-40`: a file of another schema has many."""
    by_text = groupby(enumerate(problems), key=lambda one: (one[1][0] - one[0], one[1][1]))
    for (_, text), own in by_text:
        numbers = [number for _, (number, _) in own]
        yield f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0]), text


class _Reader:
    """The starts of one file, which its records refer to."""

    def __init__(self) -> None:
        self._starts: dict[str, Start] = {}
        kinds = Union[StartLine, Record]
        self._decoder: msgspec.json.Decoder[StartLine | Record] = msgspec.json.Decoder(
            kinds, dec_hook=self._hook
        )

    def parse(self, line: str) -> Start | Record | None:
        """Raises ValueError, which says what is wrong with the line. None: a start as before."""
        try:
            found = self._decoder.decode(line)
        except msgspec.DecodeError as error:  # ValidationError is one of its kinds
            raise ValueError(_problem(line, error)) from None
        return found if isinstance(found, Record) else self._keep(found)

    def _keep(self, line: StartLine) -> Start | None:
        known = self._starts.get(line.start)
        if known is None:
            start = self._starts[line.start] = Start(line)
            return start
        if known.line != line:
            raise ValueError(f"a second start is called '{line.start}', and it is another one")
        return None

    def _hook(self, kind: type, value: Any) -> Any:
        if kind is array:
            return _samples(value)
        if not isinstance(value, str):
            raise ValueError("a start is named by a text")
        if value not in self._starts:
            raise ValueError(f"its start '{value}' is not in this file before it")
        return self._starts[value]


def _samples(values: Any) -> array[float]:
    """Of the numbers in a list, eight bytes each."""
    if not isinstance(values, list) or not all(type(value) in (float, int) for value in values):
        raise ValueError("samples are a list of numbers")
    if values and min(values) < 0:
        raise ValueError("a sample is negative")
    return array("d", values)


def _problem(line: str, error: msgspec.DecodeError) -> str:
    """What is wrong with a line that cannot be decoded."""
    try:
        data = msgspec.json.decode(line)
    except msgspec.DecodeError as malformed:
        cut = "" if line.endswith("\n") else "; its line was cut short"
        return f"not a record (not JSON: {malformed}{cut})"
    if not isinstance(data, dict):
        return "not a record (not a JSON object)"
    if data.get("schema", SCHEMA_VERSION) != SCHEMA_VERSION:
        return f"{_NO_RECORD} (its schema is {data['schema']})"
    message, _, path = str(error).partition(" - at `$")
    where = path.strip("`").lstrip(".")
    return f"{_NO_RECORD} ({_shortened(f'{where}: {message}' if where else message)})"


def _shortened(message: str, width: int = 160) -> str:
    return message if len(message) <= width else message[: width - 3] + "..."


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise CommlensError(f"{path} is a folder without a file of records (*.jsonl)")
    return files


def _lines(file: Path) -> Iterator[str]:
    try:
        if file.exists() and not file.is_file():
            raise CommlensError(
                f"{file} is a device or a pipe: write what it holds to a file, and name that"
            )
        with file.open(encoding="utf-8", errors="replace") as stream:
            yield from stream
    except OSError as error:
        raise CommlensError(f"{file} cannot be read: {error.strerror}") from None
