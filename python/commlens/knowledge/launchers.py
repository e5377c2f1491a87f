"""The layout of launchers.yaml, which has the meaning of each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Optional

import msgspec

from commlens.knowledge import load


class LauncherOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An option that a launcher needs."""

    words: str
    condition: str = msgspec.field(name="if", default="")
    always: bool = False


class Setter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a launcher that set a variable of the ranks."""

    options: tuple[str, ...]
    sets: str


class Box(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message between edges on the standard output."""

    title: str
    lines: str
    alone: str  # a line outside of the box


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Messages about a failure."""

    lines: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    box: Optional[Box] = None  # noqa: UP045 (msgspec reads it in Python 3.9)


class Launcher(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a launcher."""

    name: str
    programs: tuple[str, ...]
    mpi_families: tuple[str, ...] = ()
    version: str = ""
    allocation: str = ""
    options: tuple[LauncherOption, ...] = ()
    variable: tuple[str, ...] = ()
    settings: tuple[Setter, ...] = ()
    ranks: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    host_files: tuple[str, ...] = ()
    whole_node: tuple[str, ...] = ()
    mpi_types: Mapping[str, tuple[str, ...]] = {}
    from_variables: Mapping[str, str] = {}
    held: Held = Held()
    explained: Mapping[str, str] = {}
    deaths: tuple[str, ...] = ()
    departed: tuple[str, ...] = ()
    lost_node: tuple[str, ...] = ()
    complaint: tuple[str, ...] = ()


class Manager(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the nodes of an allocation of a resource manager are found."""

    variable: str
    nodes: tuple[str, ...] = ()
    host_slots: str = ""
    host_file: str = ""
    nodes_command: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


class CommandLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a launcher's command line is read: its options, by the words that follow them."""

    programs: str
    values: str = ""
    pairs: str = ""
    flags: str = ""
    subcommands: tuple[str, ...] = ()

    def values_of(self, option: str) -> int | None:
        """The number of words that follow the option; None: unknown."""
        listed = enumerate((self.flags, self.values, self.pairs))
        known = (count for count, names in listed if option.lstrip("-") in names.split())
        return 0 if "=" in option else next(known, None)


class Launchers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    launchers: tuple[Launcher, ...]
    managers: tuple[Manager, ...]
    command_lines: tuple[CommandLine, ...]


_FILE = load("launchers", Launchers)
# Within an allocation the resource manager's launcher comes first, elsewhere that of the MPI.
LAUNCHERS = _FILE.launchers
MANAGERS = _FILE.managers


def launcher_of_version(answer: str) -> Launcher | None:
    """The launcher of an MPI that answers this to --version; None: unknown."""
    of_mpi = (launcher for launcher in LAUNCHERS if launcher.version)
    return next(
        (entry for entry in of_mpi if re.search(entry.version, answer, re.IGNORECASE)), None
    )


def command_line(program: str) -> CommandLine | None:
    """How the command line of this program is read; None for a program that is no launcher."""
    name = program.rpartition("/")[2]
    return next((line for line in _FILE.command_lines if re.fullmatch(line.programs, name)), None)
