"""The MPI library of a program, and the launchers on the PATH."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Optional

import msgspec

from commlens import knowledge
from commlens.knowledge.launchers import launcher_of_version
from commlens.machine import libraries
from commlens.machine.libraries import FileSetting, Unknown
from commlens.machine.system import Output, System

_LIBRARY = re.compile(r"libmpi(ch)?(_cray|_gnu\S*|_amd|_nvidia)?\.so[.\d]*")
_GTL = re.compile(r"libmpi_gtl_\w+\.so")
_VERSIONS = re.compile(r"\d+(?:\.\d+)+")
_LAUNCHERS = ("mpirun", "mpiexec")
_INFO = ("ompi_info", "--all", "--parsable")


class KnownMpi(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of libraries/mpi.yaml, which explains each list."""

    families: dict[str, str]
    matter: tuple[str, ...]
    looked_at: tuple[str, ...]
    of_runtime: tuple[str, ...]


_KNOWN = knowledge.load("libraries/mpi", KnownMpi)


class MpiLauncher(msgspec.Struct, frozen=True):
    """A launcher on the PATH, and whose it is."""

    path: str
    name: str  # Open MPI, MPICH; empty: it does not say
    version: str  # the first line of what it prints of it
    families: tuple[str, ...] = ()  # whose programs it starts


class MpiLibrary(msgspec.Struct, frozen=True):
    """The MPI library of a program."""

    path: str
    version: str = ""  # the first line of MPI_Get_library_version
    family: str = "other"  # cray, intel, mvapich, openmpi, mpich

    @property
    def name(self) -> str:
        """`Open MPI v5.0.7`"""
        return self.version.partition(",")[0][:80].strip() or self.path


