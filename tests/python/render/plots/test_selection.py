"""A picture holds what somebody can look at, and says what it leaves out; no name is markup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commlens.render import plots as plot
from commlens.render.plots.layout import MAX_HEIGHT_INCHES, height_of_picture, select
from commlens.render.plots.style import power_of_ten, shortened
from conftest import Commlens
from record_helpers import parsed, write
from sample_applications import make_overlap_record, make_solve_record, make_transform_records
from sample_records import make_profile, make_record, statistic


def cases(count: int, **changes: Any) -> list[dict[str, Any]]:
    settings = [{"bytes": 64, "pairs": pairs} for pairs in range(1, count + 1)]
    return [make_record(parameters=case, start=f"s{case['pairs']}", **changes) for case in settings]


def test_groups_for_which_two_screens_have_no_room_are_left_out(tmp_path: Path) -> None:
    records = parsed(*cases(200))
    chosen, left_out = select(records, height_of_picture)
    assert 10 < len(chosen) < 60
    assert left_out == [
        f"two screens hold {len(chosen)} of 200 groups of records; name fewer files, or choose"
        " lines as docs/records.md shows"
    ]
    figure = plot.draw(chosen)
    assert figure.get_size_inches()[1] <= MAX_HEIGHT_INCHES
    assert chosen == records[: len(chosen)]


def test_of_many_starts_the_first_are_drawn() -> None:
    records = parsed(*(make_record(start=f"s{number:02}", bytes=8) for number in range(40)))
    chosen, left_out = select(records, height_of_picture)
    assert len(chosen) == 16
    assert left_out == ["latency: drawn are the first 16 of 40 lines or bars"]


def test_of_many_sizes_some_are_drawn_with_both_ends() -> None:
    records = parsed(*(make_record(bytes=8 * number, start="one") for number in range(1, 2000)))
    chosen, left_out = select(records, height_of_picture)
    sizes = [record.size for record in chosen]
    assert len(chosen) <= 501 and (sizes[0], sizes[-1]) == (8, 8 * 1999)
    assert left_out == ["latency: drawn at every 4th of 1999 sizes"]


def test_records_that_fit_are_drawn_whole() -> None:
    records = parsed(*cases(4), make_overlap_record(), *make_transform_records())
    assert select(records, height_of_picture) == (records, [])


def test_a_metric_of_zero_is_left_out_of_logarithmic_axes() -> None:
    zero = make_record(statistics={"time_us": statistic(2.0), "latency_us": statistic(0.0)})
    chosen, left_out = select(parsed(zero, make_record()), height_of_picture)
    assert (len(chosen), left_out) == (1, ["left out 1 record with a metric of 0"])


def test_a_picture_of_too_many_parts_is_refused(commlens: Commlens, tmp_path: Path) -> None:
    parts = {(f"part {number}", "compute"): 1.0 + number for number in range(1000)}
    file = write(tmp_path / "records.jsonl", make_overlap_record(parts_us=parts, timeline=None))
    done = commlens("plot", file, "--out", "picture.png")
    assert done.returncode == 2
    assert "screens high; choose fewer, as docs/records.md shows" in done.stderr


# An opening dollar without a closing one, two of them, and what has a meaning between two.
MARKUP = ("$\\frac{ ^{ 100% \\", "$x$ _x", "100% $")


@pytest.mark.parametrize("text", MARKUP)
def test_no_name_is_markup(text: str, commlens: Commlens, tmp_path: Path) -> None:
    """Each of these names stands in titles, legends, labels or on axes."""
    records = [
        make_record(transport=text, memory="device", bytes=size, environment={"UCX_X": setting})
        for size in (8, 64)
        for setting in (text, "other")
    ]
    other = make_solve_record(benchmark=text), make_overlap_record()
    lines = [json.dumps(line) for line in (make_profile(command=["costs", text]),)]
    file = write(tmp_path / "records.jsonl", *records, *other)
    names = {"copies": text, "square GEMM": text, "host node": text}
    content = file.read_text()
    for old, new in names.items():
        content = content.replace(json.dumps(old), json.dumps(new))
    file.write_text(content + lines[0] + "\n")
    done = commlens("plot", file, "--out", "picture.svg")
    assert (done.returncode, done.stderr) == (0, "")


def test_labels_that_leave_no_room_lose_their_middle() -> None:
    assert shortened("mpi, device to host") == "mpi, device to host"
    label = shortened("a" * 100 + "b" * 100)
    assert len(label) <= 72 and label.startswith("aaa") and label.endswith("bbb")


def test_powers_of_ten() -> None:
    assert [power_of_ten(value) for value in (1e-3, 1, 1e12)] == ["10⁻³", "10⁰", "10¹²"]


def test_values_far_apart_are_drawn(tmp_path: Path) -> None:
    """Times from 2e-29 to 2e28 us, and more FLOPs than a number of eight bytes has room for."""
    times = ((8, "mpi", 2e-29), (8, "ccl", 2.0), (64, "mpi", 2e-29), (64, "ccl", 2e28))
    curves = [
        make_record(bytes=size, transport=name, median_us=time, start="x")
        for size, name, time in times
    ]
    solve = make_solve_record()
    solve["facts"]["flops_per_iteration"] = 1e308
    for records in (curves, curves[:2], [solve]):
        assert plot.plot(parsed(*records), tmp_path / "picture.svg").left_out == []
