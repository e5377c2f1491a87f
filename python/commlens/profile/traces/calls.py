"""The calls of a rank one after the other. Their times are rebuilt from those of their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from commlens.profile.traces.trace import CallTimes, Event, Rank, Trace, executed


@dataclass(frozen=True)
class Call:
    """One execution of a place."""

    event: Event
    name: str  # of the function
    letters: str  # of its fields
    begin: int  # ns since the end of MPI_Init, on this rank
    times: CallTimes  # its own, or its share of those of its place
    is_exact: bool = False

    @property
    def end(self) -> int:
        """In ns, as `begin`."""
        return self.begin + self._length

    @property
    def _length(self) -> int:
        """Of several calls in a row: with the gaps between them."""
        if self.times.calls == 1:
            return self.times.call
        return self.times.call + self.times.gap - share(self.times.gap, 0, self.times.calls)

    def parts(self) -> Iterator[tuple[int, int]]:
        """Begin and end of each call: several for tests without result that follow each other."""
        times, now = self.times, self.begin
        for number in range(times.calls):
            if number > 0:
                now += share(times.gap, number, times.calls)
            length = share(times.call, number, times.calls)
            yield now, now + length
            now += length


def calls_of(trace: Trace, rank: Rank) -> Iterator[Call]:
    """Executions of a place take equally long, but where the trace has the times of each. In sum
    they are those of the trace."""
    done = [0] * len(rank.times)
    functions = [own.partition(" ") for own in trace.functions]
    now = 0
    for at, (number, place) in enumerate(executed(trace.bodies[rank.body])):
        times = _share(rank.times[place], done[place])
        is_exact = at < len(rank.exact)
        if is_exact:
            gap, cpu, length = rank.exact[at]
            times = CallTimes(1, gap, cpu, length, gap, length, times.calls)
        done[place] += 1
        event = trace.events[number]
        name, _, letters = functions[event.function]
        call = Call(event, name, letters, now + share(times.gap, 0, times.calls), times, is_exact)
        yield call
        now = call.end


def share(total: int, number: int, count: int) -> int:
    """Of part `number` of `count` equal parts: whole, and in sum the total."""
    return total * (number + 1) // count - total * number // count


def _share(times: CallTimes, number: int) -> CallTimes:
    gap, cpu, call, calls = (
        share(total, number, times.count)
        for total in (times.gap, times.cpu, times.call, times.calls)
    )
    return CallTimes(1, gap, cpu, call, times.longest_gap, times.longest_call, calls)
