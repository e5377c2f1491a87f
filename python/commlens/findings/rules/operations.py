"""What programs and operations do: messages, communicators, overlap, results."""

from __future__ import annotations

import re

from commlens.base.text import format_bytes, format_percent, format_time
from commlens.findings.finding import Cost, Evidence
from commlens.findings.rule import Observation, Seen, observation
from commlens.findings.view import (
    LEAST_SHARE,
    View,
    calls,
    cost_of,
    grouped,
    is_disturbed,
    is_worth,
    mean_bytes,
    so_in,
    transport_name,
    where,
)
from commlens.model import Group, Record, groups
from commlens.model.profile import FINALIZED, Function, Profile, imbalance_of, mean
from commlens.model.record import is_noise
from commlens.model.reroute import REROUTABLE

_SENDS = re.compile(r"MPI_I?[bsr]?send(recv(_replace)?)?(_c)?", re.IGNORECASE)
# Those whose data is the same whatever the number of ranks, so that calls can be combined.
_COMBINES = re.compile(r"MPI_(Allreduce|Reduce|Bcast|Allgather|Gather|Scan|Exscan)(_c)?")
_MAKES_COMMUNICATORS = re.compile(
    r"MPI_(Comm_(i?dup(_with_info)?|split(_type)?|create(_group)?|free)|Cart_(create|sub)"
    r"|(Dist_g|G)raph_create(_adjacent)?|Intercomm_(create|merge))"
)
_FLUSHES = re.compile(r"MPI_Win_(flush(_local)?(_all)?|unlock(_all)?)")
_POLLS = re.compile(r"MPI_(Im?probe|Test(all|any|some)?|Request_get_status)")
_RECEIVES = re.compile(r"MPI_(I?m?recv|Recv_init|I?sendrecv(_replace)?)(_c)?", re.IGNORECASE)
_REROUTED = {f"mpi_{name}" for name in REROUTABLE.functions}
_FREE = "MPI_Comm_free"
_TRIM, _MMAP = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_"
_PART = "communicators"  # of an operation that times making them
_LONGEST = 300  # characters of a message


def uneven_work(view: View, share: float) -> Seen:
    for profile in [profile for profile in view.profiles if profile.outside_s]:
        outside = imbalance_of(profile.outside_s)
        most = max(profile.outside_s)
        index = profile.outside_s.index(most)
        # How much longer than the others it waited for a processor, which is not work.
        queued = max(0.0, profile.queued_s[index] - mean(profile.queued_s))
        cost = min(outside.imbalance_s - queued, mean(profile.mpi_s))
        if is_worth(profile, cost, share):
            rank = profile.placement[index].rank
            yield observation(
                *cost_of(profile, cost, share), rank=rank, most=most, mean=outside.mean_s
            )


def many_small_messages(view: View, many: int, small: int) -> Seen:
    """`many` per rank of less than `small` bytes."""
    for profile in view.profiles:
        sends = [call for call in profile.communicating if _SENDS.fullmatch(call.name)]
        short = [call for call in sends if sum(call.bytes) and mean_bytes(call) < small]
        cost = sum(_without_waiting_s(profile, call) for call in short)
        number = sum(call.mean_calls for call in short)
        if number >= many and is_worth(profile, cost):
            size = round(mean([mean_bytes(call) for call in short]))
            yield observation(*cost_of(profile, cost), calls=calls(short), size=size)


def tiny_collectives(view: View, many: int, tiny: int, hint: str) -> Seen:
    """`many` per rank with up to `tiny` bytes; `hint` where waiting was not measured."""
    for profile in view.profiles:
        combined = [call for call in profile.communicating if _COMBINES.fullmatch(call.name)]
        looped = [call for call in combined if call.mean_calls >= many and mean_bytes(call) <= tiny]
        waiting = sum(mean(call.waiting_s) for call in looped)
        cost = sum(_without_waiting_s(profile, call) for call in looped)
        if looped and is_worth(profile, cost):
            yield observation(
                *cost_of(profile, cost),
                calls=calls(looped),
                hint="" if waiting else hint,
                sizes=[format_bytes(round(mean_bytes(call))) for call in looped],
            )


def many_flushes(view: View, many: int, little: int) -> Seen:
    """`many` per rank, with less than `little` bytes transferred before each."""
    for profile in view.profiles:
        flushes = [call for call in profile.communicating if _FLUSHES.fullmatch(call.name)]
        count = sum(sum(flush.calls) for flush in flushes)
        transferred = sum(sum(call.bytes) for call in profile.functions if call.group == "RMA")
        cost = mean(profile.in_functions(flushes))
        is_many = count >= many * len(profile.placement)
        if is_many and transferred < little * count and is_worth(profile, cost):
            size = round(transferred / count)
            yield observation(*cost_of(profile, cost), calls=calls(flushes), size=size)


