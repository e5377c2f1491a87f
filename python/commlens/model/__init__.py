"""Records: what a benchmark measured, read from files, and grouped into what can be compared."""

from commlens.model.cases import Group, groups, merged_transports
from commlens.model.comparison import difference
from commlens.model.launches import launches_of, over_launches
from commlens.model.reading import load, load_each, read
from commlens.model.record import TIME_METRIC, CaseKey, Record, case_key, option_text
from commlens.model.results import Ceiling, Interval, Statistic
from commlens.model.start import Metric, Place, Start, Value

__all__ = [
    "TIME_METRIC",
    "CaseKey",
    "Ceiling",
    "Group",
    "Interval",
    "Metric",
    "Place",
    "Record",
    "Start",
    "Statistic",
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
