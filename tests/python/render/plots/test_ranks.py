"""The ranks of a replay over its time."""

from __future__ import annotations

import pytest
from matplotlib.lines import Line2D

from plot_helpers import details, drawn, legends, panel, y_labels
from sample_replays import INTERVALS, make_replay_record

TITLE = "replay over mpi: ranks over time"


def path_of(line: Line2D) -> list[float]:
    return [float(value) for value in line.get_ydata()]


def test_a_row_has_what_its_rank_did_and_a_line_the_critical_path() -> None:
    figure = drawn(make_replay_record())
    axes = panel(figure, TITLE)
    assert details(axes) == "critical path 900.0 ms; communication for free would save 10%"
    assert path_of(axes.lines[0]) == [1.0] * 5 + [0.0] * 5
    assert len(axes.patches) == 2 * 3  # computation, transfer and waiting of each rank
    shares = []
    for patch in axes.patches[:3]:
        top, edges, bottom = patch.get_data()
        assert len(edges) == INTERVALS + 1 and edges[-1] == pytest.approx(1.0)
        shares.append((bottom[0] - top[0]) / 0.9)
    assert shares == pytest.approx([0.4, 0.1, 0.5])
    assert {"computation", "transfer", "waiting", "critical path"} <= set(legends(figure)[0])


@pytest.mark.parametrize("ranks", [64, 128])
def test_many_ranks_are_readable(ranks: int) -> None:
    path = [ranks - 1.0] * INTERVALS
    record = make_replay_record(ranks=ranks)
    record["series"]["critical_path_over_time"] = path
    axes = panel(drawn(record), TITLE)
    assert len(axes.patches) == 64 * 3
    assert path_of(axes.lines[0]) == [63.0] * INTERVALS
    labels = [int(label) for label in y_labels(axes) if label]
    assert len(labels) <= 17 and 0.9 * ranks < max(labels) < ranks
