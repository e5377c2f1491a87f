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
@option.number("--jobs", "Number of parallel compile jobs.  [default: one per core]", _MOST_JOBS)
def build(mpi: Path | None, gpu: str, prefix: Path | None, jobs: int | None) -> None:
    """Build the native program, and the libraries of `commlens profile` and `commlens reroute`,
    with this machine's MPI library.

    A wheel of commlens contains their sources and nothing compiled; show, plot, compare, report and
    job work without them. A build requires a C++20 compiler, CMake, MPI, a BLAS and FFTW. Build
    again after an upgrade of commlens or of MPI.

    \b
    Examples:
      commlens build
      commlens build --mpi /opt/openmpi-5 --gpu cuda
      commlens build --prefix /shared/commlens
    """
    built = build_native(BuildOptions(mpi, gpu, prefix, jobs or 0))
    about = built.native.about
    gpus = f", {plural(about.gpus, 'GPU')} here" if about.backend != "host" else ""
    echo(f"built:    {built.native.path} (commlens {about.version}, {about.mpi}, backend"
         f" {about.backend}{gpus})")  # fmt: skip
    if prefix is not None:
        echo(f"use it:   export COMMLENS_BENCH={built.native.path}")
        for variable, library in built.libraries.items():
            echo(f"          export {variable}={library}")
