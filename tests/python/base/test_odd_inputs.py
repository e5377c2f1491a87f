"""Options, names and variables that are odd: each is taken as it is meant, or refused in one line
that names it, before anything is done."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from conftest import Commlens, command_line
from record_helpers import write
from sample_records import make_record

TWICE = [
    ("run", "latency", "-n", "2", "--ranks", "3"),
    ("run", "latency", "--launcher-args", "--bind-to core", "--launcher-args", "--map-by node"),
    ("tune", "latency", "--budget", "1s", "--budget", "2s"),
    ("compare", "records.jsonl", "--by", "transport", "--by", "bytes"),
    ("plot", "records.jsonl", "--out", "a.png", "--out", "b.png"),
    ("job", "generic-slurm", "--nodes", "1", "--nodes", "2", "--", "run", "latency"),
    ("profile", "--out", "a", "--out", "b", "--", "true"),
    ("doctor", "--format", "json", "--format", "text"),
    ("profile", "--plot", "--no-plot", "--", "true"),
    ("history", "show", "--since", "1d", "--since", "2d"),
]
UNNAMED = [
    ("show", ""),
    ("show", "records.jsonl", ""),
    ("plot", "", "--out", "a.png"),
    ("plot", "records.jsonl", "--out", ""),
    ("report", "records.jsonl", "--out", ""),
    ("compare", "records.jsonl", ""),
    ("compare", "records.jsonl", "records.jsonl", "--plot", ""),
    ("doctor", ""),
    ("show", " "),
    ("plot", "records.jsonl", "--out", " "),
    ("run", "latency", "--out", ""),
    ("run", "latency", "--out", " "),
    ("tune", "latency", "--space", ""),
    ("tune", "latency", "--matrix", ""),
    ("tune", "--resume", ""),
    ("history", "add", ""),
    ("history", "show", "--store", ""),
    ("history", "plot", "--out", " "),
    ("job", "generic-slurm", "--account", "", "--", "run", "latency"),
    ("job", "generic-slurm", "--queue", " ", "--", "run", "latency"),
]
# Values that are wrong on every machine, and what is said.
REFUSED = {
    "run latency -n ' '": "--ranks ' ': write",
    "run latency --launcher ' '": "--launcher ' ': write",
    "run latency --scaling ' '": "--scaling ' ': ' ' is no number",
    "show 'a b.jsonl'": "'a b.jsonl' cannot be read",
    "plot records.jsonl --out .": "--out .: the name has no ending",
    "plot records.jsonl --out /": "--out /: the name has no ending",
    "report records.jsonl --format pdf": "--format pdf: write html or markdown",
    "submit --attach 12 --nodes 2": "--attach: the job was submitted before; leave out --nodes",
    "history show --since 'last week'": "--since 'last week': write a day",
    "history show --baseline 3": "--baseline 3: write a whole number from 14",
    "history prune --keep 0": "--keep 0: write a whole number from 1",
    "history prune": "prune what? write --older-than DAY or --keep N",
    "history export": "export to what? name a file",
    "history show --threshold x": "--threshold x: write a percentage",
    "history show": "there is no history yet; `commlens history add RECORDS` begins one",
    "tune --resume a --env A=1": "--resume a: the search goes on as it was begun; leave out --env",
}
PLACES = [
    ("plot", "records.jsonl", "--out", "X.png"),
    ("report", "records.jsonl", "--out", "X.html"),
    ("compare", "records.jsonl", "records.jsonl", "--plot", "X.svg"),
    ("doctor", "--out", "X"),
]


@pytest.fixture(autouse=True)
def records() -> Path:
    path = Path("records.jsonl")
    write(path, *(make_record(bytes=size) for size in (8, 64)))
    return path


@pytest.mark.parametrize("words", TWICE, ids=" ".join)
def test_an_option_that_is_given_twice_is_refused(
    words: tuple[str, ...], commlens: Commlens
) -> None:
    run = commlens(*words)
    assert run.returncode == 2 and "given twice; leave one of them out" in run.stderr
    assert run.stdout == "" and [path.name for path in Path.cwd().iterdir()] == ["records.jsonl"]


def test_options_that_may_be_given_twice(commlens: Commlens) -> None:
    words = ("--env", "A=1", "--env", "B=2", "--wide", "--wide", "--dry-run")
    run = commlens("run", "latency", *words)
    assert run.returncode == 0 and "A=1 B=2" in run.stdout


@pytest.mark.parametrize("words", UNNAMED, ids=str)
def test_an_empty_name_is_not_the_folder_at_hand(
    words: tuple[str, ...], commlens: Commlens
) -> None:
    run = commlens(*words)
    blank = next(word for word in words if not word.strip())
    assert run.returncode == 2 and f"'{blank}'" in run.stderr and run.stdout == ""


@pytest.mark.parametrize("words", REFUSED)
def test_a_refusal_shows_the_value(words: str, commlens: Commlens) -> None:
    run = commlens(*shlex.split(words))
    assert run.returncode == 2 and REFUSED[words] in run.stderr
    assert len(run.stderr.splitlines()) == 1 and run.stdout == ""


@pytest.mark.parametrize("command", ["show", "report"])
def test_published_results_are_no_records(command: str, commlens: Commlens) -> None:
    run = commlens(command, "dftfe-summit", *(["--out", "a.html"] * (command == "report")))
    assert run.returncode == 2 and "compare RECORDS --reference dftfe-summit" in run.stderr


def test_a_reference_needs_a_profile(commlens: Commlens) -> None:
    run = commlens("show", "records.jsonl", "--reference", "cp2k-fft")
    assert run.returncode == 2 and "no profile among these records" in run.stderr


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
def test_where_nothing_can_be_written_nothing_is_begun(
    words: tuple[str, ...], commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commlens.findings.examination.examine_program", pytest.fail)
    monkeypatch.setattr("commlens.api.records.load", pytest.fail)
    run = commlens(*(word.replace("X", "records.jsonl/x") for word in words))
    assert run.returncode == 2 and "a file is in the way; name another file" in run.stderr


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_of_odd_variables(ending: str) -> None:
    """Of the process: matplotlib reads them as it is imported."""
    out = f"out.{ending}"
    run = subprocess.run(
        command_line("plot", "records.jsonl", "--out", out),
        env={**os.environ, "MPLBACKEND": "nosuch", "SOURCE_DATE_EPOCH": "yesterday"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(out).stat().st_size and "SOURCE_DATE_EPOCH=yesterday" in run.stderr


def test_a_picture_that_was_cut_short_is_not_in_the_way(commlens: Commlens) -> None:
    words = command_line("plot", "records.jsonl", "--out", "out.png")
    limited = ["bash", "-c", 'ulimit -f 1; "$@"', "bash", *words]
    run = subprocess.run(limited, capture_output=True, text=True)
    assert run.returncode == 2 and "File too large" in run.stderr
    assert commlens(*words[3:]).returncode == 0


def test_a_host_file_without_an_end_is_not_read(commlens: Commlens) -> None:
    os.mkfifo("hosts")
    for path in ("hosts", "/dev/zero"):
        run = commlens("run", "latency", "--dry-run", PBS_JOBID="1", PBS_NODEFILE=path)
        assert run.returncode == 0 and "-n 2" in run.stdout


def test_no_memory_is_no_traceback(commlens: Commlens, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("commlens.api.records.load", load)
    run = commlens("show", "records.jsonl")
    assert run.returncode == 1 and "out of memory" in run.stderr


@pytest.mark.parametrize("given", ["2", "3"])
def test_the_ranks_that_are_expected_follow(given: str, commlens: Commlens) -> None:
    run = commlens("run", "latency", "--expect-ranks", given)
    assert run.returncode == 2 and "--expect-ranks follows from --ranks" in run.stderr


def test_a_file_of_other_lines_is_not_read_to_its_end(commlens: Commlens) -> None:
    Path("other.jsonl").write_text("{}\n" * 200_000)
    run = commlens("show", "other.jsonl")
    assert run.returncode == 1 and run.stderr.splitlines()[0] == (
        "commlens: other.jsonl: 100,000 lines without a record: the rest was not read"
    )


def test_a_suite_that_nobody_waits_for_is_refused(commlens: Commlens) -> None:
    Path("mine.yaml").write_text("runs:\n" + "- {benchmark: latency}\n" * 10_001)
    run = commlens("run", "mine.yaml", "--dry-run")
    assert run.returncode == 2 and "10,001 entries; a suite has at most 10,000" in run.stderr


def test_a_search_with_options_goes_on(commlens: Commlens) -> None:
    begun = commlens("tune", "latency", "--bytes", "8", "--no-parts", "--budget", "1s")
    assert begun.returncode in (0, 1, 4), begun.stderr
    (folder,) = Path("results").glob("tune-*")
    run = commlens("tune", "--resume", folder, "--dry-run")
    assert run.returncode == 0 and "to try for" in run.stdout
