#!/usr/bin/env python3
"""gslib's gather-scatter in the place of commlens-bench, for `commlens compare --run`.

    GSLIB_HOME=FOLDER commlens compare --run gather-scatter --ranks 2 \\
        --a COMMLENS_BENCH=tools/peers/gslib.py --b COMMLENS_BENCH=tools/peers/own.py \\
        --launches 7 \\
        -- --elements 40,20,20 --mode pairwise --memory host --transport mpi --repeat 15 --warmup 3

GSLIB_HOME is the folder with gslib_pairwise (build-gslib.sh makes it). Both have the same global
ids on the same ranks, and time one gather-scatter after another (--timing each).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from adaptor import Figures, Peer, Plan, Request, main, program_in, size_in

from commlens.base.errors import CommlensError, Status
from commlens.model import Value
from commlens.model.results import Harness, Validation

PROGRAM = "gslib_pairwise"
_SECONDS = re.compile(r"\d{1,6}\.\d{1,12}", re.ASCII)


def plan(request: Request) -> Plan:
    request.only(
        *("elements", "order", "kershaw-eps", "mode", "repeat", "warmup", "transport", "memory"),
        *("timing", "batches"),
    )
    request.needed("mode", "write --mode pairwise")
    request.fixed(mode="pairwise", timing="each", batches="1")
    repeat = size_in(request.needed("repeat", "write it, so that both sides have as many"))
    warmup = size_in(request.needed("warmup", "write it, so that both sides have as many"))
    elements = _elements(request)
    order = size_in(request.options.text("order") or "7")
    nodes = elements[0] * elements[1] * elements[2] * (order + 1) ** 3
    checks = repeat + warmup
    validation = Validation(status="passed", checks=checks, elements=checks * nodes, message="")
    program = program_in("GSLIB_HOME", PROGRAM, "tools/peers/build-gslib.sh builds it")
    parameters: dict[str, Value] = {
        "elements": "x".join(map(str, elements)),
        "order": order,
        "kershaw_eps": float(request.options.text("kershaw-eps") or 0.3),  # changes no global id
        "ids": "mesh",
        "fields": 1,
        "dtype": "f64",
        "exchange_dtype": "f64",
        "combine": "add",
        "mode": "pairwise",
        "overlap": False,
    }
    return Plan(
        command=list(map(str, (program, *elements, order, warmup, repeat))),
        harness=Harness(timing="each", repeat=repeat, warmup=warmup, batches=1),
        operation="gather-scatter",
        cases=1,
        read=partial(_figures, parameters, validation, repeat),
    )


def _elements(request: Request) -> list[int]:
    """Raises CommlensError for those that commlens would not cut in x, as gslib_pairwise does."""
    text = request.needed("elements", "name the elements in x, y and z, as in 40,20,20")
    elements = [size_in(word) for word in text.replace("x", ",").split(",")]
    elements = elements * 3 if len(elements) == 1 else elements
    if request.ranks > 2 or elements[0] % request.ranks or elements[0] < max(elements):
        raise CommlensError(
            f"--elements {text} on {request.ranks} ranks: gslib is compared on 1 or 2 ranks, which "
            "divide the elements in x; write the longest side first, as in 40,20,20"
        )
    return elements


def _figures(
    parameters: Mapping[str, Value],
    validation: Validation,
    samples: int,
    lines: Iterable[str],
) -> Iterator[Figures]:
    """Of all samples together. Raises CommlensError for any other output."""
    times: list[float] = []
    for line in lines:
        if not _SECONDS.fullmatch(line) or float(line) == 0:
            said = f"{PROGRAM} has printed '{line[:80]}', which is no time"
            raise CommlensError(said, Status.FAILED)
        times.append(float(line))
    if len(times) == samples:
        yield Figures(parameters, times, {}, validation)


if __name__ == "__main__":
    main(Peer("gslib", ("gather-scatter",), plan))
