"""tools/peers/osu.py: OSU's programs in the place of commlens-bench."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path

import pytest

from commlens.model import load
from conftest import FAKES, Commlens
from peer_helpers import PEERS, adaptor, printing, program, refusal, run, spawn
from run_helpers import kept

LATENCY = """
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                   0.210000
2                   0.220000
4                   0.240000
"""
BANDWIDTH = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1024     2048.000000\n"
ALLREDUCE = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_FLOAT.
# Size         Avg Latency(us)     Min Latency(us)     Max Latency(us)  Iterations
4                     0.220000            0.200000            0.240000         100
"""
OPTIONS = ("--batches", 1, "--repeat", 100, "--warmup", 10)


def test_it_is_compared_with_commlens(commlens: Commlens, home: Path, tmp_path: Path) -> None:
    printing(home / "osu_latency", LATENCY)
    setting = f"COMMLENS_BENCH={adaptor('osu.py', tmp_path)}"
    compared = commlens(
        *("compare", "--run", "latency", "--a", setting, "--b", "", "--launches", 2, "--ranks", 2),
        *("--format", "json", "--", "--bytes", "1:4", *OPTIONS),
    )
    assert compared.returncode == 0, compared.stderr
    document = json.loads(compared.stdout)
    assert [case["baseline_median"] for case in document["cases"]] == [0.21, 0.22, 0.24]
    assert {case["baseline_launches"] for case in document["cases"]} == {2}
    (folder,) = Path("results").iterdir()
    assert len(kept(folder / "a.jsonl")) == len(kept(folder / "b.jsonl")) == 6


