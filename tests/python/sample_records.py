"""Records for tests, as the native program would write them: standard library only, for the fakes.

A record here holds its whole start under "start"; `lines` writes starts and records as a file has
them.
"""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_SAMPLES = json.loads(Path(__file__).with_name("samples.json").read_text(encoding="utf-8"))
_DECLARED = _SAMPLES["declarations"]
METRICS: dict[str, list[str]] = _DECLARED["metrics"]  # label, unit, which is better
_OF_START = (
    "start", "backend", "nodes", "transports", "placement", "warnings", "notes", "versions",
    "environment", "settings", "command", "records", "processes",
)  # fmt: skip


def sample(name: str) -> dict[str, Any]:
    """What samples.json has of this name."""
    return dict(copy.deepcopy(_SAMPLES[name]))


def placement(hosts: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"rank": rank, "host": host, "cores": str(rank), "numa_nodes": "0"}
        for rank, host in enumerate(hosts)
    ]


def make_start(benchmark: dict[str, Any], ranks: int, **changes: Any) -> dict[str, Any]:
    """The line of a start; without a name of its own it has one that follows from the rest."""
    line = {
        **sample("start"),
        "benchmark": benchmark,
        "ranks": ranks,
        "placement": placement(["node"] * ranks),
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
    of_parameter = {**_DECLARED["roles"], **(roles or {})}
    units = _DECLARED["units"]  # of others none
    return {
        "name": name,
        "description": f"what {name} measures",
        "parameters": [
            {
                "name": parameter,
                "option": parameter.replace("_", "-"),
                "role": of_parameter.get(parameter, "setting"),
                "unit": units.get(parameter, ""),
                "help": "",
                "per_rank": parameter in _DECLARED["per_rank"],
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
                "unit": units.get(fact, ""),
                "definition": "",
            }
            for fact in facts
        ],
        "divides_work": name in _DECLARED["divides_work"],
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
    checked = {"status": "passed" if is_ok else "not reached", "checks": 1, "elements": size}
    statistics = {"time_us": statistic(microseconds), metric: statistic(value)}
    best = {metric: 0.5 if better == "lower" else size / 0.5 / 1e3}
    copied = ceiling("memory copy", 0.5, 0.5 / microseconds, rate=10.0, unit="GB/s", metrics=best)
    samples = [1e-6 * microseconds] * 10 if is_ok else []
    record = {
        **sample("record"),
        "parameters": {"bytes": size, "pairs": 1},
        "samples": {"operation": "round trip", "values_s": samples},
        "statistics": statistics if is_ok else {},
        "validation": {**checked, "message": ""},
        "ceilings": [{**copied, "method": "a copy"}] if is_ok else [],
        **changes,
    }
    benchmark = declare(
        record["benchmark"], record["parameters"], metrics, record.get("facts", {}), roles
    )
    return {**record, "start": make_start(benchmark, record["ranks"], **of_start)}


def statistic(median: float) -> dict[str, Any]:
    factors = {"ci_low": 0.98, "ci_high": 1.02, "min": 0.9, "p95": 1.1, "p99": 1.2, "max": 1.3}
    around = {name: median * factor for name, factor in factors.items()}
    return {"count": 10, "median": median, "confidence": 0.95, "mean": median, **around}


def ceiling(name: str, time_us: float, fraction: float, **others: Any) -> dict[str, Any]:
    fields = {"name": name, "method": "the best of ten", "time_us": time_us, "fraction": fraction}
    return {**fields, "metrics": {}, **others}


def timed_part(name: str, stream: str, time_us: float, **others: Any) -> dict[str, Any]:
    measured = {"samples": {"values_s": [time_us * 1e-6] * 10}}
    statistics = {"time_us": statistic(time_us)}
    return {"name": name, "stream": stream, **measured, "statistics": statistics, **others}


def parts_within(stream: str, times_us: dict[str, float]) -> list[dict[str, Any]]:
    """Parts of an operation, measured within it."""
    return [timed_part(name, stream, time, within=True) for name, time in times_us.items()]


def span(*values: object) -> dict[str, Any]:
    return dict(zip(("rank", "stream", "part", "step", "start_us", "end_us"), values))


def measured(operation: str, seconds: float, metrics: dict[str, float]) -> dict[str, Any]:
    """The samples, statistics and metrics of a record that took so long."""
    return {
        "samples": {"operation": operation, "values_s": [seconds] * 10},
        "statistics": {
            name: statistic(value) for name, value in {"time_us": 1e6 * seconds, **metrics}.items()
        },
        "metrics": list(metrics),
    }


def make_profile(**changes: Any) -> dict[str, Any]:
    """The line of a profile of two ranks, as `commlens profile` writes it."""
    return {**sample("profile"), **changes}


def make_reroute(**changes: Any) -> dict[str, Any]:
    """The line of a rerouted program of three ranks, of which one was killed."""
    return {**sample("reroute"), **changes}


_HOG = {"name": "stress", "host": "node01", "cores": 1.0}
# What other programs took, as `interference` of a record has it.
QUIET: dict[str, Any] = {"seconds": 1.0, "cores": 2, "busy_cores": 0.05, "waiting_fraction": 0.01}
BUSY: dict[str, Any] = {"seconds": 1.0, "cores": 2, "busy_cores": 1.02, "programs": [_HOG]}
