"""Records from files and folders: chosen, compared, diagnosed, and as data frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union

from commlens import knowledge
from commlens.base.errors import CommlensError, Status
from commlens.model import Record, load, option_text
from commlens.model.comparison import THRESHOLD
from commlens.model.profile import Profile
from commlens.model.reading import Loaded, Tell
from commlens.model.reroute import Reroute

if TYPE_CHECKING:
    from commlens.compare import Side
    from commlens.compare.verdicts import ComparisonResult
    from commlens.findings import Finding

Place = Union[str, "os.PathLike[str]"]
Library = Literal["pandas", "polars"]
_FIELDS = ("benchmark", "transport", "memory", "ranks", "status")  # of a record, for `where`
_LIBRARIES = ("pandas", "polars")


def read(*paths: Place, tell: Tell = lambda _: None) -> Records:
    """The records in files, and in the *.jsonl files of folders. Nothing is read before it is
    needed, and then once.

    `tell` is called with what is done meanwhile, as a text. Raises CommlensError, when they are
    read, for a file that cannot be read, and where there is neither a record nor a profile.
    """
    files = [Path(path) for path in paths]

    def loaded() -> Loaded:
        refuse_published(files)
        found = load(files, tell)
        check_any(found, files)
        return found

    return Records(loaded, ", ".join(map(str, files)))


def refuse_published(paths: Iterable[Path]) -> None:
    """Raises CommlensError for a name of published results, which are no file."""
    for path in paths:
        if str(path) in knowledge.names("references") and not path.exists():
            raise CommlensError(
                f"{path}: published results are no records: `commlens compare RECORDS --reference"
                f" {path}` puts them beside yours"
            )


def check_any(loaded: Loaded, paths: Iterable[Path]) -> None:
    """Raises CommlensError where there is no record of any kind."""
    if not (loaded.records or loaded.profiles or loaded.reroutes):
        status = Status.FAILED if loaded.problems else Status.USAGE
        names = ", ".join(map(str, paths))
        raise CommlensError(f"there is no record in {names}", status, loaded.problems)


class Records:
    """Records in the order in which they were read: `len(records)`, `records[0]`, and a loop.

    `name` is what a comparison calls them.
    """

    def __init__(self, read: Callable[[], Loaded], name: str) -> None:
        self._read, self.name = read, name

    @classmethod
    def of(cls, records: Iterable[Record], name: str = "records") -> Records:
        """Records that are there already."""
        kept = list(records)
        return cls(lambda: Loaded(kept), name)

    @cached_property
    def _loaded(self) -> Loaded:
        return self._read()

    def __iter__(self) -> Iterator[Record]:
        return iter(self._loaded.records)

    def __len__(self) -> int:
        return len(self._loaded.records)

    def __getitem__(self, index: int) -> Record:
        return self._loaded.records[index]

    def __repr__(self) -> str:
        if "_loaded" not in self.__dict__:
            return f"<records of {self.name}, not read yet>"
        return f"<{len(self)} records of {self.name}>"

    @property
    def problems(self) -> list[str]:
        """What is wrong with lines that are no records: `file:line: what`."""
        return self._loaded.problems

    @property
    def profiles(self) -> list[Profile]:
        """What `commlens profile` has written."""
        return self._loaded.profiles

    @property
    def reroutes(self) -> list[Reroute]:
        """What `commlens reroute` has written."""
        return self._loaded.reroutes

    def where(self, chosen: Callable[[Record], bool] | None = None, **values: Any) -> Records:
        """Those for which `chosen` is true, and that have these values: of benchmark, transport,
        memory, ranks, status, host, or of a parameter of the benchmark, in which `_` stands for
        `-`. A list of values is any of them. A name that no record has is a CommlensError."""
        wanted = {name.replace("_", "-"): _texts(value) for name, value in values.items()}

        def loaded() -> Loaded:
            records = self._loaded.records
            for name, texts in wanted.items():
                if records and all(_text_of(record, name) is None for record in records):
                    raise CommlensError(f"where: no record of {self.name} has '{name}'")
                records = [record for record in records if _text_of(record, name) in texts]
            return Loaded([record for record in records if chosen is None or chosen(record)])

        return Records(loaded, self.name)

    def findings(self) -> list[Finding]:
        """What these records, and profiles among them, give reason to change, the worst first."""
        from commlens.findings import findings

        return findings(self._loaded.records, self.profiles)

    def compare(
        self, other: Records | None = None, *, by: str | None = None, threshold: float = THRESHOLD
    ) -> ComparisonResult:
        """What is faster, slower or the same in `other`; without one, between the groups of these
        records by transport, memory, host, ranks, a parameter or an environment variable.

        `threshold` is the fraction within which two values are the same. Raises CommlensError
        where there is nothing to compare.
        """
        from commlens.compare import judge, match, split

        if (other is None) == (by is None):
            raise CommlensError("compare with what? name other records, or groups with by=")
        if by is not None:
            (baseline, *others), key_of = split(self._loaded.records, by)
            return judge([match(baseline, side, key_of) for side in others], threshold)
        assert other is not None, "one of the two is given"
        names = [self.name, other.name]
        if names[0] == names[1]:
            names = [f"{names[0]} (1)", f"{names[1]} (2)"]
        return judge([match(self.as_side(names[0]), other.as_side(names[1]))], threshold)

    def as_side(self, name: str = "") -> Side:
        """As one side of a comparison. Raises CommlensError where there is no record."""
        from commlens.compare import Side

        if not len(self):
            raise CommlensError(f"{self.name} has no record of a benchmark to compare")
        return Side(name or self.name, self._loaded.records)

    def to_dataframe(self, library: Library | None = None, *, samples: bool = False) -> Any:
        """A data frame of pandas, or of polars where that is named or pandas is not installed: a
        row per record, or per sample."""
        from commlens.model.rows import rows, rows_of_samples

        return data_frame([*(rows_of_samples(self) if samples else rows(self))], library)


def data_frame(rows: list[dict[str, Any]], library: Library | None = None) -> Any:
    """Rows as a data frame, in which what a row does not have is missing. Raises CommlensError
    where its library is not installed."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name in (library,) if library else _LIBRARIES:
        try:
            module = import_module(name)
        except ModuleNotFoundError:
            continue
        options = {"strict": False} if name == "polars" else {}
        return module.DataFrame(columns, **options)
    wanted = library or "pandas"
    raise CommlensError(
        f"a data frame takes {wanted}, which is not installed: `pip install {wanted}`"
    )


def _texts(value: Any) -> set[str]:
    values = value if isinstance(value, (list, tuple, set, frozenset, range)) else [value]
    return {option_text(value) for value in values}


def _text_of(record: Record, name: str) -> str | None:
    if name in _FIELDS:
        return str(getattr(record, name))
    if name == "host":
        return record.start.host
    titles = {record.start.parameters[key].title: key for key in record.parameters}
    return option_text(record.parameters[titles[name]]) if name in titles else None
