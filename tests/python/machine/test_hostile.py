"""Files and outputs that are not what they should be: nothing fails, and nothing steers a
terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from commlens.base.text import printable
from commlens.findings.rule import rules_on_machines
from commlens.findings.view import View
from commlens.machine import cpus, gpu_drivers, kernel, links, nics
from commlens.machine.machine import Machine
from commlens.machine.system import Output, System
from commlens.model.results import Interference, OtherProgram
from hostile import TEXTS
from machine_helpers import recorded

XML = (
    "<nvidia_smi_log><gpu><gpu><gpu>{0}</gpu></gpu></gpu>"
    "<gpu id='{0}'><uuid>{0}</uuid><fb_memory_usage><total>{0} MiB</total></fb_memory_usage></gpu>"
    "</nvidia_smi_log>"
)
NUMBERS = ["-1", "0", "0x0300", "0x1002", "1" * 400, "99999999999", "1e400", "inf", "nan", "\u0665"]
SHAPES = ["[{0}]", '{{"gpu_data": [{{"bus": {{"bdf": "{0}"}}}}]}}', XML, "GPU0\tGPU1\nGPU0\tX\t{0}",
          "GPU 0:\n\t Link {0}: {0} GB/s\n", "0000:18:00.0 {0}\n\tACSCtl: ReqRedir+ {0}",
          "{0}: {0}\nCapEff:\t{0}\n0::/{0}\n4:cpu:/../{0}\n", "release {0}"]  # fmt: skip
MACHINES = ["a100-node", "h200-container", "laptop", "mi250x-node", "v100-node"]
CASES = [*TEXTS, *NUMBERS, *(shape.format(text) for shape in SHAPES for text in ["", "7", "\x1b["])]


@dataclass(frozen=True)
class Odd:
    """Says the same of everything, and that everything is there."""

    text: str
    target: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        return "0x10de" if path.endswith("vendor") else self.text

    def names(self, path: str) -> list[str]:
        odd = [self.text] if self.text.isprintable() else []
        return ["0000:18:00.0", "cpu0", "hsn0", "mlx5_0", "node0", "nvidia", *odd]

    def link(self, path: str) -> str | None:
        return self.target

    def find(self, program: str) -> str | None:
        return f"/usr/bin/{program}"

    def load(self) -> Interference:
        programs = (OtherProgram(printable(self.text), "node01", 1.0),)
        return Interference(seconds=0.5, cores=1, busy_cores=1.0, programs=programs)

    def run(self, *command: str, time_limit_s: float = 0) -> Output:
        return Output(" ".join(command), self.text, self.text, len(self.text) % 2)


@pytest.mark.parametrize("target", ["", "../../devices/pci0000:00/0000:00:01.0/0000:18:00.0"])
@pytest.mark.parametrize("text", CASES)
def test_nothing_fails(text: str, target: str) -> None:
    system = Odd(text.encode(errors="replace").decode(), target)  # as bytes are decoded
    machine = Machine(
        host="node01",
        gpus=gpu_drivers.look(system),
        links=links.look(system),
        nics=nics.look(system),
        cpus=cpus.look(system),
        kernel=kernel.look(system),
    )
    sent = msgspec.json.encode(machine).decode()
    assert "\x1b" not in sent and "\\u001b" not in sent
    for rule in rules_on_machines():
        result = rule.outcome(View(machines=[machine]))
        assert "the check itself failed" not in result.reason
        assert all(str(finding).isprintable() for finding in result.findings)


@pytest.mark.parametrize("look", [gpu_drivers.look, links.look, nics.look, cpus.look, kernel.look])
@pytest.mark.parametrize("name", [*MACHINES, ""])
def test_a_view_can_be_sent(name: str, look: Callable[[System], object], tmp_path: Path) -> None:
    """That of this machine too, whatever it is."""
    view = look(recorded(tmp_path, name) if name else System())
    assert msgspec.json.decode(msgspec.json.encode(view), type=type(view)) == view
