"""Records kept over time: whether a case has become slower since it was first measured, since when,
and what changed at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from commlens.compare.history.entries import Batch, sites_without_mistakes
from commlens.compare.history.store import path_of
from commlens.compare.history.writing import Added, add
from commlens.jobs.sites.site import Site
from commlens.machine import versions
from commlens.machine.system import System
from commlens.model import Record

MACHINE = "COMMLENS_MACHINE"


def store_of(name: Path | None = None, of: Site | None = None) -> Path:
    """The store that is named, else that of the site, else the user's."""
    return path_of(name, lambda: of.store if of and of.store else _store_of_site_here())


def keep(records: Sequence[Record], path: Path, of: Site | None = None) -> Added:
    """Adds what was measured just now. Raises CommlensError where it can be kept nowhere."""
    here = socket.gethostname()
    is_here = all(record.start.host in (here, here.partition(".")[0]) for record in records)
    seen = versions.look(System()) if is_here else {}
    return add(path, Batch(records, of.site if of else machine_named(), seen))


def machine_named() -> str:
    """What COMMLENS_MACHINE calls this machine; empty where it is not set."""
    return os.environ.get(MACHINE, "").strip()


def _store_of_site_here() -> str:
    sites = [site for site in sites_without_mistakes() if site.store]
    host = socket.getfqdn() if sites else ""  # which may take its time
    return next((site.store for site in sites if site.is_here(host)), "")
