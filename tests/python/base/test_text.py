from __future__ import annotations

from pathlib import Path

import pytest

from commlens.base.text import (
    format_bytes,
    format_count,
    format_fact,
    format_fraction,
    format_number,
    format_percent,
    format_time,
    format_value,
    labelled,
    memory_name,
    plural,
    ranges,
    readable_time,
)

FORMATS = {
    "bytes": format_bytes,
    "fraction": format_fraction,
    "number": format_number,
    "percent": format_percent,
}
TABLE = Path(__file__).parents[2] / "formats.txt"  # which tests/measure/text_test.cpp reads too


def test_numbers_are_written_as_the_native_program_writes_them() -> None:
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    texts = {line: line.partition(" = ")[2] for line in lines}
    written = {line: FORMATS[line.split()[0]](float(line.split()[1])) for line in lines}
    assert len(lines) > 40 and written == texts


def test_a_count_is_a_number_without_a_unit() -> None:
    assert [format_count(count) for count in (0, 732, 2928, 400_000)] == [
        "0",
        "732",
        "2928",
        "400,000",
    ]


def test_a_fraction_is_a_percentage() -> None:
    assert [format_percent(fraction) for fraction in (1, 0.934, 0.0325, 5.51)] == [
        "100%", "93%", "3.2%", "551%",
    ]  # fmt: skip
    assert format_value(0.934, unit="") == "93%", "a metric without a unit is a ratio"
    assert format_value(0.934, "s") == "0.9340"


def test_a_column_has_one_notation() -> None:
    assert format_value(2.828e9, "DOF*iter/s") == "2.828e9"
    assert format_value(9.3e8, "DOF*iter/s", largest=2.828e9) == "9.300e8"
    assert format_value(9.3e8, "DOF*iter/s") == "930,000,000"
    assert format_value(0, "DOF*iter/s", largest=2.828e9) == "0"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (True, "", "yes"),
        (False, "", "no"),
        ("pairwise", "", "pairwise"),
        (236041, "", "236,041"),
        (2_000_000_000, "", "2.000e9"),
        (1.5e-5, "", "1.5e-05"),
        (1 << 20, "B", "1 MiB"),
        (12.5, "us", "12.50 us"),
        (7, "us", "7 us"),
    ],
)
def test_a_fact_is_a_word_or_a_number_with_its_unit(
    value: bool | int | float | str, unit: str, text: str
) -> None:
    assert format_fact(value, unit) == text


def test_a_label_has_its_unit_behind_it() -> None:
    assert labelled("bus bandwidth", "GB/s") == "bus bandwidth (GB/s)"
    assert labelled("", "GFLOP/s") == "GFLOP/s"
    assert labelled("imbalance", "") == "imbalance"


def test_a_long_time_is_shown_in_a_larger_unit() -> None:
    assert readable_time("us", 999) == ("us", 1)
    assert readable_time("us", 105_668) == ("ms", 1e-3)
    assert readable_time("us", 2e6) == ("s", 1e-6)
    assert readable_time("GB/s", 1e9) == ("GB/s", 1)


def test_a_short_time_is_shown_in_a_smaller_unit() -> None:
    assert readable_time("s", 1.0) == ("s", 1)
    assert readable_time("s", 0.88) == ("ms", 1e3)
    unit, factor = readable_time("s", 8.8e-4)
    assert unit == "us" and factor == pytest.approx(1e6)
    assert readable_time("us", 0.02) == ("us", 1)
    assert readable_time("1/s", 0.02) == ("1/s", 1)
    assert readable_time("s", 0) == ("s", 1)


def test_a_time_has_a_unit_of_its_own() -> None:
    assert [format_time(seconds) for seconds in (2, 0.0123, 7.2e-6)] == [
        "2.000 s", "12.30 ms", "7.200 us",
    ]  # fmt: skip


def test_where_two_memories_differ_both_are_named() -> None:
    assert memory_name("device:host") == "device to host"
    assert memory_name("device") == "device"


def test_nouns_follow_their_number() -> None:
    assert [plural(count, "rank") for count in (0, 1, 2)] == ["0 ranks", "1 rank", "2 ranks"]


def test_ranges() -> None:
    assert ranges([0, 1, 2, 5, 7, 8]) == "0-2,5,7-8"