class OpenMpi(msgspec.Struct, frozen=True):
    """What ompi_info prints."""

    version: str = ""
    gpu_support: str = ""  # true or false, of CUDA; empty: it does not say
    components: dict[str, tuple[str, ...]] = {}  # by framework: pml: ob1, ucx
    unloadable: dict[str, str] = {}  # components that cannot be loaded: why
    values: dict[str, str] = {}  # of the parameters that checks look at
    from_files: tuple[FileSetting, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    def has(self, framework: str, component: str) -> bool:
        """Whether a framework such as `pml` has a component such as `ucx`."""
        return component in self.components.get(framework, ())


class MpiView(msgspec.Struct, frozen=True):
    """The program's MPI library, its launchers, and what may be taken for them."""

    program: str = ""
    libraries: dict[str, str] = {}  # of the program that matter; an empty path: not found
    missing: tuple[str, ...] = ()
    library: Optional[MpiLibrary] = None
    others: tuple[str, ...] = ()  # other MPI libraries in LD_LIBRARY_PATH
    launchers: tuple[MpiLauncher, ...] = ()  # of the PATH, the first is the one that is used
    gpu_layer: str = ""  # Cray MPICH's GPU transport layer, if it is linked
    open_mpi: Optional[OpenMpi] = None
    pmix: str = ""  # what `srun --mpi=list` prints, in an allocation of Slurm

    @property
    def program_name(self) -> str:
        """Without its folder."""
        return self.program.rpartition("/")[2]

    @property
    def launcher_version(self) -> str:
        """Of the launcher that is used; empty without one."""
        return self.launchers[0].version if self.launchers else ""

    @property
    def pmix_line(self) -> str:
        """The beginning of what srun prints, on one line."""
        return " ".join(self.pmix.split())[:120]

    @property
    def family(self) -> str:
        """That of the library; empty without one."""
        return self.library.family if self.library else ""


def look(system: System, program: str = "") -> MpiView:
    """Asks the loader, the library, its ompi_info and the launchers."""
    loaded = libraries.loaded_by(system, program) if program else {}
    # A script that starts the program: the library is that of the tools on the PATH.
    linked = loaded or libraries.loaded_by(system, system.find("ompi_info") or "ompi_info")
    path = next((path for name, path in linked.items() if is_mpi_library(name) and path), "")
    version = libraries.version_of(system, path, "mpi") if path else ""
    library = MpiLibrary(path, version, family_of(version)) if path else None
    slurm = "SLURM_JOB_ID" in system.environment
    return MpiView(
        program=program,
        libraries={
            name: path and libraries.resolved(system, path)
            for name, path in loaded.items()
            if name.startswith(_KNOWN.matter)
        },
        missing=tuple(name for name, path in loaded.items() if not path),
        library=library,
        others=tuple(_others(system, path)),
        launchers=tuple(_launchers(system)),
        gpu_layer=next((name for name in loaded if _GTL.match(name)), ""),
        open_mpi=_open_mpi(system, library),
        pmix=system.run("srun", "--mpi=list").text if slurm else "",
    )


def is_mpi_library(name: str) -> bool:
    """`libmpi.so.40`, `libmpich.so.12`, `libmpi_cray.so.12`"""
    return _LIBRARY.fullmatch(name) is not None


def family_of(text: str) -> str:
    """The family of a library by the text of its version, or `other`."""
    names = (name for name, said in _KNOWN.families.items() if re.search(said, text, re.IGNORECASE))
    return next(names, "other")


def _open_mpi(system: System, library: Optional[MpiLibrary]) -> Optional[OpenMpi]:
    """What the ompi_info of this library says: that beside it, or on the PATH."""
    if library is not None and library.family != "openmpi":
        return None
    lib = posixpath.dirname(libraries.resolved(system, library.path)) if library else ""
    beside = [f"{posixpath.dirname(lib)}/bin/{_INFO[0]}"] if lib else []
    for program in (*beside, _INFO[0]):
        output = system.run(program, *_INFO[1:])
        if output.ok:
            info = parse_info(output, system)
            is_of_it = library is None or info.version in ("", *_VERSIONS.findall(library.version))
            return info if is_of_it else None
    return None


def _others(system: System, path: str) -> Iterator[str]:
    library = libraries.resolved(system, path)
    for folder in libraries.folders_of("LD_LIBRARY_PATH", system):
        for name in system.names(folder):
            other = libraries.resolved(system, f"{folder}/{name}")
            if re.fullmatch(r"libmpi(ch)?\.so\.\d+", name) and other != library:
                yield f"{folder}/{name}"


def _launchers(system: System) -> Iterator[MpiLauncher]:
    """The first of each folder, and none that is a link to one before."""
    seen: set[str] = set()
    for folder in libraries.folders_of("PATH", system):
        names = system.names(folder)
        program = next((name for name in _LAUNCHERS if name in names), None)
        place = libraries.resolved(system, folder)
        if program is None or place in seen:
            continue
        seen.add(place)
        output = system.run(f"{folder}/{program}", "--version")
        if not output.missing:
            yield parse_launcher(f"{folder}/{program}", output)


def parse_launcher(path: str, output: Output) -> MpiLauncher:
    """A launcher by what its --version prints."""
    said = output.text + output.error
    lines = [line.strip() for line in said.splitlines() if re.search(r"\d\.\d", line)]
    version = lines[0][:200] if lines else ""
    launcher = launcher_of_version(said)
    if launcher is None:
        return MpiLauncher(path, "", version)
    return MpiLauncher(path, launcher.name, version, launcher.mpi_families)


_PARAMETER = re.compile(r"^mca:[^:]*:[^:]*:param:(\w+):(value|source):(.*)$")
_COMPONENT = re.compile(r"^mca:(\w+):(\w+):version:")
_SYNONYM = re.compile(r":synonym(?:_of)?:name:(\w+)$")
_FILE = re.compile(r"file \((.+)\)$")
_UNLOADABLE = re.compile(r"unable to open mca_(\w+): (.*?)(?: \(ignored\))?$", re.MULTILINE)


def parse_info(output: Output, system: System) -> OpenMpi:
    """What `ompi_info --all --parsable` prints."""
    values: dict[str, str] = {}
    sources: dict[str, str] = {}
    components: dict[str, dict[str, None]] = {}
    names: set[str] = set()
    version = ""
    for line in output.text.splitlines():
        if match := _PARAMETER.match(line):
            (values if match[2] == "value" else sources)[match[1]] = match[3]
            names.add(match[1])
        elif match := _COMPONENT.match(line):
            components.setdefault(match[1], {})[match[2]] = None
        elif line.startswith("ompi:version:full:"):
            version = line.rpartition(":")[2]
        elif match := _SYNONYM.search(line):
            names.add(match[1])
    return OpenMpi(
        version,
        values.get("mpi_built_with_cuda_support", ""),
        {framework: tuple(listed) for framework, listed in components.items()},
        dict(_UNLOADABLE.findall(output.error)),
        {name: values[name] for name in _KNOWN.looked_at if name in values},
        tuple(
            FileSetting(name, values.get(name, ""), match[1])
            for name, source in sources.items()
            if (match := _FILE.match(source))
        ),
        _unknown(system, names, version),
    )


def _unknown(system: System, names: Iterable[str], version: str) -> tuple[Unknown, ...]:
    known = {f"OMPI_MCA_{name}" for name in names}
    is_whole = len(known) > 500  # less is no list of all parameters
    variables = libraries.communication_variables(system) if is_whole else {}
    library = f"Open MPI {version}"
    return libraries.unknown_variables(variables, "OMPI_MCA_", known, library, _KNOWN.of_runtime)
