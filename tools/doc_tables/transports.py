"""Point to point and Allreduce over the transports."""

from __future__ import annotations

from doc_tables import Row, table
from doc_tables.source import (
    NOTHING,
    SYSTEMS,
    find,
    median,
    records,
    time_us,
    transports,
)

_SIZES = {1: "1 B", 4096: "4 KiB", 65536: "64 KiB", 1 << 20: "1 MiB", 4 << 20: "4 MiB"}
_MEMORIES = {
    "device": "device to device",
    "device:host": "device to host",
    "host": "host to host",
}
_BYTES = 80_000_000


@table
def allreduce() -> list[Row]:
    head = "Allreduce of 1e7 doubles, in place"
    rows: list[Row] = [[head, "time per call, ms", "50 calls, s", "GB/s", "time over ccl's"]]
    for system, title in SYSTEMS.items():
        pool = records(f"h200-x2/allreduce-{system}")
        fastest = find(pool, transport="ccl", bytes=_BYTES, in_place=True)
        assert fastest
        for transport in transports(pool):
            record = find(pool, transport=transport, bytes=_BYTES, in_place=True)
            assert record
            rows.append(
                [
                    f"{transport}, {title}",
                    f"{time_us(record) / 1000:.4g}",
                    median(record, "batch_s"),
                    median(record, "algorithm_bandwidth_GBps"),
                    f"{time_us(record) / time_us(fastest):.3g}",
                ]
            )
    return rows


@table
def ccl() -> list[Row]:
    rows: list[Row] = [["ccl, in place", "first machine", "second machine"]]
    machines = [
        records(*(f"h200-x2/{prefix}allreduce-{system}" for system in SYSTEMS))
        for prefix in ("", "second-machine-")
    ]
    for size, label, metric in (
        (8, "8 B, µs", "time_us"),
        (_BYTES, "80 MB, GB/s", "algorithm_bandwidth_GBps"),
        (1 << 30, "1 GiB, GB/s", "algorithm_bandwidth_GBps"),
    ):
        wanted = {"transport": "ccl", "bytes": size, "in_place": True}
        columns = [[record for record in pool if find([record], **wanted)] for pool in machines]
        cells = [" and ".join(median(record, metric) for record in column) for column in columns]
        rows.append([label, *cells])
    return rows


@table
def latency() -> list[Row]:
    return _point_to_point("latency", "latency_us", _SIZES)


@table
def bandwidth() -> list[Row]:
    return _point_to_point("bandwidth", "bandwidth_GBps", {**_SIZES, 1 << 28: "256 MiB"})


def _point_to_point(benchmark: str, metric: str, sizes: dict[int, str]) -> list[Row]:
    pools = {system: records(f"h200-x2/{benchmark}-{system}") for system in SYSTEMS}
    first, *others = transports(pools["ucx"])
    rows: list[Row] = [
        ["memory", "size", *(f"{first}, {system}" for system in SYSTEMS), *others, "ceiling"]
    ]
    for memory, title in _MEMORIES.items():
        for size, label in sizes.items():
            wanted = {"memory": memory, "bytes": size}
            selected = [find(pool, transport=first, **wanted) for pool in pools.values()]
            selected += [find(pools["ucx"], transport=name, **wanted) for name in others]
            if any(selected):
                cells = [median(record, metric) for record in selected]
                rows.append([title, label, *cells, _ceiling(benchmark, metric, wanted)])
    return rows


def _ceiling(benchmark: str, metric: str, wanted: dict[str, object]) -> str:
    pool = records(f"h200-x2/{benchmark}-ucx")
    record = next((record for record in pool if record.ceilings and find([record], **wanted)), None)
    return f"{record.ceilings[0].metrics[metric]:.4g}" if record else NOTHING


@table
def staged_pieces() -> list[Row]:
    sizes = {"latency": (1, 4, 16, 64), "bandwidth": (1, 4, 16)}  # MiB
    rows: list[Row] = [
        ["pieces", *(f"{name} {n} MiB" for name, all_n in sizes.items() for n in all_n)]
    ]
    for piece in ("128 KiB", "256 KiB", "512 KiB", "1 MiB", "2 MiB", "4 MiB", "whole"):
        pool = records(f"h200-x2/staged-pieces-{piece.replace(' ', '')}")
        row: Row = [piece]
        for name, metric in (("latency", "latency_us"), ("bandwidth", "bandwidth_GBps")):
            same = [record for record in pool if record.benchmark == name]
            row += [median(find(same, bytes=n << 20), metric) for n in sizes[name]]
        rows.append(row)
    return rows
