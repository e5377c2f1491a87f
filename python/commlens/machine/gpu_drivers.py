"""What drivers report of GPUs: nvidia-smi, whose XML has versions, in which elements were renamed
(10 and 11 before driver 530, 12 from it on, 13 from 575 on); and of AMD amdgpu below /sys, with
names by amd-smi or rocm-smi."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

from msgspec import Struct

from commlens import knowledge
from commlens.base.text import printable, whole_number
from commlens.machine import pci
from commlens.machine.gpus import Gpu, GpuView
from commlens.machine.pci import PciDevice, PciLink
from commlens.machine.system import System, group_in, line, line_of

_COMMAND = ("nvidia-smi", "-q", "-x")
_TIME_LIMIT_S = 20.0  # without persistence mode it takes seconds for each GPU
_VENDOR = "NVIDIA GPUs"
_LONGEST = 200
_REASON = re.compile(r"clocks_(?:throttle|event)_reason_(\w+)")
_SECTIONS = ("clocks_event_reasons", "clocks_throttle_reasons")
_AMD_DRIVER = "amdgpu"
_NAMES = "names of AMD GPUs"
_AMD_TIME_LIMIT_S = 15.0


class Fields(Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of libraries/nvidia-smi.yaml, which explains each part."""

    texts: dict[str, tuple[str, ...]]
    numbers: dict[str, tuple[str, ...]]
    switches: dict[str, tuple[str, ...]]
    nothing: tuple[str, ...]


_FIELDS = knowledge.load("libraries/nvidia-smi", Fields)


def look(system: System) -> GpuView:
    """Asks the tools of the vendor whose GPUs the bus shows."""
    installed = pci.gpus(system)
    if {device.vendor for device in installed} == {"amd"}:
        return _of_amd(system, installed)
    # Where the bus shows none, as in some containers, nvidia-smi may.
    return _of_nvidia(system, installed)


def _of_nvidia(system: System, installed: Sequence[PciDevice]) -> GpuView:
    """Asks nvidia-smi, and nvcc for the version of the toolkit."""
    addresses = [device.address for device in installed]
    version = group_in(system.run("nvcc", "--version").text, r"release (\d+\.\d+)")
    output = system.run(*_COMMAND, time_limit_s=_TIME_LIMIT_S)
    why = output.why_not
    if not why:
        try:
            tree = Xml.fromstring(output.text)
        except Xml.ParseError as error:
            why = f"{output.command}: its output cannot be read: {error}"
    if why:
        return GpuView(installed=addresses, toolkit=version, unseen={_VENDOR: why})
    by_address = {device.address: device for device in installed}
    gpus = [_nvidia_gpu(index, gpu, by_address) for index, gpu in enumerate(tree.findall("gpu"))]
    return GpuView(
        vendor="nvidia" if gpus else None,
        driver=_text(tree, "driver_version"),
        cuda=_text(tree, "cuda_version"),
        toolkit=version,
        gpus=gpus,
        installed=addresses or [gpu.pci for gpu in gpus if gpu.pci],
        source=output.command,
        unseen={} if gpus else {_VENDOR: f"{output.command}: no GPU"},
    )


def _nvidia_gpu(index: int, tree: Xml.Element, installed: dict[str, PciDevice]) -> Gpu:
    address = pci.normal_address(tree.get("id", ""))
    device = installed.get(address or "")
    limits = _clock_limits(tree)
    state = _text(tree, "performance_state")
    memory_MiB = _number(tree, "fb_memory_usage/total")  # noqa: N806
    idle = None if limits is None else "gpu idle" in limits
    known: dict[str, Any] = {
        name: read(tree, *paths)
        for read, fields in (
            (_text, _FIELDS.texts),
            (_number, _FIELDS.numbers),
            (_any, _FIELDS.switches),
        )
        for name, paths in fields.items()
    }
    return Gpu(
        index=index,
        pci=address,
        numa_node=device.numa_node if device else None,
        memory_bytes=None if memory_MiB is None else int(memory_MiB) * 2**20,
        uncorrected_errors=_uncorrected(tree),
        recovery=_recovery(tree),
        clock_limits=limits,
        programs=_programs(tree),
        link=_link(tree, device),
        is_idle=idle if state is None else idle or state == "P8",
        **known,
    )


