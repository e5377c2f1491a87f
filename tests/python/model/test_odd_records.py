"""What is wrong in a record is one sentence that names its place; the other records are shown."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from commlens.model import load, read
from conftest import Commlens
from hostile import RAW, replaced, text_of
from sample_applications import make_overlap_record
from sample_profile import make_profile
from sample_records import lines, make_record, statistic

START, RECORD = 0, 1


def file(*records: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(records)]


PLAIN = file(make_record(), make_record(transport="staged"))
MEDIAN = ("statistics", "latency_us", "median")
BYTES = ("parameters", "bytes")
CORES = ("placement", 0, "cores")
SPAN = ("timeline", "spans", 0)
RISE = "statistics[...]: min, ci_low, median, ci_high and max do not rise in this order"

# Place, what stands there, and what is said of it.
CHANGES: list[tuple[int, tuple[str | int, ...], Any, str]] = [
    (RECORD, MEDIAN, RAW + "NaN", "not JSON: NaN is none of its numbers"),
    (RECORD, MEDIAN, RAW + "-Infinity", "not JSON: Infinity is none of its numbers"),
    (RECORD, MEDIAN, RAW + "1e400", "statistics[...].median: Number out of range"),
    (RECORD, MEDIAN, 1e31, "statistics[...].median: expected a number <= 1e+30"),
    (RECORD, MEDIAN, -1.0, RISE),
    (RECORD, MEDIAN, "1", "statistics[...].median: expected a number, got a text"),
    (RECORD, ("statistics", "latency_us", "ci_low"), 3.0, RISE),
    (
        RECORD,
        ("statistics", "latency_us", "ci_low"),
        None,
        "ci_high: one is null, the other is not",
    ),
    (RECORD, ("statistics",), {}, "statistics: it is ok, and has none, or no samples"),
    (RECORD, ("samples", "values_s"), [], "statistics: it is ok, and has none, or no samples"),
    (
        RECORD,
        ("samples", "values_s"),
        [1e-6, "x"],
        "samples.values_s: samples are a list of numbers",
    ),
    (RECORD, ("samples", "values_s"), [10**400], "a sample is too large to be a time"),
    (RECORD, BYTES, -8, "parameters: bytes is no size: -8"),
    (RECORD, BYTES, 8.5, "parameters: bytes is no size: 8.5"),
    (RECORD, BYTES, True, "parameters: bytes is no size: True"),
    (RECORD, BYTES, "x", "parameters: bytes is no size: x"),
    (RECORD, BYTES, None, "parameters[...]: expected a number, a text, true or false, got null"),
    (RECORD, BYTES, 10**400, "parameters[...]: expected a whole number <= 9223372036854775807"),
    (RECORD, BYTES, RAW + "9" * 5000, "parameters[...]: Integer value out of range"),
    (RECORD, BYTES, RAW + "[" * 900 + "]" * 900, "parameters[...]: expected a number, a text"),
    (RECORD, ("ranks",), 0, "ranks: expected a whole number >= 1"),
    (RECORD, ("ranks",), 3, "ranks: 3, and its start has 2"),
    (RECORD, ("ranks",), 1e30, "ranks: expected a whole number, got a number"),
    (RECORD, ("setup_s",), RAW + '1, "setup_s": 2', "'setup_s' stands twice in one object"),
    (RECORD, ("memory",), "tape", "memory: expected a text of the form '^(host|pinned"),
    (RECORD, ("ceilings", 0, "fraction"), -1.0, "ceilings[0].fraction: expected a number >= 0.0"),
    (START, ("ranks",), 3, "placement: 2 entries for 3 ranks"),
    (START, ("nodes",), 3, "nodes: 3, of 2 ranks"),
    (START, CORES, "0-99999999999", "placement[0].cores: expected a text of the form"),
    (START, CORES, "all", "placement[0].cores: expected a text of the form"),
    (START, CORES, "3-1", "cores: a range ends before it begins: 3-1"),
    (START, ("placement", 1, "rank"), 0, "placement: its ranks are not 0, 1, 2 ..."),
    (START, ("benchmark", "metrics", 0, "name"), "", "expected a text of length >= 1"),
    (START, ("benchmark", "metrics", 0, "name"), "time_us", "'time_us' stands there twice"),
]


@pytest.mark.parametrize(("number", "path", "new", "problem"), CHANGES)
def test_what_cannot_be_is_refused_in_a_sentence(
    number: int, path: tuple[str | int, ...], new: Any, problem: str, commlens: Commlens
) -> None:
    good = make_record(start="another", median_us=7.5)
    changed = [*PLAIN[:number], replaced(PLAIN[number], path, new), *PLAIN[number + 1 :]]
    Path("records.jsonl").write_text("".join(map(text_of, [*changed, *file(good)])))
    shown = commlens("show", "records.jsonl")
    first, *others = shown.stderr.splitlines()
    assert (
        first.startswith(f"commlens: records.jsonl:{number + 1}: not a record") and problem in first
    )
    assert all("is not in this file before it" in line for line in others)
    assert shown.returncode == 1
    assert "7.500" in shown.stdout


def test_a_negative_time_is_refused_and_a_negative_ratio_is_not() -> None:
    record = make_record(statistics={"time_us": negative(2.0), "latency_us": statistic(2.0)})
    (problem,) = read(lines([record])).problems
    assert "statistics: time_us is negative" in problem
    overlap = make_overlap_record()
    overlap["statistics"]["overlap_efficiency"] = negative(0.5)
    assert read(lines([overlap])).problems == []


def negative(value: float) -> dict[str, Any]:
    turned = {name: -number for name, number in statistic(value).items()}
    ends = {"min": "max", "max": "min", "ci_low": "ci_high", "ci_high": "ci_low"}
    swapped = {name: turned[ends.get(name, name)] for name in turned}
    return {**swapped, "count": 10, "confidence": 0.95}


@pytest.mark.parametrize(
    ("path", "new", "problem"),
    [
        ((*SPAN, "end_us"), -1.0, "timeline.spans[0]: end_us is before start_us"),
        ((*SPAN, "end_us"), 1e308, "timeline.spans[0].end_us: expected a number <= 1e+30"),
        ((*SPAN, "rank"), 10**9, "timeline: a span is of a rank that the record does not have"),
        (("timeline", "time_us"), 0, "timeline.time_us: expected a number > 0.0"),
        (("timeline",), None, "timeline: expected an object, got null"),
        (("parts", 0, "within"), True, "parts: some are within the operation, others alone"),
        (("calls",), {"MPI_Send": -1}, "calls[...]: expected a number >= 0.0"),
        (
            ("candidate",),
            {"name": "a", "seconds": 10**400, "text": ""},
            "candidate.seconds: Number",
        ),
    ],
)
def test_the_same_of_what_only_some_records_have(
    path: tuple[str | int, ...], new: Any, problem: str
) -> None:
    start, record = file(make_overlap_record(steps=1))
    (found,) = read([text_of(start), text_of({**record, **replaced(record, path, new)})]).problems
    assert problem in found


@pytest.mark.parametrize(
    ("path", "new", "problem"),
    [
        (("functions", 0, "calls"), [1], "functions: calls of MPI_Send: 1 values for 2 ranks"),
        (("total_s",), [], "total_s: 0 values for 2 ranks"),
        (("total_s", 0), -1.0, "total_s[0]: expected a number >= 0.0"),
        (("peers", 0, "from"), 7, "peers: a rank that is none of 2"),
        (("ranks",), 10**9, "ranks: 1000000000, and 2 in placement"),
        (("time",), RAW + '"x", "time": "y"', "'time' stands twice in one object"),
    ],
)
def test_the_same_of_profiles(path: tuple[str | int, ...], new: Any, problem: str) -> None:
    (found,) = read([text_of(replaced(make_profile(), path, new))]).problems
    assert found.startswith("records:1: not a profile of version 1 (") and problem in found


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\n", ":1: not a record (an empty line)"),
        (b"[" * 5000 + b"\n", ":1: not a record of schema 2 (expected an object, got a list)"),
        (b'{"a":' * 5000 + b"\n", ":1: not a record"),
        (b"\0\0\0\n", ": not text"),
        (gzip.compress(b"{}\n", mtime=0), ": compressed by gzip: unpack it first (gunzip)"),
        ("{}\n".encode("utf-16"), ": text in UTF-16: records are UTF-8"),
        (b'{\n  "kind": "start"\n}\n', ": JSON over several lines: a record is one line"),
    ],
)
def test_a_file_of_something_else_is_said_to_be_that_by_show_and_by_plot(
    content: bytes, problem: str, commlens: Commlens
) -> None:
    Path("records.jsonl").write_bytes(content)
    for words in (("show", "records.jsonl"), ("plot", "records.jsonl", "--out", "p.png")):
        done = commlens(*words)
        first, second = done.stderr.splitlines()
        assert done.returncode == 1
        assert first.startswith(f"commlens: records.jsonl{problem}")
        assert second == "commlens: there is no record in records.jsonl"


def test_a_byte_order_mark_is_no_problem() -> None:
    path = Path("records.jsonl")
    path.write_text("\ufeff" + "".join(lines([make_record()])), encoding="utf-8")
    loaded = load([path])
    assert (len(loaded.records), loaded.problems) == (1, [])


def test_only_the_first_of_many_problems_are_told() -> None:
    found = read([f'{{"kind": "a{number}"}}\n' for number in range(1000)], "f").problems
    assert len(found) == 21
    assert found[-1] == "f: 980 more lines without a record"


def test_a_name_that_is_too_long_is_a_sentence(commlens: Commlens) -> None:
    done = commlens("show", "x" * 5000)
    assert done.returncode == 2
    assert done.stderr.endswith("cannot be read: File name too long\n") and len(done.stderr) < 300


def test_texts_of_records_hold_no_control_characters() -> None:
    record = make_record(transport="a\x1b[31m\ud800\n\u202eb\N{GRINNING FACE}", reason='"\\x')
    (found,) = read(lines([record])).records
    assert (found.transport, found.reason) == ("a?[31m? ?b\N{GRINNING FACE}", '"\\x')
