"""Cases of rules on the kernel, its drivers, and where ranks run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commlens.machine.system import Output
from commlens.machine.ucx import UcxView
from machine_checks import on
from sample_records import make_record
from sound_machine import Cases, Given

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
UUID = "GPU-0a3000000000400080000000000000{:02d}"


def only(*modules: str, name: str = "a100-node", **changes: object) -> Given:
    """These modules are loaded, and no others of those that matter."""
    without = tuple(f"/sys/module/{one}" for one in GONE if one not in modules)
    files = changes.pop("files", {})
    assert isinstance(files, dict)
    listed = "".join(f"{one} 1 0 - Live 0x0\n" for one in ("nvidia", *modules))
    return on(name, files={MODULES: listed, **files}, absent=without, **changes)


def ranks(
    cores: Sequence[str],
    numa: str = "0",
    gpus: Sequence[int] = (),
    host: str = "node01",
    nodes: int = 1,
) -> list[dict[str, Any]]:
    """A record of a run with these ranks on one node."""
    places: list[dict[str, Any]] = [
        {"rank": rank, "host": host, "cores": own, "numa_nodes": numa}
        for rank, own in enumerate(cores)
    ]
    for place, gpu in zip(places, gpus):
        place["device"] = {
            "ordinal": gpu, "name": "Tesla V100-PCIE-16GB", "uuid": UUID.format(gpu),
            "pci": "", "numa_node": gpu, "memory_bytes": 1 << 34,
        }  # fmt: skip
    others = [{"rank": len(places) + one, "host": f"other{one}", "cores": "0", "numa_nodes": "0"}
              for one in range(nodes - 1)]  # fmt: skip
    every = places + others
    return [make_record(placement=every, ranks=len(every), nodes=nodes)]


CASES: dict[str, Cases] = {
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
    "cpu-quota-below-ranks": Cases(
        {"1.5 of version 1": on("v100-node", records=ranks(["0", "1"])),
         "with a domain": on("v100-node", records=ranks(["0", "1"], host="node01.cluster.example")),
         "4 of version 2": on("h200-container", records=ranks(list("01234")))},
        {"enough": on("h200-container", records=ranks(list("0123"))),
         "on another node": on("v100-node", records=ranks(["0", "1"], host="node02"))},
        {"no quota": on("a100-node", records=ranks(["0"])), "no ranks": on("v100-node")},
    ),
    "ranks-share-core": Cases(
        {"hardware threads": on("a100-node", records=ranks(["0", "8"])),
         "some": on("a100-node", records=ranks(["0", "8", "1"]))},
        {"a core each": on("a100-node", records=ranks(["0", "1"])),
         "both threads each": on("a100-node", records=ranks(["0,8", "1,9"])),
         "not bound": on("a100-node", records=ranks(["0-15"] * 4)),
         "one processor": on("a100-node", records=ranks(["0", "0"])),
         "unknown": on("a100-node", records=ranks(["", ""]))},
        {"no ranks": on("a100-node"), "no siblings": on("laptop", records=ranks(["0"]),
            absent=tuple(f"/sys/devices/system/cpu/cpu{one}/topology" for one in range(8)))},
    ),
    "ranks-share-exclusive-gpu": Cases(
        {"two": on("v100-node", records=ranks(["0", "1"], gpus=[0, 0]))},
        {"one each": on("v100-node", records=ranks(["0", "1"], gpus=[0, 1])),
         "no GPU": on("v100-node", records=ranks(["0", "1"]))},
        {"shared by default": on("a100-node", records=ranks(["0", "1"], gpus=[0, 0])),
         "no ranks": on("v100-node")},
    ),
    "ranks-far-from-nic": Cases(
        {"the other node": on("a100-node", records=ranks(["4"], "1", nodes=2), absent=(
            "/sys/class/infiniband/mlx5_1",))},
        {"an adapter there": on("a100-node", records=ranks(["4"], "1", nodes=2)),
         "some near": on("a100-node", records=ranks(["0-7"], "0-1", nodes=2)),
         "no adapter": on("laptop", records=ranks(["0"], nodes=2))},
        {"no ranks": on("a100-node"), "one node": on("a100-node", records=ranks(["0"]))},
    ),
}  # fmt: skip
