"""`commlens profile` on real programs in C, C++ and Fortran, of each MPI that is installed.

With COMMLENS_TEST_ALL_MPIS=1 it is a failure if Open MPI, MPICH or a compiler of one of them is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

from commlens import profile_program
from commlens.errors import CommlensError
from commlens.profile_record import imbalance, is_profile, parse
from conftest import Commlens
from sample_records import make_record

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "profile"
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COMMLENS_"))}
_BUILT = os.environ.get("COMMLENS_PROFILE_LIBRARY") or str(ROOT / "build/host/src/profile/libcommlens-profile.so")
_TIME_LIMIT_S = 120
_MUST_HAVE_ALL = bool(os.environ.get("COMMLENS_TEST_ALL_MPIS"))

# Time, Imb. Time and Imb. Time % of CrayPAT's table for 256 ranks of CP2K's FFT.
CRAYPAT_ROWS = [
    (7.270134, 0.741629, 9.3),
    (4.782975, 1.257500, 20.9),
    (0.144511, 0.006960, 4.6),
    (0.034614, 0.003197, 8.5),
    (0.025250, 0.002017, 7.4),
    (0.014001, 0.001163, 7.7),
    (0.008200, 0.001827, 18.3),
    (0.007483, 0.001781, 19.3),
]


@dataclass(frozen=True)
class Mpi:
    """An installed MPI with its profiling library; programs are compiled once."""

    name: str
    library: Path
    folder: Path

    def compile(self, source: str) -> Path:
        program = self.folder / f"{Path(source).stem}-{self.name}"
        if not program.exists():
            compiler = {".c": "mpicc", ".cpp": "mpicxx", ".f90": "mpif90"}[Path(source).suffix]
            wrapper = shutil.which(_tool(compiler, self.name))
            if wrapper is None:
                _lack(f"there is no {compiler} of {self.name}")
            words = [wrapper, "-g", str(SOURCES / source), "-o", str(program)]
            subprocess.run([*words, "-J", str(self.folder)] if source.endswith("f90") else words, check=True)
        return program

    def command(self, *words: object, ranks: int = 2) -> list[str]:
        options = ["--oversubscribe"] if self.name == "openmpi" else []
        return [_tool("mpirun", self.name), *options, "-n", str(ranks), *map(str, words)]

    def environment(self) -> dict[str, str]:
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        python = {"PYTHONPATH": str(ROOT / "python"), "COMMLENS_PROFILE_LIBRARY": str(self.library)}
        return {**_ENVIRONMENT, **root, **python}

    def profile(
        self, *words: object, ranks: int = 2, options: tuple[str, ...] = (), out: str = "out", stdin: str = ""
    ) -> Profiled:
        """Runs `commlens profile` in the working directory, which is the test's own."""
        before = set(Path(out).glob("*.jsonl")) if Path(out).is_dir() else set()
        arguments = ["profile", "--out", out, *options, "--", *self.command(*words, ranks=ranks)]
        answer = subprocess.run(
            [sys.executable, "-m", "commlens", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment(),
            timeout=_TIME_LIMIT_S,
        )
        new = sorted(set(Path(out).glob("*.jsonl")) - before) if Path(out).is_dir() else []
        record = json.loads(new[0].read_text()) if new else None
        if record is not None:
            parse(json.dumps(record))  # as the schema has it
        return Profiled(answer.returncode, answer.stdout, answer.stderr, record)


@dataclass(frozen=True)
class Profiled:
    status: int
    output: str
    error: str
    record: dict[str, Any] | None

    def functions(self) -> dict[str, dict[str, Any]]:
        assert self.record is not None, self.error
        return {function["name"]: function for function in self.record["functions"]}

    def bytes(self, function: str) -> list[int]:
        return list(self.functions()[function]["bytes"])

    def calls(self) -> dict[str, list[int]]:
        return {name: function["calls"] for name, function in self.functions().items()}

    def endings(self) -> list[str]:
        assert self.record is not None, self.error
        return [entry["ending"] for entry in self.record["placement"]]


def _lack(what: str) -> NoReturn:
    if _MUST_HAVE_ALL:
        pytest.fail(what)
    pytest.skip(what)


def _tool(name: str, mpi: str) -> str:
    return f"{name}.{mpi}" if shutil.which(f"{name}.{mpi}") else name


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, install: Callable[[str], Mpi]) -> Mpi:
    return install(request.param)


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Mpi]:
    return cache(lambda name: _install(name, tmp_path_factory.mktemp(f"profile-{name}")))