def _link(tree: Xml.Element, device: PciDevice | None) -> PciLink:
    """The kernel knows of the slot; where it lists no GPU, as in some containers, the driver's."""
    if device is not None and device.link.width is not None:
        return device.link
    info = "pci/pci_gpu_link_info/link_widths"
    return PciLink(
        width=pci.lanes(_number(tree, f"{info}/current_link_width")),
        highest_width=pci.lanes(_number(tree, f"{info}/max_link_width")),
    )


def _programs(tree: Xml.Element) -> list[str]:
    """The names of those that compute on it, without their folders and arguments."""
    computing = (
        process
        for process in tree.findall("processes/process_info")
        if "C" in (_text(process, "type") or "")
    )
    names = (_text(process, "process_name") or "?" for process in computing)
    return list(dict.fromkeys(name.split()[0].rpartition("/")[2] for name in names))


def _recovery(tree: Xml.Element) -> str | None:
    """`None` of version 13 means that nothing is to be done; version 12 has two switches for it."""
    if action := _text(tree, "gpu_recovery_action"):
        return action
    if _any(tree, "gpu_reset_status/drain_and_reset_recommended"):
        return "Drain and Reset"
    required = _any(tree, "gpu_reset_status/reset_required")
    return None if required is None else "Reset" if required else "None"


def _clock_limits(tree: Xml.Element) -> list[str] | None:
    for name in _SECTIONS:
        section = tree.find(name)
        if section is not None and len(section):
            reasons = ((_REASON.fullmatch(element.tag), element.text or "") for element in section)
            return [
                match.group(1).replace("_", " ")
                for match, text in reasons
                if match and text.strip() == "Active"
            ]
    return None


def _uncorrected(tree: Xml.Element) -> int | None:
    """Since the driver was loaded; up to version 10 those of two bits."""
    old = _number(tree, "ecc_errors/volatile/double_bit/total")
    if old is not None:
        return int(old)
    section = tree.find("ecc_errors/volatile")
    elements = section if section is not None else ()
    counts = [_number(element, ".") for element in elements if "uncorrectable" in element.tag]
    known = [count for count in counts if count is not None]
    return int(sum(known)) if known else None


def _text(tree: Xml.Element, *paths: str) -> str | None:
    """The first that has a value."""
    for path in paths:
        text = (tree.findtext(path) if path != "." else tree.text) or ""
        value = text.strip().strip("[]")
        if value and not value.startswith(_FIELDS.nothing):
            return printable(value)[:_LONGEST]
    return None


def _number(tree: Xml.Element, *paths: str) -> float | None:
    """`500.00 W` is 500."""
    for path in paths:
        match = re.match(r"\d{1,15}(\.\d+)?", _text(tree, path) or "")
        if match:
            return float(match.group())
    return None


def _any(tree: Xml.Element, *paths: str) -> bool | None:
    """Whether any is yes; None where none is yes or no."""
    said = {"Yes": True, "Enabled": True, "No": False, "Disabled": False}
    known = [said[text] for text in (_text(tree, path) for path in paths) if text in said]
    return any(known) if known else None


