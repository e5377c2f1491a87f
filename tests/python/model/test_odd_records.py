"""What is wrong in a record is one sentence that names its place; the other records are shown."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from commlens.model import load, read
from conftest import FOLDER, Commlens
from hostile import RAW, text_of, value_at
from run_helpers import table
from sample_applications import make_overlap_record, make_transform_record
from sample_records import lines, make_profile, make_record, make_reroute, statistic

SAMPLES = {
    "latency": make_record(),
    "overlap": make_overlap_record(),
    "transform": make_transform_record(),
}
LINES = {name: [json.loads(line) for line in lines([raw])] for name, raw in SAMPLES.items()}
LINES["profile"] = [make_profile()]
LINES["reroute"] = [make_reroute()]
BYTES = "parameters.bytes"
# What is too large for a file of cases.
HUGE: list[tuple[str, dict[str, Any]]] = [
    ("latency", {"at": at, key: value, "said": said})
    for at, key, value, said in (
        ("samples.values_s", "is", [10**400], "a sample is too large to be a time"),
        (BYTES, "is", 10**400, "parameters[...]: expected a whole number <= 9223372036854775807"),
        (BYTES, "raw", "9" * 5000, "parameters[...]: Integer value out of range"),
        (BYTES, "raw", "[" * 900 + "]" * 900, "parameters[...]: expected a number, a text"),
        ("statistics.rate_GBps", "is", statistic(2.0), "its start does not declare 'rate_GBps'"),
        ("candidate", "is", {"name": "a", "seconds": 10**400, "text": ""}, "seconds: Number"),
    )
]
REFUSED = [
    (name, case) for name, cases in table(FOLDER / "model/refused.yaml").items() for case in cases
]


@pytest.mark.parametrize(("name", "case"), [*REFUSED, *HUGE])
def test_impossible_values_are_refused_in_a_sentence(
    name: str, case: dict[str, Any], commlens: Commlens
) -> None:
    """The other records are shown."""
    sample, _, is_start = name.partition(" ")
    written = copy.deepcopy(LINES[sample])
    number = 0 if is_start else len(written) - 1
    *path, last = (int(key) if key.isdigit() else key for key in case["at"].split("."))
    place = value_at(written[number], path)
    if "without" in case:
        del place[last]
    else:
        place[last] = RAW + case["raw"] if "raw" in case else case["is"]
    good = lines([make_record(start="another", median_us=7.5)])
    Path("records.jsonl").write_text("".join([*map(text_of, written), *good]))
    shown = commlens("show", "records.jsonl")
    first, *others = shown.stderr.splitlines()
    kind = "profile of version 1 (" if sample == "profile" else "record"
    assert first.startswith(f"commlens: records.jsonl:{number + 1}: not a {kind}"), first
    assert case["said"] in first
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
    ("content", "problem"),
    [
        (b"\n", ":1: not a record (an empty line)"),
        (b"[" * 5000 + b"\n", ":1: not a record of schema 2 (expected an object, got a list)"),
        (b'{"a":' * 5000 + b"\n", ":1: not a record"),
        (b"\0\0\0\n", ": not text"),
        (gzip.compress(b"{}\n", mtime=0), ": compressed by gzip: unpack it first (gunzip)"),
        (b"commlens trace 1\nH", ": a trace of calls: commlens trace info shows it"),
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


def test_only_the_first_of_many_problems_are_named() -> None:
    problems = read([f'{{"kind": "a{number}"}}\n' for number in range(1000)], "f").problems
    assert len(problems) == 21
    assert problems[-1] == "f: 980 more lines without a record"


def test_a_name_that_is_too_long_is_a_sentence(commlens: Commlens) -> None:
    done = commlens("show", "x" * 5000)
    assert done.returncode == 2
    assert done.stderr.endswith("cannot be read: File name too long\n") and len(done.stderr) < 300


def test_texts_of_records_hold_no_control_characters() -> None:
    record = make_record(transport="a\x1b[31m\ud800\n\u202eb\N{GRINNING FACE}", reason='"\\x')
    (decoded,) = read(lines([record])).records
    assert (decoded.transport, decoded.reason) == ("a?[31m? ?b\N{GRINNING FACE}", '"\\x')
