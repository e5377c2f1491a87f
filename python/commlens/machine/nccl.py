"""NCCL or RCCL: the library of the program, its files of settings, and names that it does not
know."""

from __future__ import annotations

from functools import cache

import msgspec

from commlens import knowledge
from commlens.machine import libraries, settings
from commlens.machine.mpi import MpiView
from commlens.machine.settings import FileSetting, Unknown
from commlens.machine.system import System

_LIBRARIES = ("libnccl.so.2", "librccl.so.1")
_OF_IMAGES = ("NCCL_VERSION",)  # which containers of CUDA set, to say what is in them


class NcclView(msgspec.Struct, frozen=True):
    """NCCL or RCCL, and its settings in files."""

    library: str = ""  # that of the program, or the one that the loader finds
    version: str = ""
    from_files: tuple[FileSetting, ...] = ()
    unknown: tuple[Unknown, ...] = ()


class NcclVariables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of libraries/nccl-variables.yaml."""

    names: tuple[str, ...]  # without NCCL_


@cache
def names() -> frozenset[str]:
    """The variables that NCCL knows."""
    return frozenset(
        f"NCCL_{name}" for name in knowledge.load("libraries/nccl-variables", NcclVariables).names
    )


def look(system: System, mpi: MpiView) -> NcclView:
    """Asks the loader and the library, and reads the files of settings."""
    library = next((mpi.libraries[name] for name in _LIBRARIES if name in mpi.libraries), "")
    found_by_loader = (libraries.find_library(system, name) for name in _LIBRARIES)
    library = library or next(filter(None, found_by_loader), "")
    version = version_text(libraries.version_of(system, library, "nccl")) if library else ""
    own = tuple(_settings(system))
    variables = {**{one.name: one.value for one in own}, **settings.communication(system)}
    # RCCL has names of its own.
    known = names() if "rccl" not in library else frozenset[str]()
    found = settings.unknown(variables, "NCCL_", known, "NCCL", _OF_IMAGES) if known else ()
    return NcclView(library, version, own, found)


def version_text(number: str) -> str:
    """`2.28.3` of 22803, `2.8.4` of 2804."""
    if not number.isdecimal():
        return ""
    code = int(number)
    major = 10_000 if code >= 10_000 else 1000
    return f"{code // major}.{code % major // 100}.{code % 100}"


def _settings(system: System) -> list[FileSetting]:
    """Those of the administrator and of the user; the latter come first."""
    home = system.environment.get("HOME", "")
    own = system.environment.get("NCCL_CONF_FILE") or f"{home}/.nccl.conf"
    found: dict[str, FileSetting] = {}
    for path in (own, "/etc/nccl.conf"):
        for number, line in enumerate((system.read(path) or "").splitlines(), start=1):
            name, equals, value = line.strip().partition("=")
            if equals and name.startswith("NCCL_"):
                found.setdefault(name, FileSetting(name, value, f"{path}:{number}"))
    return list(found.values())
