"""`commlens run` and `commlens list` from outside, with a native program and a launcher that are
scripts: what a job is given, and where its records go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import FAKES, Commlens
from run_helpers import cases, command_of_record, executable, kept, lines_of

BENCH = FAKES / "commlens-bench"
TOO_LONG = (
    ["latency", "--ranks", "9" * 5000],
    f"--ranks {'9' * 40}...: write a whole number from 1 to 1,000,000",
)


def test_a_run_passes_options_on_and_keeps_records(commlens: Commlens) -> None:
    words = ("--bytes", "8:1K", "--ranks", 2, "--format=osu", "--matrix")
    run = commlens("run", "latency", *words)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "row 0\nrow 1\nrow 2\n", "programs read this format: no table is added"
    (file,) = Path("results").iterdir()
    assert run.stderr == f"commlens: 3 records in {file}\n"
    assert file.name.startswith("latency-20")
    expected = ["latency", "--record", str(file), "--expect-ranks", "2", "--bytes", "8:1K"]
    assert command_of_record()[1:] == [*expected, "--format", "osu", "--matrix"]


def test_two_runs_in_a_second_do_not_share_a_file(commlens: Commlens) -> None:
    for _ in range(3):
        commlens("run", "latency", "--out", "here")
    assert len(list(Path("here").iterdir())) == 3


@pytest.mark.parametrize("wide", [[], ["--wide"]])
def test_the_tables_at_the_end_are_those_of_show(commlens: Commlens, wide: list[str]) -> None:
    run = commlens("run", "latency", *wide)
    assert run.stdout.strip()
    assert run.stdout.strip() == commlens("show", "results", *wide).stdout.strip()


@pytest.mark.parametrize(("words", "environment", "expected"), cases("command lines of dry runs"))
def test_dry_run_prints_the_command_line_and_does_nothing(
    commlens: Commlens, words: list[str], environment: dict[str, str], expected: str
) -> None:
    run = commlens("run", *words, "--dry-run", **environment)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(str(FAKES / "mpirun"))
    assert expected in run.stdout
    assert f" {words[0]} --record results/{words[0]}-TIME.jsonl" in run.stdout
    assert not Path("results").exists()


@pytest.mark.parametrize(("words", "message"), [*cases("bad usage"), TOO_LONG])
def test_bad_usage_is_one_line(commlens: Commlens, words: list[str], message: str) -> None:
    run = commlens("run", *words)
    assert run.returncode == 2
    assert run.stderr == f"commlens: {message}\n"
    assert run.stdout == ""
    assert not Path("results").exists()


def test_a_missing_native_program_says_how_to_build(commlens: Commlens) -> None:
    run = commlens("run", "latency", COMMLENS_BENCH="/none")
    assert run.returncode == 2
    assert run.stderr == (
        "commlens: COMMLENS_BENCH=/none is not a program: name the built commlens-bench, "
        "or unset it\n"
    )


@pytest.mark.parametrize(("script", "said"), cases("no native programs"))
def test_a_wrong_native_program_is_named(
    commlens: Commlens, tmp_path: Path, script: str, said: str
) -> None:
    executable(tmp_path, "other", script)
    run = commlens("run", "latency", COMMLENS_BENCH=str(tmp_path / "other"))
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert str(tmp_path / "other") in line and said in line


# Variables and launches


def test_a_variable_is_set_for_all_ranks_and_recorded(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--env", "UCX_TLS=self,sm", "--env", "UCX_NET_DEVICES=")
    assert run.returncode == 0, run.stderr
    environment = dict(kept()[0].start.environment)
    assert environment == {"UCX_TLS": "self,sm", "UCX_NET_DEVICES": ""}


def test_a_dry_run_shows_variables_as_the_shell_and_the_launcher_take_them(
    commlens: Commlens,
) -> None:
    run = commlens("run", "latency", "--env", "UCX_TLS=a b", "--dry-run")
    assert run.stdout.startswith(f"UCX_TLS='a b' {FAKES / 'mpirun'} ")
    assert " -x 'UCX_TLS=a b' " in run.stdout


def test_several_launches_are_jobs_of_one_file(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--launches", 3)
    assert run.returncode == 0, run.stderr
    (file,) = Path("results").iterdir()
    said = [f"commlens: latency, launch {start} of 3" for start in (1, 2, 3)]
    assert run.stderr.splitlines() == [*said, f"commlens: 9 records in {file}"]
    assert len({record.start.start for record in kept(file)}) == 3
    assert "row" not in run.stdout, "the table has them"


@pytest.mark.parametrize("command", ["run", "compare", "tune"])
def test_an_option_is_accepted_by_its_former_name(commlens: Commlens, command: str) -> None:
    shown = commlens(command, "--help").stdout
    assert "--launches" in shown and "--starts" not in shown
    run = commlens(command, "latency", "--starts", "0")
    assert run.returncode == 2
    assert run.stderr.startswith("commlens: --launches 0: write a whole number from 1 to 1")


def test_launches_go_on_after_a_failure_but_not_after_bad_usage(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--launches", 2, FAKE_MODE="wrong")
    assert run.returncode == 1
    assert len(kept()) == 8
    refused = commlens("run", "latency", "--launches", 3, "--repeat", 0, "--out", "none")
    assert refused.returncode == 2
    assert refused.stderr.count("--repeat 0: must be at least 1") == 1
    assert list(Path("none").iterdir()) == []


@pytest.mark.parametrize("option", ["--launches", "--starts"])
def test_a_dry_run_of_several_launches_has_a_line_for_each(commlens: Commlens, option: str) -> None:
    assert len(commlens("run", "latency", option, 3, "--dry-run").stdout.splitlines()) == 3


# Help and list


def test_the_help_has_the_options_of_the_benchmark_too(commlens: Commlens) -> None:
    both = commlens("run", "latency", "--help")
    assert both.returncode == 0
    assert "--launcher" in both.stdout and "commlens run quick" in both.stdout
    assert "options of the native latency" in both.stdout
    assert "options of the native" not in commlens("run", "--help").stdout


@pytest.mark.parametrize("words", [[], ["run"], ["list"], ["show"], ["plot"], ["profile"]])
def test_every_help_has_an_example(commlens: Commlens, words: list[str]) -> None:
    shown = commlens(*words, "--help")
    assert shown.returncode == 0
    example = r"^ *Examples?:\n +commlens " + " ".join(words)
    assert re.search(example, shown.stdout, re.MULTILINE)


def test_the_command_alone_shows_its_help(commlens: Commlens) -> None:
    alone = commlens()
    assert alone.returncode in (0, 2), "as the version of click has it"
    assert "commlens run quick" in alone.stdout + alone.stderr
    assert "Traceback" not in alone.stderr


def test_list_needs_no_launcher(commlens: Commlens) -> None:
    listed = commlens("list", PATH=f"{Path(BENCH).parent / 'none'}:/usr/bin:/bin")
    assert listed.returncode == 0, listed.stderr
    assert {text for text in cases("what a list has") if text not in listed.stdout} == set()
    lines = lines_of(listed.stdout)
    assert "quick messages, allreduce and applications in two minutes on two cores" in lines
