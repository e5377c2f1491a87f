"""Settings from what the libraries list, as recorded from several versions of them."""

from __future__ import annotations

import pytest

from commlens.tuning.library import components, settings
from commlens.tuning.library.rules import around, of_number
from commlens.tuning.space import Space
from conftest import captured
from tuning_helpers import here


def found(listed: str, listed_ucx: str, **situation: object) -> dict[str, list[str]]:
    """The values by the names of settings."""
    made = settings(listed, listed_ucx, here(**situation), [])
    return {one.name: [value.name for value in one.values] for one in made}


def test_components_of_open_mpi() -> None:
    assert components(captured("ompi-info-4")) == {
        "btl vader", "btl self", "pml ob1", "pml ucx", "coll tuned",
    }  # fmt: skip
    assert "btl smcuda" in components(captured("ompi-info-5"))
    assert components("") == set()


def test_open_mpi_4_for_point_to_point() -> None:
    names = found(captured("ompi-info-4"), "")
    assert names["OMPI_MCA_btl_vader_single_copy_mechanism"] == ["emulated", "none"]
    assert names["OMPI_MCA_btl_vader_eager_limit"] == ["512", "32768"]
    assert names["OMPI_MCA_mpi_param_check"] == ["false"]
    assert not [name for name in names if "coll" in name or "directory" in name]


def test_open_mpi_4_for_a_collective() -> None:
    made = settings(captured("ompi-info-4"), "", here(benchmark="allreduce"), [])
    by_name = {one.name: one for one in made}
    algorithm = by_name["OMPI_MCA_coll_tuned_allreduce_algorithm"]
    assert "segmented_ring" in [value.name for value in algorithm.values]
    assert "ignore" not in [value.name for value in algorithm.values]
    for value in algorithm.values:
        assert value.set["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "true"
    assert "OMPI_MCA_coll_tuned_bcast_algorithm" not in by_name


def test_open_mpi_5_for_gpu_memory() -> None:
    on_gpu = {"memories": ["device"], "backend": "cuda", "benchmark": "allreduce"}
    names = found(captured("ompi-info-5"), "", **on_gpu)
    assert names["OMPI_MCA_btl_smcuda_use_cuda_ipc"] == ["0"]
    assert names["OMPI_MCA_btl_smcuda_accelerator_eager_limit"] == ["4096", "262144"]
    assert names["OMPI_MCA_coll_cuda_disable_cuda_coll"] == ["1"]
    assert names["OMPI_MCA_btl_sm_flags"] == ["send"]
    assert names["OMPI_MCA_pml_ob1_send_pipeline_depth"] == ["1", "12"]
    assert "OMPI_MCA_btl_vader_eager_limit" not in names, "another name of btl_sm_eager_limit"
    assert "OMPI_MCA_mpi_built_with_cuda_support" not in names
    assert "OMPI_MCA_btl_smcuda_use_cuda_ipc" not in found(captured("ompi-info-5"), "")


@pytest.mark.parametrize("version", ["1.13", "1.22"])
def test_ucx(version: str) -> None:
    names = found("", captured(f"ucx-info-{version}"), memories=["device"], backend="cuda")
    assert names["UCX_MEMTYPE_CACHE"] == ["yes", "no"]
    assert names["UCX_RNDV_THRESH"] == ["1", "64K", "inf"]
    assert names["UCX_MEMTYPE_REG_WHOLE_ALLOC_TYPES"] == ["none", "host"]
    assert "rkey_ptr" in names["UCX_RNDV_SCHEME"]
    assert names["UCX_POSIX_SEG_SIZE"] == ["1032", "66048"]
    assert names["UCX_MAX_RNDV_RAILS"] == ["1", "8"]
    for name in ("UCX_LOG_LEVEL", "UCX_SELF_MAX_SHORT", "UCX_MAX_RNDV_LANES", "UCX_TLS"):
        assert name not in names
    assert "UCX_MEMTYPE_CACHE" not in found("", captured(f"ucx-info-{version}"))


def test_switches_and_choices_come_first() -> None:
    names = list(found(captured("ompi-info-4"), captured("ucx-info-1.22")))
    assert names.index("UCX_PROTO_ENABLE") < names.index("UCX_POSIX_SEG_SIZE")
    assert names.index("OMPI_MCA_mpi_param_check") < names.index("OMPI_MCA_btl_vader_eager_limit")


def test_what_is_known_already_is_left_out() -> None:
    own = settings("", captured("ucx-info-1.22"), here(), [])
    assert settings("", captured("ucx-info-1.22"), here(), own) == []


def test_nothing_of_mpi_for_ccl() -> None:
    names = found(captured("ompi-info-5"), captured("ucx-info-1.22"), transports=["ccl"])
    assert names and all(name.startswith("NCCL_") for name in names)


def test_what_is_listed_can_be_set() -> None:
    listed = settings(captured("ompi-info-5"), captured("ucx-info-1.22"), here(), [])
    space = Space(listed)
    for one in listed:
        for value in one.values:
            assert space.change({one.name: value.name}).environment[one.name] in (value.name, "")


@pytest.mark.parametrize(
    ("quantity", "values"),
    [("64K", ["8K", "512K"]), ("11145.00MBps", ["1393.12MBps", "89160MBps"]), ("auto", []),
     ("0", []), ("1", ["8"])],
)  # fmt: skip
def test_values_around_a_quantity(quantity: str, values: list[str]) -> None:
    assert around(quantity, 8) == values


@pytest.mark.parametrize(
    ("name", "default", "values"),
    [("coll_sm_priority", "0", ["100"]), ("use_cuda_ipc", "1", ["0"]),
     ("eager_limit", "18446744073709551615", ["4096", "262144"]), ("depth", "-1", []),
     ("depth", "", [])],
)  # fmt: skip
def test_values_beside_a_number(name: str, default: str, values: list[str]) -> None:
    assert list(of_number(name, default)) == values
