"""Formulas, the record, `show` and `plot` of profiles."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from commlens.model.profile import imbalance_of, parse
from commlens.render.profile_tables import call_sites_table
from conftest import Commlens
from profile_helpers import Mpi
from run_helpers import cases
from sample_records import lines, make_profile, make_record


@pytest.mark.parametrize(("time_s", "imbalance_s", "percent"), cases("imbalance"))
def test_imbalance_is_craypats(time_s: float, imbalance_s: float, percent: float) -> None:
    imbalance = imbalance_of([time_s + imbalance_s, *[time_s - imbalance_s / 255] * 255])
    assert imbalance.imbalance_s == pytest.approx(imbalance_s)
    # The times are rounded to a microsecond, which the last row's percentage still shows.
    assert imbalance.percent == pytest.approx(percent, abs=0.051)


def test_imbalance_ends() -> None:
    assert imbalance_of([0, 0, 1, 0]).percent == pytest.approx(100)  # one rank did it all
    for times in ([1] * 4, [1], [0] * 4, []):
        assert imbalance_of(times).percent == 0


def test_waiting_is_unknown_of_functions_that_are_not_divided() -> None:
    record = make_profile()
    (site,) = record["call_sites"]
    sites = [{**site, "waiting_s": 0.05}, {**site, "function": "MPI_Testany"}]
    table = call_sites_table(parse(json.dumps({**record, "call_sites": sites})))
    texts = {column.head: column.texts for column in table.columns}
    assert texts["Wait %\nof Total"] == ["2.4%", "-"]
    assert [text.split()[0] for text in texts["Function called from"]] == [
        "MPI_Send",
        "MPI_Testany",
    ]


def test_show_and_plot_read_profiles(mpi: Mpi, commlens: Commlens) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--plot",))
    shown = commlens("show", "out")
    assert shown.returncode == 0, shown.stderr
    assert run.output.startswith(shown.stdout)
    written = re.findall(r"^(record|picture): +out/profile-\S+", run.output, re.MULTILINE)
    assert written == ["record", "picture"]
    for ending in (".png", ".svg"):
        assert commlens("plot", "out", "--out", f"picture{ending}").returncode == 0
        assert Path(f"picture{ending}").stat().st_size > 1000


def test_other_records_and_profiles_get_a_picture_each(mpi: Mpi, commlens: Commlens) -> None:
    mpi.profile(mpi.compile("counts.c"))  # no picture, as nobody looks at a terminal
    assert not list(Path("out").glob("*.png"))
    Path("out/other.jsonl").write_text("".join(lines([make_record()])))
    drawn = commlens("plot", "out", "--out", "picture.png")
    assert drawn.stdout == "picture.png\npicture-profiles.png\n"
    assert Path("picture.png").exists() and Path("picture-profiles.png").exists()


def test_a_line_that_is_cut_short_is_a_problem(commlens: Commlens) -> None:
    Path("cut.jsonl").write_text('{"profile": 1, "time": \n')
    shown = commlens("show", "cut.jsonl")
    assert shown.returncode == 1
    assert "cut.jsonl:1: not a profile" in shown.stderr
