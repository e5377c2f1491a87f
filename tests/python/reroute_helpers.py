"""Runs `commlens reroute` with a library that does nothing, on a program that writes what the
ranks of a rerouted program would have written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conftest import Commlens
from run_helpers import executable

MARK = 'const char mark[] = "commlens-reroute is built for: Open MPI 4.1.4";'


def function(name: str = "MPI_Allreduce", **changes: Any) -> dict[str, Any]:
    """Ten calls of 80 MB, of which MPI timed the first and one was small."""
    counters = {
        "calls": 10, "bytes": 9 * 80_000_000 + 8, "rerouted_calls": 8,
        "rerouted_bytes": 8 * 80_000_000, "rerouted_s": 0.0625, "mpi_s": 0.125,
        "mpi_estimate_s": 1.0, "measured_calls": 1, "local_copies": 0,
        "fell_back": {"fewer than 65536 bytes": 1},
    }  # fmt: skip
    return {"function": name, **counters, **changes}


def rank_file(rank: int = 0, ranks: int = 2, **changes: Any) -> dict[str, Any]:
    return {
        "format": 1, "rank": rank, "ranks": ranks, "host": "node", "pid": 100 + rank, "parent": 1,
        "job": "", "loaded_ns": 0, "program": "/bin/program", "mpi": "Open MPI v4.1.4, package",
        "to": "ccl", "library": "NCCL 2.28.3", "disabled": None, "finalized": True, "run_s": 3.0625,
        "functions": [function()], "differences": [], **changes,
    }  # fmt: skip


def both(**changes: Any) -> list[dict[str, Any]]:
    """Of two ranks."""
    return [rank_file(rank, 2, **changes) for rank in range(2)]


class Rerouting:
    """`commlens reroute` in the working directory, which is the test's own."""

    def __init__(self, commlens: Commlens, library: Path) -> None:
        self._commlens, self._library = commlens, library

    def __call__(
        self,
        *options: str,
        files: Sequence[dict[str, Any]] = (),
        script: str = "",
        **variables: str,
    ) -> subprocess.CompletedProcess[str]:
        """The program writes the files and goes on with the script."""
        for number, content in enumerate(files):
            Path(f"left-{number}").write_text(json.dumps(content))
        copies = [
            f'cp left-{number} "$COMMLENS_REROUTE_DIR/'
            f'rank-{file["rank"]}-{file["host"]}-{file["pid"]}.json"'
            for number, file in enumerate(files)
        ]
        executable(Path(), "program", "\n".join([*copies, script]))
        named = {"COMMLENS_REROUTE_LIBRARY": str(self._library), **variables}
        return self._commlens("reroute", *options, "--", "./program", **named)

    def record(self) -> dict[str, Any]:
        """The one that was written."""
        (path,) = Path("results").glob("reroute-*.jsonl")
        (line,) = path.read_text().splitlines()
        recorded: dict[str, Any] = json.loads(line)
        return recorded


def build_library(folder: Path) -> Path:
    """With the mark, and nothing else."""
    (folder / "library.c").write_text(MARK)
    library = folder / "libcommlens-reroute.so"
    words = ["cc", "-shared", "-fPIC", str(folder / "library.c"), "-o", str(library)]
    subprocess.run(words, check=True)
    return library