def many_polls(view: View, many: int, futile: int) -> Seen:
    """`many` per rank, of which most tell that nothing has happened."""
    for profile in view.profiles:
        polls = [call for call in profile.communicating if _POLLS.fullmatch(call.name)]
        count = sum(poll.mean_calls for poll in polls)
        received = [call for call in profile.functions if _RECEIVES.fullmatch(call.name)]
        each = count / max(1.0, sum(call.mean_calls for call in received))
        cost = mean(profile.in_functions(polls))
        if count >= many and each >= futile and is_worth(profile, cost):
            yield observation(
                *cost_of(profile, cost), calls=calls(polls), per_message=f"{each:,.0f}"
            )


def _without_waiting_s(profile: Profile, function: Function) -> float:
    """Of the calls that have ended, mean over ranks. Where waiting was not measured, no call costs
    more than those of the rank that waited least."""
    counts, times_s = list(function.calls), list(function.time_s)
    for index, place in enumerate(profile.placement):
        if place.ending != FINALIZED and function.name in place.inside.split(", "):
            counts[index] -= 1
            times_s[index] -= min(times_s[index], function.max_s[index])
    if any(function.waiting_s):
        return mean([max(0.0, time - wait) for time, wait in zip(times_s, function.waiting_s)])
    fastest = min((time / count for time, count in zip(times_s, counts) if count > 0), default=0.0)
    return fastest * mean(counts)


def device_collectives_through_mpi(view: View, large: int) -> Seen:
    """Of `large` bytes or more."""
    for profile in [profile for profile in view.profiles if profile.ranks > 1]:
        known = [call for call in profile.communicating if call.name.lower() in _REROUTED]
        taken = [call for call in known if _on_device(call) > 0 and mean_bytes(call) >= large]
        cost = sum(_on_device(call) * _without_waiting_s(profile, call) for call in taken)
        if is_worth(profile, cost):
            yield observation(
                *cost_of(profile, cost),
                calls=calls(taken),
                sizes=[format_bytes(round(mean_bytes(call))) for call in taken],
            )


def _on_device(function: Function) -> float:
    """The share of its buffers that are there."""
    return function.memory.get("device", 0) / (sum(function.memory.values()) or 1)


def communicators_in_a_loop(view: View, in_a_loop: int) -> Seen:
    for profile in view.profiles:
        made = [call for call in profile.functions if _MAKES_COMMUNICATORS.fullmatch(call.name)]
        looped = [call for call in made if call.mean_calls >= in_a_loop and call.name != _FREE]
        cost = sum(_without_waiting_s(profile, call) for call in made)
        if looped and is_worth(profile, cost):
            yield observation(*cost_of(profile, cost), which="program", calls=calls(looped))
    for group in view.groups:
        yield from _of_records(group)


def _of_records(group: Group) -> Seen:
    """One of each memory, that where it costs the largest share. A variant that a start compares
    with others is there to show it."""
    records = [record for record in group.records if not record.start.variant]
    made = (record for record in records if record.calls and _made(record) > 0)
    costly = [
        record for record in made if _making(record) >= LEAST_SHARE and not is_disturbed(record)
    ]
    for memory, records in grouped(costly, lambda record: record.memory).items():
        records.sort(key=_making, reverse=True)
        worst = records[0]
        place = where(group, memory, worst.variant_value, [worst.size])
        yield observation(
            Evidence(place, tuple(records)),
            Cost(_making_s(worst), _making(worst), "operation"),
            which="operation",
            made=_made(worst),
            place=place,
            transport=worst.transport,
            others=so_in(records),
        )


def _making_s(record: Record) -> float:
    """Of an operation, the fastest sample of its part that makes them: others may have waited."""
    times = (part.time.min or 0.0 for part in record.parts if part.within and part.name == _PART)
    return sum(times)


def _making(record: Record) -> float:
    """The share of it."""
    if not record.measured or not record.together_s:
        return 0.0
    return min(1.0, _making_s(record) / record.together_s)


def _made(record: Record) -> float:
    """Communicators per operation."""
    return sum(
        count
        for name, count in record.calls.items()
        if name != _FREE and _MAKES_COMMUNICATORS.fullmatch(name)
    )


def communication_not_hidden(view: View, hidden: float, share: float) -> Seen:
    """Less than `hidden` of the shorter streams is, and it costs more than `share`."""
    for group in view.groups:
        overlapped = [record for record in group.records if record.parts and group.ranks > 1]
        exposed = (record for record in overlapped if _is_exposed(record, hidden, share))
        for records in grouped(exposed, lambda record: (record.transport, record.memory)).values():
            if not is_disturbed(records[0]):
                yield _not_hidden(group, sorted(records, key=_saved, reverse=True))


