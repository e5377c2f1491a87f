"""The files of published results: what they say is declared, and mistakes are named."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.compare import references as reference
from commlens.compare.references.sources import values_of
from run_helpers import table

TOP = Path(__file__).resolve().parents[4]
NAMES = [source.name for source in reference.load()]
MISTAKES = table(Path(__file__).with_name("mistakes.yaml"))
ALL = [figure for source in reference.load() for figure in source.figures]

GOOD = """
title: a paper
machine: a machine
results:
  - benchmark: latency
    metric: latency_us
    printed_unit: s
    unit: us
    quantity: time
    parameters: {pairs: 1}
    figures:
      - {as_printed: "1.5e-6"}
      - {as_printed: "3e-6", operations: 2, unit: ms}
"""


def test_the_keys_of_a_block_hold_for_its_figures_unless_they_have_others() -> None:
    source = reference.parse(GOOD, "paper")
    first, second = source.figures
    assert (source.name, first.source) == ("paper", "paper")
    assert (first.benchmark, first.metric) == ("latency", "latency_us")
    assert first.value == pytest.approx(1.5)
    assert second.value == pytest.approx(1.5e-3), "of one operation, in the unit that it names"


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES)
def test_mistakes_are_named(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    with pytest.raises(CommlensError, match=re.escape(expected)) as error:
        reference.parse(GOOD.replace(old, new, 1), "paper")
    assert str(error.value).startswith("paper.yaml")
    assert "\n" not in str(error.value)


def test_the_results_of_a_benchmark_are_those_of_all_sources() -> None:
    for benchmark in {value.benchmark for value in ALL} | {"no-such"}:
        wanted = tuple(value for value in ALL if value.benchmark == benchmark)
        assert values_of(benchmark) == wanted, benchmark


def test_the_shipped_sources_are_there() -> None:
    assert set(NAMES) >= {
        *("dftfe-summit", "dftfe-crusher", "dftfe-frontier", "juliet", "cp2k-fft"),
        *("nekrs-crusher", "nekrs-kershaw"),
        *("cscs-alps-mpich", "cscs-alps-nccl", "cscs-alps-openmpi", "eessi-olivia"),
        *("mpich-aurora", "mpich-frontier", "mpich-perlmutter", "sarus-piz-daint"),
    }
    assert sorted(NAMES) == NAMES


def test_a_source_has_the_name_of_its_file() -> None:
    assert reference.find("juliet").machine.startswith("juliet")
    with pytest.raises(CommlensError, match="did you mean 'juliet'"):
        reference.find("julliet")
    with pytest.raises(CommlensError, match=r"there are .*dftfe-frontier"):
        reference.find("x" * 10_000)


def declared() -> dict[tuple[str, str], str]:
    """The units of metrics and facts by benchmark, as docs/records-reference.md has them."""
    text = (TOP / "docs" / "records-reference.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `?([\w-]+)`? \| `(\w+)` \| (\S*) ", text, re.MULTILINE)
    return {(benchmark, name): unit for benchmark, name, unit in rows}


@pytest.mark.parametrize("name", NAMES)
def test_metrics_and_their_units_are_those_of_the_benchmarks(name: str) -> None:
    units = declared()
    assert units
    for figure in reference.find(name).figures:
        if figure.metric:
            unit = units.get((figure.benchmark, figure.metric), units.get(("all", figure.metric)))
            assert unit is not None, (name, figure.benchmark, figure.metric)
            assert unit.replace("|", "") == figure.value_unit, (name, figure.metric)


@pytest.mark.parametrize("name", NAMES)
def test_a_source_says_where_it_comes_from(name: str) -> None:
    source = reference.find(name)
    assert source.title and source.machine
    assert source.url.startswith("http") or "not known" in source.note


def test_values_are_converted() -> None:
    """A few by hand: seconds of 50 calls, seconds of a solve, operations per second."""
    summit = reference.find("dftfe-summit").figures[0]
    assert summit.as_printed == "2.367997640000001347e-01"
    assert summit.value == pytest.approx(4735.99528)
    crusher = reference.find("nekrs-crusher").figures
    bps5 = [figure for figure in crusher if figure.benchmark == "bps5"]
    values = {(figure.metric, figure.summary): figure.value for figure in bps5}
    assert values["time_ms", "best"] == pytest.approx(552.199)
    assert values["rank_GFLOPs", "best"] == pytest.approx(401.044)
    assert values["throughput_DOF_iter_per_s", "best"] == 1.88831e8


@pytest.mark.parametrize(
    ("name", "metric", "nodes", "size", "value"),
    [
        ("cscs-alps-openmpi", "bandwidth_GBps", 2, 4 << 20, 23.98954),
        ("cscs-alps-openmpi", "bandwidth_GBps", 1, 4 << 20, 23.98944),
        ("cscs-alps-openmpi", "time_us", 2, 1 << 20, 486.89),
        ("cscs-alps-mpich", "bandwidth_GBps", 1, 4 << 20, 115.21494),
        ("cscs-alps-mpich", "bandwidth_GBps", 2, 4 << 20, 23.97434),
        ("cscs-alps-nccl", "bus_bandwidth_GBps", 2, 128 << 20, 122.57),
        ("cscs-alps-nccl", "time_us", 2, 8, 17.93),
        ("eessi-olivia", "latency_us", 2, 1, 2.38),
        ("eessi-olivia", "bandwidth_GBps", 2, 4 << 20, 46.03577),
        ("mpich-aurora", "time_us", 1, 2048, 17.74),
        ("mpich-frontier", "bandwidth_GBps", 1, 65536, 20.88419),
        ("mpich-perlmutter", "time_us", 16, 1 << 20, 6751.7),
        ("sarus-piz-daint", "latency_us", 2, 1, 1.11),
        ("sarus-piz-daint", "time_us", 2, 1 << 20, 733.93),
    ],
)
def test_values_of_machines(name: str, metric: str, nodes: int, size: int, value: float) -> None:
    """The first of each source, for which its document was read by hand."""
    source = reference.find(name)
    first, *_ = (
        figure
        for figure in source.figures
        if (figure.metric, figure.nodes, figure.size) == (metric, nodes, size)
    )
    assert first.value == pytest.approx(value)
    assert first.ranks and first.memory and first.transport, "its conditions"
    assert re.search(r"read on\s+\d{4}-\d\d-\d\d", source.note, re.IGNORECASE)


def example(language: str) -> str:
    text = (TOP / "docs" / "reference.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(block)


def test_the_example_of_a_source_can_be_read() -> None:
    source = reference.parse(example("yaml"), "paper")
    assert [figure.value for figure in source.figures] == pytest.approx([3.1, 3.9])


def test_the_example_of_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    measured = TOP / "docs" / "measured" / "h200-x2" / "allreduce-ucx.jsonl"
    exec(example("python").replace("results/allreduce.jsonl", str(measured)), {})
    lines = capsys.readouterr().out.splitlines()
    assert any("dftfe-frontier Frontier, 8 x MI250X GCD" in line for line in lines)
    assert lines[-1] == "4.06"


def test_nothing_is_there_twice() -> None:
    fields = attrgetter("line", "machine", "quantity", "size", "nodes", "ranks")
    keys = [fields(figure) for figure in ALL]
    assert len(keys) == len(set(keys))
