from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commlens.base import text
from run_helpers import table

FORMATS = Path(__file__).parents[2] / "formats.txt"  # which tests/measure/text_test.cpp reads too
CASES = table(Path(__file__).with_name("texts.yaml"))


def test_numbers_are_written_as_the_native_program_writes_them() -> None:
    lines = [line for line in FORMATS.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) > 40
    for line in lines:
        kind, number, _ = line.split(maxsplit=2)
        assert getattr(text, f"format_{kind}")(float(number)) == line.partition(" = ")[2], line


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [(name, *case) for name, cases in CASES.items() for case in cases],
)
def test_texts(name: str, arguments: list[Any], expected: Any) -> None:
    made = getattr(text, name)(*arguments)
    if name == "readable_time":
        unit, factor = made
        assert unit == expected[0] and factor == pytest.approx(expected[1])
    else:
        assert made == expected


def test_half_a_pair_of_surrogates_is_not_printable() -> None:
    assert text.printable("a\ud800") == "a?"