def _install(name: str, folder: Path) -> Mpi:
    """The MPI, with the profiling library for it; the test is skipped where it is missing."""
    family = {"openmpi": "Open MPI", "mpich": "MPICH"}[name]
    compiler = shutil.which(_tool("mpicc", name))
    says = subprocess.run([compiler, "-show"], capture_output=True, text=True).stdout if compiler else ""
    if ("mpich" in says) != (name == "mpich"):
        _lack(f"{family} is not installed")
    built = profile_program.read_library(Path(_BUILT))
    if built is not None and built.fits(family):
        return Mpi(name, built.path, folder)
    # Without the wrapper's folders, CMake may find another MPI.
    configure = ["cmake", "-S", str(ROOT / "src/profile"), "-B", str(folder), f"-DMPI_C_COMPILER={compiler}"]
    for words in (configure, ["cmake", "--build", str(folder)]):
        subprocess.run(words, check=True, capture_output=True, env=_ENVIRONMENT)
    return Mpi(name, folder / profile_program.LIBRARY, folder)


# ---- formulas ----


@pytest.mark.parametrize(("time_s", "imbalance_s", "percent"), CRAYPAT_ROWS)
def test_imbalance_is_craypats(time_s: float, imbalance_s: float, percent: float) -> None:
    own = imbalance(time_s, time_s + imbalance_s, 256)
    assert own.imbalance_s == pytest.approx(imbalance_s)
    # The times are rounded to a microsecond, of which the last row's percentage still shows something.
    assert own.percent == pytest.approx(percent, abs=0.051)


def test_imbalance_ends() -> None:
    assert imbalance(0.25, 1.0, 4).percent == pytest.approx(100)  # one of four ranks did it all
    assert imbalance(1.0, 1.0, 4).percent == 0
    assert imbalance(1.0, 1.0, 1).percent == 0
    assert imbalance(0.0, 0.0, 4).percent == 0


# ---- counts ----


def test_calls_and_bytes_are_exact(mpi: Mpi) -> None:
    ranks = 3
    run = mpi.profile(mpi.compile("counts.c"), ranks=ranks)
    assert run.status == 0
    assert run.calls() == {
        "MPI_Init": [1] * 3, "MPI_Finalize": [1] * 3, "MPI_Comm_rank": [1] * 3, "MPI_Comm_size": [1] * 3,
        "MPI_Irecv": [3] * 3, "MPI_Wait": [3] * 3, "MPI_Send": [4, 4, 5], "MPI_Recv": [1, 0, 0],
        "MPI_Allreduce": [6] * 3, "MPI_Alltoall": [2] * 3, "MPI_Alltoallv": [1] * 3, "MPI_Bcast": [1] * 3,
        "MPI_Comm_split": [1] * 3, "MPI_Comm_free": [1] * 3,
    }  # fmt: skip
    assert run.bytes("MPI_Send") == [1200, 1200, 1204]
    assert run.bytes("MPI_Allreduce") == [6 * 128] * 3
    assert run.bytes("MPI_Alltoall") == [2 * 16 * ranks] * 3
    assert run.bytes("MPI_Alltoallv") == [24 * ranks] * 3
    assert run.bytes("MPI_Bcast") == [7] * 3
    sizes = {entry["from_bytes"]: entry["calls"] for entry in run.functions()["MPI_Send"]["sizes"]}
    assert sizes == {0: 3, 4: 1, 256: 9}
    assert run.functions()["MPI_Send"]["communicators"] == {"mean_size": 3, "min_size": 3, "max_size": 3}
    assert run.functions()["MPI_Send"]["memory"] == {"host": 13}


def test_peers_are_ranks_of_the_world(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), ranks=3)
    assert run.record is not None
    peers = {(entry["from"], entry["to"]): (entry["bytes"], entry["messages"]) for entry in run.record["peers"]}
    expected = {(rank, other): (16 + 16 + 24, 3) for rank in range(3) for other in range(3)}  # of all-to-alls
    # Rank 2 sent one more to the last rank of a communicator that counts backwards.
    for pair, (bytes_, messages) in {(0, 1): (1200, 3), (1, 2): (1200, 3), (2, 0): (1204, 4)}.items():
        expected[pair] = (expected[pair][0] + bytes_, expected[pair][1] + messages)
    assert peers == expected


