"""The overlap matrix of GEMMs, reductions and copies."""

from __future__ import annotations

from collections.abc import Iterator

from commlens.model import Record
from doc_tables import Row, table
from doc_tables.source import (
    ceiling_of,
    efficiency,
    find,
    hidden,
    median,
    part_s,
    rate,
    records,
    rows_of,
    value,
)

_H200_TFLOPs = 67  # FP64 on tensor cores (NVIDIA's data sheet of the H200)
_OPTIONS = {
    "xtx": "as DFT-FE does it",
    "xtx-wide": "`--layout wide`",
    "xtx-tuned": "`--tune --depth 4 --priority normal`",
    "xtx-tuned-wide": "the same, `--layout wide`",
    "xtx-tuned-512": "`--tune --depth 4 --priority normal --block 512`",
}
_PARTS = ("multiplications", "reductions", "copies")
_GEMMS = ("square GEMM", "block GEMM")


def _runs() -> Iterator[tuple[str, Record]]:
    """The records with their options, which are written once."""
    for name, title in _OPTIONS.items():
        for record in records(f"h200-x2/{name}"):
            yield title, record
            title = ""


def _reference_s() -> float:
    """The total as DFT-FE does it, with NCCL."""
    record = find(records("h200-x2/xtx"), transport="ccl")
    assert record is not None
    return value(record, "time_s")


@table
def xtx() -> list[Row]:
    reference = _reference_s()
    rows: list[Row] = [
        [
            *("two H200s, f64, block 732 unless given", "transport", "total, s", "products alone"),
            *("reductions alone", "copies alone", "sum of the three", "hidden communication"),
            *("overlap efficiency", "speed-up", "TFLOP/s per GPU"),
            "% of square GEMM",
        ]
    ]
    for title, record in _runs():
        total = value(record, "time_s")
        parts = [part_s(record, part) for part in _PARTS]
        rows.append(
            [
                title,
                record.transport,
                f"{total:.3f}",
                *(f"{part:.3g}" for part in parts),
                f"{sum(parts):.3f}",
                hidden(record),
                efficiency(record),
                f"{reference / total:.2f}",
                median(record, "rank_TFLOPs"),
                f"{ceiling_of(record, 'square GEMM').fraction:.1%}",
            ]
        )
    return rows


@table
def xtx_limits() -> list[Row]:
    rows: list[Row] = [
        [
            *("options", "transport", "square GEMM, TFLOP/s", "block GEMM, TFLOP/s"),
            *("reductions in the pipeline, s", "products in the pipeline, s"),
        ]
    ]
    for title, record in _runs():
        rates = [f"{rate(record, gemm):.1f}" for gemm in _GEMMS]
        times = [f"{_overlapped_s(record, part):.3g}" for part in ("reductions", _PARTS[0])]
        rows.append([title, record.transport, *rates, *times])
    return rows


def _overlapped_s(record: Record, part: str) -> float:
    """Time of the steps of a part on rank 0 in the timeline, while others run beside them."""
    spans = record.timeline.spans if record.timeline else []
    of_part = [span for span in spans if span.rank == 0 and span.part == part]
    return sum(span.end_us - span.start_us for span in of_part) * 1e-6


@table
def xtx_blocks() -> list[Row]:
    reference = _reference_s()
    rows: list[Row] = [
        [
            *("block", "options", "total, s", "products alone", "total over products alone"),
            *("speed-up", "TFLOP/s per GPU", "at the rate of a square GEMM, s"),
        ]
    ]
    names = ("xtx-blocks", "xtx-tuned-512", "xtx-tuned-ccl")
    for record in records(*(f"h200-x2/{name}" for name in names)):
        if record.transport != "ccl":
            continue
        total, gemms = value(record, "time_s"), part_s(record, "multiplications")
        rows.append(
            [
                str(record.parameters["block"]),
                f"`{_options_of(record)}`",
                f"{total:.3f}",
                f"{gemms:.3f}",
                f"{total / gemms - 1:+.1%}",
                f"{reference / total:.2f}",
                median(record, "rank_TFLOPs"),
                f"{total * ceiling_of(record, 'square GEMM').fraction:.3f}",
            ]
        )
    return rows


def _options_of(record: Record) -> str:
    options = record.parameters
    words = ["--tune"] if options["tune"] else []
    if options["overlap"]:
        words.append(f"--depth {options['depth']} --priority {options['priority']}")
    else:
        words.append("--no-overlap")
    return " ".join(words)


@table
def xtx_numbers() -> list[Row]:
    def clock(record: Record) -> str:
        return f"{record.gpu_clock.least_MHz:.0f}" if record.gpu_clock else "-"

    def share(record: Record) -> str:
        return f"{value(record, 'rank_TFLOPs') / _H200_TFLOPs:.0%}"

    columns = {
        "one H200, one launch each": lambda record: f"`--numbers {record.parameters['numbers']}`",
        "clock after it, of 1980 MHz": clock,
        "total, s": lambda record: f"{value(record, 'time_s'):.3f}",
        "TFLOP/s": lambda record: median(record, "rank_TFLOPs"),
        "of 67 TFLOP/s": share,
        "block GEMM": lambda record: f"{rate(record, 'block GEMM'):.1f}",
        "square GEMM, all bits": lambda record: f"{rate(record, 'square GEMM'):.1f}",
    }
    return rows_of(records("h200/xtx-numbers"), columns)


@table
def xtx_types() -> list[Row]:
    columns = {
        "one H100, 1 rank": lambda record: str(record.parameters["dtype"]),
        "transport": lambda record: record.transport,
        "total, s": lambda record: median(record, "time_s"),
        "hidden communication": hidden,
        "overlap efficiency": efficiency,
        "TFLOP/s": lambda record: median(record, "rank_TFLOPs"),
        "square GEMM": lambda record: f"{rate(record, 'square GEMM'):.1f}",
        "block GEMM": lambda record: f"{rate(record, 'block GEMM'):.1f}",
    }
    return rows_of(records("h100/xtx", "h100/xtx-types"), columns)
