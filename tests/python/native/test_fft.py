"""The distributed FFT with the real programs: what it calls, what its records hold, what it
refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from native_helpers import (
    BENCH,
    MPIRUN,
    ROOT,
    measured,
    needs_native,
    shown,
    start,
)

pytestmark = needs_native

LIBRARY = ROOT / "build" / "host" / "src" / "profile" / "libcommlens-profile.so"


def profiled_calls(folder: Path, communicators: str, loops: int) -> dict[str, float]:
    """Calls of each MPI function per rank, of a start of 2 x 2 ranks with so many pairs of
    transforms."""
    options = f"--grid 12 --grid-of-ranks 2,2 --transport mpi --communicators {communicators}"
    harness = f"--timing each --repeat {loops} --warmup 0 --no-parts --no-ceilings"
    program = f"{MPIRUN} --oversubscribe -n 4 {BENCH} fft {options} {harness}"
    out = folder / f"{communicators}-{loops}"
    command = [sys.executable, "-m", "commlens", "profile", "--out", str(out), "--"]
    environment = {"COMMLENS_PROFILE_LIBRARY": str(LIBRARY)}
    job = start([*command, *program.split()], folder, environment).wait()
    assert job.status == 0, job
    (file,) = out.glob("*.jsonl")
    functions = json.loads(file.read_text())["functions"]
    return {entry["name"]: sum(entry["calls"]) / len(entry["calls"]) for entry in functions}


@pytest.mark.skipif(not LIBRARY.exists(), reason="the profiling library is not built")
def test_the_profile_of_cp2ks_story(tmp_path: Path) -> None:
    """CrayPAT saw 4 MPI_Cart_sub, 4 MPI_Alltoallv and 2 MPI_Barrier per loop; the cache leaves 2
    MPI_Cart_sub in all."""
    few, many = (profiled_calls(tmp_path, "per-transpose", loops) for loops in (5, 25))
    assert many["MPI_Cart_sub"] == 4 * 25
    assert many["MPI_Alltoallv"] == 4 * 25
    assert many["MPI_Cart_get"] == 4 * 25
    assert many["MPI_Cart_rank"] == 4 * 25 * (1 + 2)
    assert many["MPI_Barrier"] - few["MPI_Barrier"] == 2 * 20
    assert many["MPI_Comm_free"] - few["MPI_Comm_free"] == 4 * 20
    # And nothing else at every transpose, as the record's own counts say.
    grown = {name: (calls - few.get(name, 0)) / 20 for name, calls in many.items()}
    assert {name: calls for name, calls in grown.items() if calls >= 1} == {
        "MPI_Cart_sub": 4,
        "MPI_Alltoallv": 4,
        "MPI_Cart_get": 4,
        "MPI_Cart_rank": 12,
        "MPI_Comm_size": 4,
        "MPI_Comm_free": 4,
        "MPI_Barrier": 2,
    }
    cached = profiled_calls(tmp_path, "cached", 25)
    assert cached["MPI_Cart_sub"] == 2
    assert cached["MPI_Alltoallv"] == 4 * 25


def test_both_ways_are_two_records_that_belong_together(tmp_path: Path) -> None:
    words = "fft --grid 12 --grid-of-ranks 2,2 --repeat 6 --transport mpi,staged"
    records = measured(tmp_path, 4, words, ceilings=True)
    done = [record for record in records if record.status == "ok"]
    ways = [(record.transport, record.variant_value) for record in done]
    assert ways == [
        (transport, way) for transport in ("mpi", "staged") for way in ("per-transpose", "cached")
    ]
    for record in done:
        assert record.start.variant is not None and record.start.variant.name == "communicators"
        assert record.harness.timing == "each" and len(record.samples.values_s) == 6
        assert record.calls["MPI_Alltoallv"] == 4 and record.calls["MPI_Barrier"] == 1
        cached = record.variant_value == "cached"
        assert record.calls.get("MPI_Cart_sub", 0) == (0 if cached else 4)
        assert all(part.within for part in record.parts)
        assert ("communicators" in {part.name for part in record.parts}) != cached
        deviation = record.validation.deviation
        assert deviation is not None and 0 < deviation.largest < 1e-11
        limited = {(ceiling.part, ceiling.name) for ceiling in record.ceilings}
        assert (("communication", "alltoall alone") in limited) == cached
    assert "cached over per-transpose (mpi, host): " in shown(records)  # a gain, or a tie


def test_metrics_are_cp2ks_and_everybody_elses(tmp_path: Path) -> None:
    words = "fft --grid 8,4,2 --repeat 1 --communicators cached --transport mpi"
    (record,) = measured(tmp_path, 1, words)
    seconds = record.samples.values_s[0]
    points, ln_of_longest, log2_of_points = 64, 2.0794415416798357, 6
    medians = {name: statistic.median for name, statistic in record.statistics.items()}
    by_cp2k = 2 * points * 30 * ln_of_longest * 1e-6 / seconds
    assert medians["cp2k_Mflops"] == pytest.approx(by_cp2k)
    by_all = 2 * 5 * points * log2_of_points * 1e-9 / seconds
    assert medians["fft_GFLOPs"] == pytest.approx(by_all)


def test_rays_of_slabs_have_no_sub_communicator_to_keep(tmp_path: Path) -> None:
    records = measured(tmp_path, 2, "fft --grid 8 --grid-span sphere --repeat 2")
    assert any("rays travel between all ranks" in note for note in records[0].start.notes)
    assert {record.parameters["communicators"] for record in records} == {"cached"}
    assert "cached over per-transpose" not in shown(records)


def test_ranks_without_points_take_part_and_are_reported(tmp_path: Path) -> None:
    records = measured(tmp_path, 4, "fft --grid 2,8,8 --grid-of-ranks 4,1 --repeat 2")
    warning = "a grid of 2x8x8 has fewer points than the 4 x 1 ranks in a direction"
    assert any(warning in note for note in records[0].start.notes)
