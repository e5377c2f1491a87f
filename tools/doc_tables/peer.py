"""The transport without a library beside the others, on a host and between GPUs."""

from __future__ import annotations

from statistics import median

from commlens.base.text import format_bytes
from commlens.model import Record
from doc_tables import Row, table
from doc_tables.source import NOTHING, find, records, value
from doc_tables.source import median as figure

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


_BETWEEN_GPUS = {  # benchmark, type: in the table
    ("latency", None): "latency_us",
    ("bandwidth", None): "bandwidth_GBps",
    ("allreduce", "f32"): "time_us",
    ("reduce", "f32"): "time_us",
    ("reduce-scatter", "f32"): "time_us",
    ("alltoall", "u8"): "time_us",
    ("allgather", "u8"): "time_us",
    ("shift", "u8"): "time_us",
}


_ONE_SIDED = {
    ("put-latency", None): "latency_us",
    ("get-latency", None): "latency_us",
    ("put-bandwidth", None): "bandwidth_GBps",
    ("accumulate-latency", "f32"): "latency_us",
}


@table
def peer_gpus() -> list[Row]:
    """NCCL's figure, then that of peer."""
    return _between_gpus("h200-x2/peer", _BETWEEN_GPUS)


@table
def one_sided_gpus() -> list[Row]:
    return _between_gpus("h200-x4/one-sided", _ONE_SIDED)


def _between_gpus(file: str, columns: dict[tuple[str, str | None], str]) -> list[Row]:
    pool = records(file)
    head: Row = ["size"]
    for benchmark, _ in columns:
        head.append(f"{benchmark}{', GB/s' if benchmark.endswith('bandwidth') else ', µs'}")
    rows: list[Row] = [head]
    swept = [record for record in pool if "bytes" in record.parameters]
    for size in sorted({int(str(record.parameters["bytes"])) for record in swept}):
        row: Row = [format_bytes(size)]
        for (benchmark, dtype), metric in columns.items():
            wanted = {"bytes": size, **({"dtype": dtype} if dtype else {})}
            same = [record for record in swept if record.benchmark == benchmark]
            found = [find(same, transport=name, **wanted) for name in ("ccl", "peer")]
            cell = " / ".join(figure(record, metric) for record in found)
            row.append(cell if all(found) else NOTHING)
        rows.append(row)
    return rows
