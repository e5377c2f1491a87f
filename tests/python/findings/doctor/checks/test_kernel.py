"""Checks of the kernel and its drivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.machine.system import Output
from commlens.machine.ucx import UcxView
from machine_checks import Cases, Given, assert_a_finding, names, of, on, outcome, own_codes

XML = "nvidia-smi -q -x"
MODULES = "/proc/modules"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\n"
YAMA = "/proc/sys/kernel/yama/ptrace_scope"
ROOT = {"/proc/self/status": "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-7\n"}
WITH = UcxView(library="/usr/lib/libucp.so.0", gdrcopy="/usr/lib/libgdrapi.so.2")
WITHOUT = UcxView(library="/usr/lib/libucp.so.0")
GONE = ("nvidia_peermem", "nv_peer_mem", "gdrdrv", "knem", "xpmem")
NOT_NVIDIA = {"no GPU": on("laptop"), "of AMD": on("mi250x-node")}
NO_MELLANOX = {**NOT_NVIDIA, "no InfiniBand": on("h200-container")}
NO_UCX = {**NOT_NVIDIA, "no UCX": on("a100-node")}


def only(*modules: str, name: str = "a100-node", **changes: object) -> Given:
    """These modules are loaded, and no others of those that matter."""
    without = tuple(f"/sys/module/{one}" for one in GONE if one not in modules)
    files = changes.pop("files", {})
    assert isinstance(files, dict)
    listed = "".join(f"{one} 1 0 - Live 0x0\n" for one in ("nvidia", *modules))
    return on(name, files={MODULES: listed, **files}, absent=without, **changes)


CASES = {
    "gpu-driver-silent": Cases(
        {"it fails": on("a100-node", outputs={XML: Output(XML, "it has failed\n", status=9)}),
         "it hangs": on("a100-node", outputs={XML: Output(XML, missing="took longer than 20 s")}),
         "it shows none": on("a100-node", outputs={
             XML: "<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>"})},
        {"NVIDIA": on("a100-node"), "AMD": on("mi250x-node")},
        {"no GPU": on("laptop"), "no nvidia-smi": on("a100-node", without=["nvidia-smi"])},
    ),
    "nvidia-peermem-missing": Cases(
        {"none": only("gdrdrv"), "an old driver": only(name="v100-node")},
        {"nvidia_peermem": on("a100-node"), "nv_peer_mem": on("v100-node"),
         "dma-buf": only(files={"/proc/driver/nvidia/version": OPEN})},
        NO_MELLANOX,
    ),
    "dmabuf-instead-of-peermem": Cases(
        {"an open driver": only(files={"/proc/driver/nvidia/version": OPEN})},
        {"nvidia_peermem": on("a100-node"), "none": only()},
        NO_MELLANOX,
    ),
    "nv-peer-memory-deprecated": Cases(
        {"a new driver": only("nv_peer_mem")},
        {"nvidia_peermem": on("a100-node"), "an old driver": on("v100-node")},
        NO_MELLANOX,
    ),
    "gdrdrv-missing": Cases(
        {"the library only": only("nvidia_peermem", ucx=WITH)},
        {"both": on("a100-node", ucx=WITH)},
        {**NO_UCX, "no library": only(ucx=WITHOUT)},
    ),
    "gdrcopy-library-missing": Cases(
        {"the module only": on("a100-node", ucx=WITHOUT)},
        {"both": on("a100-node", ucx=WITH)},
        {**NO_UCX, "no module": only(ucx=WITH)},
    ),
    "gdrcopy-missing": Cases(
        {"neither": only(ucx=WITHOUT)},
        {"both": on("a100-node", ucx=WITH), "the library": only(ucx=WITH)},
        NO_UCX,
    ),
    "ptrace-scope-forbids-cma": Cases(
        {"2": on("v100-node"), "3, even of root": on("v100-node", files={YAMA: "3\n", **ROOT})},
        {"0": on("a100-node"), "1": on("h200-container"),
         "2 of root": on("v100-node", files=ROOT),
         "2 with xpmem": only("xpmem", files={YAMA: "2\n"})},
        {"no Yama": on("laptop", absent=(YAMA,))},
    ),
    "cma-forbidden": Cases(
        {"xpmem": only("xpmem", files={YAMA: "2\n"}), "knem": only("knem", files={YAMA: "3\n"})},
        {"0": on("a100-node"), "none": on("v100-node")},
        {"no Yama": on("laptop", absent=(YAMA,))},
    ),
    "driver-older-than-cuda": Cases(
        {"11.2 on 10.1": on("v100-node")},
        {"12.1 on 12.2": on("a100-node"),
         "12.8 on 12.2": on("a100-node", replaced={"release 12.1": "release 12.8"})},
        {**NOT_NVIDIA, "no nvcc": on("h200-container")},
    ),
    "numa-balancing-on": Cases(
        {"on": on("v100-node")},
        {"off": on("a100-node"), "one node": on("laptop", files={
            "/proc/sys/kernel/numa_balancing": "1\n"})},
        {"unknown": on("a100-node", absent=("/proc/sys/kernel/numa_balancing",))},
    ),
}  # fmt: skip
SPEAKS = list(of(CASES, "speaks"))
SILENT = list(of(CASES, "silent"))
NOT_APPLICABLE = list(of(CASES, "not_applicable"))


def test_every_check_has_cases() -> None:
    assert own_codes("kernel") == set(CASES)
    assert all(one.speaks and one.silent and one.not_applicable for one in CASES.values())


@pytest.mark.parametrize(("code", "name", "given"), SPEAKS, ids=names(SPEAKS))
def test_where_it_speaks(code: str, name: str, given: Given, tmp_path: Path) -> None:
    assert_a_finding(outcome(code, given(tmp_path)))


@pytest.mark.parametrize(("code", "name", "given"), SILENT, ids=names(SILENT))
def test_where_it_is_silent(code: str, name: str, given: Given, tmp_path: Path) -> None:
    found = outcome(code, given(tmp_path))
    assert found.verdict == "ok", (found.reason, found.findings)


@pytest.mark.parametrize(("code", "name", "given"), NOT_APPLICABLE, ids=names(NOT_APPLICABLE))
def test_where_it_says_why_not(code: str, name: str, given: Given, tmp_path: Path) -> None:
    found = outcome(code, given(tmp_path))
    assert found.verdict == "not applicable" and "failed (" not in found.reason


def test_which_module_the_driver_needs(tmp_path: Path) -> None:
    """CUDA 11.4 brought nvidia_peermem."""
    new = outcome("nvidia-peermem-missing", only()(tmp_path / "new")).findings[0]
    old = outcome("nvidia-peermem-missing", only(name="v100-node")(tmp_path / "old")).findings[0]
    assert "modprobe nvidia_peermem" in new.fix and "nv_peer_memory" not in new.fix
    assert "nv_peer_memory of Mellanox" in old.fix
    assert str(new.evidence.quotes[0]) == "/proc/modules: no nvidia_peermem and no nv_peer_mem"
