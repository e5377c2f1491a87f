"""A job: one launch of the native program on some ranks, described and not yet run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.jobs.options import Options

PROBE = "probe"  # what is no benchmark, and takes no options of one

_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Job:
    benchmark: str
    options: Options
    ranks: int
    environment: Mapping[str, str] = field(default_factory=dict)  # set for this job, on all nodes
    launcher_arguments: Sequence[str] = ()
    nodes: int | None = None  # that the ranks are spread over; None: the launcher decides
    record_file: Path | None = None  # the job's own

    def program(self, native: Path) -> list[str]:
        """What each rank runs."""
        record = ["--record", str(self.record_file)] if self.record_file else []
        expect = ["--expect-ranks", str(self.ranks)] if self.benchmark != PROBE else []
        return [str(native), self.benchmark, *record, *expect, *self.options.words()]


def parse_environment(settings: Sequence[str], option: str = "--env") -> dict[str, str]:
    """The variables in `NAME=VALUE`, `NAME=VALUE` ... Raises CommlensError, which names the
    option."""
    environment: dict[str, str] = {}
    for setting in settings:
        name, is_whole, value = setting.partition("=")
        if not is_whole or not is_variable(name):
            raise CommlensError(
                f"{option} {setting!r}: write NAME=VALUE with the name of a variable, "
                "as in UCX_TLS=all"
            )
        if name in environment:
            raise CommlensError(f"{option} {setting}: {name} is set twice; leave one of them out")
        environment[name] = value
    return environment


def is_variable(name: str) -> bool:
    """Whether this can be the name of an environment variable."""
    return _VARIABLE.fullmatch(name) is not None
