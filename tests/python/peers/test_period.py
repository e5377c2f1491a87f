"""tools/peers/period.c: the time from call to call of any program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from native_helpers import OK, needs_native, preloaded, start, under_mpirun
from peer_helpers import PEERS

pytestmark = needs_native

LINE = re.compile(r"^period: rank (\d) bytes (\d+) us ([\d.]+)$", re.M)
OPTIONS = (
    "--out-of-place --memory host --transport mpi --repeat 40 --batches 1 --warmup 0 --no-ceilings"
)


def _lines(folder: Path, operation: str, last: int) -> list[tuple[str, str, str]]:
    library = preloaded(folder, (PEERS / "period.c").read_text(encoding="utf-8"))
    variables = {"LD_PRELOAD": str(library), "FIRST_CALL": "10", "LAST_CALL": str(last)}
    job = start(under_mpirun(2, operation, "--bytes 64,3", OPTIONS), folder, variables).wait()
    assert job.status == OK, job
    return LINE.findall(job.error)


@pytest.mark.parametrize("operation", ["allgatherv", "scatter"])
def test_each_rank_has_a_line_for_each_size(tmp_path: Path, operation: str) -> None:
    lines = _lines(tmp_path, operation, 30)
    assert {(rank, size) for rank, size, _ in lines} == {(r, s) for r in "01" for s in ("3", "64")}
    assert all(float(time) > 0 for *_, time in lines)


def test_too_few_calls_have_none(tmp_path: Path) -> None:
    assert _lines(tmp_path, "gather", 1000) == []
