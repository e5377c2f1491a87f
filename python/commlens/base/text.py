"""Numbers, sizes and names as people read them: nothing here knows of records or plots.

The native program writes bytes, percentages and numbers alike (`src/base/format.cpp`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))  # in seconds
_EXPONENT_FROM = 1e9
_BLANKS = dict.fromkeys("\t\n\N{NO-BREAK SPACE}", " ")


def format_bytes(size: float) -> str:
    """A number of bytes in binary units, with three digits: `1 B`, `512 KiB`, `76.3 MiB`."""
    unit = 0
    while size >= 1023.5 and unit < len(_BYTES) - 1:
        size /= 1024
        unit += 1
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    number = f"{size:.{decimals}f}"
    return f"{number.rstrip('0').rstrip('.') if decimals else number} {_BYTES[unit]}"


def format_number(value: float) -> str:
    """Four significant digits: 0.01234, 12.34, 1,234,567; an exponent from 1e9 on: 2.828e9."""
    magnitude = abs(value)
    if magnitude >= _EXPONENT_FROM:
        return format_scientific(value, 3)
    if magnitude >= 999.95 or value == 0:
        return f"{value:,.0f}"
    if magnitude < 1e-4:
        return f"{value:.3g}"
    return f"{value:#.4g}"


def format_short(value: float) -> str:
    """Three digits: 2.83G, 412k."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def format_scientific(value: float, decimals: int = 2) -> str:
    """With an exponent: 2.83e9."""
    return f"{value:.{decimals}e}".replace("e+0", "e").replace("e+", "e")


def format_count(count: int) -> str:
    """A number without a unit: 732, 2928, 400,000."""
    return str(count) if abs(count) < 10_000 else f"{count:,}"


def format_percent(fraction: float) -> str:
    """`87%`; below a tenth with two digits, `3.2%`."""
    return f"{100 * fraction:.0f}%" if abs(fraction) >= 0.1 else f"{100 * fraction:.2g}%"


def format_fraction(fraction: float) -> str:
    """Of a ceiling: `87%`; below one percent `< 1%`; never more than 100%."""
    if fraction > 1:
        return "> 100% (ceiling not reached)"
    return "< 1%" if 0 < fraction < 0.01 else format_percent(fraction)


def format_ratio(ratio: float) -> str:
    """`1.40x`, `33x`, `0.018x`."""
    if ratio >= 10:
        return f"{ratio:,.0f}x" if ratio < _EXPONENT_FROM else f"{format_scientific(ratio, 3)}x"
    return f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.2g}x"


def format_value(value: float, unit: str, largest: float = 0) -> str:
    """The number of a metric, without its unit: a percentage where it has none, as a ratio.

    `largest` is the largest of a column: with an exponent there, all of it has one.
    """
    if not unit:
        return format_percent(value)
    if value and max(abs(value), largest) >= _EXPONENT_FROM:
        return format_scientific(value, 3)
    return format_number(value)


def format_fact(value: bool | int | float | str, unit: str = "") -> str:
    """A fact of any type, with its unit: `236,041`, `263 MiB`, `1.5 us`, `yes`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if unit == "B":
        return format_bytes(value)
    is_count = isinstance(value, int) and abs(value) < _EXPONENT_FROM
    text = format_count(int(value)) if is_count else format_number(value)
    return f"{text} {unit}".strip()


def labelled(label: str, unit: str) -> str:
    """For a column or an axis: `bus bandwidth (GB/s)`."""
    return f"{label} ({unit})" if label and unit else label or unit


def readable_time(unit: str, largest: float) -> tuple[str, float]:
    """The unit in which times up to `largest` are read best, and by how much to multiply them.

    What is in no unit of time stays as it is.
    """
    seconds = dict(_TIMES).get(unit)
    if seconds is None or largest <= 0:
        return unit, 1.0
    reached = (time for time in _TIMES if largest * seconds >= time[1] * (1 - 1e-9))
    best, size = next(reached, _TIMES[-1])
    return best, seconds / size


def format_time(seconds: float) -> str:
    """`12.3 ms`"""
    unit, factor = readable_time("s", seconds)
    return f"{format_number(factor * seconds)} {unit}"


def format_days(times: Iterable[str]) -> str:
    """The days of times such as `2026-11-21T21:16:53Z`: the first `to` the last."""
    days = sorted({time[:10] for time in times})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""


def memory_name(memory: str) -> str:
    """`device:host` is `device to host`."""
    return memory.replace(":", " to ")


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,8`"""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in spans)


def enumerated(words: Sequence[str], last: str = "and") -> str:
    """`one`, `one and two`, `one, two and three`"""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 record`, `3 records`, `2 launches`."""
    ending = "es" if noun.endswith("ch") else "s"
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{ending}"


def whole_number(text: str | None) -> int | None:
    """The number that the text is, from 0; None for any other text. Python refuses to read
    thousands of digits."""
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) <= 18
    return int(text) if text and is_number else None


def shown(value: object, most: int = 200) -> str:
    """What the user wrote, in a message: in quotes where it is empty or has blanks, which nobody
    sees otherwise."""
    text = str(value)
    quote = "'" if not text or any(map(str.isspace, text)) else ""
    return f"{quote}{text[:most]}{'...' if len(text) > most else ''}{quote}"


def printable(text: str) -> str:
    """In one line, and without what could steer a terminal: a text may come from anywhere."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _BLANKS.get(char, "?") for char in text)


def printable_lines(text: str) -> str:
    """The same of several lines."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))
