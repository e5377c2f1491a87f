"""The head of a picture: the machine, and under it what all panels have in common."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from commlens.base.text import format_days, memory_name, plural
from commlens.model import Group, Record, Start, launches_of
from commlens.render.plots.colors import QUIET_COLOR
from commlens.render.plots.style import MARGIN_INCHES, SMALL_LETTER_INCHES, wrapped

_MAX_NAMES = 2
_SPACE = "\N{NO-BREAK SPACE}"
_LETTER_INCHES = 0.118
_LINE_INCHES, _DETAIL_INCHES = 0.2, 0.155
_GAP_INCHES = 0.11  # below the head


@dataclass(frozen=True)
class Head:
    """The lines above all panels."""

    title: list[str]  # lines
    details: list[str]

    @classmethod
    def of(cls, records: Sequence[Record], groups: Sequence[Group], width: float) -> Head:
        """In a picture of `width` inches."""
        return cls.of_texts(_title(records), _details(records, groups), width)

    @classmethod
    def of_texts(cls, title: Sequence[str], details: Sequence[str], width: float) -> Head:
        """The pieces of the title stay whole; each detail begins a line."""
        room = width - 2 * MARGIN_INCHES
        whole = [piece.replace(" ", _SPACE) for piece in title]
        text = f"{_SPACE}{_SPACE}·  ".join(whole)
        lines = textwrap.wrap(text, int(room / _LETTER_INCHES), break_on_hyphens=False)
        characters = int(room / SMALL_LETTER_INCHES)
        return cls(
            [line.replace(_SPACE, " ") for line in lines],
            [line for text in details for line in wrapped(text, characters)],
        )

    @property
    def height(self) -> float:
        """In inches."""
        lines = _LINE_INCHES * len(self.title) + _DETAIL_INCHES * len(self.details)
        return MARGIN_INCHES + lines + _GAP_INCHES

    def write(self, figure: Figure) -> None:
        """Writes it into the upper left corner."""
        width, height = figure.get_size_inches()
        left, top = MARGIN_INCHES / width, 1 - MARGIN_INCHES / height
        figure.text(left, top, "\n".join(self.title), va="top", fontsize=12, fontweight="bold")
        below = top - (_LINE_INCHES * len(self.title) + 0.03) / height
        text = "\n".join(self.details)
        figure.text(left, below, text, va="top", fontsize=8, color=QUIET_COLOR)


def _title(records: Sequence[Record]) -> list[str]:
    """Host, GPU, ranks and MPI, as far as the records agree on them."""
    launches, ranks = _launches(records), sorted({record.ranks for record in records})
    parts = [
        _joined(
            start.host if start.nodes == 1 else f"{start.nodes} nodes ({start.host} first)"
            for start in launches
        ),
        _joined(start.gpu for start in launches if start.gpu),
        f"{ranks[0]:,} to {ranks[-1]:,} ranks"
        if len(ranks) > _MAX_NAMES
        else " and ".join(plural(count, "rank") for count in ranks),
        _joined(start.mpi for start in launches),
    ]
    return [part for part in parts if part]


def _launches(records: Sequence[Record]) -> list[Start]:
    return list({id(record.start): record.start for record in records}.values())


def _joined(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return " and ".join(distinct) if len(distinct) <= _MAX_NAMES else f"{len(distinct)} machines"


def _launches_of_each(records: Sequence[Record]) -> str:
    """What curves and bars show, and what is around them."""
    counts = sorted({len(launches_of(record)) for record in records})
    if counts == [1]:
        return "one launch (median, 95% interval)"
    which = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{which} launches (median, range of their medians)"


def _details(records: Sequence[Record], groups: Sequence[Group]) -> list[str]:
    """The day, the memory and the settings of all, and what was asked of each benchmark."""
    launches = _launches(records)
    memories = {record.memory for record in records}
    words = [format_days(start.time for start in launches)]
    if len(memories) == 1:
        words.append(f"{memory_name(*memories)} memory")
    settings = [start.settings_of_transport for start in launches]
    words += [
        f"{name}={value}"
        for name, value in settings[0].items()
        if all(other.get(name) == value for other in settings)
    ]
    words.append(_launches_of_each(records))
    by_benchmark: dict[str, list[Group]] = {}
    for group in groups:
        by_benchmark.setdefault(group.benchmark, []).append(group)
    asked = {name: _given(members) for name, members in by_benchmark.items()}
    return [", ".join(words), *(f"{name}: {text}" for name, text in asked.items() if text)]


def _given(groups: Sequence[Group]) -> str:
    """What groups of one benchmark have in common, as it was asked for: `dofs 400000, order 7`.

    A setting that all have in common and that nobody gave is a default, which is not said.
    """
    commands = [start.command for group in groups for start in group.launches]
    options = {word.partition("=")[0] for command in commands for word in command}
    first = groups[0]
    words = [
        f"{name} {value}"
        for name, value in first.settings.items()
        if not options.isdisjoint((f"--{name}", f"--no-{name}"))
        and all(group.settings.get(name) == value for group in groups)
    ]
    if "--timing" in options and len({group.timing for group in groups}) == 1:
        words.append(f"timing {first.timing}")
    return ", ".join(words)
