"""bp5 and bps5 with the real programs: the same solve however and wherever it is done, errors that
fall as they must, and how a solve ends that cannot succeed."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from commlens.model import Record
from commlens.model.levels import has_levels, times_by_level
from native_helpers import (
    has_hypre,
    measured,
    native,
    needs_native,
    on_host_build,
    records_in,
    shown,
)

pytestmark = needs_native

ONCE = "--repeat 1 --warmup 0 --no-ceilings"
# Not divided by 3 or 5 ranks, and on up to 3 some elements touch no other rank's.
BP5 = "bp5 --elements 7,4,4 --order 4 --iterations 15"
BPS5 = "bps5 --elements 5,4,3 --order 5 --coarse cg"  # cg is in every build


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("solve")


def solved(
    folder: Path, ranks: int, *words: object, transports: str = "mpi,staged"
) -> list[Record]:
    """The records of a start, one per transport and size."""
    records = measured(folder, ranks, *words, ONCE, "--transport", transports)
    for record in records:
        assert record.validation.status == "passed"
        assert len(record.series["relative_residual"]) == record.facts["iterations"]
        if record.benchmark == "bps5":
            assert float(record.facts["residual"]) <= 1.01 * float(record.parameters["tolerance"])
    return records


def facts_of(folder: Path, ranks: int, *words: object) -> Any:
    (record,) = solved(folder, ranks, *words, transports="mpi")
    return record.facts


@cache
def alone(folder: Path, words: str) -> Record:
    (record,) = solved(folder, 1, words, transports="mpi")
    return record


# ---- bp5: a fixed number of iterations ----


def residuals(record: Record) -> list[Any]:
    return [record.facts["norm_of_b"], *record.series["relative_residual"]]


WAYS = [
    *(
        (3, f"--geometry {geometry} --storage {storage} --solver {solver}")
        for geometry, storage, solver in product(
            ("stored", "trilinear"), ("element", "unique"), ("classical", "fused")
        )
    ),
    *((ranks, "") for ranks in (1, 2, 5, 8)),
    *((3, f"--no-overlap --storage {storage}") for storage in ("element", "unique")),
]


@pytest.mark.parametrize(("ranks", "words"), WAYS)
def test_every_way_to_solve_has_the_same_residuals(ranks: int, words: str, folder: Path) -> None:
    records = solved(folder, ranks, f"{BP5} {words}")
    assert [record.transport for record in records] == ["mpi", "staged"]
    for record in records:
        assert residuals(record) == pytest.approx(residuals(alone(folder, BP5)), rel=1e-10)


@on_host_build
@pytest.mark.parametrize("storage", ["element", "unique"])
@pytest.mark.parametrize("mode", ["pairwise", "neighbor", "crystal-router", "all-reduce"])
def test_every_exchange_has_the_same_residuals(mode: str, storage: str, folder: Path) -> None:
    for record in solved(folder, 5, BP5, "--mode", mode, "--storage", storage):
        assert residuals(record) == pytest.approx(residuals(alone(folder, BP5)), rel=1e-10)
        assert record.facts["exchange"] == f"{mode}+host"


@pytest.mark.parametrize("storage", ["element", "unique"])
def test_messages_of_32_bits_leave_their_rounding(storage: str, folder: Path) -> None:
    for record in solved(folder, 3, BP5, "--exchange-dtype f32 --storage", storage):
        rounded, expected = residuals(record), residuals(alone(folder, BP5))
        assert rounded == pytest.approx(expected, rel=1e-5)
        assert rounded != pytest.approx(expected, rel=1e-12), "they were sent as f32"


# ---- bps5: preconditioned in single precision, whose rounding depends on the ranks ----


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        *((ranks, "") for ranks in (2, 3, 5)),
        (3, "--smoother ras"),
        (3, "--smoother chebyshev-jacobi"),
        (3, "--levels 5,3,2,1"),
        (3, "--levels 5,1 --restart 4"),
        (3, "--geometry stored --no-overlap --mode crystal-router"),
    ],
)
def test_every_preconditioner_is_the_same_on_any_ranks(
    ranks: int, words: str, folder: Path
) -> None:
    case = f"{BPS5} --no-parts {words}"
    records, expected = solved(folder, ranks, case), alone(folder, case)
    assert [record.transport for record in records] == ["mpi", "staged"]
    for record in records:
        ours: list[Any] = record.series["relative_residual"]
        theirs: list[Any] = expected.series["relative_residual"]
        assert abs(len(ours) - len(theirs)) <= 1
        common = min(len(ours), len(theirs))
        # Below 1e-6 the rounding of the first cycle's basis can be seen.
        assert ours[:common] == pytest.approx(theirs[:common], rel=1e-2)
        assert residuals(record)[0] == pytest.approx(residuals(expected)[0], rel=1e-12)
        assert record.facts["degrees_of_freedom"] == expected.facts["degrees_of_freedom"]


def test_multigrid_saves_iterations(folder: Path) -> None:
    few, many = (
        int(alone(folder, f"{BPS5} --no-parts {smoother}").facts["iterations"])
        for smoother in ("", "--smoother chebyshev-jacobi")
    )
    assert 5 < few < many


# ---- the manufactured solution ----

TO_THE_END = "bp5 --rhs manufactured --iterations 2000 --tolerance 1e-13 --elements 3"
MULTIGRID = "bps5 --rhs manufactured --tolerance 1e-11 --elements 3 --no-parts"


@pytest.mark.parametrize(
    ("words", "orders", "factor", "last"),
    [
        (f"{TO_THE_END} --kershaw-eps 1", (2, 4, 6, 8), 300, 1e-7),
        (f"{TO_THE_END} --kershaw-eps 0.3", (4, 6, 8, 10), 20, 1e-7),
        (f"{MULTIGRID} --kershaw-eps 1", (1, 3, 5, 7), 30, 1e-6),
    ],
)
def test_the_error_falls_spectrally_with_the_order(
    words: str, orders: tuple[int, ...], factor: float, last: float, folder: Path
) -> None:
    """Two orders more are worth a factor, again and again: h^p would not be."""
    errors = [facts_of(folder, 1, words, "--order", order)["largest_error"] for order in orders]
    assert errors[0] < 0.5 and errors[-1] < last
    for before, after in zip(errors, errors[1:]):
        assert after < before / factor, errors


def test_the_error_is_the_same_on_three_ranks_and_by_element(folder: Path) -> None:
    case = f"{TO_THE_END} --kershaw-eps 0.3 --order 6"
    single = alone(folder, case)
    before, last = single.series["relative_residual"][-2:]
    assert before is not None and last is not None
    assert last <= 1e-13 < before, "it ends at the first that meets the tolerance"
    spread = facts_of(folder, 3, case, "--storage element --geometry stored --solver fused")
    assert spread["largest_error"] == pytest.approx(single.facts["largest_error"], rel=1e-8)
    iterations = int(single.facts["iterations"])
    assert 0 < iterations < 2000 and 0 < spread["iterations"] < 2000
    assert abs(spread["iterations"] - iterations) <= 0.05 * iterations, "but for rounding"


def test_an_error_that_nobody_looked_at_is_not_said(folder: Path) -> None:
    words = "--rhs manufactured --transport mpi --no-validate --record off.jsonl"
    job = native(folder, 2, BP5, words, ONCE)
    assert job.status == 0, job
    (record,) = records_in(folder / "off.jsonl")
    assert "largest_error" not in record.facts
    assert record.validation.status == "off"


# ---- records and words ----


def multiplicities(elements: tuple[int, int, int], order: int) -> list[int]:
    """Of each unknown: how many nodes it has. Nodes on the boundary of the box have none."""
    nodes: Counter[tuple[int, ...]] = Counter()
    for element in product(*map(range, elements)):
        for node in product(range(order + 1), repeat=3):
            place = tuple(order * e + n for e, n in zip(element, node, strict=True))
            if all(0 < at < order * size for at, size in zip(place, elements, strict=True)):
                nodes[place] += 1
    return list(nodes.values())


def test_bytes_of_an_iteration(folder: Path) -> None:
    """By the passes over vectors of docs/bp5.md, for one rank."""
    elements, order = (3, 2, 2), 4
    nodes = math.prod(elements) * (order + 1) ** 3
    counts = multiplicities(elements, order)
    shared = [count for count in counts if count > 1]
    maps = math.prod(elements) * 8 * 3 * 8
    # r: 3; p: 3, x: 2 and 3 other directions in every fourth iteration; the operator: 2
    passes = 3 + 3 + 5 / 4 + 2
    unique = 8 * (passes * len(counts) + 2 * len(shared)) + 4 * nodes + maps
    # With storage by element also weights and factors, and the values and numbers of groups.
    groups = (2 * 8 + 4) * sum(shared) + 4 * len(shared)
    stored = 8 * (passes + 1 + 6) * nodes + groups
    size = f"bp5 --elements {','.join(map(str, elements))} --order {order} --iterations 4"
    for options, expected in (("", unique), ("--storage element --geometry stored", stored)):
        (record,) = solved(folder, 1, f"{size} {options}", transports="mpi")
        assert record.facts["bytes_per_iteration"] == pytest.approx(expected)


def test_metrics_and_lines_are_nekrss(folder: Path) -> None:
    elements, nodes, iterations, dof = 8, 8 * 512, 9, 8 * 343
    (record,) = solved(folder, 2, "bp5 --elements 4,2,2 --order 7 --iterations 9", transports="mpi")
    seconds, facts = record.samples.values_s[0], dict(record.facts)
    application = elements * (12 * 512 * 8 + 15 * 512)
    flops = iterations * (application + 16 * nodes) + application + 9 * nodes
    medians = {name: statistic.median for name, statistic in record.statistics.items()}
    assert medians["throughput_DOF_iter_per_s"] == pytest.approx(dof * iterations / seconds)
    assert medians["rank_GFLOPs"] == pytest.approx(flops * 1e-9 / seconds)
    per_iteration = float(facts["bytes_per_iteration"])
    moved = per_iteration * iterations * 1e-9
    assert medians["memory_GBps"] == pytest.approx(moved / seconds)
    assert facts["dof_per_rank"] == dof
    assert facts["degrees_of_freedom"] == (4 * 7 - 1) * (2 * 7 - 1) ** 2
    assert facts["bytes_per_dof_iteration"] == pytest.approx(per_iteration / dof)

    (record,) = solved(folder, 2, "bps5 --elements 4,2,2 --order 7 --coarse cg", transports="mpi")
    seconds, facts = record.samples.values_s[0], dict(record.facts)
    medians = {name: statistic.median for name, statistic in record.statistics.items()}
    rate = dof * int(facts["iterations"]) / seconds
    assert facts["dof_per_rank"] == dof
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


def test_the_size_is_said_once(folder: Path) -> None:
    by_elements = alone(folder, BP5)
    assert by_elements.parameters["elements"] == "7x4x4"
    assert "edge" not in by_elements.parameters
    sizes = solved(folder, 2, "bp5 --edge 1:4 --iterations 2", transports="mpi")
    assert [record.size for record in sizes] == [1, 2, 4]
    assert [record.parameters["edge"] for record in sizes] == [1, 2, 4]
    assert not any("elements" in record.parameters for record in sizes)
    assert [record.facts["dof_per_rank"] for record in sizes] == [343, 8 * 343, 64 * 343]


def test_the_parts_are_those_of_the_levels(folder: Path) -> None:
    (record,) = solved(folder, 2, BPS5, transports="mpi")
    assert has_levels(record)
    times = times_by_level(record)
    assert list(times) == ["solver", "p5", "p2", "p1"]
    assert set(times["solver"]) == {"operator", "exchange", "vectors", "reductions"}
    assert set(times["p1"]) == {"operator", "exchange", "coarse solve"}
    assert {"smoother", "restriction", "interpolation"} < set(times["p2"])
    assert record.timeline is not None
    assert {span.part for span in record.timeline.spans} <= {part.name for part in record.parts}
    assert "p5" in shown([record])
    assert not any("exchange" in part.name for part in alone(folder, BPS5).parts)


@pytest.mark.parametrize(("elements", "unknowns"), [("1", 27), ("2,1,1", 63)])
def test_one_element_is_solved(elements: str, unknowns: int, folder: Path) -> None:
    facts = facts_of(folder, 1, f"bps5 --elements {elements} --order 4")
    assert facts["degrees_of_freedom"] == unknowns


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--tolerance 1e-15", "--tolerance 1e-15 cannot be met"),
        ("--iterations 3", "not converged: |b - A x| / |b| is "),
    ],
)
def test_a_solve_that_does_not_end_says_why(words: str, message: str, tmp_path: Path) -> None:
    job = native(tmp_path, 2, BPS5, "--transport mpi --no-parts", ONCE, words)
    assert job.status == 1, job
    assert message in job.message, job


def test_boomeramg_needs_hypre(tmp_path: Path) -> None:
    words = "bps5 --transport mpi --coarse boomeramg --elements 3 --order 3 --no-parts"
    job = native(tmp_path, 2, words, ONCE)
    assert job.status == (0 if has_hypre() else 2), job
    if not has_hypre():
        assert "--coarse boomeramg: this build has no hypre" in job.message
        assert "--coarse cg" in job.message
