"""Records as rows of a table for other programs: a mapping from column to value for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from commlens.model.record import Record

Row = dict[str, Any]


def rows(records: Iterable[Record]) -> Iterator[Row]:
    """A row per record: its median and the ends of its 95% interval for each metric."""
    for record in records:
        row = _case(record)
        for name, statistic in record.statistics.items():
            row[name] = statistic.median
            row[f"{name} low"], row[f"{name} high"] = statistic.ci_low, statistic.ci_high
        yield {**row, "samples": len(record.samples.values_s), **_settings(record)}


def rows_of_samples(records: Iterable[Record]) -> Iterator[Row]:
    """A row per sample: its time for one operation in seconds."""
    for record in records:
        case, settings = _case(record), _settings(record)
        for number, seconds in enumerate(record.samples.values_s):
            yield {**case, "sample": number, "seconds": seconds, **settings}


def _case(record: Record) -> Row:
    start = record.start
    return {
        "benchmark": record.benchmark,
        "transport": record.transport,
        "memory": record.memory,
        "ranks": record.ranks,
        "nodes": start.nodes,
        "host": start.host,
        "launch": start.start,
        "time": record.time,
        "status": record.status,
        "reason": record.reason or record.validation.message,
        **{start.parameters[name].title: value for name, value in record.parameters.items()},
    }


def _settings(record: Record) -> Row:
    versions = {f"version of {name}": str(text) for name, text in record.start.versions.items()}
    return {**versions, **record.start.environment}
