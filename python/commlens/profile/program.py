"""The command line that is profiled: its program, that program's MPI, and the library for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import commlens
from commlens.errors import CommlensError
from commlens.profile.elf import read_elf

LIBRARY = "libcommlens-profile.so"
_SOURCE_TREE = Path(__file__).resolve().parents[3]
_MARK = re.compile(rb"commlens-profile is built for: ([\w .]+)")

_LAUNCHERS = re.compile(r"(mpirun|mpiexec|orterun|prterun|srun|aprun|jsrun|ibrun|flux)([._-].*)?")
# Options whose value could be mistaken for a program, by the number of words that follow.
_OPTIONS = {
    1: "-n -np --np -c -N -x -H -host --host -hosts -ppn -f -hostfile --hostfile -machinefile "
    "--machinefile -wdir --wdir -genvlist",
    2: "-mca --mca -gmca --gmca -env -genv",
}
_WORDS_AFTER = {option: count for count, options in _OPTIONS.items() for option in options.split()}

_OPEN_MPI = re.compile(r"\blibopen-(pal|rte)\.so|\blibmpi\.so\.[2-9]\d")
_MPICH = re.compile(r"\b(libmpich|libmpi_(cray|gnu|intel|cray_ftn)\w*)\.so|\blibmpi\.so\.12\b")


@dataclass(frozen=True)
class Library:
    path: Path
    mpi: str  # for which it was built: "Open MPI 4.1.4"

    def is_for(self, family: str) -> bool:
        return not family or self.mpi.startswith(family)


def programs(command: Sequence[str]) -> list[int]:
    """The positions of the programs that a launcher starts: one, or several separated by `:`.

    Raises CommlensError if there is none.
    """
    if not _LAUNCHERS.fullmatch(Path(command[0]).name):
        if shutil.which(command[0]) is None:
            raise CommlensError(
                f"'{command[0]}' is not a program: it is neither an executable file nor on the PATH"
            )
        return [0]
    if shutil.which(command[0]) is None:
        raise CommlensError(f"there is no {command[0]} on the PATH")
    found = []
    start = 1
    while start < len(command):
        position = _program_from(command, start)
        found.append(position)
        start = next(
            (index + 1 for index in range(position, len(command)) if command[index] == ":"),
            len(command),
        )
    if not found:
        raise CommlensError(f"{command[0]} is given no program to start")
    return found


def _program_from(command: Sequence[str], start: int) -> int:
    index = start
    words = []
    while index < len(command) and command[index] != ":":
        word = command[index]
        if word.startswith("-"):
            index += 1 + _WORDS_AFTER.get(word, 0)
            continue
        if shutil.which(word):
            return index
        words.append(word)
        index += 1
    raise CommlensError(
        f"{command[0]} is given no program that exists: {', '.join(map(repr, words)) or 'nothing'} "
        "is neither an executable file nor on the PATH"
    )


def with_environment(
    command: Sequence[str], positions: Sequence[int], settings: Mapping[str, str]
) -> list[str]:
    """The command line with `env NAME=VALUE...` before each program: the launcher is unaffected."""
    prefix = ["env", *(f"{name}={value}" for name, value in settings.items())]
    words: list[str] = []
    for index, word in enumerate(command):
        words += [*prefix, word] if index in positions else [word]
    return words


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
    answer = subprocess.run(["ldd", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    libraries = answer.stdout
    if _OPEN_MPI.search(libraries):
        return "Open MPI"
    return "MPICH" if _MPICH.search(libraries) else ""


def find_library(program: str, wanted: str, environment: Mapping[str, str] = os.environ) -> Library:
    """The profiling library for the MPI family `wanted`, or CommlensError if there is none."""
    named = environment.get("COMMLENS_PROFILE_LIBRARY")
    candidates = [Path(named)] if named else _candidates()
    libraries = [library for path in candidates if (library := read_library(path))]
    if not libraries:
        raise CommlensError(
            f"COMMLENS_PROFILE_LIBRARY={named} is not {LIBRARY}"
            if named
            else f"the profiling library {LIBRARY} is missing: build it with `pip install .` or "
            "with `cmake --preset host && cmake --build --preset host`, or name it in "
            "COMMLENS_PROFILE_LIBRARY"
        )
    found = next((library for library in libraries if library.is_for(wanted)), None)
    if found is None:
        raise CommlensError(
            f"{program} is linked to {wanted}, but {libraries[0].path} was built for "
            f"{libraries[0].mpi}: build it for the program's MPI (cmake -S src/profile "
            "-B build/profile -DMPI_C_COMPILER=MPICC) and name it in COMMLENS_PROFILE_LIBRARY"
        )
    return found


def _candidates() -> list[Path]:
    packaged = [
        path
        for folder in commlens.__path__
        for path in sorted(Path(folder, "lib").glob("libcommlens-profile*.so"))
    ]
    built = [
        path
        for place in ("build/*", "build/*/src/profile")
        for path in _SOURCE_TREE.glob(f"{place}/{LIBRARY}")
    ]
    return packaged + sorted(built, key=lambda path: path.stat().st_mtime, reverse=True)


def read_library(path: Path) -> Library | None:
    """None if the file is not a profiling library."""
    try:
        mark = _MARK.search(path.read_bytes())
    except OSError:
        return None
    return Library(path.resolve(), mark[1].decode().strip()) if mark else None
