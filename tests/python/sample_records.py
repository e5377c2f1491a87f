"""Records for tests, as the native program would write them."""

from __future__ import annotations

from typing import Any


def make_record(**changes: Any) -> dict[str, Any]:
    """A record that passes the schema; `changes` replace its fields, `median_us` and `bytes` its figures."""
    microseconds = float(changes.pop("median_us", 2.0))
    size = changes.pop("bytes", 1024)
    figure = changes.pop("figure", "latency_us")
    better = "lower" if figure.endswith(("_us", "_s")) and not figure.endswith("_per_s") else "higher"
    value = microseconds if better == "lower" else size / microseconds / 1e3
    is_ok = changes.get("status", "ok") == "ok"
    ceiling_value = 0.5 if better == "lower" else size / 0.5 / 1e3
    return {
        "schema": 1,
        "time": "2025-01-02T03:04:05Z",
        "run": "run-1",
        "benchmark": "latency",
        "parameters": {"bytes": size, "pairs": 1},
        "harness": {"timing": "batch", "repeat": 100, "warmup": 10, "batches": 10},
        "transport": "mpi",
        "memory": "host",
        "backend": "host",
        "ranks": 2,
        "nodes": 1,
        "placement": [{"rank": rank, "host": "node", "cores": str(rank), "numa_nodes": "0"} for rank in range(2)],
        "warnings": [],
        "versions": {"commlens": "0.1.0", "mpi": "Open MPI v4.1.4", "compiler": "GNU 12.2.0"},
        "environment": {},
        "command": ["commlens-bench", "latency"],
        "status": "ok",
        "reason": "",
        "samples": {"operation": "round trip", "values_s": [2e-6] * 10 if is_ok else []},
        "statistics": {figure: statistic(value)} if is_ok else {},
        "figures": [{"name": figure, "better": better}],
        "setup_s": 0.001,
        "validation": {
            "status": "passed" if is_ok else "not reached",
            "checks": 1,
            "elements": size,
            "message": "",
        },
        "ceilings": [
            {
                "name": "memory copy",
                "method": "a copy",
                "time_us": 0.5,
                "copy_GBps": 10.0,
                "figures": {figure: ceiling_value},
                "fraction": 0.5 / microseconds,
            }
        ]
        if is_ok
        else [],
        **changes,
    }


def statistic(median: float) -> dict[str, Any]:
    return {
        "count": 10,
        "median": median,
        "ci_low": median * 0.98,
        "ci_high": median * 1.02,
        "confidence": 0.95,
        "min": median * 0.9,
        "mean": median,
        "p95": median * 1.1,
        "p99": median * 1.2,
        "max": median * 1.3,
    }
