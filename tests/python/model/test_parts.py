"""Parts of an operation, alone or within it, their ceilings and timelines: what is read of them."""

from __future__ import annotations

from typing import Any

import pytest

from record_helpers import parsed
from sample_applications import (
    COPIES,
    MULTIPLICATIONS,
    REDUCTIONS,
    make_overlap_record,
    make_transform_record,
)
from sample_records import make_record


def overlap(**changes: Any) -> Any:
    return parsed(make_overlap_record(**changes))[0]


# Alone


def test_the_ideal_is_the_longest_stream_whose_parts_add_up() -> None:
    parts = {MULTIPLICATIONS: 5e5, REDUCTIONS: 4e5, COPIES: 2e5}
    bound_by_communication = overlap(parts_us=parts, together_us=8e5)
    assert bound_by_communication.alone_s == pytest.approx({"compute": 0.5, "communication": 0.6})
    assert bound_by_communication.ideal_s == pytest.approx(0.6)
    assert bound_by_communication.together_s == pytest.approx(0.8)
    assert overlap(parts_us={**parts, MULTIPLICATIONS: 7e5}).ideal_s == pytest.approx(0.7)
    part = bound_by_communication.parts[1]
    assert (part.name, part.stream) == REDUCTIONS
    assert part.time_s == pytest.approx(0.4)
    assert part.time[:3] == pytest.approx((0.4, 0.392, 0.408))


def test_the_efficiency_is_that_of_the_record_or_the_ideal_over_the_time_together() -> None:
    text = make_overlap_record(parts_us={MULTIPLICATIONS: 5e5, REDUCTIONS: 6e5}, together_us=8e5)
    assert parsed(text)[0].efficiency == pytest.approx(0.75)
    # As of medians of samples, not of medians of parts.
    text["statistics"]["overlap_efficiency"]["median"] = 0.76
    assert parsed(text)[0].efficiency == pytest.approx(0.76)
    del text["statistics"]["overlap_efficiency"]
    assert parsed(text)[0].efficiency == pytest.approx(0.75)


def test_a_timeline_has_its_steps() -> None:
    parts = {MULTIPLICATIONS: 8e5}
    timeline = overlap(parts_us=parts, together_us=9e5, steps=4, ranks=1).timeline
    assert timeline is not None and timeline.time_us == pytest.approx(9e5)
    assert [(span.part, span.step) for span in timeline.spans] == [
        ("multiplications", step) for step in range(4)
    ]
    assert [span.end_us for span in timeline.spans] == pytest.approx([2e5, 4e5, 6e5, 8e5])
    assert [span.start_us for span in timeline.spans] == pytest.approx([0, 2e5, 4e5, 6e5])


def test_a_ceiling_has_its_rate_and_unit() -> None:
    rates = {ceiling.name: (ceiling.rate, ceiling.unit) for ceiling in overlap().ceilings}
    assert rates["square GEMM"] == (58.4, "TFLOP/s")
    assert rates["copy to host"] == (55.0, "GB/s")


def test_the_tightest_ceiling_is_the_hardwares_with_the_longest_time() -> None:
    text = make_overlap_record()
    tightest = parsed(text)[0].ceiling
    assert tightest is not None and tightest.name == "block GEMM"
    text["ceilings"][1]["library"] = True
    tightest = parsed(text)[0].ceiling
    assert tightest is not None and tightest.name == "square GEMM"


def test_records_without_parts_have_none_of_this() -> None:
    (record,) = parsed(make_record())
    assert (record.parts, record.start.notes, record.timeline) == ((), [], None)
    assert (record.alone_s, record.ideal_s, record.efficiency) == ({}, None, None)


# Within the operation


def test_parts_within_say_nothing_of_overlap() -> None:
    (record,) = parsed(make_transform_record())
    assert [(part.name, part.stream, part.within) for part in record.parts][::3] == [
        ("local FFT", "transform", True), ("communicators", "transform", True),
    ]  # fmt: skip
    assert record.has_parts_within and record.parts[0].time_s == pytest.approx(6e-3)
    assert (record.alone_s, record.ideal_s, record.efficiency) == ({}, None, None)
    assert record.together_s == pytest.approx(22e-3)
    assert record.other_s == pytest.approx(1e-3)


def test_parts_that_overlap_within_leave_nothing() -> None:
    (record,) = parsed(make_transform_record(together_ms=15.0))
    assert record.other_s == 0
    others = [alone.other_s for alone in parsed(make_record(), make_overlap_record())]
    assert others == [None, None]


def test_ceilings_of_parts_are_not_those_of_the_whole() -> None:
    (record,) = parsed(make_transform_record())
    assert record.ceiling is None
    copy, alltoall = record.ceilings
    assert (copy.part, copy.fraction, copy.rate, copy.unit, copy.metrics) == (
        "pack and unpack", 0.8, 24.0, "GB/s", {},
    )  # fmt: skip
    assert (alltoall.part, alltoall.rate, alltoall.library) == ("communication", None, True)
    assert alltoall.time_us == pytest.approx(0.9 * 8e3)


def test_the_smallest_sample_and_the_calls_are_read() -> None:
    (record,) = parsed(make_transform_record())
    assert record.statistics["time_ms"].min == pytest.approx(0.9 * 22)
    assert record.calls["MPI_Cart_rank"] == 20
    assert parsed(make_record())[0].calls == {}
