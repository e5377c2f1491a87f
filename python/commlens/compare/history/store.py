"""The file of a history: SQLite, with the median of each record in a narrow table, so that it is
read without the records themselves, which are kept beside it.

Several machines may share it: the journal is a file beside it, since SQLite's other one needs
memory that its users share.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from commlens.base.errors import CommlensError, Status, reason
from commlens.base.inputs import open_input
from commlens.base.outputs import why_not_made
from commlens.compare.history.entries import CaseRow, LaunchRow, RecordRow

VARIABLE = "COMMLENS_STORE"
NAME = "history.sqlite"
VERSION = 1  # of the tables
_APPLICATION = 0x636D6C73  # "cmls"
_MOST_BYTES = 1 << 44
_HEAD = b"SQLite format 3\0"
_PATIENCE_S = 10.0  # of a reader while somebody writes
_COLUMNS = "digest, of_case, launch, status, median, busy, facts"  # of a record
_TABLES = f"""
CREATE TABLE facts(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE cases(
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, machine TEXT NOT NULL,
  benchmark TEXT NOT NULL, metric TEXT NOT NULL, words TEXT NOT NULL);
CREATE TABLE launches(
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, name TEXT NOT NULL, time TEXT NOT NULL,
  machine TEXT NOT NULL, facts INTEGER NOT NULL REFERENCES facts, line BLOB NOT NULL);
CREATE TABLE records(
  id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, of_case INTEGER NOT NULL REFERENCES cases,
  launch INTEGER NOT NULL REFERENCES launches, status TEXT NOT NULL, median REAL,
  busy TEXT NOT NULL, facts INTEGER NOT NULL REFERENCES facts);
CREATE TABLE lines(record INTEGER PRIMARY KEY REFERENCES records, line BLOB NOT NULL);
CREATE INDEX records_of_launch ON records(launch);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
"""


def path_of(name: Path | None, of_site: Callable[[], str] = str) -> Path:
    """The store that `--store` names, else COMMLENS_STORE, else the site, else that in the folder
    of the user's data. In a folder it is `history.sqlite`."""
    given = name or os.environ.get(VARIABLE, "").strip() or of_site()
    if given:
        path = Path(given).expanduser()
    else:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
        path = Path(data) / "commlens" / NAME
    return path / NAME if path.is_dir() else path


@contextmanager
def reading(path: Path, option: str = "--store") -> Iterator[sqlite3.Connection]:
    """The store, to be read. Raises CommlensError where there is none."""
    check_there(path, option)
    try:
        with closing(_connected(path)) as connection:
            connection.execute("PRAGMA query_only = 1")
            _check_version(connection, path)
            yield connection
    except sqlite3.Error as error:
        raise CommlensError(
            f"{option} {path} cannot be read: {error}; wait, or name another file", Status.FAILED
        ) from None


@contextmanager
def changing(path: Path) -> Iterator[sqlite3.Connection]:
    """A transaction on the store, which is made where it is missing: all of it is there in the end,
    or nothing. Raises sqlite3.Error."""
    with closing(_connected(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in filter(str.strip, _TABLES.split(";")):
                    connection.execute(statement)
            _check_version(connection, path)
            yield connection
        except BaseException:
            if connection.in_transaction:  # SQLite ends some by itself
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def check_there(path: Path, option: str = "--store") -> None:
    """Raises CommlensError where there is no history."""
    if not os.path.lexists(path):
        raise CommlensError(
            f"{option} {path}: there is no history yet; `commlens history add RECORDS` begins one"
        )
    check(path, option)


def check(path: Path, option: str = "--store") -> None:
    """Raises CommlensError where the name is that of something else than a history."""
    try:
        is_new = not os.path.lexists(path)
        is_empty = not is_new and stat.S_ISREG(path.stat().st_mode) and not path.stat().st_size
    except (OSError, ValueError) as error:
        raise CommlensError(f"{option} {path} cannot be read: {reason(error)}") from None
    if is_new and (why := why_not_made(path)):
        raise CommlensError(f"{option} {path} cannot be written: {why}; name another file")
    if is_new or is_empty:
        return
    with open_input(path, option, "a history", _MOST_BYTES) as file:
        if file.read(len(_HEAD)) != _HEAD:
            raise CommlensError(
                f"{option} {path} is no history of commlens, and stays as it is: name another file"
            )


def _connected(path: Path) -> sqlite3.Connection:
    # Only what is said begins and ends a transaction.
    return sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise CommlensError(
            f"--store {path} is a database of another program, and stays as it is: name another"
            " file"
        )
    if version != VERSION:
        raise CommlensError(
            f"--store {path} is of version {version}, which this commlens does not know (its own is"
            f" {VERSION}): update commlens"
        )


class Inserter:
    """Puts rows into the tables, each record once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, object], int] = {}
        self.added = self.present = 0

    def insert(self, rows: Iterable[RecordRow]) -> None:
        """Adds those records that are not there yet."""
        for row in rows:
            place = self._connection.execute(
                f"INSERT OR IGNORE INTO records({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    row.digest, self._case(row.case), self._launch(row.launch), row.status,
                    row.median, row.busy, self._facts(row.facts),
                ),
            )  # fmt: skip
            if not place.rowcount:
                self.present += 1
                continue
            self.added += 1
            self._connection.execute("INSERT INTO lines VALUES (?, ?)", (place.lastrowid, row.line))

    def _case(self, row: CaseRow) -> int:
        return self._id("cases", ("key", "machine", "benchmark", "metric", "words"), row)

    def _launch(self, row: LaunchRow) -> int:
        columns = ("digest", "name", "time", "machine", "line", "facts")
        values = row.digest, row.name, row.time, row.machine, row.line
        return self._id("launches", columns, (*values, self._facts(row.facts)))

    def _facts(self, text: str) -> int:
        return self._id("facts", ("text",), (text,))

    def _id(self, table: str, columns: tuple[str, ...], values: tuple[object, ...]) -> int:
        """Of a row, which the first column identifies; it is added where it is missing."""
        known = self._known.get((table, values[0]))
        if known is None:
            marks = ", ".join("?" * len(columns))
            names = ", ".join(columns)
            self._connection.execute(
                f"INSERT OR IGNORE INTO {table}({names}) VALUES ({marks})", values
            )
            found = self._connection.execute(
                f"SELECT id FROM {table} WHERE {columns[0]} = ?", values[:1]
            ).fetchone()
            known = self._known[table, values[0]] = int(found[0])
        return known


def stored(connection: sqlite3.Connection) -> Iterator[RecordRow]:
    """All that is in a store, as it was added."""
    cases = {row[0]: CaseRow(*row[1:]) for row in connection.execute("SELECT * FROM cases")}
    facts = dict(connection.execute("SELECT id, text FROM facts"))
    launches = {
        number: LaunchRow(digest, name, time, machine, facts[known], line)
        for number, digest, name, time, machine, known, line in connection.execute(
            "SELECT id, digest, name, time, machine, facts, line FROM launches"
        )
    }
    rows = connection.execute(
        f"SELECT {_COLUMNS}, line FROM records JOIN lines ON record = id ORDER BY id"
    )
    for digest, case, launch, status, median, busy, known, line in rows:
        yield RecordRow(
            digest, cases[case], launches[launch], status, median, busy, facts[known], line
        )


def remove(connection: sqlite3.Connection, records: Iterable[int]) -> None:
    """Removes records, and what only they needed."""
    numbers = [(number,) for number in records]
    connection.executemany("DELETE FROM lines WHERE record = ?", numbers)
    connection.executemany("DELETE FROM records WHERE id = ?", numbers)
    connection.execute("DELETE FROM launches WHERE id NOT IN (SELECT launch FROM records)")
    connection.execute("DELETE FROM cases WHERE id NOT IN (SELECT of_case FROM records)")
    connection.execute(
        "DELETE FROM facts WHERE id NOT IN"
        " (SELECT facts FROM records UNION SELECT facts FROM launches)"
    )


def shrink(path: Path) -> None:
    """Gives the room of what was removed back to the file system."""
    with closing(_connected(path)) as connection:
        connection.execute("VACUUM")


def lines_of(connection: sqlite3.Connection) -> Iterator[bytes]:
    """The file of records that the store was made from: each launch before its records."""
    rows = connection.execute(
        "SELECT launch, launches.line, lines.line FROM records"
        " JOIN launches ON launches.id = launch JOIN lines ON record = records.id"
        " ORDER BY time, launch, records.id"
    )
    last = None
    for launch, start, line in rows:
        if launch != last:
            yield zlib.decompress(start)
        last = launch
        yield zlib.decompress(line)
