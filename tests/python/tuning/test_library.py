"""Settings from what the libraries list, as recorded from several versions of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from commlens.tuning.library import around, components, of_number, settings
from commlens.tuning.space import Space
from conftest import captured
from tuning_helpers import CASES, here


def offered(listed: str, listed_ucx: str, **situation: object) -> dict[str, list[str]]:
    """The values by the names of settings."""
    made = settings(listed, listed_ucx, here(**situation), [])
    return {setting.name: [value.name for value in setting.values] for setting in made}


def test_components_of_open_mpi() -> None:
    assert components(captured("ompi-info-4")) == {
        "btl vader", "btl self", "pml ob1", "pml ucx", "coll tuned",
    }  # fmt: skip
    assert "btl smcuda" in components(captured("ompi-info-5"))
    assert components("") == set()


@pytest.mark.parametrize("case", CASES["listed"].values(), ids=CASES["listed"])
def test_the_settings_made_of_a_list(case: dict[str, Any]) -> None:
    listed, listed_ucx = (captured(case[name]) if name in case else "" for name in ("mpi", "ucx"))
    names = offered(listed, listed_ucx, **case.get("here", {}))
    assert names and {name: names[name] for name in case["made"]} == case["made"]
    assert not [name for name in names if re.search(case["never"], name)]


def test_an_algorithm_needs_dynamic_rules() -> None:
    made = settings(captured("ompi-info-4"), "", here(benchmark="allreduce"), [])
    name = "OMPI_MCA_coll_tuned_allreduce_algorithm"
    (setting,) = [setting for setting in made if setting.name == name]
    dynamic = {value.set["OMPI_MCA_coll_tuned_use_dynamic_rules"] for value in setting.values}
    assert dynamic == {"true"}


def test_switches_and_choices_come_first() -> None:
    names = list(offered(captured("ompi-info-4"), captured("ucx-info-1.22")))
    assert names.index("UCX_PROTO_ENABLE") < names.index("UCX_POSIX_SEG_SIZE")
    assert names.index("OMPI_MCA_mpi_param_check") < names.index("OMPI_MCA_btl_vader_eager_limit")


def test_known_settings_are_left_out() -> None:
    known = settings("", captured("ucx-info-1.22"), here(), [])
    assert settings("", captured("ucx-info-1.22"), here(), known) == []


def test_listed_settings_can_be_set() -> None:
    listed = settings(captured("ompi-info-5"), captured("ucx-info-1.22"), here(), [])
    space = Space(listed)
    for setting in listed:
        for value in setting.values:
            environment = space.change({setting.name: value.name}).environment
            assert environment[setting.name] in (value.name, "")


@pytest.mark.parametrize(("quantity", "values"), CASES["quantities"])
def test_values_around_a_quantity(quantity: str, values: list[str]) -> None:
    assert around(quantity, 8) == values


@pytest.mark.parametrize(("name", "default", "values"), CASES["numbers"])
def test_values_beside_a_number(name: str, default: str, values: list[str]) -> None:
    assert list(of_number(name, default)) == values
