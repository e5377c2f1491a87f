"""The looks of meanings: colors.yaml, and what a picture makes of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import cycle
from typing import Any, TypeVar

import msgspec
from matplotlib.colors import to_rgb

from commlens import knowledge

TEXT_COLOR = "#222222"
QUIET_COLOR = "#666666"
CEILING_COLOR = "#4D4D4D"
PUBLISHED_COLOR = "#7B5EA7"
OTHER_COLOR = "#E2E2E2"  # what is left of a time beside its parts
IDEAL_FACE, IDEAL_EDGE = "#EEEEEE", "#8A8A8A"
CROWDED_COLOR = "#F1F1F1"
# Of profiles, whose bars are of no transport and no part.
MEAN_COLOR, IMBALANCE_COLOR, SIZE_COLOR = "#4477AA", "#EE99AA", "#7F9F7F"

_Key = TypeVar("_Key", bound=Hashable)


class Palettes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The looks of names that have none of their own, by kind."""

    transports: tuple[tuple[str, str], ...]  # color and marker
    parts: tuple[str, ...]
    dashes: tuple[tuple[float, ...], ...]
    marks: tuple[str, ...]
    published: tuple[tuple[str, tuple[float, ...]], ...]  # marker and dashes


class Looks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of colors.yaml: the look of each name, by kind."""

    transports: dict[str, tuple[str, str]]
    parts: dict[str, str]
    dashes: dict[str, tuple[float, ...]]
    marks: dict[str, str]
    published: dict[str, tuple[str, tuple[float, ...]]]
    others: Palettes


def looks(kind: str, keys: Iterable[_Key], name: Callable[[_Key], str] = str) -> dict[_Key, Any]:
    """The look of each key, which is that of its name in all pictures."""
    ordered = list(dict.fromkeys(keys))
    table = knowledge.load("colors", Looks)
    fixed, palette = getattr(table, kind), getattr(table.others, kind)
    chosen: dict[_Key, Any] = {}
    for key in ordered:
        look = fixed.get(name(key))
        if look is not None and look not in chosen.values():
            chosen[key] = look
    free = cycle([look for look in palette if look not in chosen.values()] or palette)
    return {key: chosen[key] if key in chosen else next(free) for key in ordered}


def color_of_text_on(color: str) -> str:
    """A color of text that is readable on it."""
    red, green, blue = to_rgb(color)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else TEXT_COLOR
