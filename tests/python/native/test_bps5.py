"""bps5 with the real programs: the same solve on any number of ranks and over any transport, errors
that fall as they must, and how a solve ends that cannot succeed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from commlens.model import Record
from commlens.model.levels import has_levels, times_by_level
from native_helpers import BENCH, measured, native, needs_native, shown

pytestmark = needs_native

ONCE = "--repeat 1 --warmup 0 --no-ceilings"
# Not divided by 3 or 5 ranks; --coarse cg is in every build.
SMALL = "--elements 5,4,3 --order 5 --coarse cg"


def solved(
    folder: Path, ranks: int, *words: object, transports: str = "mpi,staged"
) -> list[Record]:
    """The records of a start, one per transport and size."""
    found = measured(folder, ranks, "bps5", *words, ONCE, "--transport", transports)
    for record in found:
        assert record.validation.status == "passed"
        facts: Mapping[str, Any] = record.facts
        assert len(record.series["relative_residual"]) == facts["iterations"]
        assert facts["residual"] <= 1.01 * record.parameters["tolerance"]  # type: ignore[operator]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("multigrid")


@cache
def alone(folder: Path, words: str = "--no-parts") -> Record:
    (record,) = solved(folder, 1, SMALL, words, transports="mpi")
    return record


def assert_same_solve(record: Record, expected: Record) -> None:
    """The preconditioner is in single precision: its rounding depends on the ranks."""
    ours: list[Any] = record.series["relative_residual"]
    theirs: list[Any] = expected.series["relative_residual"]
    assert abs(len(ours) - len(theirs)) <= 1
    common = min(len(ours), len(theirs))
    assert ours[:common] == pytest.approx(theirs[:common], rel=1e-3)
    assert record.facts["norm_of_b"] == pytest.approx(expected.facts["norm_of_b"], rel=1e-12)
    assert record.facts["degrees_of_freedom"] == expected.facts["degrees_of_freedom"]


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_any_number_of_ranks_and_transport_has_the_same_residuals(ranks: int, folder: Path) -> None:
    records = solved(folder, ranks, SMALL, "--no-parts")
    assert [record.transport for record in records] == ["mpi", "staged"]
    for record in records:
        assert_same_solve(record, alone(folder))


@pytest.mark.parametrize(
    "words",
    [
        "--smoother ras",
        "--smoother chebyshev-jacobi",
        "--levels 5,3,2,1",
        "--levels 5,1 --restart 4",
        "--geometry stored --no-overlap --mode crystal-router",
    ],
)
def test_every_preconditioner_is_the_same_on_three_ranks(words: str, folder: Path) -> None:
    (record,) = solved(folder, 3, SMALL, words, "--no-parts", transports="staged")
    assert_same_solve(record, alone(folder, words))


def test_multigrid_saves_iterations(folder: Path) -> None:
    few, many = alone(folder).facts, alone(folder, "--smoother chebyshev-jacobi").facts
    assert 5 < few["iterations"] < many["iterations"]  # type: ignore[operator]


def test_the_error_falls_spectrally_with_the_order(folder: Path) -> None:
    """Two orders more are worth a factor, again and again: h^p would not be."""
    errors = []
    for order in (1, 3, 5, 7):
        words = f"--elements 3 --kershaw-eps 1 --order {order} --rhs manufactured --tolerance 1e-11"
        (record,) = solved(folder, 1, words, "--no-parts", transports="mpi")
        errors.append(float(record.facts["largest_error"]))
    assert errors[0] < 0.5
    for before, after in zip(errors, errors[1:]):
        assert after < before / 30, errors
    assert errors[-1] < 1e-6


# ---- records and words ----


def test_the_parts_are_those_of_the_levels(folder: Path) -> None:
    (record,) = solved(folder, 2, SMALL, transports="mpi")
    assert has_levels(record)
    times = times_by_level(record)
    assert list(times) == ["solver", "p5", "p2", "p1"]
    assert set(times["solver"]) == {"operator", "exchange", "vectors", "reductions"}
    assert set(times["p1"]) == {"operator", "exchange", "coarse solve"}
    assert {"smoother", "restriction", "interpolation"} < set(times["p2"])
    assert record.timeline is not None
    assert {span.part for span in record.timeline.spans} <= {part.name for part in record.parts}
    assert "p5" in shown([record])
    (single,) = solved(folder, 1, SMALL, transports="mpi")
    assert not any("exchange" in part.name for part in single.parts)


def test_the_report_has_nekrss_lines_and_metrics(folder: Path) -> None:
    (record,) = solved(folder, 2, "--elements 4,2,2 --order 7 --coarse cg", transports="mpi")
    facts: Mapping[str, Any] = record.facts
    seconds = record.samples.values_s[0]
    dof = 8 * 343
    assert facts["dof_per_rank"] == dof
    medians = {name: statistic.median for name, statistic in record.statistics.items()}
    rate = dof * facts["iterations"] / seconds
    assert medians["throughput_DOF_iter_per_s"] == pytest.approx(rate)
    assert medians["throughput_DOF_per_s"] == pytest.approx(dof / seconds)
    for line in (
        "repetitions: 1",
        f"iterations: {facts['iterations']}",
        f"throughput: {rate:g} (DOF x iter)/s/rank",
        f"throughput: {dof / seconds:g} DOF/s/rank",
    ):
        assert line in record.report
    assert any(line.startswith("solve time: min: ") for line in record.report)
    assert any(line.startswith("flops/rank: ") for line in record.report)


@pytest.mark.parametrize("elements", ["1", "2,1,1"])
def test_one_element_is_solved(elements: str, folder: Path) -> None:
    (record,) = solved(folder, 1, f"--elements {elements} --order 4", transports="mpi")
    assert record.facts["degrees_of_freedom"] == (27 if elements == "1" else 63)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--tolerance 1e-15", "--tolerance 1e-15 cannot be met"),
        ("--iterations 3", "not converged: |b - A x| / |b| is "),
    ],
)
def test_a_solve_that_does_not_end_says_why(words: str, message: str, tmp_path: Path) -> None:
    job = native(tmp_path, 2, "bps5 --transport mpi", SMALL, ONCE, "--no-parts", words)
    assert job.status == 1, job
    assert message in job.message, job


def test_boomeramg_needs_hypre(tmp_path: Path) -> None:
    words = "bps5 --transport mpi --coarse boomeramg --elements 3 --order 3"
    job = native(tmp_path, 2, words, ONCE, "--no-parts")
    has_hypre = b"HYPRE_BoomerAMG" in BENCH.read_bytes()
    assert job.status == (0 if has_hypre else 2), job
    if not has_hypre:
        assert "--coarse boomeramg: this build has no hypre" in job.message
        assert "--coarse cg" in job.message
