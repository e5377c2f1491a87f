"""Waiting apart from transferring, threads, regions, ranks: known patterns of communication."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commlens import findings as diagnose
from commlens.model.profile import Profile, parse
from profile_helpers import Mpi, Profiled
from run_helpers import cases

WAIT_S = 0.2  # that patterns.c is late


def sites(run: Profiled) -> dict[tuple[str, str], dict[str, Any]]:
    return {(site["function"], site["caller"]): site for site in run.record["call_sites"]}


@pytest.mark.parametrize(("pattern", "function", "rank", "caller"), cases("late sides"))
def test_waiting_for_the_other_side(
    mpi: Mpi, pattern: str, function: str, rank: int, caller: str
) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), pattern, options=("--waiting", "--callsites"))
    counters = run.functions()[function]
    assert WAIT_S / 2 < counters["waiting_s"][rank] <= counters["time_s"][rank]
    assert counters["waiting_s"][1 - rank] == 0
    site = sites(run)[function, caller]
    assert site["waiting_s"] == pytest.approx(sum(counters["waiting_s"]))
    assert "Waiting (s)  of Total" in run.output


@pytest.mark.parametrize(("pattern", "function"), cases("waiting in an exchange"))
def test_waiting_in_an_exchange(mpi: Mpi, pattern: str, function: str) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), pattern, options=("--waiting", "--callsites"))
    counters = run.functions()[function]
    assert WAIT_S / 2 < counters["waiting_s"][0] <= counters["time_s"][0]
    assert counters["waiting_s"][1] < WAIT_S / 2
    at_sites = [site for site in run.record["call_sites"] if site["function"] == function]
    waiting = sum(site["waiting_s"] for site in at_sites)
    assert waiting == pytest.approx(sum(counters["waiting_s"]))


def test_a_slow_or_overlapped_transfer_is_not_waited_for(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), "slow", options=("--waiting",))
    counters = run.functions()["MPI_Wait"]
    assert counters["calls"] == [6, 0]
    assert counters["time_s"][0] > 1.5 * WAIT_S
    assert counters["waiting_s"][0] < WAIT_S / 2


def test_waiting_belongs_to_the_call_site(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), "late-rank", options=("--waiting", "--callsites"))
    first, second = sorted(
        (site for site in run.record["call_sites"] if site["function"] == "MPI_Barrier"),
        key=lambda site: site["line"],
    )
    assert WAIT_S / 2 < first["waiting_s"] <= first["time_s"]
    assert second["waiting_s"] < first["waiting_s"]
    total = sum(run.functions()["MPI_Barrier"]["waiting_s"])
    assert first["waiting_s"] + second["waiting_s"] == pytest.approx(total)


def test_time_is_per_thread(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), "threads", ranks=1)
    (place,) = run.record["placement"]
    assert place["threads"] == 5
    assert "up to 5 threads of a rank call MPI: times are means over its threads" in run.output
    (total,) = run.record["total_s"]
    assert sum(function["time_s"][0] for function in run.record["functions"]) <= total
    reduce = run.functions()["MPI_Reduce_local"]
    assert reduce["calls"] == [4]
    # Four of the five threads, each at least as long as the operation sleeps.
    assert reduce["max_s"][0] > 0.9 * WAIT_S and reduce["time_s"][0] > 0.9 * WAIT_S * 4 / 5


def test_a_call_that_has_not_ended_counts_to_the_end(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), "open", ranks=1, options=("--callsites",))
    receive = run.functions()["MPI_Recv"]
    assert receive["calls"] == [1] and receive["max_s"][0] > 0.9 * WAIT_S
    assert sites(run)["MPI_Recv", "receive_from_self"]["calls"] == 1
    assert "ended by exit without MPI_Finalize, within MPI_Recv" in run.output


def test_regions(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), "regions", options=("--regions",))
    regions = {region["name"]: region for region in run.record["regions"]}
    counts = {
        name: {own["name"]: (own["calls"], own["bytes"]) for own in region["functions"]}
        for name, region in regions.items()
    }
    assert counts == {
        "outer": {"MPI_Barrier": ([4, 4], [0, 0]), "MPI_Bcast": ([3, 3], [60, 60])},
        "inner": {"MPI_Barrier": ([3, 3], [0, 0]), "MPI_Bcast": ([3, 3], [60, 60])},
        "7": {"MPI_Barrier": ([1, 1], [0, 0])},
    }
    (whole,) = (own for own in run.record["functions"] if own["name"] == "MPI_Bcast")
    assert (whole["calls"], whole["bytes"]) == ([4, 4], [68, 68])
    assert regions["inner"]["entries"] == [3, 3]
    for outer, inner in zip(regions["outer"]["time_s"], regions["inner"]["time_s"]):
        assert 0 < inner < outer
    assert "  inner" in run.output


def test_pcontrol_has_no_effect_without_regions(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), "regions")
    assert run.status == 0 and run.record["regions"] == []


def test_start_and_end_are_apart(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"))
    groups = {name: function["group"] for name, function in run.functions().items()}
    assert groups["MPI_Init"] == groups["MPI_Finalize"] == "initialization"
    group = run.output.partition("  MPI's start and end")
    assert "  MPI_Init\n" in group[2] and "  MPI_Finalize\n" in group[2]
    assert "  MPI_Init\n" not in group[0]
    late = mpi.profile(mpi.compile("patterns.c"), "late-start", ranks=1).record
    inside = sum(function["time_s"][0] for function in late["functions"])
    assert late["total_s"][0] - inside < WAIT_S / 2, "the time before MPI_Init does not count"


def test_a_rank_has_a_line(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), ranks=3)
    assert "Rank  Time (s)  USER (s)   MPI (s)  CPU %" in run.output
    for place in run.record["placement"]:
        assert place["cpu_s"] > 0 and place["cpus"]
        assert f"\n  {place['rank']:4}  " in run.output


def test_call_depth_distinguishes_callers(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--call-depth", "2"))
    site = sites(run)["MPI_Alltoallv", "collectives"]
    assert [caller["caller"] for caller in site["callers"]] == ["main"]
    assert "MPI_Alltoallv from collectives (counts.c:17) < main (counts.c:" in run.output


@pytest.mark.parametrize(("pattern", "finding"), cases("findings of programs"))
def test_findings_of_a_program(mpi: Mpi, pattern: str, finding: str) -> None:
    run = mpi.profile(mpi.compile("patterns.c"), pattern)
    if max(run.record["total_s"]) < 1:  # on a busy machine it may take longer
        assert "too short to judge" in run.output and "finding:" not in run.output
    text = str(diagnose.findings(profiles=[longer(run.record)])[0])
    assert finding in text, text


def longer(record: dict[str, Any]) -> Profile:
    """The same, if each call had taken 10 ms, and nothing else any time."""
    functions = [entry for entry in record["functions"] if entry["group"] != "initialization"]
    for function in functions:
        function["time_s"] = [0.01 * calls for calls in function["calls"]]
    total_s = [sum(times) for times in zip(*(function["time_s"] for function in functions))]
    return parse(json.dumps({**record, "functions": functions, "total_s": total_s}))
