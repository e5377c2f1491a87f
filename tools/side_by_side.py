"""For scripts that run two programs interleaved which `commlens compare --run` cannot run."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

TOP = Path(__file__).resolve().parent.parent

_Result = TypeVar("_Result")


def arguments(description: str | None, turns: int, launch: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=turns)
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
