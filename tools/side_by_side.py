"""What scripts share that run commlens and something else in turns."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "python"))

from commlens.records import Record, read  # noqa: E402

_Result = TypeVar("_Result")


def arguments(description: str | None, turns: int, launch: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    bench = TOP / "build" / "host" / "src" / "commlens-bench"
    parser.add_argument("--turns", type=int, default=turns)
    parser.add_argument("--bench", type=Path, default=bench, help="commlens-bench")
    parser.add_argument("--launch", default=launch, help="launcher and its options")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    return parser


def run(command: Sequence[str | Path], **settings: Any) -> subprocess.CompletedProcess[str]:
    """Ends the script if the command fails."""
    words = list(map(str, command))
    answer = subprocess.run(words, capture_output=True, text=True, **settings)
    if answer.returncode != 0:
        output = f"{answer.stdout}{answer.stderr}"[-4000:]
        sys.exit(f"{' '.join(words)}: exit status {answer.returncode}\n{output}")
    return answer


def measured(command: Sequence[str | Path], **settings: Any) -> list[Record]:
    """The records that commlens-bench prints. Ends the script if a case was not measured."""
    answer = run([*command, "--format", "json"], **settings)
    loaded = read(answer.stdout.splitlines(keepends=True), "commlens-bench")
    wrong = [*loaded.problems, *(own.reason for own in loaded.records if not own.measured)]
    if wrong or not loaded.records:
        sys.exit(f"{' '.join(map(str, command))}: {wrong or 'no record'}")
    return loaded.records


@contextmanager
def compiled(source: Path, compiler: str = "mpicc") -> Iterator[Path]:
    """The program, until the end of the context."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / source.stem
        run([compiler, "-O3", "-o", program, source])
        yield program


def take_turns(
    turns: int, sides: Mapping[str, Callable[[], _Result]]
) -> Iterator[dict[str, _Result]]:
    """The results of each turn by side. The order alternates: no side is always first."""
    for turn in range(turns):
        results = {name: sides[name]() for name in sorted(sides, reverse=turn % 2 == 1)}
        yield {name: results[name] for name in sides}


def write(path: Path | None, result: Mapping[str, Any]) -> None:
    if path:
        path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, **changes}
