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


@pytest.mark.parametrize("operation", ["allgatherv", "scatterv"])
def test_each_rank_tells_of_its_calls_of_a_size(tmp_path: Path, operation: str) -> None:
    library = preloaded(tmp_path, (PEERS / "call_times.c").read_text(encoding="utf-8"))
    words = ["env", f"LD_PRELOAD={library}", "CALL_BYTES=64"]
    command = under_mpirun(2, operation, "--bytes 8,64", OPTIONS)
    program = command.index("-n") + 2
    job = start([*command[:program], *words, *command[program:]], tmp_path).wait()
    assert job.status == OK, job
    ranks = {}
    for rank, calls, *times in LINE.findall(job.error):
        ranks[rank] = int(calls), *map(float, times)
    assert set(ranks) == {"0", "1"}, job
    for calls, mean, median, period in ranks.values():
        assert 2 <= calls <= 52  # those of the other size are not counted
        assert min(mean, median, period) > 0
