"""A command line that starts an MPI program: where the program is in it, and its MPI."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from commlens.base.errors import CommlensError
from commlens.knowledge.launchers import CommandLine, command_line

_OPEN_MPI = re.compile(r"\blibopen-(pal|rte)\.so|\blibmpi\.so\.[2-9]\d")
_MPICH = re.compile(r"\b(libmpich|libmpi_(cray|gnu|intel|cray_ftn)\w*)\.so|\blibmpi\.so\.12\b")


class ElfFile(NamedTuple):
    """The properties of an ELF file."""

    is_dynamic: bool  # a dynamic loader starts it
    has_fixed_addresses: bool  # addresses in the file are those in memory


@cache
def read_elf(path: Path) -> ElfFile | None:
    """None for a file that is not ELF or cannot be read."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            segments = elf.iter_segments()
            is_dynamic = any(segment.header.p_type == "PT_INTERP" for segment in segments)
            return ElfFile(is_dynamic, elf.header.e_type == "ET_EXEC")
    except (OSError, ELFError):
        return None


@dataclass(frozen=True)
class Command:
    """A command line, and where in it the programs are that a launcher starts."""

    words: Sequence[str]
    programs: Sequence[int]  # one, or several separated by `:`

    def with_environment(self, settings: Mapping[str, str]) -> list[str]:
        """The words with `env NAME=VALUE...` before each program: the launcher is unaffected. A
        `--` that ends its options is left out: not each launcher knows it."""
        assigned = [f"{name}={value}" for name, value in settings.items()]
        prefix = ["env", *assigned] if assigned else []
        words: list[str] = []
        for index, word in enumerate(self.words):
            if index in self.programs:
                words += [*prefix, word]
            elif word != "--" or index + 1 not in self.programs:
                words.append(word)
        return words


def parse(words: Sequence[str]) -> Command:
    """Raises CommlensError if there is no program."""
    launcher = command_line(words[0])
    if shutil.which(words[0]) is None:
        raise CommlensError(
            f"there is no {words[0]} on the PATH; load the module of its MPI first"
            if launcher
            else f"'{words[0]}' is not a program: it is neither an executable file nor on the PATH"
        )
    if launcher is None:
        return Command(words, [0])
    programs: list[int] = []
    start = 1
    while start < len(words) and words[start] in launcher.subcommands:
        start += 1
    while start < len(words) or not programs:
        programs.append(_program_from(words, start, launcher))
        separators = (index for index in range(start, len(words)) if words[index] == ":")
        start = next((index + 1 for index in separators if index > programs[-1]), len(words))
    return Command(words, programs)


def _program_from(words: Sequence[str], start: int, launcher: CommandLine) -> int:
    """The first word that exists as a program and is no option's value.

    After an unknown option it may be a value: then a `--` further on tells.
    """
    index = start
    is_certain = True
    missing = []
    while index < len(words) and words[index] != ":":
        word = words[index]
        if word == "--":
            return _program_after_separator(words, index)
        if word.startswith("-"):
            values = launcher.values_of(word)
            is_certain = values is not None
            index += 1 + (values or 0)
            continue
        if shutil.which(word):
            later = range(index + 1, len(words) - 1)
            end = next((n for n in later if words[n] in (":", "--")), 0)  # 0: the launcher
            is_value = not is_certain and words[end] == "--" and shutil.which(words[end + 1])
            return end + 1 if is_value else index
        is_certain = True
        missing.append(word)
        index += 1
    mistake = f"{words[0]} is given no program"
    if not missing:
        raise CommlensError(f"{mistake} to start")
    raise CommlensError(
        f"{mistake} that exists: {', '.join(map(repr, missing))} is neither an executable file nor "
        "on the PATH"
    )


def _program_after_separator(words: Sequence[str], separator: int) -> int:
    program = separator + 1
    if program == len(words):
        raise CommlensError(f"{words[0]} is given no program to start: nothing follows the --")
    if shutil.which(words[program]) is None:
        raise CommlensError(
            f"'{words[program]}' after the -- of {words[0]} is neither an executable file nor on "
            "the PATH"
        )
    return program


class NotPreloadableError(CommlensError):
    """The dynamic loader preloads nothing into the program."""


def check_preloadable(program: str) -> None:
    """Raises NotPreloadableError where a preloaded library would be ignored."""
    path = Path(shutil.which(program) or program)
    elf = read_elf(path)
    if elf is None:
        return  # a script: the library itself checks what it starts
    if not elf.is_dynamic:
        raise NotPreloadableError(
            f"{program} is statically linked, so no library can be preloaded into it: link it with "
            "the shared libraries of MPI"
        )
    about = path.stat()
    takes_user = about.st_mode & stat.S_ISUID and about.st_uid != os.geteuid()
    takes_group = about.st_mode & stat.S_ISGID and about.st_gid != os.getegid()
    if takes_user or takes_group:
        raise NotPreloadableError(
            f"{program} is setuid or setgid, so no library can be preloaded into it: start a copy "
            "of it, which is neither"
        )


@cache
def linked_libraries(program: str) -> str:
    """What ldd prints of it; empty for a script."""
    path = shutil.which(program) or program
    if read_elf(Path(path)) is None:
        return ""
    ldd = subprocess.run(["ldd", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return ldd.stdout


def family(program: str) -> str:
    """The MPI that the program is linked to: "Open MPI", "MPICH", or empty if unknown."""
    libraries = linked_libraries(program)
    if _OPEN_MPI.search(libraries):
        return "Open MPI"
    return "MPICH" if _MPICH.search(libraries) else ""
