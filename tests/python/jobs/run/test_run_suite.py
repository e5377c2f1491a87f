"""`commlens run SUITE`: every entry is run as it says; the results are drawn and summed up."""

from __future__ import annotations

from pathlib import Path

from conftest import Commlens
from run_helpers import kept


def test_a_suite_goes_on_after_a_failure_and_draws(commlens: Commlens) -> None:
    Path("mine.yaml").write_text(
        "name: mine\nruns:\n"
        "- {benchmark: latency, options: {memory: host}}\n"
        "- {benchmark: latency, options: {repeat: 0}}\n"
        "- {benchmark: allreduce, ranks: 1}\n"
    )
    run = commlens("run", "mine.yaml", "--memory", "pinned")
    assert run.returncode == 2
    assert run.stderr == "commlens: --repeat 0: must be at least 1\n"
    (folder,) = Path("results").iterdir()
    assert folder.name.startswith("mine-20")
    assert sorted(path.name for path in folder.iterdir()) == [
        "01-latency.jsonl", "03-allreduce.jsonl", "allreduce.png", "latency.png", "overview.png",
    ]  # fmt: skip
    assert f"records:  {folder}\n" in run.stdout
    assert f"picture:  {folder}/overview.png" in run.stdout
    assert run.stdout.endswith(f"tables:   commlens show {folder}\n")
    assert "[1/3] latency --memory pinned" in run.stdout
    assert "[3/3] allreduce --memory pinned --ranks 1" in run.stdout
    rows = [
        line.split() for line in run.stdout.splitlines() if line.startswith(("  latency", "  allr"))
    ]
    assert [(row[0], row[-1]) for row in rows] == [
        ("latency", "ok"), ("latency", "usage"), ("allreduce", "ok"),
    ]  # fmt: skip
    assert [record.ranks for record in kept(folder / "03-allreduce.jsonl")] == [1, 1, 1]


def test_an_entry_says_how_it_is_launched(commlens: Commlens) -> None:
    Path("mine.yaml").write_text(
        "runs:\n"
        "- benchmark: latency\n"
        "  environment: {UCX_TLS: all, UCX_NET_DEVICES: lo}\n"
        "  launcher_args: --mca pml 'ob1'\n"
        "  launches: 2\n"
        "- benchmark: latency\n"
    )
    run = commlens("run", "mine.yaml", "--env", "UCX_NET_DEVICES=eth0", "--wide")
    assert run.returncode == 0, run.stderr
    (folder,) = Path("results").iterdir()
    files = ["01-latency-launch1.jsonl", "01-latency-launch2.jsonl", "02-latency.jsonl"]
    assert sorted(path.name for path in folder.glob("*.jsonl")) == files
    environments = [dict(kept(folder / file)[0].start.environment) for file in files]
    here = {"UCX_NET_DEVICES": "eth0"}
    assert environments == [{**here, "UCX_TLS": "all", "OMPI_MCA_pml": "ob1"}] * 2 + [here]
    settings = "--env UCX_TLS=all --env UCX_NET_DEVICES=eth0 --launcher-args '--mca pml ob1'"
    assert f"[1/2] latency {settings}, launch 1 of 2\n" in run.stdout
    assert f"[1/2] latency {settings}, launch 2 of 2\n" in run.stdout
    tables = commlens("show", folder, "--wide").stdout.strip()
    assert tables and tables in run.stdout


def test_entries_are_interleaved(commlens: Commlens) -> None:
    """A B C A B A: whatever drifts hits all alike."""
    Path("mine.yaml").write_text(
        "runs:\n"
        "- {benchmark: latency, launches: 3}\n"
        "- {benchmark: allreduce, launches: 2}\n"
        "- {benchmark: fft}\n"
    )
    run = commlens("run", "mine.yaml")
    assert run.returncode == 0, run.stderr
    said = [line[:5] for line in run.stdout.splitlines() if line.startswith("[")]
    assert said == ["[1/3]", "[2/3]", "[3/3]", "[1/3]", "[2/3]", "[1/3]"]
    (folder,) = Path("results").iterdir()
    assert len(list(folder.glob("*.jsonl"))) == 6


def test_records_may_go_to_a_file_of_the_users(commlens: Commlens) -> None:
    Path("mine.yaml").write_text("runs: [{benchmark: latency}, {benchmark: allreduce}]\n")
    run = commlens("run", "mine.yaml", "--record", "all.jsonl")
    assert run.returncode == 0, run.stderr
    assert len(kept("all.jsonl")) == 6
    assert "records:  all.jsonl\n" in run.stdout
    (folder,) = Path("results").iterdir()
    assert sorted(path.suffix for path in folder.iterdir()) == [".png"] * 3
    assert not list(Path.cwd().glob("all-job*"))


def test_a_dry_run_has_the_command_of_each_launch(commlens: Commlens) -> None:
    Path("mine.yaml").write_text(
        "runs: [{benchmark: latency, launches: 2}, {benchmark: allreduce, ranks: 3}]\n"
    )
    first, second, third = commlens("run", "mine.yaml", "--dry-run").stdout.splitlines()
    assert " -n 2 " in first and "results/mine-TIME/01-latency-launch1.jsonl" in first
    assert " -n 3 " in second and "results/mine-TIME/02-allreduce.jsonl" in second
    assert "results/mine-TIME/01-latency-launch2.jsonl" in third
    assert not Path("results").exists()


def test_a_benchmark_of_pairs_takes_some_of_the_ranks_of_its_suite(commlens: Commlens) -> None:
    Path("mine.yaml").write_text(
        "runs: [{benchmark: latency, ranks: 2}, {benchmark: allreduce},\n"
        "       {benchmark: latency, options: {pairs: 2}},\n"
        "       {benchmark: latency, options: {matrix: true}}]\n"
    )
    for words, ranks in ((["mine.yaml"], [2, 5, 4, 5]), (["allreduce", "latency"], [5, 2])):
        run = commlens("run", *words, "--ranks", "5", "--dry-run")
        lines = run.stdout.splitlines()
        assert [int(line.split(" -n ")[1].split()[0]) for line in lines] == ranks
        assert "commlens: on 2 ranks of the 5, two for each pair: latency\n" in run.stderr


def test_a_suite_without_records_has_no_picture(commlens: Commlens) -> None:
    Path("mine.yaml").write_text("runs: [{benchmark: latency, options: {repeat: 0}}]\n")
    run = commlens("run", "mine.yaml")
    assert run.returncode == 2
    (folder,) = Path("results").iterdir()
    assert f"no record was written, so there is no picture in {folder}" in run.stderr


def test_what_a_program_reads_has_no_other_lines(commlens: Commlens) -> None:
    Path("mine.yaml").write_text("runs: [{benchmark: latency}, {benchmark: allreduce}]\n")
    run = commlens("run", "mine.yaml", "--format", "csv")
    assert run.returncode == 0, run.stderr
    for line in ("[1/2] latency", "records:  results/mine-", "picture:  ", "tables:   "):
        assert line in run.stderr
        assert line not in run.stdout
