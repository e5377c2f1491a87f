"""What a launch has measured, and how good that is: the score by which settings are compared."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import NamedTuple

from commlens.base.text import format_bytes, format_count
from commlens.model import CaseKey, Metric, Record, case_key
from commlens.model.record import BYTES

_RANGES = ((8 * 1024, "up to 8 KiB"), (512 * 1024, "to 512 KiB"), (math.inf, "above 512 KiB"))
_OTHER_SIZE = "all sizes"


class Slot(NamedTuple):
    """What is measured again with each setting. What is tuned is no part of it."""

    transport: str
    memory: str
    parameters: tuple[tuple[str, str], ...]
    size: int | None
    in_bytes: bool

    @property
    def size_text(self) -> str:
        """The size with its unit; empty without one."""
        if self.size is None:
            return ""
        return format_bytes(self.size) if self.in_bytes else format_count(self.size)


class SlotValue(NamedTuple):
    """The main metric of a slot, with its interval over samples, and its ceiling."""

    metric: Metric
    median: float
    low: float | None
    high: float | None
    ceiling: float | None

    @property
    def at_best(self) -> float:
        """The better end of its interval, which a disturbed launch does not move as far."""
        end = self.low if self.metric.better == "lower" else self.high
        return self.median if end is None else end


SlotValues = Mapping[Slot, SlotValue]  # of one launch


class Slots:
    """Slots of records; `tuned` are the options that settings change."""

    def __init__(self, tuned: Collection[str] = ()) -> None:
        self._tuned = tuned

    def key_of(self, record: Record) -> CaseKey:
        """The key of a case without what is tuned."""
        key = case_key(record)
        declared = record.start.parameters
        kept = tuple(pair for pair in key.parameters if declared[pair[0]].option not in self._tuned)
        return key._replace(parameters=kept)

    def slot_of(self, record: Record) -> Slot:
        """The slot of a record."""
        size = record.size_parameter
        if size is not None and size.option in self._tuned:
            size = None
        name, in_bytes = (size.name, size.unit == BYTES) if size else (None, False)
        kept = tuple(pair for pair in self.key_of(record).parameters if pair[0] != name)
        number = record.size if size else None
        return Slot(record.transport, record.memory, kept, number, in_bytes)

    def values(self, records: Iterable[Record]) -> dict[Slot, SlotValue]:
        """Of several records of a slot, as where a benchmark tries several ways, the best."""
        by_slot: dict[Slot, SlotValue] = {}
        name = ""
        for record in records:
            main = record.main
            if not record.measured or main is None or main.name != (name := name or main.name):
                continue
            slot, statistic, ceiling = (
                self.slot_of(record),
                record.statistics[name],
                record.valid_ceiling,
            )
            if slot not in by_slot or main.is_better(statistic.median, by_slot[slot].median):
                reached = ceiling.metrics.get(name) if ceiling else None
                by_slot[slot] = SlotValue(
                    main, statistic.median, statistic.ci_low, statistic.ci_high, reached
                )
        return by_slot


@dataclass(frozen=True)
class Target:
    """What is tuned for: one transport, at all sizes or at a range of them."""

    transport: str
    sizes: str  # a range of them, or empty
    slots: tuple[Slot, ...]

    @property
    def name(self) -> str:
        """The transport, and the range of sizes if there is one."""
        return ", ".join(filter(None, (self.transport, self.sizes)))


def targets(slots: Iterable[Slot], transports: Sequence[str], *, by_size: bool) -> list[Target]:
    """A target for each transport, or for each of its ranges of sizes."""
    order = ["", *(name for _, name in _RANGES), _OTHER_SIZE]
    by_target: dict[tuple[int, int], list[Slot]] = {}
    for slot in slots:
        if slot.transport in transports:
            size_range = _OTHER_SIZE if by_size else ""
            if by_size and slot.size is not None and slot.in_bytes:
                size_range = next(name for most, name in _RANGES if slot.size <= most)
            place = transports.index(slot.transport), order.index(size_range)
            by_target.setdefault(place, []).append(slot)
    return [
        Target(transports[transport], order[sizes], tuple(members))
        for (transport, sizes), members in sorted(by_target.items())
    ]


@dataclass
class Reference:
    """What scores are relative to: the default, or where that fails what was measured first."""

    metric: Metric
    medians: dict[Slot, float]
    ceilings: dict[Slot, float]
    is_default: bool

    @classmethod
    def of(cls, several: Sequence[SlotValues], *, is_default: bool) -> Reference | None:
        """The medians over some launches of the same choice; None where none measured anything."""
        values: dict[Slot, list[SlotValue]] = {}
        for slot, value in (item for launch in several for item in launch.items()):
            values.setdefault(slot, []).append(value)
        if not values:
            return None
        medians = {slot: median(value.median for value in runs) for slot, runs in values.items()}
        known = ((slot, value.ceiling) for slot, runs in values.items() for value in reversed(runs))
        ceilings = {slot: ceiling for slot, ceiling in known if ceiling is not None}
        return cls(next(iter(values.values()))[0].metric, medians, ceilings, is_default)

    def ratio(self, slot: Slot, value: float) -> float:
        """How many times worse the value is."""
        return self.metric.ratio(value, self.medians[slot])

    def score(self, values: SlotValues, slots: Sequence[Slot]) -> float | None:
        """The geometric mean of the ratios at all of these; None where one was not measured."""
        if not slots or not all(slot in values and slot in self.medians for slot in slots):
            return None
        ratios = [self.ratio(slot, values[slot].median) for slot in slots]
        return geometric_mean(ratios) if all(0 < ratio < math.inf for ratio in ratios) else None

    def of_ceiling(self, slot: Slot, value: float) -> float | None:
        """The share of the ceiling that is reached."""
        ceiling = self.ceilings.get(slot)
        if ceiling is None or not value:
            return None
        share = 1 / self.metric.ratio(value, ceiling)
        return share if math.isfinite(share) else None
