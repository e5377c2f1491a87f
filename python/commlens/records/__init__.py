"""Records: what a benchmark measured, read from files, and grouped into what can be compared."""

from commlens.records.cases import (
    CaseKey,
    Group,
    Standing,
    case_key,
    groups,
    merged_transports,
)
from commlens.records.comparison import TIE, is_tie, why_tie
from commlens.records.reading import Loaded, load, load_each, read
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
    Statistic,
    Timeline,
)
from commlens.records.start import (
    BenchmarkDeclaration,
    FactDeclaration,
    Metric,
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
    "BenchmarkDeclaration",
    "Candidate",
    "CaseKey",
    "Ceiling",
    "FactDeclaration",
    "Group",
    "Interval",
    "Loaded",
    "Metric",
    "Parameter",
    "Part",
    "Place",
    "Record",
    "Span",
    "Standing",
    "Start",
    "StartLine",
    "Statistic",
    "Timeline",
    "Value",
    "case_key",
    "groups",
    "is_tie",
    "load",
    "load_each",
    "merged_transports",
    "option_text",
    "read",
    "why_tie",
]
