#!/usr/bin/env python3
"""The times of tools/gpu/reroute.sh: prints a table, and writes OUT/reroute.json.

    tools/gpu/reroute_rows.py OUT

A row for each function and size has, for MPI, for MPI rerouted to NCCL (ccl) and through pinned
memory (staged), and for NCCL itself, the median of each launch in microseconds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median

FUNCTIONS = {
    "allreduce": "MPI_Allreduce",
    "broadcast": "MPI_Bcast",
    "allgather": "MPI_Allgather",
    "alltoall": "MPI_Alltoall",
}
BY_MPI = ("mpi", "ccl", "staged")
RANKS = 2

Times = dict[tuple[str, int], list[float]]


def times(out: Path, way: str) -> Times:
    """By function and bytes, a median for each launch."""
    found: Times = {}
    for file in sorted(out.glob(f"two-gpus-{way}-*.json")):
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
        except json.JSONDecodeError:  # the run did not end; reroute.sh has printed its status
            continue
        for row in rows:
            if row["valid"]:
                found.setdefault((row["function"], row["bytes"]), []).append(row["median_us"])
    return found


def times_of_nccl(out: Path) -> Times:
    found: Times = {}
    for file in sorted(out.glob("two-gpus-nccl-*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["kind"] != "record" or record["status"] != "ok":
                continue
            of_blocks = record["benchmark"] in ("allgather", "alltoall")
            size = record["parameters"]["bytes"] * (RANKS if of_blocks else 1)
            time = record["statistics"]["time_us"]["median"]
            found.setdefault((FUNCTIONS[record["benchmark"]], size), []).append(round(time, 2))
    return found


def main() -> None:
    out = Path(sys.argv[1])
    columns = {way: times(out, way) for way in BY_MPI} | {"nccl": times_of_nccl(out)}
    rows = [
        {"function": function, "bytes": size}
        | {f"{way}_us": found.get((function, size), []) for way, found in columns.items()}
        for function, size in columns["ccl"]
    ]
    (out / "reroute.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    print(f"{'function':16} {'bytes':>10}" + "".join(f" {way + ', us':>12}" for way in columns))
    for row in rows:
        cells = (f"{median(found):,.1f}" if (found := row[f"{way}_us"]) else "-" for way in columns)
        print(f"{row['function']:16} {row['bytes']:>10}", *(f"{cell:>12}" for cell in cells))


if __name__ == "__main__":
    main()