def _of_amd(system: System, installed: Sequence[PciDevice]) -> GpuView:
    """Reads /sys, and asks amd-smi or rocm-smi for names."""
    addresses = [device.address for device in installed]
    devices = [device for device in installed if device.driver == _AMD_DRIVER]
    if not devices:
        why = "none of them has the driver amdgpu"
        return GpuView(installed=addresses, unseen={"AMD GPUs": why})
    names, why = _names(system)
    return GpuView(
        vendor="amd",
        driver=line_of(system, "/sys/module/amdgpu/version"),
        rocm=line_of(system, "/opt/rocm/.info/version"),
        gpus=[_amd_gpu(system, index, device, names) for index, device in enumerate(devices)],
        installed=addresses,
        source=f"/sys/bus/pci/drivers/{_AMD_DRIVER}",
        unseen={_NAMES: why} if why else {},
    )


def _amd_gpu(system: System, index: int, device: PciDevice, names: dict[str, str]) -> Gpu:
    folder = f"/sys/bus/pci/devices/{device.address}"
    sensors = next(
        (f"{folder}/hwmon/{name}" for name in system.names(f"{folder}/hwmon")), f"{folder}/hwmon"
    )
    unique = line_of(system, f"{folder}/unique_id")
    errors = system.read(f"{folder}/ras/umc_err_count")
    busy = whole_number(line_of(system, f"{folder}/gpu_busy_percent"))
    return Gpu(
        index=index,
        name=names.get(device.address) or line_of(system, f"{folder}/product_name"),
        uuid=f"GPU-{unique}" if unique else None,
        pci=device.address,
        numa_node=device.numa_node,
        memory_bytes=whole_number(line_of(system, f"{folder}/mem_info_vram_total")),
        # Of `ue: 0` and `ce: 4`, a line each.
        uncorrected_errors=whole_number(group_in(errors, r"^ue:\s*(\d{1,15})")),
        power_limit_W=_watts(line_of(system, f"{sensors}/power1_cap")),
        default_power_limit_W=_watts(line_of(system, f"{sensors}/power1_cap_default")),
        link=device.link,
        is_idle=None if busy is None else busy == 0,
        partition=line_of(system, f"{folder}/current_compute_partition"),
    )


def _names(system: System) -> tuple[dict[str, str], str]:
    """By PCI address; else why there are none."""
    reasons = []
    for command, names_in in (
        (("amd-smi", "static", "--asic", "--bus", "--json"), _of_amd_smi),
        (("rocm-smi", "--showproductname", "--showbus", "--json"), _of_rocm_smi),
    ):
        output = system.run(*command, time_limit_s=_AMD_TIME_LIMIT_S)
        if output.ok:
            names = dict(names_in(_json(output.text)))
            return names, "" if names else f"{output.command}: its output cannot be read"
        reasons.append(output.why_not)
    return {}, "; ".join(reasons)


def _of_amd_smi(data: Any) -> Iterator[tuple[str, str]]:
    """A list, since ROCm 6.4 within an object."""
    entries = data.get("gpu_data") if isinstance(data, dict) else data
    for entry in entries if isinstance(entries, list) else []:
        bus, asic = _part(entry, "bus"), _part(entry, "asic")
        address = pci.normal_address(str(bus.get("bdf", "")))
        if address and isinstance(asic.get("market_name"), str):
            yield address, line(asic["market_name"])


def _of_rocm_smi(data: Any) -> Iterator[tuple[str, str]]:
    """By card; the keys are written `Card series` or `Card Series`."""
    for card in data.values() if isinstance(data, dict) else []:
        fields = {str(key).lower(): str(value) for key, value in _dict(card).items()}
        address = pci.normal_address(fields.get("pci bus", ""))
        name = fields.get("card series") or fields.get("card model")
        if address and name:
            yield address, line(name)


def _part(data: Any, name: str) -> dict[str, Any]:
    return _dict(_dict(data).get(name))


def _dict(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def _json(text: str) -> Any:
    """Warnings may stand before it."""
    start = re.search(r"^[\[{]", text, re.MULTILINE)
    try:
        return json.loads(text[start.start() :]) if start else None
    except (ValueError, RecursionError):
        return None


def _watts(text: str | None) -> float | None:
    """From microwatts."""
    number = whole_number(text)
    return number / 1e6 if number else None
