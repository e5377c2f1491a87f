"""A cluster for the tests of this folder. Each begins with all nodes on and no job."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster_helpers import CRASH_IN_MPI_INIT, Cluster, why_not
from run_helpers import wait_for

NODES = 4  # most tests take the first two of them

_WHY_NOT = why_not()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=[CRASH_IN_MPI_INIT]))
            item.add_marker(pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "-"))


@pytest.fixture(scope="session")
def nodes() -> Iterator[Cluster]:
    # Not a folder of pytest's: the path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    folder.chmod(0o755)  # munged's socket must be within everybody's reach
    cluster = Cluster(folder / "c")
    try:
        cluster.call("up", NODES)
        yield cluster
    finally:
        cluster.call("down")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(nodes: Cluster) -> Iterator[Cluster]:
    yield nodes
    jobs = nodes.on("squeue", "--noheader")
    assert jobs.status == 0, "the cluster is broken"
    if jobs.output.strip():
        nodes.on("scancel", "--user=root")
        wait_for(lambda: not nodes.on("squeue", "--noheader").output.strip())
