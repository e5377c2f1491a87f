"""The transport without a library beside MPI's, on a host."""

from __future__ import annotations

from statistics import median

from commlens.records import Record
from commlens.text import format_bytes
from doc_tables import Row, table
from doc_tables.source import records, value

_METRICS = {  # with the unit in the head, and whether more is better
    "latency": ("latency_us", "µs", False),
    "bandwidth": ("bandwidth_GBps", "GB/s", True),
    "allreduce": ("time_us", "µs", False),
}
_TRANSPORTS = ("mpi", "peer")


@table
def peer_host() -> list[Row]:
    pool = records("peer-host")
    head: Row = ["size"]
    for benchmark, (_, unit, _) in _METRICS.items():
        head += [f"{benchmark}, {unit}: {_TRANSPORTS[0]}", _TRANSPORTS[1], "ratio"]
    rows: list[Row] = [head]
    for size in sorted({int(str(record.parameters["bytes"])) for record in pool}):
        row: Row = [format_bytes(size)]
        for benchmark, (metric, _, more_is_better) in _METRICS.items():
            mpi, peer = (_of_starts(pool, benchmark, one, size, metric) for one in _TRANSPORTS)
            gain = peer / mpi if more_is_better else mpi / peer
            row += [f"{mpi:.3g}", f"{peer:.3g}", f"{gain:.2f}"]
        rows.append(row)
    return rows


def _of_starts(pool: list[Record], benchmark: str, transport: str, size: int, metric: str) -> float:
    """The median of the starts' medians."""
    return median(
        value(record, metric)
        for record in pool
        if (record.benchmark, record.transport) == (benchmark, transport)
        and record.parameters["bytes"] == size
    )
