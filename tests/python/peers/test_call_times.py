"""tools/peers/call_times.c: what the calls of any program take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from native_helpers import OK, needs_native, preloaded, start, under_mpirun
from peer_helpers import PEERS

pytestmark = needs_native

LINE = re.compile(
    r"^call_times: rank (\d) calls (\d+) mean ([\d.]+) median ([\d.]+) period ([\d.]+)$", re.M
)
OPTIONS = (
    "--out-of-place --memory host --transport mpi --repeat 50 --batches 1 --warmup 0 --no-ceilings"
)


def _ranks(folder: Path, operation: str, bytes_: int) -> dict[str, tuple[int, list[float]]]:
    """Of each rank the number of calls, and its times."""
    library = preloaded(folder, (PEERS / "call_times.c").read_text(encoding="utf-8"))
    variables = {"LD_PRELOAD": str(library), "CALL_BYTES": str(bytes_)}
    job = start(under_mpirun(2, operation, "--bytes 64", OPTIONS), folder, variables).wait()
    assert job.status == OK, job
    lines = LINE.findall(job.error)
    return {rank: (int(calls), [float(time) for time in times]) for rank, calls, *times in lines}


@pytest.mark.parametrize("operation", ["allgatherv", "scatterv"])
def test_each_rank_tells_of_its_calls_of_a_size(tmp_path: Path, operation: str) -> None:
    ranks = _ranks(tmp_path, operation, 64)
    assert set(ranks) == {"0", "1"}
    for calls, times in ranks.values():
        assert 2 <= calls <= 52  # 50, and what is called beside them; less after an interruption
        assert min(times) > 0
    assert _ranks(tmp_path, operation, 8) == {}
