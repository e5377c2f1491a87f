"""Records for tests of benchmarks with parts, variants, candidates and facts."""

from __future__ import annotations

from typing import Any

from sample_records import ceiling, make_record, measured, parts_within, sample, span, timed_part

MULTIPLICATIONS = ("multiplications", "compute")
REDUCTIONS = ("reductions", "communication")
COPIES = ("copies", "communication")
PARTS_US = {MULTIPLICATIONS: 800_000.0, REDUCTIONS: 300_000.0, COPIES: 240_000.0}


def make_overlap_record(**changes: Any) -> dict[str, Any]:
    """A record of a pipeline of two streams, `block` columns a step.

    `parts_us` is the time of each part alone, by name and stream, and `together_us` that of the
    whole; the timeline has `steps` steps; `timeline=None` leaves it out.
    """
    steps, block, parts = (
        changes.pop("steps", 20),
        changes.pop("block", 732),
        changes.pop("parts_us", PARTS_US),
    )
    ranks = changes.get("ranks", 2)
    alone: dict[str, float] = {}
    for (_, stream), time in parts.items():
        alone[stream] = alone.get(stream, 0.0) + time
    together = changes.pop("together_us", 1.1 * max(alone.values()))
    efficiency = max(alone.values()) / together
    metrics = {"time_s": together * 1e-6, "rank_TFLOPs": 43e6 / together}
    base = sample("overlap")
    record = make_record(
        **{
            "benchmark": "pipeline",
            "parameters": {**base["parameters"], "block": block},
            **measured(
                "overlapped product",
                together * 1e-6,
                {**metrics, "overlap_efficiency": efficiency},
            ),
            "parts": [timed_part(name, stream, time) for (name, stream), time in parts.items()],
            "timeline": {"time_us": together, "spans": _spans(parts, ranks, steps)},
            "ceilings": [
                ceiling(
                    name,
                    fraction * together,
                    fraction,
                    rate=rate,
                    unit=unit,
                    metrics={
                        "time_s": fraction * metrics["time_s"],
                        "rank_TFLOPs": metrics["rank_TFLOPs"] / fraction,
                    },
                )
                for name, unit, rate, fraction in base["ceilings"]
            ],
            **changes,
        }
    )
    return {name: value for name, value in record.items() if (name, value) != ("timeline", None)}


BLOCKS = (366, 732, 1464, 2928)


def make_overlap_sweep(**changes: Any) -> list[dict[str, Any]]:
    """Over three transports, each with a best block of its own."""
    best = {"mpi": 366, "staged": 732, "ccl": 2928}
    return [
        make_overlap_record(**{
            "block": block, "steps": 14640 // block, "transport": transport, "memory": "device",
            "together_us": 1e6 if block == best[transport] else 1.25e6, **changes,
        })
        for block in BLOCKS
        for transport in best
    ]  # fmt: skip


WITHIN_MS = {"local FFT": 6.0, "pack and unpack": 3.0, "communication": 8.0, "communicators": 4.0}


def make_transform_record(communicators: str = "per-transpose", **changes: Any) -> dict[str, Any]:
    """A record of a transform whose parts were measured within it, one of the two of a start.

    `parts_ms` is the time of each part by name, `together_ms` that of the whole, a millisecond
    longer by default.
    Cached communicators take no time and no calls but those of the exchanges. With `variant=None`
    the start compares nothing.
    """
    is_cached = communicators == "cached"
    ranks, grid = changes.get("ranks", 4), changes.pop("grid", "125x125x125")
    parts = changes.pop("parts_ms", {**WITHIN_MS, "communicators": 0.0} if is_cached else WITHIN_MS)
    together = changes.pop("together_ms", sum(parts.values()) + 1.0)
    metrics = {"time_ms": together, "cp2k_Mflops": 1e6 / together, "fft_GFLOPs": 800 / together}
    spans = {(name, "transform"): 1e3 * time for name, time in parts.items() if time}
    ceilings: list[tuple[str, str, float, dict[str, Any]]] = [
        ("memory copy", "pack and unpack", 0.8, {"rate": 24.0, "unit": "GB/s"}),
        ("alltoall alone", "communication", 0.9, {"library": True}),
    ]
    base = sample("transform")
    arranged = {1: "1x1", 2: "2x1", 4: "2x2", 8: "4x2"}.get(ranks, f"{ranks}x1")
    given = {"grid": grid, "grid_of_ranks": arranged, "communicators": communicators}
    record = make_record(
        **{
            **base,
            "parameters": {**base["parameters"], **given},
            **measured("forward and backward", together * 1e-3, metrics),
            "parts": parts_within("transform", {name: 1e3 * ms for name, ms in parts.items()}),
            "timeline": {"time_us": 1e3 * together, "spans": _spans(spans, ranks, 2)},
            "ceilings": [
                ceiling(name, 1e3 * fraction * parts[part], fraction, part=part, **others)
                for name, part, fraction, others in ceilings
                if parts.get(part)
            ],
            "calls": {"MPI_Alltoallv": 4.0} if is_cached else base["calls"],
            **changes,
        }
    )
    return {name: value for name, value in record.items() if (name, value) != ("timeline", None)}


