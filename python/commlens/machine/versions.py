"""Versions that a record does not have: of the kernel, and of the firmware of adapters."""

from __future__ import annotations

from commlens.machine.system import System, line_of

_RDMA = "/sys/class/infiniband"


def look(system: System) -> dict[str, str]:
    """By name, of this machine as it is now: `kernel`, `firmware of mlx5_0`."""
    files = {"kernel": "/proc/sys/kernel/osrelease"}
    files |= {f"firmware of {name}": f"{_RDMA}/{name}/fw_ver" for name in system.names(_RDMA)}
    seen = {name: line_of(system, path) for name, path in files.items()}
    return {name: text for name, text in seen.items() if text}
