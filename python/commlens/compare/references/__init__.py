"""What others have published, and which of it stands beside records.

Each YAML file in this folder is one source (docs/reference.md).
"""

from commlens.compare.references.loading import find, load, parse
from commlens.compare.references.matching import Beside, beside, by_ranks, lines_of, nearest
from commlens.compare.references.model import Figure, Line, Source

__all__ = [
    "Beside",
    "Figure",
    "Line",
    "Source",
    "beside",
    "by_ranks",
    "find",
    "lines_of",
    "load",
    "nearest",
    "parse",
]
