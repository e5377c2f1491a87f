"""What the libraries selected, in the records of the native program, and that it follows settings
that change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from commlens.jobs.native import Native
from commlens.model import Record
from native_helpers import AT_ONCE, BENCH, OK, records_in, start, under_mpirun

_JOB = "allreduce --memory host --bytes 8,64K --repeat 5 --no-ceilings --transport mpi,peer"
_RULES = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
_ALGORITHM = "OMPI_MCA_coll_tuned_allreduce_algorithm"
Run = Callable[[Mapping[str, str]], list[Record]]


def _runs_of(family: str, folder: Path) -> Run:
    """What ran over MPI, the small size first."""

    def run(environment: Mapping[str, str]) -> list[Record]:
        records = folder / "records.jsonl"
        command = under_mpirun(3, _JOB, "--record", records)
        job = start(command, folder, {**AT_ONCE, **environment}).wait()
        assert job.status == OK, job
        of_peer = [record for record in records_in(records) if record.transport == "peer"]
        assert of_peer and not any(record.selection for record in of_peer)
        return [record for record in records_in(records) if record.transport == "mpi"]

    if Native(BENCH).about.mpi_family != family:
        pytest.skip(f"the program was built with another MPI than {family}")
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return _runs_of("openmpi", tmp_path)


@pytest.fixture
def run_mpich(tmp_path: Path) -> Run:
    return _runs_of("mpich", tmp_path)


def test_components_and_algorithms(run: Run) -> None:
    records = run({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"})
    assert len(records) == 2
    for record in records:
        assert record.selection["pml"] == "ob1"
        assert set(record.selection["btl"].split(",")) == {"tcp", "self"}
        assert record.selection["collective"] == "MPI_Allreduce"
        assert record.selection["coll"] == "tuned"


@pytest.mark.parametrize(("asked_for", "ran"), [("4", "ring"), ("1", "basic_linear")])
def test_an_algorithm_that_is_asked_for(run: Run, asked_for: str, ran: str) -> None:
    _, large = run({**_RULES, _ALGORITHM: asked_for})
    assert large.selection["algorithm"] == ran


def test_a_component_that_is_left_out(run: Run) -> None:
    first, _ = run({"OMPI_MCA_coll": "basic,self,libnbc"})
    assert first.selection["coll"] == "basic"


def test_a_setting_that_the_library_ignores_is_not_taken_for_what_ran(run: Run) -> None:
    _, large = run({_ALGORITHM: "1"})
    assert large.selection["algorithm"] != "basic_linear"


@pytest.mark.parametrize("transports", ["tcp", "sysv"])
def test_the_transports_of_ucx(run: Run, transports: str) -> None:
    try:
        any_adapter = {
            f"OMPI_MCA_{component}_ucx_{what}": "any"
            for component in ("pml", "opal_common")
            for what in ("tls", "devices")
        }
        first, _ = run({"OMPI_MCA_pml": "ucx", "UCX_TLS": f"self,{transports}", **any_adapter})
    except AssertionError as job:
        if "No components were able" in str(job) or "not able to be opened" in str(job):
            pytest.skip("this Open MPI has no pml ucx")
        raise
    assert first.selection["pml"] == "ucx" and "btl" not in first.selection
    assert f"{transports}/" in first.selection["ucx"]


def test_the_provider_of_libfabric(run: Run) -> None:
    try:
        only_tcp = {"OMPI_MCA_mtl_ofi_provider_include": "tcp"}
        first, _ = run({"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", **only_tcp})
    except AssertionError as job:
        if "PML cm cannot be selected" in str(job) or "not able to be opened" in str(job):
            pytest.skip("this libfabric has no such provider")
        raise
    assert first.selection["mtl"] == "ofi" and "tcp" in first.selection["provider"]


def test_the_network_module_and_the_algorithm_of_mpich(run_mpich: Run) -> None:
    for netmod, told in (("ucx", "ucx"), ("ofi", "provider")):
        try:
            records = run_mpich(
                {
                    "MPIR_CVAR_CH4_NETMOD": netmod,
                    "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "recursive_doubling",
                }
            )
        except AssertionError:
            continue  # it was built without
        for record in records:
            assert record.selection["netmod"] == netmod and record.selection[told]
            assert record.selection["intra_algorithm"] == "recursive_doubling"
            assert record.selection["collective"] == "MPI_Allreduce"
    first, _ = run_mpich({})
    assert first.selection["netmod"] and "intra_algorithm" not in first.selection
