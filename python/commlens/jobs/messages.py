"""What launchers write when a rank fails: pages around one fact. This keeps the fact and holds the
pages back."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# Open MPI puts its messages between two such lines, on the standard error.
_DASHES = re.compile(r"-{60,}")
_DASHED_BLOCKS = re.compile(
    r"Primary job\s+terminated normally"
    r"|noticed that process rank"
    r"|noticed that the job aborted"
    r"|detected that one or more processes exited with non-zero status"
    r"|has exited due to\s+(a\s+)?process\s"
    r"|MPI_ABORT was invoked on rank"
    r"|No components were able to be opened in the\s+pml framework"
    r"|MPI communication peer process has unexpectedly disconnected"
    r"|Open MPI failed to TCP connect to a peer MPI process"
    r"|ORTE has lost communication with a remote daemon"
    r"|PRTE has lost communication with a remote daemon"
    r"|was unable to create the desired directory"
    r"|(ORTE|PRTE) daemon has unexpectedly failed"
    r"|(orte|prte)_init failed for some reason"
)

# MPICH's launcher writes to the standard output, among the program's own lines.
_LONGEST_SENTENCE = 200

_BOX_EDGE = re.compile(r"={60,}")
_BOX_TITLE = re.compile(r"=\s+BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES")
_BOX_LINE = re.compile(
    r"=|YOUR APPLICATION TERMINATED|This typically refers to|Please see the FAQ page"
)

_MPIEXEC_LINE = re.compile(r"\[mpiexec@[^]]*\] ")

_SINGLE_LINES = re.compile(
    r"srun: (error: \S+: tasks? |error: Node failure on |Job step aborted"
    r"|(Force )?Terminat(ing|ed) (StepId|job step)|launch/slurm: _?step|forcing job)"
    r"|slurmstepd\S*: error: \*\*\* (STEP|JOB) "
    r"|flux-job: task\(s\) "
    r"|[\d.]+s: (flux-shell\[|job\.exception )"
    r"|ERROR:\s+One or more process \(first noticed rank"
    r"|\[[^]]*\] \d+ more process(es)? ha(s|ve) sent help message"
    r"|\[[^]]*\] Set MCA parameter \"\w*help_aggregate\""
    r"|\[[^]]*\] PMIX ERROR: (PMIX_ERR_UNREACH|.* in file \S*/(dstore|gds_ds)\w+\.c)"
    r"|\[[^]]*\] \[\[[^]]*\],\w+\] ORTE_ERROR_LOG: "
    # Of mpirun's libevent, which closes the pipes of a rank that was killed.
    r"|\[warn\] Epoll \w+\(\d+\) on fd \d+ failed"
    r"|\[[^]]*\] mca_base_component_repository_open: .*\(ignored\)$"
    r"|\[[^]]*\] \S*osc_ucx_component.c:\d+\s+Error: OSC UCX component priority set inside "
    r"component query failed"
    r"|\[[^]]*\] PML \w+ cannot be selected"
    # Of the ranks that lose a peer.
    r"|\[[^]]*\]\[\[[^]]*\],\w+\]\[\S*btl_tcp_\w+\.c:"
    r"|\[(mpiexec|proxy:)[^]]*\] "
    r"|(mpirun|mpiexec|prterun): (abort is|Forwarding signal)"
    r"|\S*: abort is already in progress|Abort is in progress"
    # The program's own, but it may only say that the launcher ends the others after the first.
    r"|commlens: ended by SIG"
)

# Open MPI's page on a rank that exits with status 0 too early; Open MPI 5 breaks its lines anew.
_DEPARTURE = re.compile(
    r"process\s+rank\s+(?P<rank>\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+\S+\s+exiting\s+improperly"
    r"|process\s+exiting\s+without\s+calling\s+.finalize"
)
_LOST_NODE = re.compile(
    r"srun: error: Node failure on (?P<srun>[^\s;]+)"
    r"|has lost communication with a remote daemon\.\s+(.*\n)*?.*"
    r"Remote daemon\s*: \S+ on node (?P<mpirun>\S+)"
)
# Open MPI's mpirun keeps sockets and files in a folder of each node, and has a daemon on each.
_NO_FOLDER = re.compile(
    r"unable to create the desired directory:\s+Directory:\s+(?P<folder>\S+)"
    r"\s+Error:\s+(?P<error>.*)"
)
_NO_DAEMON = re.compile(r"(ORTE|PRTE) daemon has unexpectedly failed")
# Its PMIx has files there. It complains without harm, too: a rank must have failed in MPI_Init, by
# the page on orte_init. Where mpirun's own PMIx has no room, mpirun says that and loses pages: what
# is left of the rank is what the rank itself writes.
_PMIX_FILES = r"\[(?P<node>[^]:]+):\d+\] PMIX ERROR: {error} in file \S*/(dstore|gds_ds)\w+\.c"
_NO_PMIX_FILES = (
    (
        re.compile(_PMIX_FILES.format(error=".*")),
        re.compile(r"(orte|prte)_init failed for some reason"),
    ),
    (
        re.compile(_PMIX_FILES.format(error="OUT-OF-RESOURCE")),
        re.compile(r"\*\*\* An error occurred in MPI_Init"),
    ),
)
_ENDING = re.compile(r"^commlens: ended by (?P<name>SIG\w+).*$", re.MULTILINE)

_SIGNALS_BY_DESCRIPTION = {
    signal.strsignal(number): int(number) for number in signal.valid_signals()
}
_DESCRIPTIONS = "|".join(re.escape(text) for text in _SIGNALS_BY_DESCRIPTION if text)
_DEATHS = (
    re.compile(
        r"process rank (?P<rank>\d+) with PID \d+ on node (?P<node>\S+)"
        r"\s+exited on\s+signal (?P<number>\d+)"
    ),
    re.compile(r"first noticed rank (?P<rank>\d+)\) terminated with signal (?P<number>\d+)"),
    re.compile(
        rf"srun: error: (?P<node>\S+): tasks? (?P<rank>\d+)[^:]*: (?P<description>{_DESCRIPTIONS})"
    ),
    re.compile(r"EXIT STRING: .*\(signal (?P<number>\d+)\)"),
    re.compile(rf"flux-job: task\(s\) (?P<description>{_DESCRIPTIONS})"),
)


@dataclass(frozen=True)
class Death:
    """A rank that a signal ended; `rank` is None where the launcher does not say which."""

    rank: int | None
    signal: int
    node: str = field(default="", compare=False)  # where the launcher says so

    def told(self, *, with_node: bool) -> str:
        where = f" on {self.node}" if with_node and self.node else ""
        how = f"signal {self.signal}, {signal.strsignal(self.signal)}"
        return f"{_who(self.rank)}{where} died ({how})"


@dataclass(frozen=True)
class Ending:
    """What the native program says when it catches a signal that asks it to end."""

    line: str
    signal: int


def death(launcher_said: str, status: int) -> Death | None:
    """Which rank died and of what, from what the launcher said, else from its exit status in a
    shell's manner."""
    for pattern in _DEATHS:
        match = pattern.search(launcher_said)
        if match:
            found = match.groupdict()
            number = (
                int(found["number"])
                if found.get("number")
                else _SIGNALS_BY_DESCRIPTION[found["description"]]
            )
            rank = int(found["rank"]) if found.get("rank") else None
            return Death(rank, number, found.get("node") or "")
    if status > 128 and status - 128 in signal.valid_signals():
        return Death(None, status - 128)
    return None


