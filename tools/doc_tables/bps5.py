"""The preconditioned solve of BPS5."""

from __future__ import annotations

from commlens.model import Record, over_launches
from commlens.model.launches import launches_of
from commlens.model.levels import communication_s, times_by_kind
from doc_tables import Row, table
from doc_tables.source import NOTHING, ceiling_of, fact, median, records, rows_of, value

_THROUGHPUT = "(DOF x iter)/s/rank"
_VERSIONS = {
    "first": "h100/bps5-before",
    "updates fused": "h100/bps5-after",
    "63 registers": "h100/bps5-63-registers",
}


def _settings(record: Record) -> list[str]:
    coarse = str(record.parameters["coarse"])
    steps = record.parameters.get("coarse_steps")
    return [
        str(record.parameters["elements"]).split("x")[0] + "³",
        str(record.parameters["levels"]),
        str(record.parameters["smoother"]),
        coarse if steps is None else f"{coarse}, {steps} steps",
        str(record.parameters["geometry"]),
    ]


def _throughput(record: Record) -> str:
    return f"{value(record, 'throughput_DOF_iter_per_s'):.3g}"


@table
def bps5() -> list[Row]:
    rows: list[Row] = [
        [
            *("one H200, elements", "levels", "smoother", "coarse solve", "geometry", "launches"),
            *("iterations", "time, ms", _THROUGHPUT, "DOF/s", "% of copy"),
        ]
    ]
    for record in records("h200/bps5", "h200/bps5-variants", "h200/bps5-40"):
        rows.append(
            [
                *_settings(record),
                str(record.facts["launches"]),
                fact(record, "iterations", ".0f"),
                median(record, "time_ms"),
                _throughput(record),
                f"{value(record, 'throughput_DOF_per_s'):.3g}",
                f"{ceiling_of(record, 'device copy').fraction:.0%}",
            ]
        )
    return rows


@table
def bps5_parts() -> list[Row]:
    """Milliseconds of a solve."""
    pool = records("h200/bps5")
    names = list(dict.fromkeys(part.name for record in pool for part in record.parts))
    rows: list[Row] = [["one H200, ms of a solve", *(_settings(record)[3] for record in pool)]]
    for name in names:
        times = [{part.name: part.time_s for part in record.parts}.get(name) for record in pool]
        rows.append(
            [f"`{name}`", *(NOTHING if time is None else f"{time * 1e3:.2f}" for time in times)]
        )
    return rows


@table
def bps5_versions() -> list[Row]:
    """Medians over launches."""
    rows: list[Row] = [
        [
            *("one H100, elements", "eps", "version", "levels", "restart", "launches"),
            *("iterations", "time, ms", _THROUGHPUT, "DOF/s"),
        ]
    ]
    for version, name in _VERSIONS.items():
        for record in over_launches(records(name)):
            rows.append(
                [
                    _settings(record)[0],
                    str(record.parameters["kershaw_eps"]),
                    version,
                    str(record.parameters["levels"]),
                    str(record.parameters["restart"]),
                    str(len(launches_of(record))),
                    fact(record, "iterations", ".0f"),
                    median(record, "time_ms"),
                    _throughput(record),
                    f"{value(record, 'throughput_DOF_per_s'):.3g}",
                ]
            )
    return rows


@table
def bps5_versions_parts() -> list[Row]:
    """Microseconds of an iteration, of the first problem."""

    def of_iteration(record: Record) -> dict[str, float]:
        count = float(fact(record, "iterations", ".0f"))
        return {part.name: part.time_s / count * 1e6 for part in record.parts}

    versions = [of_iteration(records(name)[0]) for name in _VERSIONS.values()]
    rows: list[Row] = [["one H100, µs of an iteration", *_VERSIONS]]
    for part in versions[0]:
        times = (times.get(part) for times in versions)
        rows.append([f"`{part}`", *(NOTHING if time is None else f"{time:.0f}" for time in times)])
    return rows


@table
def bps5_ranks() -> list[Row]:
    alone = value(records("h200/bps5")[0], "throughput_DOF_iter_per_s")

    def of_alone(record: Record) -> str:
        return f"{value(record, 'throughput_DOF_iter_per_s') / alone:.0%}"

    def between_ranks(record: Record) -> str:
        return f"{communication_s(times_by_kind(record)) * 1e3:.1f}"

    columns = {
        "two H200s, 8000 elements each": lambda record: _settings(record)[3],
        "transport": lambda record: record.transport,
        "launches": lambda record: str(record.facts["launches"]),
        "overlap": lambda record: "yes" if record.parameters["overlap"] else "no",
        "iterations": lambda record: fact(record, "iterations", ".0f"),
        "time, ms": lambda record: median(record, "time_ms"),
        _THROUGHPUT: _throughput,
        "of one GPU's": of_alone,
        "exchanges and reductions, ms": between_ranks,
    }
    pool = records("h200-x2/bps5", "h200-x2/bps5-overlap", "h200-x2/bps5-graphs")
    return rows_of(pool, columns)
