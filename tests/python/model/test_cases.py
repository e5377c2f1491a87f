"""The key of a case and groups of records: both follow from the roles of parameters."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.model import Group, Metric, Record, case_key, cases, groups, merged_transports
from record_helpers import parsed, record
from run_helpers import cases as cases_of
from sample_applications import (
    BLOCKS,
    make_exchange_record,
    make_overlap_record,
    make_overlap_sweep,
    make_transform_record,
    make_transform_records,
    modes,
)
from sample_records import make_record


def grouped(*records: dict[str, Any]) -> list[Group]:
    return groups(parsed(*records))


# The key


def test_the_key_has_all_that_makes_a_case() -> None:
    key = case_key(record(bytes=8, parameters={"bytes": 8, "in_place": True, "count": 1}))
    assert tuple(key) == (
        "latency", "host", 2, 1, "batch", "host", "mpi", (("bytes", "8"), ("in_place", "true")),
    )  # fmt: skip
    assert key.parameters == (("bytes", "8"), ("in_place", "true")), "count is derived"


@pytest.mark.parametrize(("role", "is_in_key", "sizes", "many"), cases_of("roles of parameters"))
def test_a_role_decides_the_place_of_a_parameter(
    role: str, is_in_key: bool, sizes: list[int], many: int
) -> None:
    records = parsed(
        *(make_record(parameters={"own": value}, roles={"own": role}) for value in (1, 2))
    )
    keys = {case_key(record) for record in records}
    assert len(keys) == (2 if is_in_key else 1)
    grouping = groups(records)
    assert len(grouping) == many
    assert grouping[0].sizes == sizes
    assert grouping[0].is_sweep == (role == "size")
    assert ("own" in grouping[0].settings) == (role == "setting")
    assert grouping[0].variant_values == (["1", "2"] if role == "variant" else [])


def test_the_key_does_not_depend_on_the_start_or_on_order() -> None:
    first = record(parameters={"bytes": 8, "pairs": 1}, start="one")
    other = record(parameters={"pairs": 1, "bytes": 8}, start="other", warnings=["late"])
    assert case_key(first) == case_key(other)
    assert case_key(first) != case_key(record(bytes=8, harness={**HARNESS, "timing": "each"}))
    assert case_key(record(backend="cuda")) != case_key(record(backend="hip"))


HARNESS = {"timing": "batch", "repeat": 100, "warmup": 10, "batches": 10}


def test_a_value_and_its_text_are_not_confused_with_another() -> None:
    truths = [record(parameters={"own": value}) for value in (True, 1, 1.0, "1.0")]
    assert len({case_key(record) for record in truths}) == 3, "1.0 is what a command line says too"


# The size


def test_the_size_is_the_parameter_of_that_role() -> None:
    read_record = record(parameters={"count": 1000, "bytes": 8000, "dtype": "f64"})
    assert read_record.size == 8000
    assert read_record.size_parameter is not None and read_record.size_parameter.unit == "B"
    (group,) = grouped(*(make_record(parameters={"bytes": size}) for size in (1024, 2048)))
    assert (group.size_name, group.format_size(1024)) == ("size", "1 KiB")
    assert group.describe_size(1024) == "1 KiB"
    assert record(parameters={}).size is None
    assert record(parameters={"elements": "7,7,7"}, roles={"elements": "size"}).size is None


def test_a_sweep_is_over_the_parameter_of_that_role() -> None:
    (group,) = grouped(*make_overlap_sweep())
    assert group.size_parameter is not None
    assert (group.is_sweep, group.size_parameter.name) == (True, "block")
    assert (group.size_name, group.sizes) == ("block", list(BLOCKS))
    assert "block" not in group.settings and group.settings["dofs"] == "400000"
    assert [group.format_size(size) for size in group.sizes] == ["366", "732", "1464", "2928"]
    assert group.format_size(400_000) == "400,000"
    assert group.describe_size(732) == "block 732"
    assert [record.size for record in group.records[:4]] == [366, 366, 366, 732]


# Groups


def test_settings_have_the_names_of_options_and_are_not_empty() -> None:
    parameters = {"in_place": True, "trace": "", "dtype": "f64", "FILE": "A"}
    (group,) = grouped(make_overlap_record(parameters=parameters, timeline=None))
    assert group.settings == {"in-place": "true", "dtype": "f64", "FILE": "A"}


def test_sizes_transports_and_memories_share_a_group() -> None:
    records = [
        make_record(bytes=size, transport=transport, memory=memory)
        for size in (1, 2)
        for transport in ("ccl", "mpi")
        for memory in ("host", "device")
    ]
    (group,) = grouped(*records)
    assert group.is_sweep and group.sizes == [1, 2] and group.start_labels == {}
    assert [record.transport for record in group.records[:4]] == ["mpi", "mpi", "ccl", "ccl"]
    assert group.memories == ["device", "host"]


@pytest.mark.parametrize(("maker", "changes", "expected"), cases_of("groups of records"))
def test_records_form_groups(
    maker: str, changes: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> None:
    make = {"record": make_record, "overlap": make_overlap_record}[maker]
    formed = grouped(*(make(**fields) for fields in changes))
    assert len(formed) == len(expected)
    for group, wanted in zip(formed, expected):
        assert {name: getattr(group, name) for name in wanted} == wanted


def test_transports_are_in_the_order_of_their_starts() -> None:
    old, new = ["mpi", "staged"], ["ofi", "mpi", "ccl"]
    orders = [(name, order) for order in (old, new) for name in reversed(order)]
    records = [make_record(transport=name, transports=order) for name, order in orders]
    (group,) = grouped(*records)
    assert group.transports == ["mpi", "staged", "ofi", "ccl"]
    assert [record.transport for record in group.records] == ["mpi", "mpi", "staged", "ofi", "ccl"]
    assert merged_transports(parsed(*reversed(records))) == ["ofi", "mpi", "ccl", "staged"]
    (group,) = grouped(make_record(transport="other"), make_record())
    assert [record.transport for record in group.records] == ["mpi", "other"], "not declared: last"


@pytest.mark.parametrize(("launches", "labels"), cases_of("labels of launches"))
def test_launches_of_the_same_are_set_apart_by_their_settings(
    launches: list[dict[str, Any]], labels: dict[str, str]
) -> None:
    (group,) = grouped(*(make_record(**changes) for changes in launches))
    assert group.start_labels == labels


def test_two_starts_of_a_sweep_are_two_series() -> None:
    launches = [
        record
        for name in ("ucx", "ob1")
        for record in make_overlap_sweep(start=name, environment={"OMPI_MCA_pml": name})
    ]
    (group,) = grouped(*launches)
    assert group.start_labels == {"ucx": "OMPI_MCA_pml=ucx", "ob1": "OMPI_MCA_pml=ob1"}
    best = [(record.transport, record.start.start) for record in group.at_best_size()]
    assert best == [(transport, start) for transport in ("mpi", "staged", "ccl")
                    for start in ("ucx", "ob1")]  # fmt: skip


def test_the_best_size_is_by_the_main_metric() -> None:
    def best(*records: dict[str, Any]) -> list[tuple[str, int | None]]:
        (group,) = grouped(*records)
        return [(record.transport, record.size) for record in group.at_best_size()]

    expected = [("mpi", 366), ("staged", 732), ("ccl", 2928)]
    assert best(*make_overlap_sweep()) == expected
    assert (
        best(*make_overlap_sweep(metrics=["rank_TFLOPs", "time_s", "overlap_efficiency"]))
        == expected
    )
    failed = make_overlap_record(
        block=183, transport="ccl", memory="device", status="failed", together_us=1.0
    )
    assert best(*make_overlap_sweep(), failed) == expected


def ratios(group: Group) -> list[float | None]:
    """Of each record to the best one; None where it is alone."""
    standings = [group.standing(record) for record in group.records]
    return [record.ratio if record else None for record in standings]


def test_the_ratio_is_to_the_best_transport_of_the_size_and_memory() -> None:
    fast, slow = make_record(median_us=2), make_record(median_us=5, transport="staged")
    (group,) = grouped(fast, slow, make_record(bytes=8))
    assert ratios(group) == [None, 1, 2.5]
    both = [make_record(median_us=us, transport=name) for us, name in ((2, "mpi"), (5, "ccl"))]
    for raw in both:
        raw["start"]["benchmark"]["metrics"][0]["better"] = "higher"
    (group,) = grouped(*both)
    assert ratios(group) == [2.5, 1], "the direction of the metric decides"


# Variants and candidates


def test_the_variants_of_a_start_share_a_group() -> None:
    (group,) = grouped(*make_transform_records(), *make_transform_records(transport="staged"))
    assert group.variant is not None and group.variant.name == "communicators"
    assert group.variant_values == ["per-transpose", "cached"]
    assert "communicators" not in group.settings and group.start_labels == {}
    assert [
        (record.transport, group.label(record), group.series_number(record))
        for record in group.records
    ] == [
        ("mpi", "per-transpose", 0), ("mpi", "cached", 1),
        ("staged", "per-transpose", 0), ("staged", "cached", 1),
    ]  # fmt: skip
    assert len(group.at_best_size()) == 4


def test_starts_of_variants_are_set_apart_by_both() -> None:
    launches = [
        record
        for pml in ("ucx", "ob1")
        for record in make_transform_records(start=pml, environment={"OMPI_MCA_pml": pml})
    ]
    (group,) = grouped(*launches)
    assert [(group.label(record), group.series_number(record)) for record in group.records] == [
        ("per-transpose, OMPI_MCA_pml=ucx", 0), ("cached, OMPI_MCA_pml=ucx", 1),
        ("per-transpose, OMPI_MCA_pml=ob1", 2), ("cached, OMPI_MCA_pml=ob1", 3),
    ]  # fmt: skip


def test_derived_parameters_are_shown_beside_the_settings() -> None:
    (group,) = grouped(make_transform_record())
    assert group.derived == {"grid-of-ranks": "2x2"} and "grid-of-ranks" not in group.settings
    (group,) = grouped(*(make_record(parameters={"bytes": n, "count": n // 8}) for n in (8, 16)))
    assert group.derived == {}, "they differ in it"


def test_the_candidate_with_the_fewest_seconds_is_used() -> None:
    def used(group: Group) -> list[str]:
        return [record.variant_value for record in group.records if record in group.used]

    (group,) = grouped(*modes())
    assert used(group) == ["neighbor"]
    failed = make_exchange_record("host", seconds=1e-9, status="failed", reason="wrong")
    skipped = make_exchange_record(
        "pairwise", "ccl", seconds=1e-9, status="skipped", reason="no", statistics={}
    )
    (group,) = grouped(*modes(), failed, skipped)
    assert used(group) == ["neighbor"]
    (group,) = grouped(*modes(start="one"), *modes(start="another"))
    assert len(used(group)) == 2, "one of each start"
    (group,) = grouped(*modes(candidate=None))
    assert used(group) == []


# Many records


def medians_read(sizes: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a group of so many sizes looks at a median to answer for each of its records."""
    texts = [make_record(bytes=n + 1, transport=name) for n in range(sizes) for name in "ab"]
    (group,) = grouped(*texts)
    read = 0
    real = cases._median

    def counting(record: Record, metric: Metric) -> float:
        nonlocal read
        read += 1
        return real(record, metric)

    with monkeypatch.context() as patch:
        patch.setattr(cases, "_median", counting)
        for record in group.records:
            group.standing(record)
            _ = record in group.used
            group.series_number(record)
    return read


def test_the_facts_of_a_group_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work grows with the records, not with their square."""
    assert medians_read(400, monkeypatch) == 4 * medians_read(100, monkeypatch) > 0