def departure(launcher_said: str) -> str:
    """`rank 1 left without MPI_Finalize`, where that is what the launcher says; else empty."""
    match = _DEPARTURE.search(launcher_said)
    return f"{_who(match['rank'])} left without MPI_Finalize" if match else ""


def lost_node(launcher_said: str) -> str:
    """`n2`, where the launcher says that this node has failed or does not answer; else empty."""
    match = _LOST_NODE.search(launcher_said)
    return match["srun"] or match["mpirun"] if match else ""


def no_start(log: str) -> str:
    """Why mpirun has started no rank, or no rank came through MPI_Init, with the fix, where the
    standard error says that; else empty."""
    if match := _NO_FOLDER.search(log):
        return (
            f"mpirun cannot make its folder {match['folder']} ({match['error'].strip()}): make "
            "room there, or set TMPDIR to another folder"
        )
    if _NO_DAEMON.search(log):
        return (
            "mpirun's daemon failed on another node before any rank started: look there for a full "
            "or missing TMPDIR (else /tmp), and for a firewall between the nodes"
        )
    for complaint, failure in _NO_PMIX_FILES:
        if (match := complaint.search(log)) and failure.search(log):
            return (
                f"ranks cannot read the files that mpirun's PMIx writes on {match['node']}: look "
                "there for a full TMPDIR (else /tmp)"
            )
    return ""


