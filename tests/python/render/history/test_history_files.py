"""The history as files for other programs."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from commlens.base import outputs
from commlens.base.errors import CommlensError
from conftest import Commlens
from history_helpers import day_of, launch, launches, stored
from run_helpers import kept

STORE = Path("history.sqlite")


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMLENS_STORE", str(STORE))
    stored(STORE, [*launches(40, slower_from=35), *launches(5, bytes=8, name="other")])


def exported(commlens: Commlens, *words: str) -> str:
    run = commlens("history", "export", *words)
    assert (run.returncode, run.stderr) == (0, "")
    return Path(words[-1]).read_text()


def test_a_gauge_for_each_case(commlens: Commlens) -> None:
    text = exported(commlens, "--prometheus", "a.prom")
    labels = (
        'machine="node",benchmark="latency",case="latency 1 KiB, mpi, host, backend host,'
        ' timing batch, 2 ranks, 1 node, pairs 1",metric="latency_us"'
    )
    assert f"commlens_slower{{{labels}}} 1.0\n" in text
    assert f"commlens_launches{{{labels}}} 40.0\n" in text
    assert text.count("commlens_ratio{") == 1  # too few launches have none
    assert text.count("# TYPE ") == 6 == text.count("# HELP ")


def test_the_parser_of_prometheus_reads_it(commlens: Commlens) -> None:
    odd = 'a "quoted" \\ name\nof two lines'
    stored(STORE, launches(3, name="odd"), machine=odd)
    families = {
        family.name: family
        for family in text_string_to_metric_families(exported(commlens, "--prometheus", "a.prom"))
    }
    assert len(families) == 6 and {family.type for family in families.values()} == {"gauge"}
    (slower,) = [one for one in families["commlens_slower"].samples if one.value]
    assert set(slower.labels) == {"machine", "benchmark", "case", "metric"}
    assert len(families["commlens_last"].samples) == 3
    machines = {one.labels["machine"] for one in families["commlens_last"].samples}
    assert machines == {"node", 'a "quoted" \\ name of two lines'}
    times = [one.value for one in families["commlens_last_launch_timestamp_seconds"].samples]
    assert 1.7e9 < min(times) <= max(times) < 1.8e9


def test_csv_has_a_row_for_each_case_and_launch(commlens: Commlens) -> None:
    stored(STORE, [launch(50, 2.0, name="bad", status="failed", reason="wrong")])
    rows = list(csv.DictReader(io.StringIO(exported(commlens, "--csv", "a.csv"))))
    assert len(rows) == 46
    first, failed = rows[0], rows[40]
    assert (first["time"], first["version of ucx"]) == (f"{day_of(0)}T03:00:00Z", "1.18.0")
    assert float(first["median"]) == pytest.approx(2.0, rel=0.1)
    assert (failed["status"], failed["median"]) == ("failed", "")
    few = csv.DictReader(
        io.StringIO(exported(commlens, "latency", "--since", day_of(38), "--csv", "b.csv"))
    )
    assert len(list(few)) == 3


def test_all_records_come_back(commlens: Commlens) -> None:
    exported(commlens, "--records", "all.jsonl")
    records = kept("all.jsonl")
    assert len(records) == 45
    again = commlens("history", "add", "all.jsonl")
    assert "0 records added" in again.stdout


def test_parquet_takes_pyarrow(commlens: Commlens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    run = commlens("history", "export", "--parquet", "a.parquet")
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert "--parquet a.parquet: that takes pyarrow" in run.stderr
    assert "or write --csv" in run.stderr and not Path("a.parquet").exists()


def test_parquet_has_the_same_rows_as_csv(commlens: Commlens) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="there is no pyarrow")
    for _ in range(2):
        assert commlens("history", "export", "--parquet", "a.parquet").returncode == 0
    table = parquet.read_table("a.parquet")
    assert table.num_rows == 45 and "version of ucx" in table.column_names


@pytest.mark.parametrize("option", ["--prometheus", "--csv", "--parquet", "--records", "--junit"])
@pytest.mark.parametrize("victim", ["notes", "store", "link", "folder"])
def test_nothing_else_is_replaced(option: str, victim: str, commlens: Commlens) -> None:
    out = Path("out")
    if victim == "folder":
        out.mkdir()
    elif victim == "link":
        out.symlink_to(STORE)
    elif victim == "notes":
        out.write_text("my notes")
    else:
        out = STORE
    before = STORE.read_bytes()
    run = commlens("history", "check" if option == "--junit" else "export", option, out)
    assert run.returncode == 2 and "name another file" in run.stderr
    assert STORE.read_bytes() == before and (victim != "notes" or out.read_text() == "my notes")


def test_two_files_of_one_name_are_refused(commlens: Commlens) -> None:
    run = commlens("history", "export", "--csv", "a", "--records", "./a")
    assert run.returncode == 2 and "two options name this file" in run.stderr
    assert not Path("a").exists()


def test_a_reader_has_the_old_file_or_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file cannot take its place, the old one is whole, and nothing else is left."""
    out = Path("a.prom")
    outputs.write_at_once(out, "# HELP commlens_a 1\n", outputs.PROMETHEUS)

    def fail(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(CommlensError, match="Input/output error"):
        outputs.write_at_once(out, "# HELP commlens_b 2\n", outputs.PROMETHEUS)
    assert out.read_text() == "# HELP commlens_a 1\n"
    assert [path.name for path in Path.cwd().glob("*prom*")] == ["a.prom"]


def test_to_a_stream(commlens: Commlens) -> None:
    run = commlens("history", "export", "--csv", "/dev/null")
    assert run.returncode == 0 and Path("/dev/null").is_char_device()
