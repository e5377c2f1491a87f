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


PARTS_US = {
    ("multiplications", "compute"): 800_000.0,
    ("reductions", "communication"): 300_000.0,
    ("copies", "communication"): 240_000.0,
}


def make_overlap_record(**changes: Any) -> dict[str, Any]:
    """A record of a pipeline of two streams, `block` columns a step.

    `parts_us` is the time of each part alone, by name and stream, and `together_us` that of the whole; the timeline has
    `steps` steps; `timeline=None` leaves it out.
    """
    steps, block, parts = changes.pop("steps", 20), changes.pop("block", 732), changes.pop("parts_us", PARTS_US)
    ranks = changes.get("ranks", 2)
    alone: dict[str, float] = {}
    for (_, stream), time in parts.items():
        alone[stream] = alone.get(stream, 0.0) + time
    together = changes.pop("together_us", 1.1 * max(alone.values()))
    figures = {"time_s": together * 1e-6, "rank_TFLOPs": 43e6 / together}
    statistics = {"time_us": together, **figures, "overlap_efficiency": max(alone.values()) / together}
    parameters = {"dofs": 400_000, "vectors": 14_640, "block": block, "dtype": "f64", "depth": 2, "overlap": True}
    record = make_record(
        **{
            "benchmark": "pipeline",
            "parameters": parameters,
            "placement": [{"rank": r, "host": "node", "cores": str(r), "numa_nodes": "0"} for r in range(ranks)],
            "samples": {"operation": "overlapped product", "values_s": [together * 1e-6] * 10},
            "statistics": {name: statistic(value) for name, value in statistics.items()},
            "figures": [
                {"name": "time_s", "better": "lower"},
                {"name": "rank_TFLOPs", "better": "higher"},
                {"name": "overlap_efficiency", "better": "higher"},
            ],
            "parts": [
                {
                    "name": name,
                    "stream": stream,
                    "samples": {"values_s": [time * 1e-6] * 10},
                    "statistics": {"time_us": statistic(time)},
                }
                for (name, stream), time in parts.items()
            ],
            "timeline": {"time_us": together, "spans": _spans(parts, ranks, steps)},
            "ceilings": [
                {
                    "name": name,
                    "method": "the best of ten",
                    "time_us": fraction * together,
                    **rate,
                    "figures": {
                        "time_s": fraction * figures["time_s"],
                        "rank_TFLOPs": figures["rank_TFLOPs"] / fraction,
                    },
                    "fraction": fraction,
                }
                for name, rate, fraction in (
                    ("square GEMM", {"gemm_TFLOPs": 58.4}, 0.85),
                    ("block GEMM", {"gemm_TFLOPs": 55.1}, 0.9),
                    ("copy to host", {"copy_GBps": 55.0}, 0.12),
                )
            ],
            **changes,
        }
    )
    return {name: value for name, value in record.items() if (name, value) != ("timeline", None)}


WITHIN_MS = {"local FFT": 6.0, "pack and unpack": 3.0, "communication": 8.0, "communicators": 4.0}
CALLS = {"MPI_Cart_sub": 4.0, "MPI_Cart_rank": 20.0, "MPI_Comm_free": 4.0, "MPI_Alltoallv": 4.0}


def make_transform_record(communicators: str = "per-transpose", **changes: Any) -> dict[str, Any]:
    """A record of a transform of which each part was measured within the operation, one of the two of a start.

    `parts_ms` is the time of each part by name, `together_ms` that of the whole, a millisecond longer by default.
    Cached communicators take no time and no calls but those of the exchanges. `variant=None` leaves that field out.
    """
    is_cached = communicators == "cached"
    ranks, grid = changes.get("ranks", 4), changes.pop("grid", "125x125x125")
    parts = changes.pop("parts_ms", {**WITHIN_MS, "communicators": 0.0} if is_cached else WITHIN_MS)
    together = changes.pop("together_ms", sum(parts.values()) + 1.0)
    figures = {"time_ms": together, "cp2k_Mflops": 1e6 / together, "fft_GFLOPs": 800 / together}
    ceilings: list[tuple[str, str, float, dict[str, Any]]] = [
        ("memory copy", "pack and unpack", 0.8, {"copy_GBps": 24.0}),
        ("alltoall alone", "communication", 0.9, {"library": True}),
    ]
    record = make_record(
        **{
            "benchmark": "fft",
            "parameters": {
                "grid": grid,
                "grid_of_ranks": {1: "1x1", 2: "2x1", 4: "2x2", 8: "4x2"}.get(ranks, f"{ranks}x1"),
                "communicators": communicators,
                "exchange": "alltoallv",
                "dtype": "c128",
                "grid_span": "full",
            },
            "variant": "communicators",
            "harness": {"timing": "each", "repeat": 10, "warmup": 2, "batches": 1},
            "ranks": ranks,
            "placement": [{"rank": r, "host": "node", "cores": str(r), "numa_nodes": "0"} for r in range(ranks)],
            "samples": {"operation": "forward and backward pair", "values_s": [together * 1e-3] * 10},
            "statistics": {name: statistic(value) for name, value in {"time_us": 1e3 * together, **figures}.items()},
            "figures": [{"name": name, "better": "lower" if name == "time_ms" else "higher"} for name in figures],
            "parts": [
                {
                    "name": name,
                    "stream": "transform",
                    "within": True,
                    "samples": {"values_s": [time * 1e-3] * 10},
                    "statistics": {"time_us": statistic(1e3 * time)},
                }
                for name, time in parts.items()
            ],
            "timeline": {
                "time_us": 1e3 * together,
                "spans": _spans({(name, "transform"): 1e3 * time for name, time in parts.items() if time}, ranks, 2),
            },
            "ceilings": [
                {
                    "name": name,
                    "part": part,
                    "method": "the best of ten",
                    "time_us": 1e3 * fraction * parts[part],
                    "fraction": fraction,
                    **others,
                }
                for name, part, fraction, others in ceilings
                if parts.get(part)
            ],
            "calls": {"MPI_Alltoallv": CALLS["MPI_Alltoallv"]} if is_cached else dict(CALLS),
            **changes,
        }
    )
    return {name: value for name, value in record.items() if name not in ("variant", "timeline") or value is not None}