def make_transform_records(**changes: Any) -> list[dict[str, Any]]:
    """Both records of a start."""
    both = ("per-transpose", "cached")
    return [make_transform_record(communicators, **changes) for communicators in both]


EXCHANGE_US = {"pack": 6.0, "exchange": 30.0, "local": 8.0, "unpack": 5.0}


def make_exchange_record(
    mode: str = "pairwise", transport: str = "mpi", **changes: Any
) -> dict[str, Any]:
    """A record of a gather-scatter, one of the modes of a start, and a candidate for being used.

    `parts_us` is the time of each part by name, `together_us` that of the whole and `seconds` that
    of the candidate.
    """
    parts = changes.pop("parts_us", EXCHANGE_US)
    together = changes.pop("together_us", sum(parts.values()) + 1.0)
    seconds = changes.pop("seconds", 0.9e-6 * together)
    name = f"{mode}+{'hybrid' if transport == 'staged' else 'device'}"
    if transport == "ccl":
        name = "ccl+device"
    base = sample("exchange")
    rate = round(961.072 / parts["exchange"], 3)
    record = make_record(
        **{
            **base,
            "parameters": {**base["parameters"], "mode": mode},
            "transport": transport,
            **measured("gather-scatter", together * 1e-6, {"time_us": together}),
            "parts": parts_within("gather-scatter", parts),
            "facts": {"labels_shared": 236041, "bidirectional_GBps": rate},
            "candidate": {
                "name": name,
                "seconds": seconds,
                "text": f"{name} (MPI min/max/avg: {seconds:.2e}s)",
            },
            **changes,
        }
    )
    return {name: value for name, value in record.items() if value is not None}


def make_solve_record(edge: int = 20, **changes: Any) -> dict[str, Any]:
    """A record of a solve of edge^3 elements of order 7 per rank, which is limited by memory.

    `peak` is the throughput that large problems tend to, `bytes_per_dof` what one takes per
    iteration, `options` replace parameters; `residuals=None` leaves that series out.
    """
    dofs, iterations = 343.0 * edge**3, 500
    throughput = changes.pop("peak", 1e10) * dofs / (dofs + 2e5)
    seconds = dofs * iterations / throughput
    residuals = changes.pop("residuals", [10 * 0.96**step for step in range(iterations)])
    flops, moved = 65_024.0 * edge**3, changes.pop("bytes_per_dof", 272) * dofs
    options = changes.pop("options", {})
    metrics = {
        "throughput_DOF_iter_per_s": throughput,
        "rank_GFLOPs": flops * iterations / seconds * 1e-9,
    }
    base = sample("solve")
    facts = {"dof_per_rank": dofs, "flops_per_iteration": flops, "bytes_per_iteration": moved}
    return make_record(
        **{
            **base,
            "parameters": {**base["parameters"], "edge": edge, **options},
            **measured("solve", seconds, metrics),
            "ceilings": [
                ceiling(
                    name, 4e5 * seconds, 0.4, rate=rate, unit=unit, method="the best of five rounds"
                )
                for name, rate, unit in (
                    ("device copy", 1950.0, "GB/s"),
                    ("square GEMM", 58.0, "TFLOP/s"),
                )
            ],
            "facts": facts,
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
                spans.append(span(rank, stream, part, step, start, ready))
    return spans


def modes(**changes: Any) -> list[dict[str, Any]]:
    """Modes of an exchange over mpi and staged; the second is the fastest of all."""
    times = {("pairwise", "mpi"): 50.0, ("neighbor", "mpi"): 44.0, ("pairwise", "staged"): 60.0}
    return [
        make_exchange_record(mode, transport, together_us=time, seconds=time * 1e-6, **changes)
        for (mode, transport), time in times.items()
    ]
