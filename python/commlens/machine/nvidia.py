"""What `nvidia-smi -q -x` prints, whose format has versions: elements were renamed.

Versions 10 and 11 (drivers before 530), 12 (from 530 on) and 13 (from 575 on) are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as Xml

from msgspec import Struct

from commlens import knowledge
from commlens.base.text import printable
from commlens.machine import pci
from commlens.machine.gpus import Gpu, GpuView
from commlens.machine.pci import PciDevice, PciLink
from commlens.machine.system import System

_COMMAND = ("nvidia-smi", "-q", "-x")
_TIME_LIMIT_S = 20.0  # without persistence mode it takes seconds for each GPU
_VENDOR = "NVIDIA GPUs"
_LONGEST = 200
_RELEASE = re.compile(r"release (\d+\.\d+)")
_REASON = re.compile(r"clocks_(?:throttle|event)_reason_(\w+)")
_SECTIONS = ("clocks_event_reasons", "clocks_throttle_reasons")


class Fields(Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of libraries/nvidia-smi.yaml, which explains each part."""

    texts: dict[str, tuple[str, ...]]
    numbers: dict[str, tuple[str, ...]]
    switches: dict[str, tuple[str, ...]]
    nothing: tuple[str, ...]


_FIELDS = knowledge.load("libraries/nvidia-smi", Fields)


def look(system: System, installed: Sequence[PciDevice]) -> GpuView:
    """Asks nvidia-smi, and nvcc for the version of the toolkit."""
    addresses = [one.address for one in installed]
    toolkit = _RELEASE.search(system.run("nvcc", "--version").text)
    version = toolkit.group(1) if toolkit else None
    output = system.run(*_COMMAND, time_limit_s=_TIME_LIMIT_S)
    why = output.why_not
    if not why:
        try:
            tree = Xml.fromstring(output.text)
        except Xml.ParseError as error:
            why = f"{output.command}: its output cannot be read: {error}"
    if why:
        return GpuView(installed=addresses, toolkit=version, unseen={_VENDOR: why})
    by_address = {one.address: one for one in installed}
    gpus = [_gpu(index, one, by_address) for index, one in enumerate(tree.findall("gpu"))]
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


def _gpu(index: int, tree: Xml.Element, installed: dict[str, PciDevice]) -> Gpu:
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
            reasons = ((_REASON.fullmatch(one.tag), one.text or "") for one in section)
            return [
                found.group(1).replace("_", " ")
                for found, text in reasons
                if found and text.strip() == "Active"
            ]
    return None


def _uncorrected(tree: Xml.Element) -> int | None:
    """Since the driver was loaded; up to version 10 those of two bits."""
    old = _number(tree, "ecc_errors/volatile/double_bit/total")
    if old is not None:
        return int(old)
    section = tree.find("ecc_errors/volatile")
    own = section if section is not None else ()
    counts = [_number(one, ".") for one in own if "uncorrectable" in one.tag]
    known = [count for count in counts if count is not None]
    return int(sum(known)) if known else None


def _text(tree: Xml.Element, *paths: str) -> str | None:
    """The first that has a value."""
    for path in paths:
        text = (tree.findtext(path) if path != "." else tree.text) or ""
        own = text.strip().strip("[]")
        if own and not own.startswith(_FIELDS.nothing):
            return printable(own)[:_LONGEST]
    return None


def _number(tree: Xml.Element, *paths: str) -> float | None:
    """`500.00 W` is 500."""
    for path in paths:
        found = re.match(r"\d{1,15}(\.\d+)?", _text(tree, path) or "")
        if found:
            return float(found.group())
    return None


def _any(tree: Xml.Element, *paths: str) -> bool | None:
    """Whether any is yes; None where none is yes or no."""
    said = {"Yes": True, "Enabled": True, "No": False, "Disabled": False}
    known = [said[text] for text in (_text(tree, path) for path in paths) if text in said]
    return any(known) if known else None
