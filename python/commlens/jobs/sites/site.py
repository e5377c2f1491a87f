"""A site: a YAML file with how jobs are run on a machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from string import Formatter
from typing import Literal, Optional

import msgspec

from commlens import knowledge
from commlens.base import inputs, outputs, user_yaml
from commlens.base.errors import CommlensError
from commlens.base.text import printable_lines
from commlens.jobs.launchers import CHOICES
from commlens.jobs.spec import MOST_RANKS, Allocation, JobSpec, is_variable

_ENDING = ".yaml"


class Domain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a node: a NUMA domain or a socket, and the local ranks that are bound to it."""

    name: str
    cores: str = ""
    gpus: Sequence[int] = ()
    nics: int = 0
    ranks: Sequence[int] = ()


class SiteNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one node has, and how many ranks are started on it."""

    ranks: int = 1
    gpus: int = 0
    cores_per_rank: int = 1
    domains: Sequence[Domain] = ()  # empty: not known


class JobLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The most hours of jobs of up to this many nodes."""

    nodes: int
    hours: float


class Site(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A site; docs/sites.md has the meaning of each key."""

    site: str
    title: str
    source: str  # of the facts: documents or people
    checked: str  # the day on which they were compared with the source
    status: Literal["tested", "untested", "retired"]
    scheduler: Literal["slurm", "lsf", "pbs", "flux", "none"]
    node: SiteNode
    launcher: str
    launcher_arguments: Sequence[str] = ()
    hosts: Sequence[str] = ()  # patterns of the names of its hosts
    account: Literal["required", "optional", "none"] = "optional"
    queue: str = ""  # empty: the scheduler's default
    limits: Sequence[JobLimit] = ()  # the smallest jobs first
    directives: Sequence[str] = ()
    modules: Sequence[str] = ()
    modules_for: Mapping[str, Sequence[str]] = {}  # by transport
    modules_unload: Sequence[str] = ()
    environment: Mapping[str, str] = {}
    setup: Sequence[str] = ()  # lines of a shell
    keep: bool = False  # records of `run --site` are added to the history
    store: str = ""  # the history of the site

    def is_here(self, host: str) -> bool:
        """Whether this is one of its hosts."""
        return any(re.search(pattern, host) for pattern in self.hosts)

    @property
    def most_nodes(self) -> Optional[int]:  # noqa: UP045 (msgspec reads it in Python 3.9)
        """The most nodes of a job; None: not known."""
        return max((limit.nodes for limit in self.limits), default=None)

    def numbers(self, nodes: int) -> dict[str, int]:
        """What directives and launcher arguments name in braces, for a job on this many nodes."""
        return {
            "nodes": nodes,
            "ranks": nodes * self.node.ranks,
            "ranks_per_node": self.node.ranks,
            "gpus": self.node.gpus,
            "cores_per_rank": self.node.cores_per_rank,
        }

    def job_spec(self, nodes: int) -> JobSpec:
        """How jobs on this many nodes are launched here."""
        numbers = self.numbers(nodes)
        return JobSpec(
            nodes=nodes,
            ranks_per_node=self.node.ranks,
            environment=self.environment,
            launcher_arguments=[text.format_map(numbers) for text in self.launcher_arguments],
        )


def on_site(
    site: Site, launcher: str, given: JobSpec, environment: Mapping[str, str] = os.environ
) -> tuple[str, JobSpec]:
    """The launcher and the job within an allocation on a site. What the user has `given`, and the
    variables that are set, come before the site's."""
    here = Allocation.current(environment)
    defaults = site.job_spec(given.nodes or (here.nodes if here else None) or 1)
    defaults = replace(
        defaults,
        nodes=0,  # those of the allocation
        ranks_per_node=0 if given.ranks else defaults.ranks_per_node,
        environment={k: text for k, text in defaults.environment.items() if k not in environment},
    )
    job = replace(defaults.overridden_by(given), benchmark=given.benchmark)
    return site.launcher if launcher == "auto" else launcher, job


def names() -> list[str]:
    """The names of the sites that come with commlens, and of the user's own."""
    return sorted({*_shipped(), *_of_user()})


def load(name: str) -> Site:
    """The site of this name, the user's own before one that is shipped, or that in the YAML file
    `name`. Raises CommlensError for a mistake in it."""
    if "/" in name or name.endswith(_ENDING):
        return parse(inputs.read_text(Path(name), kind=inputs.YAML), name)
    paths, shipped = _of_user(), _shipped()
    if name in paths:
        return parse(inputs.read_text(paths[name], kind=inputs.YAML), str(paths[name]))
    if name in shipped:
        return parse(shipped[name], f"{name}{_ENDING}")
    raise CommlensError(
        f"no site is called '{name}': there are {', '.join(names())}; a site of your own is a YAML "
        f"file in {_user_folder()}, or a path (docs/sites.md)"
    )


def parse(text: str, source: str) -> Site:
    """The site in a text. Raises CommlensError, which names the file, the value and the fix."""
    data = user_yaml.parse(text, source)
    try:
        site = msgspec.convert(data, Site, strict=False)
    except msgspec.ValidationError as error:
        raise CommlensError(
            f"{source}: {str(error).replace('`', chr(39))}; docs/sites.md lists the keys of a site"
        ) from None
    for mistake in _mistakes(site):
        raise CommlensError(f"{source}: {mistake}")
    return site


def _mistakes(site: Site) -> Iterator[str]:
    if site.launcher not in CHOICES:
        yield f"'launcher' {site.launcher}: write {', '.join(CHOICES)}"
    for name in site.environment:
        if not is_variable(name):
            yield f"'environment' {name}: cannot be the name of a variable"
    for pattern in site.hosts:
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"'hosts' {pattern}: not a regular expression ({error})"
    numbers = site.numbers(1)
    for text in (*site.directives, *site.launcher_arguments):
        if not _has_fields_of(text, numbers):
            yield f"'{text}': in braces there can be {', '.join(numbers)}"
    domains = site.node.domains
    texts = [site.site, site.title, site.source, site.checked, site.queue]
    texts += [text for domain in domains for text in (domain.name, domain.cores)]
    for text in (*texts, *site.directives, *site.launcher_arguments):
        if not text.isprintable():
            yield f"{text!r}: must be a single line without control characters"
    if printable_lines("\n".join(site.setup)) != "\n".join(site.setup):
        yield "'setup': has control characters"
    if not outputs.is_name(site.site):
        yield f"'site' {site.site}: cannot be the name of a folder"
    for name, least in (("ranks", 1), ("cores_per_rank", 1), ("gpus", 0)):
        if not least <= numbers[name] <= MOST_RANKS:
            most = f" and at most {MOST_RANKS:,}" if numbers[name] > least else ""
            yield f"'node.{name}' {numbers[name]}: must be at least {least}{most}"
    for name, count in (("ranks", site.node.ranks), ("gpus", site.node.gpus)):
        placed = sorted(number for domain in domains for number in getattr(domain, name))
        if domains and (len(placed) != count or placed != list(range(count))):
            yield f"'node.domains': together they must have {name} 0 to {count - 1}, each once"
    try:
        is_day = date.fromisoformat(site.checked).isoformat() == site.checked
    except ValueError:
        is_day = False
    if not is_day:
        yield f"'checked' {site.checked}: write a day, as in 2026-11-23"


def _has_fields_of(text: str, numbers: Mapping[str, int]) -> bool:
    """Whether in braces there is nothing but names of numbers: no attributes and no formats."""
    try:
        fields = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
    except ValueError:
        return False
    return all(name in numbers and not form and not how for name, form, how in fields)


def _shipped() -> dict[str, str]:
    """The text of each, by name."""
    return {name: knowledge.text(f"sites/{name}") for name in knowledge.names("sites")}


def _user_folder() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(config) / "commlens" / "sites"


def _of_user() -> dict[str, Path]:
    folder = _user_folder()
    return {path.stem: path for path in folder.glob(f"*{_ENDING}")} if folder.is_dir() else {}