@pytest.mark.parametrize("source", ["fortran.f90", "fortran08.f90"])
def test_fortran_is_counted_once(mpi: Mpi, source: str) -> None:
    run = mpi.profile(mpi.compile(source))
    assert run.status == 0
    assert run.output.count("sum  1.0") == 2
    twice = {"MPI_Allreduce", "MPI_Recv", "MPI_Wait"}
    assert run.calls() == {name: [2 if name in twice else 1] * 2 for name in run.calls()}
    assert len(run.calls()) == 20
    assert run.bytes("MPI_Isend") == [100, 100]
    assert run.bytes("MPI_Start") == [40, 40]
    assert run.bytes("MPI_Allreduce") == [128, 128]
    assert run.bytes("MPI_Allgather") == [16, 16]
    assert run.bytes("MPI_File_write_at") == [400, 400]
    assert Path("fortran.data").stat().st_size == 800


def test_one_sided_and_neighbours(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("onesided.cpp"))
    assert run.bytes("MPI_Put") == [80, 80]
    assert run.bytes("MPI_Neighbor_alltoall") == [8, 8]
    assert run.record is not None
    assert [(entry["from"], entry["to"], entry["bytes"]) for entry in run.record["peers"]] == [(0, 1, 80), (1, 0, 80)]


def test_persistent_requests_send_at_each_start(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("requests.c"), ranks=3)
    assert run.status == 0
    assert run.bytes("MPI_Send_init") == [0] * 3
    assert run.bytes("MPI_Startall") == [3 * 400] * 3
    assert run.bytes("MPI_Start") == [400] * 3
    assert run.record is not None
    peers = {(entry["from"], entry["to"]): (entry["bytes"], entry["messages"]) for entry in run.record["peers"]}
    assert peers == {(rank, (rank + 1) % 3): (1600, 4) for rank in range(3)}


def test_arguments_without_meaning_are_not_read(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("requests.c"), ranks=3)
    assert run.bytes("MPI_Gather") == [0, 4, 4]
    assert run.bytes("MPI_Bcast") == [16] * 3
    assert run.bytes("MPI_Alltoallv") == [0] * 3


