"""Values to try beside a default: the other choices, or some orders of magnitude away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MOST_CHOICES = 7
_UNLIMITED = 2**31 - 1
_QUANTITY = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[A-Za-z/]*)")
_SWITCH = re.compile(r"(^|_)(use|enable|disable|support|force|reuse)(_|$)")
_SIZE = re.compile(r"limit|size|thresh|length|cutoff|frag|msg|segment|memcpy|offset")


def others(choices: Iterable[str], default: str) -> list[str]:
    """The choices beside the default."""
    return [one for one in choices if one.lower() != default.lower()][:MOST_CHOICES]


def around(quantity: str, factor: float) -> list[str]:
    """`64K` with 8: `8K` and `512K`; empty where it is no quantity."""
    found = _QUANTITY.fullmatch(quantity)
    if found is None or float(found["number"]) == 0:
        return []
    number, unit = float(found["number"]), found["unit"]
    values = [number / factor, number * factor]
    texts = [_number(value, whole="." not in found["number"]) for value in values]
    return [f"{text}{unit}" for text in dict.fromkeys(texts) if text != found["number"]]


def _number(value: float, *, whole: bool) -> str:
    return f"{max(1, round(value))}" if whole else f"{value:g}"


def of_number(name: str, default: str) -> Sequence[str]:
    """For a number without a unit, of which the name says what it is."""
    try:
        number = int(default)
    except ValueError:
        return []
    if name.endswith("_priority"):
        return [text for text in ("100", "0") if int(text) != number]
    if number in (0, 1) and _SWITCH.search(name):
        return [str(1 - number)]
    if _SIZE.search(name):
        if number <= 0 or number >= _UNLIMITED:
            return ["4096", "262144"]
        return around(default, 8)
    return around(default, 4) if 1 < number < _UNLIMITED else []
