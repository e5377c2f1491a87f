"""What is tried: the default, then each value of each setting alone, then the best ones together.

All of it follows from what was measured before, so a search that was interrupted goes on where it
was: what has been started is not started again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from commlens.base.errors import say
from commlens.base.text import plural
from commlens.tuning.bench import DEFAULT, DEFAULT_STAGE, Bench
from commlens.tuning.figures import Target
from commlens.tuning.launches import quiet_optuna
from commlens.tuning.situation import Situation, is_met
from commlens.tuning.space import UNSET, Choice, Setting

SCREENING, CONFIRMATION = "screening", "confirmation"
_DEFAULT_LAUNCHES = 2
_SHARE_OF_SCREENING = 0.75  # of the time before the finals
_GAIN = 0.98  # a score below it is worth another look
_KEPT = 0.99  # by how much a setting must improve a combination to stay
_MOST_BASES, _MOST_GAINS = 2, 8
_PROPOSALS_PER_SETTING, _MOST_PROPOSALS = 4, 24


class Gain(NamedTuple):
    setting: str
    value: str
    base: Choice  # what it was screened on top of
    ratio: float  # to that


@dataclass
class Search:
    bench: Bench
    here: Situation
    seed: int = 0
    base: Choice = field(default_factory=dict)  # what everything is screened on top of

    def begin(self) -> None:
        """Measures the default. Raises InterruptionError."""
        made = self.bench.launches.of_stage(DEFAULT_STAGE)
        if not all(start.is_ok for start in made):
            return
        for number in range(len(made), _DEFAULT_LAUNCHES):
            if number > 0 and not self.bench.has_time():
                return
            if not self.bench.start(DEFAULT_STAGE, DEFAULT, ceilings=number == 0).is_ok:
                return

    def run(self, reserve_s: float) -> None:
        """Everything but the finals, for which so many seconds are left.

        Raises InterruptionError.
        """
        end = self.bench.budget.seconds - reserve_s
        for until in (_SHARE_OF_SCREENING * end, end):  # what is over goes to more screening
            skipped = self._screen(until)
            targets = self.bench.targets
            for number, target in enumerate(targets, 1):
                used = self.bench.budget.used
                self._combine(target, used + (end - used) / (len(targets) - number + 1))
        if skipped:
            say(f"{plural(skipped, 'value')} not tried within the budget: --resume goes on")

    def _screen(self, until: float) -> int:
        """How many values were not tried."""
        bench, skipped = self.bench, 0
        if bench.score(DEFAULT) is None:
            self._find_base(until)
        for setting, value in self._in_order():
            choice = self.screened(setting, value)
            if choice is None or bench.known(choice):
                continue
            if not bench.has_time(until):
                skipped += 1
                continue
            bench.default_again(until)
            bench.start(SCREENING, choice)
        return skipped

    def _in_order(self) -> Iterator[tuple[Setting, str]]:
        """First what others need, then a value of each setting, then another: where the time ends
        before the values do, each setting has been seen."""
        settings = list(self.bench.space.settings.values())
        needed = [one for one in settings if self._is_needed(one)]
        rest = [one for one in settings if one not in needed]
        for one in needed:
            yield from ((one, value.name) for value in one.values)
        for number in range(max((len(one.values) for one in rest), default=0)):
            yield from ((one, one.values[number].name) for one in rest if number < len(one.values))

    def _is_needed(self, setting: Setting) -> bool:
        return any(self.bench.is_needed({setting.name: value.name}) for value in setting.values)

    def _find_base(self, until: float) -> None:
        """Where the default fails: the first choice of one value with which it does not."""
        bench = self.bench
        for setting in bench.space.settings.values():
            for value in setting.values:
                choice = {setting.name: value.name}
                if not bench.known(choice):
                    if not bench.has_time(until):
                        return
                    bench.start(SCREENING, choice)
                found = bench.known(choice)
                if found and found.is_ok:
                    self.base = choice
                    say(f"the default fails; all else is tried with {bench.space.text(choice)}")
                    return

    def screened(self, setting: Setting, value: str) -> Choice | None:
        """The choice in which a value is screened: what it needs is set as well. None where
        nothing that works provides that."""
        base = self.base_of(setting)
        return None if base is None else self.bench.space.ordered({**base, setting.name: value})

    def base_of(self, setting: Setting) -> Choice | None:
        choice = dict(self.base)
        for name, text in setting.needs.items():
            if is_met(name, text, self.here, self.bench.space.change(choice).environment):
                continue
            provider = self._provider(name, text)
            if provider is None:
                return None
            choice[provider[0]] = provider[1]
        choice.pop(setting.name, None)
        return self.bench.space.ordered(choice)

    def _provider(self, name: str, text: str) -> tuple[str, str] | None:
        """Of the values that set a variable so, the one whose first start was the best: what is
        screened on top of it stays where it is."""
        found: list[tuple[float, str, str]] = []
        for setting in self.bench.space.settings.values():
            for value in setting.values:
                if value.set.get(name) == text:
                    first = self.bench.known({**self.base, setting.name: value.name})
                    score = self.bench.score_of(first.figures) if first else None
                    if score is not None:
                        found.append((score, setting.name, value.name))
        return min(found)[1:] if found else None

    def gains(self, target: Target) -> list[Gain]:
        """Of each setting on each base its best value, if it is better than the base, and by more
        than launches of the default were by luck."""
        least = min(_GAIN, self.bench.luck(target))
        found = []
        for setting in self.bench.space.settings.values():
            base = self.base_of(setting)
            before = None if base is None else self.bench.score(base, target)
            if base is None or before is None:
                continue
            after = [
                (score / before, value.name)
                for value in setting.values
                if (score := self.bench.score({**base, setting.name: value.name}, target))
            ]
            if after and min(after)[0] < least:
                found.append(Gain(setting.name, min(after)[1], base, min(after)[0]))
        return sorted(found, key=lambda gain: gain.ratio)

    def _bases(self, target: Target, gains: list[Gain]) -> list[Choice]:
        """Those on top of which the best was measured."""
        scores: list[tuple[float, int, Choice]] = []
        for base in _distinct([self.base, *(gain.base for gain in gains)]):
            before = self.bench.score(base, target)
            if before is not None:
                ratios = [gain.ratio for gain in gains if gain.base == base]
                scores.append((before * min([1.0, *ratios]), len(scores), base))
        return [base for _, _, base in sorted(scores, key=lambda one: one[:2])[:_MOST_BASES]]

    def _combine(self, target: Target, until: float) -> None:
        self._confirm(target, until)
        gains = self.gains(target)
        for base in self._bases(target, gains):
            on_top = [gain for gain in gains if self._goes_with(base, gain)][:_MOST_GAINS]
            best = self._added_up(target, base, on_top, until)
            self._without_each(target, best, until)
            if len(on_top) > 1:
                self._proposed(target, base, on_top, until)

    def _confirm(self, target: Target, until: float) -> None:
        """Starts what looked best again: of many single launches the best ones were lucky, too."""
        for gain in self.gains(target)[:_MOST_GAINS]:
            choice = self.bench.space.ordered({**gain.base, gain.setting: gain.value})
            if len(self.bench.launches.find(choice)) < 2 and self.bench.has_time(until):
                self.bench.start(CONFIRMATION, choice)

    def _goes_with(self, base: Choice, gain: Gain) -> bool:
        return gain.setting not in base and self._is_sound({**base, gain.setting: gain.value})

    def _is_sound(self, choice: Choice) -> bool:
        """Whether each of its settings has what it needs."""
        environment = self.bench.space.change(choice).environment
        return all(
            is_met(name, text, self.here, environment)
            for setting in choice
            for name, text in self.bench.space.settings[setting].needs.items()
        )

    def _tried(self, target: Target, choice: Choice, until: float, stage: str = "") -> float | None:
        """Its score; None where it fails or there is no time left."""
        if not self.bench.known(choice) and self.bench.has_time(until):
            self.bench.start(stage or f"combination {target.name}", choice)
        return self.bench.score(choice, target)

    def _added_up(self, target: Target, base: Choice, gains: list[Gain], until: float) -> Choice:
        """One after the other, the largest first; what does not help is left out again."""
        best, choice = self.bench.score(base, target), base
        for gain in gains:
            more = self.bench.space.ordered({**choice, gain.setting: gain.value})
            score = self._tried(target, more, until) if self._is_sound(more) else None
            if score is not None and (best is None or score < _KEPT * best):
                best, choice = score, more
        return choice

    def _without_each(self, target: Target, choice: Choice, until: float) -> None:
        """Leaves out each setting, for good where nothing is lost."""
        best = self.bench.score(choice, target)
        for name in list(choice) if len(choice) > 1 else []:
            less = {other: value for other, value in choice.items() if other != name}
            if best is None or not less or not self._is_sound(less):
                continue
            score = self._tried(target, less, until)
            if score is not None and _KEPT * score <= best:
                choice = less

    def _proposed(self, target: Target, base: Choice, gains: list[Gain], until: float) -> None:
        """Other combinations, by Optuna's tree-structured Parzen estimator."""
        values = {gain.setting: self._values_that_work(gain.setting, base) for gain in gains}
        stage = f"proposal {target.name}"
        study = self._study(target, base, values, stage)
        for _ in range(min(_MOST_PROPOSALS, _PROPOSALS_PER_SETTING * len(gains))):
            if not self.bench.has_time(until):
                return
            trial = study.ask()
            picked = {name: trial.suggest_categorical(name, own) for name, own in values.items()}
            own = {name: value for name, value in picked.items() if value != UNSET}
            choice = self.bench.space.ordered({**base, **own})
            score = None
            if self._is_sound(choice):
                score = self._tried(target, choice, until, stage)
            if score is None:
                study.tell(trial, state=_fail())
            else:
                study.tell(trial, score)

    def _values_that_work(self, name: str, base: Choice) -> list[str]:
        setting = self.bench.space.settings[name]
        own = [
            value.name
            for value in setting.values
            for choice in (self.screened(setting, value.name), {**base, name: value.name})
            if choice is not None and self.bench.score(choice) is not None
        ]
        return [UNSET, *dict.fromkeys(own)]

    def _study(self, target: Target, base: Choice, values: dict[str, list[str]], stage: str) -> Any:
        """What is known of these settings already, for the estimator; without what it proposed
        itself, so that a search that is resumed hears the same proposals again."""
        optuna = quiet_optuna()
        sampler = optuna.samplers.TPESampler(seed=self.seed, multivariate=True)
        study = optuna.create_study(sampler=sampler)
        for params, score in self.related(target, base, values, without=stage):
            kinds = {
                name: optuna.distributions.CategoricalDistribution(own)
                for name, own in values.items()
            }
            study.add_trial(
                optuna.trial.create_trial(params=params, distributions=kinds, value=score)
            )
        return study

    def related(
        self, target: Target, base: Choice, values: dict[str, list[str]], without: str = ""
    ) -> Iterator[tuple[dict[str, str], float]]:
        """The choices measured on this base that differ from it in these settings alone."""
        made = [start for start in self.bench.launches.done if start.stage != without]
        for choice in _distinct([start.choice for start in made]):
            rest = {name: value for name, value in choice.items() if name not in values}
            params = {name: choice.get(name, UNSET) for name in values}
            score = self.bench.score(choice, target)
            fits = all(value in values[name] for name, value in params.items())
            if score is not None and fits and rest == dict(base):
                yield params, score


def _distinct(choices: list[Choice]) -> list[Choice]:
    found: dict[tuple[tuple[str, str], ...], Choice] = {}
    for choice in choices:
        found.setdefault(tuple(sorted(choice.items())), choice)
    return list(found.values())


def _fail() -> Any:
    return quiet_optuna().trial.TrialState.FAIL
