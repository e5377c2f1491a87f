"""`commlens reroute` on the files that ranks leave: its table, its record, its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commlens.model.reroute import REROUTABLE
from conftest import Commlens
from reroute_helpers import Rerouting, both, build_library, function, rank_file


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library(tmp_path_factory.mktemp("reroute"))


@pytest.fixture
def reroute(commlens: Commlens, library: Path) -> Rerouting:
    return Rerouting(commlens, library)


def test_the_table_has_what_was_saved(reroute: Rerouting) -> None:
    ran = reroute(files=both())
    assert ran.returncode == 0, ran.stderr
    (row,) = (line.split() for line in ran.stdout.splitlines() if "MPI_Allreduce" in line)
    assert row[:10] == [
        "MPI_Allreduce", "10.0", "687", "MiB", "8.0", "610", "MiB", "0.062500", "1.000000",
        "0.125000",
    ]  # fmt: skip
    assert " ".join(row[10:]) == "fewer than 65536 bytes 1, timed 1"
    assert "By NCCL (s)" in ran.stdout
    assert "saved 937.5 ms of 4.000 s, which the run would take with MPI" in ran.stdout


def test_what_rerouting_itself_takes_is_not_saved(reroute: Rerouting) -> None:
    ran = reroute(files=both(setup_s=0.4375))
    assert "saved 500.0 ms of 3.562 s" in ran.stdout


def test_the_program_keeps_its_streams_and_its_status(reroute: Rerouting) -> None:
    ran = reroute(files=both(), script="cat; echo error >&2; exit 7")
    assert ran.returncode == 7
    assert ran.stderr == "error\n"


def test_the_record_is_shown_and_read(reroute: Rerouting, commlens: Commlens) -> None:
    import commlens as api

    ran = reroute("--functions", "allreduce", "--min-bytes", "1M", files=both())
    record = reroute.record()
    assert next(iter(record)) == "kind" and record["kind"] == "reroute"
    assert (record["chosen"], record["min_bytes"]) == (["allreduce"], 1 << 20)
    assert record["functions"][0]["fell_back"] == {"fewer than 65536 bytes": 2}
    shown = commlens("show", "results")
    assert shown.returncode == 0 and ran.stdout.startswith(shown.stdout)
    (read,) = api.read("results").reroutes
    assert (read.run, read.saved_s) == (record["run"], 0.9375)
    assert len(api.read("results")) == 0


def test_the_library_is_told_what_to_do(reroute: Rerouting) -> None:
    told = 'env | grep ^COMMLENS_REROUTE | grep -v "DIR\\|LIBRARY" | sort >told'
    reroute(script=told, COMMLENS_REROUTE_VERIFY="1")
    lines = dict(line.split("=") for line in Path("told").read_text().splitlines())
    names = lines.pop("COMMLENS_REROUTE_FUNCTIONS").split(",")
    assert names == [*REROUTABLE.functions] and "iallreduce" not in names  # it could hang
    assert lines == {
        "COMMLENS_REROUTE_TO": "ccl",
        "COMMLENS_REROUTE_MIN_BYTES": "65536",
        "COMMLENS_REROUTE_VERIFY": "",  # whatever the user has set for other jobs
        "COMMLENS_REROUTE_DRY_RUN": "",
    }
    reroute("--to", "staged", script=told)
    everything = f"COMMLENS_REROUTE_FUNCTIONS={','.join(REROUTABLE.collectives)}\n"
    assert everything in Path("told").read_text()
    options = ("--to", "staged", "--functions", "bcast,p2p", "--min-bytes", "0")
    for option, verify, dry_run in (("--verify", "1", ""), ("--dry-run", "", "1")):
        reroute(*options, option, script=told)
        assert dict(line.split("=") for line in Path("told").read_text().splitlines()) == {
            "COMMLENS_REROUTE_TO": "staged",
            "COMMLENS_REROUTE_FUNCTIONS": "bcast,p2p",
            "COMMLENS_REROUTE_MIN_BYTES": "0",
            "COMMLENS_REROUTE_VERIFY": verify,
            "COMMLENS_REROUTE_DRY_RUN": dry_run,
        }


def test_a_difference_is_named_and_fails(reroute: Rerouting) -> None:
    difference = {
        "function": "MPI_Allreduce", "call": 7, "element": 12, "expected": "1.5", "found": "1.25",
    }  # fmt: skip
    files = [rank_file(0), rank_file(1, differences=[difference])]
    ran = reroute("--verify", files=files)
    assert ran.returncode == 1
    assert re.search(r"MPI_Allreduce +1 +7 +12 +1\.5 +1\.25", ran.stdout)
    assert "wrong: --verify found 1 element whose value differs from MPI's" in ran.stdout
    assert reroute("--verify", files=files, script="exit 3").returncode == 3
    ran = reroute("--verify", files=both())
    assert ran.returncode == 0
    assert "verified: all results of 8.0 rerouted calls per rank are MPI's" in ran.stdout


def test_a_dry_run_shows_what_can_be_saved(reroute: Rerouting) -> None:
    dry = function(rerouted_s=0.0)
    ran = reroute("--dry-run", files=both(functions=[dry], library=None))
    assert "By NCCL" not in ran.stdout
    assert (
        "at most 1.000 s of 3.062 s can be saved: the time in MPI of 8.0 calls per rank that would"
        " have been rerouted" in ran.stdout
    )


NOTHING = {"rerouted_calls": 0, "rerouted_bytes": 0, "rerouted_s": 0.0, "mpi_estimate_s": 0.0}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"disabled": "there is no NCCL"}, "there is no NCCL"),
        ({}, "fewer than 65536 bytes 2"),
        ({"functions": []}, "the program called none of the functions"),
        (
            {"functions": [function(**NOTHING, fell_back={})]},
            "each signature was called once, which MPI timed",
        ),
    ],
)
def test_why_nothing_was_rerouted(
    reroute: Rerouting, changes: dict[str, object], said: str
) -> None:
    ran = reroute(files=both(**{"functions": [function(**NOTHING)], **changes}))
    assert ran.returncode == 0
    assert ran.stdout.count(f"nothing was rerouted: {said}\n") == ran.stdout.count(said) == 1


def test_mpi_that_would_have_been_faster_is_no_saving(reroute: Rerouting) -> None:
    ran = reroute(files=both(functions=[function(rerouted_s=2.0)]))
    assert "lost 1.000 s of 3.062 s: MPI would have been faster" in ran.stdout


def test_the_report_is_markdown(reroute: Rerouting) -> None:
    ran = reroute("--report", "report.md", files=both())
    assert ran.stdout.endswith("report:   report.md\n")
    text = Path("report.md").read_text()
    assert "| MPI\\_Allreduce | 10.0 |" in text and "saved 937.5 ms" in text
    assert reroute("--report", "report.md", files=both()).returncode == 0  # its own is replaced
    Path("other.md").write_text("mine")
    refused = reroute("--report", "other.md", script="touch ran")
    assert refused.returncode == 2 and not Path("ran").exists()


def test_ranks_that_are_missing_or_did_not_end_are_named(reroute: Rerouting) -> None:
    ran = reroute(files=[rank_file(1, 3, finalized=False)])
    assert "# no file from ranks 0, 2: killed" in ran.stdout
    assert "# rank 1 ended without MPI_Finalize" in ran.stdout


def test_two_jobs_of_a_script_are_two_records(reroute: Rerouting) -> None:
    files = [rank_file(0, 1, job="a"), rank_file(0, 1, job="b", pid=300, loaded_ns=9)]
    ran = reroute(files=files)
    assert ran.stdout.count("# rerouted: ./program") == 2
    assert "job 2 of 2 that the command started" in ran.stdout


def test_a_program_without_mpi_runs(reroute: Rerouting) -> None:
    ran = reroute(script="echo output; exit 5")
    assert ran.returncode == 5
    assert "nothing was recorded: ./program is not linked to MPI" in ran.stderr
    assert not list(Path("results").iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--functions", "allreduce,all"), "--functions allreduce,all: write some of allreduce,"),
        (("--min-bytes", "64Q"), "--min-bytes 64Q: write a number of bytes, as in 4096, 8K or 1G"),
        (("--to", "mpi"), "--to mpi: write ccl or staged"),
        (("--functions", "bcast,p2p"), "--functions p2p: add --to staged"),
        (("--verify", "--dry-run"), "--verify: leave it out"),
    ],
)
def test_a_bad_option_is_named(reroute: Rerouting, options: tuple[str, str], said: str) -> None:
    refused = reroute(*options, script="touch ran")
    assert refused.returncode == 2 and said in refused.stderr
    assert not Path("ran").exists()


def test_a_record_of_it_has_no_picture(reroute: Rerouting, commlens: Commlens) -> None:
    reroute(files=both())
    drawn = commlens("plot", "results", "--out", "picture.png")
    assert drawn.returncode == 2 and "nothing to draw" in drawn.stderr


def test_a_report_of_records_has_it(reroute: Rerouting, commlens: Commlens) -> None:
    reroute(files=both())
    text = commlens("report", "results", "--format", "markdown").stdout
    assert text.startswith("# Rerouted programs\n") and "## Rerouted: ./program" in text
    assert commlens("report", "results", "--out", "page.html").returncode == 0
    page = Path("page.html").read_text()
    assert '<section id="reroutes">' in page and "saved 937.5 ms of 4.000 s" in page
    assert "saved 937.5 ms of 4.000 s" in commlens("show", "page.html").stdout


def test_secrets_are_not_shown(reroute: Rerouting, commlens: Commlens) -> None:
    reroute(files=both())
    record = {**reroute.record(), "command": ["./program", "--password=hunter2"]}
    Path("secret.jsonl").write_text(json.dumps(record) + "\n")
    assert "hunter2" not in commlens("show", "secret.jsonl").stdout


def test_a_line_that_is_wrong_is_a_problem(reroute: Rerouting, commlens: Commlens) -> None:
    reroute(files=both())
    short = reroute.record()
    short["functions"][0]["calls"] = [1]
    Path("short.jsonl").write_text(json.dumps(short) + "\n")
    shown = commlens("show", "short.jsonl")
    assert shown.returncode == 1
    assert "functions: calls of MPI_Allreduce: 1 values for 2 ranks" in shown.stderr


def compile_c(source: str, *options: str) -> None:
    Path("source.c").write_text(source)
    subprocess.run(["cc", "source.c", *options], check=True)


def static_program() -> None:
    compile_c("int main(void) { return 9; }", "-static", "-o", "static")


def setuid_program() -> None:
    compile_c("int main(void) { return 9; }", "-o", "setuid")
    try:
        os.chown("setuid", 65534, -1)
    except PermissionError:
        pytest.skip("only root can give a file to another user")
    Path("setuid").chmod(0o4755)


def program_with_nccl() -> None:
    name = "libnccl.so.2"
    library = ("-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", name)
    compile_c("int ncclGetVersion(void) { return 9; }", *library)
    source = "int ncclGetVersion(void); int main(void) { return ncclGetVersion(); }"
    compile_c(source, name, f"-Wl,-rpath,{Path.cwd()}", "-o", "with-nccl")


@pytest.mark.parametrize(
    ("make", "program", "said"),
    [
        (static_program, "static", "is statically linked"),
        (setuid_program, "setuid", "is setuid or setgid"),
        (program_with_nccl, "with-nccl", "uses NCCL itself"),
    ],
)
def test_what_cannot_be_rerouted_runs_as_ever(
    commlens: Commlens, library: Path, make: Callable[[], None], program: str, said: str
) -> None:
    make()
    ran = commlens("reroute", "--", f"./{program}", COMMLENS_REROUTE_LIBRARY=str(library))
    assert ran.returncode == 9
    assert ran.stderr.startswith(f"commlens: nothing is rerouted: ./{program} {said}")
    assert ran.stderr.count("\n") == 1 and ran.stdout == ""


def test_staging_needs_no_nccl_of_its_own(commlens: Commlens, library: Path) -> None:
    program_with_nccl()
    words = ("reroute", "--to", "staged", "--", "./with-nccl")
    ran = commlens(*words, COMMLENS_REROUTE_LIBRARY=str(library))
    assert ran.returncode == 9 and "uses NCCL" not in ran.stderr


def test_one_within_the_other_is_refused(commlens: Commlens, library: Path) -> None:
    named = {"COMMLENS_REROUTE_LIBRARY": str(library)}
    refused = commlens("reroute", "--", "env", COMMLENS_PROFILE_OUT="folder", **named)
    assert refused.returncode == 2
    assert refused.stderr == (
        "commlens: `commlens reroute` cannot run within `commlens profile`: COMMLENS_PROFILE_OUT is"
        " set; run one without the other\n"
    )
    refused = commlens("profile", "--", "env", COMMLENS_REROUTE_DIR="folder")
    assert refused.returncode == 2
    assert "`commlens profile` cannot run within `commlens reroute`" in refused.stderr
