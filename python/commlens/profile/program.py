"""The command line that is profiled: its program, that program's MPI, and the library for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

import commlens
from commlens.base.errors import CommlensError
from commlens.knowledge.launchers import CommandLine, command_line

LIBRARY = "libcommlens-profile.so"
_SOURCE_TREE = Path(__file__).resolve().parents[3]
_MARK = re.compile(rb"commlens-profile is built for: ([\w .]+)")

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
class ProfilingLibrary:
    """A built profiling library, and the MPI that it is for."""

    path: Path
    mpi: str  # for which it was built: "Open MPI 4.1.4"


@dataclass(frozen=True)
class Command:
    """A command line, and where in it the programs are that a launcher starts."""

    words: Sequence[str]
    programs: Sequence[int]  # one, or several separated by `:`

    def with_environment(self, settings: Mapping[str, str]) -> list[str]:
        """The words with `env NAME=VALUE...` before each program: the launcher is unaffected. A
        `--` that ends its options is left out: not each launcher knows it."""
        prefix = ["env", *(f"{name}={value}" for name, value in settings.items())]
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


def family(program: str) -> str:
    """The MPI that the program is linked to: "Open MPI", "MPICH", or empty if unknown.

    Raises CommlensError for a program that is linked statically.
    """
    path = shutil.which(program) or program
    elf = read_elf(Path(path))
    if elf is None:
        return ""  # a script: the library itself checks what it starts
    if not elf.is_dynamic:
        raise CommlensError(
            f"{program} is statically linked, so no library can be preloaded into it: link it with "
            "the shared libraries of MPI"
        )
    ldd = subprocess.run(["ldd", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if _OPEN_MPI.search(ldd.stdout):
        return "Open MPI"
    return "MPICH" if _MPICH.search(ldd.stdout) else ""


def find_library(
    program: str, wanted: str, environment: Mapping[str, str] = os.environ
) -> ProfilingLibrary:
    """The profiling library for the MPI family `wanted`, or CommlensError if there is none."""
    named = environment.get("COMMLENS_PROFILE_LIBRARY")
    candidates = [Path(named)] if named else _candidates()
    libraries = [library for path in candidates if (library := read_library(path))]
    if not libraries:
        raise CommlensError(
            f"COMMLENS_PROFILE_LIBRARY={named} is not {LIBRARY}"
            if named
            else f"the profiling library {LIBRARY} is missing: build it with `commlens build` or "
            "with `cmake --preset host && cmake --build --preset host`, or name it in "
            "COMMLENS_PROFILE_LIBRARY"
        )
    matching = next((library for library in libraries if library.mpi.startswith(wanted)), None)
    if matching is None:
        raise CommlensError(
            f"{program} is linked to {wanted}, but {libraries[0].path} was built for "
            f"{libraries[0].mpi}: build it for the program's MPI (cmake -S src/profile "
            "-B build/profile -DMPI_C_COMPILER=MPICC) and name it in COMMLENS_PROFILE_LIBRARY"
        )
    return matching


def _candidates() -> list[Path]:
    packaged = [
        path
        for folder in commlens.__path__
        for path in sorted(Path(folder, "lib").rglob("libcommlens-profile*.so"))
    ]
    built = [
        path
        for place in ("build/*", "build/*/src/profile")
        for path in _SOURCE_TREE.glob(f"{place}/{LIBRARY}")
    ]
    return packaged + sorted(built, key=lambda path: path.stat().st_mtime, reverse=True)


def read_library(path: Path) -> ProfilingLibrary | None:
    """None if the file is not a profiling library."""
    try:
        mark = _MARK.search(path.read_bytes())
    except OSError:
        return None
    return ProfilingLibrary(path.resolve(), mark[1].decode().strip()) if mark else None
