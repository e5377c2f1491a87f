"""bp5 with the real programs: the same solve however it is done, errors that fall as they must, and
what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from commlens.model import Record
from native_helpers import measured, native, needs_native, on_host_build, records_in

pytestmark = needs_native

ONCE = "--repeat 1 --warmup 0 --no-ceilings"
# Not divided by 3 or 5 ranks, and on up to 3 some elements touch no other rank's.
SMALL = "--elements 7,4,4 --order 4 --iterations 15"


def solved(
    folder: Path, ranks: int, *words: object, transports: str = "mpi,staged"
) -> list[Record]:
    """The records of a start, one per transport and size."""
    found = measured(folder, ranks, "bp5", *words, ONCE, "--transport", transports)
    for record in found:
        assert record.validation.status == "passed"
        assert len(record.series["relative_residual"]) == record.facts["iterations"]
    return found


def residuals(record: Record) -> list[Any]:
    return [record.facts["norm_of_b"], *record.series["relative_residual"]]


@cache
def expected(folder: Path) -> list[Any]:
    (record,) = solved(folder, 1, SMALL, transports="mpi")
    return residuals(record)


def assert_as_expected(records: list[Record], folder: Path, tolerance: float = 1e-10) -> None:
    assert [record.transport for record in records] == ["mpi", "staged"]
    for record in records:
        assert residuals(record) == pytest.approx(expected(folder), rel=tolerance)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("solve")


WAYS = list(product(("stored", "trilinear"), ("element", "unique"), ("classical", "fused")))


@pytest.mark.parametrize(("geometry", "storage", "solver"), WAYS)
def test_every_way_to_solve_has_the_same_residuals(
    geometry: str, storage: str, solver: str, folder: Path
) -> None:
    words = f"--geometry {geometry} --storage {storage} --solver {solver}"
    assert_as_expected(solved(folder, 3, SMALL, words), folder)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
def test_any_number_of_ranks_has_the_same_residuals(ranks: int, folder: Path) -> None:
    assert_as_expected(solved(folder, ranks, SMALL), folder)


@on_host_build
@pytest.mark.parametrize("storage", ["element", "unique"])
@pytest.mark.parametrize("mode", ["pairwise", "neighbor", "crystal-router", "all-reduce"])
def test_every_exchange_has_the_same_residuals(mode: str, storage: str, folder: Path) -> None:
    records = solved(folder, 5, SMALL, "--mode", mode, "--storage", storage)
    assert_as_expected(records, folder)
    assert {record.facts["exchange"] for record in records} == {f"{mode}+host"}


@pytest.mark.parametrize("storage", ["element", "unique"])
def test_without_overlap_the_residuals_are_the_same(storage: str, folder: Path) -> None:
    assert_as_expected(solved(folder, 3, SMALL, "--no-overlap --storage", storage), folder)


@pytest.mark.parametrize("storage", ["element", "unique"])
def test_messages_of_32_bits_leave_their_rounding(storage: str, folder: Path) -> None:
    records = solved(folder, 3, SMALL, "--exchange-dtype f32 --storage", storage)
    assert_as_expected(records, folder, 1e-5)
    rounded = residuals(records[0])
    assert rounded != pytest.approx(expected(folder), rel=1e-12), "they were sent as f32"


# ---- the manufactured solution ----


def solve_to_the_end(
    folder: Path, ranks: int, eps: float, order: int, *words: object
) -> Mapping[str, Any]:
    to_the_end = "--rhs manufactured --iterations 2000 --tolerance 1e-13"
    sized = f"--elements 3 --kershaw-eps {eps} --order {order}"
    (record,) = solved(folder, ranks, sized, to_the_end, *words, transports="staged")
    facts: Mapping[str, Any] = record.facts
    assert 0 < facts["iterations"] < 2000
    before, last = record.series["relative_residual"][-2:]
    assert before is not None and last is not None
    assert last <= 1e-13 < before, "it ends at the first that meets the tolerance"
    return facts


@pytest.mark.parametrize(
    ("eps", "orders", "factor"), [(1, (2, 4, 6, 8), 300), (0.3, (4, 6, 8, 10), 20)]
)
def test_the_error_falls_spectrally_with_the_order(
    eps: float, orders: tuple[int, ...], factor: float, folder: Path
) -> None:
    """Two orders more are worth a factor, again and again: h^p would not be."""
    errors = [solve_to_the_end(folder, 1, eps, order)["largest_error"] for order in orders]
    for before, after in zip(errors, errors[1:]):
        assert after < before / factor, errors
    assert errors[-1] < 1e-7


def test_the_error_is_the_same_on_three_ranks_and_by_element(folder: Path) -> None:
    alone = solve_to_the_end(folder, 1, 0.3, 6)
    words = "--storage element --geometry stored --solver fused"
    spread = solve_to_the_end(folder, 3, 0.3, 6, words)
    assert spread["largest_error"] == pytest.approx(alone["largest_error"], rel=1e-8)
    # The same but for rounding.
    assert abs(spread["iterations"] - alone["iterations"]) <= 0.05 * alone["iterations"]


def test_an_error_that_nobody_looked_at_is_not_said(folder: Path) -> None:
    words = "bp5 --rhs manufactured --transport mpi --no-validate --record off.jsonl"
    job = native(folder, 2, words, SMALL, ONCE)
    assert job.status == 0, job
    (record,) = records_in(folder / "off.jsonl")
    assert "largest_error" not in record.facts
    assert record.validation.status == "off"


# ---- records and words ----


def test_metrics_are_nekrss(folder: Path) -> None:
    words = "--elements 4,2,2 --order 7 --iterations 9"
    (record,) = solved(folder, 2, words, transports="mpi")
    elements, nodes, iterations = 8, 8 * 512, 9
    seconds = record.samples.values_s[0]
    application = elements * (12 * 512 * 8 + 15 * 512)
    flops = iterations * (application + 16 * nodes) + application + 9 * nodes
    medians = {name: statistic.median for name, statistic in record.statistics.items()}
    throughput = elements * 343 * iterations / seconds
    assert medians["throughput_DOF_iter_per_s"] == pytest.approx(throughput)
    assert medians["rank_GFLOPs"] == pytest.approx(flops * 1e-9 / seconds)
    facts: Mapping[str, Any] = record.facts
    moved = facts["bytes_per_iteration"] * iterations
    assert medians["memory_GBps"] == pytest.approx(moved * 1e-9 / seconds)
    assert facts["dof_per_rank"] == elements * 343
    assert facts["degrees_of_freedom"] == (4 * 7 - 1) * (2 * 7 - 1) ** 2
    per_dof = moved / iterations / (elements * 343)
    assert facts["bytes_per_dof_iteration"] == pytest.approx(per_dof)


def test_the_size_is_said_once(folder: Path) -> None:
    (by_elements,) = solved(folder, 2, SMALL, transports="mpi")
    assert by_elements.parameters["elements"] == "7x4x4"
    assert "edge" not in by_elements.parameters
    sizes = solved(folder, 2, "--edge 1:4 --iterations 2", transports="mpi")
    assert [record.size for record in sizes] == [1, 2, 4]
    assert [record.parameters["edge"] for record in sizes] == [1, 2, 4]
    assert not any("elements" in record.parameters for record in sizes)
    assert [record.facts["dof_per_rank"] for record in sizes] == [343, 8 * 343, 64 * 343]


@on_host_build
def test_a_mode_that_cannot_be_had_is_skipped_with_a_fix(folder: Path) -> None:
    job = native(folder, 2, "bp5 --mode host --transport mpi", SMALL, ONCE)
    assert job.status == 4, job
    assert "--mode host: the data lies on the host; --mode auto takes what there is" in job.message
