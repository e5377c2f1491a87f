"""The scripts of sites, as the real sbatch reads them. What a site alone knows is given to it: the
partition's name, and nodes as large as any (tests/cluster/cluster)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_helpers import Cluster
from commlens.jobs.sites import site
from commlens.jobs.sites.script import Request, render

SLURM = [name for name in site.names() if site.load(name).scheduler == "slurm"]
OF_PLUGINS = ("#SBATCH --uenv=", "#SBATCH --view=")  # CSCS' own options of sbatch


@pytest.mark.parametrize("name", SLURM)
def test_sbatch_takes_the_script(name: str, cluster: Cluster) -> None:
    known = site.load(name)
    account = "" if known.account == "none" else "CSC262"
    for nodes in (1, 2):
        request = Request(nodes, 30, ["run", "latency"], account)
        lines = render(known, request, "commlens").splitlines(keepends=True)
        Path("job.sh").write_text(
            "".join(line for line in lines if not line.startswith(OF_PLUGINS))
        )
        if known.queue:
            cluster.on("scontrol", "create", f"PartitionName={known.queue}", "Nodes=site[1-2]")
        partition = known.queue or "site"
        ended = cluster.on("sbatch", "--test-only", f"--partition={partition}", "job.sh")
        assert ended.status == 0, ended.output
        assert f"on nodes site{'1' if nodes == 1 else '[1-2]'} in partition {partition}" in (
            ended.output
        )


def test_sbatch_would_refuse_a_mistake(cluster: Cluster) -> None:
    Path("job.sh").write_text("#!/bin/bash\n#SBATCH --gpus-per-nodes=4\n")
    refused = cluster.on("sbatch", "--test-only", "--partition=site", "job.sh")
    assert refused.status != 0 and "unrecognized option" in refused.output
