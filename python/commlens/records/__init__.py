"""Records: what a benchmark measured, read from files, and grouped into what can be compared."""

from commlens.records.cases import (
    Group,
    Standing,
    groups,
    merged_transports,
)
from commlens.records.comparison import TIE, UNDECIDED, difference, no_difference, why_tie
from commlens.records.key import CaseKey, case_key
from commlens.records.over_starts import OverStarts, over_starts, starts_of
from commlens.records.reading import Loaded, Room, Tell, load, load_each, read
from commlens.records.record import (
    HIDDEN_METRIC,
    OVERLAP_METRIC,
    TIME_METRIC,
    Record,
    option_text,
)
from commlens.records.results import (
    Candidate,
    Ceiling,
    Interval,
    Part,
    Span,
    StartsStatistic,
    Statistic,
    Timeline,
)
from commlens.records.start import (
    BenchmarkDeclaration,
    FactDeclaration,
    Metric,
    Nic,
    Parameter,
    Place,
    Start,
    StartLine,
    Value,
)

__all__ = [
    "HIDDEN_METRIC",
    "OVERLAP_METRIC",
    "TIE",
    "TIME_METRIC",
    "UNDECIDED",
    "BenchmarkDeclaration",
    "Candidate",
    "CaseKey",
    "Ceiling",
    "FactDeclaration",
    "Group",
    "Interval",
    "Loaded",
    "Metric",
    "Nic",
    "OverStarts",
    "Parameter",
    "Part",
    "Place",
    "Record",
    "Room",
    "Span",
    "Standing",
    "Start",
    "StartLine",
    "StartsStatistic",
    "Statistic",
    "Tell",
    "Timeline",
    "Value",
    "case_key",
    "difference",
    "groups",
    "load",
    "load_each",
    "merged_transports",
    "no_difference",
    "option_text",
    "over_starts",
    "read",
    "starts_of",
    "why_tie",
]
