"""Reads files of records, joins records with their launches, and reports bad lines."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import Any, Union

import msgspec
from msgspec.structs import force_setattr

from commlens.base.errors import CommlensError, reason
from commlens.base.inputs import open_input
from commlens.base.json_line import NotJsonError, decode
from commlens.base.text import plural
from commlens.knowledge.secrets import mask_words
from commlens.model import embedded
from commlens.model import profile as profile_record
from commlens.model.record import Record
from commlens.model.reroute import Reroute
from commlens.model.start import LARGEST_NUMBER, SCHEMA_VERSION, Start, StartLine

_MOST_PROBLEMS = 20  # of a file
_MOST_BAD_LINES = 100_000  # of a file, which is then none of records
_LONGEST_NAME = 200
_MOST_FOLDERS, _DEEPEST = 10_000, 4
TRIALS = "trials"  # a folder of a search
_MOST_BYTES = 4 << 30  # far more than a hundred thousand records
_TELL_EACH = 10_000  # lines: a file of fewer is read at once
_ALIKE = ("time", "benchmark", "transport", "memory", "harness", "validation")
_ALIKE_MAPPINGS = ("parameters", "calls", "libraries", "selection")
_PROFILE = re.compile(r'\s*\{\s*"profile"\s*:')
_GZIP, _UTF_16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
_TRACE = b"commlens trace "

Tell = Callable[[str], None]  # what is done now


@dataclass
class Loaded:
    """What files of records hold, and what is wrong with their lines."""

    records: list[Record] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # "file:line: what", "file:2-40: what"
    profiles: list[profile_record.Profile] = field(default_factory=list)
    reroutes: list[Reroute] = field(default_factory=list)
    launches: list[Start] = field(default_factory=list)  # with and without records
    dropped: int = 0  # records for which there was no room

    def extend(self, other: Loaded) -> None:
        """Adds what another file holds."""
        self.records.extend(other.records)
        self.problems.extend(other.problems)
        self.profiles.extend(other.profiles)
        self.reroutes.extend(other.reroutes)
        self.launches.extend(other.launches)
        self.dropped += other.dropped


class Room:
    """For how many records there is room, in all files together. What failed has room of its own,
    as it is what a reader must see."""

    def __init__(self, most: int) -> None:
        self._measured, self._failed = most, most // 10

    def takes(self, record: Record) -> bool:
        """Whether the record is kept; takes its place."""
        if record.status == "failed" and self._failed:
            self._failed -= 1
            return True
        self._measured -= 1
        return self._measured >= 0


def load(paths: Iterable[Path], tell: Tell = lambda _: None) -> Loaded:
    """The records and profiles in the files, and in the *.jsonl files of the folders. A file may be
    a report, which has its records in it. One that is named twice, by itself and by its folder, is
    read once.

    Raises CommlensError for a file that cannot be read and for a folder without records.
    """
    loaded = Loaded()
    files = {os.path.realpath(file): file for path in paths for file in _files(path)}
    for _, contents in load_each(files.values(), tell=tell):
        loaded.extend(contents)
    return loaded


def load_each(
    paths: Iterable[Path], room: Room | None = None, tell: Tell = lambda _: None
) -> list[tuple[str, Loaded]]:
    """The same of each file by itself, with its name. Those in a report are files of their own.
    Records for which there is no room are looked at and counted, and not kept."""
    return [entry for path in paths for file in _files(path) for entry in _load(file, room, tell)]


def _load(file: Path, room: Room | None, tell: Tell) -> Iterator[tuple[str, Loaded]]:
    try:
        if embedded.is_page(file):
            for name, lines in embedded.unpacked(file):
                yield name, _Reader(f"{file}: {name}", room).read(lines)
        else:
            yield file.name, _Reader(str(file), room).read(_lines(file, tell))
    except ValueError as error:
        yield file.name, Loaded(problems=[f"{file}: {error}"])


def read(lines: Iterable[str], name: str = "records") -> Loaded:
    """The records and profiles in the lines of one file, which problems call `name`."""
    return _Reader(name).read(lines)


def _merged(problems: Iterable[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Lines in a row with the same problem as one, `2-40`: a file of another schema has many."""
    by_text = groupby(enumerate(problems), key=lambda pair: (pair[1][0] - pair[0], pair[1][1]))
    for (_, text), lines in by_text:
        numbers = [number for _, (number, _) in lines]
        yield f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0]), text


