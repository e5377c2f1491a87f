"""Records as a picture.

A group of records has a panel: curves against size for a sweep, bars for a single size, side by
side where there are more than two memory kinds. Parts timed alone have a panel per transport that
shows how far they overlap and a timeline, both for the best size; parts within an operation are
shares of one bar. Panels of several groups at once are in extra/.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from commlens.errors import CommlensError, reason
from commlens.plot.layout import draw, height_of_panels
from commlens.plot.profile import draw_profiles
from commlens.plot.selection import select
from commlens.plot.style import STYLE, Series
from commlens.profile.record import Profile
from commlens.records import Record
from commlens.text import plural

__all__ = ["ENDINGS", "Series", "check_ending", "draw", "draw_profiles", "plot", "plot_profiles"]

ENDINGS = (".png", ".svg", ".pdf")
_PIXELS_PER_INCH = 200


def check_ending(out: Path) -> None:
    """Raises CommlensError for a name that is not a picture's."""
    if out.suffix.lower() not in ENDINGS:
        what = f"ends in '{out.suffix}'" if out.suffix else "has no ending"
        raise CommlensError(
            f"--out {out}: the name {what}; a picture's ends in {', '.join(ENDINGS)}"
        )


def plot(records: Sequence[Record], out: Path) -> list[str]:
    """Draws the measured records into `out` and says what was left out, a sentence each.

    Raises CommlensError if there is nothing to draw or the file cannot be written.
    """
    check_ending(out)
    chosen, left_out = select(records, height_of_panels)
    if not chosen:
        count = plural(len(records), "record")
        raise CommlensError(f"nothing to plot: none of {count} holds a measurement that passed")
    with _style():
        _save(draw(chosen), out)
    return left_out


def plot_profiles(profiles: Sequence[Profile], out: Path) -> None:
    """Draws each profile as a row of panels. Raises CommlensError if the file cannot be written."""
    check_ending(out)
    with _style():
        _save(draw_profiles(profiles), out)


@contextmanager
def _style() -> Iterator[None]:
    """Matplotlib's warnings are of letters that its font does not have, and of the like."""
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _save(figure: Figure, out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(out, dpi=_PIXELS_PER_INCH)
    except OSError as error:
        raise CommlensError(
            f"--out {out}: the picture cannot be written ({reason(error)})"
        ) from None
