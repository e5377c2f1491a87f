"""`commlens doctor`: lines as it goes, findings, exit status, JSON, and runs that end badly."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commlens.compare.verdicts import Proof
from commlens.findings import Finding, Setting, behaviour
from commlens.findings.behaviour import Plan, observe
from commlens.findings.entry import Entry
from commlens.findings.examination import Examination
from commlens.findings.finding import Evidence
from commlens.findings.nodes import assemble, pieces
from commlens.findings.rule import RuleOutcome, rule_of, rules_on_machines
from commlens.findings.view import View
from commlens.jobs.native import find_native
from commlens.jobs.spec import JobSpec
from commlens.machine.machine import Machine
from commlens.tuning import prove
from commlens.tuning.prove import prove_all
from conftest import Commlens
from machine_cases import SOUND, changed
from run_helpers import cases, kept, probe_lines, ranks_alive, started, wait_for

GPUS = {"FAKE_BACKEND": "cuda", "FAKE_GPUS": "4"}
LATENCY = ("latency", "--bytes", "1", "--memory", "host", "--transport", "mpi")


def document(run: Any) -> Any:
    return json.loads(run.stdout)


def codes(report: Any) -> set[str]:
    return {finding["code"] for finding in report["findings"]}


@pytest.fixture(autouse=True)
def single_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    """And two launches of each side of a proof."""
    monkeypatch.setattr(behaviour, "BENCHMARKS", ("latency",))
    monkeypatch.setattr(prove, "_LAUNCHES", 2)


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine of this test has: it is sound."""
    monkeypatch.setattr("commlens.machine.machine.look", lambda *_: SOUND)


