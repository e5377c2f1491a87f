"""Processors, and how many of them a process may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.machine.cpus import look
from machine_helpers import recorded


def test_two_sockets(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "a100-node"))
    assert (view.sockets, view.cores, view.threads) == (2, 8, 16)
    assert [(node.number, node.cpus) for node in view.numa] == [(0, "0-3,8-11"), (1, "4-7,12-15")]
    assert view.numa[0].memory_bytes == 256 * 2**30 and view.memory_bytes == 512 * 2**30
    assert view.siblings == [f"{core},{core + 8}" for core in range(8)]
    assert view.model == "AMD EPYC 7543 32-Core Processor"
    assert view.allowed == "0-15" and view.allowed_count == 16
    assert view.cpu_quota is None and view.governor == "performance" and not view.virtual
    assert not view.unseen


def test_a_quota_of_version_2(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "h200-container"))
    assert view.cpu_quota is not None
    assert (view.cpu_quota.processors, view.cpu_quota.text) == (4.0, "400000 100000")
    assert view.virtual and "frequency governor" in view.unseen


def test_a_quota_of_version_1(tmp_path: Path) -> None:
    quota = look(recorded(tmp_path, "v100-node")).cpu_quota
    assert quota is not None and quota.processors == 1.5
    assert quota.path == "/sys/fs/cgroup/cpu/slurm/job_7/cpu.cfs_quota_us"


def test_the_tightest_of_the_groups_around_it_counts(tmp_path: Path) -> None:
    files = {
        "/sys/fs/cgroup/user.slice/cpu.max": "200000 100000\n",
        "/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope/cpu.max": "800000 100000\n",
    }
    quota = look(recorded(tmp_path, "a100-node", files=files)).cpu_quota
    assert quota is not None and quota.path == "/sys/fs/cgroup/user.slice/cpu.max"


@pytest.mark.parametrize("text", ["max 100000", "-1", "0 0", "x y", "", "9" * 40 + " 1"])
def test_no_quota(tmp_path: Path, text: str) -> None:
    files = {"/sys/fs/cgroup/user.slice/cpu.max": text}
    assert look(recorded(tmp_path, "a100-node", files=files)).cpu_quota is None


def test_a_list_that_is_none(tmp_path: Path) -> None:
    files = {"/proc/self/status": "Cpus_allowed_list:\t0-x\n", "/proc/cpuinfo": "\n"}
    view = look(recorded(tmp_path, "a100-node", files=files))
    assert view.allowed is None and view.allowed_count is None and view.model is None
    assert "model of the processor" in view.unseen
