"""Cases of rules on GPUs, their links, network adapters and processors."""

from __future__ import annotations

from commlens.machine.system import Output
from machine_checks import on
from sound_machine import Cases, Given

XML = "nvidia-smi -q -x"
SMI_HAS_FAILED = Output(XML, "NVIDIA-SMI has failed: no driver.\n", status=9)
ACS_OFF = "ACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir-"
ACS_ON = "ACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+"
NO_GPU = {"no GPU": on("laptop")}
NO_DRIVER = {**NO_GPU, "no driver": on("a100-node", outputs={XML: SMI_HAS_FAILED})}
OF_NVIDIA = {**NO_DRIVER, "of AMD": on("mi250x-node")}
MODE = "<compute_mode>Default"
GPU = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0"
NIC = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1a:00.0"
PORT = f"{NIC}/infiniband/mlx5_0/ports/1"
OTHER_PORT = PORT.replace("0000:15", "0000:95").replace("0000:16", "0000:96").replace(
    "0000:17", "0000:97").replace("0000:1a", "0000:9a").replace("mlx5_0", "mlx5_1")  # fmt: skip
HSN = "/sys/class/net/hsn0"
SOUND = {"a sound node": on("a100-node"), "another": on("h200-container")}


def xml(old: str, new: str, name: str = "a100-node") -> Given:
    return on(name, replaced={old: new})


