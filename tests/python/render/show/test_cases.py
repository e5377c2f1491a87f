"""What `show` prints of records: the cases of cases.yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from run_helpers import table
from sample_applications import make_overlap_record, make_transform_record, make_transform_records
from sample_multigrid import make_multigrid_record
from sample_records import make_record
from show_helpers import shown

CASES = table(Path(__file__).with_name("cases.yaml"))
MAKERS: dict[str, Any] = {
    "record": make_record,
    "overlap": make_overlap_record,
    "transform": make_transform_record,
    "transforms": make_transform_records,
    "multigrid": make_multigrid_record,
}


def records_of(case: dict[str, Any]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for changes in case.get("each", [{}]):
        for entry in case["records"]:
            ((maker, options),) = entry.items()
            made = MAKERS[maker](**{**options, **changes})
            records += made if isinstance(made, list) else [made]
    return records


def places(expected: str | Sequence[str], lines: Sequence[str]) -> list[int]:
    """Where lines are as expected."""
    wanted = [expected] if isinstance(expected, str) else expected
    patterns = [re.escape(line).replace(re.escape("..."), ".*") for line in wanted]
    return [
        first
        for first in range(len(lines) - len(patterns) + 1)
        if all(map(re.fullmatch, patterns, lines[first:]))
    ]


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_show(case: dict[str, Any]) -> None:
    lines = shown(*records_of(case), wide=case.get("wide", False))
    for expected in case.get("has", []):
        if isinstance(expected, str) and expected.startswith("1x "):
            assert len(places(expected[3:], lines)) == 1, (expected, lines)
        else:
            assert places(expected, lines), (expected, lines)
    for text in case.get("lacks", []):
        assert not [line for line in lines if text in line]
