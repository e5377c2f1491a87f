"""Records of a multigrid solve: its parts by level, and a timeline of V-cycles."""

from __future__ import annotations

from typing import Any

from sample_records import make_record, measured, parts_within, sample, span

# Microseconds of one solve.
_TIMES = sample("times of multigrid")
ALONE: dict[str, float] = _TIMES["alone"]
BETWEEN_RANKS: dict[str, float] = _TIMES["between ranks"]
OTHER_US = 200.0
CYCLE = ["p7 smoother", "p7 restriction", "p3 smoother", "coarse solve", "p3 operator f32"]
AFTER = ["vectors", "p7 operator f64", "vectors"]  # of a V-cycle


def make_multigrid_record(
    transport: str = "mpi", ranks: int = 2, iterations: int = 5, **changes: Any
) -> dict[str, Any]:
    """`parts` are microseconds by name; `options` replace parameters; `throughput` is its."""
    parts = changes.pop("parts", {**ALONE, **(BETWEEN_RANKS if ranks > 1 else {})})
    together = sum(parts.values()) + OTHER_US
    throughput = changes.pop("throughput", 1e9)
    dofs = changes.pop("dof_per_rank", 2744000.0)
    options = changes.pop("options", {})
    facts = {"dof_per_rank": dofs, "coarse_solver": "20 steps of Jacobi CG"}
    metrics = {"throughput_DOF_iter_per_s": throughput, "time_ms": together * 1e-3}
    base = sample("multigrid")
    return make_record(
        **{
            **base,
            "parameters": {**base["parameters"], **options},
            "ranks": ranks,
            "transport": transport,
            **measured("solve", together * 1e-6, metrics),
            "parts": parts_within("solve", parts),
            "timeline": timeline(ranks, iterations),
            "facts": facts,
            "series": {"relative_residual": [0.1**step for step in range(iterations)]},
            **changes,
        }
    )


def timeline(ranks: int, iterations: int) -> dict[str, Any]:
    """Steps of 10 us, one after the other; iteration i of rank r begins at 80 i + r."""
    spans = []
    for rank in range(ranks):
        steps = ["vectors", *(CYCLE + AFTER) * iterations]
        for step, part in enumerate(steps):
            start = 10.0 * step + rank - 10.0
            spans.append(span(rank, "solve", part, step, start, start + 10.0))
    return {"time_us": 80.0 * iterations + 10.0, "spans": spans}
