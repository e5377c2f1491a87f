"""tools/peers/nccl.py: the programs of nccl-tests in the place of commlens-bench."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path

import pytest

from commlens.model import load
from conftest import FAKES, Commlens
from peer_helpers import PEERS, adaptor, printing, program, refusal, run

# In the formats of src/util.cu of nccl-tests 2.19.6.
HEAD = """\
# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22803
# Collective test starting: all_reduce_perf
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:06:00] NVIDIA H200
"""
SECOND = "#  Rank  1 Group  0 Pid   4712 on      node1 device  1 [0000:07:00] NVIDIA H200\n"
COLUMNS = """\
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""  # noqa: E501
ROWS = """\
           8             1    double     sum      -1     9.21    0.00    0.00       0     9.14    0.00    0.00       0
          16             2    double     sum      -1     9.25    0.00    0.00       0     9.18    0.00    0.00       0
          32             4    double     sum      -1     9.33    0.00    0.00       0     9.26    0.00    0.00       0
"""  # noqa: E501
FOOT = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.00198 \n#\n"
PRINTED = HEAD + SECOND + COLUMNS + ROWS + FOOT
UNCHECKED = "8  1  double  sum  -1  9.21  0.00  0.00    N/A  9.14  0.00  0.00    N/A\n"
GPUS = ("--transport", "ccl", "--memory", "device")
OPTIONS = (*GPUS, "--batches", 1, "--repeat", 100, "--warmup", 10)


@pytest.fixture
def bench(tmp_path: Path) -> str:
    """The fake, which declares one metric for all benchmarks, without it: the time is left."""
    leave_out = """sed 's/{"name": "latency_us"[^}]*}, //g'"""
    fake = tmp_path / "commlens-bench"
    return str(program(fake, f'{FAKES / "commlens-bench"} "$@" | {leave_out}'))


def test_a_record_is_the_mean_of_all_calls(home: Path, bench: str, tmp_path: Path) -> None:
    printing(home / "all_reduce_perf", PRINTED)
    path = tmp_path / "records.jsonl"
    words = ("allreduce", "--bytes", "8:32", *OPTIONS, "--record", path)
    ended = run("nccl.py", *words, COMMLENS_BENCH=bench)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == PRINTED
    loaded = load([path])
    assert loaded.problems == []
    first, _, last = loaded.records
    assert (first.transport, first.memory, first.ranks) == ("ccl", "device", 2)
    assert last.parameters == {"count": 4, "bytes": 32, "dtype": "f64", "in_place": True}
    assert math.isclose(last.samples.values_s[0], 9.26e-6)
    assert last.statistics["time_us"].count == 1
    harness = last.harness
    assert (harness.timing, harness.repeat, harness.warmup, harness.batches) == (
        *("batch", 100, 10, 1),
    )
    assert (last.validation.status, last.validation.elements) == ("passed", 2 * 4)
    assert last.start.versions == {"nccl-tests": "2.19.6", "ccl": "NCCL 2.28.3"}


def test_out_of_place_is_the_other_column(home: Path, bench: str, tmp_path: Path) -> None:
    printing(home / "all_reduce_perf", PRINTED)
    path = tmp_path / "records.jsonl"
    words = ("allreduce", "--bytes", "8:32", "--out-of-place", *OPTIONS, "--record", path)
    run("nccl.py", *words, COMMLENS_BENCH=bench)
    first, *_ = load([path]).records
    assert first.parameters["in_place"] is False
    assert math.isclose(first.samples.values_s[0], 9.21e-6)


def test_without_checks(home: Path, bench: str, tmp_path: Path) -> None:
    printing(home / "all_reduce_perf", HEAD + SECOND + UNCHECKED)
    path = tmp_path / "records.jsonl"
    words = ("allreduce", "--bytes", "8", "--no-validate", *OPTIONS, "--record", path)
    run("nccl.py", *words, COMMLENS_BENCH=bench)
    (record,) = load([path]).records
    assert record.validation.status == "off"


@pytest.mark.parametrize(
    ("benchmark", "program_name", "options", "row", "expected"),
    [
        (
            *("allgather", "all_gather_perf", "--size-of array --out-of-place --dtype f32"),
            "64  8  float  none  -1  9.21  0.01  0.00  0  9.14  0.01  0.00  0\n",
            {"count": 8, "bytes": 32, "dtype": "f32", "in_place": False},
        ),
        (
            *("reduce-scatter", "reduce_scatter_perf", "--size-of array --dtype bf16"),
            "64  16  bfloat16  sum  -1  9.21  0.01  0.00  0  9.14  0.01  0.00  0\n",
            {"count": 16, "bytes": 32, "dtype": "bf16", "in_place": False},
        ),
        (
            *("broadcast", "broadcast_perf", "--out-of-place --dtype f32"),
            "64  16  float  none  0  9.21  0.01  0.00  0  9.14  0.01  0.00  0\n",
            {"count": 16, "bytes": 64, "dtype": "f32", "in_place": False, "root": 0},
        ),
        (
            *("shift", "sendrecv_perf", "--dtype f32"),
            "64  16  float  none  -1  9.21  0.01  0.00  0  9.14  0.01  0.00  N/A\n",
            {"count": 16, "bytes": 64, "dtype": "f32"},
        ),
    ],
)
def test_other_operations(
    home: Path,
    bench: str,
    tmp_path: Path,
    benchmark: str,
    program_name: str,
    options: str,
    row: str,
    expected: dict[str, object],
) -> None:
    """The sizes of nccl-tests are of all blocks, those in a record of one."""
    printing(home / program_name, HEAD + SECOND + row)
    path = tmp_path / "records.jsonl"
    words = (benchmark, "--bytes", 64, *options.split(), *OPTIONS, "--record", path)
    assert run("nccl.py", *words, COMMLENS_BENCH=bench).stderr == ""
    (record,) = load([path]).records
    assert record.parameters == expected
    assert math.isclose(record.samples.values_s[0], 9.21e-6)


