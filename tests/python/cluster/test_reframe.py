"""ReFrame's tests (packaging/reframe), run by ReFrame on the cluster."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cluster_helpers import Cluster
from native_helpers import BENCH, ROOT

REFRAME = os.environ.get("COMMLENS_TEST_REFRAME") or shutil.which("reframe")
FOLDER = ROOT / "packaging" / "reframe"


@pytest.mark.skipif(not REFRAME, reason="no reframe: name one in COMMLENS_TEST_REFRAME")
def test_performance_variables_are_read_from_records(cluster: Cluster) -> None:
    run = cluster.on(
        *(REFRAME, "-C", FOLDER / "example_site.py", "-c", FOLDER / "commlens_checks.py"),
        *("-n", "CommlensCheck.*latency", "--performance-report", "-r"),
        *("-S", "commlens_options=--memory host --transport mpi --repeat 2 --batches 2"),
        PYTHONPATH=str(ROOT / "python"),
        PATH=f"{BENCH.parent}:{os.environ['PATH']}",
        HOME=str(Path.cwd()),
    )
    assert run.status == 0, run.output
    assert "Ran 1/1 test case(s) from 1 check(s) (0 failure(s)" in run.output
    assert "P: mpi_host_8_latency_us: " in run.output, run.output
