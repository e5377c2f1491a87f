"""All pairs of ranks: what a matrix in a record says, how it is shown, drawn and diagnosed."""

from __future__ import annotations

import pytest

from commlens.findings import findings
from commlens.model.pairs import PairMatrix, matrices, pair_matrix
from plot_helpers import details, drawn, panel, texts
from record_helpers import parsed
from rule_records import with_samples
from run_helpers import cases
from sample_pairs import bandwidths, latencies, make_pairs_record
from sample_records import make_record
from show_helpers import shown


def matrix_of(*arguments: object) -> PairMatrix:
    matrix = pair_matrix(parsed(make_pairs_record(*arguments))[0])  # type: ignore[arg-type]
    assert matrix is not None
    return matrix


def test_the_slowest_pair_comes_first() -> None:
    matrix = matrix_of(latencies(3, {(0, 2): 40, (1, 2): 20}), "112", 40)
    assert [(pair.first, pair.second, pair.value) for pair in matrix.pairs] == [
        (0, 2, 40),
        (1, 2, 20),
        (0, 1, 10),
    ]
    assert matrix.is_symmetric and matrix.median == 20 and matrix.first_ranks == [2]
    assert matrix.describe(matrix.pairs[0]) == "ranks 0 (n1) and 2 (n2)"
    assert [matrix.is_across_nodes(pair) for pair in matrix.pairs] == [True, True, False]


def test_of_bandwidths_the_least_is_the_slowest_and_directions_count() -> None:
    matrix = matrix_of(bandwidths(3, {(2, 0): 1}), "123", 1, "bandwidth_GBps")
    assert len(matrix.pairs) == 6 and not matrix.is_symmetric
    assert matrix.describe(matrix.pairs[0]) == "rank 2 (n3) to rank 0 (n1)"


def test_other_series_are_no_matrix() -> None:
    plain = make_record(), make_record(series={"pairs_latency_us": [1.0, 2.0, 3.0]})
    assert [pair_matrix(record) for record in parsed(*plain)] == [None, None]
    nothing = make_record(series={"pairs_latency_us": [None] * 4})
    assert pair_matrix(parsed(nothing)[0]) is None


def test_of_a_sweep_the_smallest_and_the_largest_size_are_shown() -> None:
    records = parsed(
        *(make_pairs_record(latencies(2, {}), "12", 10, bytes=size) for size in (64, 8, 512))
    )
    assert [record.size for record, _ in matrices(records)] == [8, 512]


def test_few_ranks_are_shown_as_a_matrix() -> None:
    lines = shown(make_pairs_record(latencies(3, {(0, 2): 40}), "112", 40))
    assert "pairs of ranks, 8 B, mpi, host: latency (us), median 10.00" in lines
    start = lines.index("host rank 0 1 2")
    assert lines[start + 2 : start + 5] == [
        "n1 0 - 10.00 40.00",
        "n1 1 10.00 - 10.00",
        "n2 2 40.00 10.00 -",
    ]


def test_of_many_ranks_the_slowest_pairs_are_shown() -> None:
    slow = {(0, 16): 1.0, (3, 4): 2.0}
    record = make_pairs_record(bandwidths(17, slow), "1" * 9 + "2" * 8, 1, "bandwidth_GBps")
    lines = shown(record)
    start = lines.index("pair bandwidth (GB/s) to median")
    assert lines[start + 2 : start + 4] == [
        "rank 0 (n1) to rank 16 (n2) 1.000 10.00x",
        "rank 3 (n1) to rank 4 (n1) 2.000 5.00x",
    ]


@pytest.mark.parametrize("ranks", [2, 3, 8, 33])
def test_a_heat_map_shows_the_slow_link_and_where_nodes_begin(ranks: int) -> None:
    hosts = "1" * (ranks // 2) + "2" * (ranks - ranks // 2)
    rows = bandwidths(ranks, {(1, 0): 1.0})
    figure = drawn(make_pairs_record(rows, hosts, 1, "bandwidth_GBps"))
    axes = panel(figure, "bandwidth: pairs of ranks")
    (image,) = axes.images
    colors = image.to_rgba(image.get_array())
    assert (colors[1][0] != colors[0][1]).any(), "the slow link stands out"
    assert image.get_array().mask.sum() == ranks, "a rank and itself are no pair"
    assert len(axes.lines) == 2
    assert axes.lines[0].get_ydata()[0] == ranks // 2 - 0.5
    assert "slowest: rank 1" in details(axes) and "lines separate nodes" in details(axes)
    assert (len(texts(axes)) > ranks) == (ranks <= 8), "numbers where there is room"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("rank that receives", "rank that sends")


def test_a_small_difference_is_not_drawn_as_large() -> None:
    figure = drawn(make_pairs_record(latencies(3, {(0, 1): 10.1}), "111", 10.1))
    (image,) = panel(figure, "latency: pairs of ranks").images
    assert image.norm.vmax >= 2 * image.norm.vmin


# ---- what is slow ----


@pytest.mark.parametrize(("metric", "usual", "hosts", "slow", "begins"), cases("slow pairs"))
def test_the_rule_names_the_slow_pairs(
    metric: str, usual: float, hosts: str, slow: dict[str, float], begins: str
) -> None:
    rows_of, worst = (latencies, max) if metric == "latency_us" else (bandwidths, min)
    pairs = {(int(pair[0]), int(pair[2])): value for pair, value in slow.items()}
    rows = rows_of(len(hosts), pairs, usual)
    record = make_pairs_record(rows, hosts, worst(slow.values()), metric)
    reported = findings(parsed(with_samples(record)))
    (finding,) = [entry for entry in reported if entry.code == "slow-pair"]
    assert finding.sentence.startswith(begins), finding.sentence