def test_messages_of_nccl_are_no_figures(home: Path, bench: str) -> None:
    said = "NCCL version 2.28.3+cuda13.0\nnode1:4711:4711 [0] NCCL INFO Connected all rings\n"
    printing(home / "all_reduce_perf", HEAD + SECOND + said + ROWS)
    words = ("allreduce", "--bytes", "8:32", *OPTIONS)
    assert run("nccl.py", *words, COMMLENS_BENCH=bench).returncode == 0


def asked(tmp_path: Path, home: Path, *words: object) -> str:
    """The command line of all_reduce_perf."""
    words_file = tmp_path / "words"
    program(home / "all_reduce_perf", f'echo "$@" > {words_file}')
    run("nccl.py", "allreduce", *OPTIONS, *words)
    return words_file.read_text().strip()


def test_it_is_asked_for_the_same_measurement(home: Path, tmp_path: Path) -> None:
    once = "-g 1 -t 1 -m 1 -z 0 -G 0 -R 0 -a 3"
    options = "-b 8 -e 512 -f 8 -n 100 -w 10 -o sum"
    assert asked(tmp_path, home, "--bytes", "8:512:x8") == f"{options} -d double -c 1 {once}"


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("--bytes 8:2M:x4", "-b 8 -e 2097152 -f 4"),
        ("--bytes 1G", "-b 1073741824 -e 1073741824 -f 2"),
        ("--bytes 256M,1G", "-b 268435456 -e 1073741824 -f 4"),
        ("--bytes 8 --dtype f32", "-d float"),
        ("--bytes 8 --dtype i32 --out-of-place", "-d int32"),
        ("--bytes 8 --no-validate", "-c 0"),
    ],
)
def test_options_are_passed_on(home: Path, tmp_path: Path, words: str, options: str) -> None:
    assert options in asked(tmp_path, home, *words.split())


def test_measured_times_are_compared(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = ("all_gather", "all_reduce", "alltoall", "broadcast")
    for name in (*programs, "reduce", "reduce_scatter", "sendrecv"):
        printing(home / f"{name}_perf", "")
    monkeypatch.syspath_prepend(PEERS)
    measure = runpy.run_path(str(PEERS / "measure.py"))
    cases = list(measure["nccl"]())
    # The first of each operation has the least sizes of one type, the last the largest of another.
    ends = [{benchmark: words for benchmark, *words in order} for order in (cases, cases[::-1])]
    assert set(ends[0]) == set(measure["NCCL"])
    for benchmark, words in [item for end in ends for item in end.items()]:
        options = words[words.index("--") + 1 :]
        assert "has printed figures of 0 cases" in refusal(1, "nccl.py", benchmark, *options)


def test_it_runs_in_jobs(commlens: Commlens, home: Path, bench: str, tmp_path: Path) -> None:
    printing(home / "all_reduce_perf", PRINTED)
    for side in "ab":
        (tmp_path / side).mkdir()
    a, b = (f"COMMLENS_BENCH={adaptor('nccl.py', tmp_path / side)}" for side in "ab")
    compared = commlens(
        *("compare", "--run", "allreduce", "--a", a, "--b", b, "--launches", 1, "--ranks", 2),
        *("--format", "json", "--", "--bytes", "8:32", *OPTIONS),
        COMMLENS_BENCH=bench,
        FAKE_BACKEND="cuda",
        FAKE_GPUS="2",
        FAKE_TRANSPORTS="mpi,staged,ccl",
    )
    assert compared.returncode == 0, compared.stderr
    cases = json.loads(compared.stdout)["cases"]
    medians = [case["baseline_median"] for case in cases]
    assert medians == pytest.approx([9.14, 9.18, 9.26])


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("", 0, "all_reduce_perf has printed figures of 0 cases instead of 3"),
        (HEAD + SECOND + UNCHECKED, 0, "has printed figures of 1 cases instead of 3"),
        (PRINTED, 3, "all_reduce_perf ended with status 3"),
        (HEAD + ROWS, 0, "all_reduce_perf has run on 1 of 2 ranks: build it with MPI, as tools/"),
        (
            HEAD + SECOND.replace("Group  0", "Group  1") + ROWS,
            *(0, "all_reduce_perf has run on 1 of 2 ranks"),
        ),
        (
            HEAD + SECOND + ROWS.replace("9.14    0.00    0.00       0", "9.14 0 0 2.09715e+06"),
            *(0, "all_reduce_perf has found 2.09715e+06 wrong elements in arrays of 8 bytes"),
        ),
        (HEAD + SECOND + ROWS.replace("9.14", "0.00"), 0, "has printed 0 us for 8 bytes"),
        (HEAD + SECOND + "8  1  double  sum\n", 0, "'8  1  double  sum', which is no size"),
        (HEAD + SECOND + ROWS.replace("9.14", "nan"), 0, "which is no size with its times"),
        (HEAD + SECOND + f"{'9' * 400}\n", 0, "which is no size with its times"),
    ],
)
def test_odd_output_is_refused(home: Path, bench: str, text: str, status: int, said: str) -> None:
    printing(home / "all_reduce_perf", text, status)
    words = ("allreduce", "--bytes", "8:32", *OPTIONS)
    assert said in refusal(1, "nccl.py", *words, COMMLENS_BENCH=bench)
