"""GPUs, as nvidia-smi of several versions and the files of amdgpu show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.machine.gpu_drivers import look
from commlens.machine.system import Output
from machine_helpers import RecordedSystem, recorded, unpacked
from run_helpers import cases

AMD_SMI = "amd-smi static --asic --bus --json"


def test_version_12_of_the_format(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "a100-node"))
    assert (view.vendor, view.driver, view.cuda, view.toolkit) == (
        "nvidia", "535.104.05", "12.2", "12.1",
    )  # fmt: skip
    assert [gpu.pci for gpu in view.gpus] == [
        "0000:18:00.0", "0000:19:00.0", "0000:98:00.0", "0000:99:00.0",
    ]  # fmt: skip
    assert [gpu.numa_node for gpu in view.gpus] == [0, 0, 1, 1]
    first = view.gpus[0]
    assert str(first) == "GPU 0 (0000:18:00.0, NVIDIA A100-SXM4-80GB)"
    assert first.memory_bytes == 81920 * 2**20
    assert first.uncorrected_errors == 0
    assert first.repair_pending is False and first.repair_failed is False
    assert first.clock_limits == ["gpu idle"] and first.is_idle
    assert (first.clock_MHz, first.highest_clock_MHz) == (210, 1410)
    assert (first.power_limit_W, first.default_power_limit_W) == (400, 400)
    assert (first.link.width, first.link.possible_width, first.link.GTps) == (16, 16, 16)
    assert first.persistence and first.compute_mode == "Default" and first.mig is False
    assert first.fabric is None and first.recovery == "None" and not view.unseen


def test_version_13_in_a_virtual_machine(tmp_path: Path) -> None:
    """There the kernel knows nothing of the link: the driver does."""
    view = look(recorded(tmp_path, "h200-container"))
    assert (view.cuda, view.toolkit) == ("13.0", None)
    first = view.gpus[0]
    assert first.link.width == 16 and first.link.GTps is None
    assert first.fabric == "Completed" and first.numa_node is None
    assert first.fabric_health == "Healthy" and first.recovery == "None"
    assert first.uncorrected_errors == 0 and first.repair_pending is False


def test_version_10_of_the_format(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "v100-node"))
    good, bad = view.gpus
    assert good.clock_limits == [] and good.is_idle is False
    assert bad.clock_limits == ["hw slowdown", "hw thermal slowdown"]
    assert (good.uncorrected_errors, bad.uncorrected_errors) == (0, 2)
    assert (good.repair_pending, bad.repair_pending) == (False, True)
    assert (bad.power_limit_W, bad.default_power_limit_W) == (200, 250)
    assert (bad.link.width, bad.link.possible_width) == (8, 16)
    assert bad.compute_mode == "Exclusive_Process" and bad.persistence is False
    assert bad.mig is None


@pytest.mark.parametrize(
    "nothing", ["N/A", "[N/A]", "Requested functionality has been deprecated", "[Unknown Error]"]
)
def test_words_that_stand_for_no_value(tmp_path: Path, nothing: str) -> None:
    replaced = {"<compute_mode>Default": f"<compute_mode>{nothing}", "400.00 W": nothing}
    first = look(recorded(tmp_path, "a100-node", replaced=replaced)).gpus[0]
    assert first.compute_mode is None and first.power_limit_W is None


def test_errors_of_version_13_have_two_kinds(tmp_path: Path) -> None:
    system = recorded(
        tmp_path,
        "h200-container",
        replaced={
            "<sram_uncorrectable_parity>0": "<sram_uncorrectable_parity>1",
            "<dram_uncorrectable>0": "<dram_uncorrectable>2",
            "<channel_repair_pending>No": "<channel_repair_pending>Yes",
        },
    )
    assert look(system).gpus[0].uncorrected_errors == 3
    assert look(system).gpus[0].repair_pending


def test_gpus_of_amd(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "mi250x-node"))
    assert (view.vendor, view.driver, view.rocm) == ("amd", "6.8.5", "6.2.4-120")
    first = view.gpus[0]
    assert str(first) == "GPU 0 (0000:c1:00.0, MI250X)"
    assert first.uuid == "GPU-0a40000000000000" and first.memory_bytes == 68702699520
    assert first.uncorrected_errors == 0
    assert (first.power_limit_W, first.default_power_limit_W) == (560, 560)
    assert first.partition == "SPX" and first.is_idle
    assert first.compute_mode is None and first.mig is None


@pytest.mark.parametrize(("command", "text"), cases("names of AMD GPUs"))
def test_names_of_amd(tmp_path: Path, command: str, text: str) -> None:
    system = recorded(tmp_path, "mi250x-node", without=["amd-smi"], outputs={command: text})
    assert [gpu.name for gpu in look(system).gpus] == ["A", None, None, None]


@pytest.mark.parametrize("text", ["", "no JSON", "[1, 2", '[{"bus": 1, "asic": []}]', "[" * 10**5])
def test_names_of_amd_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    view = look(recorded(tmp_path, "mi250x-node", outputs={AMD_SMI: text}))
    assert len(view.gpus) == 4 and not view.gpus[0].name
    assert "cannot be read" in view.unseen["names of AMD GPUs"]


def test_without_a_driver_that_answers(tmp_path: Path) -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    output = Output("nvidia-smi -q -x", said, status=9)
    view = look(recorded(tmp_path, "a100-node", outputs={"nvidia-smi -q -x": output}))
    assert not view.gpus and len(view.installed) == 4
    assert view.unseen["NVIDIA GPUs"].startswith("nvidia-smi -q -x: exit status 9: NVIDIA-SMI has")


def test_without_gpus(tmp_path: Path) -> None:
    view = look(recorded(tmp_path, "laptop"))
    assert view.vendor is None and not view.gpus and not view.installed
    assert view.unseen["NVIDIA GPUs"] == "nvidia-smi -q -x: not installed"


def test_gpus_of_amd_without_their_driver(tmp_path: Path) -> None:
    system = RecordedSystem(unpacked(tmp_path, "mi250x-node"))
    for path in [path for path in system.folder.rglob("*") if path.name == "driver"]:
        path.unlink()
    view = look(system)
    assert view.vendor is None and len(view.installed) == 4
    assert view.why_none == "GPUs cannot be seen (none of them has the driver amdgpu)"


@pytest.mark.parametrize("text", cases("no outputs of nvidia-smi"))
def test_texts_that_are_no_output_of_nvidia_smi(tmp_path: Path, text: str) -> None:
    view = look(recorded(tmp_path, "laptop", outputs={"nvidia-smi -q -x": text}))
    assert view.gpus or view.unseen["NVIDIA GPUs"]
    for gpu in view.gpus:
        assert gpu.memory_bytes is None and gpu.uncorrected_errors is None
        assert "\x1b" not in str(gpu) and len(gpu.uuid or "") <= 200
