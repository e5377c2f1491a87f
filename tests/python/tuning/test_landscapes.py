"""How close to the best combination a search comes, on machines whose settings interact.

Run as a program, it measures what docs/tune.md has of 40 machines of each of four kinds, and writes
docs/measured/tune-simulated.json anew; rows of an earlier version of the search stay.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from commlens.tuning.search import Search
from tuning_helpers import Factor, Machine, search_of, settings, tuned

NAMES = "ABCDEFGH"
DOCUMENT = Path(__file__).parents[3] / "docs" / "measured" / "tune-simulated.json"
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
        ((a, first), (b, second)): chance.gauss(0, strength)
        for a, b in pairs
        for first, second in product(values[a], values[b])
    }

    def factor(environment: Mapping[str, str], *_: object) -> float:
        made = [(name, environment[name]) for name in NAMES if name in environment]
        effects = [alone.get(value, 0.0) for value in made]
        effects += [together.get(pair, 0.0) for pair in combinations(made, 2)]
        return math.exp(sum(effects))

    choices = product(*(["", *values[name]] for name in matter))
    made = ({name: value for name, value in zip(matter, texts) if value} for texts in choices)
    return Landscape(values, factor, min(factor(texts) for texts in made))


def searched(
    seed: int, folder: Path, noise: float = 0.02, strength: float = 0.15, share: float = 0.3
) -> tuple[float, int]:
    """How many times longer than with the best combination it takes with the one that was found,
    and the number of launches."""
    values, factor, best = landscape(seed, strength, share)
    space = settings(*(f"{{name: {name}, values: {names}}}" for name, names in values.items()))
    machine = Machine(factor, noise=noise)
    (final,) = tuned(search_of(machine, space, folder, budget=LAUNCHES))
    return float(factor(final.choice, "mpi", 1)) / best, len(machine.started)


def test_exchanges_come_closer_to_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(6)
    with_exchanges = [searched(seed, tmp_path / f"{seed}")[0] for seed in seeds]
    monkeypatch.setattr(Search, "_exchange", lambda *_: None)
    without = [searched(seed, tmp_path / f"{seed}-without")[0] for seed in seeds]
    assert math.prod(with_exchanges) ** (1 / len(seeds)) < 1.1
    assert math.prod(with_exchanges) < math.prod(without)


def measure(kind: list[float], proposals: str, folder: Path) -> list[float | str]:
    """A row: the kind (noise, strength and share of interactions), and what the searches gave."""
    folders = [folder / f"{proposals} {kind} {seed}" for seed in range(40)]
    ratios, counts = zip(*(searched(seed, place, *kind) for seed, place in enumerate(folders)))
    within = sum(ratio <= 1.02 for ratio in ratios)
    mean = round(statistics.geometric_mean(ratios), 3)
    return [*kind, proposals, within, mean, round(statistics.mean(counts))]


if __name__ == "__main__":
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    exchange = Search._exchange
    with TemporaryDirectory() as place:
        for row in document["rows"]:
            if row[3] in ("none", "exchange"):
                changed = {"none": lambda *_: None, "exchange": exchange}[row[3]]
                Search._exchange = changed
                row[:] = measure(row[:3], row[3], Path(place))
    DOCUMENT.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
