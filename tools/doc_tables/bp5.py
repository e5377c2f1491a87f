"""The solver of BP5."""

from __future__ import annotations

import statistics
from typing import Any

from commlens.model import Record, over_launches
from commlens.model.launches import launches_of
from doc_tables import Row, table
from doc_tables.source import (
    NOTHING,
    ceiling_of,
    fact,
    json_file,
    median,
    number,
    rate,
    records,
    rows_of,
    value,
)

_VARIANT = ("storage", "geometry", "solver")
_KERNELS = "h200/bp5-memory.json"
_KERNELS_BEFORE = "h200/bp5-memory-before.json"
_THROUGHPUT = "(DOF x iter)/s/rank"


def _variant(record: Record) -> tuple[str, ...]:
    return tuple(str(record.parameters[name]) for name in _VARIANT)


def _variant_of_kernels(line: Any) -> tuple[str, ...]:
    return tuple(line["options"][1::2])


def _throughput(record: Record) -> str:
    return f"{value(record, 'throughput_DOF_iter_per_s'):.3g}"


def _iteration_us(record: Record) -> float:
    return value(record, "time_ms") * 1e3 / number(record, "iterations")


@table
def bp5() -> list[Row]:
    kernels = {_variant_of_kernels(line): line for line in json_file(_KERNELS_BEFORE)}
    rows: list[Row] = [
        [
            *("one H200, 20³ elements", "geometry", "solver", _THROUGHPUT, "iteration, µs"),
            *("kernels, µs", "bytes per DOF and iteration: counted", "measured"),
            *("measured bytes, GB/s", "copy, GB/s", "% of copy"),
        ]
    ]
    for record in records("h200/bp5"):
        kernel = kernels[_variant(record)]
        measured = kernel["bytes_per_iteration"]
        bandwidth = measured / _iteration_us(record) * 1e-3
        copy = 2 * rate(record, "device copy")  # read and written
        rows.append(
            [
                *_variant(record),
                _throughput(record),
                f"{_iteration_us(record):.1f}",
                f"{kernel['kernels_us_per_iteration']:.1f}",
                fact(record, "bytes_per_dof_iteration", ".1f"),
                f"{measured / number(record, 'dof_per_rank'):.1f}",
                f"{bandwidth:.0f}",
                f"{copy:.0f}",
                f"{bandwidth / copy:.0%}",
            ]
        )
    return rows


@table
def bp5_launches() -> list[Row]:
    """Medians over launches of the medians of each."""
    rows: list[Row] = [
        [
            "20³ elements",
            "version",
            "transport",
            "launches",
            _THROUGHPUT,
            "least",
            "greatest",
            "iteration, µs",
        ]
    ]
    for gpu, version, name in (
        ("H200", "before", "h200/bp5-before"),
        ("", "now", "h200/bp5-after"),
        ("H100", "now", "h100/bp5"),
    ):
        title = (gpu, version)
        for transport in ("mpi", "ccl"):
            launches = [record for record in records(name) if record.transport == transport]
            rates = [value(record, "throughput_DOF_iter_per_s") for record in launches]
            rows.append(
                [
                    *title,
                    transport,
                    len(launches),
                    *(f"{rate:.3g}" for rate in (statistics.median(rates), min(rates), max(rates))),
                    f"{statistics.median(map(_iteration_us, launches)):.1f}",
                ]
            )
            title = ("", "")
    return rows


@table
def bp5_steps() -> list[Row]:
    rows: list[Row] = [
        ["each with those above", "predicted to save, µs", "iteration, µs", "saved, µs"]
    ]
    before: float | None = None
    for step in json_file("h200/bp5-steps.json")["steps"]:
        iteration = statistics.median(step["iteration_us"])
        saved = "" if before is None else f"{before - iteration:.1f}"
        rows.append([step["step"], step["predicted_us"], f"{iteration:.1f}", saved])
        before = iteration
    return rows


@table
def bp5_host() -> list[Row]:
    def share(record: Record, name: str) -> str:
        return f"{ceiling_of(record, name).fraction:.0%}"

    columns = {
        "one core, 20³ elements": lambda record: _variant(record)[0],
        "geometry": lambda record: _variant(record)[1],
        _THROUGHPUT: _throughput,
        "counted bytes, GB/s": lambda record: median(record, "memory_GBps"),
        "% of copy": lambda record: share(record, "memory copy"),
        "GFLOP/s by nekRS's count": lambda record: median(record, "rank_GFLOPs"),
        "% of square GEMM": lambda record: share(record, "square GEMM"),
    }
    return rows_of(records("bp5-host"), columns)


