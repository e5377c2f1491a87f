#!/usr/bin/env python3
"""How long `commlens history` takes with many records.

    tools/history/timing.py [--cases 400] [--launches 250] [--samples 10] [--store FILE]

Makes a store of made-up launches, half of whose cases become slower at the end, and prints the
seconds of each command; 400 cases of 250 launches are 100,000 records and 1,000,000 samples.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "python"), str(TOP / "tests" / "python")]

from sample_records import lines, make_record  # noqa: E402

CHANGED_FOR = 3  # launches


def launch(number: int, total: int, cases: int, samples: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(number)
    moment = datetime(2025, 1, 1, 3) + timedelta(days=number)
    is_new = total - number <= CHANGED_FOR
    versions = {"mpi": "Open MPI 5.0.7", "ucx": "1.19.0" if is_new else "1.18.0"}
    started = {"start": f"start-{number}", "versions": versions}
    for case in range(cases):
        slower = 1.15 if is_new and case % 2 else 1.0
        us = float((2 + case) * slower * np.exp(0.015 * random.standard_normal()))
        record = make_record(median_us=us, bytes=8 * (case + 1), **started)
        values = us * 1e-6 * (1 + 0.02 * random.random(samples))
        record["samples"]["values_s"] = values.tolist()
        record["start"]["time"] = record["time"] = f"{moment.isoformat()}Z"
        yield record


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--launches", type=int, default=250)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--store", type=Path, help="keep the store here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "history.sqlite"
        records = Path(folder) / "records.jsonl"
        with records.open("w", encoding="utf-8") as file:
            for number in range(options.launches):
                file.writelines(
                    lines(launch(number, options.launches, options.cases, options.samples))
                )
        commands = (
            ["add", records], ["show"], ["check"], ["show", "--format", "json"],
            ["export", "--prometheus", Path(folder) / "all.prom"],
        )  # fmt: skip
        environment = {
            **os.environ,
            "PYTHONPATH": str(TOP / "python"),
            "COMMLENS_STORE": str(store),
        }
        print(f"{options.cases * options.launches:,} records")
        for words in commands:
            began = time.perf_counter()
            command = [sys.executable, "-m", "commlens", "history", *map(str, words)]
            ended = subprocess.run(command, env=environment, capture_output=True, text=True)
            print(f"{time.perf_counter() - began:6.1f} s  history {' '.join(map(str, words[:2]))}")
            print(f"          {(ended.stdout or ended.stderr).splitlines()[-1].strip()}")
        print(f"{store.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
