"""Every option of every benchmark with values that nobody would write: the real program takes each
or refuses it in one sentence that names it."""

from __future__ import annotations

import random

import pytest

from commlens.jobs.native import Native
from native_helpers import BENCH, DIFFERENT, needs_native

pytestmark = needs_native

SEED = 12
ODD = [
    "", " ", "0", "-1", "+1", "1", "1.5", "1e3", "1e17", "1e400", "-0", "nan", "inf", "0x10", "8,8",
    "8,,16", ",", "8:4", "1:8:x1", "1:1T:x2", "8:", "1K", "50%", "true", "false", "yes", "all",
    "none", "host", "mpi,", "mpi,mpi", "2x2x2", "1,2", "1,2,3,4", "9" * 5000, "x" * 5000, "é",
    "\x1b[31m", "a=b", "--", "-n", "/", "../x", "'", '"', "$(x)",
]  # fmt: skip
COMMON = [
    "transport", "memory", "timing", "repeat", "warmup", "batches", "min-time", "until-ci",
    "max-time", "timeout", "format", "no-ceilings", "no-parts", "no-validate", "nonsense", "help",
]  # fmt: skip


@pytest.mark.parametrize("benchmark", DIFFERENT)
def test_any_options(benchmark: str) -> None:
    native = Native(BENCH)
    options = [*(option.name for option in native.benchmark(benchmark).options), *COMMON]
    chance = random.Random(f"{SEED} {benchmark}")
    lines = [
        [benchmark, *(word for name in names for word in with_value(name, chance))]
        for names in (chance.sample(options, chance.choice([1, 1, 2])) for _ in range(400))
    ]
    lines += [[benchmark, f"--{name}{value}"] for name in options for value in ("", "=", "=x")]
    mistakes = native.mistakes([(chance.choice([1, 2, 3, 4, 1_000_000]), line) for line in lines])
    assert len(mistakes) == len(lines)
    for line, mistake in zip(lines, mistakes):
        if not mistake:
            assert "--help" not in line and "--nonsense" not in line
            continue
        assert "\n" not in mistake and len(mistake) < 800, line
        assert "--" in mistake, "it names the option"
        assert not any(word in mistake for word in ("std::", "exception", "TEXT", "stoi")), mistake


def with_value(name: str, chance: random.Random) -> list[str]:
    value = chance.choice(ODD)
    return [f"--{name}={value}"] if chance.random() < 0.5 else [f"--{name}", value]
