"""Versions that records do not have."""

from __future__ import annotations

from pathlib import Path

from commlens.machine.versions import look
from machine_helpers import recorded


def test_kernel_and_firmware(tmp_path: Path) -> None:
    files = {"/sys/class/infiniband/mlx5_0/fw_ver": "20.35.1012"}
    seen = look(recorded(tmp_path, "a100-node", files=files))
    assert seen["kernel"] == "5.14.0-284.30.1.el9_2.x86_64"
    assert seen["firmware of mlx5_0"] == "20.35.1012"


def test_what_cannot_be_seen_is_left_out(tmp_path: Path) -> None:
    absent = ["/proc/sys/kernel/osrelease"]
    assert "kernel" not in look(recorded(tmp_path, "a100-node", absent=absent))
