"""Every number of the documents from which the figures come is a figure, or is no measurement.

The documents are read from the folder COMMLENS_SEEDS, or from ../shared/seeds beside the checkout.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from commlens.compare import references as reference
from run_helpers import table

TOP = Path(__file__).resolve().parents[4]
# Read here: conftest.py removes such variables for each test.
FOLDER = Path(os.environ.get("COMMLENS_SEEDS", TOP.parent / "shared" / "seeds"))
# A number by itself, or with its unit at its end; not those in words, paths, versions and options.
NUMBER = re.compile(
    r"(?<![\w./:=\"-])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=(?:s|GB|%)?(?![\w-])(?!\.\d))"
)

SEEDS = table(Path(__file__).with_name("seeds.yaml"))


def no_measurements(seed: str) -> dict[str, int]:
    powers = SEEDS[seed].get("powers_of_2", {"below": 0, "each": 0})
    sizes = {str(2**power): powers["each"] for power in range(powers["below"])}
    return {**sizes, **SEEDS[seed]["no_measurements"]}


def numbers(seed: str) -> Counter[str]:
    path = FOLDER / f"{seed}.md"
    if not path.exists():
        pytest.skip(f"{path.name} is not there; COMMLENS_SEEDS names its folder")
    return Counter(NUMBER.findall(path.read_text(encoding="utf-8")))


def printed(names: list[str]) -> Counter[str]:
    return Counter(figure.as_printed for name in names for figure in reference.find(name).figures)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_number_is_a_figure_or_no_measurement(seed: str) -> None:
    there, figures = numbers(seed), printed(SEEDS[seed]["sources"])
    assert dict(there - figures) == no_measurements(seed)
    assert sum((there & figures).values()) == SEEDS[seed]["figures"]


@pytest.mark.parametrize("seed", [name for name in SEEDS if name != "dftfe-miniapps-early"])
def test_every_figure_stands_in_its_document(seed: str) -> None:
    """The earlier document of DFT-FE has a part of those of the later one."""
    assert not printed(SEEDS[seed]["sources"]) - numbers(seed)


def test_juliet_has_the_size_of_each_latency_of_each_column() -> None:
    numbers("cuda-aware-openmpi-juliet")  # or skip
    text = (FOLDER / "cuda-aware-openmpi-juliet.md").read_text(encoding="utf-8")
    columns = re.findall(r'label="([^"]+)"[^>]*>\n.*?Datatype(.*?)</TabItem>', text, re.DOTALL)
    figures = reference.find("juliet").figures
    tables = {
        "GPUDirect RDMA and gdrcopy" if "Performance" in label else label: re.findall(
            r"^ +(\d+) +(\S+)$", rows, re.MULTILINE
        )
        for label, rows in columns
    }
    assert len(tables) == 4
    for setup, rows in tables.items():
        column = [figure for figure in figures if figure.setup == setup]
        assert [(str(int(figure.size or 0)), figure.as_printed) for figure in column] == rows


def test_dftfe_has_the_transport_and_the_place_of_each_time() -> None:
    numbers("dftfe-miniapps")
    text = (FOLDER / "dftfe-miniapps.md").read_text(encoding="utf-8")
    times, nodes, gpus = [], "", ""
    for line in text.splitlines():
        if place := re.search(r"(\d) nodes? and (\d+) G", line):
            nodes, gpus = place.groups()
        if time := re.search(r"(Time .*(RCCL|library)): (\S+)", line):
            words, library, value = time.groups()
            transport = "ccl" if library == "RCCL" else "mpi"
            times.append((nodes, gpus, words, transport, value))
    sources = [reference.find(name) for name in SEEDS["dftfe-miniapps"]["sources"]]
    figures = [figure for source in sources for figure in source.figures]
    assert [
        (str(figure.nodes), str(figure.gpus), figure.quantity, figure.transport, figure.as_printed)
        for figure in figures
    ] == times
