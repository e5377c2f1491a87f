"""Many who write to one store, and are killed: nothing that was added is lost, or there twice."""

from __future__ import annotations

import fcntl
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.compare.history.entries import Batch
from commlens.compare.history.store import reading
from commlens.compare.history.writing import add, merge, waiting
from history_helpers import launch, launches, stored
from record_helpers import parsed

STORE = Path("history.sqlite")
# Adds launches of its own one by one, and says which were added: to a file, as a pipe may be full.
WRITER = """
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
from commlens.compare.history.entries import Batch
from commlens.compare.history.writing import add
from history_helpers import launch
from record_helpers import parsed
store, said, writer, patience = Path(sys.argv[1]), open(sys.argv[2], "a"), sys.argv[3], sys.argv[4]
print(flush=True)
for number in range(1000):
    name = f"{{writer}}-{{number}}"
    add(store, Batch(parsed(launch(number, 2.0, start=name))), float(patience))
    print(name, file=said, flush=True)
"""


def started(writer: str, patience_s: float) -> subprocess.Popen[str]:
    code = WRITER.format(paths=[path for path in sys.path if path])
    words = [sys.executable, "-c", code, str(STORE), "said.txt", writer, str(patience_s)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def names_of(path: Path) -> Counter[str]:
    """How often there is a record of each launch."""
    with reading(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT name FROM records JOIN launches ON launches.id = launch")
        return Counter(name for (name,) in rows)


@pytest.mark.parametrize("patience_s", [20.0, 0.0], ids=["patient", "spooling"])
def test_killed_writers_lose_nothing(patience_s: float) -> None:
    chance = random.Random(1)
    writers = [started(f"w{number}", patience_s) for number in range(4)]
    for writer in writers:
        assert writer.stdout and writer.stdout.readline()
    for number in range(4, 10):  # each is killed at a random moment, and another one begins
        time.sleep(chance.uniform(0.05, 0.3))
        victim = writers.pop(chance.randrange(len(writers)))
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        writers.append(started(f"w{number}", patience_s))
    time.sleep(1)
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
    said = Path("said.txt").read_text().splitlines(keepends=True)
    added = [line.strip() for line in said if line.endswith("\n")]
    assert len(added) > 20
    add(STORE, Batch(parsed(launch(0, 2.0, start="last"))))  # takes in what waits
    assert not waiting(STORE)
    found = names_of(STORE)
    assert set(found.values()) == {1}
    assert set(added) <= set(found)
    # Beside these at most what a writer was killed at.
    assert len(found) <= len(added) + 1 + 10


def test_what_cannot_be_added_waits_and_the_next_one_takes_it_in() -> None:
    stored(STORE, launches(2))
    with STORE.with_name(f"{STORE.name}.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waits = add(STORE, Batch(parsed(*launches(3))), patience_s=0.1)
        assert (waits.added, waits.spooled) == (0, 3) and "for the next" in str(waits)
        assert "others have been writing" in str(waits)
    assert waiting(STORE) and len(names_of(STORE)) == 2
    later = add(STORE, Batch(parsed(*launches(1))))
    assert (later.added, later.present) == (1, 1)  # the third of those that waited
    assert not waiting(STORE) and set(names_of(STORE)) == {"start-0", "start-1", "start-2"}


def test_facts_and_the_machine_survive_the_spool_folder() -> None:
    STORE.with_name(f"{STORE.name}.lock").touch()
    with STORE.with_name(f"{STORE.name}.lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        add(STORE, Batch(parsed(*launches(1)), "alps", {"kernel": "5.14"}), patience_s=0)
    add(STORE, Batch([]))
    with reading(STORE) as connection:
        assert connection.execute("SELECT machine FROM launches").fetchall() == [("alps",)]


def test_a_transaction_of_another_program_is_waited_for_or_spooled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored(STORE, launches(1))
    monkeypatch.setattr("commlens.compare.history.store._PATIENCE_S", 0.1)
    other = sqlite3.connect(STORE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    waits = add(STORE, Batch(parsed(*launches(2))))
    assert waits.spooled == 2 and "database is locked" in waits.why
    other.execute("ROLLBACK")
    add(STORE, Batch([]))
    assert len(names_of(STORE)) == 2


def test_a_batch_that_is_none_is_put_aside(capfd: pytest.CaptureFixture[str]) -> None:
    spool = Path(f"{STORE}.spool")
    spool.mkdir()
    (spool / "1.batch").write_text("nonsense\n")
    (spool / "2.batch").write_bytes(b"\xff\xfe")
    (spool / "3.batch").write_bytes(Batch(parsed(*launches(1))).to_bytes()[:-40])
    (spool / "4.new").write_text("half a batch")
    add(STORE, Batch(parsed(launch(5, 2.0))))
    assert set(names_of(STORE)) == {"start-5"}
    assert len(list(spool.glob("*.unreadable"))) == 3 and not waiting(STORE)
    assert capfd.readouterr().err.count("not what `history add` writes") == 3


def test_a_crash_after_the_commit_adds_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file in the spool folder is still there."""
    with STORE.with_name(f"{STORE.name}.lock").open("w+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        add(STORE, Batch(parsed(*launches(2))), patience_s=0)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_: (_ for _ in ()).throw(OSError()))
        add(STORE, Batch([]))
    assert waiting(STORE)
    add(STORE, Batch([]))
    assert not waiting(STORE) and set(names_of(STORE).values()) == {1}


def test_merge_has_all_of_both_once() -> None:
    other = stored(Path("other.sqlite"), launches(4), machine="node")
    before = other.read_bytes()
    stored(STORE, launches(2), machine="node")
    merged = merge(STORE, other)
    assert (merged.added, merged.present) == (2, 2)
    assert len(names_of(STORE)) == 4 and other.read_bytes() == before
    with pytest.raises(CommlensError, match="is the store itself"):
        merge(STORE, Path("./history.sqlite"))
    with pytest.raises(CommlensError, match=r"OTHER none\.sqlite: there is no history yet"):
        merge(STORE, Path("none.sqlite"))


def test_a_full_or_closed_place_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "commlens.compare.history.writing.changing",
        lambda _: (_ for _ in ()).throw(sqlite3.OperationalError("database or disk is full")),
    )
    Path(f"{STORE}.spool").write_text("in the way")
    with pytest.raises(CommlensError, match=r"disk is full.*only in their files") as error:
        add(STORE, Batch(parsed(*launches(1))))
    assert error.value.status == 1
