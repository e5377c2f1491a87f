"""Sites: their files, what they allow, and how ranks are launched there."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.cli.sites import minutes_in
from commlens.jobs.sites import site
from commlens.jobs.sites.script import Request
from commlens.jobs.sites.site import on_site
from commlens.jobs.spec import JobSpec
from commlens.knowledge.launchers import LAUNCHERS
from conftest import Commlens
from run_helpers import cases
from site_helpers import site_file

SHIPPED = [
    *("aurora", "crusher", "daint", "delta", "frontier", "generic-flux", "generic-pbs"),
    *("generic-slurm", "juliet", "jupiter", "juwels-booster", "laptop", "leonardo", "lumi"),
    *("marenostrum5", "perlmutter", "summit", "tuolumne", "vista"),
]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_site_is_whole(name: str) -> None:
    loaded = site.load(name)
    assert loaded.site == name
    assert loaded.source and loaded.checked
    assert loaded.launcher in {word for launcher in LAUNCHERS for word in launcher.programs}


def test_sites_are_listed_with_how_well_they_are_tested(commlens: Commlens) -> None:
    run = commlens("sites")
    assert run.returncode == 0
    rows = run.stdout.partition("─\n")[2].splitlines()
    listed = {line.split()[0]: line for line in rows}
    assert sorted(listed) == SHIPPED
    assert "untested" in listed["frontier"] and "retired" in listed["summit"]


def test_a_site_is_shown_with_a_picture_of_its_node(commlens: Commlens) -> None:
    run = commlens("sites", "show", "frontier")
    assert run.returncode == 0
    assert "  variables  MPICH_GPU_SUPPORT_ENABLED=1 MPICH_OFI_NIC_POLICY=NUMA" in run.stdout
    assert run.stdout.partition("\n\n")[2] == NODE_OF_FRONTIER


NODE_OF_FRONTIER = """\
one node: 8 ranks of 7 cores, 8 GPUs
  ┌─────────────┬─────────────┬─────────────┬─────────────┐
  │ NUMA 0      │ NUMA 1      │ NUMA 2      │ NUMA 3      │
  │ cores 0-15  │ cores 16-31 │ cores 32-47 │ cores 48-63 │
  │ GPUs 4, 5   │ GPUs 2, 3   │ GPUs 6, 7   │ GPUs 0, 1   │
  │ 1 NIC       │ 1 NIC       │ 1 NIC       │ 1 NIC       │
  │ ranks 0, 1  │ ranks 2, 3  │ ranks 4, 5  │ ranks 6, 7  │
  └─────────────┴─────────────┴─────────────┴─────────────┘
