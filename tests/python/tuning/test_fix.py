"""The files that a search writes, and `--settings`, which reads one of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs.spec import Options
from commlens.tuning.fix import read, write
from commlens.tuning.space import Change
from conftest import Commlens
from run_helpers import command_of_record, kept
from tuning_helpers import CASES

CHANGE = Change(
    {"OMPI_MCA_pml": "ucx", "UCX_TLS": "self,sm", "ODD": "it's $HOME; a b"},
    ["--bind-to", "core"],
    Options({"block": "8", "tune": None}),
)


def test_the_forms_in_which_settings_are_used(tmp_path: Path) -> None:
    written = {path.name: path.read_text() for path in write(tmp_path, CHANGE, "for a test")}
    assert all(text.startswith("# for a test\n") for text in written.values())
    assert written["openmpi-mca-params.conf"].splitlines()[1:] == ["pml = ucx"]
    assert written["ucx.conf"].splitlines()[1:] == ["UCX_TLS=self,sm"]
    mpirun, srun, options = written["launch.txt"].splitlines()[1:]
    assert mpirun.startswith("mpirun --bind-to core --mca pml ucx -x UCX_TLS=self,sm -x 'ODD=")
    assert srun.startswith("env OMPI_MCA_pml=ucx UCX_TLS=self,sm") and srun.endswith(" srun")
    assert options == "# options of the benchmark: --block 8 --tune"


def test_a_shell_and_we_read_the_same(tmp_path: Path) -> None:
    write(tmp_path, CHANGE, "for a test")
    script = '. ./best.env; printf \'%s\\n\' "$OMPI_MCA_pml" "$UCX_TLS" "$ODD"'
    shell = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    given = read(tmp_path / "best.env")
    assert shell.stdout.splitlines() == list(given.environment.values())
    assert dict(given.environment) == dict(CHANGE.environment)
    assert given.launcher_arguments == CHANGE.launcher_arguments
    assert given.options.words() == ["--block", "8", "--tune"]


def test_a_title_is_a_single_line(tmp_path: Path) -> None:
    write(tmp_path, Change({"A": "1"}), "it said\nexport B=2")
    assert dict(read(tmp_path / "best.env").environment) == {"A": "1"}


def test_no_file_without_a_line(tmp_path: Path) -> None:
    written = write(tmp_path, Change({"NCCL_PROTO": "LL"}), "for a test")
    assert [path.name for path in written] == ["best.env", "launch.txt"]


def test_a_run_uses_the_file(commlens: Commlens) -> None:
    Path("own.env").write_text(
        "# by hand\n\nexport UCX_TLS='self,sm'\nUCX_RNDV_THRESH=1\n"
        "export COMMLENS_OPTIONS='--window 8'\nexport COMMLENS_LAUNCHER_ARGS='--bind-to core'\n",
        encoding="utf-8",
    )
    run = commlens("run", "bandwidth", "--settings", "own.env", "--env", "UCX_RNDV_THRESH=2")
    assert run.returncode == 0, run.stderr
    environment = kept()[0].start.environment
    assert (environment["UCX_TLS"], environment["UCX_RNDV_THRESH"]) == ("self,sm", "2")
    words = command_of_record()
    assert words[words.index("--window") + 1] == "8"


@pytest.mark.parametrize(("text", "message"), CASES["mistakes_of_exports"])
def test_a_file_that_cannot_be_read(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.env").write_text(text, encoding="utf-8")
    with pytest.raises(CommlensError) as error:
        read(Path("bad.env"))
    assert message in str(error.value)


def test_a_file_that_is_missing(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--settings", "none.env")
    assert run.returncode == 2
    assert "--settings none.env cannot be read" in run.stderr