def make_transform_records(**changes: Any) -> list[dict[str, Any]]:
    """Both records of a start."""
    return [make_transform_record(communicators, **changes) for communicators in ("per-transpose", "cached")]


EXCHANGE_US = {"pack": 6.0, "exchange": 30.0, "local": 8.0, "unpack": 5.0}


def make_exchange_record(mode: str = "pairwise", transport: str = "mpi", **changes: Any) -> dict[str, Any]:
    """A record of a gather-scatter, one of the modes of a start, and a candidate for being used.

    `parts_us` is the time of each part by name, `together_us` that of the whole and `seconds` that of the candidate.
    """
    parts = changes.pop("parts_us", EXCHANGE_US)
    together = changes.pop("together_us", sum(parts.values()) + 1.0)
    seconds = changes.pop("seconds", 0.9e-6 * together)
    name = f"{mode}+{'hybrid' if transport == 'staged' else 'device'}" if transport != "ccl" else "ccl+device"
    record = make_record(
        **{
            "benchmark": "gather-scatter",
            "parameters": {"elements": "40x40x40", "order": 7, "mode": mode, "dtype": "f64", "fields": 1},
            "variant": "mode",
            "transport": transport,
            "memory": "device",
            "samples": {"operation": "gather-scatter", "values_s": [together * 1e-6] * 10},
            "statistics": {"time_us": statistic(together)},
            "figures": [{"name": "time_us", "better": "lower"}],
            "parts": [
                {
                    "name": part,
                    "stream": "gather-scatter",
                    "within": True,
                    "samples": {"values_s": [time * 1e-6] * 10},
                    "statistics": {"time_us": statistic(time)},
                }
                for part, time in parts.items()
            ],
            "ceilings": [],
            "facts": {"labels_shared": 236041, "bidirectional_GBps": round(961.072 / parts["exchange"], 3)},
            "report": ["gs_setup: 236041 unique labels shared", "   used all_to_all method: pairwise"],
            "candidate": {"name": name, "seconds": seconds, "text": f"{name} (MPI min/max/avg: {seconds:.2e}s)"},
            **changes,
        }
    )
    return {name: value for name, value in record.items() if value is not None}


def make_solve_record(edge: int = 20, **changes: Any) -> dict[str, Any]:
    """A record of a solve of edge^3 elements of order 7 a rank, which is limited by memory.

    `peak` is the throughput that large problems tend to, `bytes_a_dof` what one takes an iteration, `options` replace
    parameters; `residuals=None` leaves that series out.
    """
    dofs, iterations = 343.0 * edge**3, 500
    throughput = changes.pop("peak", 1e10) * dofs / (dofs + 2e5)
    seconds = dofs * iterations / throughput
    residuals = changes.pop("residuals", [10 * 0.96**step for step in range(iterations)])
    flops, moved = 65_024.0 * edge**3, changes.pop("bytes_a_dof", 272) * dofs
    options = changes.pop("options", {})
    figures = {"throughput_DOF_iter_per_s": throughput, "GFLOPs": flops * iterations / seconds * 1e-9}
    return make_record(
        **{
            "benchmark": "bp5",
            "parameters": {"edge": edge, "order": 7, "geometry": "stored", "storage": "element", **options},
            "memory": "device",
            "samples": {"operation": "solve", "values_s": [seconds] * 10},
            "statistics": {name: statistic(value) for name, value in {"time_us": 1e6 * seconds, **figures}.items()},
            "figures": [{"name": name, "better": "higher"} for name in figures],
            "ceilings": [
                {
                    "name": name,
                    "method": "the best of five rounds",
                    "time_us": 4e5 * seconds,
                    **rate,
                    "figures": {},
                    "fraction": 0.4,
                }
                for name, rate in (("device copy", {"copy_GBps": 1950.0}), ("square GEMM", {"gemm_TFLOPs": 58.0}))
            ],
            "facts": {"dof_per_rank": dofs, "flops_per_iteration": flops, "bytes_per_iteration": moved},
            "series": {"relative_residual": residuals} if residuals is not None else {},
            **changes,
        }
    )


def _spans(parts: dict[tuple[str, str], float], ranks: int, steps: int) -> list[dict[str, Any]]:
    """Step k of the first stream, then of the others while the first is at step k + 1."""
    spans = []
    for rank in range(ranks):
        free: dict[str, float] = {}
        for step in range(steps):
            ready = 10.0 * rank
            for (part, stream), time in parts.items():
                start = max(ready, free.get(stream, 0.0))
                ready = free[stream] = start + time / steps
                spans.append(
                    {"rank": rank, "stream": stream, "part": part, "step": step, "start_us": start, "end_us": ready}
                )
    return spans
