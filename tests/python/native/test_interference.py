"""What the native program records of other programs on the job's cores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commlens.model.interference import programs_of, why_busy
from native_helpers import measured
from run_helpers import hogs

_SWEEP = "latency --memory host --transport mpi --bytes 8,64K,1M --min-time 0.5"


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_case_knows_how_long_a_rank_waited(tmp_path: Path, ranks: int) -> None:
    case = "bp5 --elements 3 --iterations 20" if ranks == 1 else "allreduce --bytes 8"
    records = measured(tmp_path, ranks, f"{case} --memory host --transport mpi --min-time 0.1")
    for record in records:
        assert record.interference is not None
        assert record.interference.waiting_fraction is not None
        assert 1 <= record.interference.cores <= len(os.sched_getaffinity(0))
        assert record.interference.seconds > 0


def test_a_program_on_the_cores_of_the_job_is_named(tmp_path: Path) -> None:
    with hogs():
        records = measured(tmp_path, 2, _SWEEP)
    assert all(record.interference is not None for record in records)
    busy = [record for record in records if why_busy(record)]
    assert busy, records
    assert any(name.startswith("python") for name in programs_of(busy))
    seen = [record.interference.busy_cores or 0 for record in busy if record.interference]
    assert max(seen) > 0.2
