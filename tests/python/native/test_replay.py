"""Replays of a trace with the real programs: what is kept of waiting, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.profile.traces import container
from commlens.profile.traces.trace import Event
from conftest import Commlens
from native_helpers import BENCH, RING, measured, needs_native, on_host_build, shown
from trace_helpers import ring, small

pytestmark = needs_native
WORDS = f"replay --transport mpi --repeat 2 --trace {RING}"
_INTERVALS = 300


@on_host_build
def test_a_replay_tells_waiting_from_transfer(tmp_path: Path) -> None:
    (record,) = measured(tmp_path, 2, WORDS)
    times = {part.name: part.time_s for part in record.parts}
    assert list(times) == ["computation", "transfer", "waiting"]
    facts = {name: float(value) for name, value in record.facts.items()}
    assert facts["waiting_s"] > 0
    kinds = sum(facts[f"late_{kind}_s"] for kind in ("sender", "receiver", "collective"))
    assert times["waiting"] == pytest.approx(facts["waiting_s"], rel=1e-6, abs=1e-12)
    assert kinds == pytest.approx(facts["waiting_s"], rel=1e-6, abs=1e-12)
    assert 0 < facts["critical_path_s"] <= facts["observed_s"] * (1 + 1e-6)
    assert 0 <= facts["free_communication_saves"] <= 1
    series = record.series
    assert len(series["waiting_s"]) == len(series["awaited_s"]) == 2
    assert sum(map(float, series["awaited_s"])) == pytest.approx(2 * facts["waiting_s"], rel=1e-6)
    assert len(series["waiting_over_time"]) == len(series["transfer_over_time"]) == 2 * _INTERVALS
    assert len(series["MPI_COMM_WORLD_s"]) == 2
    table = shown([record])
    for words in ("critical path", "late sender", "computation", "transfer", "waiting"):
        assert words in table


@on_host_build
def test_without_parts_there_is_no_further_replay(tmp_path: Path) -> None:
    (record,) = measured(tmp_path, 2, WORDS, "--no-parts")
    assert not record.parts and "waiting_s" not in record.facts and record.measured


@on_host_build
def test_a_uniform_trace_is_replayed_on_more_ranks(tmp_path: Path) -> None:
    file = tmp_path / "ring.clt"
    file.write_bytes(container.written(ring(3)))
    words = f"replay --transport mpi --repeat 2 --trace {file}"
    for ranks in (3, 4):
        (record,) = measured(tmp_path, ranks, words)
        assert record.validation.status == "passed"
        assert record.facts["calls"] == ranks and record.facts["unchecked_calls"] == 0


def test_info_tells_the_memory_of_a_replay(commlens: Commlens, tmp_path: Path) -> None:
    (tmp_path / "t.clt").write_bytes(container.written(small()))
    told = commlens("trace", "info", tmp_path / "t.clt", COMMLENS_BENCH=str(BENCH)).stdout
    # 80 bytes for the request, 80 and 32 for the other calls, in multiples of 64; and one more.
    assert "a replay has buffers of up to 321 B per rank" in told


def test_the_memory_is_that_of_the_rank_that_has_most(commlens: Commlens, tmp_path: Path) -> None:
    file = tmp_path / "t.clt"
    trace = small()
    trace.events[5] = Event(1, (0, 96, 0, 0, 5, 0))  # what rank 1 sends
    file.write_bytes(container.written(trace))
    told = commlens("trace", "info", file, COMMLENS_BENCH=str(BENCH)).stdout
    assert "a replay has buffers of up to 961 B per rank" in told
    file.write_bytes(file.read_bytes()[:-1])  # it has lost rank 1, and is not replayed
    cut = commlens("trace", "info", file, COMMLENS_BENCH=str(BENCH))
    assert cut.returncode == 0 and "a replay has buffers" not in cut.stdout


def test_settings_are_tuned_for_the_program_of_a_trace(commlens: Commlens) -> None:
    run = commlens("tune", "--replay", RING, "--gaps", "none", "--dry-run")
    assert run.stdout.startswith(f"commlens run replay --trace {RING} --gaps none --ranks 2\n")
    run = commlens("tune", "latency", "--replay", RING, "--dry-run")
    assert run.returncode == 2 and "that is the benchmark; leave out 'latency'" in run.stderr
