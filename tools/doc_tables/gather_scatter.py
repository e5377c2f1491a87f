"""Gather-scatters."""

from __future__ import annotations

from commlens.model import Record
from doc_tables import Row, table
from doc_tables.source import fact, median, part_s, records, time_us

_PARTS = ("pack", "exchange", "local", "unpack")
_EXCHANGE = ("exchange alone, µs", "avg bi-bw, GB/s/rank")


def _exchange(record: Record) -> list[str]:
    return [fact(record, name, ".1f") for name in ("exchange_avg_us", "bidirectional_GBps")]


@table
def gather_scatter() -> list[Row]:
    rows: list[Row] = [
        [
            *("two H200s, 40x20x20 elements, f64", "`--mode`", "name in nekRS", "time, µs"),
            *(*_PARTS, "nekRS's selection time, µs", *_EXCHANGE),
        ]
    ]
    pool = records("h200-x2/gather-scatter")
    for record in pool:
        candidate = record.candidate
        assert candidate
        candidates = [other.candidate for other in pool if other.candidate]
        is_used = candidate.seconds == min(other.seconds for other in candidates)
        rows.append(
            [
                record.transport,
                str(record.parameters["mode"]),
                f"**{candidate.name}**, used" if is_used else candidate.name,
                median(record, "time_us"),
                *(f"{1e6 * part_s(record, part):.1f}" for part in _PARTS),
                fact(record, "selection_us", ".1f"),
                *_exchange(record),
            ]
        )
    return rows


@table
def gather_scatter_kinds() -> list[Row]:
    rows: list[Row] = [
        ["two H200s, pairwise", "transport", "gather-scatter, µs", *_EXCHANGE],
    ]
    for record in records("h200-x2/gather-scatter-fields"):
        options = record.parameters
        is_other = options["dtype"] != options["exchange_dtype"]
        exchange = f", exchanged as {options['exchange_dtype']}" if is_other else ""
        fields = "1 field" if options["fields"] == 1 else f"{options['fields']} fields"
        rows.append(
            [
                f"{fields}, {options['dtype']}{exchange}",
                record.transport,
                median(record, "time_us"),
                *_exchange(record),
            ]
        )
    return rows


@table
def gather_scatter_overlap() -> list[Row]:
    rows: list[Row] = [
        [
            *("two H200s", "`--mode`", "gather-scatter, µs", "operator, µs"),
            "both, `--overlap`, µs",
        ]
    ]
    alone = {
        (record.transport, record.parameters["mode"]): time_us(record)
        for record in records("h200-x2/gather-scatter")
    }
    for record in records("h200-x2/gather-scatter-overlap"):
        mode = str(record.parameters["mode"])
        times = [
            alone[record.transport, mode],
            1e6 * part_s(record, "operator"),
            time_us(record),
        ]
        rows.append([record.transport, mode, *(f"{time:.1f}" for time in times)])
    return rows
