"""The kernel: modules, and what it allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.machine.kernel import look
from machine_helpers import RecordedSystem, recorded, unpacked
from run_helpers import cases


def test_modules_and_driver(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "a100-node"))
    assert view.release == "5.14.0-284.30.1.el9_2.x86_64"
    assert view.modules == [
        "gdrdrv", "ib_uverbs", "knem", "nvidia", "nvidia_peermem", "xpmem",
    ]  # fmt: skip
    assert view.has("gdrdrv") and not view.has("amdgpu")
    assert view.nvidia_is_open is False and view.dmabuf is False
    assert (view.ptrace_scope, view.may_trace) == (0, False)
    assert (view.thp, view.huge_pages, view.numa_balancing) == ("madvise", 0, False)
    assert view.container is None and not view.unseen


def test_open_driver_in_a_container(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "h200-container"))
    assert view.nvidia_is_open and view.dmabuf and view.container == "/.dockerenv"
    assert view.ptrace_scope == 1


@pytest.mark.parametrize(("release", "driver", "expected"), cases("DMA-BUF of NVIDIA"))
def test_dma_buf(tmp_path: Path, release: str, driver: str, expected: bool | None) -> None:
    files = {"/proc/sys/kernel/osrelease": release, "/proc/driver/nvidia/version": driver}
    assert look(recorded(tmp_path, "a100-node", files=files)).dmabuf is expected


def test_dma_buf_of_amd(tmp_path: Path) -> None:
    assert look(recorded(tmp_path, "mi250x-node")).dmabuf is True
    assert look(recorded(tmp_path, "laptop")).dmabuf is None


def test_a_process_that_may_trace(tmp_path: Path) -> None:
    files = {"/proc/self/status": "CapEff:\t000001ffffffffff\n"}
    assert look(recorded(tmp_path, "a100-node", files=files)).may_trace
    odd = recorded(tmp_path, "v100-node", files={"/proc/self/status": "CapEff:\tzz\n"})
    assert look(odd).may_trace is None


@pytest.mark.parametrize("text", ["", "x", "9" * 99])
def test_odd_numbers(tmp_path: Path, text: str) -> None:
    files = {
        "/proc/sys/kernel/yama/ptrace_scope": text,
        "/proc/sys/kernel/numa_balancing": text,
        "/sys/kernel/mm/transparent_hugepage/enabled": text,
    }
    view = look(recorded(tmp_path, "a100-node", files=files))
    assert view.ptrace_scope is None and view.numa_balancing is None and view.thp is None


def test_without_modules(tmp_path: Path) -> None:
    system = RecordedSystem(unpacked(tmp_path, "laptop"))
    (system.folder / "proc" / "modules").unlink()
    for path in sorted((system.folder / "sys/module").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    view = look(system)
    assert view.modules is None and "kernel modules" in view.unseen
