"""Reads the tables of MPI functions in functions/ (README.md there explains the format), and which
of them a header declares."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

_FUNCTION = re.compile(
    r"(?:(?P<result>\w+) )?(?P<name>MPI_\w+)\((?P<parameters>[^()]*)\)(?P<roles>(?: \S+=\S+)*)$"
)
_PARAMETER = re.compile(r"(?P<type>.*?)(?P<name>\w+)(?P<array>(?:\[\d*\])*)$")

# Types that differ between a function and its large-count form.
_TYPES = {
    "COUNT": ("int", "MPI_Count"),
    "DISPLACEMENT": ("int", "MPI_Aint"),
    "ADDRESS": ("MPI_Aint", "MPI_Count"),
}


@dataclass(frozen=True)
class Parameter:
    type: str  # as in C, without the name; an array as a pointer
    name: str

    @property
    def is_string(self) -> bool:
        return self.type.replace("const ", "").startswith("char")


@dataclass(frozen=True)
class Function:
    name: str
    group: str
    result: str
    parameters: tuple[Parameter, ...]
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def starts_request(self) -> bool:
        """Whether it starts what a later call completes. `MPI_Start` has a role of its own."""
        last = self.parameters[-1:]
        makes_request = last == (Parameter("MPI_Request *", "request"),)
        is_persistent = self.name.removesuffix("_c").endswith("_init")
        return makes_request and self.group != "request" and not is_persistent


def read_tables(folder: Path) -> list[Function]:
    functions: list[Function] = []
    for path in sorted(folder.glob("*.txt")):
        groups: list[str] = []
        for number, line in _logical_lines(path.read_text(encoding="utf-8")):
            if line.startswith("["):
                groups = [group.strip() for group in line.strip("[]").split(",")]
                continue
            match = _FUNCTION.match(line)
            if match is None:
                raise SystemExit(f"{path}:{number}: not a function: {line}")
            for function in _forms(_function(match), groups):
                functions += _sizes(function)
    return functions


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with those that continue it, and its number."""
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(" "):
            first, start = lines.pop()
            lines.append((first, f"{start} {line.strip()}"))
        elif line:
            lines.append((number, line))
    yield from lines


def _function(match: re.Match[str]) -> Function:
    parameters = tuple(_parameter(part) for part in match["parameters"].split(",") if part)
    roles = dict(role.split("=", 1) for role in match["roles"].split())
    communicators = [own.name for own in parameters if own.type == "MPI_Comm"]
    if communicators:
        roles.setdefault("comm", communicators[0])
    if roles.get("comm") == "none":
        del roles["comm"]
    return Function(match["name"], "", match["result"] or "int", parameters, roles)


def _parameter(text: str) -> Parameter:
    match = _PARAMETER.match(text.strip())
    assert match is not None, text
    kind = match["type"].strip()
    dimensions = re.findall(r"\[\d*\]", match["array"])
    if len(dimensions) == 2:
        return Parameter(f"{kind} (*){dimensions[1]}", match["name"])
    return Parameter(f"{kind} *" if dimensions else kind, match["name"])


def _forms(function: Function, groups: list[str]) -> Iterator[Function]:
    """The function, and its nonblocking and persistent forms where these have groups."""
    yield replace(function, group=groups[0])
    if len(groups) == 1:
        return
    request = Parameter("MPI_Request *", "request")
    prefix, _, rest = function.name.partition("_")
    nonblocking = f"{prefix}_I{rest[0].lower()}{rest[1:]}"
    yield replace(
        function, name=nonblocking, group=groups[1], parameters=(*function.parameters, request)
    )
    yield replace(
        function,
        name=f"{function.name}_init",
        group=groups[2],
        parameters=(*function.parameters, Parameter("MPI_Info", "info"), request),
        roles={
            **function.roles,
            **({"persistent": "request"} if "bytes" in function.roles else {}),
        },
    )


def _sizes(function: Function) -> Iterator[Function]:
    """The function, and its large-count form where it has one."""
    normal = tuple(_with_types(function.parameters, 0))
    yield replace(function, parameters=normal)
    large = tuple(_with_types(function.parameters, 1))
    if large != normal:
        yield replace(function, name=f"{function.name}_c", parameters=large)


def _with_types(parameters: Iterable[Parameter], form: int) -> Iterator[Parameter]:
    for parameter in parameters:
        kind = parameter.type
        for word, types in _TYPES.items():
            kind = re.sub(rf"\b{word}\b", types[form], kind)
        yield replace(parameter, type=kind)


def declared_in_header(compiler: list[str]) -> set[str]:
    """The functions of the mpi.h that the compiler, with these options, includes."""
    header = subprocess.run(
        [*compiler, "-E", "-x", "c", "-"],
        input="#include <mpi.h>\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return set(re.findall(r"\b(MPI_\w+)\s*\(", header))
