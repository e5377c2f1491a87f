"""GPUs of AMD: what the driver amdgpu shows below /sys, and their names by amd-smi or rocm-smi."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from commlens.base.text import whole_number
from commlens.machine import pci
from commlens.machine.gpus import Gpu, GpuView
from commlens.machine.pci import PciDevice
from commlens.machine.system import System, line, line_of

_DRIVER = "amdgpu"
_NAMES = "names of AMD GPUs"
_TIME_LIMIT_S = 15.0
_ROCM = "/opt/rocm/.info/version"


def look(system: System, installed: Sequence[PciDevice]) -> GpuView:
    """Reads /sys, and asks amd-smi or rocm-smi for names."""
    addresses = [one.address for one in installed]
    own = [one for one in installed if one.driver == _DRIVER]
    if not own:
        why = "none of them has the driver amdgpu"
        return GpuView(installed=addresses, unseen={"AMD GPUs": why})
    names, why = _names(system)
    rocm = system.read(_ROCM)
    version = system.read("/sys/module/amdgpu/version")
    return GpuView(
        vendor="amd",
        driver=line(version) or None,
        rocm=line(rocm) or None,
        gpus=[_gpu(system, index, one, names) for index, one in enumerate(own)],
        installed=addresses,
        source=f"/sys/bus/pci/drivers/{_DRIVER}",
        unseen={_NAMES: why} if why else {},
    )


def _gpu(system: System, index: int, device: PciDevice, names: dict[str, str]) -> Gpu:
    folder = f"/sys/bus/pci/devices/{device.address}"
    sensors = next(
        (f"{folder}/hwmon/{name}" for name in system.names(f"{folder}/hwmon")), f"{folder}/hwmon"
    )
    unique = line(system.read(f"{folder}/unique_id"))
    memory = whole_number(line_of(system, f"{folder}/mem_info_vram_total"))
    name = names.get(device.address) or line(system.read(f"{folder}/product_name"))
    busy = whole_number(line_of(system, f"{folder}/gpu_busy_percent"))
    return Gpu(
        index=index,
        name=name or None,
        uuid=f"GPU-{unique}" if unique else None,
        pci=device.address,
        numa_node=device.numa_node,
        memory_bytes=memory,
        uncorrected_errors=_uncorrected(system.read(f"{folder}/ras/umc_err_count")),
        power_limit_W=_watts(line_of(system, f"{sensors}/power1_cap")),
        default_power_limit_W=_watts(line_of(system, f"{sensors}/power1_cap_default")),
        link=device.link,
        is_idle=None if busy is None else busy == 0,
        partition=line(system.read(f"{folder}/current_compute_partition")) or None,
    )


def _names(system: System) -> tuple[dict[str, str], str]:
    """By PCI address; else why there are none."""
    reasons = []
    for command, names_in in (
        (("amd-smi", "static", "--asic", "--bus", "--json"), _of_amd_smi),
        (("rocm-smi", "--showproductname", "--showbus", "--json"), _of_rocm_smi),
    ):
        output = system.run(*command, time_limit_s=_TIME_LIMIT_S)
        if output.ok:
            found = dict(names_in(_json(output.text)))
            return found, "" if found else f"{output.command}: its output cannot be read"
        reasons.append(output.why_not)
    return {}, "; ".join(reasons)


def _of_amd_smi(data: Any) -> Iterator[tuple[str, str]]:
    """A list, since ROCm 6.4 within an object."""
    entries = data.get("gpu_data") if isinstance(data, dict) else data
    for one in entries if isinstance(entries, list) else []:
        bus, asic = _part(one, "bus"), _part(one, "asic")
        address = pci.normal_address(str(bus.get("bdf", "")))
        if address and isinstance(asic.get("market_name"), str):
            yield address, line(asic["market_name"])


def _of_rocm_smi(data: Any) -> Iterator[tuple[str, str]]:
    """By card; the keys are written `Card series` or `Card Series`."""
    for one in data.values() if isinstance(data, dict) else []:
        fields = {str(key).lower(): str(value) for key, value in _dict(one).items()}
        address = pci.normal_address(fields.get("pci bus", ""))
        name = fields.get("card series") or fields.get("card model")
        if address and name:
            yield address, line(name)


def _part(one: Any, name: str) -> dict[str, Any]:
    return _dict(_dict(one).get(name))


def _dict(one: Any) -> dict[str, Any]:
    return one if isinstance(one, dict) else {}


def _json(text: str) -> Any:
    """Warnings may stand before it."""
    start = re.search(r"^[\[{]", text, re.MULTILINE)
    try:
        return json.loads(text[start.start() :]) if start else None
    except (ValueError, RecursionError):
        return None


def _uncorrected(text: str | None) -> int | None:
    """Of `ue: 0` and `ce: 4`, a line each."""
    found = re.search(r"^ue:\s*(\d{1,15})", text or "", re.MULTILINE)
    return int(found.group(1)) if found else None


def _watts(text: str | None) -> float | None:
    """From microwatts."""
    number = whole_number(text)
    return number / 1e6 if number else None
