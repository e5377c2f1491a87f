"""How GPUs reach each other, and what stands in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.machine.links import look
from commlens.machine.system import Output
from machine_helpers import RecordedSystem, recorded, unpacked

MATRIX = "nvidia-smi topo -m"


def test_nvlink(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "a100-node"))
    assert len(view.pairs) == 6
    first = view.pairs[0]
    assert (first.first, first.second, first.kind, first.count) == ("0", "1", "NVLink", 4)
    assert all(pair.peer_access == "OK" for pair in view.pairs)
    assert [(links.gpu, links.active, links.inactive, links.GBps) for links in view.nvlinks] == [
        (gpu, 12, [], 25.0) for gpu in range(4)
    ]
    assert view.redirecting == [] and set(view.iommu.values()) == {"identity"}
    assert view.source == MATRIX and not view.unseen


def test_columns_of_blanks(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "h200-container"))
    (pair,) = view.pairs
    assert (pair.kind, pair.count, pair.peer_access) == ("NVLink", 18, "OK")
    assert view.redirecting == []


def test_pci_express_without_peer_access(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "v100-node"))
    assert [(pair.kind, pair.peer_access) for pair in view.pairs] == [("SYS", "CNS")]
    assert view.redirecting == []  # there is no switch
    assert set(view.iommu.values()) == {"DMA"}


def test_xgmi(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "mi250x-node"))
    kinds = {(pair.first[5:7], pair.second[5:7]): pair.kind for pair in view.pairs}
    assert kinds == {
        ("c1", "d1"): "xGMI",
        ("c1", "e1"): "xGMI",
        ("c1", "f1"): "SYS",
        ("d1", "e1"): "SYS",
        ("d1", "f1"): "xGMI",
        ("e1", "f1"): "xGMI",
    }
    assert "links of NVIDIA GPUs" not in view.unseen


def test_inactive_nvlinks(tmp_path: Path) -> None:
    system = recorded(
        tmp_path, "h200-container", replaced={"Link 3: 26.562 GB/s": "Link 3: <inactive>"}
    )
    assert [(link.active, link.inactive) for link in look(system).nvlinks] == [(17, [3]), (17, [3])]


ACS = "ACSCtl:\tSrcValid+ TransBlk- ReqRedir{} CmpltRedir{} UpstreamFwd+"
OFF = "ACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-"


def test_access_control(tmp_path: Path) -> None:
    system = recorded(tmp_path, "a100-node", replaced={OFF: ACS.format("+", "+")})
    bridges = look(system).redirecting or []
    # Those above the GPUs, not the one above the NIC.
    assert [bridge.address for bridge in bridges] == [
        "0000:17:00.0", "0000:17:01.0", "0000:97:00.0", "0000:97:01.0",
    ]  # fmt: skip
    assert bridges[0].control.startswith("ACSCtl:\tSrcValid+ TransBlk- ReqRedir+")
    other = recorded(tmp_path / "other", "a100-node", replaced={OFF: ACS.format("-", "-")})
    assert look(other).redirecting == []


def test_access_control_within_a_card(tmp_path: Path) -> None:
    """Cards of AMD have a switch of their own: nobody else is below it."""
    bus = "/sys/bus/pci/devices"
    output = {"lspci -D -vvv": "0000:c2:00.0 x\n" + ACS.format("+", "+")}
    system = RecordedSystem(unpacked(tmp_path, "mi250x-node"), output)
    path = system.folder / f"{bus}/0000:c1:00.0".lstrip("/")
    port = path.resolve().parent / "0000:c2:00.0" / "0000:c3:10.0"
    port.mkdir(parents=True)
    path.resolve().rename(port / "0000:c1:00.0")
    path.unlink()
    path.symlink_to(
        f"../../../devices/pci0000:c0/0000:c0:01.1/0000:c2:00.0/0000:c3:10.0/{path.name}"
    )
    view = look(system)
    assert len(view.pairs) == 6 and view.redirecting == [] and "ACS" not in view.unseen


def test_without_lspci(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "a100-node", without=["lspci"]))
    assert view.redirecting is None
    assert view.unseen["ACS"] == "lspci -D -vvv: not installed"


def test_only_root_sees_access_control(tmp_path: Path) -> None:
    text = "0000:17:00.0 PCI bridge: x\n\tCapabilities: <access denied>\n"
    view = look(recorded(tmp_path, "a100-node", outputs={"lspci -D -vvv": text}))
    assert view.redirecting is None and "only root" in view.unseen["ACS"]


def test_bridges_of_other_devices_are_left_out(tmp_path: Path) -> None:
    text = "0000:00:1c.0 PCI bridge: x\n\t\tACSCtl:\tSrcValid+ ReqRedir+ CmpltRedir+\n"
    view = look(recorded(tmp_path, "a100-node", outputs={"lspci -D -vvv": text}))
    assert view.redirecting == []


def test_without_gpus(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "laptop"))
    assert not view.pairs and not view.nvlinks
    assert set(view.unseen) == {"links of NVIDIA GPUs", "NVLinks"}


def test_without_the_matrix_the_kernel_knows_the_distances(tmp_path: Path) -> None:
    failed = Output(MATRIX, error="Failed to run topology matrix", status=255)
    view = look(recorded(tmp_path, "a100-node", outputs={MATRIX: failed}))
    kinds = [(pair.first[5:7], pair.second[5:7], pair.kind) for pair in view.pairs]
    assert kinds[:2] == [("18", "19", "PIX"), ("18", "98", "SYS")]
    assert "Failed to run" in view.unseen["links of NVIDIA GPUs"]


@pytest.mark.parametrize("text", ["", "GPU0", "GPU0 GPU1\nGPU0\n", "\tGPU0\nGPU0\tX\nGPU1\tNVx\n"])
def test_texts_that_are_no_matrix(tmp_path: Path, text: str) -> None:
    view = look(recorded(tmp_path, "laptop", outputs={MATRIX: text}))
    assert all(pair.kind is None for pair in view.pairs)
