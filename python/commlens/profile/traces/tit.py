"""A trace as SimGrid's replay reads it: `smpirun -replay FOLDER/trace.tit` simulates it on a
platform of the user's. A line is an action of a rank (https://simgrid.org/doc/3.32/app_smpi.html,
"Offline simulation of MPI applications")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.profile.traces.trace import Event, Rank, Trace, executed

_FLOPS_PER_NS = 1  # a core of 1 Gflop/s computes for as long as the program did
_SAME_RANKS = {
    "MPI_Comm_dup", "MPI_Comm_dup_with_info", "MPI_Comm_idup", "MPI_Cart_create",
    "MPI_Graph_create", "MPI_Dist_graph_create", "MPI_Dist_graph_create_adjacent",
}  # fmt: skip
_NO_ACTION = (
    "MPI_Probe",
    "MPI_Iprobe",
    "MPI_Comm_free",
    "MPI_Comm_disconnect",
    "MPI_Buffer_attach",
)


def export(trace: Trace, folder: Path, write: Callable[[Path, str], None]) -> Path:
    """Writes a file for each rank, and trace.tit, which names them. Raises CommlensError, with the
    reason, for a trace that SimGrid's format cannot express."""
    names = []
    for rank in trace.ranks:
        lines = _RankWriter(trace, rank).lines()
        name = f"rank-{rank.rank}.tit"
        write(folder / name, "\n".join([*lines, ""]))
        names.append(name)
    listed = folder / "trace.tit"
    write(listed, "".join(f"{(folder / name).resolve()}\n" for name in names))
    return listed


class _RankWriter:
    """The actions of one rank."""

    def __init__(self, trace: Trace, rank: Rank) -> None:
        self._trace = trace
        self._rank = rank
        self._world = {0}  # the communicators of all ranks in the world's order
        self._slots: dict[int, str] = {}  # the words after `wait`
        self._started: dict[int, tuple[str, str]] = {}  # of persistent requests: action, and `wait`

    def lines(self) -> Iterator[str]:
        for action in self._actions():
            yield f"{self._rank.rank} {action}"

    def _actions(self) -> Iterator[str]:
        yield "init"
        for event, place in executed(self._trace.bodies[self._rank.body]):
            times = self._rank.times[place]
            if gap := times.cpu // max(1, times.count) * _FLOPS_PER_NS:
                yield f"compute {gap}"
            yield from self._action(self._trace.events[event])
        yield "finalize"

    def _action(self, event: Event) -> Iterator[str]:
        name, _, letters = self._trace.functions[event.function].partition(" ")
        fields = event.fields
        if not letters or name.startswith(_NO_ACTION):
            return
        if "C" in letters:
            if name in _SAME_RANKS and fields[0] in self._world:
                self._world.add(fields[letters.index("C")])
            return
        if "s" in letters or "q" in letters:
            yield from self._completion(name, letters, fields)
        elif "r" in letters and "t" in letters:
            yield from self._messages(name, letters, fields)
        else:
            yield from self._collective(name, letters, fields)

    def _require_world(self, name: str, letters: str, fields: tuple[int, ...]) -> None:
        if fields[letters.index("c")] not in self._world:
            raise CommlensError(
                f"rank {self._rank.rank}: {name} in a communicator of some of the ranks, which "
                "SimGrid's format does not have"
            )

    def _bytes(self, fields: tuple[int, ...], count: int) -> int:
        kind = fields[count + 1]
        return fields[count] * (self._trace.types[kind].size if kind >= 0 else 0)

    def _messages(self, name: str, letters: str, fields: tuple[int, ...]) -> Iterator[str]:
        self._require_world(name, letters, fields)
        if "endrecv" in name:
            yield from self._exchange(name, letters, fields)
            return
        rank, tag = fields[letters.index("r")], fields[letters.index("t")]
        if rank == -1:
            return
        if rank < 0 or tag < 0:
            raise CommlensError(f"rank {self._rank.rank}: {name} from an unknown rank")
        is_receive = "recv" in name.lower()
        verb = "recv" if is_receive else "send"
        size = self._bytes(fields, letters.index("n"))
        pair = (rank, self._rank.rank) if is_receive else (self._rank.rank, rank)
        wait = f"wait {pair[0]} {pair[1]} {tag}"
        if "Q" not in letters:
            yield f"{verb} {rank} {tag} {size}"
            return
        slot = fields[letters.index("Q")]
        action = f"i{verb} {rank} {tag} {size}"
        if name.endswith("_init"):
            self._started[slot] = action, wait
        else:
            self._slots[slot] = wait
            yield action

    def _exchange(self, name: str, letters: str, fields: tuple[int, ...]) -> Iterator[str]:
        to, source = (fields[at] for at, letter in enumerate(letters) if letter == "r")
        sent, received = (fields[at] for at, letter in enumerate(letters) if letter == "t")
        counts = [at for at, letter in enumerate(letters) if letter == "n"]
        sizes = self._bytes(fields, counts[0]), self._bytes(fields, counts[-1])
        if to >= 0:
            yield f"isend {to} {sent} {sizes[0]}"
        if source >= 0:
            yield f"recv {source} {received} {sizes[1]}"
        if to >= 0:
            yield f"wait {self._rank.rank} {to} {sent}"

    def _completion(self, name: str, letters: str, fields: tuple[int, ...]) -> Iterator[str]:
        at = letters.index("s" if "s" in letters else "q")
        slots = [fields[at]] if letters[at] == "q" else [*self._trace.arrays[fields[at]]]
        if name in ("MPI_Start", "MPI_Startall"):
            for slot in slots:
                if slot in self._started:
                    action, self._slots[slot] = self._started[slot]
                    yield action
            return
        if letters.endswith("f") and not fields[-1]:
            return
        if letters.endswith("i"):
            slots = [slots[fields[-1]]] if fields[-1] >= 0 else []
        elif letters.endswith("I"):
            slots = [slots[index] for index in self._trace.arrays[fields[-1]]]
        if name.startswith(("MPI_Wait", "MPI_Test")):
            for slot in slots:
                if wait := self._slots.pop(slot, ""):
                    yield wait

    def _collective(self, name: str, letters: str, fields: tuple[int, ...]) -> Iterator[str]:
        self._require_world(name, letters, fields)
        root = fields[letters.index("r")] if "r" in letters else 0
        counts = [at for at, letter in enumerate(letters) if letter == "n"]
        sizes = [self._bytes(fields, at) for at in counts]
        largest, last = max(sizes, default=0), sizes[-1] if sizes else 0
        actions = {
            "MPI_Barrier": "barrier",
            "MPI_Bcast": f"bcast {last} {root}",
            "MPI_Reduce": f"reduce {last} 0 {root}",
            "MPI_Allreduce": f"allreduce {last} 0",
            "MPI_Scan": f"scan {last} 0",
            "MPI_Exscan": f"exscan {last} 0",
            "MPI_Allgather": f"allgather {last} {last}",
            "MPI_Alltoall": f"alltoall {last} {last}",
            "MPI_Gather": f"gather {largest} {largest} {root}",
            "MPI_Scatter": f"scatter {largest} {largest} {root}",
        }
        if name not in actions:
            raise CommlensError(f"{name} has no action in SimGrid's format")
        yield actions[name]
