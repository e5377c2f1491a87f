"""How close to the best combination a search comes, on machines whose settings interact.

docs/tune.md has what 40 of them gave for each of four kinds (docs/measured/tune-simulated.json).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import pytest

from commlens.tuning.search import Search
from tuning_helpers import Factor, Machine, search_of, settings, tuned

NAMES = "ABCDEFGH"
LAUNCHES = 100  # of each search, the finals included


class Landscape(NamedTuple):
    values: Mapping[str, list[str]]
    factor: Factor
    best: float


def landscape(seed: int, strength: float = 0.15, share: float = 0.3) -> Landscape:
    """Effects of values, and of that share of the pairs of values: normal, of the logarithm."""
    chance = random.Random(seed)
    values = {name: [str(n + 1) for n in range(chance.choice((2, 3, 3)))] for name in NAMES}
    alone = {
        (name, value): chance.gauss(0, 0.25)
        for name in NAMES
        if chance.random() < 0.6
        for value in values[name]
    }
    matter = sorted({name for name, _ in alone})
    pairs = [pair for pair in combinations(matter, 2) if chance.random() < share]
    together = {
        ((a, one), (b, other)): chance.gauss(0, strength)
        for a, b in pairs
        for one, other in product(values[a], values[b])
    }

    def factor(environment: Mapping[str, str], *_: object) -> float:
        made = [(name, environment[name]) for name in NAMES if name in environment]
        effects = [alone.get(one, 0.0) for one in made]
        return math.exp(sum(effects) + sum(together.get(two, 0.0) for two in combinations(made, 2)))

    choices = product(*(["", *values[name]] for name in matter))
    made = ({name: value for name, value in zip(matter, one) if value} for one in choices)
    return Landscape(values, factor, min(factor(one) for one in made))


def distance(seed: int, folder: Path) -> float:
    """How many times longer than with the best combination it takes with the one that was found."""
    values, factor, best = landscape(seed)
    found = settings(*(f"{{name: {name}, values: {own}}}" for name, own in values.items()))
    search = search_of(Machine(factor, noise=0.02), found, folder, budget=LAUNCHES)
    (final,) = tuned(search)
    return float(factor(final.choice, "mpi", 1)) / best


def test_exchanges_come_closer_to_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(6)
    with_exchanges = [distance(seed, tmp_path / f"{seed}") for seed in seeds]
    monkeypatch.setattr(Search, "_exchange", lambda *_: None)
    without = [distance(seed, tmp_path / f"{seed}-without") for seed in seeds]
    assert math.prod(with_exchanges) ** (1 / len(seeds)) < 1.1
    assert math.prod(with_exchanges) < math.prod(without)
