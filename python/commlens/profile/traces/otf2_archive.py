"""A trace as an OTF2 archive, which Vampir and `otf2-print` read. The module `otf2` writes it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from commlens.base.errors import CommlensError, reason
from commlens.profile.traces.communicators import Communicator, world
from commlens.profile.traces.linked import Communication, LinkedCall, linked_calls
from commlens.profile.traces.trace import Trace

_NS_PER_S = 1_000_000_000


def export(trace: Trace, folder: Path) -> Path:
    """Writes the archive into a new folder. Raises CommlensError, with the reason, for what cannot
    be written."""
    otf2 = _module()
    walked = linked_calls(trace)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommlensError(f"--otf2 {folder}: it is there and not empty; name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with otf2.writer.open(str(folder), timer_resolution=_NS_PER_S) as archive:
            _Archive(otf2, archive, trace).write(walked)
    except (OSError, otf2.error.TraceWriterError, importlib.import_module("_otf2").Error) as error:
        raise CommlensError(
            f"--otf2 {folder}: an archive cannot be written ({reason(error)})"
        ) from None
    return folder / "traces.otf2"


def _module() -> Any:
    try:
        return importlib.import_module("otf2")
    except ImportError as error:
        raise CommlensError(
            f"--otf2 needs the Python module otf2, which cannot be imported ({error}): "
            "`pip install otf2`"
        ) from None


class _Archive:
    """Definitions first, then the events of each rank."""

    def __init__(self, otf2: Any, archive: Any, trace: Trace) -> None:
        self._otf2 = otf2
        self._archive = archive
        self._trace = trace
        self._mpi = otf2.Paradigm.MPI
        define = archive.definitions
        root = define.system_tree_node("machine", parent=None)
        self._locations: dict[int, Any] = {}
        for rank in world(trace).ranks:
            process = define.location_group(f"MPI rank {rank}", system_tree_parent=root)
            self._locations[rank] = define.location(f"rank {rank}", group=process)
        define.group(
            "MPI", otf2.GroupType.COMM_LOCATIONS, self._mpi, members=[*self._locations.values()]
        )
        self._program = define.region("program", source_file="")
        self._regions = {
            name: define.region(name, paradigm=self._mpi)
            for name in (own.split(" ")[0] for own in trace.functions)
        }
        self._communicators: dict[Communicator, Any] = {}

    def write(self, walked: Mapping[int, Iterable[LinkedCall]]) -> None:
        for rank, listed in walked.items():
            writer = self._archive.event_writer_from_location(self._locations[rank])
            end = 0
            writer.enter(0, self._program)
            for linked in listed:
                self._write_call(writer, linked)
                end = linked.call.end
            writer.leave(end, self._program)

    def _write_call(self, writer: Any, linked: LinkedCall) -> None:
        """Consecutive tests without result are one execution, and as many calls as there were."""
        region, call = self._regions[linked.call.name], linked.call
        for begin, end in call.parts():
            writer.enter(begin, region)
            if begin == call.begin:
                for own in linked.begun:
                    self._write_begin(writer, begin, own)
            if end == call.end:
                for own in linked.ended:
                    self._write_end(writer, end, own)
            writer.leave(end, region)

    def _communicator(self, own: Communicator) -> Any:
        """An intercommunicator is one of all its ranks."""
        if own not in self._communicators:
            define, name = self._archive.definitions, f"{own.made_by} {len(self._communicators)}"
            members = [self._locations[rank] for rank in own.ranks]
            kind = self._otf2.GroupType.COMM_GROUP
            group = define.groups.create(name, kind, self._mpi, members=members)
            self._communicators[own] = define.comms.create(
                name, group, _type=self._otf2.definitions.Comm
            )
        return self._communicators[own]

    def _write_begin(self, writer: Any, now: int, own: Communication) -> None:
        if own.kind == "collective":
            if _operation(own.name) is None:
                return
            if own.has_request:
                writer.non_blocking_collective_request(now, own.number)
            else:
                writer.mpi_collective_begin(now)
        elif own.kind == "send":
            communicator = self._communicator(own.communicator)
            message = (own.partner, communicator, own.tag, own.sent)
            if own.has_request:
                writer.mpi_isend(now, *message, own.number)
            else:
                writer.mpi_send(now, *message)
        elif own.has_request:
            writer.mpi_irecv_request(now, own.number)

    def _write_end(self, writer: Any, now: int, own: Communication) -> None:
        request = (own.number,) if own.has_request else ()
        if own.kind == "collective":
            name = _operation(own.name)
            if name is None:
                return
            end = writer.non_blocking_collective_complete if request else writer.mpi_collective_end
            roots = self._otf2.CollectiveRoot
            root = {-1: roots.NONE.value, -3: roots.SELF.value}.get(own.peer, own.partner)
            end(
                now, getattr(self._otf2.CollectiveOp, name), self._communicator(own.communicator),
                root, own.sent, own.received, *request,
            )  # fmt: skip
        elif own.kind == "send":
            if request:
                writer.mpi_isend_complete(now, *request)
        elif own.other is not None:
            source = own.communicator.ranks.index(own.other.rank)
            receive = writer.mpi_irecv if request else writer.mpi_recv
            comm = self._communicator(own.communicator)
            receive(now, source, comm, own.other.tag, own.other.sent, *request)
        elif request:
            writer.mpi_request_cancelled(now, *request)


def _operation(function: str) -> str | None:
    """OTF2's name of the collective; None: it has none."""
    name = function.removeprefix("MPI_").removesuffix("_c").removesuffix("_init").upper()
    if name.startswith("I") and not name.startswith("IN_"):
        name = name[1:]
    return None if name.startswith("NEIGHBOR") else name
