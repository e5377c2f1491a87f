"""Times are those of the formulas of docs/measuring.md and docs/gather-scatter.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, log2
from pathlib import Path

import pytest

from simulated_helpers import Machine, seconds

_TOLERANCE = 0.01  # the last bytes of the barrier before an operation are on their way as it begins
_KILOBYTES = (8, 1024)
_RANKS = (16, 64)


def _ring(machine: Machine, size: int) -> float:
    n = machine.ranks
    return 2 * (n - 1) * (machine.latency_s + size / n / machine.bandwidth)


def _tree(machine: Machine, size: int) -> float:
    return ceil(log2(machine.ranks)) * (machine.latency_s + size / machine.bandwidth)


@pytest.mark.parametrize("ranks", _RANKS)
@pytest.mark.parametrize(
    ("benchmark", "algorithms", "formula"),
    [
        ("allreduce", {"allreduce": "lr"}, _ring),
        ("allreduce", {"allreduce": "rdb"}, _tree),
        ("broadcast", {"bcast": "binomial_tree"}, _tree),
    ],
    ids=["ring", "recursive doubling", "binomial tree"],
)
def test_collectives(
    benchmark: str,
    algorithms: dict[str, str],
    formula: Callable[[Machine, int], float],
    ranks: int,
    tmp_path: Path,
) -> None:
    machine = Machine(ranks)
    sizes = ",".join(f"{kilobytes}K" for kilobytes in _KILOBYTES)
    words = f"{benchmark} --bytes {sizes} --batches 2 --repeat 1"
    records = machine.records(tmp_path, words, **algorithms)
    assert len(records) == len(_KILOBYTES)
    for record in records:
        size = record.parameters["bytes"]
        assert seconds(record) == pytest.approx(formula(machine, size), rel=_TOLERANCE)


# ---- gather-scatter: a message to each neighbor, or the stages of the crystal router ----

# Of 64 ranks those in the middle of a cube of 4 x 4 x 4 have the most neighbors.
_NEIGHBORS, _STAGES = 26, 6
_REFERENCE = Machine()


def _gather_scatter_s(machine: Machine, mode: str, folder: Path) -> float:
    words = f"gather-scatter --elements 8,8,8 --order 3 --mode {mode}"
    (record,) = machine.records(folder, f"{words} --batches 1 --repeat 1 --no-parts")
    assert record.facts["messages"] == _NEIGHBORS
    return seconds(record)


@pytest.fixture(scope="module")
def router_bytes(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Of the crystal router, over all stages: from its time where nothing but bytes and latencies
    takes any."""
    alone_s = _gather_scatter_s(_REFERENCE, "crystal-router", tmp_path_factory.mktemp("reference"))
    return (alone_s - _STAGES * _REFERENCE.latency_s) * _REFERENCE.bandwidth


@pytest.mark.parametrize(
    ("machine", "crossover_us"),
    [
        (_REFERENCE, 0.7),
        (replace(_REFERENCE, link_latency_s=4 * _REFERENCE.link_latency_s), 2.2),
        (replace(_REFERENCE, bandwidth=_REFERENCE.bandwidth / 4), 1.2),
    ],
    ids=["reference", "four times the latency", "a quarter of the bandwidth"],
)
def test_the_crossover_moves(
    machine: Machine, crossover_us: float, router_bytes: float, tmp_path: Path
) -> None:
    bytes_s = router_bytes / machine.bandwidth
    crossover_s = ((_STAGES - 1) * machine.latency_s + bytes_s) / (_NEIGHBORS - _STAGES)
    assert 1e6 * crossover_s == pytest.approx(crossover_us, rel=0.1)
    for factor, winner in ((0.8, "pairwise"), (1.25, "crystal-router")):
        start_up_s = factor * crossover_s
        model = {
            "pairwise": _NEIGHBORS * start_up_s + machine.latency_s,
            "crystal-router": _STAGES * (start_up_s + machine.latency_s) + bytes_s,
        }
        times = {
            mode: _gather_scatter_s(replace(machine, start_up_s=start_up_s), mode, tmp_path)
            for mode in model
        }
        assert times == pytest.approx(model, rel=0.05)
        assert min(times, key=times.__getitem__) == winner