@pytest.mark.parametrize(
    ("library", "function"),
    [("libcuda.so.1", "cuPointerGetAttributes"), ("libamdhip64.so.6", "hipDrvPointerGetAttributes")],
)
def test_the_driver_is_asked_for_the_kind_of_memory(
    mpi: Mpi, library: str, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Path("driver.so").resolve()
    options = ["-shared", "-fPIC", f"-DFUNCTION={function}", f"-Wl,-soname,{library}"]
    subprocess.run(["cc", *options, str(SOURCES / "driver.c"), "-o", str(driver)], check=True)
    monkeypatch.setitem(_ENVIRONMENT, "LD_PRELOAD", str(driver))
    run = mpi.profile(mpi.compile("counts.c"))
    assert run.functions()["MPI_Send"]["memory"] == {"device": 9}


def test_call_sites_have_lines(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--callsites",))
    assert run.record is not None
    lines = (SOURCES / "counts.c").read_text().splitlines()
    sites = [site for site in run.record["call_sites"] if site["function"] == "MPI_Allreduce"]
    assert sorted(site["calls"] for site in sites) == [2, 10]
    assert {site["caller"] for site in sites} == {"collectives"}
    assert all("MPI_Allreduce" in lines[site["line"] - 1] for site in sites)
    assert "MPI_Allreduce from collectives (counts.c:" in run.output


def test_call_sites_of_a_stripped_program_are_addresses(mpi: Mpi) -> None:
    program = Path("stripped").resolve()
    subprocess.run(["strip", "-o", str(program), str(mpi.compile("counts.c"))], check=True)
    run = mpi.profile(program, options=("--callsites",))
    assert run.record is not None
    sites = [site for site in run.record["call_sites"] if site["function"] == "MPI_Allreduce"]
    assert sorted(site["calls"] for site in sites) == [2, 10]
    assert all(re.fullmatch(r"stripped\+0x[0-9a-f]+", site["caller"]) for site in sites)


def test_waiting_is_part_of_the_time(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--waiting",))
    function = run.functions()["MPI_Allreduce"]
    assert all(0 < waiting <= total for waiting, total in zip(function["waiting_s"], function["time_s"], strict=True))
    assert "MPI_Barrier" not in run.functions()


def test_threads_lose_no_call(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("endings.c"), "threads")
    assert run.calls()["MPI_Comm_size"] == [4000, 4000]
    assert run.record is not None
    assert run.record["thread_level"] == "multiple"


def test_sessions_and_large_counts(mpi: Mpi) -> None:
    if mpi.name != "mpich":
        pytest.skip("Open MPI 4 has no sessions")
    run = mpi.profile(mpi.compile("sessions.c"))
    assert run.status == 0
    assert run.endings() == ["finalized"] * 2
    assert run.bytes("MPI_Allreduce_c") == [8, 8]


# ---- endings ----


@pytest.mark.parametrize(
    ("how", "ending"),
    [
        ("no-finalize", "exit without MPI_Finalize"),
        ("abort", "signal"),
        ("mpi-abort", "MPI_Abort"),
        ("terminate", "signal"),
        ("handler", "signal"),
        ("fork", "finalized"),
    ],
)
def test_a_run_that_ends_otherwise_leaves_what_it_had(mpi: Mpi, how: str, ending: str) -> None:
    program = mpi.compile("endings.c")
    bare = subprocess.run(
        mpi.command(program, how), env=mpi.environment(), capture_output=True, text=True, timeout=_TIME_LIMIT_S
    )
    run = mpi.profile(program, how)
    # Which of its ranks MPICH's launcher finds dead first decides its status.
    assert run.status == bare.returncode or (mpi.name == "mpich" and 0 not in (run.status, bare.returncode))
    # The launcher may kill the others as soon as the first rank has died.
    assert run.endings() and set(run.endings()) <= {ending, "signal", "in MPI_Finalize"} and ending in run.endings()
    assert max(run.calls()["MPI_Barrier"]) == 1
    assert ("own handler" in run.output) == ("own handler" in bare.stdout)


def test_a_terminated_command_shows_where_it_was_stuck(mpi: Mpi) -> None:
    words = ["profile", "--out", "out", "--", *mpi.command(mpi.compile("endings.c"), "stuck")]
    with Path("said").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "commlens", *words], env=mpi.environment(), stdout=said, stderr=said
        )
    deadline = time.monotonic() + 60
    while Path("said").read_text().count("stuck") < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    status = process.wait(60)
    assert status != 0 or mpi.name == "mpich"  # whose launcher says 0 then
    assert "ended by signal, within MPI_Recv" in Path("said").read_text()


def test_nothing_to_record_is_said(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("endings.c"), "no-init")
    assert (run.status, run.record) == (4, None)
    assert "nothing was recorded: no rank of" in run.error
    run = mpi.profile("ls", "/dev/null")
    assert (run.status, run.record) == (0, None)
    assert "nothing was recorded: ls is not linked to MPI" in run.error


@pytest.mark.parametrize("status", [0, 7])
def test_an_unwritable_folder_does_not_stop_the_program(mpi: Mpi, status: int) -> None:
    Path("file").touch()
    run = mpi.profile(mpi.compile("counts.c"), status, out="file/below")
    assert run.status == status
    assert "The program runs, and its record is not kept" in run.error
    assert "|MPI_Allreduce" in run.output


def test_the_program_keeps_its_standard_input(mpi: Mpi) -> None:
    if mpi.name == "mpich":
        pytest.skip("the launcher of MPICH 4.0 may stay for ever where its standard input is a pipe, also by itself")
    echoed = mpi.profile(mpi.compile("endings.c"), "echo", stdin="a word\n")
    assert echoed.output.startswith("read a word\n")


# ---- what cannot be profiled ----


def test_a_static_program_is_refused(commlens: Commlens, tmp_path: Path) -> None:
    (tmp_path / "static.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", "static.c", "-o", "static"], check=True)
    refused = commlens("profile", "--", "./static")
    assert refused.returncode == 2
    assert "./static is statically linked" in refused.stderr


