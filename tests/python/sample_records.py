"""Records for tests, as the native program would write them: standard library only, for the fakes.

A record here holds its whole start under "start"; `lines` writes starts and records as a file has
them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any

# label, unit, which is better
METRICS = {
    "time_us": ("time", "us", "lower"),
    "time_ms": ("time", "ms", "lower"),
    "time_s": ("time", "s", "lower"),
    "latency_us": ("latency", "us", "lower"),
    "bandwidth_GBps": ("bandwidth", "GB/s", "higher"),
    "message_rate_per_s": ("message rate", "1/s", "higher"),
    "rank_TFLOPs": ("rank", "TFLOP/s", "higher"),
    "cp2k_Mflops": ("cp2k", "Mflop/s", "higher"),
    "fft_GFLOPs": ("fft", "GFLOP/s", "higher"),
    "throughput_DOF_iter_per_s": ("throughput", "DOF*iter/s", "higher"),
    "rank_GFLOPs": ("rank", "GFLOP/s", "higher"),
    "hidden_communication": ("hidden communication", "", "higher"),
    "overlap_efficiency": ("overlap efficiency", "", "higher"),
}
ROLES = {
    "bytes": "size",
    "block": "size",
    "edge": "size",
    "count": "derived",
    "from": "derived",
    "to": "derived",
    "grid_of_ranks": "derived",
}
UNITS = {"bytes": "B", "bytes_per_iteration": "B", "bidirectional_GBps": "GB/s"}  # of others none
PER_RANK = ("edge", "nodes")
DIVIDES_WORK = ("bp5", "bps5", "fft", "pipeline", "transform", "xtx")
_OF_START = (
    "start", "backend", "nodes", "transports", "placement", "warnings", "notes", "versions",
    "environment", "settings", "command",
)  # fmt: skip


def make_start(benchmark: dict[str, Any], ranks: int, **changes: Any) -> dict[str, Any]:
    """The line of a start; without a name of its own it has one that follows from the rest."""
    line = {
        "kind": "start",
        "schema": 2,
        "start": "",
        "time": "2025-01-02T03:04:00Z",
        "benchmark": benchmark,
        "backend": "host",
        "ranks": ranks,
        "nodes": 1,
        "transports": ["mpi", "staged", "ccl"],
        "placement": [
            {"rank": rank, "host": "node", "cores": str(rank), "numa_nodes": "0"}
            for rank in range(ranks)
        ],
        "warnings": [],
        "notes": [],
        "versions": {"commlens": "0.1.0", "mpi": "Open MPI 4.1.4", "compiler": "GNU 12.2.0"},
        "environment": {},
        "settings": list(changes.get("environment", {})),
        "command": ["commlens-bench", benchmark["name"]],
        **changes,
    }
    return line if line["start"] else {**line, "start": f"start-{_digest(line):08x}"}


def _digest(line: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(line, sort_keys=True).encode())


def declare(
    name: str,
    parameters: Iterable[str],
    metrics: Iterable[str],
    facts: Iterable[str] = (),
    roles: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The declaration of a benchmark; the time is declared last where it is not yet."""
    of_parameter = {**ROLES, **(roles or {})}
    return {
        "name": name,
        "description": f"what {name} measures",
        "parameters": [
            {
                "name": parameter,
                "option": parameter.replace("_", "-"),
                "role": of_parameter.get(parameter, "setting"),
                "unit": UNITS.get(parameter, ""),
                "help": "",
                "per_rank": parameter in PER_RANK,
            }
            for parameter in parameters
        ],
        "metrics": [
            {
                "name": metric,
                **dict(zip(("label", "unit", "better"), METRICS[metric])),
                "definition": f"the {metric} of {name}",
            }
            for metric in dict.fromkeys([*metrics, "time_us"])
        ],
        "facts": [
            {
                "name": fact,
                "label": fact.replace("_", " "),
                "unit": UNITS.get(fact, ""),
                "definition": "",
            }
            for fact in facts
        ],
        "divides_work": name in DIVIDES_WORK,
    }


def lines(records: Iterable[dict[str, Any]]) -> list[str]:
    """A file of records: each start before the first of its records."""
    launches: dict[str, str] = {}
    text = []
    for record in records:
        start = record["start"]
        line = json.dumps(start) + "\n"
        if start["start"] not in launches:
            text.append(line)
        assert launches.setdefault(start["start"], line) == line, "two launches of one name"
        text.append(json.dumps({**record, "start": start["start"]}) + "\n")
    return text


def make_record(**changes: Any) -> dict[str, Any]:
    """A record that passes the schema; `changes` replace its fields and those of its start.

    `median_us` is its time, `bytes` its size and `metric` the name of its main metric; `metrics`
    names all, `roles` are those of parameters that have others than usually; `variant` is the
    parameter whose values its start compares.
    """
    microseconds = float(changes.pop("median_us", 2.0))
    size = changes.pop("bytes", 1024)
    metric = changes.pop("metric", "latency_us")
    roles = changes.pop("roles", {})
    if variant := changes.pop("variant", None):
        roles = {variant: "variant", **roles}
    better = METRICS[metric][2]
    value = microseconds if better == "lower" else size / microseconds / 1e3
    is_ok = changes.get("status", "ok") == "ok"
    metrics = changes.pop("metrics", [metric])
    of_start = {name: changes.pop(name) for name in _OF_START if name in changes}
    record = {
        "kind": "record",
        "schema": 2,
        "start": {},
        "time": "2025-01-02T03:04:05Z",
        "benchmark": "latency",
        "parameters": {"bytes": size, "pairs": 1},
        "ranks": 2,
        "transport": "mpi",
        "memory": "host",
        "harness": {"timing": "batch", "repeat": 100, "warmup": 10, "batches": 10},
        "status": "ok",
        "reason": "",
        "samples": {"operation": "round trip", "values_s": [2e-6] * 10 if is_ok else []},
        "statistics": {"time_us": statistic(microseconds), metric: statistic(value)}
        if is_ok
        else {},
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
                "rate": 10.0,
                "unit": "GB/s",
                "metrics": {metric: 0.5 if better == "lower" else size / 0.5 / 1e3},
                "fraction": 0.5 / microseconds,
            }
        ]
        if is_ok
        else [],
        **changes,
    }
    benchmark = declare(
        record["benchmark"], record["parameters"], metrics, record.get("facts", {}), roles
    )
    return {**record, "start": make_start(benchmark, record["ranks"], **of_start)}


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


def parts_within(stream: str, times_us: dict[str, float]) -> list[dict[str, Any]]:
    """Parts of an operation, measured within it."""
    return [
        {
            "name": name,
            "stream": stream,
            "within": True,
            "samples": {"values_s": [time * 1e-6] * 10},
            "statistics": {"time_us": statistic(time)},
        }
        for name, time in times_us.items()
    ]
