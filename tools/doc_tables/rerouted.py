"""A program whose collectives are rerouted to NCCL, and NCCL by itself."""

from __future__ import annotations

from statistics import median

from commlens.base.text import format_bytes
from doc_tables import Row, table
from doc_tables.source import json_file

_SIZES = (64, 4 << 10, 256 << 10, 2 << 20, 16 << 20, 80 << 20, 256 << 20)


@table
def rerouted() -> list[Row]:
    """Microseconds of a call, the medians of launches, by function and size of the array."""
    rows: list[Row] = [
        ["function", "size", "MPI, µs", "rerouted, µs", "speedup", "NCCL, µs", "staged, µs"]
    ]
    for case in json_file("h200-x4/reroute.json")["rows"]:
        if case["bytes"] not in _SIZES or not case["mpi_us"]:
            continue
        mpi, ours, ccl, staged = (
            median(case[name]) for name in ("mpi_us", "ccl_us", "nccl_us", "staged_us")
        )
        rows.append(
            [
                case["function"],
                format_bytes(case["bytes"]),
                f"{mpi:,.4g}" if mpi < 10000 else f"{mpi:,.0f}",
                f"{ours:.1f}",
                f"{mpi / ours:,.3g}" if mpi / ours < 1000 else f"{mpi / ours:,.0f}",
                f"{ccl:.1f}",
                f"{staged:,.4g}" if staged < 10000 else f"{staged:,.0f}",
            ]
        )
    return rows
