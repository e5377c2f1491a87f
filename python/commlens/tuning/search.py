"""What is tried: the default, then each value of each setting alone, then the best ones together.

All of it follows from what was measured before, so a search that was interrupted goes on where it
was: what has been launched is not launched again.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from commlens.base.errors import say
from commlens.base.text import plural
from commlens.tuning.bench import DEFAULT, DEFAULT_STAGE, Bench
from commlens.tuning.scores import Target
from commlens.tuning.space import UNSET, Choice, Situation, TuningSetting, is_met

SCREENING, CONFIRMATION = "screening", "confirmation"
_DEFAULT_LAUNCHES = 2
_SHARE_OF_SCREENING = 0.75  # of the time before the finals
_GAIN = 0.98  # a score below it is worth another look
_KEPT = 0.99  # by how much a setting must improve a combination to stay
_MOST_BASES, _MOST_GAINS = 2, 8
_EXCHANGES_PER_SETTING, _MOST_EXCHANGES = 4, 24


class Gain(NamedTuple):
    """The best value of a setting in screening."""

    setting: str
    value: str
    base: Choice  # what it was screened on top of
    ratio: float  # to that


@dataclass
class Search:
    """A search for the best choice of settings."""

    bench: Bench
    here: Situation
    base: Choice = field(default_factory=dict)  # what everything is screened on top of
    skipped: int = 0  # values for which there was no time

    def begin(self) -> None:
        """Measures the default. Raises InterruptionError."""
        made = self.bench.launches.find(stage=DEFAULT_STAGE)
        while all(launch.is_ok for launch in made) and len(made) < _DEFAULT_LAUNCHES:
            if made and not self.bench.has_time():
                return
            made.append(self.bench.launch(DEFAULT_STAGE, DEFAULT, ceilings=not made))

    def run(self, reserve_s: float) -> None:
        """Everything but the finals, for which so many seconds are left.

        Raises InterruptionError.
        """
        end = self.bench.budget.seconds - reserve_s
        for until in (_SHARE_OF_SCREENING * end, end):  # what is over goes to more screening
            self.skipped = self._screen(until)
            targets = self.bench.targets
            for number, target in enumerate(targets):
                self._combine(target, self.bench.budget.share(len(targets) - number, end))
        if self.skipped:
            say(f"{plural(self.skipped, 'value')} not tried within the budget: --resume goes on")

    def _screen(self, until: float) -> int:
        """How many values were not tried."""
        bench, skipped = self.bench, 0
        if bench.score(DEFAULT) is None:
            self._find_base(until)
        # First what others need, then a value of each setting, then another: where the time ends
        # before the values do, each setting has been seen.
        values: list[tuple[int, TuningSetting, str]] = []
        for setting in bench.space.settings.values():
            is_needed = any(bench.is_needed({setting.name: value.name}) for value in setting.values)
            for number, value in enumerate(setting.values, 1):
                values.append((0 if is_needed else number, setting, value.name))
        for _, setting, name in sorted(values, key=lambda entry: entry[0]):
            base = self._base_of(setting)
            if base is None or bench.known({**base, setting.name: name}):
                continue
            if not bench.has_time(until):
                skipped += 1
                continue
            bench.default_again(until)
            bench.launch(SCREENING, {**base, setting.name: name})
        return skipped

    def _find_base(self, until: float) -> None:
        """Where the default fails: the first choice of one value with which it does not."""
        bench = self.bench
        for setting in bench.space.settings.values():
            for value in setting.values:
                choice = {setting.name: value.name}
                launch = bench.known(choice)
                if not launch:
                    if not bench.has_time(until):
                        return
                    launch = bench.launch(SCREENING, choice)
                if launch.is_ok:
                    self.base = choice
                    say(f"the default fails; all else is tried with {bench.space.text(choice)}")
                    return

    def _base_of(self, setting: TuningSetting) -> Choice | None:
        """What a setting is screened on top of; None where nothing that works meets its needs."""
        bench, choice = self.bench, self.base
        for name, text in setting.needs.items():
            if not is_met(name, text, self.here, bench.space.change(choice).environment):
                # Of the values that set it so, the one whose first launch was the best: what is
                # screened on top of it stays where it is.
                candidates = [
                    (score, provider, value)
                    for provider, value in bench.space.providers(name, text)
                    if (first := bench.known({**self.base, provider: value}))
                    and (score := bench.score_of(first.values)) is not None
                ]
                if not candidates:
                    return None
                choice = {**choice, **dict([min(candidates)[1:]])}
        return bench.space.changed(choice, setting.name)

    def left_out(self, target: Target, best: Choice, name: str) -> float | None:
        """How many times worse the best choice is without a setting."""
        score = self.bench.score(best, target)
        without = self.bench.score(self.bench.space.changed(best, name), target)
        return without / score if name in best and without is not None and score else None

    def gains(self, target: Target) -> list[Gain]:
        """Of each setting on each base its best value, if it is better than the base, and by more
        than launches of the default were by luck."""
        bench, gains = self.bench, []
        of_default = bench.scores(DEFAULT, target) or [1.0]
        least = min(_GAIN, min(of_default) / median(of_default))
        for name, setting in bench.space.settings.items():
            base = self._base_of(setting)
            before = None if base is None else bench.score(base, target)
            if base is None or before is None:
                continue
            after = [
                (score / before, value.name)
                for value in setting.values
                if (score := bench.score({**base, name: value.name}, target))
            ]
            if after and min(after)[0] < least:
                gains.append(Gain(name, min(after)[1], base, min(after)[0]))
        return sorted(gains, key=lambda gain: gain.ratio)

    def _bases(self, target: Target, gains: list[Gain]) -> list[Choice]:
        """Those on top of which the best was measured."""
        scores: list[tuple[float, Choice]] = []
        for base in (self.base, *(gain.base for gain in gains)):
            before = self.bench.score(base, target)
            if before is not None and all(base != other for _, other in scores):
                ratios = [gain.ratio for gain in gains if gain.base == base]
                scores.append((before * min([1.0, *ratios]), base))
        return [base for _, base in sorted(scores, key=lambda entry: entry[0])[:_MOST_BASES]]

    def _combine(self, target: Target, until: float) -> None:
        for gain in self.gains(target)[:_MOST_GAINS]:
            # What looked best is launched again: the best of many single launches were lucky, too.
            choice = self.bench.space.changed(gain.base, gain.setting, gain.value)
            if len(self.bench.launches.find(choice)) < 2 and self.bench.has_time(until):
                self.bench.launch(CONFIRMATION, choice)
        gains = self.gains(target)
        for base in self._bases(target, gains):
            on_top = [
                gain
                for gain in gains
                if gain.setting not in base and self._is_sound({**base, gain.setting: gain.value})
            ][:_MOST_GAINS]
            best = self._added_up(target, base, on_top, until)
            self._without_each(target, best, until)
            if len(on_top) > 1:
                self._exchange(target, base, on_top, until)

    def _is_sound(self, choice: Choice) -> bool:
        """Whether each of its settings has what it needs."""
        environment = self.bench.space.change(choice).environment
        return all(
            is_met(name, text, self.here, environment)
            for setting in choice
            for name, text in self.bench.space.settings[setting].needs.items()
        )

    def _tried(self, target: Target, choice: Choice, until: float, stage: str) -> float | None:
        """Its score; None where it cannot work, fails, or there is no time left."""
        if not self._is_sound(choice):
            return None
        if not self.bench.known(choice) and self.bench.has_time(until):
            self.bench.launch(f"{stage} {target.name}", choice)
        return self.bench.score(choice, target)

    def _added_up(self, target: Target, base: Choice, gains: list[Gain], until: float) -> Choice:
        """One after the other, the largest first; what does not help is left out again."""
        best, choice = self.bench.score(base, target), base
        for gain in gains:
            more = self.bench.space.changed(choice, gain.setting, gain.value)
            score = self._tried(target, more, until, "combination")
            if score is not None and (best is None or score < _KEPT * best):
                best, choice = score, more
        return choice

    def _without_each(self, target: Target, choice: Choice, until: float) -> None:
        """Leaves out each setting, for good where nothing is lost."""
        best = self.bench.score(choice, target)
        for name in list(choice) if best is not None else []:
            less = self.bench.space.changed(choice, name)
            score = self._tried(target, less, until, "combination") if less else None
            if score is not None and best is not None and _KEPT * score <= best:
                choice = less

    def _exchange(self, target: Target, base: Choice, gains: list[Gain], until: float) -> None:
        """From the best combination so far: another value of one of its settings, or none, and from
        what is better the same again; with so many launches at most."""
        bench, stage = self.bench, f"exchange {target.name}"
        most = min(_MOST_EXCHANGES, _EXCHANGES_PER_SETTING * len(gains))
        values = {gain.setting: self._values_that_work(gain.setting, base) for gain in gains}
        changes = [(name, value) for name in values for value in values[name]]
        better: Choice | None = self._best(target, base, values)
        while better is not None:
            choice, better = better, None
            score = bench.score(choice, target)
            for name, value in changes:
                neighbor = bench.space.changed(choice, name, value)
                is_allowed = len(bench.launches.find(stage=stage)) < most
                if is_allowed or bench.known(neighbor):
                    tried = self._tried(target, neighbor, until, "exchange")
                    if tried is not None and score is not None and tried < _KEPT * score:
                        better = neighbor
                        break

    def _best(self, target: Target, base: Choice, names: Collection[str]) -> Choice:
        """The best choice so far that differs from the base in these settings alone."""
        for _, choice in self.bench.ranked(target):
            if {name: value for name, value in choice.items() if name not in names} == base:
                return choice
        return base

    def _values_that_work(self, name: str, base: Choice) -> list[str]:
        setting, score = self.bench.space.settings[name], self.bench.score
        bases = [choice for choice in (self._base_of(setting), base) if choice is not None]
        works = {
            value.name: any(score({**choice, name: value.name}) is not None for choice in bases)
            for value in setting.values
        }
        return [UNSET, *(value for value, does in works.items() if does)]
