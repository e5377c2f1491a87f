"""`commlens build`: the native program, where commlens was installed without one."""

from __future__ import annotations

from pathlib import Path

import click

from commlens.base.terminal import echo
from commlens.base.text import plural
from commlens.cli import option
from commlens.jobs.building import GPUS, BuildOptions
from commlens.jobs.building import build as build_native

_MOST_JOBS = 1024


@click.command()
@click.option(
    "--mpi", type=option.path, metavar="DIR",
    help="Folder of the MPI library to build for, which has bin/mpicc.  [default: mpicc on the"
    " PATH]",
)  # fmt: skip
@click.option(
    "--gpu", metavar="NAME", callback=option.word(GPUS), default=GPUS[0], show_default=True,
    help=f"Which GPUs: {', '.join(GPUS)}.",
)  # fmt: skip
@click.option(
    "--prefix", type=option.path, metavar="FOLDER",
    help="Install bin/ and lib/ here, not within the package.",
)  # fmt: skip
@option.number("--jobs", "Compilers at the same time.  [default: one per core]", _MOST_JOBS)
def build(mpi: Path | None, gpu: str, prefix: Path | None, jobs: int | None) -> None:
    """Build the native program and the profiling library for the MPI at hand.

    A wheel of commlens has their sources and no compiled parts: shows, plots, comparisons, reports
    and jobs need none. Building takes a C++20 compiler, CMake, MPI, a BLAS and FFTW. After an
    upgrade of commlens or of MPI, build again.

    \b
    Examples:
      commlens build
      commlens build --mpi /opt/openmpi-5 --gpu cuda
      commlens build --prefix /shared/commlens
    """
    options = BuildOptions(mpi, gpu, jobs=jobs or 0)
    if prefix is not None:
        options = BuildOptions(mpi, gpu, prefix, jobs or 0)
    built = build_native(options)
    about = built.native.about
    gpus = f", {plural(about.gpus, 'GPU')} here" if about.backend != "host" else ""
    echo(f"built:    {built.native.path} (commlens {about.version}, {about.mpi}, backend"
         f" {about.backend}{gpus})")  # fmt: skip
    if prefix is not None:
        echo(f"use it:   export COMMLENS_BENCH={built.native.path}")
        echo(f"          export COMMLENS_PROFILE_LIBRARY={built.profiling_library}")
