"""`commlens run --site`: what a site says of launching, within an allocation on it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from commlens.jobs import allocation
from commlens.jobs.sites.script import numbers
from commlens.jobs.sites.site import Site
from commlens.jobs.spec import JobSpec


def on_site(
    site: Site,
    launcher: str,
    overrides: JobSpec,
    environment: Mapping[str, str] = os.environ,
) -> tuple[str, JobSpec]:
    """The launcher and what is said to every entry. What the user says, and the variables that are
    set, come before the site's."""
    given = allocation.current(environment)
    nodes = overrides.nodes or (given.nodes if given else None) or 1
    arguments = [text.format_map(numbers(site, nodes)) for text in site.launcher_arguments]
    own = {name: value for name, value in site.environment.items() if name not in environment}
    says_ranks = overrides.ranks or overrides.ranks_per_node
    return site.launcher if launcher == "auto" else launcher, replace(
        overrides,
        launcher_arguments=(*arguments, *overrides.launcher_arguments),
        environment={**own, **overrides.environment},
        ranks_per_node=overrides.ranks_per_node if says_ranks else site.node.ranks,
    )
