"""A slow link among 64 nodes is found, and named; where there is none, none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.model.pairs import pair_matrix
from conftest import Commlens
from run_helpers import kept
from simulated_helpers import Machine

_SLOW = 17
_BYTES = 65536
# Six batches, from which on there is a confidence interval.
_WORDS = f"latency --matrix --bytes {_BYTES} --batches 6 --repeat 1"


def _said(commlens: Commlens, file: Path) -> str:
    shown = commlens("show", file)
    assert shown.returncode == 0, shown.stderr
    return " ".join(shown.stdout.split())


def _microseconds(machine: Machine, slower: float = 1.0) -> float:
    return 1e6 * (machine.latency_s + _BYTES * slower / machine.bandwidth)


def test_a_slow_link_is_named(commlens: Commlens, tmp_path: Path) -> None:
    machine = Machine(slower={_SLOW: 4.0})
    file = machine.record(tmp_path, _WORDS)
    (record,) = kept(file)
    matrix = pair_matrix(record)
    assert matrix is not None and len(matrix.pairs) == 64 * 63 // 2
    for pair in matrix.pairs:
        is_slow = _SLOW in (pair.first, pair.second)
        expected = _microseconds(machine, 4.0 if is_slow else 1.0)
        assert pair.value == pytest.approx(expected, rel=0.01)
    assert f"{_SLOW} (node{_SLOW})" in str(record.facts["slowest_pair"])
    said = _said(commlens, file)
    assert f"warning: All pairs of node node{_SLOW} are slow: ranks " in said
    assert "[slow-pair]" in said


def test_no_link_is_named_where_all_are_alike(commlens: Commlens, tmp_path: Path) -> None:
    machine = Machine()
    file = machine.record(tmp_path, _WORDS)
    matrix = pair_matrix(kept(file)[0])
    assert matrix is not None
    for pair in matrix.pairs:
        assert pair.value == pytest.approx(_microseconds(machine), rel=0.01)
    said = _said(commlens, file)
    assert "slow-pair" not in said and "warning" not in said