class _Reader:
    """Of one file, whose records refer to its launches."""

    def __init__(self, name: str, room: Room | None = None) -> None:
        self._name, self._room = name, room
        self._loaded = Loaded()
        self._launches: dict[str, Start] = {}
        self._shared: dict[Any, Any] = {}
        self._decoder: msgspec.json.Decoder[StartLine | Record | Reroute] = msgspec.json.Decoder(
            Union[StartLine, Record, Reroute], dec_hook=self._hook
        )

    def read(self, lines: Iterable[str]) -> Loaded:
        problems: list[tuple[int, str]] = []
        messages = self._loaded.problems
        try:
            for number, line in enumerate(lines, start=1):
                try:
                    self._keep(line)
                except ValueError as error:
                    problems.append((number, str(error)))
                    if len(problems) == _MOST_BAD_LINES:
                        raise ValueError(
                            f"{_MOST_BAD_LINES:,} lines without a record: the rest was not read"
                        ) from None
        except ValueError as error:  # of all lines
            messages.append(f"{self._name}: {error}")
        merged = list(_merged(problems))
        messages += [f"{self._name}:{where}: {text}" for where, text in merged[:_MOST_PROBLEMS]]
        if (hidden := len(merged) - _MOST_PROBLEMS) > 0:
            messages.append(f"{self._name}: {plural(hidden, 'more line')} without a record")
        return self._loaded

    def _keep(self, line: str) -> None:
        """Raises ValueError with what is wrong with the line."""
        if _PROFILE.match(line):
            self._loaded.profiles.append(profile_record.parse(line))
            return
        try:
            decoded = decode(line, self._decoder)
        except NotJsonError as error:
            raise ValueError(f"not a record ({error})") from None
        except ValueError as error:
            raise ValueError(f"not a record{_of_schema(line, error)}") from None
        if isinstance(decoded, StartLine):
            self._keep_launch(decoded)
        elif isinstance(decoded, Reroute):
            command = mask_words(decoded.command)
            self._loaded.reroutes.append(msgspec.structs.replace(decoded, command=command))
        elif self._room is None or self._room.takes(decoded):
            self._share(decoded)
            self._loaded.records.append(decoded)
        else:
            self._loaded.dropped += 1

    def _keep_launch(self, line: StartLine) -> None:
        known = self._launches.get(line.start)
        if known is None:
            declared = msgspec.json.encode(line.benchmark)  # the same in very many launches
            force_setattr(line, "benchmark", self._shared.setdefault(declared, line.benchmark))
            start = self._launches[line.start] = Start(line)
            self._loaded.launches.append(start)
        elif known.line != line:
            raise ValueError(f"a second start is called '{line.start}', and it is another one")

    def _share(self, record: Record) -> None:
        """What many records have alike is one object for all: a quarter of the memory of each."""
        for owner, names in (
            (record, _ALIKE),
            (record.samples, ("operation",)),
            *((ceiling, ("name", "method", "unit")) for ceiling in record.ceilings),
        ):
            for name in names:
                value = getattr(owner, name)
                force_setattr(owner, name, self._shared.setdefault(value, value))
        for name in _ALIKE_MAPPINGS:
            if mapping := getattr(record, name):
                key = msgspec.json.encode(mapping)  # which keeps 1 and true apart
                force_setattr(record, name, self._shared.setdefault(key, mapping))

    def _hook(self, kind: type, value: Any) -> Any:
        if kind is array:
            return _samples(value)
        if not isinstance(value, str):
            raise ValueError("a start is named by a text")
        if value not in self._launches:
            raise ValueError(
                f"its start '{value}' is not in this file before it, or could not be read"
            )
        return self._launches[value]


def _samples(values: Any) -> array[float]:
    """Of the numbers in a list, eight bytes each."""
    if not isinstance(values, list) or not all(type(value) in (float, int) for value in values):
        raise ValueError("samples are a list of numbers")
    if values and min(values) < 0:
        raise ValueError("a sample is negative")
    if values and max(values) > LARGEST_NUMBER:
        raise ValueError("a sample is too large to be a time")
    return array("d", values)


def _of_schema(line: str, error: ValueError) -> str:
    """What is wrong with a line of JSON, which may be of another schema or of none."""
    with suppress(ValueError, RecursionError):
        data = msgspec.json.decode(line)
        if not isinstance(data, dict):
            return " (not a JSON object)"
        if data.get("schema", SCHEMA_VERSION) != SCHEMA_VERSION:
            return f" of schema {SCHEMA_VERSION} (its schema is {str(data['schema'])[:20]})"
    return f" of schema {SCHEMA_VERSION} ({error})"


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
        files = record_files(path)
    except (OSError, ValueError) as error:
        name = str(path)[:_LONGEST_NAME]
        raise CommlensError(f"{name} cannot be read: {reason(error)}") from None
    if not files:
        raise CommlensError(f"{path} is a folder without a file of records (*.jsonl)")
    return files


def record_files(folder: Path) -> list[Path]:
    """The files *.jsonl in it and in the folders below it, as suites and jobs have folders of their
    own; the trials of a search only where that is named itself."""
    files: list[Path] = []
    for number, (place, below, names) in enumerate(os.walk(folder)):
        if number == _MOST_FOLDERS:
            raise CommlensError(
                f"{folder} has over {_MOST_FOLDERS:,} folders: name one with records"
            )
        here = Path(place)
        depth = len(here.parts) - len(folder.parts)
        below[:] = sorted(
            name for name in below if depth < _DEEPEST and (not depth or name != TRIALS)
        )
        files += sorted(here / name for name in names if name.endswith(".jsonl"))
    return files


def _lines(file: Path, tell: Tell) -> Iterator[str]:
    kind = "a file that holds records"
    with open_input(file, kind=kind, most_bytes=_MOST_BYTES) as stream:
        try:
            _refuse_other_formats(stream.readline(2**16))
            stream.seek(0)
            text = TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")
            for number, line in enumerate(text, start=1):
                if number % _TELL_EACH == 0:
                    tell(f"reading {file.name}: {number:,} lines")
                yield line
        except OSError as error:
            raise CommlensError(f"{file} cannot be read: {reason(error)}") from None


def _refuse_other_formats(first: bytes) -> None:
    """Raises ValueError for what would be a problem in each of its lines."""
    if first.startswith(_GZIP):
        raise ValueError("compressed by gzip: unpack it first (gunzip)")
    if first.startswith(_TRACE):
        raise ValueError("a trace of calls: commlens trace info shows it")
    if first.startswith(_UTF_16):
        raise ValueError("text in UTF-16: records are UTF-8")
    if b"\0" in first:
        raise ValueError("not text")
    if first.strip() in (b"{", b"["):
        raise ValueError("JSON over several lines: a record is one line (jq -c . makes it one)")
