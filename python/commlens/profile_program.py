"""The command line that is profiled: where the program stands in it, which MPI that is of, and which library fits."""

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

LIBRARY = "libcommlens-profile.so"
_SOURCE_TREE = Path(__file__).resolve().parents[2]
_MARK = re.compile(rb"commlens-profile is built for: ([\w .]+)")

_LAUNCHERS = re.compile(r"(mpirun|mpiexec|orterun|prterun|srun|aprun|jsrun|ibrun|flux)([._-].*)?")
# Options whose value could be taken for a program: how many words follow them.
_WORDS_AFTER = {
    **dict.fromkeys(("-n", "-np", "--np", "-c", "-N", "-x", "-H", "-host", "--host", "-hosts", "-ppn", "-f"), 1),
    **dict.fromkeys(("-hostfile", "--hostfile", "-machinefile", "--machinefile", "-wdir", "--wdir", "-genvlist"), 1),
    **dict.fromkeys(("-mca", "--mca", "-gmca", "--gmca", "-env", "-genv"), 2),
}

_OPEN_MPI = re.compile(r"\blibopen-(pal|rte)\.so|\blibmpi\.so\.[2-9]\d")
_MPICH = re.compile(r"\b(libmpich|libmpi_(cray|gnu|intel|cray_ftn)\w*)\.so|\blibmpi\.so\.12\b")


@dataclass(frozen=True)
class Library:
    path: Path
    mpi: str  # for which it was built, as "Open MPI 4.1.4"

    def fits(self, family: str) -> bool:
        return not family or self.mpi.startswith(family)


def programs(command: Sequence[str]) -> list[int]:
    """Where in the command line the programs stand that a launcher starts: one, or several with `:` between them.

    Raises CommlensError where there is none.
    """
    if not _LAUNCHERS.fullmatch(Path(command[0]).name):
        if shutil.which(command[0]) is None:
            raise CommlensError(f"'{command[0]}' is no program: it is neither an executable file nor on the PATH")
        return [0]
    if shutil.which(command[0]) is None:
        raise CommlensError(f"there is no {command[0]} on the PATH")
    found = []
    start = 1
    while start < len(command):
        position = _program_from(command, start)
        found.append(position)
        start = next((index + 1 for index in range(position, len(command)) if command[index] == ":"), len(command))
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


def preloaded(command: Sequence[str], positions: Sequence[int], settings: Mapping[str, str]) -> list[str]:
    """The command line with `env NAME=VALUE...` before each program, so that the launcher itself is not profiled."""
    words = ["env", *(f"{name}={value}" for name, value in settings.items())]
    return [word for index, own in enumerate(command) for word in ([*words, own] if index in positions else [own])]


def family(program: str) -> str:
    """The MPI that the program is linked to: "Open MPI", "MPICH", or nothing if that cannot be told.

    Raises CommlensError for a program that is linked statically.
    """
    path = shutil.which(program) or program
    if not _is_elf(Path(path)):
        return ""  # a script: what it starts will tell
    answer = subprocess.run(["ldd", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = answer.stdout + answer.stderr
    if "statically linked" in said or "not a dynamic executable" in said:
        raise CommlensError(
            f"{program} is statically linked, so that no library can be preloaded into it: link it with the shared "
            "libraries of MPI, then profile that"
        )
    if _OPEN_MPI.search(said):
        return "Open MPI"
    return "MPICH" if _MPICH.search(said) else ""


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def find_library(program: str, wanted: str, environment: Mapping[str, str] = os.environ) -> Library:
    """The profiling library for the MPI `wanted`. Raises CommlensError where there is none, or only one for another."""
    named = environment.get("COMMLENS_PROFILE_LIBRARY")
    candidates = [Path(named)] if named else _candidates()
    libraries = [library for path in candidates if (library := read_library(path))]
    if not libraries:
        raise CommlensError(
            f"COMMLENS_PROFILE_LIBRARY={named} is not {LIBRARY}"
            if named
            else f"the profiling library {LIBRARY} is missing: build it with `pip install .` or with "
            "`cmake --preset host && cmake --build --preset host`, or name it in COMMLENS_PROFILE_LIBRARY"
        )
    fitting = next((library for library in libraries if library.fits(wanted)), None)
    if fitting is None:
        raise CommlensError(
            f"{program} is linked to {wanted}, but {libraries[0].path} was built for {libraries[0].mpi}: build it for "
            f"the program's MPI (cmake -S src/profile -B build/profile -DMPI_C_COMPILER=MPICC) and name it in "
            "COMMLENS_PROFILE_LIBRARY"
        )
    return fitting


def _candidates() -> list[Path]:
    packaged = [
        path for folder in commlens.__path__ for path in sorted(Path(folder, "lib").glob("libcommlens-profile*.so"))
    ]
    built = [path for place in ("build/*", "build/*/src/profile") for path in _SOURCE_TREE.glob(f"{place}/{LIBRARY}")]
    return packaged + sorted(built, key=lambda path: path.stat().st_mtime, reverse=True)


def read_library(path: Path) -> Library | None:
    """The library in the file, if it is one."""
    try:
        mark = _MARK.search(path.read_bytes())
    except OSError:
        return None
    return Library(path.resolve(), mark[1].decode().strip()) if mark else None
