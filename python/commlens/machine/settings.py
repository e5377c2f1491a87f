"""Settings of communication libraries: variables of the environment, and names that none knows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

import msgspec

from commlens.knowledge import load
from commlens.knowledge.secrets import mask_variables
from commlens.machine.system import System

# Of a likeness of 0 to 1. Letters that changed places count more: `UCX_TSL` is 0.86 like `UCX_TLS`,
# but so is `UCX_RC_TIMEOUT` like `UCX_UD_TIMEOUT`.
_LIKELY, _LIKELY_PERMUTED = 0.9, 0.85


class Variables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of variables.yaml, which describes each list."""

    recorded: tuple[str, ...]
    of_launcher: tuple[str, ...]
    transport_settings: tuple[str, ...]
    per_process: tuple[str, ...]


class Unknown(msgspec.Struct, frozen=True):
    """A name that the library which it is for does not know."""

    name: str
    value: str
    library: str  # `UCX 1.22.0`
    near: str = ""  # the likely spelling


class FileSetting(msgspec.Struct, frozen=True):
    """A setting in a file of a library."""

    name: str
    value: str
    place: str  # `/etc/openmpi/openmpi-mca-params.conf:68`


def communication(system: System) -> dict[str, str]:
    """The variables that concern communication, secrets masked."""
    known = load("variables", Variables)
    found = {
        name: value
        for name, value in sorted(system.environment.items())
        if name.startswith(known.recorded) and not name.startswith(known.of_launcher)
    }
    return mask_variables(found)


def unknown(
    variables: Mapping[str, str],
    beginning: str,
    known: Collection[str],
    library: str,
    ignored: tuple[str, ...] = (),
) -> tuple[Unknown, ...]:
    """The variables with this beginning that are not among the known names."""
    found = [
        (name, value)
        for name, value in variables.items()
        if name.startswith(beginning) and name not in known and not name.startswith(ignored)
    ]
    return tuple(Unknown(name, value, library, _near(name, known)) for name, value in found)


def _near(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, n=5, cutoff=_LIKELY_PERMUTED)
    permuted = next((one for one in close if sorted(one) == sorted(name)), "")
    return permuted or next(iter(get_close_matches(name, known, n=1, cutoff=_LIKELY)), "")
