"""All launches of a search, as lines of JSON in a file: an interrupted search goes on from them."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from commlens.base.errors import CommlensError, reason
from commlens.model import load
from commlens.tuning.scores import Slots, SlotValues
from commlens.tuning.space import Choice, Space

JOURNAL = "search.journal"
_LOCK_LIMIT_S = 2.0
OTHER_TRANSPORTS = "other transports"  # a stage


class TrialOutcome(NamedTuple):
    """What became of a launch."""

    ending: str  # ok, stopped, wrong, crashed, hung, refused, skipped
    reason: str
    seconds: float


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the journal."""

    stage: str  # default, screening, or its purpose: "combination mpi"
    choice: dict[str, str]
    ending: str
    reason: str
    seconds: float


class Launch(_Line, frozen=True, kw_only=True):
    """One launch of the benchmark with a choice of settings."""

    number: int
    file: Path  # its records
    values: SlotValues  # none of a launch that failed

    @property
    def is_ok(self) -> bool:
        """Whether it measured everything, with right results."""
        return self.ending == "ok"


class Launches:
    """The launches in a folder, in the order in which they were made."""

    def __init__(self, folder: Path, space: Space, slots: Slots) -> None:
        """Raises CommlensError for a folder that another search uses or that has no journal."""
        self.folder = folder
        self._space, self._slots = space, slots
        self._journal = _claim(folder)
        self.done: list[Launch] = []
        self.others: list[Launch] = []  # of transports that are not tuned
        for line in _lines(self._journal):
            self._keep(line)

    def close(self) -> None:
        """Lets another process continue the search."""
        self._journal.close()

    def find(self, choice: Choice | None = None, stage: str = "") -> list[Launch]:
        """Those with exactly this choice, or with any; of one stage or of all."""
        found = self.done if choice is None else [one for one in self.done if one.choice == choice]
        return [one for one in found if stage in ("", one.stage)]

    def add(self, stage: str, choice: Choice, measure: Callable[[Path], TrialOutcome]) -> Launch:
        """Makes a launch. Where `measure` raises, as by an interruption, it does not count."""
        file = self._next_file
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        line = _Line(stage, self._space.ordered(choice), *measure(file))
        self._journal.write(msgspec.json.encode(line).decode() + "\n")
        self._journal.flush()
        return self._keep(line)

    def _keep(self, line: _Line) -> Launch:
        file = self._next_file
        has_values = line.ending == "ok" and file.is_file()
        launch = Launch(
            **msgspec.structs.asdict(line),
            number=len(self.done) + len(self.others),
            file=file,
            values=self._slots.values(load([file]).records) if has_values else {},
        )
        (self.others if line.stage == OTHER_TRANSPORTS else self.done).append(launch)
        return launch

    @property
    def _next_file(self) -> Path:
        return self.folder / "trials" / f"{len(self.done) + len(self.others):04}.jsonl"


def _claim(folder: Path) -> IO[str]:
    """Opens the journal. Until it is closed, or this process ends, no other one can."""
    path = folder / JOURNAL
    try:
        journal = path.open("a+", encoding="utf-8", newline="\n")
    except OSError as error:
        raise CommlensError(f"{path}: the search cannot be kept there ({reason(error)})") from None
    deadline = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # A search that was killed just now: a process that it was about to launch has its lock.
            if time.monotonic() > deadline:
                journal.close()
                raise CommlensError(
                    f"--resume {folder}: this search is running; wait for its end"
                ) from None
            time.sleep(0.05)
        except OSError:
            return journal  # a file system without locks
        else:
            return journal


def _lines(journal: IO[str]) -> list[_Line]:
    """Reads the journal. Half a line, of a process that ended while it wrote, is dropped.

    Raises CommlensError where it is no journal.
    """
    journal.seek(0)
    text = journal.read()
    whole = text[: text.rfind("\n") + 1]
    if len(whole) < len(text):
        journal.truncate(len(whole.encode()))
    try:
        return msgspec.json.decode(f"[{','.join(whole.splitlines())}]", type=list[_Line])
    except msgspec.MsgspecError as error:
        raise CommlensError(
            f"{journal.name}: this is no search of this version of commlens ({error})"
        ) from None
