"""Checks of where ranks run, beside the rules over records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from machine_checks import Cases, Given, assert_a_finding, names, of, on, outcome, own_codes
from sample_records import make_record

UUID = "GPU-0a3000000000400080000000000000{:02d}"


def ranks(
    cores: Sequence[str],
    numa: str = "0",
    gpus: Sequence[int] = (),
    host: str = "node01",
    nodes: int = 1,
) -> list[dict[str, Any]]:
    """A record of a run with these ranks on one node."""
    places: list[dict[str, Any]] = [
        {"rank": rank, "host": host, "cores": own, "numa_nodes": numa}
        for rank, own in enumerate(cores)
    ]
    for place, gpu in zip(places, gpus):
        place["device"] = {
            "ordinal": gpu, "name": "Tesla V100-PCIE-16GB", "uuid": UUID.format(gpu),
            "pci": "", "numa_node": gpu, "memory_bytes": 1 << 34,
        }  # fmt: skip
    others = [{"rank": len(places) + one, "host": f"other{one}", "cores": "0", "numa_nodes": "0"}
              for one in range(nodes - 1)]  # fmt: skip
    every = places + others
    return [make_record(placement=every, ranks=len(every), nodes=nodes)]


CASES = {
    "cpu-quota-below-ranks": Cases(
        {"1.5 of version 1": on("v100-node", records=ranks(["0", "1"])),
         "with a domain": on("v100-node", records=ranks(["0", "1"], host="node01.cluster.example")),
         "4 of version 2": on("h200-container", records=ranks(list("01234")))},
        {"enough": on("h200-container", records=ranks(list("0123"))),
         "on another node": on("v100-node", records=ranks(["0", "1"], host="node02"))},
        {"no quota": on("a100-node", records=ranks(["0"])), "no ranks": on("v100-node")},
    ),
    "ranks-share-core": Cases(
        {"hardware threads": on("a100-node", records=ranks(["0", "8"])),
         "some": on("a100-node", records=ranks(["0", "8", "1"]))},
        {"a core each": on("a100-node", records=ranks(["0", "1"])),
         "both threads each": on("a100-node", records=ranks(["0,8", "1,9"])),
         "not bound": on("a100-node", records=ranks(["0-15"] * 4)),
         "one processor": on("a100-node", records=ranks(["0", "0"])),
         "unknown": on("a100-node", records=ranks(["", ""]))},
        {"no ranks": on("a100-node"), "no siblings": on("laptop", records=ranks(["0"]),
            absent=tuple(f"/sys/devices/system/cpu/cpu{one}/topology" for one in range(8)))},
    ),
    "ranks-share-exclusive-gpu": Cases(
        {"two": on("v100-node", records=ranks(["0", "1"], gpus=[0, 0]))},
        {"one each": on("v100-node", records=ranks(["0", "1"], gpus=[0, 1])),
         "no GPU": on("v100-node", records=ranks(["0", "1"]))},
        {"shared by default": on("a100-node", records=ranks(["0", "1"], gpus=[0, 0])),
         "no ranks": on("v100-node")},
    ),
    "ranks-far-from-nic": Cases(
        {"the other node": on("a100-node", records=ranks(["4"], "1", nodes=2), absent=(
            "/sys/class/infiniband/mlx5_1",))},
        {"an adapter there": on("a100-node", records=ranks(["4"], "1", nodes=2)),
         "some near": on("a100-node", records=ranks(["0-7"], "0-1", nodes=2)),
         "no adapter": on("laptop", records=ranks(["0"], nodes=2))},
        {"no ranks": on("a100-node"), "one node": on("a100-node", records=ranks(["0"]))},
    ),
}  # fmt: skip
SPEAKS = list(of(CASES, "speaks"))
SILENT = list(of(CASES, "silent"))
NOT_APPLICABLE = list(of(CASES, "not_applicable"))


def test_every_check_has_cases() -> None:
    assert own_codes("placement") == set(CASES)


@pytest.mark.parametrize(("code", "name", "given"), SPEAKS, ids=names(SPEAKS))
def test_where_it_speaks(code: str, name: str, given: Given, tmp_path: Path) -> None:
    assert_a_finding(outcome(code, given(tmp_path)))


@pytest.mark.parametrize(("code", "name", "given"), SILENT, ids=names(SILENT))
def test_where_it_is_silent(code: str, name: str, given: Given, tmp_path: Path) -> None:
    found = outcome(code, given(tmp_path))
    assert found.verdict == "ok", (found.reason, found.findings)


@pytest.mark.parametrize(("code", "name", "given"), NOT_APPLICABLE, ids=names(NOT_APPLICABLE))
def test_where_it_says_why_not(code: str, name: str, given: Given, tmp_path: Path) -> None:
    found = outcome(code, given(tmp_path))
    assert found.verdict == "not applicable" and "failed (" not in found.reason