CASES: dict[str, Cases] = {
    "gpu-memory-errors": Cases(
        {"version 10": on("v100-node"),
         "version 12": xml("<dram_uncorrectable>0", "<dram_uncorrectable>1"),
         "of AMD": on("mi250x-node", files={
             "/sys/bus/pci/devices/0000:c1:00.0/ras/umc_err_count": "ue: 3\nce: 0\n"})},
        {**SOUND, "of AMD": on("mi250x-node")},
        {**NO_DRIVER, "without ECC": on("h200-container", replaced={
            f"<{kind}_uncorrectable{more}>0": f"<{kind}_uncorrectable{more}>N/A"
            for kind, more in (("sram", "_parity"), ("sram", "_secded"), ("dram", ""))})},
    ),
    "gpu-repair-pending": Cases(
        {"pages": on("v100-node"),
         "rows": xml("<remapped_row_pending>No", "<remapped_row_pending>Yes"),
         "failed": xml("<remapped_row_failure>No", "<remapped_row_failure>Yes"),
         "unrepairable": xml("<unrepairable_memory>No", "<unrepairable_memory>Yes",
             "h200-container")},
        SOUND,
        OF_NVIDIA,
    ),
    "gpu-needs-reset": Cases(
        {"version 13": xml("<gpu_recovery_action>None", "<gpu_recovery_action>Reset",
            "h200-container"),
         "version 12": xml("<reset_required>No", "<reset_required>Yes"),
         "drain": xml("<drain_and_reset_recommended>No", "<drain_and_reset_recommended>Yes")},
        SOUND,
        {**OF_NVIDIA, "version 10": on("v100-node")},
    ),
    "gpu-throttled": Cases(
        {"heat": on("v100-node"),
         "power brake": xml("_power_brake_slowdown>Not Active", "_power_brake_slowdown>Active")},
        {**SOUND, "power cap": xml("_sw_power_cap>Not Active", "_sw_power_cap>Active")},
        OF_NVIDIA,
    ),
    "gpu-power-limit-lowered": Cases(
        {"one of two": on("v100-node"),
         "of AMD": on("mi250x-node", files={
             "/sys/bus/pci/devices/0000:c1:00.0/hwmon/hwmon3/power1_cap": "300000000\n"})},
        {**SOUND, "rounded": xml("<current_power_limit>400.00", "<current_power_limit>399.00"),
         "of AMD": on("mi250x-node")},
        NO_DRIVER,
    ),
    "gpu-compute-prohibited": Cases(
        {"all": xml(MODE, "<compute_mode>Prohibited")}, SOUND, OF_NVIDIA
    ),
    "gpu-exclusive": Cases(
        {"one process": on("v100-node"), "one thread": xml(MODE, "<compute_mode>Exclusive_Thread")},
        SOUND,
        OF_NVIDIA,
    ),
    "gpu-partitioned": Cases(
        {"enabled": xml("<current_mig>Disabled", "<current_mig>Enabled")},
        SOUND,
        {**OF_NVIDIA, "it has none": on("v100-node")},
    ),
    "gpu-persistence-off": Cases({"off": on("v100-node")}, SOUND, OF_NVIDIA),
    "gpus-hidden": Cases(
        {"one of two": on("h200-container", outputs={
            XML: "<nvidia_smi_log><gpu id='00000000:0A:00.0'/></nvidia_smi_log>"})},
        {**SOUND, "of AMD": on("mi250x-node")},
        NO_DRIVER,
    ),
    "cpu-powersave": Cases(
        {"powersave": on("v100-node"),
         "intel_pstate": on("laptop", files={
             "/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference": "power\n"})},
        {"performance": on("a100-node"), "intel_pstate": on("laptop")},
        {"a virtual machine": on("h200-container")},
    ),
    "peer-access-denied": Cases(
        {"not supported": xml("\tOK", "\tNS"), "disabled": xml("\tOK", "\tDR")},
        {**SOUND, "the chipset": on("v100-node")},
        {**NO_GPU, "of AMD": on("mi250x-node"), "unknown": on("a100-node", outputs={
            "nvidia-smi topo -p2p r": Output("nvidia-smi topo -p2p r", status=2)})},
    ),
    "peer-access-unsupported": Cases(
        {"the chipset": on("v100-node"), "the GPUs": xml("\tOK", "\tGNS")},
        {**SOUND, "denied": xml("\tOK", "\tNS")},
        {**NO_GPU, "of AMD": on("mi250x-node")},
    ),
    "nvlink-inactive": Cases(
        {"of a switch": xml("Link 3: 26.562 GB/s", "Link 3: <inactive>", "h200-container"),
         "of one GPU": on("a100-node", outputs={"nvidia-smi nvlink -s": (
             "GPU 0: A (UUID: x)\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n"
             "GPU 1: A (UUID: y)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n")})},
        {**SOUND, "no bridge": xml(": 25 GB/s", ": <inactive>")},
        {**OF_NVIDIA, "none": on("v100-node"), "no answer": on("a100-node", outputs={
            "nvidia-smi nvlink -s": Output("nvidia-smi nvlink -s", status=3)})},
    ),
    "nvlink-fabric-not-ready": Cases(
        {"in progress": xml("<state>Completed", "<state>In Progress", "h200-container"),
         "unhealthy": xml("<summary>Healthy", "<summary>Unhealthy", "h200-container")},
        {"completed": on("h200-container")},
        {**OF_NVIDIA, "no switch": on("a100-node")},
    ),
    "acs-redirects": Cases(
        {"switch ports": xml(ACS_OFF, ACS_ON)},
        {"off": on("a100-node"), "root ports": on("v100-node")},
        {**NO_GPU, "no lspci": on("a100-node", without=["lspci"]),
         "virtual": on("h200-container")},
    ),
    "iommu-translates": Cases(
        {"DMA": on("v100-node"),
         "DMA-FQ": on("a100-node", files={f"{GPU}/iommu_group/type": "DMA-FQ\n"})},
        SOUND,
        NO_GPU,
    ),
    "no-nic-up": Cases(
        {"both down": on("a100-node", files={
            f"{PORT}/state": "1: DOWN\n", f"{OTHER_PORT}/state": "2: INIT\n"})},
        {"up": on("a100-node"), "one down": on("a100-node", files={f"{PORT}/state": "1: DOWN\n"}),
         "Slingshot": on("mi250x-node")},
        {"none": on("laptop"), "Ethernet": on("h200-container")},
    ),
    "nic-down": Cases(
        {"one of two": on("a100-node", files={f"{PORT}/state": "1: DOWN\n"}),
         "Slingshot": on("mi250x-node", files={f"{HSN}/operstate": "down\n"})},
        {"up": on("a100-node"), "of another kind": on("a100-node", files={
            f"{PORT}/state": "1: DOWN\n", f"{NIC}/device": "0x1015\n"})},
        {"none": on("laptop")},
    ),
    "nic-slow": Cases(
        {"one lane": on("v100-node"),
         "slower": on("a100-node", files={f"{PORT}/rate": "100 Gb/sec (2X HDR)\n"})},
        {"up": on("a100-node"), "of another kind": on("a100-node", files={
            f"{PORT}/rate": "100 Gb/sec (4X EDR)\n", f"{NIC}/device": "0x1015\n"})},
        {"none": on("laptop"), "down": on("a100-node", files={
            f"{PORT}/state": "1: DOWN\n", f"{OTHER_PORT}/state": "1: DOWN\n"})},
    ),
    "nic-exceeds-slot": Cases(
        {"generation 3": on("a100-node", files={
            f"{NIC}/{name}_link_speed": "8.0 GT/s PCIe\n" for name in ("current", "max")})},
        {"it carries it": on("a100-node"), "narrow": on("a100-node", files={
            f"{NIC}/current_link_width": "8\n"})},
        {"none": on("laptop"), "unknown": on("a100-node", files={
            f"{PORT}/rate": "?", f"{OTHER_PORT}/rate": "?"})},
    ),
    "nic-far-from-gpus": Cases(
        {"one socket": on("a100-node", files={f"{PORT}/state": "1: DOWN\n"})},
        {"each": on("a100-node"), "Slingshot": on("mi250x-node")},
        {**NO_GPU, "no adapter": on("h200-container")},
    ),
    "pci-link-narrow": Cases(
        {"GPU and adapter": on("v100-node"),
         "as the driver says it": on("a100-node", files={f"{GPU}/current_link_width": "0\n"},
             replaced={"<current_link_width>16x": "<current_link_width>4x"})},
        {"as it can": on("a100-node")},
        # The card could do 16, and nobody knows whether its slot could.
        {"neither": on("laptop"), "virtual": on("h200-container", replaced={
            "<current_link_width>16x": "<current_link_width>8x"}),
         "unknown": on("mi250x-node", files={f"{path}/current_link_width": "63\n" for path in (
             *(f"/sys/bus/pci/devices/0000:{bus}1:00.0" for bus in "cdef"),
             *(f"/sys/class/net/hsn{number}/device" for number in (0, 1)))})},
    ),
    "gpu-link-slow": Cases(
        {"busy": on("v100-node")},
        {"fast": xml("reason_gpu_idle>Active", "reason_gpu_idle>Not Active")},
        {**NO_DRIVER, "idle": on("a100-node")},
    ),
    "nic-link-slow": Cases(
        {"generation 3 of 4": on("a100-node", files={
            f"{NIC}/current_link_speed": "8.0 GT/s PCIe\n"})},
        {"as it can": on("a100-node")},
        {"none": on("laptop"), "Ethernet": on("h200-container"),
         "unknown": on("mi250x-node", files={
             f"/sys/class/net/hsn{number}/device/current_link_speed": "Unknown\n"
             for number in (0, 1)})},
    ),
}  # fmt: skip
