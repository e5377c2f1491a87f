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

TOP = Path(__file__).resolve().parents[4]
# Read here: conftest.py removes such variables for each test.
FOLDER = Path(os.environ.get("COMMLENS_SEEDS", TOP.parent / "shared" / "seeds"))
# A number by itself, or with its unit at its end; not those in words, paths, versions and options.
NUMBER = re.compile(
    r"(?<![\w./:=\"-])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?=(?:s|GB|%)?(?![\w-])(?!\.\d))"
)

SOURCES = {
    "cp2k-fft-caching": ["cp2k-fft"],
    "cuda-aware-openmpi-juliet": ["juliet"],
    "dftfe-miniapps-early": ["dftfe-summit", "dftfe-crusher"],
    "dftfe-miniapps": ["dftfe-summit", "dftfe-crusher", "dftfe-frontier"],
    "nekrs-kershaw-crusher": ["nekrs-crusher"],
}
# How many figures of each document there are.
FIGURES = {
    "cp2k-fft-caching": 60,
    "cuda-aware-openmpi-juliet": 92,
    "dftfe-miniapps-early": 8,
    "dftfe-miniapps": 20,
    "nekrs-kershaw-crusher": 50,
}


def each(count: int, *texts: str) -> dict[str, int]:
    return dict.fromkeys(texts, count)


# What is no measurement, and how often it stands there.
NO_MEASUREMENTS: dict[str, dict[str, int]] = {
    "cp2k-fft-caching": {
        "50": 1,  # steps of molecular dynamics
        **each(1, "64", "128", "256"),  # cores
        "512": 1 + 1,  # cores, in the table and in the text
        "12": 1,  # the speed-up of the table once more, in the text
        "4": 2,  # the number of the table
    },
    "cuda-aware-openmpi-juliet": {
        **{str(2**power): 4 for power in range(23)},  # sizes of messages in four columns
        "1": 4 + 1,  # and the number of a step
        "2": 4 + 1 + 4,  # and the number of a step, and ranks
        "11.4": 2,  # the version of CUDA
    },
    "dftfe-miniapps-early": {
        "1e+7": 1,  # elements of the array
        **each(2, "1", "2"),  # nodes
        **each(1, "6", "12", "8", "16"),  # GPUs
    },
    "dftfe-miniapps": {
        "1e+7": 1,  # elements of the array
        "50": 1,  # calls
        **each(5 + 1 + 1, "1", "2"),  # nodes; the number of a benchmark; that of a module
        **each(1 + 1, "6", "12"),  # GPUs; the number of a module
        **each(4 + 1, "8", "16"),  # GPUs; the number of a module
        **{str(module): 1 for module in (3, 4, 5, 7, 9, 10, 11, 13, 14, 15, 17, 18)},
    },
    "nekrs-kershaw-crusher": {
        "12": 1,  # jobs of make
        "132": 1,  # characters of a path
        "00": 3,  # of a time limit
        "1": 2,  # nodes
        "8": 1 + 1,  # ranks of srun; and in the line of setupds
        "0": 1 + 1,  # the device of srun; and in the line of setupds
        "8364041": 1,  # in the line of setupds: a count without a name
        "64000": 2,  # elements of the mesh
        **each(1, "50", "25"),  # repetitions
        **each(1, "20", "000"),  # "about 20,000 words" in the text: the size of a message
    },
}


def numbers(seed: str) -> Counter[str]:
    path = FOLDER / f"{seed}.md"
    if not path.exists():
        pytest.skip(f"{path.name} is not there; COMMLENS_SEEDS names its folder")
    return Counter(NUMBER.findall(path.read_text(encoding="utf-8")))


def printed(names: list[str]) -> Counter[str]:
    return Counter(one.as_printed for name in names for one in reference.find(name).figures)


@pytest.mark.parametrize("seed", SOURCES)
def test_every_number_is_a_figure_or_no_measurement(seed: str) -> None:
    there, figures = numbers(seed), printed(SOURCES[seed])
    assert dict(there - figures) == NO_MEASUREMENTS[seed]
    assert sum((there & figures).values()) == FIGURES[seed]


@pytest.mark.parametrize("seed", [name for name in SOURCES if name != "dftfe-miniapps-early"])
def test_every_figure_stands_in_its_document(seed: str) -> None:
    """The earlier document of DFT-FE has a part of those of the later one."""
    assert not printed(SOURCES[seed]) - numbers(seed)


def test_juliet_has_the_size_of_each_latency_of_each_column() -> None:
    numbers("cuda-aware-openmpi-juliet")  # or skip
    text = (FOLDER / "cuda-aware-openmpi-juliet.md").read_text(encoding="utf-8")
    columns = re.findall(r'label="([^"]+)"[^>]*>\n.*?Datatype(.*?)</TabItem>', text, re.DOTALL)
    figures = reference.find("juliet").figures
    found = {
        "GPUDirect RDMA and gdrcopy" if "Performance" in label else label: re.findall(
            r"^ +(\d+) +(\S+)$", rows, re.MULTILINE
        )
        for label, rows in columns
    }
    assert len(found) == 4
    for setup, rows in found.items():
        own = [one for one in figures if one.setup == setup]
        assert [(str(int(one.size or 0)), one.as_printed) for one in own] == rows


def test_dftfe_has_the_transport_and_the_place_of_each_time() -> None:
    numbers("dftfe-miniapps")
    text = (FOLDER / "dftfe-miniapps.md").read_text(encoding="utf-8")
    found, nodes, gpus = [], "", ""
    for line in text.splitlines():
        if place := re.search(r"(\d) nodes? and (\d+) G", line):
            nodes, gpus = place.groups()
        if time := re.search(r"(Time .*(RCCL|library)): (\S+)", line):
            words, library, value = time.groups()
            transport = "ccl" if library == "RCCL" else "mpi"
            found.append((nodes, gpus, words, transport, value))
    figures = [one for name in SOURCES["dftfe-miniapps"] for one in reference.find(name).figures]
    assert [
        (str(one.nodes), str(one.gpus), one.quantity, one.transport, one.as_printed)
        for one in figures
    ] == found
