"""The solver of BP5."""

from __future__ import annotations

import statistics
from typing import Any

from commlens.model import Record
from doc_tables import Row, table
from doc_tables.source import (
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
