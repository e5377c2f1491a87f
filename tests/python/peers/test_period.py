"""tools/peers/period.c: the time from call to call of any program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from native_helpers import OK, Job, needs_native, preloaded, start, under_mpirun
from peer_helpers import PEERS, TIMED

pytestmark = needs_native

LINE = re.compile(r"^period: rank (\d) bytes (\d+) us ([\d.]+)$", re.M)
OPTIONS = "--memory host --transport mpi --repeat 40 --batches 1 --warmup 0 --no-ceilings"
PAUSE_US = 40_000
SHOWN = re.compile(r" time ([\d,.]+) us")


def _job(folder: Path, operation: str, sizes: str = "64,16", **variables: int) -> Job:
    library = preloaded(folder, (PEERS / "period.c").read_text(encoding="utf-8"))
    texts = {name: str(value) for name, value in variables.items()}
    words = under_mpirun(2, operation, f"--bytes {sizes}", OPTIONS)
    job = start(words, folder, {"LD_PRELOAD": str(library), **texts}).wait()
    assert job.status == OK, job
    return job


def _lines(job: Job) -> list[tuple[str, str, str]]:
    return LINE.findall(job.error)


@pytest.mark.parametrize("operation", TIMED)
def test_each_rank_has_a_line_for_each_size(tmp_path: Path, operation: str) -> None:
    lines = _lines(_job(tmp_path, operation, FIRST_CALL=10, LAST_CALL=30))
    assert {(rank, size) for rank, size, _ in lines} == {(r, s) for r in "01" for s in ("16", "64")}
    assert all(float(time) > 0 for *_, time in lines)


def test_ranks_wait_before_the_first_call_of_a_series(tmp_path: Path) -> None:
    job = _job(tmp_path, "scatter", FIRST_CALL=0, LAST_CALL=20, PAUSE_US=PAUSE_US)
    # Not within the time of the 20 calls. The least of the series, as the machine may be busy.
    assert min(float(time) for *_, time in _lines(job)) < PAUSE_US / 20
    shown = [float(time.replace(",", "")) for time in SHOWN.findall(job.output)]
    assert len(shown) == 2 and all(time >= PAUSE_US / 40 for time in shown)  # of 40 calls


def test_too_few_calls_have_none(tmp_path: Path) -> None:
    assert _lines(_job(tmp_path, "gather", FIRST_CALL=10, LAST_CALL=1000)) == []


def test_calls_of_another_function_are_another_series(tmp_path: Path) -> None:
    """commlens-bench has reductions of 8 B before and after the 40 calls of scatter."""
    job = _job(tmp_path, "scatter", sizes="8", FIRST_CALL=0, LAST_CALL=40)
    assert {rank for rank, *_ in _lines(job)} == {"0", "1"}
    assert _lines(_job(tmp_path, "scatter", sizes="8", FIRST_CALL=0, LAST_CALL=41)) == []
