"""Measures choices within the budget: each launch is kept, and printed in one line."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from commlens.base.errors import say
from commlens.base.text import format_ratio
from commlens.model import Record
from commlens.tuning.launches import GRACE, InterruptionError, Launch, Launches, Runner
from commlens.tuning.scores import Reference, Slot, SlotValue, SlotValues, Target, targets
from commlens.tuning.space import Choice, Space

DEFAULT: Choice = {}
DEFAULT_STAGE = "default"

_TIMES_DEFAULT = 3.0  # how much longer than the default a launch may take
_LEAST_LIMIT_S, _LIMIT_WITHOUT_DEFAULT_S = 10.0, 300.0
_CLEARLY_WORSE = 3.0
_DEFAULT_AGAIN = 20  # after so many launches the default is measured again


class Budget:
    """The time that this run of the command may take."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock, self._began = seconds, clock, clock()

    @property
    def used(self) -> float:
        """Seconds since the command began."""
        return self._clock() - self._began

    def share(self, number: int, end: float | None = None) -> float:
        """How much is used when the first of so many that share the rest has had its part."""
        used = self.used
        return used + ((self.seconds if end is None else end) - used) / number


def quiet_of(launches: Sequence[Launch]) -> list[Launch]:
    """Those during which the machine was not busy with something else."""
    return [launch for launch in launches if not launch.why_busy]


