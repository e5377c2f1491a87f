"""What the store has of a record: its case, its median, and what may explain a change."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, Optional

import msgspec

from commlens.base.errors import CommlensError
from commlens.compare.matching import description, facts_of
from commlens.jobs.sites import site
from commlens.model import Record, case_key, read
from commlens.model.embedded import encoded
from commlens.model.interference import why_busy
from commlens.model.start import Metric, Start

_DIGEST_BYTES = 16
FORMAT = 1  # of a batch in a spool folder


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a batch as a file."""

    history: int
    machine: str
    seen: Mapping[str, str]


class Explanations(msgspec.Struct, frozen=True):
    """What may explain a change."""

    versions: Mapping[str, str] = {}  # of software and firmware
    settings: Mapping[str, str] = {}  # and where it ran


@dataclass(frozen=True)
class Batch:
    """Records that are added together, and what is known of their machine."""

    records: Sequence[Record]
    machine: str = ""  # its name; empty: that of the site, else of the host
    seen: Mapping[str, str] = field(default_factory=dict)  # versions that records do not have

    def to_bytes(self) -> bytes:
        """As a file: a line about the batch, and the lines of its records."""
        launches = {record.start.start: record.start for record in self.records}
        head = msgspec.json.encode(_Head(FORMAT, self.machine, self.seen)) + b"\n"
        return head + b"".join(encoded(launches.values(), self.records, []))

    @classmethod
    def of_bytes(cls, data: bytes) -> Batch:
        """The batch in such a file. Raises ValueError for what is none."""
        first, *lines = data.decode().splitlines(keepends=True)
        head = msgspec.json.decode(first, type=_Head)
        loaded = read(lines)
        if loaded.problems or head.history != FORMAT:
            raise ValueError(next(iter(loaded.problems), f"format {head.history}"))
        return cls(loaded.records, head.machine, head.seen)


class CaseRow(NamedTuple):
    """A case on a machine."""

    key: str
    machine: str
    benchmark: str
    metric: str  # the declaration, as JSON
    words: str  # its description, as JSON


class LaunchRow(NamedTuple):
    """A launch."""

    digest: bytes
    name: str
    time: str
    machine: str
    facts: str  # as JSON
    line: bytes  # compressed


class RecordRow(NamedTuple):
    """A record: what a table needs, and the whole."""

    digest: bytes
    case: CaseRow
    launch: LaunchRow
    status: str
    median: Optional[float]  # noqa: UP045 (evaluated by Python 3.9)
    busy: str
    facts: str  # as JSON
    line: bytes  # compressed


def rows_of(batch: Batch) -> Iterator[RecordRow]:
    """What is stored of each record; those of a case that was skipped say nothing of its speed, and
    are left out."""
    by_launch: dict[str, list[Record]] = {}
    for record in batch.records:
        if record.status != "skipped" and metric_of(record) is not None:
            by_launch.setdefault(record.start.start, []).append(record)
    for records in by_launch.values():
        start = records[0].start
        line, *lines = encoded([start], records, [])
        machine = batch.machine or machine_of(start)
        settings = {k: text for k, text in facts_of(start).items() if k not in start.versions}
        facts = _json(Explanations(_sorted({**batch.seen, **start.versions}), _sorted(settings)))
        launch = LaunchRow(
            _digest(line), start.start, start.time, machine, facts, zlib.compress(line)
        )
        for record, text in zip(records, lines):
            yield _row(record, launch, text)


def _row(record: Record, launch: LaunchRow, line: bytes) -> RecordRow:
    metric, key = metric_of(record), case_key(record)
    assert metric is not None, "those without one are left out"
    identity = [launch.machine, *key, metric.name, metric.unit, metric.better]
    case = CaseRow(
        _json(identity),
        launch.machine,
        record.benchmark,
        _json(metric),
        _json(description(key, record)),
    )
    selected = {f"selected {name}": text for name, text in record.selection.items()}
    facts = _json(Explanations(_sorted(record.libraries), _sorted(selected)))
    median = record.statistics[metric.name].median if record.measured else None
    digest = _digest(launch.digest + line)
    busy = why_busy(record)
    return RecordRow(digest, case, launch, record.status, median, busy, facts, zlib.compress(line))


def metric_of(record: Record) -> Metric | None:
    """The main metric: of a record that failed the one that it would have."""
    return record.main or next(iter(record.start.metrics.values()), None)


def machine_of(start: Start) -> str:
    """The site that the host of rank 0 belongs to, else the host."""
    return _site_of(start.host) or start.host


@cache
def _site_of(host: str) -> str:
    return next((known.site for known in sites_without_mistakes() if known.is_here(host)), "")


@cache
def sites_without_mistakes() -> list[site.Site]:
    """All sites; who names one is told of its mistakes."""
    known = []
    for name in site.names():
        with suppress(CommlensError):
            known.append(site.load(name))
    return known


def _sorted(facts: Mapping[str, str]) -> dict[str, str]:
    """The same facts are one row, in whatever order they were read."""
    return dict(sorted(facts.items()))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_DIGEST_BYTES]