def test_a_record_is_a_mean_of_all_repetitions(home: Path, tmp_path: Path) -> None:
    printing(home / "osu_latency", LATENCY)
    path = tmp_path / "records.jsonl"
    ended = run("osu.py", "latency", "--bytes", "1,4", *OPTIONS, "--record", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == LATENCY
    loaded = load([path])
    assert loaded.problems == []
    first, last = loaded.records  # and not the size between
    assert (first.size, last.size) == (1, 4)
    statistic = last.statistics["latency_us"]
    assert (statistic.count, statistic.median, statistic.ci_low) == (1, 0.24, None)
    assert math.isclose(last.statistics["time_us"].median, 0.48)
    assert math.isclose(last.samples.values_s[0], 0.48e-6)
    harness = last.harness
    assert (harness.timing, harness.repeat, harness.warmup, harness.batches) == (
        "batch",
        100,
        10,
        1,
    )
    assert last.validation.status == "off"
    assert last.start.versions == {"OSU micro-benchmarks": "7.4"}


@pytest.mark.parametrize(
    ("benchmark", "name", "directions"),
    [("bandwidth", "osu_bw", 1), ("bidirectional-bandwidth", "osu_bibw", 2)],
)
def test_windows(home: Path, tmp_path: Path, benchmark: str, name: str, directions: int) -> None:
    printing(home / name, BANDWIDTH)
    path = tmp_path / "records.jsonl"
    # the fake declares one metric for all benchmarks
    fake = tmp_path / "commlens-bench"
    program(fake, f'{FAKES / "commlens-bench"} "$@" | sed "s/latency_us/bandwidth_GBps/g"')
    ended = run(
        *("osu.py", benchmark, "--bytes", "1K", *OPTIONS, "--record", path),
        COMMLENS_BENCH=str(fake),
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    (record,) = load([path]).records
    assert record.parameters == {"bytes": 1024, "pairs": 1, "window": 64}
    assert math.isclose(record.statistics["bandwidth_GBps"].median, 2.048)
    assert math.isclose(record.statistics["time_us"].median, directions * 64 * 1024 / 2048)


def test_osu_is_asked_for_the_same_measurement(home: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    program(home / "osu_latency", f'echo "$@" > {words}')
    run("osu.py", "latency", "--bytes", "8:1K:x8", *OPTIONS)
    assert words.read_text().split() == ["-m", "8:1024", "-i", "100", "-x", "10"]


def test_an_allreduce_is_that_of_the_slowest_rank(home: Path, tmp_path: Path) -> None:
    words, path = tmp_path / "words", tmp_path / "records.jsonl"
    printing(home / "printed", ALLREDUCE)
    program(home / "osu_allreduce", f'echo "$@" > {words}; exec {home / "printed"}')
    options = ("--bytes", 4, "--dtype", "f32", "--out-of-place", *OPTIONS)
    ended = run("osu.py", "allreduce", *options, "--record", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert words.read_text().split()[-3:] == ["-T", "mpi_float", "-f"]
    (record,) = load([path]).records
    assert math.isclose(record.statistics["time_us"].median, 0.24)


def test_an_allreduce_without_its_slowest_rank_is_refused(home: Path) -> None:
    printing(home / "osu_allreduce", "4   0.22\n")
    options = ("--bytes", 4, "--dtype", "f32", "--out-of-place", *OPTIONS)
    assert "which is no size" in refusal(1, "osu.py", "allreduce", *options)


def test_neighbors_are_those_of_a_ring(home: Path, tmp_path: Path) -> None:
    words, path = tmp_path / "words", tmp_path / "records.jsonl"
    about = "Dimensions size = 4 \nTime took to create topology graph:143.857500 us.\n"
    printing(home / "printed", about + ALLREDUCE)
    program(home / "osu_neighbor_alltoall", f'echo "$@" > {words}; exec {home / "printed"}')
    ring = ("--bytes", 4, "--dimensions", 1, "--periodic", "--expect-ranks", 4, *OPTIONS)
    ended = run("osu.py", "neighbor-alltoall", *ring, "--record", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert words.read_text().split()[-3:] == ["-N", "cart:1:1", "-f"]
    (record,) = load([path]).records
    shown = {name: record.parameters[name] for name in ("dimensions", "grid_of_ranks", "periodic")}
    assert shown == {"dimensions": 1, "grid_of_ranks": "4", "periodic": True}


@pytest.mark.parametrize("benchmark", ["broadcast", "reduce", "gather", "scatterv"])
def test_rooted_operations_have_their_root(home: Path, tmp_path: Path, benchmark: str) -> None:
    """It is part of the key of commlens's own cases."""
    printing(home / f"osu_{'bcast' if benchmark == 'broadcast' else benchmark}", ALLREDUCE)
    path = tmp_path / "records.jsonl"
    of_type = ("--dtype", "f32") if benchmark == "reduce" else ()
    place = () if benchmark == "broadcast" else ("--out-of-place",)
    ended = run("osu.py", benchmark, "--bytes", 4, *of_type, *place, *OPTIONS, "--record", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    (record,) = load([path]).records
    assert record.parameters["root"] == 0


def test_memory_of_a_gpu(home: Path, tmp_path: Path) -> None:
    words, path = tmp_path / "words", tmp_path / "records.jsonl"
    printing(home / "printed", ALLREDUCE)
    program(home / "osu_allreduce", f'echo "$@" > {words}; exec {home / "printed"}')
    on_gpu = [*OPTIONS, "--dtype", "f32", "--out-of-place", "--memory", "device"]
    ended = run("osu.py", "allreduce", "--bytes", 4, *on_gpu, "--record", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert words.read_text().split()[-2:] == ["-d", "cuda"]
    (record,) = load([path]).records
    assert record.memory == "device"


def test_other_ranks_write_nothing(home: Path, tmp_path: Path) -> None:
    printing(home / "osu_latency", LATENCY)
    path = tmp_path / "records.jsonl"
    words = ("latency", "--bytes", "1:4", *OPTIONS, "--record", path)
    assert spawn("osu.py", *words, PMI_RANK="1").returncode == 0
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("", 0, "osu_latency has printed figures of 0 cases instead of 3"),
        ("1   0.21\n", 0, "osu_latency has printed figures of 1 cases instead of 3"),
        (LATENCY, 3, "osu_latency ended with status 3"),
        ("1   0.00\n", 0, "osu_latency has printed 0 for 1 bytes: build it with more decimals"),
        ("1   nan\n", 0, "osu_latency has printed '1   nan', which is no size"),
        ("1   -0.21\n", 0, "osu_latency has printed '1   -0.21', which is no size"),
        ("1   1e300\n", 0, "osu_latency has printed '1   1e300', which is no size"),
        (f"{'9' * 400}   1.0\n", 0, "which is no size"),
        ("1   0.21   Fail\n", 0, "which is no size"),
        ("\x1b]0;title\x07\n", 0, "osu_latency has printed '?]0;title?'"),
    ],
)
def test_odd_output_is_refused(home: Path, text: str, status: int, said: str) -> None:
    printing(home / "osu_latency", text, status)
    assert said in refusal(1, "osu.py", "latency", "--bytes", "1:4", *OPTIONS)


def test_a_missing_program_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("latency", "--bytes", "1:4", *OPTIONS)
    assert f"OSU_HOME={home}: no program osu_latency is there" in run("osu.py", *words).stderr
    monkeypatch.delenv("OSU_HOME")
    ended = run("osu.py", *words)
    assert ended.returncode == 2
    assert "OSU_HOME is not set: name the folder with osu_latency" in ended.stderr


def test_ranks_on_several_nodes_are_refused(home: Path) -> None:
    printing(home / "osu_latency", LATENCY)
    words = ("latency", "--bytes", "1:4", *OPTIONS)
    ended = run("osu.py", *words, OMPI_COMM_WORLD_LOCAL_SIZE="1")
    assert ended.returncode == 2
    assert "1 of 2 ranks are on this node" in ended.stderr


def test_questions_are_answered_by_commlens(tmp_path: Path) -> None:
    assert json.loads(spawn("osu.py", "--about").stdout)["mpi"] == "Open MPI 4.1.4"
    assert "options of the native latency" in spawn("osu.py", "latency", "--help").stdout


def test_persistent_messages(home: Path, tmp_path: Path) -> None:
    printing(home / "osu_latency_persistent", LATENCY)
    path = tmp_path / "records.jsonl"
    words = ("latency", "--bytes", "1,4", "--call", "persistent", *OPTIONS)
    assert run("osu.py", *words, "--record", path).returncode == 0
    assert {record.parameters["call"] for record in load([path]).records} == {"persistent"}
    refused = refusal(2, "osu.py", "bandwidth", "--bytes", "1:4", "--call", "blocking", *OPTIONS)
    assert "--call blocking: for OSU write persistent, or leave it out" in refused


ONE_SIDED = """
# OSU MPI_Put Latency Test v7.4
# Window creation: MPI_Win_allocate
# Synchronization: MPI_Win_flush
# Datatype: MPI_CHAR.
# Size            Latency (us)
4                     0.250000
"""


@pytest.mark.parametrize(
    ("benchmark", "words", "asked", "time_us"),
    [
        ("put-latency", "--bytes 4", "-w allocate -s flush", 0.25),
        (
            "get-latency",
            "--bytes 4 --synchronization lock-all --window-creation dynamic",
            "-w dynamic -s lock_all",
            0.25,
        ),
        ("put-latency", "--bytes 4 --synchronization pscw", "-w allocate -s pscw", 0.5),
        ("accumulate-latency", "--bytes 4", "-w allocate -s flush -T mpi_char", 0.25),
        ("get-accumulate-latency", "--bytes 4", "-w allocate -s flush", 0.25),
        ("fetch-and-op-latency", "", "-w allocate -s flush -T mpi_int", 0.25),
        ("compare-and-swap-latency", "--dtype i32", "-w allocate -s flush -T mpi_int", 0.25),
    ],
)
def test_one_sided_operations(
    home: Path, tmp_path: Path, benchmark: str, words: str, asked: str, time_us: float
) -> None:
    names = {"accumulate": "acc", "get-accumulate": "get_acc", "fetch-and-op": "fop"}
    names |= {"compare-and-swap": "cas"}
    operation = benchmark.removesuffix("-latency")
    said, path = tmp_path / "words", tmp_path / "records.jsonl"
    printing(home / "printed", ONE_SIDED)
    name = f"osu_{names.get(operation, operation)}_latency"
    program(home / name, f'echo "$@" > {said}; exec {home / "printed"}')
    ended = run("osu.py", benchmark, *words.split(), *OPTIONS, "--record", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert " ".join(said.read_text().split()).endswith(f"-i 100 -x 10 {asked}")
    (record,) = load([path]).records
    assert math.isclose(record.statistics["time_us"].median, time_us)
    assert math.isclose(record.statistics["latency_us"].median, 0.25)
    turns = "pscw" in words
    assert record.samples.operation == ("round trip" if turns else operation)
    assert (record.parameters.get("bytes") == 4) == ("--bytes" in words)


def test_types_that_osu_does_not_have_are_refused(home: Path) -> None:
    printing(home / "osu_fop_latency", ONE_SIDED)
    words = ("fetch-and-op-latency", "--dtype", "i64", *OPTIONS)
    assert "--dtype i64: for OSU write one of: u8, i32, f32" in refusal(2, "osu.py", *words)


def test_cases_are_repeated_as_osu_repeats_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defaults of OSU 7.4, for sizes up to 8 KiB and above."""
    monkeypatch.syspath_prepend(PEERS)
    cases = list(runpy.run_path(str(PEERS / "measure.py"))["osu"]())
    repeated: dict[str, list[tuple[str, ...]]] = {}
    for benchmark, *words in cases:
        numbers = (words[words.index(name) + 1] for name in ("--repeat", "--warmup"))
        repeated.setdefault(benchmark, []).append(tuple(numbers))
    assert repeated["latency"] == repeated["put-latency"] == [("10000", "100"), ("1000", "10")]
    assert repeated["bandwidth"] == repeated["put-bandwidth"] == [("100", "10"), ("20", "2")]
    assert repeated["allreduce"] == [("1000", "100"), ("100", "10")]
    assert repeated["compare-and-swap-latency"] == [("10000", "100")]
