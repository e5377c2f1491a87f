"""Job scripts: what they say to the scheduler, and that a shell can run them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from commlens.jobs.sites import site
from commlens.jobs.sites.script import Request, render
from conftest import Commlens, command_line
from run_helpers import cases, executable, wait_for
from site_helpers import site_file

WORDS = ["run", "gather-scatter", "bps5", "bp5"]
DIRECTIVES = {"slurm": "#SBATCH", "lsf": "#BSUB", "pbs": "#PBS", "flux": "#FLUX:"}


def rendered(name: str, *words: str) -> str:
    loaded = site.load(name)
    account = "" if loaded.account == "none" else "CSC262"
    return render(loaded, Request(1, 30, words or WORDS, account), "commlens")


@pytest.mark.parametrize("name", site.names())
def test_a_script_is_sound(name: str) -> None:
    Path("job.sh").write_text(rendered(name, "run", "latency", "--env", "A=it's; &"))
    subprocess.run(["bash", "-n", "job.sh"], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "job.sh"], check=True)


@pytest.mark.parametrize("name", site.names())
def test_directives_come_before_commands(name: str) -> None:
    lines = rendered(name).splitlines()
    assert lines[0] == "#!/bin/bash"
    prefix = DIRECTIVES.get(site.load(name).scheduler, "#none")
    places = [index for index, line in enumerate(lines) if line.startswith(prefix)]
    first = next(index for index, line in enumerate(lines) if index and not line.startswith("#"))
    assert places == list(range(1, len(places) + 1)) and len(places) < first + 1


@pytest.mark.parametrize(("name", "lines", "parts"), cases("scripts of sites"))
def test_a_script_requests_the_needs_of_a_job(
    name: str, lines: list[str], parts: list[str]
) -> None:
    script = rendered(name)
    assert set(lines) <= set(script.splitlines())
    assert all(part in script for part in parts)


def test_modules_of_a_transport_are_loaded_where_it_is_asked_for() -> None:
    assert "rccl-net-plugin" not in rendered("frontier")
    assert "rccl-net-plugin" in rendered("frontier", "run", "allreduce", "--transport", "mpi,ccl")


def test_options_of_the_user_are_not_repeated() -> None:
    words = ["run", "bp5", "--ranks", "4", "--launcher", "srun", "--out", "here"]
    script = rendered("frontier", *words)
    assert "--ranks-per-node" not in script and "--launcher-args" not in script
    assert "--out records" not in script


def test_the_documentation_has_the_script_of_each_site() -> None:
    page = (Path(__file__).parents[4] / "docs" / "sites.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", page, re.DOTALL)
    for name in site.names():
        assert rendered(name) in blocks, f"tools/site_scripts.py writes {name}"


def running(words: list[str], scheduler: str = "none") -> subprocess.Popen[bytes]:
    """A script of this machine, with the fakes, in a process group of its own."""
    program = " ".join(command_line())
    script = render(site.load(str(site_file(scheduler))), Request(1, 1, words), program)
    Path("job.sh").write_text(script)
    return subprocess.Popen(["bash", "job.sh"], start_new_session=True)


def launched(words: list[str], scheduler: str = "none") -> subprocess.Popen[bytes]:
    """The same, when the program has been launched."""
    job = running(words, scheduler)
    wait_for(lambda: any(Path("records").glob("*")) if Path("records").exists() else False)
    time.sleep(1)
    return job


@pytest.mark.parametrize(("mode", "status"), [("ok", 0), ("die", 1)])
def test_the_exit_status_stands_in_a_file(
    mode: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MODE", mode)
    assert running(["run", "allreduce"]).wait(60) == status
    assert Path("status").read_text() == f"{status}\n"
    assert not Path("status.new").exists()


def test_a_signal_reaches_commlens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LAUNCHER", "sleeping")
    job = launched(["run", "allreduce"])
    job.send_signal(signal.SIGTERM)
    assert job.wait(60) == 128 + signal.SIGTERM
    assert Path("status").read_text() == "143\n"


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGHUP])
def test_flux_ends_all_processes_of_a_script_alike(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_LAUNCHER", "sleeping")
    job = launched(["run", "allreduce"], "flux")
    os.killpg(job.pid, number)
    assert job.wait(60) == 128 + signal.SIGTERM, "commlens has kept its records"
    assert Path("status").read_text() == "143\n"


def test_a_login_shell_of_pbs_has_the_path_of_the_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    executable(tmp_path / "bin", "commlens", 'echo "$@" >words')
    script = render(site.load(str(site_file("pbs"))), Request(1, 1, ["run", "latency"]), "commlens")
    Path("job.sh").write_text(script)
    environment = {
        "PATH": "/usr/bin:/bin",
        "PBS_O_PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "PBS_O_WORKDIR": str(tmp_path),
    }
    subprocess.run(["bash", "job.sh"], env=environment, check=True)
    assert (tmp_path / "words").read_text().startswith("run latency --out records")
    assert (tmp_path / "status").read_text() == "0\n"


def test_a_printed_script_is_the_same(commlens: Commlens) -> None:
    run = commlens("job", "crusher", "--time", "00:30:00", "--account", "CSC262", "--", *WORDS)
    assert run.returncode == 0
    expected = rendered("crusher").replace("commlens run", "COMMAND run", 1)
    printed = re.sub(r"^\S+( -m commlens)? run ", "COMMAND run ", run.stdout, flags=re.MULTILINE)
    assert printed == expected
    assert not Path("results").exists()
