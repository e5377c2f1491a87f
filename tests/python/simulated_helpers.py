"""Machines that SimGrid's SMPI simulates, and the real commlens-bench on them (the preset smpi)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from commlens.model import Record
from native_helpers import ROOT
from run_helpers import kept

# commlens-bench itself starts this one for most benchmarks, which a simulated process cannot.
BENCH = ROOT / "build" / "smpi" / "src" / "commlens-bench-all"

_ENVIRONMENT = dict(os.environ)  # at import: without the fakes of conftest.py
_SMPIRUN = shutil.which("smpirun")
_LIMIT_S = 300.0

# Messages cost what the links say, and nothing else costs anything: neither computing, which would
# be timed on this machine, nor calls, nor what the default model adds as measured on a cluster.
_ONLY_LINKS = {
    "smpi/simulate-computation": "no",
    "network/model": "CM02",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "smpi/wtime": "0",
    "smpi/test": "0",
    "smpi/iprobe": "0",
    "smpi/or": "0:0:0",
    "smpi/send-is-detached-thresh": "0",
    "smpi/barrier": "ompi_bruck",  # all ranks leave it at the same time
}


def why_not() -> str:
    """Why nothing can be simulated here; empty if it can."""
    if not _SMPIRUN:
        return "there is no smpirun: apt-get install libsimgrid-dev"
    return "" if BENCH.is_file() else f"there is no {BENCH}: cmake --build --preset smpi"


@dataclass(frozen=True)
class Machine:
    """Nodes around a switch, each with a link of its own, and a rank on each."""

    ranks: int = 64
    link_latency_s: float = 1e-6
    bandwidth: float = 1e9  # bytes per second, in each direction
    start_up_s: float = 0.0  # that a rank takes to send a message
    slower: Mapping[int, float] = field(default_factory=dict)  # links, by their nodes

    @property
    def latency_s(self) -> float:
        return 2 * self.link_latency_s  # to the switch, and from it

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The platform, and the hosts of the ranks."""
        lines = ['<?xml version="1.0"?>']
        lines.append('<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">')
        lines.append('<platform version="4.1"><zone id="machine" routing="Cluster">')
        for node in range(self.ranks):
            bandwidth = self.bandwidth / self.slower.get(node, 1.0)
            lines.append(
                f'<host id="node{node}" speed="1Gf"/>'
                f'<link id="link{node}" bandwidth="{bandwidth}Bps" latency="{self.link_latency_s}s"'
                ' sharing_policy="SPLITDUPLEX"/>'
                f'<host_link id="node{node}" up="link{node}_UP" down="link{node}_DOWN"/>'
            )
        lines.append("</zone></platform>")
        platform, hosts = folder / "platform.xml", folder / "hosts"
        platform.write_text("\n".join(lines) + "\n")
        hosts.write_text("".join(f"node{node}\n" for node in range(self.ranks)))
        return platform, hosts

    def record(self, folder: Path, words: str, **algorithms: str) -> Path:
        """Runs the program with these words, and collectives with these of SMPI's algorithms."""
        platform, hosts = self.write(folder)
        start_up = f"0:{self.start_up_s}:0"
        settings = {
            **_ONLY_LINKS,
            "smpi/os": start_up,
            "smpi/ois": start_up,
            **{f"smpi/{name}": algorithm for name, algorithm in algorithms.items()},
        }
        file = folder / "records.jsonl"
        file.unlink(missing_ok=True)
        assert _SMPIRUN
        command = [_SMPIRUN, "-quiet", "-np", str(self.ranks), "-platform", str(platform)]
        command += ["-hostfile", str(hosts), "--log=root.thresh:error"]
        command += [f"--cfg={name}:{value}" for name, value in settings.items()]
        command += [str(BENCH), *words.split(), "--transport", "mpi", "--record", str(file)]
        ended = subprocess.run(
            command,
            cwd=folder,
            env=_ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LIMIT_S,
        )
        assert ended.returncode == 0, ended.stdout
        return file

    def records(self, folder: Path, words: str, **algorithms: str) -> list[Record]:
        """Those that are not skipped."""
        every = kept(self.record(folder, words, **algorithms))
        return [record for record in every if record.status != "skipped"]


def seconds(record: Record) -> float:
    """The median."""
    values = sorted(record.samples.values_s)
    return values[len(values) // 2]
