"""packaging/reframe, run by ReFrame itself with its own scheduler `local`: no MPI, no cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import commlens
from conftest import FAKES
from sample_records import statistic

FOLDER = Path(__file__).parents[3] / "packaging" / "reframe"
REFRAME = os.environ.get("COMMLENS_TEST_REFRAME") or shutil.which("reframe")
SITE = """site_configuration = {
    "systems": [{"name": "mine", "hostnames": [".*"], "partitions": [
        {"name": "cpu", "scheduler": "local", "launcher": "local", "environs": ["mpi"]}]}],
    "environments": [{"name": "mpi"}],
}"""

pytestmark = pytest.mark.skipif(
    not REFRAME, reason="no reframe: `pip install ReFrame-HPC`, or name one: COMMLENS_TEST_REFRAME"
)


@dataclass
class Checked:
    """What ReFrame says of the test `latency`."""

    result: str
    reason: str
    # Of the latency of a size: value, reference, how much lower or higher it may be, unit, verdict.
    variables: dict[int, list[Any]]


def _check(*settings: str) -> Checked:
    """Runs it: the program says 2 us for 1, 2 and 4 bytes."""
    Path("site.py").write_text(SITE)
    files = ("-C", "site.py", "-c", FOLDER / "commlens_checks.py", "--report-file", "report.json")
    chosen = ("-n", "CommlensCheck.*latency", *(word for one in settings for word in ("-S", one)))
    words = (REFRAME, *files, *chosen, "--prefix", "reframe", "-r")
    run = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120)
    assert "Ran 1/1 test case(s)" in run.stdout, run.stdout + run.stderr
    (case,) = json.loads(Path("report.json").read_text())["runs"][0]["testcases"]
    values = case["perfvalues"]
    latencies = {size: values[f"mine:cpu:mpi_host_{size}_latency_us"] for size in (1, 2, 4)}
    return Checked(case["result"], str(case["fail_reason"]), latencies)


def _launches(latencies_us: dict[int, float], count: int = 20) -> Iterator[str]:
    """Records of that program, as if each size had taken so long in so many launches before."""
    program = (FAKES / "commlens-bench", "latency", "--record", "said.jsonl")
    subprocess.run(list(map(str, program)), check=True, capture_output=True)
    start, *records = map(json.loads, Path("said.jsonl").read_text().splitlines())
    for number in range(count):
        yield json.dumps({**start, "start": f"before-{number}"}) + "\n"
        for record in records:
            factor = latencies_us.get(record["parameters"]["bytes"], 0) / 2
            if factor:
                median = factor * (2 + 0.001 * (number % 3))
                record["statistics"]["latency_us"] = statistic(median)
                yield json.dumps({**record, "start": f"before-{number}"}) + "\n"


def _history(latencies_us: dict[int, float], machine: str) -> commlens.history.History:
    Path("before.jsonl").write_text("".join(_launches(latencies_us)))
    history = commlens.history.open("store.sqlite")
    history.add(commlens.read("before.jsonl"), machine=machine)
    return history


def test_without_a_history_there_is_no_reference() -> None:
    checked = _check()
    assert checked.result == "pass"
    assert checked.variables[1] == [2.0, 0, None, None, "us", "pass"]
    assert not Path("data").exists()


def test_references_are_the_baselines_of_the_history() -> None:
    history = _history({1: 2.0, 2: 1.0}, "mine:cpu")
    checked = _check("commlens_store=store.sqlite")
    limit = pytest.approx(1.03 * 2.002 / 2.001 - 1)
    assert checked.variables[1] == [2.0, 2.001, None, limit, "us", "pass"]
    assert checked.variables[2] == [2.0, 1.0005, None, limit, "us", "fail"]
    assert checked.variables[4] == [2.0, 0, None, None, "us", "pass"]
    assert checked.result == "fail" and "mpi_host_2_latency_us" in checked.reason
    # What was measured is kept, as a launch of three cases.
    assert [len(one.points) for one in history.series(machine="mine:cpu")] == [21, 21, 1]


def test_the_name_of_the_machine_and_the_threshold_can_be_chosen() -> None:
    history = _history({1: 1.0}, "all")
    checked = _check(
        "commlens_store=store.sqlite", "commlens_machine=all", "commlens_threshold=1.5"
    )
    assert checked.result == "pass"
    assert checked.variables[1][1:4] == [1.0005, None, pytest.approx(2.5 * 2.002 / 2.001 - 1)]
    assert {one.machine for one in history.series()} == {"all"}
