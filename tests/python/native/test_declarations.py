"""Declarations against what is measured: directions, units and roles, which the key of a case and
all tables, pictures and comparisons follow."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from commlens.model import TIME_METRIC, Metric, Record, case_key
from native_helpers import BENCHMARKS, measured, needs_native

pytestmark = needs_native

SMALL = {
    "allreduce": "--bytes 8K",
    "bandwidth": "--bytes 8K",
    "bidirectional-bandwidth": "--bytes 8K",
    "bp5": "--elements 2,2,2 --order 3 --iterations 5",
    "bps5": "--elements 2,2,2 --order 3 --coarse cg",
    "fft": "--grid 16",
    "gather-scatter": "--elements 2,2,2 --order 3",
    "latency": "--bytes 8K",
    "message-rate": "--bytes 8K",
    "xtx": "--dofs 2000 --vectors 16 --block 8",
}
# The parameters of role size, setting or variant: what makes the key of a case.
KEYS = {
    "allreduce": "bytes dtype in_place",
    "bandwidth": "bytes pairs window",
    "bidirectional-bandwidth": "bytes pairs window",
    "bp5": "elements exchange_dtype geometry graphs iterations kershaw_eps mode order overlap rhs"
    " solver storage tolerance",
    "bps5": "coarse coarse_steps elements geometry graphs iterations kershaw_eps levels mode order"
    " overlap restart rhs smoother tolerance",
    "fft": "communicators dtype exchange grid grid_span",
    "gather-scatter": "combine dtype elements exchange_dtype fields ids kershaw_eps mode order"
    " overlap",
    "latency": "bytes pairs",
    "message-rate": "bytes pairs window",
    "xtx": "block copy depth dofs dtype first layout numbers overlap priority tune vectors",
}
UNITS = {
    "DOF_iter_per_s": "DOF*iter/s",
    "DOF_per_s": "DOF/s",
    "per_s": "1/s",
    "GBps": "GB/s",
    "Mflops": "Mflop/s",
    "GFLOPs": "GFLOP/s",
    "TFLOPs": "TFLOP/s",
    "us": "us",
    "ms": "ms",
    "s": "s",
    "efficiency": "",
}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


@cache
def record_of(benchmark: str) -> Record:
    options = "--transport mpi --memory host --repeat 21 --batches 11"
    with TemporaryDirectory() as folder:
        return measured(Path(folder), 2, benchmark, SMALL[benchmark], options)[0]


def metrics_of(benchmark: str) -> list[Metric]:
    """Those that follow from the time of a sample alone."""
    return [metric for metric in record_of(benchmark).metrics if metric.unit]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_better_is_what_a_shorter_time_gives(benchmark: str) -> None:
    record = record_of(benchmark)
    time = record.statistics[TIME_METRIC]
    assert time.count % 2 == 1, "medians are samples"
    for metric in metrics_of(benchmark):
        own = record.statistics[metric.name]
        if metric.better == "lower":
            assert own.max / own.median == pytest.approx(time.max / time.median), metric.name
        else:
            assert own.min / own.median == pytest.approx(time.median / time.max), metric.name


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_unit_is_that_of_the_name_and_of_the_number(benchmark: str) -> None:
    record = record_of(benchmark)
    time_s = record.statistics[TIME_METRIC].median * 1e-6
    for metric in metrics_of(benchmark):
        ending = next(ending for ending in UNITS if f"_{metric.name}".endswith(f"_{ending}"))
        assert metric.unit == UNITS[ending], metric.name
        value = record.statistics[metric.name].median
        if metric.label == "time":
            assert value * SECONDS[metric.unit] == pytest.approx(time_s), metric.name
        elif metric.unit == "GB/s" and record.size_parameter:
            transferred = value * 1e9 * time_s / (record.size or 0)
            assert 0.5 < transferred < 256, f"{metric.name}: windows of 64 messages, both ways"


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_roles_make_the_key(benchmark: str) -> None:
    record = record_of(benchmark)
    names = [name for name, _ in case_key(record).parameters]
    assert names == KEYS[benchmark].split()
    sizes = [own.name for own in record.start.size_parameters if own.name in record.parameters]
    assert sizes == [name for name in ("bytes", "block") if name in record.parameters]
    units = {own.name: own.unit for own in record.start.benchmark.parameters}
    assert [name for name, unit in units.items() if unit == "B"] == [
        name for name in ("bytes",) if name in units
    ]
