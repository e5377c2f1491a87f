"""The standard output, whatever its encoding is and whatever becomes of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from commlens.base.terminal import Terminal
from commlens.base.text import printable, printable_lines
from conftest import Commlens, command_line
from record_helpers import write
from sample_records import make_record

PLOT = ("plot", "records.jsonl", "--out", "picture.svg")
COMMANDS = [("show", "records.jsonl"), PLOT, ("list",), ("--help",), ("show", "--help")]


@pytest.fixture(autouse=True)
def records(tmp_path: Path) -> Path:
    return write(tmp_path / "records.jsonl", make_record(), make_record(transport="staged"))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_sentence_and_no_success(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command_line(*words), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "commlens: the standard output cannot be written: No space left on device\n"
    )


@pytest.mark.parametrize("words", COMMANDS[:3], ids=" ".join)
def test_a_closed_output_is_one_sentence_and_no_success(words: tuple[str, ...]) -> None:
    script = 'exec "$@" >&-'
    command = ["sh", "-c", script, "sh", *command_line(*words)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "commlens: the standard output cannot be written: it is closed\n"


def test_what_is_done_besides_the_output_is_done_all_the_same() -> None:
    with Path("/dev/full").open("w") as full:
        subprocess.run(command_line(*PLOT), stdout=full, stderr=subprocess.DEVNULL)
    assert Path("picture.svg").stat().st_size > 1000


def test_a_reader_that_has_left_is_no_news() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = command_line("show", "records.jsonl")
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_standard_error_changes_nothing() -> None:
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command_line("show", "missing.jsonl")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("encoding", ["ascii", "euc-jp", "latin-1", "cp437"])
@pytest.mark.parametrize("words", COMMANDS[:3], ids=" ".join)
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


def test_our_own_styles_are_all_that_a_terminal_gets() -> None:
    with Path("out").open("w") as file:
        terminal = Terminal(file=file, force_terminal=True, color_system="standard", width=80)
        terminal.print("a\x1b[31mb\x07", style="bold", markup=False)
    text = Path("out").read_text()
    assert text.replace("\x1b[1m", "").replace("\x1b[0m", "") == "a?[31mb\n"


def test_printable_texts() -> None:
    assert printable("a b·ä") == "a b·ä"
    assert printable("\x1b]0;x\x07\x9b2J\r\u202e\ud800") == "?]0;x??2J???"
    assert printable("a\nb\tc\N{NO-BREAK SPACE}d") == "a b c d"
    assert printable_lines("a\nb\x00") == "a\nb?"


def test_a_file_that_is_opened_later_is_not_the_standard_output(tmp_path: Path) -> None:
    """With a closed descriptor 1, the next file would get it, and what is printed with it."""
    Path("picture.svg").write_text("")
    command = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command_line(*PLOT)]
    assert subprocess.run(command).returncode == 1
    assert "picture.svg" not in Path("picture.svg").read_text(encoding="utf-8")[:200]
