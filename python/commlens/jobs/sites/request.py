"""What a job asks a site for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from commlens.base.errors import CommlensError
from commlens.base.text import plural
from commlens.jobs.options import whole_number
from commlens.jobs.sites.site import Site

_NAME = re.compile(r"[\w.@+:/-]+")


@dataclass(frozen=True)
class Request:
    nodes: int
    minutes: int
    words: Sequence[str]  # `run allreduce bp5`: what commlens is to do
    account: str = ""
    queue: str = ""

    def check(self, site: Site) -> None:
        """Raises CommlensError for what the site would refuse, or leave waiting for ever."""
        if not self.words or self.words[0] != "run":
            raise CommlensError(
                f"-- {' '.join(self.words) or 'nothing'}: a job runs `commlens run`; write "
                f"`-- run BENCHMARK ...`"
            )
        if site.account == "required" and not self.account:
            raise CommlensError(
                f"--account is missing: {site.site} takes no job without the name of a project"
            )
        for option, name in (("--account", self.account), ("--queue", self.queue)):
            if name and not _NAME.fullmatch(name):
                raise CommlensError(f"{option} {name!r}: write a name without spaces")
        most = site.most_nodes
        if most and self.nodes > most:
            raise CommlensError(
                f"--nodes {self.nodes}: a job on {site.site} has at most {plural(most, 'node')}"
            )
        fitting = [limit for limit in site.limits if self.nodes <= limit.nodes]
        hours = max((limit.hours for limit in fitting[:1]), default=None)
        if hours is not None and self.minutes > hours * 60:
            raise CommlensError(
                f"--time {self.minutes} (minutes): a job of {plural(self.nodes, 'node')} on "
                f"{site.site} may take at most {hours:g} hours"
            )


def minutes_in(text: str) -> int | None:
    """Of `30`, which are minutes, or of `00:30:00` or `1:30`, which begin with hours."""
    numbers = [whole_number(part) for part in text.split(":")]
    whole = [number for number in numbers if number is not None]
    if len(whole) != len(numbers) or len(whole) > 3:
        return None
    if len(whole) == 1:
        return whole[0]
    seconds = whole[2] if len(whole) == 3 else 0
    return whole[0] * 60 + whole[1] + (1 if seconds else 0)
