"""A machine of which it is known what settings do: a search is tested without starting a job."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from commlens.tuning.bench import Bench, Budget
from commlens.tuning.finals import Final, play, reserve_s
from commlens.tuning.launches import Launches, TrialOutcome
from commlens.tuning.scores import Slots
from commlens.tuning.search import Search
from commlens.tuning.space import Change, Situation, TuningSetting, applicable, parse
from run_helpers import table
from sample_records import BUSY, lines, make_record

Factor = Callable[[Mapping[str, str], str, int], "float | str"]
SIZES = (1, 1 << 20)
CASES: dict[str, Any] = table(Path(__file__).parent / "tuning" / "cases.yaml")


def here(**changes: Any) -> Situation:
    known: dict[str, Any] = {
        "mpi": "openmpi",
        "mpi_version": "5.0.7",
        "transports": ["mpi"],
        "memories": ["host"],
        "backend": "host",
        "benchmark": "latency",
        "implied": {"OMPI_MCA_pml": "ob1"},
    }
    return Situation(**{**known, **changes})


def settings(*entries: str) -> list[TuningSetting]:
    """`{name: A, values: ["1", "2"]}`; each means something."""
    listed = "\n".join(f"  - {entry[:-1]}, meaning: something}}" for entry in entries)
    return parse(f"title: tested\nsettings:\n{listed}\n", "tested.yaml")


@dataclass
class Machine:
    """Stands in for Runner: `factor` says how many times longer than 100 us a size takes with the
    environment, or how it ends: crashed, hung, wrong."""

    factor: Factor
    noise: float = 0.0
    seconds: float = 1.0
    now: float = 0.0
    started: list[dict[str, str]] = field(default_factory=list)
    fails_at: int = 0  # the start that the user interrupts
    is_busy: Callable[[int], bool] = lambda number: False  # during the start of this number
    _random: random.Random = field(default_factory=lambda: random.Random(1))

    def run(
        self,
        change: Change,
        file: Path,
        limit_s: float,
        transports: Sequence[str],
        *_: Any,
        **__: Any,
    ) -> TrialOutcome:
        self.started.append(dict(change.environment))
        if len(self.started) == self.fails_at:
            raise KeyboardInterrupt
        self.now += self.seconds
        drift = math.exp(self._random.gauss(0, self.noise))
        start = {"start": f"start-{file.stem}", "environment": dict(change.environment)}
        load = {"interference": BUSY} if self.is_busy(len(self.started)) else {}
        made = []
        for transport, size in product(transports, SIZES):
            factor = self.factor(change.environment, transport, size)
            if isinstance(factor, str):
                return TrialOutcome(factor, f"it {factor}", self.seconds)
            case = {"bytes": size, "median_us": 100 * factor * drift, "transport": transport}
            made.append(make_record(**case, **start, **load))
        file.write_text("".join(lines(made)), encoding="utf-8")
        return TrialOutcome("ok", "", self.seconds)


def search_of(
    machine: Machine,
    settings: Sequence[TuningSetting],
    folder: Path,
    *,
    budget: float = 1000,
    situation: Situation | None = None,
    by_size: bool = False,
) -> Search:
    situation = situation or here()
    folder.mkdir(exist_ok=True)
    bench = Bench(
        machine,  # type: ignore[arg-type]
        Launches(folder, Slots()),
        applicable(settings, situation)[0],
        situation.transports,
        Budget(budget, lambda: machine.now),
        by_size,
        tell=lambda _: None,
    )
    return Search(bench, situation)


def tuned(search: Search, launches: int = 5) -> list[Final]:
    search.begin()
    search.run(reserve_s(search.bench, launches))
    return play(search.bench, launches)
