"""What others have published, and which of it stands beside records.

Each YAML file of knowledge/references is one source (docs/reference.md).
"""

from commlens.compare.references.matching import Beside, beside, by_ranks, lines_of, nearest
from commlens.compare.references.sources import Line, PublishedValue, Source, find, load, parse

__all__ = [
    "Beside",
    "Line",
    "PublishedValue",
    "Source",
    "beside",
    "by_ranks",
    "find",
    "lines_of",
    "load",
    "nearest",
    "parse",
]