def ending(held: str) -> Ending | None:
    """The first such line among what was held back."""
    match = _ENDING.search(held)
    number = getattr(signal, match["name"], None) if match else None
    return Ending(match[0], int(number)) if match and number else None


def first_sentence(lines: Sequence[str]) -> str:
    """What a launcher, or the MPI library, says first: the rest of a page is advice."""
    sentence: list[str] = []
    in_block = False
    for line in lines:
        text = line.strip()
        is_edge = _DASHES.fullmatch(text) is not None
        if sentence and (is_edge or not text or not in_block):
            break
        if text and not is_edge and not text.endswith("(ignored)"):
            sentence.append(text)
        in_block = in_block or is_edge
    return re.split(r"\.(?:\s|$)", " ".join(sentence))[0][:_LONGEST_SENTENCE].rstrip(" :")


def _who(rank: object) -> str:
    return "a rank" if rank is None else f"rank {rank}"


class Filter:
    """Passes a stream on line by line and holds back what a launcher says of a failure.

    `held` has what was held back, for the one who explains the failure. A message that is not
    known passes through.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.held: list[str] = []
        self.lines: list[str] = []  # all that passed
        self._write = write
        self._partial = b""
        self._block: list[bytes] = []

    def feed(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            # Open MPI 5 ends its messages with a NUL byte.
            self._take(line.replace(b"\0", b"") + b"\n")

    def finish(self) -> None:
        """The stream has ended: pass on what is left."""
        if self._partial.strip(b"\0 "):
            self._take(self._partial)
        self._partial = b""
        for line in self._block:
            self._pass(line)
        self._block = []

    def _take(self, line: bytes) -> None:
        raise NotImplementedError

    def _pass(self, line: bytes) -> None:
        self.lines.append(_text(line))
        self._write(line)

    def _hold(self, lines: list[bytes]) -> None:
        self.held.extend(_text(line) for line in lines)


class OutputFilter(Filter):
    """For the standard output, which is the program's but for what MPICH's launcher says there."""

    def _take(self, line: bytes) -> None:
        text = _text(line)
        if len(self._block) > 1 and _BOX_LINE.match(text):
            self._block.append(line)
            self._hold([line])
            return
        if len(self._block) == 1 and _BOX_TITLE.match(text):
            self._block.append(line)
            self._hold(self._block)
            return
        if len(self._block) == 1:
            self._pass(self._block[0])
        self._block = []
        if _BOX_EDGE.fullmatch(text):
            self._block = [line]
        elif _MPIEXEC_LINE.match(text):
            self._hold([line])
        else:
            self._pass(line)

    def finish(self) -> None:
        if len(self._block) > 1:
            self._block = []
        super().finish()


class ErrorFilter(Filter):
    """For the standard error, on which the program, the MPI library and the launcher take turns."""

    def _take(self, line: bytes) -> None:
        text = _text(line)
        is_edge = _DASHES.fullmatch(text) is not None
        if not self._block:
            if is_edge:
                self._block = [line]
            elif _SINGLE_LINES.match(text):
                self._hold([line])
            elif text and not self._is_repeated(text):
                self._pass(line)
            return
        self._block.append(line)
        if is_edge:
            block, self._block = self._block, []
            if _DASHED_BLOCKS.search("\n".join(_text(part) for part in block)):
                self._hold(block)
            else:
                for part in block:
                    self._pass(part)

    def _is_repeated(self, text: str) -> bool:
        """Where each rank takes itself for the only one, each speaks for all."""
        return text.startswith("commlens: ") and text in self.lines


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip()
