"""UCX below MPI, and NCCL or RCCL: their versions, what they have here, and their settings."""

import posixpath
import re
from typing import Optional

import msgspec

from commlens import knowledge
from commlens.machine import libraries
from commlens.machine.libraries import FileSetting, Unknown
from commlens.machine.mpi import MpiView
from commlens.machine.system import System, group_in

_LIBRARY = "libucp.so.0"
_MODULE = re.compile(r"lib(uct_\w+|ucx_\w+)\.so")
_CONFIGURED = r"^# [Cc]onfigured with: (.*?)\s*$"
_VERSION = r"^# (?:Library version: |Version |UCT version=)(\S+)"
_INFO_LIBRARY = r"^# Library path: (/\S+)"
_TRANSPORT = re.compile(r"^# +Transport: (\S+)", re.MULTILINE)
_DEVICE = re.compile(r"^# +Device: (\S+)", re.MULTILINE)
_MODULES = re.compile(r'^#define (uct\w*)_MODULES\s+"([^"]*)"', re.MULTILINE)
_NAME = re.compile(r"^#?\s?(UCX_\w+)=", re.MULTILINE)
_LIBRARIES = ("libnccl.so.2", "librccl.so.1")
_OF_IMAGES = ("NCCL_VERSION",)  # which containers of CUDA set, to say what is in them


