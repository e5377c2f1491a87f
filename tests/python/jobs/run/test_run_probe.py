"""The probe before a run: a crash in it is explained and survived, and it is made when needed."""

from __future__ import annotations

from pathlib import Path

from conftest import Commlens
from run_helpers import command_of_record, probe_lines

GPUS = {"FAKE_BACKEND": "cuda", "FAKE_GPUS": "4"}


def probe_script(tmp_path: Path, steps: str, *end: str) -> dict[str, str]:
    script = tmp_path / "probe.txt"
    script.write_text("\n".join([*probe_lines(f"yes0 yes1 {steps}"), *end, ""]))
    return {**GPUS, "FAKE_PROBE": str(script)}


def test_a_crash_in_the_probe_is_explained_and_survived(commlens: Commlens, tmp_path: Path) -> None:
    run = commlens("run", "latency", **probe_script(tmp_path, "begin0", "die SIGSEGV"))
    assert run.returncode == 0, run.stderr
    sentence = run.stderr.splitlines()[0].removeprefix("commlens: ")
    assert sentence.startswith(
        "MPI_Send of 1 B from device memory crashed (SIGSEGV) inside Open MPI 5.0.7 with UCX 1.22"
    )
    assert sentence.endswith("Set UCX_MEMTYPE_CACHE=n.")
    command = command_of_record()
    assert command[command.index("--gpu-aware-mpi-off") + 1] == sentence


def test_the_variables_of_the_job_are_those_of_its_probe(
    commlens: Commlens, tmp_path: Path
) -> None:
    environment = probe_script(tmp_path, "begin0", "die SIGSEGV")
    run = commlens("run", "latency", "--env", "UCX_MEMTYPE_CACHE=n", **environment)
    sentence = run.stderr.splitlines()[0]
    assert "crashed (SIGSEGV)" in sentence and "UCX_MEMTYPE_CACHE" not in sentence


def test_a_suite_makes_a_probe_for_each_set_of_conditions(
    commlens: Commlens, tmp_path: Path
) -> None:
    Path("mine.yaml").write_text(
        "runs:\n"
        "- {benchmark: latency}\n"
        "- {benchmark: latency, environment: {UCX_MEMTYPE_CACHE: n}}\n"
        "- {benchmark: bandwidth, environment: {UCX_MEMTYPE_CACHE: n}}\n"
        "- {benchmark: bandwidth}\n"
    )
    run = commlens("run", "mine.yaml", **probe_script(tmp_path, "begin0", "die SIGSEGV"))
    said = [line for line in run.stderr.splitlines() if "crashed (SIGSEGV)" in line]
    assert ["UCX_MEMTYPE_CACHE" in line for line in said] == [True, False]


def test_a_probe_that_passes_says_nothing(commlens: Commlens, tmp_path: Path) -> None:
    run = commlens("run", "latency", **probe_script(tmp_path, "done0 done1"))
    assert run.returncode == 0
    assert "--gpu-aware-mpi-off" not in command_of_record()
    assert len(run.stderr.splitlines()) == 1


def test_no_probe_where_it_is_not_wanted(commlens: Commlens) -> None:
    environment = {**GPUS, "FAKE_PROBE": "/none"}
    for words in (["--no-probe"], ["--memory", "host"], ["--transport", "staged"]):
        assert commlens("run", "latency", *words, **environment).returncode == 0
