"""What the libraries selected, in the records of the native program, and that it follows settings
that change it. Most look at barriers, which the program of the faults has for every MPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from commlens.jobs.native import Native
from commlens.model import Record
from native_helpers import AT_ONCE, BENCH, FAULTS, OK, Job, records_in, start, under_mpirun

_BARRIERS = "err --bytes 8 --at 1000 --memory host --transport mpi,peer --no-ceilings"
_ALLREDUCES = "allreduce --bytes 8,64K --memory host --transport mpi --repeat 5 --no-ceilings"
_RULES = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
_ALGORITHM = "OMPI_MCA_coll_tuned_{}_algorithm"
_ANY_ADAPTER = {
    f"OMPI_MCA_{component}_ucx_{what}": "any"
    for component in ("pml", "opal_common")
    for what in ("tls", "devices")
}
Run = Callable[[Mapping[str, str]], dict[str, str]]


def _run(
    folder: Path, job: str, environment: Mapping[str, str], program: Path
) -> tuple[Job, list[Record]]:
    records = folder / "records.jsonl"
    command = under_mpirun(3, job, "--record", records, program=program)
    ended = start(command, folder, {**AT_ONCE, **environment}).wait()
    return ended, records_in(records) if ended.status == OK else []


def _barrier_of(family: str, folder: Path) -> Run:
    """What was selected for a barrier; skipped where MPI has not what is asked for."""

    def run(environment: Mapping[str, str]) -> dict[str, str]:
        assert FAULTS.is_file(), FAULTS
        job, records = _run(folder, _BARRIERS, environment, FAULTS)
        if not records and not any("commlens: " in line for line in job.error.splitlines()):
            pytest.skip(f"MPI cannot be initialised with {dict(environment)}")
        by_mpi, by_peer = records
        assert not by_peer.selection
        return dict(by_mpi.selection)

    if Native(BENCH).about.mpi_family != family:
        pytest.skip(f"the program was built with another MPI than {family}")
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return _barrier_of("openmpi", tmp_path)


@pytest.fixture
def run_mpich(tmp_path: Path) -> Run:
    return _barrier_of("mpich", tmp_path)


def test_components(run: Run) -> None:
    selection = run({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"})
    assert selection["pml"] == "ob1" and set(selection["btl"].split(",")) == {"tcp", "self"}


@pytest.mark.parametrize(("asked_for", "ran"), [("2", "doublering"), ("3", "recursivedoubling")])
def test_an_algorithm_that_is_asked_for(run: Run, asked_for: str, ran: str) -> None:
    selection = run({**_RULES, _ALGORITHM.format("barrier"): asked_for})
    assert selection["collective"] == "MPI_Barrier" and selection["algorithm"] == ran


def test_a_setting_that_the_library_ignores_is_not_taken_for_what_ran(run: Run) -> None:
    assert run({_ALGORITHM.format("barrier"): "2"}).get("algorithm") != "doublering"


@pytest.mark.parametrize("transports", ["tcp", "sysv"])
def test_the_transports_of_ucx(run: Run, transports: str) -> None:
    selection = run({"OMPI_MCA_pml": "ucx", "UCX_TLS": f"self,{transports}", **_ANY_ADAPTER})
    assert selection["pml"] == "ucx" and "btl" not in selection
    assert f"{transports}/" in selection["ucx"]


def test_the_provider_of_libfabric(run: Run) -> None:
    only_tcp = {"OMPI_MCA_mtl_ofi_provider_include": "tcp"}
    selection = run({"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", **only_tcp})
    assert selection["mtl"] == "ofi" and "tcp" in selection["provider"]


@pytest.mark.parametrize(("environment", "coll", "algorithm"), [
    ({**_RULES, _ALGORITHM.format("allreduce"): "4"}, "tuned", "ring"),
    ({**_RULES, _ALGORITHM.format("allreduce"): "1"}, "tuned", "basic_linear"),
    ({"OMPI_MCA_coll": "basic,self,libnbc"}, "basic", None),
])  # fmt: skip
def test_an_allreduce(
    tmp_path: Path, run: Run, environment: dict[str, str], coll: str, algorithm: str | None
) -> None:
    if BENCH == FAULTS:
        pytest.skip("this program has no benchmarks")
    _, (_, large) = _run(tmp_path, _ALLREDUCES, environment, BENCH)
    assert large.selection["coll"] == coll
    assert large.selection.get("algorithm") == algorithm


@pytest.mark.parametrize(("netmod", "told"), [("ucx", "ucx"), ("ofi", "provider")])
def test_the_network_module_of_mpich(run_mpich: Run, netmod: str, told: str) -> None:
    selection = run_mpich({"MPIR_CVAR_CH4_NETMOD": netmod})
    assert selection["netmod"] == netmod and selection[told]
    assert "intra_algorithm" not in selection


def test_the_algorithm_that_mpich_is_told(run_mpich: Run) -> None:
    selection = run_mpich({"MPIR_CVAR_BARRIER_INTRA_ALGORITHM": "k_dissemination"})
    assert selection["collective"] == "MPI_Barrier"
    assert selection["intra_algorithm"] == "k_dissemination"
