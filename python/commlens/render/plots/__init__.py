"""Records as a picture.

A group of records has a panel: curves against size for a sweep, bars for a single size, side by
side where there are more than two memory kinds. Parts timed alone have a panel per transport that
shows how far they overlap, for the best size; parts within an operation are shares of one bar.
The kinds are in panels/; timelines are a picture of their own.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from commlens import knowledge
from commlens.base import outputs
from commlens.base.errors import CommlensError, say
from commlens.base.text import plural, shown, whole_number

_YEAR_10000 = 253_402_300_800  # in seconds, from which Python has no dates


def _tidy_environment() -> None:
    """Variables with which matplotlib would end in a traceback: no window is opened, and a date
    that is none is left out. Nor does it print anything of its own."""
    os.environ["MPLBACKEND"] = "agg"
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns of a folder for its cache
    date = os.environ.get("SOURCE_DATE_EPOCH")
    seconds = whole_number(date)
    if date is not None and (seconds is None or seconds >= _YEAR_10000):
        say(f"SOURCE_DATE_EPOCH={date}: not a number of seconds since 1970; it is left out")
        del os.environ["SOURCE_DATE_EPOCH"]


_tidy_environment()

import matplotlib  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from commlens.model import Record, over_launches  # noqa: E402
from commlens.model.profile import Profile  # noqa: E402
from commlens.render.plots.layout import (  # noqa: E402
    draw,
    draw_singly,
    draw_timelines,
    height_of_picture,
    select,
)
from commlens.render.plots.profile import draw_profile_singly, draw_profiles  # noqa: E402

__all__ = [
    "ENDINGS",
    "Drawn",
    "check_picture",
    "draw",
    "draw_profile_singly",
    "draw_profiles",
    "draw_singly",
    "draw_timelines",
    "plot",
    "plot_profiles",
    "rendered",
    "select",
    "styled",
]

ENDINGS = (".png", ".svg", ".pdf")
_PIXELS_PER_INCH = 200


def check_picture(out: Path, option: str = "--out") -> None:
    """Raises CommlensError for a name that is not a picture's, and for a file that is none of
    ours."""
    if out.suffix.lower() not in ENDINGS:
        ending = f"ends in '{out.suffix}'" if out.suffix else "has no ending"
        raise CommlensError(
            f"{option} {shown(out)}: the name {ending}; a picture's ends in {', '.join(ENDINGS)}"
        )
    outputs.check(out, outputs.PICTURE, option)


class Drawn(NamedTuple):
    """The pictures that were written, and what is not in them."""

    pictures: list[Path]
    left_out: list[str]  # a sentence each


def plot(records: Sequence[Record], out: Path) -> Drawn:
    """Draws the measured records into `out`, and timelines into NAME-timeline. Starts that measured
    the same are one curve or bar, with their range.

    Raises CommlensError if there is nothing to draw or a file cannot be written.
    """
    check_picture(out)
    chosen, left_out = select(over_launches(records), height_of_picture)
    if not chosen:
        count = plural(len(records), "record")
        raise CommlensError(f"nothing to plot: none of {count} holds a measurement that passed")
    pictures = [out]
    with styled():
        saved(draw(chosen), out)
        timelines, missing = draw_timelines(chosen)
        if timelines:
            pictures.append(out.with_stem(f"{out.stem}-timeline"))
            saved(timelines, pictures[-1])
    if missing:
        left_out.append(
            f"left out {plural(missing, 'timeline')}, for which two screens have no room"
        )
    return Drawn(pictures, left_out)


def plot_profiles(profiles: Sequence[Profile], out: Path) -> Drawn:
    """Draws each profile as panels. Raises CommlensError if the file cannot be written."""
    check_picture(out)
    with styled():
        figure, count = draw_profiles(profiles)
        saved(figure, out)
    if count == len(profiles):
        return Drawn([out], [])
    return Drawn([out], [f"two screens hold {count} of {len(profiles)} profiles"])


@contextmanager
def styled() -> Iterator[None]:
    """In which pictures are drawn and written.

    Matplotlib's warnings are of characters that its font does not have, and of the like."""
    style: Any = knowledge.load("plot_style", dict[str, str])
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def saved(figure: Figure, out: Path) -> None:
    """Writes the picture; in each kind of file its writer has a field of another name."""
    form = out.suffix.lower()[1:]
    writer = {"Software" if form == "png" else "Creator": outputs.PICTURE_MARK}
    content = rendered(figure, form, dpi=_PIXELS_PER_INCH, metadata=writer)
    outputs.write(out, content, outputs.PICTURE)


def rendered(figure: Figure, form: str, **options: Any) -> bytes:
    """The picture in this format, with these options of savefig(). While a figure has a layout
    engine, savefig() draws it twice, the first time for the layout alone."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    buffer = BytesIO()
    figure.savefig(buffer, format=form, **options)
    return buffer.getvalue()


def plot_beside(profiles: Sequence[Profile], record: Path) -> list[Path]:
    """Pictures beside the record of profiles, one for each job. One that cannot be written is left
    out: the status is the program's."""
    pictures = []
    for number, profile in enumerate(profiles, start=1):
        name = record.stem if number == 1 else f"{record.stem}-job{number}"
        picture = record.with_name(f"{name}.png")
        try:
            plot_profiles([profile], picture)
        except CommlensError as error:
            say(str(error))
        else:
            pictures.append(picture)
    return pictures