def _not_hidden(group: Group, records: list[Record]) -> Observation:
    """`records`: of one transport, the worst first."""
    worst = records[0]
    together, ideal = worst.together_s or 0.0, worst.ideal_s or 0.0
    hidden = worst.hidden.median if worst.hidden else 0.0
    streams = sorted(worst.alone_s.items(), key=lambda item: -item[1])
    place = where(group, worst.memory, worst.variant_value, [worst.size])
    return observation(
        Evidence(place, tuple(records)),
        Cost(together - ideal, _saved(worst), "operation"),
        which="ccl" if worst.transport == "ccl" else "MPI",
        transport=transport_name(worst),
        amount=format_percent(hidden) if hidden > 0 else "nothing",
        place=place,
        others=so_in(records),
        alone=" and ".join(f"{name} {format_time(time)}" for name, time in streams[:2]),
        together=together,
    )


def _saved(record: Record) -> float:
    """Of the time, what perfect overlap would save."""
    return 1 - (record.ideal_s or 0.0) / (record.together_s or 1.0)


def _is_exposed(record: Record, most: float, share: float) -> bool:
    """Where it was asked for: `overlap` off is a measurement without it."""
    hidden, together, ideal = record.hidden, record.together_s, record.ideal_s
    if hidden is None or hidden.ci_high is None or not together or not ideal:
        return False
    if not record.measured or record.parameters.get("overlap") is False:
        return False
    return not is_noise(hidden) and hidden.ci_high < most and together > ideal * (1 + share)


def page_faults(view: View, share: float, fewest: int) -> Seen:
    """`fewest` or more, which cost `share` or more."""
    costly = [
        record
        for record in view.records
        if record.page_faults
        and record.page_faults.per_operation >= fewest
        and record.page_fault_share >= share
        and record.measured
        and record.calls
        and not is_disturbed(record)
        and not _keeps_memory(record)
    ]
    kinds = grouped(costly, lambda record: (record.benchmark, record.transport, record.memory))
    for alike in kinds.values():
        alike.sort(key=lambda record: -record.page_fault_share)
        worst, faults = alike[0], alike[0].page_faults
        assert faults is not None
        place = where(groups([worst])[0], worst.memory, worst.variant_value, [worst.size])
        seconds = faults.per_operation * faults.seconds
        yield observation(
            Evidence(place, tuple(alike)),
            Cost(seconds, worst.page_fault_share, "operation"),
            faults=faults.per_operation,
            each=faults.seconds,
            place=place,
            more=so_in(alike),
            benchmark=worst.benchmark,
        )


def _keeps_memory(record: Record) -> bool:
    """One of both alone lets the C library return large blocks, or the end of its heap."""
    names = record.start.environment
    return _TRIM in names and any(name.startswith(_MMAP) for name in names)


def mostly_waiting(view: View, most: float, share: float) -> Seen:
    for group in view.groups:
        for record in [record for record in group.records if "critical_path_s" in record.facts]:
            time_of = {part.name: part.time_s for part in record.parts}
            communication = time_of.get("waiting", 0.0) + time_of.get("transfer", 0.0)
            # Other waiting is for slow transfers.
            waiting = (record.number("critical_path_s") or 0.0) - time_of.get("computation", 0.0)
            part = waiting / (communication or 1.0)
            whole = waiting / (record.number("observed_s") or 1.0)
            if not record.measured or part < most or whole < share or is_disturbed(record):
                continue
            awaited = record.series["awaited_s"]
            place = where(group, record.memory, record.variant_value, [record.size])
            yield observation(
                Evidence(place, (record,)),
                Cost(waiting, whole, "rank"),
                part=format_percent(part),
                communication=communication,
                kinds=_kinds_of_waiting(record),
                rank=max(range(len(awaited)), key=lambda rank: awaited[rank] or 0.0),
                saved=format_percent(record.number("free_communication_saves") or 0.0),
                place=place,
            )


def _kinds_of_waiting(record: Record) -> str:
    """`late sender 1.2 s, late collective 0.3 s`"""
    kinds = ("late_sender_s", "late_receiver_s", "late_collective_s")
    times = {kind[:-2].replace("_", " "): record.number(kind) or 0.0 for kind in kinds}
    return ", ".join(f"{text} {format_time(time)}" for text, time in times.items() if time > 0)


def wrong_results(view: View) -> Seen:
    for group in view.groups:
        failed = [record for record in group.records if record.validation.status == "failed"]
        by_place = grouped(failed, lambda record: (record.transport, record.memory))
        for (_, memory), records in by_place.items():
            first = records[0]
            place = where(group, memory, first.variant_value, [record.size for record in records])
            message = first.validation.message[:_LONGEST].rstrip(".")
            yield observation(
                Evidence(place, tuple(records)),
                transport=transport_name(first),
                cases=records,
                place=place,
                first=f", first: {message}" if message else "",
            )
