"""Measures choices within the budget: each launch is kept, and printed in one line."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from commlens.base.errors import say
from commlens.base.text import format_ratio
from commlens.model import Record
from commlens.tuning.launches import Launch, Launches
from commlens.tuning.scores import Reference, Slot, Slots, SlotValues, Target, targets
from commlens.tuning.space import Choice, Space
from commlens.tuning.trial import GRACE, InterruptionError, Runner

DEFAULT: Choice = {}
DEFAULT_STAGE = "default"

_TIMES_DEFAULT = 3.0  # how much longer than the default a launch may take
_LEAST_LIMIT_S, _LIMIT_WITHOUT_DEFAULT_S = 10.0, 300.0
_CLEARLY_WORSE = 3.0
_DEFAULT_AGAIN = 20  # after so many launches the default is measured again


@dataclass
class Budget:
    """The time that this run of the command may take."""

    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def used(self) -> float:
        """Seconds since the command began."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds until the budget is used up."""
        return self.seconds - self.used


@dataclass
class Bench:
    """What all stages of a search share."""

    runner: Runner
    launches: Launches
    space: Space
    slots: Slots
    transports: Sequence[str]  # those that are tuned
    budget: Budget
    by_size: bool = False
    tell: Callable[[str], None] = say
    requests: Sequence[int] = ()  # signals that ask us to end, as they come
    _since_default: int = 0

    @property
    def reference(self) -> Reference | None:
        """The default's values; where it fails, those of the first choice that was measured."""
        own = [launch.values for launch in self.launches.find(DEFAULT) if launch.is_ok]
        if found := Reference.of(own, is_default=True):
            return found
        others = (launch for launch in self.launches.done if launch.is_ok and launch.choice)
        first = next(others, None)
        return Reference.of([first.values], is_default=False) if first else None

    @property
    def targets(self) -> list[Target]:
        """What is tuned for, by what the default measures."""
        reference = self.reference
        slots = list(reference.medians) if reference else []
        return targets(slots, self.transports, by_size=self.by_size)

    def score_of(self, values: SlotValues, target: Target | None = None) -> float | None:
        """Relative to the reference: below 1 is better. Without a target, over all."""
        reference = self.reference
        if reference is None:
            return None
        tuned = [slot for slot in reference.medians if slot.transport in self.transports]
        return reference.score(values, target.slots if target else tuned)

    def score(self, choice: Choice, target: Target | None = None, stage: str = "") -> float | None:
        """The median over the choice's launches; None where it has failed."""
        own = self.launches.find(choice, stage)
        scores = [self.score_of(launch.values, target) for launch in own if launch.is_ok]
        known = [one for one in scores if one is not None]
        return median(known) if known else None

    def luck(self, target: Target) -> float:
        """How much better than usual a launch of the default was, without any setting."""
        own = [launch for launch in self.launches.find(DEFAULT) if launch.is_ok]
        scores = [self.score_of(launch.values, target) for launch in own]
        known = [one for one in scores if one is not None]
        return min(known) / median(known) if known else 1.0

    @property
    def limit_s(self) -> float:
        """How long a launch may take."""
        took = [launch.seconds for launch in self.launches.find(DEFAULT) if launch.is_ok]
        took = took or [launch.seconds for launch in self.launches.done if launch.is_ok]
        if not took:
            return _LIMIT_WITHOUT_DEFAULT_S
        return max(_LEAST_LIMIT_S, _TIMES_DEFAULT * max(took))

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
        found = self.launches.find(choice)
        return next((launch for launch in found if launch.is_ok), found[0] if found else None)

    def launch(
        self,
        stage: str,
        choice: Choice,
        *,
        ceilings: bool = False,
        final: bool = False,
        transports: Sequence[str] = (),
    ) -> Launch:
        """Raises InterruptionError."""
        if self.requests:
            raise InterruptionError(128 + self.requests[0])
        made = self.launches.add(
            stage,
            choice,
            lambda file: self.runner.run(
                self.space.change(choice),
                file,
                max(1.0, min(self.limit_s, self.budget.left / GRACE)),
                ceilings=ceilings,
                final=final,
                transports=transports or self.transports,
                is_bad=(lambda _: False) if self.is_needed(choice) else self._is_bad,
            ),
        )
        self._since_default = 0 if not choice else self._since_default + 1
        self.tell(self._line(made))
        return made

    def default_again(self, until: float) -> None:
        """Now and then, so that a machine that changes does not look like a setting."""
        reference = self.reference
        is_due = self._since_default >= _DEFAULT_AGAIN and self.has_time(until)
        if is_due and reference is not None and reference.is_default:
            self.launch(DEFAULT_STAGE, DEFAULT)

    def is_needed(self, choice: Choice) -> bool:
        """Whether other settings need what this sets: slow by itself, it may be fast with them."""
        environment = self.space.change(choice).environment
        needs = (one.needs.items() for one in self.space.settings.values())
        return any(environment.get(name) == text for own in needs for name, text in own)

    def _is_bad(self, records: Sequence[Record]) -> bool:
        """Where a single target is tuned: whether all sizes so far are clearly worse."""
        reference = self.reference
        if reference is None or len(self.targets) != 1:
            return False
        values = self.slots.values(records).by_slot
        known: list[Slot] = [slot for slot in values if slot in reference.medians]
        if not known or len(known) == len(reference.medians):
            return False
        best = {slot: values[slot].at_best(reference.metric) for slot in known}
        ratios = [reference.ratio(slot, value) for slot, value in best.items()]
        return min(ratios) > _CLEARLY_WORSE

    def _line(self, made: Launch) -> str:
        used, whole = (_clock(one) for one in (self.budget.used, self.budget.seconds))
        words = [f"{made.number + 1:3} ({used} of {whole}) {self.space.text(made.choice)}:"]
        words.append(self._result(made))
        return " ".join(words)

    def _result(self, made: Launch) -> str:
        if not made.is_ok:
            return f"{made.ending}: {made.reason}"[:200]
        several = len(self.targets) > 1
        results = []
        for target in self.targets:
            score = self.score_of(made.values, target)
            if score is not None:
                name = f"{target.name} " if several else ""
                results.append(f"{name}{format_ratio(score)}{self._best(target)}")
        return "; ".join(results) or "not all that the default measures was measured"

    def _best(self, target: Target) -> str:
        choices = {tuple(one.choice.items()) for one in self.launches.done if one.is_ok}
        scores = (self.score(dict(choice), target) for choice in choices)
        best = min((one for one in scores if one is not None), default=None)
        return "" if best is None else f" (best {format_ratio(best)})"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
