"""Libraries: which the loader finds, which version they report, and what is set for those of
communication: variables of the environment, and names that none knows."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Collection, Mapping
from difflib import get_close_matches

import msgspec

from commlens.knowledge import load
from commlens.knowledge.secrets import mask_variables
from commlens.machine.system import System

_LDD_LINE = re.compile(r"^\s*(\S+) => (?:(/\S+)|(not found))", re.MULTILINE)
_CACHE_LINE = re.compile(r"^\s*(\S+) \(.*\) => (/\S+)$", re.MULTILINE)
# In a process of its own: a library may do anything when it is loaded.
ASK = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
if sys.argv[2] == "mpi":
    text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
    library.MPI_Get_library_version(text, ctypes.byref(length))
    print(text.value.decode(errors="replace"))
elif sys.argv[2] == "ucx":
    library.ucp_get_version_string.restype = ctypes.c_char_p
    print(library.ucp_get_version_string().decode(errors="replace"))
else:
    number = ctypes.c_int()
    library.ncclGetVersion(ctypes.byref(number))
    print(number.value)
"""
# Of a likeness of 0 to 1. Letters that changed places count more: `UCX_TSL` is 0.86 like `UCX_TLS`,
# but so is `UCX_RC_TIMEOUT` like `UCX_UD_TIMEOUT`.
_LIKELY, _LIKELY_PERMUTED = 0.9, 0.85


def loaded_by(system: System, file: str) -> dict[str, str]:
    """The libraries that a program or a library needs, with their paths; an empty path: the loader
    does not find it. Nothing where the file is none of the dynamic loader's, such as a script."""
    output = system.run("ldd", file)
    return {name: path for name, path, _ in _LDD_LINE.findall(output.text)} if output.ok else {}


def folders_of(variable: str, system: System) -> list[str]:
    """Those in PATH or LD_LIBRARY_PATH, each once."""
    return list(dict.fromkeys(filter(None, system.environment.get(variable, "").split(":"))))


def find_library(system: System, name: str) -> str:
    """Where the loader would find a library by itself: in LD_LIBRARY_PATH or its cache; empty:
    nowhere."""
    for folder in folders_of("LD_LIBRARY_PATH", system):
        if name in system.names(folder):
            return posixpath.join(folder, name)
    for program in ("ldconfig", "/sbin/ldconfig"):  # a user's PATH often lacks its folder
        if known := _CACHE_LINE.findall(system.run(program, "-p").text):
            return next((path for file, path in known if file == name), "")
    return ""


def version_of(system: System, library: str, kind: str) -> str:
    """The first line of what a library of `kind` mpi, ucx or nccl reports; empty: nothing."""
    output = system.run(sys.executable, "-c", ASK, library, kind)
    return output.text.strip().splitlines()[0].strip() if output.ok and output.text.strip() else ""


def resolved(system: System, path: str) -> str:
    """Without symbolic links, as far as they can be seen."""
    parts = [part for part in path.split("/") if part]
    done, links = "/", 0
    while parts:
        here = posixpath.join(done, parts.pop(0))
        target = system.link(here) if links < 40 else None
        if target is None:
            done = here
            continue
        links += 1
        whole = posixpath.normpath(posixpath.join(done, target))
        parts = [part for part in whole.split("/") if part] + parts
        done = "/"
    return done


def numbers_in(version: str | None) -> tuple[int, ...]:
    """`(5, 0, 7)` of `Open MPI v5.0.7, package: ...`; empty where there is none."""
    match = re.search(r"\d{1,9}(?:\.\d{1,9})+", version or "")
    return tuple(int(part) for part in match[0].split(".")) if match else ()


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


def communication_variables(system: System) -> dict[str, str]:
    """The variables that concern communication, secrets masked."""
    known = load("variables", Variables)
    variables = {
        name: value
        for name, value in sorted(system.environment.items())
        if name.startswith(known.recorded) and not name.startswith(known.of_launcher)
    }
    return mask_variables(variables)


def unknown_variables(
    variables: Mapping[str, str],
    beginning: str,
    known: Collection[str],
    library: str,
    ignored: tuple[str, ...] = (),
) -> tuple[Unknown, ...]:
    """The variables with this beginning that are not among the known names."""
    unknown = [
        (name, value)
        for name, value in variables.items()
        if name.startswith(beginning) and name not in known and not name.startswith(ignored)
    ]
    return tuple(Unknown(name, value, library, _near(name, known)) for name, value in unknown)


def _near(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, n=5, cutoff=_LIKELY_PERMUTED)
    permuted = next((candidate for candidate in close if sorted(candidate) == sorted(name)), "")
    return permuted or next(iter(get_close_matches(name, known, n=1, cutoff=_LIKELY)), "")
