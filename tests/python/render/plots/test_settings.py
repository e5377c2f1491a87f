"""What a picture says of settings: what differs, and what was given; no defaults, no cut line."""

from __future__ import annotations

from typing import Any

from matplotlib.colors import to_hex

from commlens.model import groups, over_launches
from commlens.render.plots import draw, draw_singly
from commlens.render.plots.content import Content
from plot_helpers import details, drawn, legends, panel, texts, titles, y_labels
from record_helpers import parsed
from sample_applications import make_overlap_record, make_solve_record, modes
from sample_records import make_record

ONE_START = "one launch (median, 95% interval)"


def head(*records: dict[str, Any]) -> list[str]:
    """The lines under the machine."""
    return drawn(*records).texts[1].get_text().split("\n")


def test_defaults_are_not_said_and_given_options_are_said_once() -> None:
    parameters = {"in_place": True, "trace": "", "dtype": "f64", "FILE": "A", "depth": 2}
    command = ["commlens-bench", "pipeline", "--in-place", "--dtype=f64", "--FILE", "A"]
    record = make_overlap_record(parameters=parameters, timeline=None, command=command)
    assert head(record) == [
        f"2025-01-02, host memory, {ONE_START}",
        "pipeline: in-place true, dtype f64, FILE A",
    ]
    assert details(panel(drawn(record), "pipeline")) == ""


def test_differences_stand_at_each_panel_given_or_not() -> None:
    records = [
        make_record(
            parameters={"bytes": size, "pairs": pairs, "window": 64},
            command=["commlens-bench", "latency", "--pairs", str(pairs)],
            start=f"pairs {pairs}",
        )
        for pairs in (1, 2)
        for size in (8, 64)
    ]
    assert [details(axes) for axes in drawn(*records).axes] == ["pairs 1", "pairs 2"]
    assert head(*records) == [f"2025-01-02, host memory, {ONE_START}"]


def test_settings_of_the_transport_and_days_are_in_the_head() -> None:
    first = {"environment": {"UCX_TLS": "all", "OMPI_MCA_pml": "ucx"}, "start": "a"}
    other = {"environment": {"UCX_TLS": "all", "OMPI_MCA_pml": "ob1"}, "start": "b"}
    records = [
        make_record(**first),
        make_record(**other, memory="device", time="2025-01-03T00:00:00Z"),
    ]
    records[1]["start"]["time"] = "2025-01-03T00:00:00Z"
    assert head(*records) == [f"2025-01-02 to 2025-01-03, UCX_TLS=all, {ONE_START}"]


def test_a_head_has_as_many_lines_as_it_needs() -> None:
    names = [f"parameter_{number}" for number in range(40)]
    command = ["commlens-bench", "latency", *(f"--{name.replace('_', '-')}" for name in names)]
    parameters = {"bytes": 8, **dict.fromkeys(names, "in words")}
    machine = "Open MPI 5.0.7, a version with a long name of its own that does not fit in a line"
    record = make_record(parameters=parameters, command=command, versions={"mpi": machine})
    figure = drawn(record)
    assert figure.texts[0].get_text().count("\n") >= 1
    text = figure.texts[1].get_text()
    assert "…" not in text and all(f"{name.replace('_', '-')} in words" in text for name in names)
    ends = [label.get_window_extent() for label in figure.texts]
    assert max(end.x1 for end in ends) <= figure.bbox.width and ends[0].y0 > ends[1].y1
    assert ends[1].y0 > max(axes.get_tightbbox().y1 for axes in figure.axes)  # type: ignore[union-attr]


def test_a_series_has_the_same_name_in_all_panels() -> None:
    """Memory is named where it differs, in the panels of several groups, too."""
    for memories in (["host"], ["device", "host"]):
        sweep = [
            make_solve_record(edge, memory=memory) for edge in (4, 8, 16) for memory in memories
        ]
        record = make_record(benchmark="allreduce")
        figure = drawn(*sweep, *(make_record(bytes=size, start="x") for size in (8, 64)), record)
        (names,) = legends(figure)
        names = [name for name in names if not name.startswith(("ceiling", "published"))]
        assert names == (["mpi"] if len(memories) == 1 else ["mpi, device", "mpi, host"])
        assert y_labels(panel(figure, "allreduce of 1 KiB")) == names[-1:]


