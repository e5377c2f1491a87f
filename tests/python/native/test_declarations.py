"""Declarations against what is measured: directions, units and roles, which the key of a case and
all tables, pictures and comparisons follow."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from commlens.model import TIME_METRIC, Metric, Record, case_key
from native_helpers import BENCHMARKS, DIFFERENT, ROOT, measured, needs_native, small

pytestmark = needs_native

ROW = re.compile(r"^\| `([\w-]+)` \| (.*) \| (.*) \| (.*) \| .* \|$", re.MULTILINE)
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
    options = "--transport mpi --memory host --repeat 5 --batches 5"
    with TemporaryDirectory() as folder:
        words = (small(benchmark), options)
        return measured(Path(folder), 2, benchmark, *words, ceilings=True)[0]


def metrics_of(benchmark: str) -> list[Metric]:
    """Those that follow from the time of a sample alone."""
    return [metric for metric in record_of(benchmark).metrics if metric.unit]


@pytest.mark.parametrize("benchmark", DIFFERENT)
def test_a_shorter_time_gives_better_metrics(benchmark: str) -> None:
    record = record_of(benchmark)
    time = record.statistics[TIME_METRIC]
    assert time.count % 2 == 1, "medians are samples"
    for metric in metrics_of(benchmark):
        stats = record.statistics[metric.name]
        if metric.better == "lower":
            assert stats.max / stats.median == pytest.approx(time.max / time.median), metric.name
        else:
            assert stats.min / stats.median == pytest.approx(time.median / time.max), metric.name


@pytest.mark.parametrize("benchmark", DIFFERENT)
def test_what_moves_or_computes_has_ceilings(benchmark: str) -> None:
    has_none = benchmark in ("communicator-creation", "init", "replay")
    assert bool(record_of(benchmark).ceilings) != has_none


@pytest.mark.parametrize("benchmark", DIFFERENT)
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


def documented_keys() -> dict[str, set[str]]:
    """By benchmark, the parameters of the roles that make the key."""
    text = (ROOT / "docs" / "records-reference.md").read_text(encoding="utf-8")
    table = text.partition("<!-- keys -->")[2].partition("<!-- /keys -->")[0]
    rows = [match.groups() for match in ROW.finditer(table)]
    return {name: set(re.findall(r"`(\w+)`", " ".join(cells))) for name, *cells in rows}


def test_the_documentation_has_the_key_of_each_benchmark() -> None:
    assert sorted(documented_keys()) == BENCHMARKS


@pytest.mark.parametrize("benchmark", DIFFERENT)
def test_the_roles_make_the_key(benchmark: str) -> None:
    record = record_of(benchmark)
    names = [name for name, _ in case_key(record).parameters]
    assert set(names) == documented_keys()[benchmark] & set(record.parameters)
    sizes = [size.name for size in record.start.size_parameters if size.name in record.parameters]
    assert sizes == [name for name in ("bytes", "block") if name in record.parameters]
    units = {parameter.name: parameter.unit for parameter in record.start.benchmark.parameters}
    assert [name for name, unit in units.items() if unit == "B"] == [
        name for name in ("bytes",) if name in units
    ]
