"""The libraries that can be preloaded, and the built one for the MPI of a program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import commlens
from commlens.base.errors import CommlensError

_SOURCE_TREE = Path(__file__).resolve().parents[4]


@dataclass(frozen=True)
class Preload:
    """A library: its name stands in those of its file, its folder in src/ and its variables."""

    name: str
    called: str
    folder_variable: str  # the folder into which ranks write; without it the library does nothing

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"libcommlens-{self.name}.so"

    @property
    def variable(self) -> str:
        """By which the user names the file."""
        return f"COMMLENS_{self.name.upper()}_LIBRARY"


PROFILE = Preload("profile", "profiling library", "COMMLENS_PROFILE_OUT")
REROUTE = Preload("reroute", "rerouting library", "COMMLENS_REROUTE_DIR")
PRELOADS = (PROFILE, REROUTE)


@dataclass(frozen=True)
class BuiltLibrary:
    """A built library, and the MPI that it is for."""

    path: Path
    mpi: str  # for which it was built: "Open MPI 4.1.4"

    def preloaded(self) -> str:
        """The value of LD_PRELOAD, with what is preloaded anyway."""
        return ":".join(filter(None, [str(self.path), os.environ.get("LD_PRELOAD")]))


def check_alone(preload: Preload, environment: Mapping[str, str] = os.environ) -> None:
    """Raises CommlensError where the other library is at work: the wrappers of one call MPI, not
    those of the other."""
    for other in PRELOADS:
        if other != preload and environment.get(other.folder_variable):
            raise CommlensError(
                f"`commlens {preload.name}` cannot run within `commlens {other.name}`: "
                f"{other.folder_variable} is set; run one without the other"
            )


def find_library(
    preload: Preload, program: str, wanted: str, environment: Mapping[str, str] = os.environ
) -> BuiltLibrary:
    """The library for the MPI family `wanted`. Raises CommlensError if there is none."""
    named = environment.get(preload.variable)
    candidates = [Path(named)] if named else _candidates(preload)
    libraries = [library for path in candidates if (library := read_library(preload, path))]
    if not libraries:
        raise CommlensError(
            f"{preload.variable}={named} is not {preload.file}"
            if named
            else f"the {preload.called} {preload.file} is missing: build it with `commlens build` "
            "or with `cmake --preset host && cmake --build --preset host`, or name it in "
            f"{preload.variable}"
        )
    matching = next((library for library in libraries if library.mpi.startswith(wanted)), None)
    if matching is None:
        raise CommlensError(
            f"{program} is linked to {wanted}, but {libraries[0].path} was built for "
            f"{libraries[0].mpi}: build it for the program's MPI (cmake -S src/{preload.name} "
            f"-B build/{preload.name} -DMPI_C_COMPILER=MPICC) and name it in {preload.variable}"
        )
    return matching


def _candidates(preload: Preload) -> Iterator[Path]:
    for folder in commlens.__path__:
        yield from sorted(Path(folder, "lib").rglob(f"libcommlens-{preload.name}*.so"))
    places = ("build/*", f"build/*/src/{preload.name}")
    built = [path for place in places for path in _SOURCE_TREE.glob(f"{place}/{preload.file}")]
    yield from sorted(built, key=lambda path: path.stat().st_mtime, reverse=True)


def read_library(preload: Preload, path: Path) -> BuiltLibrary | None:
    """None if the file is not this library."""
    mark = re.compile(rb"commlens-%b is built for: ([\w .]+)" % preload.name.encode())
    try:
        found = mark.search(path.read_bytes())
    except OSError:
        return None
    return BuiltLibrary(path.resolve(), found[1].decode().strip()) if found else None
