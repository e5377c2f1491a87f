"""The transport without a library beside MPI's, on a host."""

from __future__ import annotations

from statistics import median

from commlens.base.text import format_bytes
from commlens.model import Record
from doc_tables import Row, table
from doc_tables.source import records, value

_TRANSPORTS = ("mpi", "peer")
_COLUMNS = (  # benchmark, timing, what the head says
    ("latency", "batch", "latency, same data"),
    ("latency", "each", "latency, new data"),
    ("allreduce", "batch", "allreduce in place"),
)
_METRICS = {"latency": "latency_us", "allreduce": "time_us"}


@table
def peer_host() -> list[Row]:
    pool = records("peer-host")
    head: Row = ["size"]
    for _, _, quantity in _COLUMNS:
        head += [f"{quantity}, µs: {_TRANSPORTS[0]}", _TRANSPORTS[1], "ratio"]
    rows: list[Row] = [head]
    for size in sorted({int(str(record.parameters["bytes"])) for record in pool}):
        row: Row = [format_bytes(size)]
        for benchmark, timing, _ in _COLUMNS:
            mpi, peer = (_of_launches(pool, benchmark, timing, name, size) for name in _TRANSPORTS)
            row += [f"{mpi:.3g}", f"{peer:.3g}", f"{mpi / peer:.2f}"]
        rows.append(row)
    return rows


def _of_launches(
    pool: list[Record], benchmark: str, timing: str, transport: str, size: int
) -> float:
    """The median of the launches' medians."""
    return median(
        value(record, _METRICS[benchmark])
        for record in pool
        if (record.benchmark, record.transport) == (benchmark, transport)
        and (record.harness.timing, record.parameters["bytes"]) == (timing, size)
    )
