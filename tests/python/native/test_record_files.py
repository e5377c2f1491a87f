"""Files of records, with the real programs: those that cannot be written, full disks, lines that an
earlier crash has cut, and standard outputs that nobody reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_helpers import (
    AT_ONCE,
    BENCH,
    BRIEFLY,
    FAILED,
    OK,
    USAGE,
    native,
    needs_native,
    records_in,
    records_of,
    start,
    through_command,
    under_commlens,
    under_mpirun,
)

pytestmark = needs_native


@pytest.mark.parametrize(
    ("through", "kind"),
    [
        ("mpirun", "in a missing folder"),
        ("mpirun", "a folder"),
        ("mpirun", "under a file"),
        ("mpirun", "a name that is too long"),
        ("commlens", "in a missing folder"),
        ("commlens", "a folder"),
    ],
)
def test_a_record_file_that_cannot_be_written(through: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = {
        "in a missing folder": tmp_path / "missing" / "records.jsonl",
        "a folder": tmp_path,
        "under a file": tmp_path / "file" / "records.jsonl",
        "a name that is too long": tmp_path / ("x" * 300),
    }[kind]
    words = ("latency", "--bytes", 8, *BRIEFLY, "--record", path)
    job = native(tmp_path, 2, *words) if through == "mpirun" else through_command(tmp_path, *words)
    assert job.status == USAGE
    assert f"--record {path}" in job.message
    reason = {"in a missing folder": "No such file or directory", "a folder": "it is a folder"}
    assert reason.get(kind, "") in job.message.replace("Is a directory", "it is a folder")
    assert job.output == ""


@pytest.mark.parametrize("through", ["mpirun", "commlens"])
def test_a_full_disk(through: str, tmp_path: Path) -> None:
    words = ("latency", "--bytes", "8:64", *BRIEFLY, "--record", "/dev/full")
    job = native(tmp_path, 2, *words) if through == "mpirun" else through_command(tmp_path, *words)
    assert job.status == FAILED
    assert "/dev/full" in job.message and "No space left on device" in job.message


def test_a_disk_that_fills_within_a_record(records: Path) -> None:
    """The limit on the size of files stands for the disk. Open MPI's own files need room too, so
    it is far up."""
    limit, room = 256 << 20, 12_000  # for the start and some records
    with records.open("wb") as file:
        file.seek(limit - room - 1)
        file.write(b"\n")
    words = ("allreduce --transport mpi --bytes 8:1K", *BRIEFLY, "--record", records)
    job = start(under_mpirun(2, *words), records.parent, AT_ONCE, file_limit=limit).wait()
    assert job.status == FAILED
    assert str(records) in job.message and "File too large" in job.message
    kept = records_in(records, after=limit - room)
    assert 1 <= len(kept) < 8
    assert [record.size for record in kept] == [8 << index for index in range(len(kept))]
    assert room / 2 < records.stat().st_size - (limit - room) < room, (
        "there was room for a part of the next"
    )

    again = native(records.parent, 2, *words)
    assert again.status == OK, "once there is room"
    assert len(records_in(records, after=limit - room)) == len(kept) + 8


def test_half_a_line_of_an_earlier_crash_stays_apart(records: Path) -> None:
    records.write_bytes(b'{"schema": 2, "ti')
    words = ("allreduce --transport mpi --bytes 8", *BRIEFLY, "--record", records)
    assert native(records.parent, 2, *words).status == OK
    broken, whole = records.read_text().split("\n", 1)
    assert broken == '{"schema": 2, "ti'
    assert [record.status for record in records_of(whole)] == ["ok"]


# ---- the standard output ----


@pytest.mark.parametrize(
    ("through", "output_format"),
    [("mpirun", "table"), ("mpirun", "json"), ("commlens", "table"), ("commlens", "json")],
)
def test_a_reader_that_leaves(through: str, output_format: str, records: Path) -> None:
    """As with `| head -1`. The launcher may end the job for it, or let it run to its end unread."""
    options = f"--transport mpi --bytes 1:256K --no-ceilings --format {output_format}"
    words = ("latency", options, "--record", records)
    command = under_mpirun(2, *words) if through == "mpirun" else under_commlens(*words)
    line = "set -o pipefail; " + " ".join(f"'{word}'" for word in command) + " | head -1"
    job = start(["bash", "-c", line], records.parent, {"COMMLENS_BENCH": str(BENCH)}).wait()
    assert len(job.output.splitlines()) == 1
    if records.exists():  # the job may have ended before its first result
        assert {record.status for record in records_in(records)} in (set(), {"ok"})
    if through == "commlens":
        assert "Traceback" not in job.error


def test_a_standard_output_that_is_full(records: Path) -> None:
    """Started by itself, the program sees it; the records are kept."""
    options = f"--transport mpi --bytes 8:64 --repeat 2 --record '{records}'"
    job = start(["bash", "-c", f"'{BENCH}' allreduce {options} > /dev/full"], records.parent)
    ended = job.wait()
    assert ended.status == FAILED
    assert "standard output" in ended.message
    assert len(records_in(records)) == 4