@pytest.fixture
def with_variables(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A sound machine, but for these."""

    def show(**variables: str) -> None:
        here = changed(SOUND, "environment", variables)
        monkeypatch.setattr("commlens.machine.machine.look", lambda *_: here)

    return show


def test_a_line_for_each_check_and_no_file(commlens: Commlens, nothing_here: None) -> None:
    run = commlens("doctor")
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    verdicts = ("ok", "advice", "problem")
    count = len(rules_on_machines()) + 1
    (others,) = [line for line in lines if line.startswith("not applicable: ")]
    looked_at = sum(line.strip().startswith(verdicts) for line in lines)
    assert looked_at + int(others.split()[2]) == count
    assert lines[0].startswith("node01: Open MPI v5.0.7 (/opt/ompi/lib/libmpi.so.40), UCX 1.18.0")
    assert lines[1] == "MPI library" and lines[-1].startswith(f"{count} checks: ")
    assert list(Path.cwd().iterdir()) == []


def test_a_problem_has_its_evidence_and_its_fix(
    commlens: Commlens, with_variables: Callable[..., None]
) -> None:
    with_variables(UCX_TLS="sm")
    run = commlens("doctor", "--no-runs")
    assert run.returncode == 1
    assert "problem: UCX_TLS=sm leaves out cuda_copy" in run.stdout
    assert "\n    environment: UCX_TLS=sm\n" in run.stdout
    assert "fix: `unset UCX_TLS`, or set UCX_TLS=sm,cuda" in run.stdout
    assert "[ucx-tls-without-gpu]" in run.stdout
    assert "no job was started (--no-runs)" in run.stdout


def test_the_ten_worst_are_printed(
    commlens: Commlens, with_variables: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_variables(UCX_TLS="sm", UCX_MEMTYPE_CACHE="y", NCCL_DEBUG="INFO")
    monkeypatch.setattr("commlens.render.doctor.MOST", 1)
    run = commlens("doctor", "--no-runs")
    assert run.stdout.count("\n  fix: ") == 1
    assert "\n2 more: commlens doctor --findings all\n" in run.stdout
    assert commlens("doctor", "--no-runs", "--findings", "all").stdout.count("\n  fix: ") == 3


def test_advice_is_no_problem(commlens: Commlens, with_variables: Callable[..., None]) -> None:
    with_variables(NCCL_DEBUG="INFO")
    run = commlens("doctor", "--no-runs")
    assert run.returncode == 0 and "advice: NCCL_DEBUG=INFO" in run.stdout


def test_nothing_of_a_machine_steers_the_terminal(
    commlens: Commlens, with_variables: Callable[..., None]
) -> None:
    with_variables(UCX_TLS="sm\x1b[2J\nok")
    run = commlens("doctor", "--no-runs")
    assert "\x1b" not in run.stdout and "\nok" not in run.stdout


def test_json(commlens: Commlens, with_variables: Callable[..., None]) -> None:
    with_variables(UCX_MEMTYPE_CACHE="y")
    run = commlens("doctor", "--no-runs", "--format", "json", "--out", "kept")
    report = document(run)
    assert run.returncode == 1 and codes(report) == {"ucx-memtype-cache-on"}
    assert report["findings"][0]["setting"]["variables"] == {"UCX_MEMTYPE_CACHE": "n"}
    assert report["findings"][0]["evidence"] == [
        {"source": "environment", "line": "UCX_MEMTYPE_CACHE=y"}
    ]
    assert report["machines"][0]["host"] == "node01"
    assert json.loads(Path("kept/doctor.json").read_text()) == report


def test_records_are_kept_where_a_folder_is_named(commlens: Commlens, nothing_here: None) -> None:
    run = commlens("doctor", "--out", "kept")
    assert run.returncode == 0, run.stdout
    assert {record.benchmark for record in kept("kept/doctor.jsonl")} == {"latency"}
    assert sorted(path.name for path in Path("kept").iterdir()) == ["doctor.json", "doctor.jsonl"]


@pytest.mark.parametrize(
    ("variable", "value", "code", "evidence"),
    [
        ("FAKE_LAUNCHER", "singletons", "ranks-are-alone", ""),
        ("FAKE_MODE", "die", "short-run-fails", "died"),
        ("FAKE_MODE", "wait", "short-run-slow", ""),
    ],
)
def test_a_short_run_that_goes_wrong(
    commlens: Commlens,
    nothing_here: None,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    code: str,
    evidence: str,
) -> None:
    if value == "wait":
        monkeypatch.setattr(behaviour, "_LIMIT_S", 0.7)
    run = commlens("doctor", "--format", "json", **{variable: value})
    report = document(run)
    assert run.returncode == 1 and run.stderr == "" and codes(report) == {code}
    assert evidence in report["findings"][0]["evidence"][0]["line"]


def test_a_crash_with_gpu_memory(commlens: Commlens, nothing_here: None, tmp_path: Path) -> None:
    script = tmp_path / "probe.txt"
    script.write_text("\n".join([*probe_lines("yes0 begin0 yes1 begin1"), "die SIGSEGV"]) + "\n")
    run = commlens("doctor", "--format", "json", FAKE_PROBE=str(script), **GPUS)
    report = document(run)
    assert codes(report) >= {"mpi-fails-on-gpu-memory"}
    by_code = {finding["code"]: finding for finding in report["findings"]}
    finding = by_code["mpi-fails-on-gpu-memory"]
    assert finding["setting"]["variables"] == {"UCX_MEMTYPE_CACHE": "n"}
    assert finding["fix"] == "Set UCX_MEMTYPE_CACHE=n."


def test_without_the_native_program(
    commlens: Commlens, nothing_here: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = commlens("doctor", COMMLENS_BENCH="/none/commlens-bench")
    assert run.returncode == 0 and "is not a program" in run.stdout


@pytest.mark.parametrize(("words", "message"), cases("mistakes of doctor"))
def test_mistakes(commlens: Commlens, words: list[str], message: str) -> None:
    run = commlens("doctor", *words)
    assert run.returncode == 2 and run.stderr == f"commlens: {message}\n"


def test_nodes_are_asked_through_the_launcher(commlens: Commlens) -> None:
    """The fake starts both on this host: so one is missing."""
    run = commlens("doctor", "--nodes", 2, "--no-runs", "--format", "json")
    report = document(run)
    assert len(report["machines"]) == 2 and "nodes-missing" in codes(report)
    assert run.returncode == 1


@pytest.mark.parametrize("nodes", [(), ("--nodes", 1)])
def test_settings_for_the_launcher_count_as_set(commlens: Commlens, nodes: tuple[Any, ...]) -> None:
    words = "-x UCX_TLS=tcp --mca btl self,tcp"
    run = commlens(
        "doctor", *nodes, "--no-runs", "--format", "json", "--launcher-args", words, UCX_TLS="all"
    )
    (machine,) = document(run)["machines"]
    assert machine["environment"]["UCX_TLS"] == "tcp"
    assert machine["environment"]["OMPI_MCA_btl"] == "self,tcp"


def test_no_node_answers(commlens: Commlens) -> None:
    run = commlens("doctor", "--nodes", 2, "--launcher", "srun", PATH="/usr/bin:/bin")
    assert run.returncode in (1, 2) and len(run.stderr.splitlines()) == 1


def test_machines_arrive_in_pieces_that_are_mixed_and_lost() -> None:
    names = {"UCX_TLS": "x" * 40, **{f"UCX_{number}": str(number**7) for number in range(300)}}
    first = changed(SOUND, "environment", names)
    second = changed(first, "host", "node02")
    parts, others = list(pieces(first, "node01:7")), list(pieces(second, "node02:8"))
    assert len(parts) > 1 and max(map(len, parts)) < 1000
    mixed = [line for pair in zip(parts, others) for line in pair]
    assert assemble("\n".join(["srun: hello", *mixed])) == [first, second]
    assert assemble("\n".join([*parts, *others[1:]])) == [first]


def proof_of(setting: Setting, tmp_path: Path, spec: JobSpec | None = None) -> Proof:
    finding = Finding("x", "warning", "t", "S.", Evidence("w"), None, "C.", setting)
    entry = Entry(code="x", severity="warning", subject="t", when="s", fix="C.")
    rule = rule_of(entry, "Limits", lambda _: iter(()))
    examination = Examination(View(machines=[Machine("node")]), [RuleOutcome(rule, [finding])])
    plan = Plan(spec=spec or JobSpec(), out=tmp_path / "out")
    proofs: dict[int, Proof] = {}
    assert prove_all(examination, find_native(), plan, proofs, lambda _: None) == 0
    (proof,) = proofs.values()
    return proof


def test_a_crash_is_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "die early")
    proof = proof_of(Setting({"FAKE_MODE": None}, shown_by=LATENCY), tmp_path)
    assert proof.verdict == "fixed"
    assert proof.before is None and proof.after is not None and "died" in proof.why_no_before
    assert str(proof).startswith("latency ") and str(proof).endswith("us: fixed.")
    # The side that fails is started once, the other one twice.
    assert len({record.start.start for record in kept(tmp_path / "out/doctor-fixes.jsonl")}) == 2


def test_a_fix_that_changes_nothing(tmp_path: Path) -> None:
    proof = proof_of(Setting({"UCX_TLS": "all"}, shown_by=LATENCY), tmp_path)
    assert proof.verdict in ("same", "inconclusive")
    assert proof.gain is not None and proof.plain["gain"] == proof.gain
    assert " -> " in str(proof) and "2 launches each" in str(proof)


def test_a_fix_that_does_not_help(tmp_path: Path) -> None:
    proof = proof_of(Setting({"FAKE_MODE": "die early"}, shown_by=LATENCY), tmp_path)
    assert proof.verdict == "not fixed" and proof.after is None and "died" in proof.why_no_after


def test_the_command_proves(commlens: Commlens, with_variables: Callable[..., None]) -> None:
    with_variables(OMP_NUM_THREADS="64", NCCL_DEBUG="INFO")
    run = commlens("doctor", "--no-runs", "--prove")
    assert run.returncode == 1, run.stderr
    assert "trying OMP_NUM_THREADS=32 (more-threads-than-cores)" in run.stderr
    assert "tried: allreduce" in run.stdout and run.stdout.count("tried:") == 1


def test_the_launcher_arguments_of_a_fix_replace_the_users(tmp_path: Path) -> None:
    setting = Setting({}, ("--bind-to", "core"), LATENCY)
    spec = JobSpec(launcher_arguments=("--bind-to", "none", "--mca", "x", "1"))
    proof_of(setting, tmp_path, spec)
    records = kept(tmp_path / "out/doctor-fixes.jsonl")
    launches = {record.start.start: record.start for record in records}
    settings = sorted(start.environment.get("OMPI_MCA_x", "") for start in launches.values())
    assert settings == [""] * 2 + ["1"] * 2


def test_a_signal_ends_it_and_nothing_is_left(tmp_path: Path) -> None:
    command = started("doctor", FAKE_MODE="wait", TMPDIR=str(tmp_path))
    # Its record has begun: before, the same program is only looked at.
    wait_for(lambda: any(path.stat().st_size for path in tmp_path.glob("commlens-doctor-*/*")))
    command.send_signal(signal.SIGINT)
    output, said = command.communicate(timeout=60)
    assert command.returncode == 128 + signal.SIGINT
    assert said == "commlens: interrupted by SIGINT\n" and "checks:" in output
    assert ranks_alive() == [] and list(tmp_path.glob("commlens-doctor-*")) == []


def test_short_runs_without_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    native = find_native()
    monkeypatch.setenv("PATH", "/none")
    result = observe(native, Plan())
    assert "there is no" in result.why_none and result.records == ()
