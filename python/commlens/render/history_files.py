"""The history of cases as files for other programs: CSV, Parquet, Prometheus and JUnit.

A case has its whole name here: that of a table leaves out what all cases have in common, and would
become another one with a new case.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import commlens
from commlens.base import outputs
from commlens.base.errors import CommlensError
from commlens.base.text import printable
from commlens.compare.history.series import CaseSeries
from commlens.compare.history.trends import Trend
from commlens.model.comparison import Verdict
from commlens.render.history import sentence

_OF_SERIES: dict[str, Callable[[CaseSeries], str]] = {
    "machine": lambda series: series.machine,
    "benchmark": lambda series: series.benchmark,
    "case": lambda series: series.whole_name,
    "metric": lambda series: series.metric.name,
}
# Beside those labels, of a case: the name of a gauge, what it is, and its value, if it has one.
_GAUGES: tuple[tuple[str, str, Callable[[Trend], float | None]], ...] = (
    ("last", "median of the newest launch", lambda trend: trend.series.points[-1].median),
    ("baseline", "median of the launches before the newest change", lambda trend: trend.middle),
    (
        "ratio",
        "how many times worse than the baseline the newest launches are",
        lambda trend: trend.ratio.value if trend.ratio else None,
    ),
    (
        "slower",
        "1 where the case has become slower or fails now, 0 where it has not",
        lambda trend: float(trend.series.fails or trend.verdict is Verdict.SLOWER),
    ),
    ("launches", "launches in the history", lambda trend: float(len(trend.series.points))),
    (
        "last_launch_timestamp_seconds",
        "time of the newest launch",
        lambda trend: _seconds(trend.series.points[-1].time),
    ),
)
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def _seconds(time: str) -> float | None:
    """Since 1970, of a time as records have it; None for another text."""
    try:
        return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def prometheus(trends: Sequence[Trend]) -> str:
    """For the textfile collector of Prometheus' node exporter."""
    lines = []
    for name, meaning, value_of in _GAUGES:
        gauge = f"commlens_{name}"
        lines += [f"# HELP {gauge} {meaning}", f"# TYPE {gauge} gauge"]
        for trend in trends:
            if (value := value_of(trend)) is not None:
                lines.append(f"{gauge}{{{_labels(trend.series)}}} {value!r}")
    return "\n".join(lines) + "\n"


def _labels(series: CaseSeries) -> str:
    texts = {name: printable(text(series)) for name, text in _OF_SERIES.items()}
    return ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in texts.items())


def rows(every: Sequence[CaseSeries]) -> Iterator[dict[str, Any]]:
    """One of each case and launch."""
    for series in every:
        of_series = {name: printable(text(series)) for name, text in _OF_SERIES.items()}
        of_series |= {"unit": series.metric.unit, "better": series.metric.better}
        for point in series.points:
            versions = {f"version of {name}": text for name, text in point.versions.items()}
            yield {
                **of_series,
                "time": point.time,
                "median": point.median,
                "status": "ok" if point.median is not None else "failed",
                "busy": printable(point.busy),
                **{name: printable(text) for name, text in versions.items()},
            }


def table(every: Sequence[CaseSeries]) -> str:
    """As CSV: a row per case and launch, with the versions of that launch."""
    listed = list(rows(every))
    writer = csv.DictWriter(text := io.StringIO(), _names(listed), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()


def _names(listed: Sequence[dict[str, Any]]) -> list[str]:
    """Of all columns, in the order in which they were first met."""
    return list(dict.fromkeys(name for row in listed for name in row))


def parquet(every: Sequence[CaseSeries], path: Path) -> bytes:
    """The same table as Parquet. Raises CommlensError where there is no pyarrow."""
    try:
        import pyarrow
        from pyarrow.parquet import write_table
    except ImportError:
        raise CommlensError(
            f"--parquet {path}: that takes pyarrow, which is not installed: `pip install pyarrow`,"
            " or write --csv"
        ) from None
    listed = list(rows(every))
    columns = {name: [row.get(name) for row in listed] for name in _names(listed)}
    mark = {"writer": f"written by commlens {commlens.__version__}"}
    write_table(pyarrow.table(columns).replace_schema_metadata(mark), stream := io.BytesIO())
    return stream.getvalue()


def junit(trends: Sequence[Trend], failing: Sequence[Trend]) -> str:
    """A test per case, which fails where it has become slower, and is skipped where there are not
    enough launches."""
    counts = {
        "tests": len(trends),
        "failures": len(failing),
        "skipped": sum(_is_skipped(trend) for trend in trends),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    root = ElementTree.Element("testsuites", {"name": "commlens history", **numbers})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "commlens history", **numbers})
    for trend in trends:
        name, machine = _xml(trend.series.whole_name), _xml(trend.series.machine)
        case = ElementTree.SubElement(suite, "testcase", {"name": name, "classname": machine})
        text = _xml("; ".join(filter(None, (trend.word, about(trend)))))
        if any(trend is other for other in failing):
            ElementTree.SubElement(case, "failure", {"message": text, "type": trend.word})
        elif _is_skipped(trend):
            ElementTree.SubElement(case, "skipped", {"message": text})
        else:
            ElementTree.SubElement(case, "system-out").text = text
    ElementTree.indent(root)
    xml: str = ElementTree.tostring(root, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml}\n'


def _is_skipped(trend: Trend) -> bool:
    return not trend.has_enough and not trend.series.fails


def about(trend: Trend) -> str:
    """Since when and why it has changed, or what to do."""
    return sentence(trend) if trend.since else trend.why


def _xml(text: str) -> str:
    """Without what no XML can have."""
    return re.sub("[^\t -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", printable(text))


FILES = {
    "--csv": outputs.TABLE,
    "--parquet": outputs.PARQUET,
    "--prometheus": outputs.PROMETHEUS,
    "--records": outputs.RECORDS,
}
