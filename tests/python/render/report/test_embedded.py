"""A report is its own data: what was put into a page is read from it."""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from pathlib import Path

import pytest

from commlens.model import embedded, load, read
from conftest import Commlens
from record_helpers import write
from report_helpers import everything, write_all
from sample_applications import make_overlap_record
from sample_records import make_profile, make_record


def page(*names_and_data: tuple[str, bytes]) -> str:
    links = "".join(
        f'<a class="records" download="{name}.gz" href="{embedded.DATA_URL}'
        f'{b64encode(data).decode()}">{name}</a>'
        for name, data in names_and_data
    )
    return f"<!doctype html>\n<html>{links}</html>"


def test_show_prints_of_a_report_the_tables_of_its_files(
    commlens: Commlens, tmp_path: Path
) -> None:
    files = write_all(tmp_path)
    assert commlens("report", *files, "--out", "first.html").returncode == 0
    assert commlens("show", "first.html").stdout == commlens("show", *files).stdout
    assert commlens("report", "first.html", "--out", "second.html").returncode == 0
    assert Path("first.html").read_text() == Path("second.html").read_text()


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", *everything())
    loaded = load([file])
    lines = list(embedded.encoded(loaded.launches, loaded.records, loaded.profiles))
    before = [json.loads(line) for line in file.read_text().splitlines()]
    after = [json.loads(line) for line in lines]
    for kind in ("start", "record"):
        first, second = ([row for row in rows if row["kind"] == kind] for rows in (before, after))
        assert len(first) == len(second) > 0
        assert all(map(alike, first, second))
    again = read(line.decode() for line in lines)
    assert list(embedded.encoded(again.launches, again.records, again.profiles)) == lines


def test_numbers_are_kept_to_nine_digits(tmp_path: Path) -> None:
    record = make_overlap_record(steps=2)
    record["timeline"]["spans"][0].update(start_us=22.655999287962914, end_us=123456.789012345)
    loaded = load([write(tmp_path / "records.jsonl", record)])
    *_, line = embedded.encoded(loaded.launches, loaded.records, loaded.profiles)
    span = json.loads(line)["timeline"]["spans"][0]
    assert (span["start_us"], span["end_us"]) == (22.6559993, 123456.789)


def alike(value: object, other: object) -> bool:
    """But for what is empty, which need not be written, and digits beyond the ninth."""
    if isinstance(value, dict) and isinstance(other, dict):
        names = value.keys() | other.keys()
        return all(alike(value.get(name), other.get(name)) for name in names)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(alike, value, other))
    if isinstance(value, float):
        return value == pytest.approx(other, rel=5e-9)
    return value == other or (not value and not other)


def test_files_of_the_same_name_are_two(commlens: Commlens, tmp_path: Path) -> None:
    for folder, size in (("one", 8), ("two", 16)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "records.jsonl", make_record(bytes=size))
    commlens("report", tmp_path / "one", tmp_path / "two")
    text = Path("report.html").read_text()
    assert 'download="records.jsonl.gz"' in text and 'download="records-2.jsonl.gz"' in text
    assert len(load([Path("report.html")]).records) == 2


def test_secrets_are_masked(commlens: Commlens, tmp_path: Path) -> None:
    secret = "hunter2hunter2"
    record = make_record(
        environment={"MY_PASSWORD": secret}, command=["commlens-bench", f"--password={secret}"]
    )
    file = write(tmp_path / "records.jsonl", record)
    commlens("report", file)
    assert secret not in Path("report.html").read_text()
    ((_, lines),) = embedded.unpacked(Path("report.html"))
    assert secret not in "".join(lines) and "--password=***" in "".join(lines)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<!DOCTYPE html><p>nothing</p>", "a page without records in it"),
        (page(("a.jsonl", b"no gzip")), "its records are damaged"),
        (page(("a", gzip.compress(b"{}\n" * 99)[:-20])), "its records are damaged: cut short"),
    ],
)  # fmt: skip
def test_a_page_of_others_is_refused_in_a_sentence(
    text: str, why: str, commlens: Commlens, tmp_path: Path
) -> None:
    (tmp_path / "page.html").write_text(text)
    done = commlens("show", "page.html")
    assert done.returncode == 1
    assert f"page.html: {why}" in done.stderr


def test_a_page_of_too_many_records_is_refused(commlens: Commlens, tmp_path: Path) -> None:
    packed = gzip.compress(b"\n" * (2**28 + 1), 1)
    (tmp_path / "page.html").write_text(page(("a.jsonl", packed)))
    done = commlens("show", "page.html")
    assert done.returncode == 1
    assert "page.html: its records are too large" in done.stderr


def test_lines_of_a_page_are_checked_like_those_of_a_file(
    commlens: Commlens, tmp_path: Path
) -> None:
    profile = json.dumps(make_profile()) + "\n"
    data = gzip.compress((profile + "rubbish\n").encode())
    (tmp_path / "page.html").write_text(page(("a&quot;&lt;b.jsonl", data)))
    done = commlens("show", "page.html")
    assert done.returncode == 1 and "profile of" in done.stdout
    assert 'page.html: a"<b.jsonl:2: not a record' in done.stderr


def test_too_large_texts_are_not_packed() -> None:
    assert embedded.pack([b"x" * 100] * 100, most_bytes=10) is None
    assert embedded.pack([b"x" * 100] * 100, most_bytes=1000) is not None
