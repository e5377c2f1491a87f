"""Network adapters, below /sys."""

from __future__ import annotations

from pathlib import Path

from commlens.machine.nics import look
from machine_helpers import recorded


def test_infiniband_and_ethernet(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "a100-node"))
    assert [nic.name for nic in view.nics] == ["mlx5_0:1", "mlx5_1:1", "eno1"]
    first, second, other = view.nics
    assert first.rdma and first.link_layer == "InfiniBand" and first.is_up
    assert (first.rate_Gbps, first.lanes, first.physical_state) == (200, 4, "LinkUp")
    assert (first.pci, first.numa_node, first.driver) == ("0000:1a:00.0", 0, "mlx5_core")
    assert (first.link.width, first.link.possible_width) == (16, 16)
    assert first.distances == {
        "0000:18:00.0": "PIX",
        "0000:19:00.0": "PIX",
        "0000:98:00.0": "SYS",
        "0000:99:00.0": "SYS",
    }
    assert second.distances["0000:98:00.0"] == "PIX"
    assert not other.rdma and other.rate_Gbps == 1 and other.is_up
    assert other.distances["0000:18:00.0"] == "NODE"
    assert view.fast == [first, second]


def test_slingshot(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "mi250x-node"))
    assert [(nic.name, nic.rate_Gbps, nic.driver) for nic in view.nics] == [
        ("hsn0", 200, "cxi_core"),
        ("hsn1", 200, "cxi_core"),
    ]
    assert view.nics[0].distances["0000:c1:00.0"] == "PHB"
    assert "/sys/class/infiniband" in view.unseen["RDMA devices"]


def test_a_link_with_a_single_lane(tmp_path: Path) -> None:
    good, bad = look(recorded(tmp_path, "v100-node")).nics
    assert (bad.rate_Gbps, bad.lanes) == (25, 1)
    assert (good.link.width, good.link.possible_width) == (8, 16)


def test_ethernet_of_an_rdma_device_is_not_listed_twice(tmp_path: Path) -> None:
    folder = "/sys/class/infiniband/mlx5_0/device/net/ens1/speed"
    view = look(recorded(tmp_path, "a100-node", files={folder: "200000\n"}))
    assert view.nics[0].interfaces == ["ens1"]
    assert "ens1" not in [nic.name for nic in view.nics]


def test_a_rate_that_is_unknown(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "h200-container"))
    assert [(nic.name, nic.rate_Gbps, nic.is_up) for nic in view.nics] == [("eth0", None, True)]
    assert view.nics[0].link.width is None


def test_odd_texts(tmp_path: Path) -> None:
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    files = {f"{port}/rate": "fast", f"{port}/state": "", f"{port}/link_layer": "\x1b[2J"}
    first = look(recorded(tmp_path, "a100-node", files=files)).nics[0]
    assert first.rate_Gbps is None and first.state is None and not first.is_up
    assert "\x1b" not in (first.link_layer or "")


def test_without_any(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "laptop"))
    assert not view.nics and set(view.unseen) == {"RDMA devices", "network interfaces"}
