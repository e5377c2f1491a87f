"""`commlens show` on the command line."""

from __future__ import annotations

from pathlib import Path

from conftest import Commlens
from record_helpers import write
from sample_records import make_record
from show_helpers import output


def test_show_prints_the_tables_of_its_files(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    shown = commlens("show", file)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == output(make_record())
    assert commlens("show", "--wide", file).stdout == output(make_record(), wide=True)


def test_show_reports_lines_that_are_no_records(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    file.write_text(file.read_text() + file.read_text()[:100])
    shown = commlens("show", file)
    assert shown.returncode == 1
    assert "passed" in shown.stdout
    assert shown.stderr.startswith(f"commlens: {file}:3: not a record")
    assert commlens("show", tmp_path / "none").returncode == 2
