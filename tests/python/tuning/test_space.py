"""Settings as data: what is shipped, mistakes in a file, and where a setting applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.tuning.matrix import matrix
from commlens.tuning.plan import facts_of_machine, version_in
from commlens.tuning.space import Space, TuningSetting, applicable, curated, parse
from tuning_helpers import CASES, here, settings


def test_what_is_shipped_says_what_it_means_and_where_that_is_from() -> None:
    names = [(one.name, one.applies) for one in curated()]
    assert len(set(names)) == len(names)
    for one in curated():
        assert one.meaning and one.source and one.values, one.name
        if one.kind == "variable":
            assert all(one.name in value.set for value in one.values), one.name
    shipped = {name for one in curated() for value in one.values for name in value.set}
    assert not [name for name in shipped if "NVLS" in name], "NVLink multicast is not varied"


def test_a_matrix_has_the_setups_that_were_published() -> None:
    assert [value.name for value in matrix("gpudirect").settings] == [
        "GPUDirect RDMA and gdrcopy",
        "GPUDirect RDMA only",
        "gdrcopy only",
        "no GDR optimization",
    ]


@pytest.mark.parametrize(("text", "message"), CASES["mistakes_of_a_space"])
def test_a_mistake_is_named_in_one_line(text: str, message: str) -> None:
    with pytest.raises(CommlensError) as error:
        parse(text, "my.yaml")
    said = str(error.value)
    assert said.startswith("my.yaml") and message in said and "\n" not in said


def test_kinds_of_settings() -> None:
    (variable,) = settings('{name: A, with: {B: "2"}, values: ["1"]}')
    (words,) = settings("{name: --bind-to, kind: launcher, values: [core]}")
    (option,) = settings('{name: block, kind: option, values: ["8"]}')
    space = Space([variable, words, option])
    change = space.change({"A": "1", "--bind-to": "core", "block": "8"})
    assert change.environment == {"A": "1", "B": "2"}
    assert list(change.launcher_arguments) == ["--bind-to", "core"]
    assert change.options == {"block": "8"}
    assert space.text({"block": "8", "A": "1"}) == "A=1, --block 8"
    assert space.text({}) == "default"


@pytest.mark.parametrize(("applies", "why"), CASES["why_not"])
def test_why_a_setting_does_not_apply(applies: str, why: str) -> None:
    found = settings(f'{{name: A, values: ["1"], applies: {{{applies}}}}}')
    assert list(applicable(found, here())[1].values()) == [why]


def test_what_the_environment_says_is_not_varied() -> None:
    situation = here(variables={"NCCL_NVLS_ENABLE": "0"})
    found = applicable(settings('{name: NCCL_NVLS_ENABLE, values: ["0", "1"]}'), situation)
    assert not found[0].settings
    assert found[1] == {
        "NCCL_NVLS_ENABLE=1": "the environment has NCCL_NVLS_ENABLE=0",
    }


def test_what_a_setting_needs_must_come_from_somewhere() -> None:
    found = settings('{name: U, needs: {PML: ucx}, values: ["1"]}')
    assert applicable(found, here())[1] == {"U": "it needs PML=ucx"}
    assert applicable(found, here(variables={"PML": "ucx"}))[0].settings
    assert applicable(found, here(implied={"PML": "ucx"}))[0].settings


def test_of_two_settings_of_one_variable_the_later_counts() -> None:
    found: list[TuningSetting] = settings(
        "{name: layer, kind: group, values: [{name: ucx, set: {CACHE: 'n'}}]}",
        '{name: CACHE, values: ["y"]}',
    )
    space = Space(found)
    assert space.change({"CACHE": "y", "layer": "ucx"}).environment == {"CACHE": "y"}


def test_facts_of_a_machine(tmp_path: Path) -> None:
    assert facts_of_machine(tmp_path) == set()
    for name in ("sys/class/infiniband/mlx5_0", "sys/class/cxi/cxi0", "dev/gdrdrv"):
        (tmp_path / name).mkdir(parents=True)
    assert facts_of_machine(tmp_path) == {
        "InfiniBand adapter", "Mellanox adapter", "Slingshot adapter", "gdrcopy",
    }  # fmt: skip


def test_versions() -> None:
    assert version_in("Open MPI 5.0.7") == "5.0.7"
    assert version_in("# Library version: 1.22.0") == "1.22.0"
    assert version_in("none") == ""


def test_the_files_have_an_order() -> None:
    names = list(dict.fromkeys(one.name for one in curated()))
    of_files = ["messaging layer", "allocator", "allreduce algorithm", "UCX_TLS", "NCCL_ALGO"]
    assert [name for name in names if name in of_files] == of_files
