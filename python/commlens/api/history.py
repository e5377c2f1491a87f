"""The history: records kept over time, and what has become slower."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commlens.api.records import Library, Place, Records, data_frame
from commlens.base.errors import CommlensError
from commlens.compare import history as histories
from commlens.compare.history import writing
from commlens.compare.history.baselines import Baseline, baselines_of
from commlens.compare.history.entries import Batch
from commlens.compare.history.series import BASELINE, CaseSeries, Selection, day, series_of
from commlens.compare.history.store import lines_of, reading
from commlens.compare.history.writing import Added, Pruned
from commlens.model import Record
from commlens.model.comparison import THRESHOLD
from commlens.model.reading import Loaded
from commlens.model.reading import read as read_lines

if TYPE_CHECKING:
    from commlens.compare.history.trends import Trend

DAY_FIX = "write a day (2026-03-02), or how long ago it was (90d, 8w, 1y)"


def open(store: Place | None = None) -> History:  # noqa: A001 (as gzip.open: history.open)
    """The history in this file, else in that of COMMLENS_STORE, of this site or of the user. It
    need not be there yet."""
    return History(histories.store_of(Path(store) if store is not None else None))


class History:
    """One history. Everything is read from its file, `path`, when it is asked for; each call raises
    CommlensError where that cannot be done."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<history in {self.path}>"

    def add(self, records: Iterable[Record], machine: str = "") -> Added:
        """Adds records, each once. `machine` is what their machine is called: by default what
        COMMLENS_MACHINE says, else the site of their host, else the host."""
        return writing.add(self.path, Batch([*records], machine or histories.machine_named()))

    def series(
        self, benchmark: str = "", *, machine: str = "", since: str = ""
    ) -> list[CaseSeries]:
        """Each case on each machine, with its launches, the oldest first. `since` is a day
        (2026-03-02), or how long ago it was (90d, 8w, 1y)."""
        begin = day(since) if since else ""
        if begin is None:
            raise CommlensError(f"since '{since}': {DAY_FIX}")
        with reading(self.path) as connection:
            return series_of(connection, Selection(benchmark, machine, begin))

    def trends(
        self, benchmark: str = "", *, machine: str = "", since: str = "",
        baseline: int = BASELINE, threshold: float = THRESHOLD, with_busy: bool = False,
    ) -> list[Trend]:  # fmt: skip
        """The verdict on each of them: the newest launches against a baseline, the launches before
        the newest change, at most so many. `threshold` is the fraction within which two values are
        the same. `with_busy`: also launches during which the machine was busy."""
        from commlens.compare.history import trends

        series = self.series(benchmark, machine=machine, since=since)
        return trends.judge(series, baseline, threshold, with_busy=with_busy)

    def baselines(
        self, records: Iterable[Record], *, machine: str = "", threshold: float = THRESHOLD
    ) -> list[Baseline | None]:
        """For each of new records, before they are added, what its case has measured so far: the
        value of its main metric, and the limit that is worse by the threshold than each launch of
        the baseline. None where there are too few launches. `machine` is as for `add`."""
        if not self.path.exists():
            return [None for _ in records]
        with reading(self.path) as connection:
            name = machine or histories.machine_named()
            return baselines_of(connection, [*records], name, threshold)

    def records(self) -> Records:
        """All records."""

        def loaded() -> Loaded:
            return read_lines(line.decode() for line in self.lines())

        return Records(loaded, str(self.path))

    def lines(self) -> list[bytes]:
        """The lines of the file of records that the history was made from."""
        with reading(self.path) as connection:
            return [*lines_of(connection)]

    def merge(self, other: Place) -> Added:
        """Adds all that another history has."""
        return writing.merge(self.path, Path(other))

    def prune(self, *, before: str = "", keep: int | None = None, dry_run: bool = False) -> Pruned:
        """Removes launches from before a day, and of each case all but the newest `keep`."""
        begin = day(before) if before else ""
        if begin is None:
            raise CommlensError(f"before '{before}': {DAY_FIX}")
        return writing.prune(self.path, before=begin, newest=keep, is_dry=dry_run)

    def to_dataframe(self, benchmark: str = "", *, library: Library | None = None) -> Any:
        """A data frame of pandas or polars: a row per case and launch, with its versions."""
        from commlens.render.history_files import rows

        return data_frame([*rows(self.series(benchmark))], library)