class UcxTransports(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of libraries/ucx.yaml, which explains each list."""

    gpus: dict[str, str]
    for_gpu_memory: dict[str, tuple[str, ...]]
    without_shared_memory: frozenset[str]


def known_transports() -> UcxTransports:
    """What is known of UCX's transports."""
    return knowledge.load("libraries/ucx", UcxTransports)


class UcxView(msgspec.Struct, frozen=True):
    """The UCX of the MPI library, and what its ucx_info prints."""

    library: str = ""  # the one that the MPI library loads; empty: it uses none
    version: str = ""
    configured: str = ""  # the options of configure
    modules: Optional[tuple[str, ...]] = None  # uct_cuda, uct_ib ...; None: cannot be seen
    missing: dict[str, tuple[str, ...]] = {}  # by module: the libraries that are not found
    transports: Optional[tuple[str, ...]] = None  # those that ucx_info finds here
    devices: tuple[str, ...] = ()
    gdrcopy: str = ""  # where the loader finds its library
    unknown: tuple[Unknown, ...] = ()
    why_not_seen: str = ""  # of transports and names: `ucx_info: not installed`

    @property
    def name(self) -> str:
        """`UCX 1.18.0`"""
        return f"UCX {self.version}".strip()

    def has_module(self, name: str) -> bool:
        """Whether UCX has a module such as `uct_cuda`."""
        return name in (self.modules or ())


def look_at_ucx(system: System, mpi: MpiView) -> UcxView:
    """Asks the loader, the library and its ucx_info."""
    library = _library_of(system, mpi)
    if not library:
        return UcxView(why_not_seen="the MPI library does not use UCX")
    about, transports = system.run("ucx_info", "-v"), system.run("ucx_info", "-d")
    seen, build = transports.text, system.run("ucx_info", "-b")
    version = libraries.version_of(system, library, "ucx") or group_in(about.text, _VERSION) or ""
    matches = about.ok and _is_of(system, library, version, about.text)
    folder = posixpath.join(posixpath.dirname(libraries.resolved(system, library)), "ucx")
    files = {match[1]: name for name in system.names(folder) if (match := _MODULE.match(name))}
    modules = tuple(files) or tuple(_modules_of_build(build.text)) if matches or files else None
    why_not = f"ucx_info: {about.missing}" if about.missing else "ucx_info is that of another UCX"
    return UcxView(
        library,
        version,
        (group_in(about.text, _CONFIGURED) or "") if matches else "",
        modules,
        _missing(system, folder, files),
        tuple(dict.fromkeys(_TRANSPORT.findall(seen))) if matches and transports.ok else None,
        tuple(dict.fromkeys(_DEVICE.findall(seen))) if matches else (),
        libraries.find_library(system, "libgdrapi.so.2"),
        _unknown(system, version) if matches else (),
        "" if matches else why_not,
    )


def _library_of(system: System, mpi: MpiView) -> str:
    """Linked with the program's MPI library, or with its component that is loaded later."""
    if path := mpi.libraries.get(_LIBRARY):
        return path
    if mpi.library is None:
        return ""
    needed = libraries.loaded_by(system, mpi.library.path)
    if path := needed.get(_LIBRARY):
        return path
    for line in system.run("ompi_info", "--path", "pkglibdir", "--parsable").text.splitlines():
        if line.startswith("path:pkglibdir:"):
            component = f"{line.partition('pkglibdir:')[2]}/mca_pml_ucx.so"
            return libraries.loaded_by(system, component).get(_LIBRARY, "")
    return ""


def _is_of(system: System, library: str, version: str, about: str) -> bool:
    """Whether ucx_info is that of this library; that of an old UCX prints its version alone."""
    said = group_in(about, _INFO_LIBRARY)
    if not said:
        return (group_in(about, _VERSION) or "") == version
    reported, other = (libraries.resolved(system, path) for path in (said, library))
    return posixpath.dirname(reported) == posixpath.dirname(other)


def _modules_of_build(text: str) -> list[str]:
    """`uct_cuda`, `uct_cuda_gdrcopy` of `#define uct_cuda_MODULES ":gdrcopy"`"""
    listed = _MODULES.findall(text)
    return [f"{parent}_{name}" for parent, names in listed for name in names.split(":") if name]


def _missing(system: System, folder: str, files: dict[str, str]) -> dict[str, tuple[str, ...]]:
    missing = {}
    for module, name in files.items():
        if module.startswith(("uct_cuda", "uct_rocm", "uct_ib")):
            needed = libraries.loaded_by(system, f"{folder}/{name}")
            if lost := tuple(file for file, path in needed.items() if not path):
                missing[module] = lost
    return missing


def _unknown(system: System, version: str) -> tuple[Unknown, ...]:
    variables = libraries.communication_variables(system)
    if not any(name.startswith("UCX_") for name in variables):
        return ()
    known = set(_NAME.findall(system.run("ucx_info", "-caf").text))
    return libraries.unknown_variables(variables, "UCX_", known, f"UCX {version}") if known else ()


class NcclView(msgspec.Struct, frozen=True):
    """NCCL or RCCL, and its settings in files."""

    library: str = ""  # that of the program, or the one that the loader finds
    version: str = ""
    from_files: tuple[FileSetting, ...] = ()
    unknown: tuple[Unknown, ...] = ()


def look_at_nccl(system: System, mpi: MpiView) -> NcclView:
    """Asks the loader and the library, and reads the files of settings."""
    library = next((mpi.libraries[name] for name in _LIBRARIES if name in mpi.libraries), "")
    of_loader = (libraries.find_library(system, name) for name in _LIBRARIES)
    library = library or next(filter(None, of_loader), "")
    version = version_text(libraries.version_of(system, library, "nccl")) if library else ""
    settings = tuple(_settings(system))
    if "rccl" in library:  # which has names of its own
        return NcclView(library, version, settings)
    variables = {setting.name: setting.value for setting in settings}
    variables.update(libraries.communication_variables(system))
    known = [f"NCCL_{name}" for name in knowledge.load("libraries/nccl-variables", list[str])]
    unknown = libraries.unknown_variables(variables, "NCCL_", known, "NCCL", _OF_IMAGES)
    return NcclView(library, version, settings, unknown)


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
    user_file = system.environment.get("NCCL_CONF_FILE") or f"{home}/.nccl.conf"
    settings: dict[str, FileSetting] = {}
    for path in (user_file, "/etc/nccl.conf"):
        for number, line in enumerate((system.read(path) or "").splitlines(), start=1):
            name, equals, value = line.strip().partition("=")
            if equals and name.startswith("NCCL_"):
                settings.setdefault(name, FileSetting(name, value, f"{path}:{number}"))
    return list(settings.values())