@table
def bp5_kernels() -> list[Row]:
    rows: list[Row] = [
        [*_VARIANT, "kernel", "launches per iteration", "µs each", "MB each", "GB/s"]
    ]
    for line in json_file(_KERNELS):
        title: tuple[str, ...] = _variant_of_kernels(line)
        kernels = sorted(line["kernels"].items(), key=lambda item: -float(item[1]["us"]))
        for name, kernel in kernels:
            rows.append(
                [
                    *title,
                    name,
                    kernel["launches"],
                    f"{kernel['us']:.1f}",
                    f"{kernel['bytes'] * 1e-6:.1f}",
                    f"{kernel['bytes'] / kernel['us'] * 1e-3:.0f}",
                ]
            )
            title = ("",) * len(_VARIANT)
    return rows


@table
def bp5_ranks() -> list[Row]:
    rows: list[Row] = [
        [
            *("two H200s, 40x20x20 elements", "transport", "exchange", _THROUGHPUT),
            "iteration, µs",
        ]
    ]
    for record in records("h200-x2/bp5"):
        rows.append(
            [
                _options(record),
                record.transport,
                str(record.facts["exchange"]),
                _throughput(record),
                f"{_iteration_us(record):.1f}",
            ]
        )
    return rows


def _options(record: Record) -> str:
    options = record.parameters
    given = {
        "`--no-graphs`": not options["graphs"],
        "`--no-overlap`": not options["overlap"],
        "`--solver fused`": options["solver"] == "fused",
        "`--exchange-dtype f32`": options["exchange_dtype"] == "f32",
    }
    return ", ".join(option for option, is_given in given.items() if is_given) or "default"


# One after the other, interleaved: each with those above it.
_STEPS = (
    ("H100", "before", "h100/bp5-ordered-sums"),
    ("", "sums of blocks in any order", "h100/bp5-unordered-sums"),
    ("", "the operator's constants from shared memory", "h100/bp5-shared-constants"),
    ("", "x is updated every fourth iteration", "h100/bp5-four-directions"),
    ("H200", "before", "h200/bp5-ordered-sums"),
    ("", "all three", "h200/bp5-four-directions"),
    ("another H200", "before", "h200/bp5-direction-given"),
    ("", "tried: the operator computes the direction", "h200/bp5-direction-computed"),
    ("a third H200", "all three, as they are now", "h200/bp5-most-shared-memory"),
    ("", "less shared memory for the operator", "h200/bp5-more-cache"),
)


@table
def bp5_last_steps() -> list[Row]:
    """Medians over launches."""
    columns = [f"{edge}³: {name}" for edge in (20, 32) for name in (_THROUGHPUT, "iteration, µs")]
    rows: list[Row] = [["over ccl", "version", "launches", *columns]]
    for gpu, version, name in _STEPS:
        of_sizes = over_launches(records(name))
        cells = [
            cell
            for record in of_sizes
            for cell in (_throughput(record), f"{_iteration_us(record):.1f}")
        ]
        rows.append([gpu, version, str(len(launches_of(of_sizes[0]))), *cells])
    return rows


@table
def bp5_beside_peers() -> list[Row]:
    """Medians over launches; of libparanumal over its solves."""
    rows: list[Row] = [["GPU", "program", "elements", "eps", "iterations", "time, ms", _THROUGHPUT]]
    for gpu, bp5_name in (("h100", "bp5-beside-peers"), ("h200", "bp5-four-directions")):
        own = over_launches(records(f"{gpu}/{bp5_name}", f"{gpu}/bps5-beside-peers"))
        runs = json_file(f"{gpu}/peers-solvers.json")["runs"]
        rows += [[gpu.upper(), *row] for row in (*map(_own_row, own), *_peer_rows(runs))]
    return rows


def _own_row(record: Record) -> Row:
    return [
        f"commlens {record.benchmark}",
        str(record.parameters["elements"]),
        f"{record.parameters['kershaw_eps']:g}",
        fact(record, "iterations", ".0f"),
        median(record, "time_ms"),
        _throughput(record),
    ]


def _peer_rows(runs: list[dict[str, Any]]) -> list[Row]:
    """A row for each set of equal settings."""
    names = ("program", "levels", "elements", "kershaw_eps", "iterations")
    of_settings: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for run in runs:
        of_settings.setdefault(tuple(run.get(name) for name in names), []).append(run)
    rows: list[Row] = []
    for (program, levels, elements, eps, iterations), same in of_settings.items():
        times = [time for run in same for time in run.get("time_ms", [run.get("time_s", 0) * 1e3])]
        rates = [run["dof_iterations_per_s"] for run in same if "dof_iterations_per_s" in run]
        rows.append(
            [
                f"{program}, levels {levels}" if levels else program,
                elements,
                NOTHING if eps is None else f"{eps:g}",
                str(iterations),
                f"{statistics.median(times):.4g}",
                f"{statistics.median(rates):.3g}" if rates else NOTHING,
            ]
        )
    return rows
