import pytest

from commlens.text import (
    figure_label,
    figure_unit,
    format_bytes,
    format_count,
    format_figure,
    format_number,
    format_percent,
    library_name,
    readable_figure,
)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (1, "1 B"),
        (1000, "1 kB"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1024_000, "1000 KiB"),
        (4 << 20, "4 MiB"),
        (80_000_000, "80 MB"),
        (80_000_008, "76.3 MiB"),
        (0.5, "0.5 B"),
    ],
)
def test_sizes_are_in_the_unit_in_which_they_are_whole(size: int, text: str) -> None:
    assert format_bytes(size) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.012344, "0.01234"),
        (12.3456, "12.35"),
        (999.96, "1000"),
        (1234567, "1,234,567"),
        (1.5e-7, "1.5e-07"),
    ],
)
def test_numbers_have_four_digits(value: float, text: str) -> None:
    assert format_number(value) == text


def test_a_count_is_a_number_without_a_unit() -> None:
    assert [format_count(count) for count in (0, 732, 2928, 400_000)] == ["0", "732", "2928", "400,000"]


def test_a_fraction_is_a_percentage() -> None:
    assert [format_percent(fraction) for fraction in (1, 0.934, 0.0325, 5.51)] == ["100%", "93%", "3.2%", "551%"]
    assert format_figure("overlap_efficiency", 0.934) == "93%"
    assert format_figure("time_s", 0.934) == "0.9340"


def test_the_unit_is_the_end_of_a_figures_name() -> None:
    assert figure_label("bus_bandwidth_GBps") == "bus bandwidth (GB/s)"
    assert figure_label("latency_us") == "latency (µs)"
    assert figure_label("message_rate_per_s") == "message rate per second"
    assert figure_label("imbalance") == "imbalance"
    assert figure_unit("batch_time_s") == "s"
    assert figure_label("rank_TFLOPs") == "rank (TFLOP/s)"
    assert figure_unit("gemm_TFLOPs") == "TFLOP/s"


def test_a_long_time_is_shown_in_a_larger_unit() -> None:
    assert readable_figure("time_us", 999) == ("time_us", 1)
    assert readable_figure("time_us", 105_668) == ("time_ms", 1e-3)
    assert readable_figure("time_us", 2e6) == ("time_s", 1e-6)
    assert readable_figure("bandwidth_GBps", 1e9) == ("bandwidth_GBps", 1)


def test_a_short_time_is_shown_in_a_smaller_unit() -> None:
    assert readable_figure("time_s", 1.0) == ("time_s", 1)
    assert readable_figure("time_s", 0.88) == ("time_ms", 1e3)
    name, factor = readable_figure("time_s", 8.8e-4)
    assert name == "time_us" and factor == pytest.approx(1e6)
    assert readable_figure("time_us", 0.02) == ("time_us", 1)
    assert readable_figure("message_rate_per_s", 0.02) == ("message_rate_per_s", 1)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("Open MPI v5.0.7, package: Open MPI root@node Distribution, ident: 5.0.7", "Open MPI 5.0.7"),
        ("MPICH Version:      5.0.2\nMPICH Release date: today", "MPICH 5.0.2"),
        ("MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)", "Cray MPICH 8.1.28.15"),
        ("Intel(R) MPI Library 2021.10 for Linux* OS", "Intel MPI 2021.10"),
        ("Some MPI, of some day", "Some MPI"),
        ("", "an unknown MPI"),
    ],
)
def test_a_library_is_known_by_its_name_and_number(version: str, name: str) -> None:
    assert library_name(version) == name
