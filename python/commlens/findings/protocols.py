"""Which variable decides the protocol of a message by its size, in the library that carries it."""

from __future__ import annotations

import msgspec

from commlens import knowledge
from commlens.findings.disturbance import is_on_gpu
from commlens.model import Record

_DATA = "libraries/protocol-switches"


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable, two values that are worth a comparison, and the records that it is for."""

    name: str
    values: tuple[str, str]
    transport: str = ""
    mpi: str = ""  # part of the library's name
    version: str = ""  # the first number of its version
    variables: dict[str, str] = {}
    on_gpu: bool = False  # MPI is given GPU memory, which `staged` has brought to the host before
    between_nodes: bool = False

    def is_for(self, record: Record) -> bool:
        """Whether the variable steers the library that carries the record's bytes."""
        library = record.start.mpi.lower()
        on_gpu = record.transport != "staged" and is_on_gpu(record.memory)
        major = library.rpartition(" ")[2].lstrip("v").partition(".")[0]
        environment = record.start.environment
        return (
            self.transport in ("", record.transport)
            and self.mpi in library
            and self.version in ("", major)
            and all(environment.get(name) == value for name, value in self.variables.items())
            and (on_gpu or not self.on_gpu)
            and (record.start.nodes > 1 or not self.between_nodes)
        )


class Switches(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of libraries/protocol-switches.yaml."""

    switches: list[Switch]


def _switches() -> list[Switch]:
    return knowledge.load(_DATA, Switches).switches


def switch_of(record: Record) -> Switch | None:
    """None where the variables of the library are not known."""
    return next((one for one in _switches() if one.is_for(record)), None)


def switches() -> list[str]:
    """The variables of all libraries, each once."""
    return list(dict.fromkeys(one.name for one in _switches()))
