"""Parts that are measured within an operation, and variants that one start compares: what is read, said and drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from commlens.records import Record, cases, parse
from sample_records import make_overlap_record, make_record, make_transform_record, make_transform_records


def parsed(*records: dict[str, Any]) -> list[Record]:
    return [parse(json.dumps(record) + "\n") for record in records]


# What is read


def test_parts_within_say_nothing_of_overlap() -> None:
    (record,) = parsed(make_transform_record())
    assert [(part.name, part.stream, part.within) for part in record.parts][::3] == [
        ("local FFT", "transform", True), ("communicators", "transform", True),
    ]  # fmt: skip
    assert record.has_parts_within and record.parts[0].time_s.median == pytest.approx(6e-3)
    assert (record.alone_s, record.ideal_s, record.efficiency) == ({}, None, None)
    assert record.together_s == pytest.approx(22e-3)
    assert record.other_s == pytest.approx(1e-3)


def test_parts_that_overlap_within_leave_nothing() -> None:
    (record,) = parsed(make_transform_record(together_ms=15.0))
    assert record.other_s == 0
    assert [alone.other_s for alone in parsed(make_record(), make_overlap_record())] == [None, None]


def test_ceilings_of_parts_are_not_those_of_the_whole() -> None:
    (record,) = parsed(make_transform_record())
    assert record.ceiling is None
    copy, alltoall = record.ceilings
    assert (copy.part, copy.fraction, copy.rate, copy.figures) == ("pack and unpack", 0.8, ("copy_GBps", 24.0), {})
    assert (alltoall.part, alltoall.rate, alltoall.library) == ("communication", None, True)
    assert alltoall.time_s == pytest.approx(0.9 * 8e-3)


def test_the_smallest_sample_and_the_calls_are_read() -> None:
    (record,) = parsed(make_transform_record())
    assert record.statistics["time_ms"].minimum == pytest.approx(0.9 * 22)
    assert record.calls["MPI_Cart_rank"] == 20
    assert parsed(make_record())[0].calls == {}


def test_the_variants_of_a_start_share_a_case() -> None:
    (case,) = cases(parsed(*make_transform_records(), *make_transform_records(transport="staged")))
    assert (case.compared, case.compared_values) == ("communicators", ["per-transpose", "cached"])
    assert "communicators" not in case.parameters and case.variants == {}
    assert [(record.transport, case.variant_label(record), case.variant_number(record)) for record in case.records] == [
        ("mpi", "per-transpose", 0), ("mpi", "cached", 1), ("staged", "per-transpose", 0), ("staged", "cached", 1),
    ]  # fmt: skip
    assert len(case.at_best_size()) == 4


def test_runs_of_variants_are_told_apart_by_both() -> None:
    runs = [
        record
        for pml in ("ucx", "ob1")
        for record in make_transform_records(run=pml, environment={"OMPI_MCA_pml": pml})
    ]
    (case,) = cases(parsed(*runs))
    assert [(case.variant_label(record), case.variant_number(record)) for record in case.records] == [
        ("per-transpose, pml=ucx", 0), ("cached, pml=ucx", 1), ("per-transpose, pml=ob1", 2), ("cached, pml=ob1", 3),
    ]  # fmt: skip


def test_without_the_field_two_values_of_a_parameter_are_two_cases() -> None:
    assert len(cases(parsed(*make_transform_records(variant=None)))) == 2


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda record: record["parts"][0].update(within=False), "parts/0/within"),
        (lambda record: record["parts"][0].pop("within"), "parts: some are within the operation, others alone"),
        (lambda record: record.update(variant="colour"), "variant: no parameter is called 'colour'"),
        (lambda record: record.update(variant=""), "variant"),
        (lambda record: record["ceilings"][0].update(part="sums"), "ceilings/0/part: no part is called 'sums'"),
        (lambda record: record["ceilings"][0].update(figures={"time_ms": 1.0}), "ceilings/0"),
        (lambda record: record["ceilings"][0].update(gemm_TFLOPs=1.0), "ceilings/0"),
        (lambda record: record["ceilings"][0].pop("part"), "ceilings/0"),
        (lambda record: record["ceilings"][1].pop("time_us"), "ceilings/1"),
        (lambda record: record["calls"].update(MPI_Cart_sub=-1), "calls/MPI_Cart_sub"),
        (lambda record: record.update(calls=["MPI_Cart_sub"]), "calls"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_refused(spoil: Callable[[dict[str, Any]], object], what: str) -> None:
    record = make_transform_record()
    assert parsed(record)
    spoil(record)
    with pytest.raises(ValueError, match="not a record of schema 1") as refusal:
        parsed(record)
    assert what in str(refusal.value)
