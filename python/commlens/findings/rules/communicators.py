"""Communicators"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commlens.base.text import plural
from commlens.findings.disturbance import is_disturbed
from commlens.findings.finding import Cost, Evidence
from commlens.findings.rule import Observation, rule
from commlens.findings.view import LEAST_SHARE, View, calls, cost_of, total_of, where
from commlens.model import Group, Record
from commlens.model.profile import mean

_MAKES_COMMUNICATORS = re.compile(
    r"MPI_(Comm_(i?dup(_with_info)?|split(_type)?|create(_group)?|free)|Cart_(create|sub)"
    r"|(Dist_g|G)raph_create(_adjacent)?|Intercomm_(create|merge))"
)
_FREE = "MPI_Comm_free"
_PART = "communicators"  # of an operation that times making them
_IN_A_LOOP = 20  # calls per rank


@rule(
    "communicators-in-a-loop",
    "warning",
    "communicators are made in a loop",
    needs=("records", "profile"),
    when=f"a profiled program makes {_IN_A_LOOP} communicators per rank or more, which costs "
    f"{LEAST_SHARE:.0%} of its time; or each operation of a record makes some, and the fastest "
    f"sample of that part takes {LEAST_SHARE:.0%} of the time; that is the cost, too.",
    fix="Make them once and keep them; `commlens run fft` shows what caching brings.",
)
def communicators_in_a_loop(view: View) -> Iterator[Observation]:
    for profile in view.profiles:
        made = [own for own in profile.functions if _MAKES_COMMUNICATORS.fullmatch(own.name)]
        looped = [own for own in made if own.mean_calls >= _IN_A_LOOP and own.name != _FREE]
        cost = mean(profile.in_functions(made))
        if looped and cost >= LEAST_SHARE * total_of(profile):
            yield Observation(
                f"Communicators are made in a loop ({calls(looped)})",
                *cost_of(profile, cost),
            )
    for group in view.groups:
        yield from _of_records(group)


def _of_records(group: Group) -> Iterator[Observation]:
    """One of each memory, that where it costs the largest share."""
    found: dict[str, list[Record]] = {}
    for record in group.records:
        if record.calls and _is_costly(record) and not is_disturbed(record):
            found.setdefault(record.memory, []).append(record)
    for memory, records in found.items():
        records.sort(key=_share, reverse=True)
        worst = records[0]
        others = f"; so in {plural(len(records), 'record')}" if len(records) > 1 else ""
        place = where(group, memory, worst.variant_value, [worst.size])
        yield Observation(
            f"Each operation makes {_made(worst):g} communicators ({place}, {worst.transport}"
            f"{others})",
            Evidence(place, tuple(records)),
            Cost(_making_s(worst), _share(worst), "operation"),
        )


def _is_costly(record: Record) -> bool:
    return _made(record) > 0 and _share(record) >= LEAST_SHARE


def _making_s(record: Record) -> float:
    """Of an operation, the fastest sample of its part that makes them: others may have waited."""
    own = (part.time.min or 0.0 for part in record.parts if part.within and part.name == _PART)
    return sum(own)


def _share(record: Record) -> float:
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
