"""Records: what a benchmark measured, read from files, and grouped into what can be compared."""

from commlens.model.cases import Group, Standing, groups, merged_transports
from commlens.model.comparison import INCONCLUSIVE, TIE, difference, no_difference, why_tie
from commlens.model.key import CaseKey, case_key
from commlens.model.over_starts import OverStarts, over_starts, starts_of
from commlens.model.reading import Loaded, Room, Tell, load, load_each, read
from commlens.model.record import HIDDEN_METRIC, OVERLAP_METRIC, TIME_METRIC, Record, option_text
from commlens.model.results import (
    Candidate,
    Ceiling,
    Interval,
    Part,
    Span,
    StartsStatistic,
    Statistic,
    Timeline,
)
from commlens.model.start import (
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
    "INCONCLUSIVE",
    "OVERLAP_METRIC",
    "TIE",
    "TIME_METRIC",
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
