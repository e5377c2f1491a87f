"""Cases of rules on several nodes, on placement by variables, and on how short runs end."""

from __future__ import annotations

from commlens.findings.view import View
from commlens.jobs.probe import GpuSupport, ProbeVerdict
from commlens.machine.gpus import DeviceView
from commlens.machine.settings import FileSetting
from sound_machine import (
    ALONE,
    CRASH,
    NOT_SET_UP,
    SLOW,
    SOUND,
    Cases,
    limit,
    machine,
    on,
    placed,
    ran,
    two,
)

CASES: dict[str, Cases] = {
    "nodes-missing": Cases(
        {"one of two": lambda: View(machines=[SOUND], nodes=2)},
        {"both": lambda: View(machines=two(SOUND).machines, nodes=2)},
    ),
    "nodes-differ-in-libraries": Cases(
        {"UCX": lambda: two(machine(ucx__version="1.13.1"))}, {"the same": lambda: two(SOUND)}
    ),
    "nodes-differ-in-settings": Cases(
        {
            "a variable": lambda: two(machine({"UCX_TLS": "sm,cuda"})),
            "a file": lambda: two(
                machine(mpi__open_mpi__from_files=(FileSetting("pml", "ob1", "/etc/x.conf:1"),))
            ),
        },
        {
            "the same": lambda: two(SOUND),
            "of a node": lambda: two(machine({"CUDA_VISIBLE_DEVICES": "0,1"})),
        },
    ),
    "nodes-differ-in-limits": Cases(
        {"locked memory": lambda: two(machine(limits__locked_memory=limit(65536)))},
        {"the same": lambda: two(SOUND)},
    ),
    "nodes-differ-in-devices": Cases(
        {"a GPU": lambda: two(machine(devices=DeviceView(nvidia_gpus=1, rdma=("mlx5_0",))))},
        {"the same": lambda: two(SOUND)},
    ),
    "one-gpu-visible": Cases(
        {
            "by a wrapper": lambda: placed((0, "GPU-a"), (0, "GPU-b")),
            "by a variable": on("CUDA_VISIBLE_DEVICES", "1"),
        },
        {
            "all": lambda: placed((0, "GPU-a"), (1, "GPU-b")),
            "one GPU for both": lambda: placed((0, "GPU-a"), (0, "GPU-a")),
            "both": on("CUDA_VISIBLE_DEVICES", "0,1"),
            "one GPU": on("CUDA_VISIBLE_DEVICES", "0", devices=DeviceView(nvidia_gpus=1)),
        },
    ),
    "ranks-are-alone": Cases(
        {"alone": lambda: ran(failures=[ALONE])},
        {"together": ran, "another failure": lambda: ran(failures=[CRASH])},
    ),
    "short-run-fails": Cases(
        {"a crash": lambda: ran(failures=[CRASH])},
        {
            "none": ran,
            "alone": lambda: ran(failures=[ALONE]),
            "slow": lambda: ran(failures=[SLOW]),
            "MPI does not start": lambda: ran(
                failures=[CRASH], verdict=ProbeVerdict(GpuSupport.BROKEN, "MPI_Init failed.")
            ),
        },
    ),
    "short-run-slow": Cases(
        {"slow": lambda: ran(failures=[SLOW])},
        {"none": ran, "a crash": lambda: ran(failures=[CRASH])},
    ),
    "mpi-fails-on-gpu-memory": Cases(
        {
            "with a fix": lambda: ran(
                verdict=ProbeVerdict(NOT_SET_UP, "MPI_Send crashed.", {"UCX_MEMTYPE_CACHE": "n"})
            ),
            "without": lambda: ran(verdict=ProbeVerdict(NOT_SET_UP, "It does not take it.")),
        },
        {"it takes it": lambda: ran(verdict=ProbeVerdict(GpuSupport.SUPPORTED)), "not tried": ran},
    ),
}
