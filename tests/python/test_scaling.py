"""One problem on several numbers of ranks: `commlens run --scaling`, and the tables that `run` and `show` print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commlens.records import Record, cases, parse
from commlens.scaling import format_gain, is_oversubscribed, pairs, scalings
from conftest import Commlens
from sample_records import make_overlap_record, make_record, make_transform_record, make_transform_records

NO_NUMBER = "is no number of ranks; write whole numbers from 1 to 1,000,000 as in 1,2,4,8"


def parsed(*records: dict[str, Any]) -> list[Record]:
    return [parse(json.dumps(record) + "\n") for record in records]


def lines_of(output: str) -> list[str]:
    """With a space where there are several."""
    return [" ".join(line.split()) for line in output.splitlines()]


def shown(commlens: Commlens, *records: dict[str, Any]) -> list[str]:
    Path("records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    result = commlens("show", "records.jsonl")
    assert result.returncode == 0, result.stderr
    return lines_of(result.stdout)


def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for file in Path("results").glob("*.jsonl") for line in file.read_text().splitlines()]


# What a variant is worth


def test_the_speed_up_is_before_over_after_less_one() -> None:
    before = make_transform_record("per-transpose", together_ms=238.0)
    after = make_transform_record("cached", together_ms=213.0)
    after["statistics"]["time_ms"]["min"] = 119.0  # of before 0.9 * 238
    (case,) = cases(parsed(before, after))
    (pair,) = pairs(case)
    assert (pair.before.variant_value, pair.after.variant_value) == ("per-transpose", "cached")
    assert format_gain(pair.gain) == "11.7%", "the seed's table rounds it to 12"
    assert format_gain(pair.gain_of_best) == "80.0%"


def test_a_loss_is_negative_and_a_rate_is_compared_by_its_time() -> None:
    before, after = make_transform_records()
    for record, microseconds in ((before, 10.0), (after, 20.0)):
        record["figures"].reverse()
        record["statistics"]["time_us"].update(median=microseconds, min=microseconds)
    (case,) = cases(parsed(before, after))
    assert [format_gain(pair.gain) for pair in pairs(case)] == ["-50.0%"]


def test_only_what_was_measured_is_compared() -> None:
    before, after = make_transform_records()
    staged = make_transform_record("cached", transport="staged")
    (case,) = cases(parsed(before, {**after, "status": "failed", "reason": "wrong"}, staged))
    assert pairs(case) == []
    assert pairs(cases(parsed(make_record(), make_record(transport="staged")))[0]) == []


def test_show_has_both_variants_and_what_one_is_worth(commlens: Commlens) -> None:
    lines = shown(commlens, *make_transform_records())
    head = next(line for line in lines if line.startswith("transport memory communicators time (ms)"))
    assert "cp2k (Mflop/s) fft (GFLOP/s)" in head
    assert any(line.startswith("mpi host per-transpose 22.00 21.56 to 22.44") for line in lines)
    assert any(line.startswith("mpi host cached 18.00 17.64 to 18.36") for line in lines)
    assert "cached over per-transpose (mpi, host): speed-up 22.2% by the medians, 22.2% by the best times" in lines
    assert not any("by ranks" in line for line in lines), "there is but one number of ranks"


def test_show_has_the_shares_of_the_parts(commlens: Commlens) -> None:
    lines = shown(commlens, *make_transform_records())
    assert "local FFT pack and unpack communication communicators other together" in lines
    row = "mpi host per-transpose 6.000 ( 27%) 3.000 ( 14%) 8.000 ( 36%) 4.000 ( 18%) 1.000 (4.5%) 22.00"
    assert row in lines
    assert not any("alone" in line and "alltoall" not in line for line in lines)
    assert not any("overlap" in line for line in lines)


def test_show_has_the_ceilings_of_parts_and_the_calls(commlens: Commlens) -> None:
    lines = shown(commlens, *make_transform_records())
    head = lines.index("ceiling of ceiling of")
    assert lines[head + 1 : head + 3] == [
        "pack and unpack: communication:",
        "transport memory communicators memory copy of it alltoall alone of it",
    ]
    assert "mpi host cached 24.00 GB/s 80% 7.200 ms 90%" in lines
    assert "transport memory communicators MPI_Cart_sub MPI_Cart_rank MPI_Comm_free MPI_Alltoallv" in lines
    assert "mpi host per-transpose 4 20 4 4" in lines
    assert "mpi host cached - - - 4" in lines


# What belongs to one problem


def test_a_problem_keeps_its_name_when_its_ranks_are_arranged_anew() -> None:
    records = [record for ranks in (8, 2, 4) for record in make_transform_records(ranks=ranks, run=str(ranks))]
    (found,) = scalings(cases(parsed(*records)))
    assert [case.ranks for case in found.cases] == [2, 4, 8]
    assert found.arrangements == ["grid-of-ranks"] and "grid-of-ranks" not in found.title
    assert found.title.startswith("grid 125x125x125 · exchange alltoallv")


def test_other_problems_stay_apart() -> None:
    grids = [make_transform_record(ranks=ranks, grid=f"{ranks}x8x8", run=str(ranks)) for ranks in (2, 4)]
    sizes = [make_record(bytes=8 * ranks, ranks=ranks, run=str(ranks)) for ranks in (2, 4)]
    names = [make_record(benchmark=str(ranks), ranks=ranks, run=str(ranks)) for ranks in (2, 4)]
    for records in (grids, sizes, names):
        found = cases(parsed(*records))
        assert scalings(found) == []
        assert len(scalings(found, fewest=1)) == 2


def test_what_was_skipped_is_no_problem_of_its_own() -> None:
    skipped = [make_record(status="skipped", reason="none", ranks=ranks, run=str(ranks)) for ranks in (1, 2)]
    assert scalings(cases(parsed(*skipped)), fewest=1) == []


def test_ranks_that_share_cores_are_oversubscribed() -> None:
    def placed(*places: tuple[str, str]) -> Record:
        placement = [
            {"rank": rank, "host": host, "cores": cores, "numa_nodes": "0"} for rank, (host, cores) in enumerate(places)
        ]
        return parsed(make_record(ranks=len(places), placement=placement))[0]

    assert not is_oversubscribed(placed(("a", "0"), ("a", "1")))
    assert not is_oversubscribed(placed(("a", "0-3"), ("a", "0-3")))
    assert not is_oversubscribed(placed(("a", "0"), ("b", "0")))
    assert not is_oversubscribed(placed(("a", ""), ("a", ""))), "not known"
    assert is_oversubscribed(placed(("a", "0,2"), ("a", "0,2"), ("a", "2")))
    assert is_oversubscribed(placed(("b", "0-7"), ("a", "5"), ("a", "5")))


def test_show_has_the_figure_by_ranks(commlens: Commlens) -> None:
    times = {1: 1.7e6, 2: 0.9e6, 4: 0.85e6}
    lines = shown(commlens, *(make_overlap_record(ranks=n, run=str(n), together_us=us) for n, us in times.items()))
    head = lines.index("transport memory ranks time (s) 95% CI speed-up efficiency")
    assert lines[head + 2 : head + 5] == [
        "mpi host 1 1.700 1.666 to 1.734 1.00 100%",
        "2 0.9000 0.8820 to 0.9180 1.89 94%",
        "4 0.8500 0.8330 to 0.8670 2.00 50%",
    ]


def test_a_rate_speeds_up_where_it_grows_and_sizes_have_rows_of_their_own(commlens: Commlens) -> None:
    records = [
        make_record(ranks=ranks, bytes=size, run=str(ranks), figure="bandwidth_GBps", median_us=us)
        for ranks, us in ((2, 2.0), (4, 1.0))
        for size in (1024, 2048)
    ]
    lines = shown(commlens, *records)
    head = lines.index("size transport memory ranks bandwidth (GB/s) 95% CI speed-up efficiency")
    assert lines[head + 2].startswith("1 KiB mpi host 2 0.5120")
    assert lines[head + 3].startswith("4 1.024") and lines[head + 3].endswith(" 2.00 100%")
    assert lines[head + 4].startswith("2 KiB mpi host 2 1.024")


def test_what_failed_has_a_row(commlens: Commlens) -> None:
    records = [record for ranks in (2, 4) for record in make_transform_records(ranks=ranks, run=str(ranks))]
    records[3] |= {"status": "failed", "reason": "wrong"}
    lines = shown(commlens, *records)
    assert "mpi host 2 2x1 19.80 16.20 22.2% 22.00 18.00 22.2%" in lines
    assert "4 2x2 - - - - - - failed" in lines


# `commlens run --scaling`


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
    assert [record["ranks"] for record in recorded()] == [1, 1, 2, 2, 8, 8]
    assert all(record["command"][-2:] == ["--grid", "64"] for record in recorded())
    lines = lines_of(run.stdout)
    assert "per-transpose cached per-transpose cached" in lines
    assert (
        "transport memory ranks grid-of-ranks best time (ms) best time (ms) speed-up "
        "median time (ms) median time (ms) speed-up"
    ) in lines
    assert "mpi host 1 1x1 90.90 90.00 1.0% 101.0 100.0 1.0%" in lines
    assert "8 4x2 12.15 11.25 8.0% 13.50 12.50 8.0%" in lines
    table = run.stdout[run.stdout.index("fft by ranks") :]
    assert table.strip() in commlens("show", "results").stdout, "show has the same table"


def test_a_scaling_of_any_benchmark_shows_its_figure(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "2,4,6")
    assert run.returncode == 0, run.stderr
    lines = lines_of(run.stdout)
    assert "latency by ranks pairs 1 · timing batch" in lines
    assert "1 B mpi host 2 2.000 1.960 to 2.040 1.00 100%" in lines
    assert "6 2.000 1.960 to 2.040 1.00 33% oversubscribed" in lines


def test_other_formats_have_no_table_of_ours(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "1,2", "--format", "osu")
    assert (run.returncode, run.stdout) == (0, "row 0\nrow 1\nrow 2\n" * 2)


@pytest.mark.parametrize("where", [["--record", "mine.jsonl"], []])
def test_a_start_that_fails_is_told_and_the_others_go_on(commlens: Commlens, where: list[str]) -> None:
    run = commlens("run", "fft", "--scaling", "2,3,4", *where, FAKE_MODE="die early", FAKE_MODE_RANKS="3")
    assert run.returncode == 1
    said = run.stderr.splitlines()
    assert said[2].startswith("commlens: rank ") and said[2].endswith("no record was written")
    assert said[3] == "commlens: 3 ranks: failed, and no record to show"
    assert said[4] == "commlens: [3/3] fft on 4 ranks"
    assert said[5].startswith(f"commlens: 4 records in {where[1] if where else 'results/fft-'}")
    assert [line.split()[-1] for line in lines_of(run.stdout)[-2:]] == ["2.0%", "4.0%"]


def test_a_wrong_result_is_the_status_of_all(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "2,4", FAKE_MODE="wrong", FAKE_MODE_RANKS="4")
    assert run.returncode == 1
    assert len(recorded()) == 7
    assert "8 B mpi host 4 - - - - failed" in lines_of(run.stdout)


def test_when_all_fail_nothing_is_left_behind(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "1,2", "--repeat", 0)
    assert run.returncode == 2
    assert run.stderr.count("commlens: --repeat 0: must be at least 1\n") == 2
    assert "2 ranks: bad usage, and no record to show" in run.stderr
    assert list(Path("results").iterdir()) == []


def test_a_dry_run_has_every_command_line(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--scaling", "1,900", "--dry-run")
    one, many = run.stdout.splitlines()
    assert " -n 1 " in one and "--oversubscribe" not in one
    assert " -n 900 " in many and "--oversubscribe" in many
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scaling", "x"], f"--scaling x: 'x' {NO_NUMBER}"),
        (["--scaling", "0,2"], f"--scaling 0,2: '0' {NO_NUMBER}"),
        (["--scaling", "2,"], f"--scaling 2,: '' {NO_NUMBER}"),
        (["--scaling", ""], "--scaling '': name numbers of ranks, as in 1,2,4,8"),
        (["--scaling", "1,1000001"], f"--scaling 1,1000001: '1000001' {NO_NUMBER}"),
        (["--scaling", "1,2,2"], "--scaling 1,2,2: 2 stands there twice; leave one of them out"),
        (
            ["--scaling", "1,2", "--ranks", "2"],
            "--scaling 1,2 beside --ranks 2: both say on how many ranks; leave one of them out",
        ),
        (["--scaling", "1,2", "--record", ""], "--record '': name a file"),
    ],
)  # fmt: skip
def test_a_scaling_that_cannot_be_is_one_line(commlens: Commlens, words: list[str], message: str) -> None:
    run = commlens("run", "latency", *words)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"commlens: {message}\n")
    assert not Path("results").exists()


def test_a_suite_has_no_scaling(commlens: Commlens) -> None:
    for name in ("quick", "mine.yaml"):
        run = commlens("run", name, "--scaling", "1,2")
        assert run.returncode == 2
        assert run.stderr == (
            f"commlens: --scaling 1,2: {name} is a suite; name a single benchmark, or run the suite without\n"
        )


def test_the_probe_is_made_for_the_most_ranks(commlens: Commlens, tmp_path: Path) -> None:
    script = tmp_path / "probe.txt"
    script.write_text(
        "".join(json.dumps({"probe": "done", "rank": rank}, separators=(",", ":")) + "\n" for rank in (0, 1))
    )
    environment = {"FAKE_BACKEND": "cuda", "FAKE_GPUS": "4", "FAKE_PROBE": str(script)}
    run = commlens("run", "latency", "--scaling", "1,2", **environment)
    assert run.returncode == 0, run.stderr
    assert len(recorded()) == 6
