"""`commlens run --scaling`: one problem on several numbers of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Commlens
from run_helpers import kept, lines_of, probe_lines


def test_a_scaling_starts_the_program_on_each_number_of_ranks(commlens: Commlens) -> None:
    run = commlens("run", "fft", "--scaling", "1,2,8", "--grid", "64")
    assert run.returncode == 0, run.stderr
    (file,) = Path("results").iterdir()
    assert run.stderr.splitlines() == [
        "commlens: [1/3] fft on 1 rank",
        "commlens: [2/3] fft on 2 ranks",
        "commlens: [3/3] fft on 8 ranks",
        f"commlens: 6 records in {file}",
    ]
    assert [record.ranks for record in kept()] == [1, 1, 2, 2, 8, 8]
    assert all(list(record.start.command[-2:]) == ["--grid", "64"] for record in kept())
    lines = lines_of(run.stdout)
    assert any(line.startswith("fft by ranks ") for line in lines)
    assert "mpi host 1 1x1 90.90 90.00 inconclusive 101.0 100.0 inconclusive" in lines
    assert "8 4x2 12.15 11.25 8.0% 13.50 12.50 8.0%" in lines
    assert run.stdout.strip() in commlens("show", "results").stdout, "show has the same table"


def test_a_scaling_of_any_benchmark_shows_its_main_metric(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "2,4,6")
    assert run.returncode == 0, run.stderr
    lines = lines_of(run.stdout)
    assert "latency by ranks pairs 1 · timing batch" in lines
    assert "1 B mpi host 2 2.000 1.960 to 2.040" in lines
    assert "6 2.000 1.960 to 2.040 oversubscribed" in lines


def test_other_formats_have_no_table_of_ours(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "1,2", "--format", "osu")
    assert (run.returncode, run.stdout) == (0, "row 0\nrow 1\nrow 2\n" * 2)


@pytest.mark.parametrize("where", [["--record", "mine.jsonl"], []])
def test_a_launch_that_fails_is_reported_and_the_others_go_on(
    commlens: Commlens, where: list[str]
) -> None:
    run = commlens(
        "run", "fft", "--scaling", "2,3,4", *where, FAKE_MODE="die early", FAKE_MODE_RANKS="3"
    )
    assert run.returncode == 1
    said = run.stderr.splitlines()
    assert said[2].startswith("commlens: rank ") and said[2].endswith("no record was written")
    assert said[3] == "commlens: [3/3] fft on 4 ranks"
    assert said[4] == "commlens: 3 ranks: failed, and no record to show"
    assert said[5].startswith(f"commlens: 4 records in {where[1] if where else 'results/fft-'}")
    rows = [line.split()[-4:] for line in lines_of(run.stdout) if line.endswith(" inconclusive")]
    assert [row[0] for row in rows] == ["inconclusive"] * 2


def test_a_wrong_result_is_the_status_of_all(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "2,4", FAKE_MODE="wrong", FAKE_MODE_RANKS="4")
    assert run.returncode == 1
    assert len(kept()) == 7
    assert "8 B mpi host 4 - - failed" in lines_of(run.stdout)


def test_numbers_of_ranks_are_interleaved_with_several_launches(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "1,2", "--launches", 2)
    assert run.returncode == 0, run.stderr
    assert run.stderr.splitlines()[:4] == [
        "commlens: [1/2] latency on 1 rank, launch 1 of 2",
        "commlens: [2/2] latency on 2 ranks, launch 1 of 2",
        "commlens: [1/2] latency on 1 rank, launch 2 of 2",
        "commlens: [2/2] latency on 2 ranks, launch 2 of 2",
    ]
    assert [record.ranks for record in kept()] == [1] * 3 + [2] * 3 + [1] * 3 + [2] * 3
    assert len({record.start.start for record in kept()}) == 4


def test_when_all_fail_nothing_is_left_behind(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "1,2", "--repeat", 0)
    assert run.returncode == 2
    assert run.stderr.count("commlens: --repeat 0: must be at least 1\n") == 2
    assert "2 ranks: bad usage, and no record to show" in run.stderr
    assert list(Path("results").iterdir()) == []


def test_a_dry_run_has_every_command_line(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "1,900", "--dry-run")
    single, many = run.stdout.splitlines()
    assert " -n 1 " in single and "--oversubscribe" not in single
    assert " -n 900 " in many and "--oversubscribe" in many
    assert not Path("results").exists()


def test_the_probe_is_made_for_the_most_ranks(commlens: Commlens, tmp_path: Path) -> None:
    script = tmp_path / "probe.txt"
    script.write_text("\n".join([*probe_lines("done0 done1"), ""]))
    environment = {"FAKE_BACKEND": "cuda", "FAKE_GPUS": "4", "FAKE_PROBE": str(script)}
    run = commlens("run", "latency", "--scaling", "1,2", **environment)
    assert run.returncode == 0, run.stderr
    assert len(kept()) == 6
