"""Records of --matrix, as the native program would write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sample_records import make_record, placement

Rows = Sequence[Sequence[float]]


def latencies(ranks: int, slow: Mapping[tuple[int, int], float], usual: float = 10.0) -> Rows:
    """Of each pair, both ways."""
    return [[slow.get((min(a, b), max(a, b)), usual) for b in range(ranks)] for a in range(ranks)]


def bandwidths(ranks: int, slow: Mapping[tuple[int, int], float], usual: float = 10.0) -> Rows:
    return [[slow.get((a, b), usual) for b in range(ranks)] for a in range(ranks)]


def make_pairs_record(
    rows: Rows, hosts: str, again: float, metric: str = "latency_us", **changes: Any
) -> dict[str, Any]:
    """`hosts` has a letter for each rank; the slowest pair was measured again as `again`."""
    values = [
        None if a == b else value for a, row in enumerate(rows) for b, value in enumerate(row)
    ]
    size = changes.get("bytes", 8)
    time = again if metric == "latency_us" else size / again / 1e3
    return make_record(
        **{
            "benchmark": metric.partition("_")[0],
            "bytes": size,
            "parameters": {"bytes": size, "pairs": 1, "matrix": True},
            "ranks": len(rows),
            "nodes": len(set(hosts)),
            "placement": placement([f"n{host}" for host in hosts]),
            "metric": metric,
            "median_us": time,
            "series": {f"pairs_{metric}": values},
            **changes,
        }
    )


def slow_pairs(
    hosts: str,
    pairs: Sequence[tuple[int, int]],
    slow: Mapping[int, float] = MappingProxyType({8: 40.0}),
    again: float | None = None,
    **changes: Any,
) -> list[dict[str, Any]]:
    """Of each size of `slow` a record in which these pairs take so long, and the second time."""
    return [
        make_pairs_record(
            latencies(len(hosts), dict.fromkeys(pairs, time)),
            hosts, time if again is None else again, bytes=size, **changes,
        )
        for size, time in slow.items()
    ]  # fmt: skip
