"""`commlens compare` on records: which belong together, what is said of them, and what gates."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError, Status
from commlens.compare import Row, Side, Verdict, judge, match, split
from commlens.compare.verdicts import ComparisonResult, gate
from commlens.render.comparison import FORMATS, comparison_of, summary
from conftest import Commlens
from record_helpers import parsed, write
from rule_records import replays, with_samples
from run_helpers import cases
from sample_records import make_record

NOISE = (0.0, 0.004, -0.004, 0.002, -0.002, 0.001, -0.001, 0.003)


def launches(us: float, name: str, count: int = 5, **changes: Any) -> list[dict[str, Any]]:
    """Medians of launches that differ by less than a percent."""
    return [
        make_record(median_us=us * (1 + noise), start=f"{name}{number}", **changes)
        for number, noise in enumerate(NOISE[:count])
    ]


def compared(
    baseline: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]
) -> ComparisonResult:
    return judge([match(Side("before", parsed(*baseline)), Side("after", parsed(*other)))])


def verdicts(result: ComparisonResult) -> list[str]:
    return [row.verdict.value for row in result.rows]


def only_row(result: ComparisonResult) -> Row:
    (row,) = result.rows
    return row


@pytest.mark.parametrize(("metric", "us", "other", "verdict"), cases("what 5 launches each decide"))
def test_5_launches_each_decide(metric: str, us: float, other: float, verdict: str) -> None:
    row = only_row(
        compared(*(launches(time, name, metric=metric) for time, name in ((us, "a"), (other, "b"))))
    )
    assert row.verdict.value == verdict
    assert row.difference.ratio == pytest.approx(other / us, rel=0.005)
    assert (row.difference.basis, row.difference.launches) == ("launches", (5, 5))


def test_p_is_that_of_scipy_over_medians_of_starts_or_samples_of_a_start() -> None:
    from scipy.stats import mannwhitneyu  # takes a second

    sides = launches(2.0, "a", 8), launches(2.008, "b", 8)
    medians = [[record["statistics"]["latency_us"]["median"] for record in side] for side in sides]
    expected = mannwhitneyu(*medians, alternative="two-sided").pvalue
    assert only_row(compared(*sides)).difference.p_value == pytest.approx(expected)
    samples = (2, 2.1, 2.3, 1.9, 2.2, 2.4), (2.25, 2.6, 2.7, 2.8, 2.9, 3)
    baseline, other = make_record(start="one"), make_record(start="two")
    for record, times in zip((baseline, other), samples):
        record["samples"]["values_s"] = [1e-6 * value for value in times]
    expected = mannwhitneyu(*samples, alternative="two-sided").pvalue
    assert only_row(compared([baseline], [other])).difference.p_value == expected


@pytest.mark.parametrize("us", [2.0, 2.5, 3.8])
def test_of_a_single_start_each_little_can_be_said(us: float) -> None:
    row = only_row(compared(launches(2.0, "a", 1), launches(us, "b", 1)))
    assert row.verdict is Verdict.INCONCLUSIVE
    assert row.difference.basis == "few launches"
    assert row.why == "take 5 new launches of each"


def test_with_2_samples_nothing_is_slower() -> None:
    baseline, other = make_record(start="one"), make_record(start="two", median_us=200)
    for record in (baseline, other):
        record["samples"]["values_s"] = [1e-6, 2e-6]
        for values in record["statistics"].values():
            values |= {"count": 2, "ci_low": None, "ci_high": None}
    row = only_row(compared([baseline], [other]))
    assert row.verdict is Verdict.INCONCLUSIVE
    assert row.difference.interval is None


def test_many_cases_take_more_starts() -> None:
    def sizes(us: float, name: str, count: int) -> list[dict[str, Any]]:
        return [
            record
            for power in range(10)
            for record in launches(us, f"{name}{power}-", count, bytes=2**power)
        ]

    five = compared(sizes(2.0, "a", 5), sizes(2.2, "b", 5))
    assert verdicts(five) == ["inconclusive"] * 10
    assert {row.launches_needed for row in five.rows} == {7}
    assert verdicts(compared(sizes(2.0, "a", 7), sizes(2.2, "b", 7))) == ["slower"] * 10


def test_noise_asks_for_more_starts_than_5() -> None:
    noisy = (2.0, 2.1, 1.96, 2.08, 2.03)
    sides = [
        [make_record(median_us=us + more, start=f"{more}{us}") for us in noisy]
        for more in (0, 0.05)
    ]
    row = only_row(compared(*sides))
    assert row.verdict is Verdict.INCONCLUSIVE
    assert row.launches_needed == 25, "what 5 launches ask for is no more than a next step"


def test_a_case_without_a_partner_is_named() -> None:
    baseline = [*launches(2.0, "a"), make_record(start="a-large", bytes=4096)]
    other = [*launches(2.0, "b"), make_record(start="b-staged", transport="staged")]
    (matched,) = compared(baseline, other).matched
    assert [(missing.case, missing.only_in) for missing in matched.missing] == [
        ("latency 4 KiB, mpi, host", "before"),
        ("latency 1 KiB, staged, host", "after"),
    ]


def test_a_new_failure_is_named_with_its_reason() -> None:
    failed = make_record(start="b", status="failed", reason="a wrong byte")
    (matched,) = compared(launches(2.0, "a"), [failed]).matched
    assert matched.changed == ["latency 1 KiB, mpi, host: failed in after (a wrong byte)"]
    assert matched.broken == ["latency 1 KiB, mpi, host"]
    some = [*launches(2.0, "b", 4), failed]
    (matched,) = compared(launches(2.0, "a"), some).matched
    assert matched.cases[0].note == "1 of 5 launches of after gave nothing"


def test_differences_of_the_machines_are_named() -> None:
    other = launches(2.0, "b", versions={"mpi": "Open MPI 5.0.7"}, environment={"UCX_TLS": "sm"})
    (matched,) = compared(launches(2.0, "a"), other).matched
    assert "mpi: Open MPI 4.1.4 → Open MPI 5.0.7" in matched.differences
    assert "UCX_TLS: not set → sm" in matched.differences
    assert len(matched.cases) == 1


def test_settings_that_vary_within_a_side_are_part_of_its_cases() -> None:
    def side(name: str) -> list[dict[str, Any]]:
        return [
            record
            for value in ("sm", "tcp")
            for record in launches(2.0, f"{name}-{value}", environment={"UCX_TLS": value})
        ]

    result = compared(side("a"), side("b"))
    assert [row.name.rpartition(", ")[2] for row in result.rows] == ["UCX_TLS=sm", "UCX_TLS=tcp"]


@pytest.mark.parametrize(("by", "changes", "values"), cases("groups of one set"))
def test_groups_of_a_single_set(by: str, changes: list[dict[str, Any]], values: list[str]) -> None:
    records = parsed(
        *(
            record
            for number, change in enumerate(changes)
            for record in launches(2.0, f"s{number}-", **change)
        )
    )
    sides, key_of = split(records, by)
    assert [side.name for side in sides] == values
    matched = match(sides[0], sides[1], key_of)
    assert len(matched.cases) == 1
    assert not matched.missing


@pytest.mark.parametrize(("by", "said"), cases("what makes no groups"))
def test_equal_records_make_no_groups(by: str, said: str) -> None:
    with pytest.raises(CommlensError, match=said):
        split(parsed(make_record()), by)


@pytest.mark.parametrize(
    ("us", "count", "slower_by", "status", "said"), cases("what the gate says")
)
def test_the_gate_names_slower_cases(
    us: float, count: int, slower_by: float, status: int, said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    result = compared(launches(2.0, "a", count), launches(us, "b", count))
    assert gate(result, slower_by) == status
    err = capsys.readouterr().err
    assert said in err if said else not err


def test_the_gate_names_missing_cases(capsys: pytest.CaptureFixture[str]) -> None:
    baseline = [*launches(2.0, "a"), make_record(start="a-large", bytes=4096)]
    assert gate(compared(baseline, launches(2.0, "b")), 0.05) == Status.FAILED
    assert "missing or failed: latency 4 KiB, mpi, host" in capsys.readouterr().err


HOSTILE = '<script>alert("|")</script>\x1b[31m`*'


@pytest.mark.parametrize("form", list(FORMATS))
def test_no_text_of_a_record_steers_a_terminal_or_is_markup(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [
        *launches(2.0, "a", parameters={"bytes": 8, "pairs": HOSTILE}),
        *launches(2.0, "b", parameters={"bytes": 8, "pairs": "\n| other"}),
    ]
    result = compared(both, both)
    comparison_of(result).print_as(form)
    said = capsys.readouterr().out
    assert "\x1b" not in said
    if form == "markdown":
        assert "<script>" not in said
        rows = [line for line in said.splitlines() if line.startswith("| ")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    if form == "csv":
        assert len(list(csv.DictReader(io.StringIO(said)))) == len(result.rows)
    if form == "json":
        assert len(json.loads(said)["cases"]) == len(result.rows)


def test_absurd_numbers_have_a_finite_ratio_or_none_and_columns_keep_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = compared(launches(1e-25, "a"), launches(1e25, "b"))
    said = {}
    for form in FORMATS:
        comparison_of(result).print_as(form)
        said[form] = capsys.readouterr().out
    assert all(said.values())
    assert said["csv"].splitlines()[0] == (
        "case,baseline,other,metric,unit,better,baseline_median,other_median,baseline_launches,"
        "other_launches,basis,ratio,ratio_low,ratio_high,p,p_holm,verdict,launches_needed"
    )
    assert summary(result.rows) == "1 case: 1 slower"


def test_the_command_compares_files(commlens: Commlens, tmp_path: Path) -> None:
    before = write(tmp_path / "before.jsonl", *launches(2.0, "a"))
    after = write(tmp_path / "after.jsonl", *launches(2.2, "b"))
    done = commlens("compare", before, after)
    assert (done.returncode, "1 case: 1 slower" in done.stdout) == (0, True)
    few = write(tmp_path / "few.jsonl", *launches(2.2, "c")[:1])
    table = commlens("compare", before, few, COLUMNS="80").stdout
    assert max(map(len, table.partition("  case")[2].splitlines()[:4])) <= 80
    assert "\n      metric: latency (us)\n      what to do: take " in table
    gated = ("compare", before, after, "--fail-if-slower", "5%")
    assert commlens(*gated).returncode == 1
    assert commlens(*gated, "--threshold", "15%").returncode == 0
    after.write_text(after.read_text() + '{"schema": 1}\n')
    done = commlens("compare", before, after)
    assert done.returncode == 1
    assert "after.jsonl:11: not a record of schema 2 (its schema is 1)" in done.stderr


def test_it_draws(commlens: Commlens, tmp_path: Path) -> None:
    sides = []
    for name, factor in (("before", 1.0), ("after", 1.1)):
        records = [
            record
            for size in (1, 1024, 65536)
            for record in launches(factor * size**0.5, f"{name}{size}-", bytes=size)
        ]
        sides.append(write(tmp_path / f"{name}.jsonl", *records))
    picture = tmp_path / "ratio.svg"
    done = commlens("compare", *sides, "--plot", picture)
    assert (done.returncode, str(picture) in done.stdout) == (0, True)
    assert "latency 64 KiB, mpi, host" in picture.read_text() or picture.stat().st_size > 10_000


@pytest.mark.parametrize(("words", "said"), cases("mistakes of compare"))
def test_mistakes_are_single_lines(commlens: Commlens, words: list[str], said: str) -> None:
    done = commlens("compare", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_published_figures_have_a_ratio_and_no_verdict(commlens: Commlens, tmp_path: Path) -> None:
    parameters = {"bytes": 80_000_000, "dtype": "f64", "in_place": True}
    record = make_record(
        benchmark="allreduce", parameters=parameters, memory="device", ranks=8,
        metric="time_us", median_us=35348.0,
    )  # fmt: skip
    file = write(tmp_path / "ours.jsonl", record)
    words = ("compare", file, "--reference", "dftfe-frontier", "--format")
    by_name = commlens("compare", file, "dftfe-frontier", "--format", "json")
    document = json.loads(commlens(*words, "json").stdout)
    assert by_name.stdout == commlens(*words, "json").stdout
    Path("dftfe-frontier").touch()  # of which AFTER would be the name
    assert by_name.stdout == commlens(*words, "json").stdout
    Path("dftfe-frontier").unlink()
    assert document["cases"][0]["as_printed"] == "1.767420677000018259e+00"
    assert document["cases"][0]["ratio"] == pytest.approx(1, abs=0.001)
    assert "verdict" not in document["cases"][0]
    assert document["missing"]
    for form in ("table", "markdown", "csv"):
        done = commlens(*words, form)
        assert (done.returncode, "slower" in done.stdout) == (0, False)


@pytest.mark.parametrize("words", [(), ("a", "b"), ("a", "--by", "memory"), ("--run", "latency")])
def test_published_figures_are_beside_one_set_of_records(
    words: tuple[str, ...], commlens: Commlens
) -> None:
    run = commlens("compare", *words, "--reference", "dftfe-frontier")
    assert (run.returncode, run.stderr) == (
        2,
        "commlens: --reference dftfe-frontier: name the records that it is compared with, one file"
        " or folder; leave out --by and --run\n",
    )


def test_replays_say_what_the_run_would_save(commlens: Commlens, tmp_path: Path) -> None:
    path = write(tmp_path / "replays.jsonl", *map(with_samples, replays(0.9e6)))
    table = commlens("compare", path, "--by", "transport").stdout
    assert ": 10.0% of the run would be saved (95%: 6.3 to 13.5)" in table
