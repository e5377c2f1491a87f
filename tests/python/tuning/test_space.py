"""Settings as data: what is shipped, mistakes in a file, and where a setting applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.tuning.matrix import matrix
from commlens.tuning.plan import facts_of_machine, version_in
from commlens.tuning.space import Space, TuningSetting, applicable, curated, parse
from tuning_helpers import CASES, here, settings


def test_shipped_settings_have_a_meaning_and_a_source() -> None:
    names = [(setting.name, setting.applies) for setting in curated()]
    assert len(set(names)) == len(names)
    for setting in curated():
        assert setting.meaning and setting.source and setting.values, setting.name
        if setting.kind == "variable":
            assert all(setting.name in value.set for value in setting.values), setting.name
    shipped = {name for setting in curated() for value in setting.values for name in value.set}
    assert not [name for name in shipped if "NVLS" in name], "NVLink multicast is not varied"


def test_a_matrix_has_the_setups_that_were_published() -> None:
    assert [value.name for value in matrix("gpudirect").settings] == [
        "GPUDirect RDMA and gdrcopy",
        "GPUDirect RDMA only",
        "gdrcopy only",
        "no GDR optimization",
    ]


@pytest.mark.parametrize(("text", "message"), CASES["mistakes_of_a_space"])
def test_a_mistake_is_named_in_a_single_line(text: str, message: str) -> None:
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
    listed = settings(f'{{name: A, values: ["1"], applies: {{{applies}}}}}')
    assert list(applicable(listed, here())[1].values()) == [why]


def test_variables_of_the_environment_are_not_varied() -> None:
    situation = here(variables={"NCCL_NVLS_ENABLE": "0"})
    result = applicable(settings('{name: NCCL_NVLS_ENABLE, values: ["0", "1"]}'), situation)
    assert not result[0].settings
    assert result[1] == {
        "NCCL_NVLS_ENABLE=1": "the environment has NCCL_NVLS_ENABLE=0",
    }


def test_the_needs_of_a_setting_must_be_met() -> None:
    listed = settings('{name: U, needs: {PML: ucx}, values: ["1"]}')
    assert applicable(listed, here())[1] == {"U": "it needs PML=ucx"}
    assert applicable(listed, here(variables={"PML": "ucx"}))[0].settings
    assert applicable(listed, here(implied={"PML": "ucx"}))[0].settings


def test_of_two_settings_of_the_same_variable_the_later_counts() -> None:
    listed: list[TuningSetting] = settings(
        "{name: layer, kind: group, values: [{name: ucx, set: {CACHE: 'n'}}]}",
        '{name: CACHE, values: ["y"]}',
    )
    space = Space(listed)
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
    names = list(dict.fromkeys(setting.name for setting in curated()))
    of_files = ["messaging layer", "allocator", "allreduce algorithm", "UCX_TLS", "NCCL_ALGO"]
    assert [name for name in names if name in of_files] == of_files
