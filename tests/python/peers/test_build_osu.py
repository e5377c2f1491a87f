"""tools/peers/build-osu.sh, with a program in the place of OSU's that calls MPI_Barrier."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from peer_helpers import PEERS, program

CALLS_BARRIER = """
#include <mpi.h>
#include <stdio.h>
int main(void) {
  puts(PACKAGE_VERSION);
  fflush(stdout);
  return MPI_Barrier(MPI_COMM_WORLD); /* before MPI_Init, which MPI's own refuses */
}
"""
UTIL = ("osu_util", "osu_util_mpi", "osu_util_graph", "osu_util_papi", "osu_util_validation")


@pytest.mark.skipif(shutil.which("mpicc") is None, reason="there is no mpicc")
@pytest.mark.parametrize(
    ("barriers", "version"), [("", "7.4"), ("yes", "7.4"), ("no", "7.4_without_barriers")]
)
def test_barriers_are_left_out_where_asked(barriers: str, version: str, tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "osu"
    (source / "c/util").mkdir(parents=True)
    (source / "c/util/osu_util.h").touch()
    for name in UTIL:
        (source / f"c/util/{name}.c").touch()
    (source / "c/mpi/collective/blocking").mkdir(parents=True)
    (source / "c/mpi/collective/blocking/osu_allreduce.c").write_text(CALLS_BARRIER)
    asked = tmp_path / "asked"
    only_one = f'case "$*" in */osu_allreduce.c*) exec mpicc "$@" ;; *) echo "$*" >>{asked} ;; esac'
    environment = {
        **os.environ,
        "CC": str(program(tmp_path / "cc", only_one)),
        "BARRIERS": barriers,
    }
    words = ["sh", PEERS / "build-osu.sh", source, folder]
    subprocess.run(words, env=environment, check=True, timeout=60)
    run = subprocess.run([folder / "osu_allreduce"], capture_output=True, text=True, timeout=60)
    assert run.stdout == f"{version}\n"
    assert (run.returncode == 0) == (barriers == "no"), run.stderr
    others = asked.read_text().splitlines()
    assert len(others) > 30
    assert all(("barrier.c" in words) == (barriers == "no") for words in others)