@dataclass
class Bench:
    """What all stages of a search share."""

    runner: Runner
    launches: Launches
    space: Space
    transports: Sequence[str]  # those that are tuned
    budget: Budget
    by_size: bool = False
    tell: Callable[[str], None] = say
    requests: Sequence[int] = ()  # signals that ask us to end, as they come
    _since_default: int = 0

    @property
    def reference(self) -> Reference | None:
        """The default's values; where it fails, those of the first choice that was measured."""
        launches = quiet_of(self.ok(DEFAULT)) or self.ok(DEFAULT)
        if default := Reference.of([launch.values for launch in launches], is_default=True):
            return default
        others = [launch.values for launch in self.launches.done if launch.values]
        return Reference.of(others[:1], is_default=False)

    @property
    def targets(self) -> list[Target]:
        """What is tuned for, by what the default measures."""
        reference = self.reference
        slots = reference.medians if reference else ()
        return targets(slots, self.transports, by_size=self.by_size)

    def score_of(self, values: SlotValues, target: Target | None = None) -> float | None:
        """Relative to the reference: below 1 is better. Without a target, over all."""
        reference = self.reference
        if reference is None:
            return None
        tuned = [slot for slot in reference.medians if slot.transport in self.transports]
        return reference.score(values, target.slots if target else tuned)

    def scores(
        self,
        choice: Choice,
        target: Target | None = None,
        stage: str = "",
        *,
        deciding: bool = False,
    ) -> list[float]:
        """Of each launch of the choice that has measured all; of those during which the machine was
        busy only where there are no others, and none where a verdict follows (`deciding`)."""
        launches = self.ok(choice, stage)
        quiet = quiet_of(launches)
        chosen = quiet if quiet or deciding else launches
        scores = (self.score_of(launch.values, target) for launch in chosen)
        return [score for score in scores if score is not None]

    def score(self, choice: Choice, target: Target | None = None, stage: str = "") -> float | None:
        """The median over the choice's launches; None where it has failed."""
        known = self.scores(choice, target, stage)
        return median(known) if known else None

    def ranked(self, target: Target) -> list[tuple[float, Choice]]:
        """All choices that were measured, each with its score: the best first."""
        choices = {tuple(launch.choice.items()): launch.choice for launch in self.launches.done}
        scores = ((self.score(choice, target), choice) for choice in choices.values())
        known = [(score, choice) for score, choice in scores if score is not None]
        return sorted(known, key=lambda entry: entry[0])

    def values_at(self, slot: Slot, choice: Choice) -> list[SlotValue]:
        """What the launches of a choice have measured there."""
        launches = self.launches.find(choice)
        return [launch.values[slot] for launch in launches if slot in launch.values]

    def median_at(self, slot: Slot, choice: Choice) -> float | None:
        """The median over the launches of a choice there; None where there are none."""
        medians = [value.median for value in self.values_at(slot, choice)]
        return median(medians) if medians else None

    @property
    def limit_s(self) -> float:
        """How long a launch may take."""
        made = self.ok(DEFAULT) or [launch for launch in self.launches.done if launch.is_ok]
        if not made:
            return _LIMIT_WITHOUT_DEFAULT_S
        return max(_LEAST_LIMIT_S, _TIMES_DEFAULT * max(launch.seconds for launch in made))

    @property
    def typical_s(self) -> float:
        """Of a launch that does not fail."""
        took = [launch.seconds for launch in self.launches.done if launch.is_ok]
        return median(took) if took else 0.0

    def has_time(self, until: float | None = None) -> bool:
        """Whether another launch fits before so many seconds of the budget are used."""
        end = self.budget.seconds if until is None else until
        return self.budget.used + self.typical_s <= end

    def known(self, choice: Choice) -> Launch | None:
        """A launch with this choice that has been made; one that went well, if there is one."""
        return next(iter([*self.ok(choice), *self.launches.find(choice)]), None)

    def ok(self, choice: Choice, stage: str = "") -> list[Launch]:
        """The launches of a choice that went well."""
        return [launch for launch in self.launches.find(choice, stage) if launch.is_ok]

    def launch(
        self, stage: str, choice: Choice, transports: Sequence[str] = (), **how: Any
    ) -> Launch:
        """Launches it once; `how` goes to the runner. Raises InterruptionError."""
        if self.requests:
            raise InterruptionError(128 + self.requests[0])
        made = self.launches.add(
            stage,
            self.space.ordered(choice),
            lambda file: self.runner.run(
                self.space.change(choice),
                file,
                max(1.0, min(self.limit_s, (self.budget.seconds - self.budget.used) / GRACE)),
                transports or self.transports,
                (lambda _: False) if self.is_needed(choice) else self._is_bad,
                **how,
            ),
        )
        self._since_default = 0 if not choice else self._since_default + 1
        self.tell(self._line(made))
        return made

    def interleave(
        self, stage: str, choices: Sequence[Choice], times: int, until: float, **how: Any
    ) -> None:
        """Launches each so often in this stage, as far as the time allows; and as often again where
        the machine was busy."""
        for number in range(2 * times):
            quiet = (quiet_of(self.launches.find(choice, stage)) for choice in choices)
            if number >= times and all(len(launches) >= times for launches in quiet):
                break
            for choice in choices:
                made = len(self.launches.find(choice, stage))
                if made <= number and self.has_time(until):
                    self.launch(stage, choice, **how)

    def why_busy(self, stage: str = "") -> str:
        """What kept the machine busy in the stage, or in any; empty where it was quiet."""
        launches = self.launches.find(None, stage)
        return next((launch.why_busy for launch in launches if launch.why_busy), "")

    @property
    def tried(self) -> tuple[int, int]:
        """How many values were launched, alone or with others, and how many there are."""
        launched = {pair for launch in self.launches.done for pair in launch.choice.items()}
        settings = self.space.settings.values()
        values = {(setting.name, value.name) for setting in settings for value in setting.values}
        return len(values & launched), len(values)

    def default_again(self, until: float) -> None:
        """Now and then, so that a machine that changes does not look like a setting."""
        is_due = self._since_default >= _DEFAULT_AGAIN and self.has_time(until)
        if is_due and self.ok(DEFAULT):
            self.launch(DEFAULT_STAGE, DEFAULT)

    def is_needed(self, choice: Choice) -> bool:
        """Whether other settings need what this sets: slow by itself, it may be fast with them."""
        environment = self.space.change(choice).environment.items()
        return any(environment & setting.needs.items() for setting in self.space.settings.values())

    def _is_bad(self, records: Sequence[Record]) -> bool:
        """Where a single target is tuned: whether all sizes so far are clearly worse."""
        reference, values = self.reference, self.launches.slots.values(records)
        if reference is None or len(self.targets) != 1:
            return False
        known = [slot for slot in values if slot in reference.medians]
        if not known or len(known) == len(reference.medians):
            return False
        return min(reference.ratio(slot, values[slot].at_best) for slot in known) > _CLEARLY_WORSE

    def _line(self, made: Launch) -> str:
        times = [int(seconds) for seconds in (self.budget.used, self.budget.seconds)]
        used, whole = (f"{seconds // 60}:{seconds % 60:02}" for seconds in times)
        result = self._result(made) if made.is_ok else f"{made.ending}: {made.reason}"[:200]
        return f"{made.number + 1:3} ({used} of {whole}) {self.space.text(made.choice)}: {result}"

    def _result(self, made: Launch) -> str:
        results = []
        for target in self.targets:
            score = self.score_of(made.values, target)
            if score is not None:
                name = f"{target.name} " if len(self.targets) > 1 else ""
                best = next((f" (best {format_ratio(top)})" for top, _ in self.ranked(target)), "")
                results.append(f"{name}{format_ratio(score)}{best}")
        return "; ".join(results) or "not all that the default measures was measured"
