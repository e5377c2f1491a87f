"""Launchers write pages around one fact when a rank fails. This keeps the fact and holds the pages
back, by the patterns of knowledge/launchers.yaml."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile
from operator import attrgetter
from typing import BinaryIO

from commlens.knowledge.launchers import LAUNCHERS
from commlens.model import Start

# Open MPI puts its messages between two such lines, most of them on the standard error.
_DASHES = re.compile(r"-{60,}")
_LONGEST_SENTENCE = 200
_BOX_EDGE = re.compile(r"={60,}")
_OF_PROGRAM = r"commlens: ended by SIG"  # by the launcher, after the first rank has failed
_ENDING = re.compile(r"^commlens: ended by (?P<name>SIG\w+).*$", re.MULTILINE)

_SIGNALS_BY_DESCRIPTION = {
    signal.strsignal(number): int(number) for number in signal.valid_signals()
}
_DESCRIPTIONS = "|".join(re.escape(text) for text in _SIGNALS_BY_DESCRIPTION if text)


def _all(field: str) -> list[str]:
    """Patterns of all launchers: one may start another, and MPI libraries share theirs."""
    return [pattern for launcher in LAUNCHERS for pattern in attrgetter(field)(launcher)]


def _any_of(patterns: Iterable[str]) -> str:
    """A text, which is compiled when a line is compared with it: all of them take 30 ms."""
    return "|".join(patterns)


_HELD_BLOCKS = _any_of(_all("held.blocks"))
_HELD_LINES = _any_of([_OF_PROGRAM, *_all("held.lines")])
_BOXES = [launcher.held.box for launcher in LAUNCHERS if launcher.held.box]
_BOX_TITLE = _any_of(box.title for box in _BOXES)
_BOX_LINE = _any_of(box.lines for box in _BOXES)
_OUTSIDE_BOX = _any_of(box.alone for box in _BOXES)
_EXPLAINED = {
    line: sentence for launcher in LAUNCHERS for line, sentence in launcher.explained.items()
}
_DEATHS = [pattern.replace("DESCRIPTION", _DESCRIPTIONS) for pattern in _all("deaths")]


@dataclass(frozen=True)
class Death:
    """A rank that a signal ended; `rank` is None where the launcher does not report which."""

    rank: int | None
    signal: int
    node: str = field(default="", compare=False)  # where the launcher reports it
    process: int | None = field(default=None, compare=False)  # where it reports that, and no rank

    def with_rank(self, start: Start | None) -> Death:
        """Adds the rank where the launcher reports only the process."""
        if self.rank is not None or start is None:
            return self
        host = self.node.partition(".")[0]
        ranks = (
            place.rank
            for place, process in zip(start.placement, start.processes)
            if process == self.process
            and (start.nodes == 1 or place.host.partition(".")[0] == host)
        )
        return replace(self, rank=next(ranks, None))

    def described(self, *, with_node: bool) -> str:
        """`rank 1 on n2 died (signal 9, Killed)`."""
        where = f" on {self.node}" if with_node and self.node else ""
        how = f"signal {self.signal}, {signal.strsignal(self.signal)}"
        return f"{_who(self.rank)}{where} died ({how})"


def death(log: str, status: int) -> Death | None:
    """Which rank died and of what, from the messages of the launcher, else from its exit status in
    a shell's manner."""
    if deaths := _matches(_DEATHS, log):
        groups = next((candidate for candidate in deaths if candidate.get("rank")), deaths[0])
        number = groups.get("number") or _SIGNALS_BY_DESCRIPTION[groups["description"]]
        rank, process = _number(groups, "rank"), _number(groups, "process")
        return Death(rank, int(number), groups.get("node") or "", process)
    if status > 128 and status - 128 in signal.valid_signals():
        return Death(None, status - 128)
    return None


def departure(log: str) -> str:
    """`rank 1 left without MPI_Finalize`, where the launcher reports that; else empty."""
    matches = _matches(_all("departed"), log)
    return f"{_who(matches[0].get('rank'))} left without MPI_Finalize" if matches else ""


def lost_node(log: str) -> str:
    """The node that has failed or does not answer, where the launcher reports that; else empty."""
    matches = _matches(_all("lost_node"), log)
    return matches[0]["node"] if matches else ""


