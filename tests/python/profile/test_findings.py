"""What a profile gives reason to change, of known records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commlens import findings as diagnose
from commlens.findings import Finding
from commlens.model.profile import Profile, parse
from commlens.render.profile_tables import profile_things, time_table
from commlens.render.published_profile import published_profile, published_tables
from commlens.render.table import Lines
from profile_helpers import ROOT
from run_helpers import cases

RECORD = json.loads((ROOT / "docs/measured/profile-cp2k.jsonl").read_text())


def findings(record: Profile) -> list[Finding]:
    return diagnose.findings(profiles=[record])


def share(finding: Finding) -> float:
    assert finding.cost is not None and finding.cost.per == "rank"
    return finding.cost.share


def function(name: str, time_s: list[float], calls: int = 1, size: int = 0) -> dict[str, Any]:
    return {
        "name": name, "group": "collective", "calls": [calls] * 4, "time_s": time_s,
        "max_s": time_s, "waiting_s": [0] * 4, "bytes": [calls * size] * 4, "communicators": {},
        "memory": {}, "sizes": [{"from_bytes": size, "to_bytes": 2 * size, "calls": 4 * calls}],
    }  # fmt: skip


def profile(
    *functions: dict[str, Any],
    cpus: str = "",
    queued_s: float = 0,
    queued_of_last_s: float = 0,
    ended_in: str = "",
    total_s: float = 10.0,
) -> Profile:
    placement = [
        {**place, "host": "node", "cpus": cpus, "cpu_s": 1.0, "queued_s": queued_s}
        for place in RECORD["placement"]
    ]
    placement[-1]["queued_s"] += queued_of_last_s
    if ended_in:
        placement[-1] |= {"ending": "signal", "inside": ended_in}
    fields = {"functions": list(functions), "placement": placement, "total_s": [total_s] * 4}
    return parse(json.dumps({**RECORD, **fields}))


def test_a_good_profile_has_no_findings() -> None:
    assert findings(profile(function("MPI_Alltoall", [2.0] * 4, 100, 1 << 20), cpus="0-7")) == []


def test_communicators_in_a_loop_cost_a_share_of_the_time() -> None:
    start = {**function("MPI_Init", [4.0] * 4), "group": "initialization"}
    free = function("MPI_Comm_free", [0.0] * 4)
    loop = profile(function("MPI_Cart_sub", [0.86] * 4, 400), free, start)
    (finding,) = findings(loop)
    assert str(finding) == (
        "Communicators are made in a loop (MPI_Cart_sub 400 times per rank): 8.6% of the time "
        "(860.0 ms per rank). Make them once and keep them; `commlens run fft` shows what caching "
        "brings."
    )
    percent = {row.name.strip(): row.percent for row in time_table(loop).rows}
    assert percent["MPI_Cart_sub"] == pytest.approx(8.6), "of the same time"
    assert findings(profile(function("MPI_Cart_sub", [0.86] * 4, 4))) == []


def test_collectives_of_gpu_memory_lead_to_reroute() -> None:
    reduce = {**function("MPI_Allreduce", [4.0] * 4, 100, 80_000_000), "memory": {"device": 400}}
    (finding,) = findings(profile(reduce))
    assert str(finding) == (
        "Collectives of GPU memory go through MPI (MPI_Allreduce 100 times per rank, 76.3 MiB on "
        "average): 40% of the time (4.000 s per rank). Try `commlens reroute`, which runs the "
        "program with these calls through NCCL or RCCL, and shows what that saves."
    )
    half = profile({**reduce, "memory": {"device": 200, "host": 200}})
    assert [share(finding) for finding in findings(half)] == [0.2]


@pytest.mark.parametrize(("times_s", "ended_in", "cost", "as_what"), cases("what collectives cost"))
def test_waiting_for_late_ranks_is_not_charged(
    times_s: list[float], ended_in: str, cost: float, as_what: str
) -> None:
    record = profile(function("MPI_Allreduce", times_s, 2000, 8), ended_in=ended_in)
    tiny = [finding for finding in findings(record) if finding.code == "tiny-collectives"]
    assert [finding.severity for finding in tiny] == [as_what] * bool(cost)
    assert [share(finding) for finding in tiny] == [pytest.approx(cost, rel=1e-3)] * bool(cost)


@pytest.mark.parametrize(("total_s", "init_s", "said"), cases("too short"))
def test_a_run_too_short_has_no_findings(total_s: float, init_s: float, said: str) -> None:
    init = {**function("MPI_Init", [init_s] * 4), "group": "initialization"}
    record = profile(init, function("MPI_Cart_sub", [0.5] * 4, 400), total_s=total_s)
    head = next(iter(profile_things(record)))
    assert isinstance(head, Lines) and head.lines[-1][0][0] == f"# too short to judge: {said}"
    assert not findings(record)


def test_what_takes_next_to_no_time_is_one_row() -> None:
    functions = [function(f"MPI_{name}", [0.004] * 4, 20) for name in ("Test", "Isend", "Bcast")]
    record = profile(function("MPI_Waitall", [1.0] * 4, 500), *functions)
    names = [row.name.strip() for row in time_table(record).rows]
    assert names[1:4] == ["MPI", "MPI_Waitall", "3 more functions (--all)"]
    table = time_table(record, every=True)
    assert len(table.rows) == 7
    texts = {column.head: column.texts for column in table.columns}
    assert texts["Per call (us)"][:4] == ["-", "-", "2,000.00", "200.00"]
    assert table.notes[0][0] == (
        "requests that MPI_Waitall and MPI_Test complete: MPI_Isend 20 times per rank"
    )


def test_uneven_work_for_which_others_wait() -> None:
    (finding,) = findings(profile(function("MPI_Barrier", [4.0, 4.0, 4.0, 0.0])))
    assert "rank 3 has 10.00 s, the mean is 7.000 s" in finding.sentence
    assert share(finding) == 0.3
    at_start = {**function("MPI_Init", [4.0, 4.0, 4.0, 0.0]), "group": "initialization"}
    assert findings(profile(at_start)) == []


def test_the_most_expensive_comes_first() -> None:
    record = profile(
        function("MPI_Isend", [0.5] * 4, 5000, 96), function("MPI_Allreduce", [1.0] * 4, 3000, 8)
    )
    tiny, small = findings(record)
    assert "MPI_Allreduce 3,000 times per rank, 8 B on average" in tiny.sentence
    assert "MPI_Isend 5,000 times per rank, 96 B on average" in small.sentence


def test_ranks_that_share_cores() -> None:
    (finding,) = findings(profile(cpus="0-1", queued_s=4.0))
    assert "4 ranks on 2 processors of node" in finding.sentence
    assert share(finding) == 0.4
    things = profile_things(profile(cpus="0-1", queued_s=4.0))
    lines = [line for thing in things if isinstance(thing, Lines) for line in thing.lines]
    assert any(text.startswith("finding: Ranks share cores") for line in lines for text, _ in line)


def test_cores_that_other_programs_use() -> None:
    (finding,) = findings(profile(cpus="0-3", queued_s=4.0))
    assert "though there is one for each (rank 0 on node for 4.000 s)" in finding.sentence
    assert share(finding) == 0.4
    assert findings(profile(cpus="0-3", queued_s=0.3)) == []


def test_a_rank_that_waits_for_a_processor_has_not_more_work() -> None:
    barrier = function("MPI_Barrier", [4.0, 4.0, 4.0, 0.0])  # the last has 3 s more than the mean
    (finding,) = findings(profile(barrier, cpus="0-3", queued_of_last_s=4.0))
    assert "Ranks wait for a processor" in finding.sentence
    uneven, _ = findings(profile(barrier, cpus="0-3", queued_of_last_s=2.4))
    assert "unevenly" in uneven.sentence
    assert uneven.cost and uneven.cost.seconds == pytest.approx(3.0 - 1.8)


def test_a_run_without_time_has_shares_of_nothing() -> None:
    record = profile(function("MPI_Alltoallv", [0.0] * 4), total_s=0.0)
    (published,) = published_tables(record, published_profile("cp2k-fft"))
    assert set(published.columns[0].values) == {None, 0.0}
    assert {row.percent for row in time_table(record).rows} == {0.0}