def test_a_missing_program_is_named(commlens: Commlens) -> None:
    refused = commlens("profile", "--", "mpirun", "-n", "2", "./missing")
    assert refused.returncode == 2
    assert "'./missing' is neither an executable file nor on the PATH" in refused.stderr


def test_another_mpi_is_named(mpi: Mpi, tmp_path: Path) -> None:
    mine, other = ("Open MPI", "MPICH 4.2") if mpi.name == "openmpi" else ("MPICH", "Open MPI 5.0.7")
    library = tmp_path / "libother.so"
    library.write_bytes(b"\0commlens-profile is built for: " + other.encode() + b"\0")
    program = str(mpi.compile("counts.c"))
    assert profile_program.family(program) == mine
    with pytest.raises(CommlensError, match=rf"{program} is linked to {mine}, but .* was built for {other}"):
        profile_program.find_library(program, mine, {"COMMLENS_PROFILE_LIBRARY": str(library)})


def test_another_mpi_behind_a_script_is_refused(mpi: Mpi, install: Callable[[str], Mpi]) -> None:
    other = install("mpich" if mpi.name == "openmpi" else "openmpi")
    Path("script").write_text('#!/bin/sh\nexec "$@"\n')
    Path("script").chmod(0o755)
    words = ["profile", "--", "./script", *mpi.command(mpi.compile("counts.c"))]
    environment = {**mpi.environment(), "COMMLENS_PROFILE_LIBRARY": str(other.library)}
    refused = subprocess.run(
        [sys.executable, "-m", "commlens", *words], capture_output=True, text=True, env=environment
    )
    assert refused.returncode == 2
    built, runs = ("MPICH", "Open MPI") if mpi.name == "openmpi" else ("Open MPI", "MPICH")
    assert refused.stderr.count(f"the library was built for {built}, but the program runs {runs}") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mpirun", "-n", "4", "ls", "-l"], [3]),
        (["mpirun", "--mca", "btl", "self", "-x", "ls", "-n", "4", "ls", "ls"], [8]),
        (["mpiexec", "-n", "1", "ls", ":", "-n", "2", "cat"], [3, 7]),
        (["ls", "cat"], [0]),
    ],
)
def test_the_program_is_found_in_the_command(
    words: list[str], expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"mpirun", "mpiexec", "ls", "cat"}
    monkeypatch.setattr("shutil.which", lambda word: word if word in known else None)
    assert profile_program.programs(words) == expected
    preloaded = profile_program.preloaded(words, expected, {"LD_PRELOAD": "x.so"})
    assert preloaded.count("LD_PRELOAD=x.so") == len(expected)


# ---- show and plot ----


def test_show_and_plot_read_profiles(mpi: Mpi, commlens: Commlens) -> None:
    run = mpi.profile(mpi.compile("counts.c"))
    shown = commlens("show", "out")
    assert shown.returncode == 0, shown.stderr
    assert run.output.startswith(shown.stdout)
    assert re.findall(r"^(record|picture): +out/profile-\S+", run.output, re.MULTILINE) == ["record", "picture"]
    drawn: Callable[[str], Any] = lambda ending: commlens("plot", "out", "--out", f"picture{ending}")  # noqa: E731
    for ending in (".png", ".svg"):
        assert drawn(ending).returncode == 0
        assert Path(f"picture{ending}").stat().st_size > 1000


def test_other_records_and_profiles_get_a_picture_each(mpi: Mpi, commlens: Commlens) -> None:
    mpi.profile(mpi.compile("counts.c"))
    Path("out/other.jsonl").write_text(json.dumps(make_record()) + "\n")
    drawn = commlens("plot", "out", "--out", "picture.png")
    assert drawn.stdout == "picture.png\npicture-profiles.png\n"
    assert Path("picture.png").exists() and Path("picture-profiles.png").exists()


def test_a_line_that_is_cut_short_is_a_problem(commlens: Commlens) -> None:
    Path("cut.jsonl").write_text('{"profile": 1, "time": \n')
    assert is_profile('{"profile": 1}') and not is_profile('{"schema": 1}')
    shown = commlens("show", "cut.jsonl")
    assert shown.returncode == 1
    assert "cut.jsonl:1: not a profile" in shown.stderr
