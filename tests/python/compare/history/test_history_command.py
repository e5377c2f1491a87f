"""`commlens history` on the command line."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from xml.etree import ElementTree

import pytest

from commlens.base.errors import CommlensError
from commlens.compare import history as histories
from conftest import Commlens
from history_helpers import day_of, launch, launches, stored
from record_helpers import parsed, write
from run_helpers import kept
from sample_records import make_record
from site_helpers import site_file

STORE = Path("history.sqlite")


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMLENS_STORE", str(STORE))


def test_records_are_added_once(commlens: Commlens) -> None:
    write(Path("a.jsonl"), *launches(3))
    write(Path("b.jsonl"), *launches(5))
    added = commlens("history", "add", "a.jsonl")
    assert added.returncode == 0 and added.stdout == "3 records added to history.sqlite\n"
    again = commlens("history", "add", "a.jsonl", "b.jsonl")
    assert again.stdout == "2 records added to history.sqlite, 6 records there before\n"
    commlens("report", "b.jsonl", "--out", "b.html")  # the same records, in a page
    page = commlens("history", "add", "b.html")
    assert page.stdout == "0 records added to history.sqlite, 5 records there before\n"


def test_lines_that_are_no_records_are_named(commlens: Commlens) -> None:
    file = write(Path("a.jsonl"), *launches(2))
    file.write_text(file.read_text() + "nonsense\n")
    added = commlens("history", "add", file)
    assert added.returncode == 1 and "2 records added" in added.stdout
    assert "a.jsonl:5: not a record" in added.stderr


def test_the_store_is_where_it_is_named(
    commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Path("a.jsonl"), *launches(1))
    Path("folder").mkdir()
    for words, path in (
        (("--store", "mine.sqlite"), "mine.sqlite"),
        (("--store", "folder"), "folder/history.sqlite"),
        ((), "history.sqlite"),
    ):
        assert f"added to {path}" in commlens("history", "add", "a.jsonl", *words).stdout
        assert Path(path).exists()
    monkeypatch.delenv("COMMLENS_STORE")
    commlens("history", "add", "a.jsonl")
    assert Path("data/commlens/history.sqlite").exists()


def test_show_has_a_row_for_each_case_and_what_changed(commlens: Commlens) -> None:
    stored(STORE, [*launches(40, slower_from=35), *launches(40, memory="device", name="other")])
    shown = commlens("history", "show")
    assert shown.returncode == 0 and shown.stderr == ""
    rows = [line for line in shown.stdout.splitlines() if "latency 1 KiB" in line]
    assert len(rows) == 3  # and the line that explains
    assert "▁" in rows[0] and "█" in rows[0] and "slower" in rows[0] and day_of(35) in rows[0]
    assert "same" in rows[1]
    assert rows[2].strip().startswith(f"latency 1 KiB, mpi, host: since {day_of(35)}: +")
    assert "changed at once: ucx 1.18.0 → 1.19.0; not changed: kernel, mpi" in rows[2]
    assert "2 cases: 1 slower, 1 same" in shown.stdout


def test_cases_that_changed_alike_are_explained_once(commlens: Commlens) -> None:
    sizes = (8, 64, 512)
    stored(STORE, [record for size in sizes for record in launches(40, 35, bytes=size)])
    shown = commlens("history", "show").stdout
    assert f"3 cases slower since {day_of(35)}: +" in shown
    assert shown.count("changed at once") == 1


def test_show_as_json_and_csv_has_the_numbers(commlens: Commlens) -> None:
    stored(STORE, launches(40, slower_from=35))
    (case,) = json.loads(commlens("history", "show", "--format", "json").stdout)["cases"]
    assert case["verdict"] == "slower" and case["ratio"] == pytest.approx(1.2, abs=0.02)
    assert case["ratio_low"] < 1.2 < case["ratio_high"] and case["launches"] == 40
    assert (case["changed"], case["not_changed"]) == ("ucx 1.18.0 → 1.19.0", "kernel; mpi")
    assert "slower" in commlens("history", "show", "--format", "csv").stdout
    assert "| slower |" in commlens("history", "show", "--format", "markdown").stdout


def test_show_reads_medians_and_not_the_records(commlens: Commlens) -> None:
    """Which is what makes 100,000 of them quick."""
    stored(STORE, launches(40, slower_from=35))
    before = commlens("history", "show").stdout
    with sqlite3.connect(STORE) as connection:
        connection.execute("DELETE FROM lines")
        connection.execute("UPDATE launches SET line = ''")
    assert commlens("history", "show").stdout == before


def test_a_terminal_without_blocks_gets_other_characters(commlens: Commlens) -> None:
    stored(STORE, launches(40, slower_from=35))
    assert "?" not in commlens("history", "show", PYTHONIOENCODING="ascii").stdout


@pytest.mark.parametrize(
    ("records", "status", "line"),
    [
        (launches(40), 0, "same: latency 1 KiB, mpi, host"),
        (launches(40, slower_from=35), 1, "slower: latency 1 KiB, mpi, host: since "),
        (launches(40, slower_from=35, by=0.8), 0, "faster: latency 1 KiB, mpi, host: since "),
        (launches(5), 2, "not enough launches: latency 1 KiB, mpi, host: 12 more launches decide"),
        ([*launches(40), launch(40, 2.0, status="failed", reason="x")], 1, "fails now: latency"),
    ],
    ids=["same", "slower", "faster", "few", "fails"],
)
def test_check_ends_with_a_status(
    records: list[dict[str, object]], status: int, line: str, commlens: Commlens
) -> None:
    stored(STORE, records)
    checked = commlens("history", "check")
    assert checked.returncode == status
    assert checked.stdout.startswith(line) and checked.stdout.count("\n") == 1
    assert ("nothing was tested" in checked.stderr) == (status == 2)


def test_check_lets_what_is_less_than_asked_for_pass(commlens: Commlens) -> None:
    stored(STORE, launches(40, slower_from=35))
    passed = commlens("history", "check", "--fail-if-slower", "30%")
    assert passed.returncode == 0
    assert passed.stdout.startswith("slower (less than --fail-if-slower): latency")


def test_a_change_is_accepted_by_leaving_out_what_was_before(commlens: Commlens) -> None:
    stored(STORE, launches(60, slower_from=30))
    assert commlens("history", "check").returncode == 1
    assert commlens("history", "check", "--since", day_of(30)).returncode == 0


def test_one_case_with_enough_launches_is_a_test(commlens: Commlens) -> None:
    stored(STORE, [*launches(40), *launches(5, memory="device")])
    checked = commlens("history", "check")
    assert checked.returncode == 0 and "not enough launches: latency" in checked.stdout


def test_junit_has_a_test_for_each_case(commlens: Commlens) -> None:
    stored(
        STORE,
        [*launches(40, 35), *launches(40, bytes=8, name="b"), *launches(4, bytes=64, name="c")],
    )
    for _ in range(2):  # its own file is replaced
        assert commlens("history", "check", "--junit", "junit.xml").returncode == 1
    root = ElementTree.parse("junit.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("3", "1", "1")
    slower, same, few = root.iter("testcase")
    failure = slower.find("failure")
    assert failure is not None and "ucx 1.18.0 → 1.19.0" in failure.get("message", "")
    assert same.find("failure") is None and few.find("skipped") is not None
    assert "latency 1 KiB, mpi, host, backend host, timing batch" in (slower.get("name") or "")


def test_plot_draws_each_case(commlens: Commlens) -> None:
    stored(STORE, [*launches(40, slower_from=35), *launches(4, bytes=8)])
    for name in ("a.png", "a.svg"):
        drawn = commlens("history", "plot", "--out", name)
        assert (drawn.returncode, drawn.stdout) == (0, f"{name}\n")
    text = Path("a.svg").read_text()
    assert "drawn by commlens" in text
    assert commlens("history", "plot", "--out", "a.txt").returncode == 2


def test_of_many_cases_the_changed_ones_are_drawn(commlens: Commlens) -> None:
    stored(STORE, [record for size in range(1, 15) for record in launches(3, bytes=8 * size)])
    drawn = commlens("history", "plot", "--out", "a.png")
    assert "drawn: 12 of 14 cases, those that have changed first" in drawn.stderr


def test_prune_by_age_and_by_count(commlens: Commlens) -> None:
    stored(STORE, [*launches(10), *launches(10, bytes=8)])
    planned = commlens("history", "prune", "--keep", "4", "--dry-run").stdout
    assert (
        planned == "12 records and 6 launches would be removed; 8 records kept in history.sqlite\n"
    )
    assert "20 records kept" in commlens("history", "prune", "--keep", "100").stdout
    pruned = commlens("history", "prune", "--older-than", day_of(3)).stdout
    assert pruned == "6 records and 3 launches removed; 14 records kept in history.sqlite\n"
    pruned = commlens("history", "prune", "--keep", "4").stdout
    assert pruned == "6 records and 3 launches removed; 8 records kept in history.sqlite\n"
    commlens("history", "export", "--records", "left.jsonl")
    assert [record.start.start for record in kept("left.jsonl")][::2] == [
        f"start-{number}" for number in range(6, 10)
    ]
    commlens("history", "prune", "--older-than", "2099-01-01")
    with sqlite3.connect(STORE) as connection:
        for table in ("records", "lines", "launches", "cases", "facts"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert "the history is empty" in commlens("history", "show").stderr


def test_merge_adds_another_history(commlens: Commlens) -> None:
    stored(STORE, launches(20))
    stored(Path("other.sqlite"), launches(40, slower_from=35))
    merged = commlens("history", "merge", "other.sqlite")
    assert "20 records added to history.sqlite, 20 records there before" in merged.stdout
    assert commlens("history", "check").returncode == 1


def test_run_keeps_what_it_has_measured(commlens: Commlens) -> None:
    ran = commlens("run", "latency", "--launches", "2", "--keep")
    assert ran.returncode == 0 and "6 records added to history.sqlite" in ran.stderr
    with sqlite3.connect(STORE) as connection:
        assert connection.execute("SELECT count(*) FROM launches").fetchone() == (2,)
    assert not Path("none.sqlite").exists()
    commlens("run", "latency", COMMLENS_STORE="none.sqlite")
    commlens("run", "latency", "--keep", "--dry-run", COMMLENS_STORE="none.sqlite")
    assert not Path("none.sqlite").exists()


def test_a_run_that_cannot_be_kept_is_refused_before_it_runs(commlens: Commlens) -> None:
    STORE.write_text("my notes")
    ran = commlens("run", "latency", "--keep")
    assert ran.returncode == 2 and "is no history of commlens" in ran.stderr
    assert STORE.read_text() == "my notes" and not Path("results").exists()


def test_a_site_keeps_in_its_own_history(
    commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COMMLENS_STORE")
    site = site_file("none", keep="true", store="site.sqlite")
    ran = commlens("run", "latency", "--site", f"./{site}")
    assert ran.returncode == 0 and "3 records added to site.sqlite" in ran.stderr
    with sqlite3.connect("site.sqlite") as connection:
        assert connection.execute("SELECT machine FROM launches").fetchall() == [("mine",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"my notes\n", "is no history of commlens, and stays as it is"),
        (b"SQLite format 3\0" + b"\0" * 100, "cannot be read"),
    ],
)
def test_another_file_is_left_as_it_is(text: bytes, message: str, commlens: Commlens) -> None:
    write(Path("a.jsonl"), *launches(1))
    STORE.write_bytes(text)
    for words in (("show",), ("prune", "--keep", "1"), ("merge", "other.sqlite")):
        run = commlens("history", *words)
        assert run.returncode in (1, 2) and "Traceback" not in run.stderr
        assert run.stderr.count("\n") == 1
    assert message in commlens("history", "show").stderr
    assert STORE.read_bytes() == text


@pytest.mark.parametrize(
    ("pragma", "message"),
    [("user_version = 7", "of version 7"), ("application_id = 7", "a database of another program")],
)
def test_a_store_of_others_is_refused(pragma: str, message: str, commlens: Commlens) -> None:
    stored(STORE, launches(1))
    with sqlite3.connect(STORE) as connection:
        connection.execute(f"PRAGMA {pragma}")
    before = STORE.read_bytes()
    write(Path("a.jsonl"), *launches(2))
    for words in (("show",), ("add", "a.jsonl")):
        run = commlens("history", *words)
        assert run.returncode == 2 and message in run.stderr
    assert STORE.read_bytes() == before


def test_secrets_are_masked(commlens: Commlens) -> None:
    secret = "hunter2hunter2"
    made = make_record(environment={"UCX_TOKEN": secret}, command=["x", f"--password={secret}"])
    write(Path("a.jsonl"), made)
    commlens("history", "add", "a.jsonl")
    commlens("history", "export", "--records", "b.jsonl", "--csv", "b.csv")
    for path in (STORE, Path("b.jsonl"), Path("b.csv")):
        assert secret.encode() not in path.read_bytes()
    assert "***" in Path("b.jsonl").read_text()


def test_a_report_has_the_history_of_its_benchmarks(commlens: Commlens) -> None:
    write(Path("a.jsonl"), *launches(1))
    stored(STORE, [*launches(40, 35), *launches(40, benchmark="fft", name="other")])
    assert commlens("report", "a.jsonl", "--store", STORE, "--out", "a.html").returncode == 0
    page = Path("a.html").read_text()
    assert '<section id="history">' in page and "ucx 1.18.0 → 1.19.0" in page
    text = commlens("report", "a.jsonl", "--store", STORE, "--format", "markdown").stdout
    assert "## History" in text and "| slower |" in text and "ucx 1.18.0 → 1.19.0" in text
    assert "## History" not in commlens("report", "a.jsonl", "--format", "markdown").stdout
    missing = commlens("report", "a.jsonl", "--store", "none.sqlite")
    assert missing.returncode == 2 and "there is no history yet" in missing.stderr


def test_the_script_of_a_site_that_keeps(commlens: Commlens) -> None:
    site = site_file("slurm", keep="true", store="/shared/my history.sqlite")
    script = commlens("job", f"./{site}", "--", "run", "latency").stdout
    assert "export COMMLENS_MACHINE=mine\n" in script
    assert "export COMMLENS_STORE='/shared/my history.sqlite'\n" in script
    assert script.count("--keep") == 1
    given = commlens("job", f"./{site}", "--", "run", "latency", "--keep").stdout
    assert given.count("--keep") == 2  # in the command, and in the comment on top
    other = commlens("job", site_file("slurm"), "--", "run", "latency").stdout
    assert "--keep" not in other and "COMMLENS_" not in other


def test_the_machine_is_what_a_variable_says(commlens: Commlens) -> None:
    write(Path("a.jsonl"), *launches(1))
    commlens("history", "add", "a.jsonl", COMMLENS_MACHINE="alps")
    commlens("run", "latency", "--keep", COMMLENS_MACHINE="alps")
    with sqlite3.connect(STORE) as connection:
        machines = connection.execute("SELECT DISTINCT machine FROM launches").fetchall()
    assert machines == [("alps",)]


@pytest.mark.parametrize("is_here", [True, False])
def test_versions_of_this_host_are_those_of_records_from_here(
    is_here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "node" if is_here else "login")
    (record,) = parsed(make_record())
    histories.keep([record], STORE)
    with sqlite3.connect(STORE) as connection:
        (facts,) = connection.execute(
            "SELECT text FROM launches JOIN facts ON facts.id = launches.facts"
        ).fetchone()
    assert ("kernel" in json.loads(facts)["versions"]) == is_here


@pytest.mark.parametrize(
    "words", [("latency", "allreduce"), ("latency", "--scaling", "1,2")], ids=" ".join
)
def test_every_kind_of_run_keeps_its_records(words: tuple[str, ...], commlens: Commlens) -> None:
    ran = commlens("run", *words, "--memory", "host", "--keep")
    assert ran.returncode == 0, ran.stderr
    measured = sum(record.status != "skipped" for record in kept())
    with sqlite3.connect(STORE) as connection:
        assert connection.execute("SELECT count(*) FROM records").fetchone() == (measured,)


def test_records_that_cannot_be_kept_are_shown_all_the_same(
    commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise CommlensError("the disk is full", 1)

    monkeypatch.setattr(histories, "add", fail)
    ran = commlens("run", "latency", "--keep")
    assert ran.returncode == 1 and "the disk is full" in ran.stderr
    assert "passed" in ran.stdout and kept()
