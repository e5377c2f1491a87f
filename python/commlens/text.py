"""Numbers, sizes and names as people read them. Plain functions: nothing here knows of records, tables or pictures."""

from __future__ import annotations

import re

_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_DECIMAL_UNITS = ("kB", "MB", "GB", "TB")

# The unit is the end of a figure's name. Longest first, so that `_per_s` is not read as seconds.
_FIGURE_UNITS = (
    ("TFLOPs", "TFLOP/s"),
    ("GFLOPs", "GFLOP/s"),
    ("Mflops", "Mflop/s"),
    ("DOF_iter_per_s", "DOF·iter/s"),
    ("per_s", "1/s"),
    ("GBps", "GB/s"),
    ("MBps", "MB/s"),
    ("us", "µs"),
    ("ms", "ms"),
    ("s", "s"),
)

_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))  # in seconds

# MPI_Get_library_version is free text: some libraries answer with a line, some with a page.
_LIBRARIES = (
    (re.compile(r"Open MPI v?([\w.]+)"), "Open MPI"),
    (re.compile(r"CRAY MPICH version ([\w.]+)", re.IGNORECASE), "Cray MPICH"),
    (re.compile(r"MVAPICH\S*\s+Version\s*:\s*([\w.]+)", re.IGNORECASE), "MVAPICH"),
    (re.compile(r"MPICH\s+(?:Version\s*:)?\s*v?(\d[\w.]*)", re.IGNORECASE), "MPICH"),
    (re.compile(r"Intel\(R\) MPI Library\s+([\w.]+)"), "Intel MPI"),
    (re.compile(r"Spectrum MPI v?([\w.]+)"), "Spectrum MPI"),
)


def format_bytes(size: float) -> str:
    """`size` bytes as people write them: 1 B, 64 MiB, 80 MB; `1.5 KiB` where it is whole in no unit."""
    for power, name in enumerate(_DECIMAL_UNITS, start=1):
        if size % 1000**power == 0 and 1 <= size / 1000**power < 1000:
            return f"{size / 1000**power:.0f} {name}"
    unit = 0
    while size >= 1024 and unit < len(_BINARY_UNITS) - 1:
        size /= 1024
        unit += 1
    number = f"{size:.0f}" if size == int(size) else f"{size:.3g}"
    return f"{number} {_BINARY_UNITS[unit]}"


def format_number(value: float) -> str:
    """Four significant digits, thousands separated: 0.01234, 12.34, 1,234,567; an exponent from 1e9 on: 2.828e9."""
    magnitude = abs(value)
    if magnitude >= 1e9:
        return _with_exponent(value)
    if magnitude >= 1000 or value == 0:
        return f"{value:,.0f}"
    if magnitude < 1e-4:
        return f"{value:.3g}"
    return f"{value:#.4g}".rstrip(".")


def _with_exponent(value: float) -> str:
    return f"{value:.3e}".replace("e+", "e").replace("e0", "e")


def format_short(value: float) -> str:
    """Three digits: 2.83G, 412k."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def format_count(count: int) -> str:
    """A number without a unit: 732, 2928, 400,000."""
    return str(count) if abs(count) < 10_000 else f"{count:,}"


def format_percent(fraction: float) -> str:
    """`87%`; below a tenth with two digits, `3.2%`."""
    return f"{100 * fraction:.0f}%" if fraction >= 0.1 else f"{100 * fraction:.2g}%"


def format_figure(name: str, value: float) -> str:
    """A figure's number for a column that `figure_label` heads: a percentage for an efficiency, 2.828e9 of a solver."""
    if name.endswith("DOF_iter_per_s") and value:
        return _with_exponent(value)  # also a small one, so that a column can be compared
    return format_percent(value) if name.endswith("_efficiency") else format_number(value)


def figure_unit(name: str) -> str:
    """The unit of a figure: GB/s for `bandwidth_GBps`, empty for a name that ends in none."""
    return next((unit for suffix, unit in _FIGURE_UNITS if f"_{name}".endswith("_" + suffix)), "")


def readable_figure(name: str, largest: float) -> tuple[str, float]:
    """A time under its name in the unit that suits the largest value, and the factor; other figures as they are."""
    unit = next((unit for unit, _ in _TIMES if name.endswith("_" + unit) and not name.endswith("_per_" + unit)), None)
    if unit is None or largest <= 0:
        return name, 1.0
    seconds = dict(_TIMES)[unit]
    best, size = next((time for time in _TIMES if largest * seconds >= time[1] * (1 - 1e-9)), _TIMES[-1])
    return name.removesuffix(unit) + best, seconds / size


def figure_label(name: str) -> str:
    """A figure's name for a column or an axis: `bus_bandwidth_GBps` is `bus bandwidth (GB/s)`."""
    for suffix, unit in _FIGURE_UNITS:
        if f"_{name}".endswith("_" + suffix):
            quantity = f"_{name}".removesuffix("_" + suffix).replace("_", " ").strip()
            if not quantity:
                return unit
            return f"{quantity} per second" if suffix == "per_s" else f"{quantity} ({unit})"
    return name.replace("_", " ")


def library_name(version: str) -> str:
    """The name and number in what an MPI library says of itself: `Open MPI 5.0.7`; its first words if it is unknown."""
    for pattern, name in _LIBRARIES:
        match = pattern.search(version)
        if match:
            return f"{name} {match[1]}"
    return version.strip().splitlines()[0].split(",")[0][:40] if version.strip() else "an unknown MPI"


def memory_name(memory: str) -> str:
    """`device:host` is `device to host`."""
    return memory.replace(":", " to ")


def plural(count: int, noun: str) -> str:
    """`1 record`, `3 records`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