def complaint(log: str) -> str:
    """Why the launcher could not start the ranks, where it reports that; else empty."""
    matches = _matches(_all("complaint"), log)
    return matches[0]["text"] if matches else ""


def _number(groups: Mapping[str, str], name: str) -> int | None:
    return int(groups[name]) if groups.get(name) else None


def _matches(patterns: Sequence[str], log: str) -> list[dict[str, str]]:
    """The groups of the patterns that match."""
    return [match.groupdict() for pattern in patterns if (match := re.search(pattern, log))]


def ending(held: str) -> tuple[str, int] | None:
    """The line that the native program prints when it catches a signal that asks it to end, and
    that signal; the first such line among what was held back."""
    match = _ENDING.search(held)
    number = getattr(signal, match["name"], None) if match else None
    return (match[0], int(number)) if match and number else None


def first_sentence(lines: Sequence[str]) -> str:
    """The first sentence of a launcher or an MPI library: the rest of a page is advice."""
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


def first_box(lines: Sequence[str]) -> str:
    """The first sentence between two lines of dashes, as PRRTE 3 prints mistakes in its options on
    the standard output."""
    return first_sentence(list(dropwhile(lambda line: not _DASHES.fullmatch(line.strip()), lines)))


def _who(rank: int | str | None) -> str:
    return "a rank" if rank is None else f"rank {rank}"


class Filter:
    """Passes a stream on line by line and holds back what a launcher writes of a failure.

    `held` has what was held back, for the explanation of the failure. A message that is not
    known passes through.
    """

    def __init__(self, stream: BinaryIO | None) -> None:
        self.held: list[str] = []
        self.lines: list[str] = []  # all that passed
        self._stream = stream  # None: nothing is shown
        self._partial = b""
        self._block: list[bytes] = []

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            # Open MPI 5 ends its messages with a NUL byte.
            self._take(line.replace(b"\0", b"") + b"\n")

    def finish(self) -> None:
        """Passes on what is left at the end of the stream."""
        if self._partial.strip(b"\0 "):
            self._take(self._partial)
        self._partial = b""
        self._pass()

    def _take(self, line: bytes) -> None:
        raise NotImplementedError

    def _pass(self, *lines: bytes) -> None:
        """Passes on the block, and then these."""
        for line in (*self._block, *lines):
            self.lines.append(_text(line))
            if self._stream is not None:
                self._stream.write(line)
                self._stream.flush()
        self._block = []

    def _hold(self, *lines: bytes) -> None:
        """Holds back the block, and then these."""
        self.held += map(_text, (*self._block, *lines))
        self._block = []


class OutputFilter(Filter):
    """Of the standard output, which is the program's but for the boxes of MPICH's launcher."""

    _is_in_box = False

    def _take(self, line: bytes) -> None:
        text = _text(line)
        goes_on = self._is_in_box and re.match(_BOX_LINE, text)
        self._is_in_box = bool(goes_on or (self._block and re.match(_BOX_TITLE, text)))
        if self._is_in_box:
            self._hold(line)
            return
        self._pass()
        if _BOX_EDGE.fullmatch(text):
            self._block = [line]
        elif re.match(_OUTSIDE_BOX, text):
            self._hold(line)
        else:
            self._pass(line)


class ErrorFilter(Filter):
    """Of the standard error, to which the program, the MPI library and the launcher write."""

    def __init__(self, stream: BinaryIO | None, explained: set[str] | None = None) -> None:
        """`explained`: the sentences that were printed already, which this joins."""
        super().__init__(stream)
        self._explained = set() if explained is None else explained

    def _take(self, line: bytes) -> None:
        text = _text(line)
        is_edge = _DASHES.fullmatch(text) is not None
        if self._block or is_edge:
            is_end = is_edge and bool(self._block)
            self._block.append(line)
            if is_end and re.search(_HELD_BLOCKS, "\n".join(map(_text, self._block))):
                self._hold()
            elif is_end:
                self._pass()
        elif re.match(_HELD_LINES, text):
            self._hold(line)
        elif sentence := next((_EXPLAINED[known] for known in _EXPLAINED if known in text), ""):
            if sentence not in self._explained:
                self._pass(f"commlens: warning: {sentence}\n".encode())
            self._explained.add(sentence)
        elif text and not (text.startswith("commlens: ") and text in self.lines):
            self._pass(line)  # a rank that takes itself for the only one repeats the others


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip()
