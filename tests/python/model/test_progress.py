"""What a terminal shows while many records are read."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from commlens.cli import records
from commlens.model import load_each
from commlens.model.reading import Room
from record_helpers import write
from sample_records import make_record


def test_a_long_file_says_how_far_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "short.jsonl").write_text("rubbish\n")
    (tmp_path / "long.jsonl").write_text("rubbish\n" * 20_001)
    messages: list[str] = []
    load_each([tmp_path / "short.jsonl", tmp_path / "long.jsonl"], tell=messages.append)
    assert messages == ["reading long.jsonl: 10,000 lines", "reading long.jsonl: 20,000 lines"]


def test_a_terminal_shows_it_once_there_is_something_to_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown = io.StringIO()
    terminal = partial(Console, file=shown, force_terminal=True)
    monkeypatch.setattr(records, "Console", lambda **_: terminal())
    with records.telling():
        pass
    assert shown.getvalue() == ""
    with records.telling() as tell:
        tell("reading [red]\x1b[2J")
    assert "reading (red]?(2J" in shown.getvalue()


def test_a_file_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with records.telling() as tell:
        tell("reading")
    assert capsys.readouterr().err == ""


def test_records_without_room_are_read_and_counted(tmp_path: Path) -> None:
    measured = [make_record(bytes=size) for size in range(1, 31)]
    measured += [make_record(bytes=size, status="failed", reason="x") for size in range(31, 36)]
    file = write(tmp_path / "records.jsonl", *measured)
    file.write_text(file.read_text() + "rubbish\n")
    ((_, first), (_, second)) = load_each([file, file], Room(20))
    assert [len(first.records), first.dropped] == [20 + 2, 13]
    assert [len(second.records), second.dropped] == [0, 35]
    failed = [record for record in first.records if record.status == "failed"]
    assert len(failed) == 2, "a tenth has room of its own"
    assert len(first.problems) == len(second.problems) == 1, "every line is looked at"
