"""Records: what a benchmark measured, read from files, and grouped into what can be compared."""

from commlens.model.cases import Group, Standing, groups, merged_transports
from commlens.model.comparison import INCONCLUSIVE, TIE, difference
from commlens.model.over_launches import OverLaunches, launches_of, over_launches
from commlens.model.reading import Loaded, Room, Tell, load, load_each, read
from commlens.model.record import (
    HIDDEN_METRIC,
    OVERLAP_METRIC,
    TIME_METRIC,
    CaseKey,
    Record,
    case_key,
    option_text,
)
from commlens.model.results import (
    Candidate,
    Ceiling,
    Interval,
    LaunchesStatistic,
    Part,
    Span,
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
    "LaunchesStatistic",
    "Loaded",
    "Metric",
    "Nic",
    "OverLaunches",
    "Parameter",
    "Part",
    "Place",
    "Record",
    "Room",
    "Span",
    "Standing",
    "Start",
    "StartLine",
    "Statistic",
    "Tell",
    "Timeline",
    "Value",
    "case_key",
    "difference",
    "groups",
    "launches_of",
    "load",
    "load_each",
    "merged_transports",
    "option_text",
    "over_launches",
    "read",
]