def test_groups_that_differ_in_settings_alone_share_a_panel() -> None:
    records = [
        make_solve_record(options={"geometry": geometry, "storage": storage})
        for geometry in ("stored", "trilinear")
        for storage in ("element", "unique")
    ]
    figure = drawn(*records)
    axes = panel(figure, "bp5, edge 20")
    assert len(axes.patches) == 4
    names = ["stored, element", "stored, unique", "trilinear, element", "trilinear, unique"]
    assert y_labels(axes) == [f"mpi, {name}" for name in names]
    assert legends(figure) == [y_labels(axes)], "the lines of the convergence have these names"
    lines = panel(figure, "bp5: convergence").lines
    assert [tuple(bar.get_facecolor()[:3]) for bar in axes.patches] == [
        tuple(line.get_color()) for line in lines
    ]
    again = [*records, make_solve_record(start="again", options={"geometry": "stored"})]
    assert titles(drawn(*again)).count("bp5, edge 20") == 4, "what differs is not a setting"


def test_a_bar_is_no_paler_for_the_lines_of_other_panels() -> None:
    solves = [make_solve_record(options={"geometry": name}) for name in ("stored", "trilinear")]
    records = [*solves, make_record(benchmark="allreduce")]
    figure = drawn(*records)
    (bar,) = panel(figure, "allreduce of 1 KiB").patches
    color, _ = Content.of(parsed(*records)).transports["mpi"]
    assert to_hex(bar.get_edgecolor()).upper() == color
    colors = [line.get_color() for line in panel(figure, "bp5: convergence").lines]
    assert len({to_hex(line).upper() for line in colors} | {color}) == 3
    singly = {shown.title: single for shown, single in draw_singly(parsed(*records))}
    (axes,) = singly["bp5: convergence"].axes
    assert [line.get_color() for line in axes.lines] == colors


def test_bars_of_settings_have_a_ceiling_each() -> None:
    records = [make_solve_record(options={"geometry": name}) for name in ("stored", "trilinear")]
    for record, rate in zip(records, (2e10, 4e10)):
        record["ceilings"][0]["metrics"] = {"throughput_DOF_iter_per_s": rate}
    figure = draw(parsed(*records))
    axes = panel(figure, "bp5, edge 20")
    assert details(axes) == "dashed: the ceiling, device copy"
    ends = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == "--"]
    assert ends == [2e10, 4e10]


def test_bars_of_settings_show_the_used_mode() -> None:
    others = modes(parts=None)
    for record in others:
        record["parameters"]["fields"] = 2
    (axes,) = drawn(*modes(parts=None), *others).axes
    assert len(y_labels(axes)) == 6
    assert sum("(used)" in text for text in texts(axes)) == 2, "of each group one"


def test_starts_are_named_by_their_times_and_not_by_numbers() -> None:
    def labels(*times: str) -> list[str]:
        records = [make_record(start=time, time=f"2025-{time}Z") for time in times]
        for record, time in zip(records, times):
            record["start"]["time"] = f"2025-{time}Z"
        (group,) = groups(parsed(*records))
        assert set(group.start_labels.values()) == {
            f"default settings, start {number + 1}" for number in range(len(times))
        }
        return y_labels(drawn(*records).axes[0])

    assert labels("01-02T03:04:00", "01-03T03:04:00") == ["mpi, 2025-01-02", "mpi, 2025-01-03"]
    assert labels("01-02T03:04:00", "01-02T04:04:00") == ["mpi, 03:04", "mpi, 04:04"]
    assert labels("01-02T03:04:01", "01-02T03:04:05") == ["mpi, 03:04:01", "mpi, 03:04:05"]
    assert labels("01-02T03:04:01", "01-03T03:04:05", "01-03T03:05:05") == [
        "mpi, 2025-01-02 03:04", "mpi, 2025-01-03 03:04", "mpi, 2025-01-03 03:05",
    ]  # fmt: skip


def test_medians_over_several_starts_are_named_in_the_head() -> None:
    records = [make_record(start=name) for name in ("a", "b", "c")]
    figure = draw(over_launches(parsed(*records)))
    said = "host memory, 3 launches (median, range of their medians)"
    assert figure.texts[1].get_text().endswith(said)
