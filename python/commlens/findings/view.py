"""What rules look at: records by what can be compared, profiles, and machines.

What was measured amid the work of others says little of anything else, and is left out of
comparisons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, NamedTuple, Optional, TypeVar

from commlens.base.text import enumerated, memory_name, plural
from commlens.findings.finding import NEAR, Cost, Evidence
from commlens.model import TIME_METRIC, Group, Record, Start, difference, groups
from commlens.model.interference import why_busy
from commlens.model.profile import Function, Profile
from commlens.model.start import count_numbers, ranges_of


@cache
def is_on_gpu(memory: str) -> bool:
    """Whether a side of it is in memory that a GPU computes on."""
    return bool({"device", "managed"} & set(memory.split(":")))


def is_disturbed(record: Record) -> bool:
    """Whether ranks took turns on a processor or on a GPU."""
    places = record.start.placement
    gpus = [(place.host, place.device.uuid) for place in places if place.device]
    return bool(crowds([(place.host, place.cores) for place in places])) or (
        is_on_gpu(record.memory) and len(set(gpus)) < len(gpus)
    )


class Crowd(NamedTuple):
    """Ranks of a host that have fewer processors than they are."""

    host: str
    ranks: int
    processors: int


def crowds(places: Iterable[tuple[str, str]]) -> list[Crowd]:
    """Of hosts and processors of ranks: those hosts where all ranks together are too many, or those
    of one binding. What is unknown of a rank is no evidence."""
    result = []
    for host, placed in grouped(places, lambda place: place[0]).items():
        bindings = [processors for _, processors in placed]
        if not all(bindings):
            continue
        crowd = Crowd(host, len(bindings), count_numbers(bindings))
        if crowd.ranks > crowd.processors:
            result.append(crowd)
            continue
        counts = Counter(bindings).items()
        bound = [Crowd(host, ranks, count_numbers([binding])) for binding, ranks in counts]
        result += [crowd for crowd in bound if crowd.ranks > crowd.processors][:1]
    return result


def has_number(text: str, number: int | None) -> bool:
    """Whether a list as in /proc, such as `0-3,8`, has a number."""
    return number is not None and any(first <= number <= last for first, last in ranges_of(text))


if TYPE_CHECKING:
    from commlens.findings.behaviour import Behaviour
    from commlens.machine.machine import Machine

_IN_A_ROW = 3  # sizes
STEADY = 0.1  # half the width of an interval, of the median
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")
LEAST_SHARE = 0.01  # of the time of a profiled program: what costs less is not worth a change


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """The items by their keys."""
    by_key: dict[_Key, list[_Item]] = {}
    for item in items:
        by_key.setdefault(key(item), []).append(item)
    return by_key


class NotApplicable(Exception):  # noqa: N818, it is no error
    """Raised by a rule on a machine: why it has nothing to look at, such as `there is no GPU`."""


def not_seen(reason: str) -> NotApplicable:
    """Of what cannot be decided here: `ucx_info is not installed`."""
    return NotApplicable(f"cannot be seen: {reason}")


class View:
    """Records and profiles, and of doctor the machines with what short runs on them gave."""

    def __init__(
        self,
        records: Sequence[Record] = (),
        profiles: Sequence[Profile] = (),
        groups: Sequence[Group] | None = None,
        *,
        machines: Sequence[Machine] = (),
        behaviour: Behaviour | None = None,
        nodes: int = 1,
    ) -> None:
        """`machines`: one per node, this node first; `nodes`: how many were asked for.

        The records are those of the short runs where no others are given. Of a program that ran
        too short nothing is said. What was measured while the machine was busy with something else
        is `busy`, and no record of the others: only the rule on busy machines looks at it.
        """
        all_records = records if behaviour is None else records or behaviour.records
        self.busy = [record for record in all_records if record.measured and why_busy(record)]
        disturbed = set(map(id, self.busy))
        self.records = [record for record in all_records if id(record) not in disturbed]
        self.profiles = [profile for profile in profiles if not profile.too_short]
        self.machines, self.behaviour, self.nodes = machines, behaviour, nodes
        self._groups = None if self.busy else groups

    @cached_property
    def groups(self) -> Sequence[Group]:
        """The records by what is shown together."""
        return groups(self.records) if self._groups is None else self._groups

    @cached_property
    def launches(self) -> list[tuple[Start, tuple[Record, ...]]]:
        """Each with its records."""
        by_start = grouped(self.records, lambda record: id(record.start))
        return [(alike[0].start, tuple(alike)) for alike in by_start.values()]

    @cached_property
    def alternatives(self) -> list[Alternatives]:
        """What may be compared of the records that were measured undisturbed."""
        several = (group for group in self.groups if len(group.records) > 1)
        return [entry for group in several for entry in _alternatives(group)]

    @property
    def runs(self) -> Behaviour:
        """How short runs ended. Raises NotApplicable where there were none."""
        if self.behaviour is None or self.behaviour.why_none:
            raise NotApplicable(self.why_no_runs)
        return self.behaviour

    @property
    def why_no_runs(self) -> str:
        """Empty where there were short runs."""
        return "no job was started" if self.behaviour is None else self.behaviour.why_none


# One transport over sizes, and over launches with the same settings: of each size a record per
# launch.
Curve = dict[Optional[int], list[Record]]


@dataclass
class Alternatives:
    """The transports that did the same, in the same memory and variant, on the same cores and GPUs
    and with the same settings of the environment."""

    group: Group
    memory: str
    variant: str
    curves: dict[str, Curve] = field(default_factory=dict)  # by transport

    def where(self, sizes: Sequence[int | None] = ()) -> str:
        """The group, memory, variant and sizes, for a sentence."""
        return where(self.group, self.memory, self.variant, sizes)


def where(group: Group, memory: str, variant: str = "", sizes: Sequence[int | None] = ()) -> str:
    """`latency, 2 ranks, device to host, 64 KiB to 4 MiB`"""
    words = [group.benchmark, plural(group.ranks, "rank"), memory_name(memory), variant]
    whole = [size for size in sizes if size is not None]
    if whole and group.is_sweep:
        least, most = min(whole), max(whole)
        text = group.describe_size(least)
        words.append(text if least == most else f"{text} to {group.format_size(most)}")
    elif whole:
        words.append(group.describe_size(whole[0]))
    return ", ".join(filter(None, words))


def so_in(records: Sequence[Record]) -> str:
    """How many more of them show it, for the end of a sentence: `; so in 4 records`."""
    return f"; so in {plural(len(records), 'record')}" if len(records) > 1 else ""


def text_of(start: Start) -> str:
    """`latency, 2 ranks on node01`"""
    return f"{start.benchmark.name}, {plural(start.ranks, 'rank')} on {start.host}"


def on_gpu_of(records: Iterable[Record]) -> tuple[Record, ...]:
    """Those for which the memory of a GPU was measured."""
    return tuple(record for record in records if is_on_gpu(record.memory))


def transport_name(record: Record) -> str:
    """For a sentence: `MPI`, `staging through host memory`, `NCCL`."""
    names = {"mpi": "MPI", "staged": "staging through host memory"}
    if record.transport == "ccl":
        return record.start.versions.get("ccl", "").partition(" ")[0][:40] or "NCCL or RCCL"
    return names.get(record.transport, record.transport)


def _alternatives(group: Group) -> Iterable[Alternatives]:
    by_key: dict[tuple[object, ...], Alternatives] = {}
    calm: dict[tuple[str, bool], bool] = {}
    for record in group.records:
        start = record.start.start, is_on_gpu(record.memory)
        if start not in calm:
            calm[start] = not is_disturbed(record)
        time = record.statistics.get(TIME_METRIC) if record.measured else None
        if not calm[start] or time is None or time.median <= 0:
            continue
        # Starts that agree in the rest repeat each other: on the same cores and GPUs, too.
        settings = tuple(sorted(record.start.settings_of_transport.items()))
        place = tuple(record.start.placement), record.start.mpi, settings
        key = record.memory, record.variant_value, place
        entry = by_key.setdefault(key, Alternatives(group, record.memory, record.variant_value))
        curve = entry.curves.setdefault(record.transport, {})
        curve.setdefault(record.size, []).append(record)
    return by_key.values()


class Slower(NamedTuple):
    """One record takes longer than another."""

    record: Record
    other: Record
    ratio: float  # of the medians of their times; of sizes, by how much more than expected

    @property
    def cost(self) -> Cost:
        """By how much longer."""
        share = 1 - 1 / self.ratio
        return Cost(median_us(self.record) * 1e-6 * share, share, "operation")


def median_us(record: Record) -> float:
    """The median of the time of the whole operation."""
    return record.statistics[TIME_METRIC].median


def slower(records: Iterable[Record], others: Iterable[Record], factor: float) -> Slower | None:
    """Whether it takes more than `factor` times as long, in each launch that has both.

    The pair that shows it least. None where a launch does not show it, or none has both.
    """
    of_start = {other.start.start: other for other in others}
    both = [(record, of_start.get(record.start.start)) for record in records]
    pairs = [Slower(a, b, median_us(a) / median_us(b)) for a, b in both if b is not None]
    is_shown = all(pair.ratio > factor and differ(pair.record, pair.other) for pair in pairs)
    return min(pairs, key=lambda pair: pair.ratio) if pairs and is_shown else None


def slower_at(
    mine: Curve, theirs: Curve, compare: Callable[[list[Record], list[Record]], Slower | None]
) -> tuple[list[int | None], dict[int | None, Slower]]:
    """The sizes that both have, and those at which `compare` says so, where they are enough."""
    sizes = [size for size in mine if size in theirs]
    pairs = {size: compare(mine[size], theirs[size]) for size in sizes}
    slow = {size: pair for size, pair in pairs.items() if pair}
    return sizes, slow if is_sure(sizes, list(slow)) else {}


def differ(record: Record, other: Record) -> bool:
    """Whether the samples support that the times differ: the one test of all rules."""
    return difference(record, other, record.start.metrics[TIME_METRIC]).differs


def is_steady(record: Record) -> bool:
    """Whether the interval of its time is narrow: where it is not, something else ran there."""
    return record.statistics[TIME_METRIC].half_width <= STEADY


def is_sure(sizes: Sequence[int | None], shown: Collection[int | None]) -> bool:
    """Whether enough of the sizes say so: of a sweep three in a row, as machines were seen to be
    slower for the time of two."""
    if len(sizes) < _IN_A_ROW:
        return bool(shown)
    rows = zip(*(sizes[first:] for first in range(_IN_A_ROW)))
    return any(all(size in shown for size in row) for row in rows)


def is_worth(profile: Profile, seconds: float, limit: float = LEAST_SHARE) -> bool:
    """Whether it costs that share of the run, or is as near to it as another run may be."""
    return seconds > 0 and seconds * NEAR >= limit * profile.wall_s


def cost_of(profile: Profile, seconds: float, limit: float = LEAST_SHARE) -> tuple[Evidence, Cost]:
    """The evidence is the profile."""
    program = profile.program.rpartition("/")[2]
    where = f"profile of {program}, {plural(profile.ranks, 'rank')}"
    share = min(1.0, seconds / profile.wall_s)
    return Evidence(where, profile=profile), Cost(seconds, share, "rank", limit)


def mean_bytes(function: Function) -> float:
    """Of a call."""
    calls = sum(size.calls for size in function.sizes)
    return sum(function.bytes) / calls if calls else 0.0


def calls(functions: Iterable[Function]) -> str:
    """`MPI_Cart_sub 400 and MPI_Comm_split 20 times per rank`"""
    ordered = sorted(functions, key=lambda function: -function.mean_calls)
    counts = [f"{function.name} {function.mean_calls:,.0f}" for function in ordered]
    most = 3
    if len(counts) > most:
        counts[most:] = [f"{len(counts) - most} more"]
    return f"{enumerated(counts)} times per rank"
