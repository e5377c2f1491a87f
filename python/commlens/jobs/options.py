"""The options of the native program, parsed once from the words of a command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Optional

from commlens.base.errors import CommlensError


class Options(Mapping[str, Optional[str]]):
    """Values by the names of options without dashes, in order; None: the option has no value."""

    def __init__(self, values: Mapping[str, str | None] | None = None) -> None:
        self._values = dict(values or {})

    @classmethod
    def parse(cls, words: Sequence[str]) -> Options:
        """The options in `--name value`, `--name=value` and `--flag`. Raises CommlensError for a
        word that belongs to none and for an option that is given twice."""
        values: dict[str, str | None] = {}
        waiting = ""  # the option that has no value yet
        for word in words:
            if word.startswith("--") and len(word) > 2:
                name, is_whole, value = word[2:].partition("=")
                if name in values:
                    raise CommlensError(f"--{name} is given twice; leave one of them out")
                values[name] = value if is_whole else None
                waiting = "" if is_whole else name
            elif waiting:
                values[waiting] = word
                waiting = ""
            else:
                raise CommlensError(
                    f"'{word}' belongs to no option; write options as --NAME VALUE, "
                    "`commlens run BENCHMARK --help` lists them"
                )
        return cls(values)

    def words(self) -> list[str]:
        """The options as a command line of the native program."""
        words: list[str] = []
        for name, value in self._values.items():
            if value is None:
                words.append(f"--{name}")
            elif value.startswith("--"):
                words.append(f"--{name}={value}")
            else:
                words += [f"--{name}", value]
        return words

    def replaced_by(self, other: Mapping[str, str | None]) -> Options:
        """These options and all of `other`, which counts where an option is in both."""
        kept = {name: value for name, value in self._values.items() if name not in other}
        return Options({**kept, **other})

    def without(self, *names: str) -> Options:
        """These options but those of some names."""
        return Options({name: self._values[name] for name in self._values if name not in names})

    def text(self, name: str) -> str:
        """The value of an option; empty where it has none or is not there."""
        return self._values.get(name) or ""

    def __getitem__(self, name: str) -> str | None:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Options({self._values})"
