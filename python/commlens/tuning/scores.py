"""What a launch has measured, and how good that is: the score by which settings are compared."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import NamedTuple

from commlens.base.text import format_bytes, format_count, memory_name
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
    def text(self) -> str:
        """`mpi, 64 KiB`"""
        words = [self.transport, self.size_text]
        return ", ".join(filter(None, words))

    @property
    def size_text(self) -> str:
        """The size with its unit; empty without one."""
        if self.size is None:
            return ""
        return format_bytes(self.size) if self.in_bytes else format_count(self.size)

    @property
    def where(self) -> str:
        """The kind of memory, in words."""
        return memory_name(self.memory)


class SlotValue(NamedTuple):
    """The main metric of a slot, with its interval over samples, and its ceiling."""

    median: float
    low: float | None
    high: float | None
    ceiling: float | None = None

    def at_best(self, metric: Metric) -> float:
        """The better end of its interval, which a disturbed launch does not move as far."""
        end = self.low if metric.better == "lower" else self.high
        return self.median if end is None else end


@dataclass(frozen=True)
class SlotValues:
    """The values of one launch by slot, in the unit of the metric."""

    by_slot: Mapping[Slot, SlotValue]
    metric: Metric | None = None


class Slots:
    """Slots of records; `tuned` are the options that settings change."""

    def __init__(self, tuned: Collection[str]) -> None:
        self._tuned = tuned

    def key_of(self, record: Record) -> CaseKey:
        """The key of a case without what is tuned."""
        key = case_key(record)
        declared = record.start.parameters
        kept = tuple(one for one in key.parameters if declared[one[0]].option not in self._tuned)
        return key._replace(parameters=kept)

    def slot_of(self, record: Record) -> Slot:
        """The slot of a record."""
        key, size = self.key_of(record), record.size_parameter
        if size is not None and size.option in self._tuned:
            size = None
        kept = tuple(one for one in key.parameters if size is None or one[0] != size.name)
        return Slot(
            record.transport,
            record.memory,
            kept,
            record.size if size else None,
            size is not None and size.unit == BYTES,
        )

    def values(self, records: Iterable[Record]) -> SlotValues:
        """Of several records of a slot, as where a benchmark tries several ways, the best."""
        found: dict[Slot, SlotValue] = {}
        metric: Metric | None = None
        for record in records:
            main = record.main
            if not record.measured or main is None or (metric and main.name != metric.name):
                continue
            metric = metric or main
            slot, value = self.slot_of(record), _figure(record, main)
            if slot not in found or main.is_better(value.median, found[slot].median):
                found[slot] = value
        return SlotValues(found, metric)


def _figure(record: Record, metric: Metric) -> SlotValue:
    own, ceiling = record.statistics[metric.name], record.ceiling
    reached = ceiling.metrics.get(metric.name) if ceiling else None
    return SlotValue(own.median, own.ci_low, own.ci_high, reached)


@dataclass(frozen=True)
class Target:
    """What is tuned for: one transport, at all sizes or at a range of them."""

    transport: str
    sizes: str = ""  # a range of them
    slots: tuple[Slot, ...] = ()

    @property
    def name(self) -> str:
        """The transport, and the range of sizes if there is one."""
        return ", ".join(filter(None, (self.transport, self.sizes)))


def targets(slots: Sequence[Slot], transports: Sequence[str], *, by_size: bool) -> list[Target]:
    """A target for each transport, or for each of its ranges of sizes."""
    found = []
    for transport in transports:
        own = [slot for slot in slots if slot.transport == transport]
        for sizes in _ranges(own) if by_size else [""]:
            members = [slot for slot in own if not sizes or _range_of(slot) == sizes]
            if members:
                found.append(Target(transport, sizes, tuple(members)))
    return found


def _ranges(slots: Iterable[Slot]) -> list[str]:
    order = [*(name for _, name in _RANGES), _OTHER_SIZE]
    return sorted({_range_of(slot) for slot in slots}, key=order.index)


def _range_of(slot: Slot) -> str:
    if slot.size is None or not slot.in_bytes:
        return _OTHER_SIZE
    return next(name for most, name in _RANGES if slot.size <= most)


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
        metric = next((one.metric for one in several if one.metric), None)
        if metric is None:
            return None
        values: dict[Slot, list[float]] = {}
        ceilings: dict[Slot, float] = {}
        for one in several:
            for slot, value in one.by_slot.items():
                values.setdefault(slot, []).append(value.median)
                if value.ceiling is not None:
                    ceilings.setdefault(slot, value.ceiling)
        medians = {slot: median(own) for slot, own in values.items()}
        return cls(metric, medians, ceilings, is_default)

    def ratio(self, slot: Slot, value: float) -> float:
        """How many times worse the value is."""
        return self.metric.ratio(value, self.medians[slot])

    def score(self, values: SlotValues, slots: Sequence[Slot]) -> float | None:
        """The geometric mean of the ratios at all of these; None where one was not measured."""
        ratios = [
            self.ratio(slot, values.by_slot[slot].median)
            for slot in slots
            if slot in values.by_slot and slot in self.medians
        ]
        if not slots or len(ratios) < len(slots) or not all(0 < one < math.inf for one in ratios):
            return None
        return geometric_mean(ratios)

    def of_ceiling(self, slot: Slot, value: float) -> float | None:
        """The share of the ceiling that is reached."""
        ceiling = self.ceilings.get(slot)
        if ceiling is None or not value:
            return None
        share = 1 / self.metric.ratio(value, ceiling)
        return share if math.isfinite(share) else None
