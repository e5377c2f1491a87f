"""The standard output, whatever its encoding is and whatever becomes of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from commlens.render.table import Lines
from commlens.render.terminal import print_things
from conftest import Commlens, command_line
from record_helpers import write
from sample_records import make_record

PLOT = ("plot", "records.jsonl", "--out", "picture.svg")
SHOW, LIST = ("show", "records.jsonl"), ("list",)
COMMANDS = [SHOW, PLOT, LIST, ("--help",), ("show", "--help")]


@pytest.fixture(autouse=True)
def records(tmp_path: Path) -> Path:
    return write(tmp_path / "records.jsonl", make_record(), make_record(transport="staged"))


@pytest.mark.parametrize(
    ("output", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")]
)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_output_that_takes_nothing_is_one_sentence_and_no_success(
    words: tuple[str, ...], output: str, why: str
) -> None:
    done = redirected(output, *words)
    assert done.returncode == 1
    assert done.stderr == f"commlens: the standard output cannot be written: {why}\n"


@pytest.mark.parametrize("columns", ["0", "1", "40"])
def test_a_narrow_terminal_is_enough(columns: str, commlens: Commlens) -> None:
    for words in (("show", "records.jsonl"), ("compare", "records.jsonl", "records.jsonl")):
        done = commlens(*words, COLUMNS=columns)
        assert done.returncode == 0 and done.stderr == "" and "latency" in done.stdout


def redirected(where: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'exec "$@" {where}', "sh", *command_line(*words)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_closed_output_stops_no_other_work() -> None:
    redirected(">/dev/full", *PLOT)
    assert Path("picture.svg").stat().st_size > 1000


def test_a_reader_that_has_left_is_no_news() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = command_line("show", "records.jsonl")
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_standard_error_changes_nothing() -> None:
    done = redirected("2>&-", "show", "missing.jsonl")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("encoding", ["ascii", "euc-jp", "latin-1", "cp437"])
@pytest.mark.parametrize("words", [SHOW, LIST], ids=" ".join)
def test_a_letter_that_the_encoding_lacks_is_replaced(
    encoding: str, words: tuple[str, ...], commlens: Commlens
) -> None:
    done = commlens(*words)
    other = run_encoded(encoding, *words)
    assert other.returncode == done.returncode == 0
    assert len(other.stdout.decode(encoding)) == len(done.stdout)


def test_tables_are_readable_in_ascii() -> None:
    lines = run_encoded("ascii", "show", "records.jsonl").stdout.decode("ascii").splitlines()
    assert lines[0] == "node | 2 ranks | Open MPI 4.1.4 | backend host | commlens 0.1.0"
    assert any(set(line.strip()) == {"-"} for line in lines)


def run_encoded(encoding: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    return subprocess.run(command_line(*words), env=environment, capture_output=True)


def test_a_locale_without_letters_beyond_ascii(commlens: Commlens) -> None:
    posix = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    name = "ä\N{LATIN SMALL LETTER E WITH ACUTE}.jsonl"
    Path("records.jsonl").rename(name)
    command = command_line("show", name)
    done = subprocess.run(command, env={**os.environ, **posix}, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_name_of_a_file_reaches_the_terminal_as_it_is(commlens: Commlens) -> None:
    name = os.fsdecode(b"a\x1b[31m\xff\n.jsonl")
    for words in (("show", name), ("plot", name, "--out", "p.svg"), ("plot", "records.jsonl")):
        done = commlens(*words, *(("--out", name) if words[1] == "records.jsonl" else ()))
        assert done.returncode == 2
        assert done.stderr.replace("\n", "").isprintable(), done.stderr


def test_a_terminal_gets_no_styles_but_ours() -> None:
    with Path("out").open("w") as file:
        console = Console(file=file, force_terminal=True, color_system="standard", width=80)
        print_things(console, [Lines([[("a\x1b[31mb\x07", "bold")]])])
    text = Path("out").read_text()
    assert text.replace("\x1b[1m", "").replace("\x1b[0m", "") == "a?[31mb?\n"


def test_a_file_that_is_opened_later_is_not_the_standard_output(tmp_path: Path) -> None:
    """With a closed descriptor 1, the next file would get it, and what is printed with it."""
    Path("picture.svg").write_text("")
    assert redirected(">&- 2>&-", *PLOT).returncode == 1
    assert "picture.svg" not in Path("picture.svg").read_text(encoding="utf-8")[:200]
