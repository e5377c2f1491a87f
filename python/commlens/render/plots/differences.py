"""What a picture says of settings: those that differ, and those that were given.

A setting that all records have in common and that nobody gave is a default, which is not said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commlens.base.text import plural
from commlens.model import Group


def differing(own: Mapping[str, str], others: Sequence[Mapping[str, str]]) -> list[str]:
    """The settings that any of the others does not have alike: `order 7`."""
    return [
        f"{name} {value}"
        for name, value in own.items()
        if any(other.get(name) != value for other in others)
    ]


def difference(group: Group, groups: Sequence[Group]) -> str:
    """What sets the group apart from others of its benchmark: `order 7, 2 ranks`.

    Derived parameters follow from the ranks, too: they are compared on as many. What one group
    derives may have been given for another.
    """
    others = [other for other in groups if other.benchmark == group.benchmark]
    same_ranks = [other for other in others if other.ranks == group.ranks]
    words = differing(group.settings, [other.settings for other in others])
    # A parameter that another one does not have at all is no difference.
    elsewhere = [{**group.derived, **other.derived, **other.settings} for other in same_ranks]
    words += differing(group.derived, elsewhere)
    if len(same_ranks) < len(others):
        words.append(plural(group.ranks, "rank"))
    if any(other.nodes != group.nodes for other in same_ranks):
        words.append(plural(group.nodes, "node"))
    if any(other.timing != group.timing for other in others):
        words.append(f"timing {group.timing}")
    if any(other.backend != group.backend for other in others):
        words.append(f"backend {group.backend}")
    return ", ".join(words)


def given(groups: Sequence[Group]) -> str:
    """What groups of one benchmark have in common, as it was asked for: `dofs 400000, order 7`."""
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
