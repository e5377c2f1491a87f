"""How much each setting matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commlens.tuning.bench import Bench
from commlens.tuning.figures import Target
from commlens.tuning.finals import Final
from commlens.tuning.launches import quiet_optuna
from commlens.tuning.search import Gain, Search
from commlens.tuning.space import UNSET

_FEWEST_TRIALS = 12  # for an estimate of shares


@dataclass(frozen=True)
class Importance:
    setting: str
    value: str  # the best one
    alone: float  # the ratio to the same without it
    left_out: float | None  # the best choice without it, relative to the best
    share: float | None  # of the variance among the combinations, by PED-ANOVA
    may_break: str


def importance(search: Search, final: Final) -> list[Importance]:
    """Of the settings that helped, the largest effect first."""
    gains = search.gains(final.target)
    shares = _shares(search, final.target, gains)
    return [
        Importance(
            gain.setting,
            gain.value,
            gain.ratio,
            _left_out(search.bench, final, gain.setting),
            shares.get(gain.setting),
            search.bench.space.settings[gain.setting].may_break,
        )
        for gain in gains
    ]


def _left_out(bench: Bench, final: Final, name: str) -> float | None:
    if name not in final.choice:
        return None
    less = {other: value for other, value in final.choice.items() if other != name}
    without, best = bench.score(less, final.target), bench.score(final.choice, final.target)
    return without / best if without is not None and best else None


def _shares(search: Search, target: Target, gains: Sequence[Gain]) -> dict[str, float]:
    """Where there are combinations enough to estimate them."""
    space = search.bench.space
    values = {
        gain.setting: [UNSET, *(value.name for value in space.settings[gain.setting].values)]
        for gain in gains
    }
    related = list(search.related(target, search.base, values)) if len(values) > 1 else []
    if len(related) < _FEWEST_TRIALS:
        return {}
    optuna = quiet_optuna()
    study = optuna.create_study()
    kinds = {
        name: optuna.distributions.CategoricalDistribution(own) for name, own in values.items()
    }
    for params, score in related:
        study.add_trial(optuna.trial.create_trial(params=params, distributions=kinds, value=score))
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    return dict(optuna.importance.get_param_importances(study, evaluator=evaluator))
