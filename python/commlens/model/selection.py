"""What communication libraries tell of what they have selected: the names in the `selection` of a
record."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

import msgspec

from commlens import knowledge


class Selected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the names."""

    name: str
    library: str
    meaning: str
    source: str  # how the library tells it


@cache
def selected_names() -> list[Selected]:
    """All of them, in the order in which they are shown."""
    return knowledge.load("libraries/selection", list[Selected])


def selection_names(told: Iterable[Collection[str]]) -> list[str]:
    """Those that are in any of the selections, in that order."""
    present = {name for names in told for name in names}
    names = dict.fromkeys(entry.name for entry in selected_names())
    known = [name for name in names if name in present]
    return [*known, *sorted(present.difference(known))]