"""


def test_a_node_of_which_no_more_is_known_is_one_box(commlens: Commlens) -> None:
    lines = commlens("sites", "show", "perlmutter").stdout.splitlines()
    assert [line.strip("│ ") for line in lines[-4:-1]] == ["node", "GPUs 0-3", "ranks 0-3"]


def test_ranks_are_drawn_where_the_launcher_binds_them() -> None:
    lumi = site.load("lumi")
    masks = lumi.launcher_arguments[-1].rpartition(":")[2].split(",")
    cores = [{core for core in range(64) if int(mask, 16) >> core & 1} for mask in masks]
    aurora = site.load("aurora")
    listed = aurora.launcher_arguments[-1].partition("list:")[2].split(":")
    for known, bound in ((lumi, cores), (aurora, [_cores(text) for text in listed])):
        assert known.node.domains
        for domain in known.node.domains:
            assert all(bound[rank] <= _cores(domain.cores) for rank in domain.ranks)


def test_where_ranks_take_the_cores_in_order_they_are_drawn_so() -> None:
    for name in ("daint", "delta"):
        node = site.load(name).node
        for domain in node.domains:
            (rank,) = domain.ranks
            bound = range(rank * node.cores_per_rank, (rank + 1) * node.cores_per_rank)
            assert _cores(domain.cores) == {*bound}
        assert sorted(gpu for one in node.domains for gpu in one.gpus) == [*range(node.gpus)]


def _cores(text: str) -> set[int]:
    first, last = map(int, text.split("-"))
    return {*range(first, last + 1)}


def test_a_site_of_the_user(commlens: Commlens, monkeypatch: pytest.MonkeyPatch) -> None:
    path = site_file("slurm", title="'my own'")
    assert site.load(str(path)).title == "my own"
    folder = Path("config/commlens/sites")
    folder.mkdir(parents=True)
    path.rename(folder / "frontier.yaml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("config").resolve()))
    assert site.load("frontier").title == "my own", "before the one that is shipped"
    assert "my own" in commlens("sites").stdout


@pytest.mark.parametrize(("values", "message"), cases("mistakes in sites"))
def test_a_mistake_in_a_site_is_one_line(values: dict[str, str], message: str) -> None:
    with pytest.raises(CommlensError) as error:
        site.load(str(site_file(**{"scheduler": "slurm", **values})))
    assert str(error.value).startswith(f"mine.yaml: {message}")


@pytest.mark.parametrize(("words", "message"), cases("what sites refuse"))
def test_a_job_that_a_site_would_refuse_is_refused_before(
    commlens: Commlens, words: list[str], message: str
) -> None:
    for command in ("job", "submit"):
        run = commlens(command, "frontier", *words, "--", "run", "latency")
        assert run.returncode == 2
        assert run.stderr.startswith(f"commlens: {message}")
    assert not Path("results").exists()


def test_a_job_without_an_account_is_printed_but_not_submitted(commlens: Commlens) -> None:
    words = ("frontier", "--nodes", "1", "--time", "30", "--", "run", "bp5")
    printed = commlens("job", *words)
    assert printed.returncode == 0 and "#SBATCH --account=ACCOUNT" in printed.stdout.splitlines()
    assert printed.stderr.startswith("commlens: --account is missing: write your project's name")
    refused = commlens("submit", *words)
    assert refused.returncode == 2
    assert refused.stderr.startswith(
        "commlens: --account is missing: frontier takes no job without"
    )


@pytest.mark.parametrize(("words", "message"), cases("what is no job is refused"))
def test_a_wrong_job_is_refused(commlens: Commlens, words: str, message: str) -> None:
    run = commlens("job", *words.split())
    assert run.returncode == 2 and run.stderr.startswith(f"commlens: {message}")


def test_larger_jobs_may_take_longer() -> None:
    Request(100, 300, ["run", "bp5"], "A").check(site.load("frontier"))


@pytest.mark.parametrize(("text", "minutes"), cases("times of jobs"))
def test_times(text: str, minutes: int | None) -> None:
    assert minutes_in(text) == minutes


def test_run_takes_the_launcher_of_a_site() -> None:
    environment = {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": "2", "MPICH_OFI_NIC_POLICY": "GPU"}
    launcher, overrides = on_site(site.load("frontier"), "auto", JobSpec(), environment)
    assert launcher == "srun"
    assert overrides.ranks_per_node == 8
    assert overrides.launcher_arguments == (
        *("--kill-on-bad-exit=1", "--cpus-per-task=7", "--gpus-per-task=1", "--gpu-bind=closest"),
    )
    assert overrides.environment["MPICH_GPU_SUPPORT_ENABLED"] == "1"
    assert "MPICH_OFI_NIC_POLICY" not in overrides.environment, "it is set already"


def test_the_user_comes_before_the_site() -> None:
    said = JobSpec(ranks=4, launcher_arguments=["-v"], environment={"FI_CXI_RX_MATCH_MODE": "x"})
    launcher, overrides = on_site(site.load("frontier"), "mpirun", said, {})
    assert (launcher, overrides.ranks, overrides.ranks_per_node) == ("mpirun", 4, 0)
    assert overrides.launcher_arguments[-1] == "-v"
    assert overrides.environment["FI_CXI_RX_MATCH_MODE"] == "x"


def test_run_on_a_site(commlens: Commlens) -> None:
    run = commlens("run", "allreduce", "--site", "laptop", "--dry-run")
    assert run.returncode == 0
    assert "mpirun" in run.stdout and "-n 2" in run.stdout
