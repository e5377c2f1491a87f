"""Causes of failures, as knowledge/causes.yaml has them: which applies, and its message."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, Optional

import msgspec

from commlens import knowledge


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cause of a failure; causes.yaml has the meaning of each field."""

    code: str
    means: str = ""
    fix: str = ""
    patterns: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    unless_set: Mapping[str, tuple[str, ...]] = {}
    set: Mapping[str, str] = {}
    support: Optional[Literal["supported", "unsupported", "broken"]] = None  # noqa: UP045
    captured: tuple[str, ...] = ()

    def groups(self, log: str) -> dict[str, str] | None:
        """The groups of its patterns in a log; None where one of them is not found."""
        groups: dict[str, str] = {}
        for pattern in self.patterns:
            match = re.search(pattern, log)
            if match is None:
                return None
            groups.update({name: text for name, text in match.groupdict().items() if text})
        return groups

    def is_ruled_out(self, environment: Mapping[str, str]) -> bool:
        """Whether a variable has a value with which this cannot be the cause."""
        return any(
            environment.get(name, "").lower() in values for name, values in self.unless_set.items()
        )

    def message(self, **facts: object) -> str:
        """What it means and the fix, with the facts in braces; empty where all is well."""
        settings = " and ".join(f"{name}={value}" for name, value in self.set.items())
        between = ". " if self.fix[:1].isupper() else ": "
        template = between.join(filter(None, (self.means, self.fix)))
        return template.format(set=settings, **facts)


class Causes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    job: tuple[Cause, ...]
    launch: tuple[Cause, ...]
    probe: tuple[Cause, ...]


CAUSES = knowledge.load("causes", Causes)


def first(
    causes: Sequence[Cause],
    log: str,
    environment: Mapping[str, str],
    facts: Mapping[str, object] = {},
) -> tuple[Cause, dict[str, str]] | None:
    """The first cause that applies, with the groups of its patterns; `facts` by their names."""
    for cause in causes:
        groups = cause.groups(log)
        if groups is None or cause.is_ruled_out(environment):
            continue
        if all(map(facts.get, cause.when)):
            return cause, groups
    return None


def of_job(code: str, **facts: object) -> str:
    """The message of an end that commlens brings about or observes."""
    (cause,) = (cause for cause in CAUSES.job if cause.code == code)
    return cause.message(**facts)


def launch_failure(log: str) -> str:
    """Why no rank has started, or none came through MPI_Init, with the fix; empty: not known."""
    applies = first(CAUSES.launch, log, {})
    return applies[0].message(**applies[1]) if applies else ""
