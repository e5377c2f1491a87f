"""Communicators"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commlens.diagnose.finding import Cost, Evidence
from commlens.diagnose.profiles import LEAST_SHARE, calls, cost_of, total_of
from commlens.diagnose.rule import Observation, rule
from commlens.diagnose.view import View, is_disturbed, median_us, where
from commlens.profile.imbalance import mean
from commlens.records import Group, Record
from commlens.records.scaling import pairs
from commlens.text import format_percent

_MAKES_COMMUNICATORS = re.compile(
    r"MPI_(Comm_(i?dup(_with_info)?|split(_type)?|create(_group)?|free)|Cart_(create|sub)"
    r"|(Dist_g|G)raph_create(_adjacent)?|Intercomm_(create|merge))"
)
_FREE = "MPI_Comm_free"
_IN_A_LOOP = 20  # calls per rank


@rule(
    "communicators-in-a-loop",
    "warning",
    "communicators are made in a loop",
    speaks=f"a profiled program makes {_IN_A_LOOP} communicators per rank or more, which costs "
    f"{LEAST_SHARE:.0%} of its time; or each operation of a record makes some, its variant that "
    f"does not is faster, and the samples support it by {LEAST_SHARE:.0%} or more.",
    cure="Make them once and keep them; `commlens run fft` shows what caching brings.",
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
        yield from _of_variants(group)


def _of_variants(group: Group) -> Iterator[Observation]:
    """Of records: what the operation is worth without them was measured beside it."""
    for pair in pairs(group):
        slow, fast = sorted((pair.before, pair.after), key=median_us, reverse=True)
        made, gain = _made(slow), 1 - median_us(fast) / median_us(slow)
        if not made or _made(fast) or pair.is_tie or is_disturbed(slow) or gain < LEAST_SHARE:
            continue
        place = where(group, slow.memory, "", [slow.size])
        yield Observation(
            f"Each operation makes {made:g} communicators ({place}, {slow.transport}); with "
            f"{slow.variant.title if slow.variant else 'variant'} {fast.variant_value} it takes "
            f"{format_percent(gain)} less",
            Evidence(place, (slow, fast)),
            Cost((median_us(slow) - median_us(fast)) * 1e-6, gain, "operation"),
        )


def _made(record: Record) -> float:
    """Communicators per operation."""
    return sum(
        count
        for name, count in record.calls.items()
        if name != _FREE and _MAKES_COMMUNICATORS.fullmatch(name)
    )
