"""All launches of a search, kept by Optuna in a file: an interrupted search knows what it has."""

from __future__ import annotations

import fcntl
import logging
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from commlens.base.errors import CommlensError, reason
from commlens.model import load
from commlens.tuning.figures import Figures, Slots
from commlens.tuning.space import UNSET, Choice, Space
from commlens.tuning.trial import Outcome, no_figures

JOURNAL = "search.journal"
_LOCK = "search.lock"
_LOCK_LIMIT_S = 2.0
OTHER_TRANSPORTS = "other transports"  # a stage
_STUDY = "launches"


@dataclass(frozen=True)
class Start:
    number: int
    stage: str  # default, screening, or what for: "combination mpi"
    choice: Choice
    ending: str
    reason: str
    seconds: float
    file: Path
    slots: Slots

    @cached_property
    def figures(self) -> Figures:
        """As its records say; of one that failed none counts."""
        if self.ending != "ok" or not self.file.is_file():
            return no_figures()
        return self.slots.figures(load([self.file]).records)

    @property
    def is_ok(self) -> bool:
        return self.ending == "ok"


Measure = Callable[[Path], Outcome]
ScoreOf = Callable[[Start], "float | None"]


class Starts:
    """The launches in a folder, in the order in which they were made."""

    def __init__(self, folder: Path, space: Space, slots: Slots) -> None:
        self.folder = folder
        self._space, self._slots = space, slots
        self._claimed = _claim(folder)
        self._study = _open(folder / JOURNAL)
        self._drop_interrupted()
        self.done: list[Start] = []
        self.others: list[Start] = []  # of transports that are not tuned
        for trial in self._study.trials:
            if trial.state.is_finished() and "ending" in trial.user_attrs:
                self._keep(self._start(trial.number, trial.user_attrs))

    def close(self) -> None:
        """Another process may go on with the search."""
        self._claimed.close()

    def of_stage(self, stage: str) -> list[Start]:
        return [start for start in self.done if start.stage == stage]

    def find(self, choice: Choice, stage: str = "") -> list[Start]:
        return [
            start
            for start in self.done
            if dict(start.choice) == dict(choice) and stage in ("", start.stage)
        ]

    def add(self, stage: str, choice: Choice, measure: Measure, score: ScoreOf) -> Start:
        """Makes a start. Where `measure` raises, as by an interruption, it does not count."""
        import optuna

        choice = self._space.ordered(choice)
        self._study.enqueue_trial(dict(choice))
        trial = self._study.ask()
        for name in choice:
            trial.suggest_categorical(name, self._values(name))
        file = self.folder / "trials" / f"{trial.number:04}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        try:
            outcome = measure(file)
        except BaseException:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        facts = {
            "stage": stage,
            "reason": outcome.reason,
            "seconds": outcome.seconds,
            "file": file.name,
            "choice": choice,
            "ending": outcome.ending,
        }
        for name, value in facts.items():
            trial.set_user_attr(name, value)
        start = self._start(trial.number, facts)
        value = score(start) if start.is_ok else None
        if value is not None:
            self._study.tell(trial, value)
        elif outcome.ending == "stopped":
            self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        self._keep(start)
        return start

    def _keep(self, start: Start) -> None:
        (self.others if start.stage == OTHER_TRANSPORTS else self.done).append(start)

    def _values(self, name: str) -> list[str]:
        return [UNSET, *(value.name for value in self._space.settings[name].values)]

    def _start(self, number: int, facts: Mapping[str, Any]) -> Start:
        return Start(
            number,
            facts["stage"],
            facts["choice"],
            facts["ending"],
            facts["reason"],
            facts["seconds"],
            self.folder / "trials" / facts["file"],
            self._slots,
        )

    def _drop_interrupted(self) -> None:
        """What was on its way when a search was killed is made again."""
        import optuna

        for trial in self._study.get_trials(deepcopy=False):
            if trial.state == optuna.trial.TrialState.RUNNING:
                self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            elif trial.state == optuna.trial.TrialState.WAITING:
                self._study.ask()
                self._study.tell(trial.number, state=optuna.trial.TrialState.FAIL)


class _NoLock:
    """Instead of Optuna's, which outlives a process that is killed. The folder is ours alone."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _claim(folder: Path) -> IO[str]:
    """Until the file is closed, or this process ends, no other searches in the folder."""
    try:
        file = (folder / _LOCK).open("w", encoding="utf-8")
    except OSError as error:
        raise CommlensError(
            f"{folder}: the search cannot be kept there ({reason(error)})"
        ) from None
    if not _is_locked(file):
        file.close()
        raise CommlensError(f"--resume {folder}: this search is running; wait for its end")
    return file


def _is_locked(file: IO[str]) -> bool:
    """Also if the search was killed just now: a process that it was about to start has its lock
    for a moment."""
    deadline = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        except OSError:
            return True  # a file system without locks
        else:
            return True


def _open(path: Path) -> Any:
    optuna = quiet_optuna()
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    try:
        _drop_half_a_line(path)
        backend = JournalFileBackend(str(path), lock_obj=_NoLock())  # type: ignore[arg-type]
        storage = JournalStorage(backend)
        sampler = optuna.samplers.RandomSampler()  # what is tried is said to it
        return optuna.create_study(
            study_name=_STUDY, storage=storage, sampler=sampler, load_if_exists=True
        )
    except OSError as error:
        raise CommlensError(f"{path}: the search cannot be kept there ({reason(error)})") from None
    except (ValueError, KeyError) as error:
        raise CommlensError(f"{path}: this is no search of commlens ({error})") from None


def _drop_half_a_line(path: Path) -> None:
    """Which a process leaves that ends while it writes."""
    text = path.read_bytes() if path.exists() else b""
    if text and not text.endswith(b"\n"):
        os.truncate(path, text.rfind(b"\n") + 1)


def quiet_optuna() -> Any:
    """Loaded only where it is used: it takes a while, and says much."""
    import optuna

    optuna.logging.set_verbosity(logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna
