"""`commlens.read`: records that are read when they are needed, chosen, compared and put into
tables."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import commlens
from commlens.model import Record
from record_helpers import device_latency, launches, write
from sample_records import make_record


@pytest.fixture
def file(tmp_path: Path) -> Path:
    records = [
        make_record(bytes=size, transport=name) for size in (1, 1024) for name in ("mpi", "staged")
    ]
    return write(tmp_path / "records.jsonl", *records)


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import commlens, sys; print([name for name in sys.modules if 'commlens.' in name])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_the_package_has_the_names_of_its_stub() -> None:
    stub = Path(commlens.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    names = ast.literal_eval(stub.partition("__all__ = ")[2].partition("]")[0] + "]")
    assert sorted(names) == sorted(commlens.__all__)
    assert all(getattr(commlens, name) for name in names)
    with pytest.raises(AttributeError, match="no attribute 'ran'"):
        _ = commlens.ran  # type: ignore[attr-defined]


def test_records_are_read_when_they_are_needed_and_once(file: Path) -> None:
    told: list[str] = []
    records = commlens.read(file, tell=told.append)
    assert "not read yet" in repr(records)
    assert len(records) == 4 and isinstance(records[0], Record)
    file.unlink()
    assert [record.size for record in records] == [1, 1, 1024, 1024]
    assert repr(records) == f"<4 records of {file}>"


def test_a_missing_file_is_a_mistake_when_it_is_read(tmp_path: Path) -> None:
    records = commlens.read(tmp_path / "none.jsonl")
    with pytest.raises(commlens.CommlensError, match=r"none\.jsonl"):
        len(records)


def test_lines_that_are_no_records_are_problems(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text() + "nothing\n")
    records = commlens.read(str(file))
    assert len(records) == 4 and len(records.problems) == 1
    (tmp_path / "bad.jsonl").write_text("nothing\n")
    with pytest.raises(commlens.CommlensError, match="there is no record") as error:
        len(commlens.read(tmp_path / "bad.jsonl"))
    assert len(error.value.problems) == 1


def test_where_chooses_by_fields_parameters_and_a_function(file: Path) -> None:
    records = commlens.read(file)
    assert len(records.where(transport="mpi")) == 2
    assert len(records.where(bytes=[1, 8], transport=("mpi", "staged"))) == 2
    assert [*records.where(lambda record: record.size == 1024, transport="staged")] == [records[3]]
    assert len(records.where(transport="ccl")) == 0
    assert len(records.where(host=records[0].start.host, status="ok", ranks=2)) == 4
    with pytest.raises(commlens.CommlensError, match=r"no record of .* has 'transprot'"):
        len(records.where(transprot="mpi"))


def test_a_bool_is_chosen_as_the_command_line_writes_it(tmp_path: Path) -> None:
    parameters = {"bytes": 8, "in_place": True}
    made = make_record(benchmark="allreduce", metric="time_us", parameters=parameters)
    records = commlens.read(write(tmp_path / "records.jsonl", made))
    assert len(records.where(in_place=True)) == 1 and len(records.where(in_place=False)) == 0


def test_a_comparison_has_verdicts(tmp_path: Path) -> None:
    before = write(tmp_path / "before.jsonl", *launches(*([2.0, 2.01] * 5)))
    after = write(tmp_path / "after.jsonl", *launches(*([4.0, 4.01] * 5)))
    (row,) = commlens.read(before).compare(commlens.read(after)).rows
    assert (row.verdict.value, row.other) == ("slower", str(after))
    (same,) = commlens.read(before).compare(commlens.read(before)).rows
    assert (same.verdict.value, same.other) == ("same", f"{before} (2)")


def test_a_comparison_of_groups(file: Path) -> None:
    rows = commlens.read(file).compare(by="transport").rows
    assert [row.other for row in rows] == ["staged", "staged"]


@pytest.mark.parametrize("both", [False, True])
def test_a_comparison_is_with_records_or_with_groups(file: Path, both: bool) -> None:
    records = commlens.read(file)
    with pytest.raises(commlens.CommlensError, match="compare with what"):
        records.compare(records if both else None, by="transport" if both else None)


def test_findings_are_those_of_the_records(tmp_path: Path) -> None:
    slow, fast = device_latency(median_us=100.0), device_latency(median_us=2.0, transport="staged")
    records = commlens.read(write(tmp_path / "records.jsonl", slow, fast))
    assert "mpi-slower-than-staged" in [finding.code for finding in records.findings()]
    assert "mpi-slower-than-staged" not in [
        finding.code for finding in records.where(transport="staged").findings()
    ]


def test_a_data_frame_has_a_row_per_record_or_sample(file: Path) -> None:
    pandas = pytest.importorskip("pandas")
    records = commlens.read(file)
    frame = records.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 4
    assert list(frame["bytes"]) == [1, 1, 1024, 1024] and set(frame["latency_us"]) == {2.0}
    assert {"transport", "latency_us low", "latency_us high", "version of mpi"} <= set(frame)
    samples = records.to_dataframe("pandas", samples=True)
    assert len(samples) == 40 and set(samples["seconds"]) == {2e-6}
    assert len(commlens.read(file).where(transport="ccl").to_dataframe()) == 0


def test_polars_takes_records_that_do_not_have_the_same_columns(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    allreduce = make_record(benchmark="allreduce", metric="time_us", environment={"UCX_TLS": "sm"})
    records = commlens.read(write(tmp_path / "records.jsonl", make_record(), allreduce))
    frame = records.to_dataframe("polars")
    assert isinstance(frame, polars.DataFrame)
    assert frame["latency_us"].to_list() == [2.0, None]


def test_without_a_library_it_says_what_to_install(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = SimpleNamespace(DataFrame=lambda columns, strict: len(columns["benchmark"]))
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", frames)
    assert commlens.read(file).to_dataframe() == 4
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(commlens.CommlensError, match="pip install pandas"):
        commlens.read(file).to_dataframe()
