"""Every YAML file of the knowledge has a schema and satisfies it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Union

import pytest

from commlens import knowledge
from commlens.compare import references
from commlens.findings.entry import RuleFile
from commlens.findings.facts import Fact
from commlens.findings.rules.sizes import Switch
from commlens.jobs import suite
from commlens.jobs.causes import Causes
from commlens.jobs.sites import site
from commlens.jobs.sites.schedulers import Scheduler
from commlens.knowledge.launchers import Launchers
from commlens.knowledge.secrets import Secrets
from commlens.machine.gpu_drivers import Fields
from commlens.machine.libraries import Variables, communication_variables
from commlens.machine.messaging import UcxTransports
from commlens.machine.mpi import KnownMpi
from commlens.model.levels import LevelNames
from commlens.model.reroute import Reroutable
from commlens.model.selection import Selected
from commlens.render.plots.colors import Looks
from commlens.tuning import space
from commlens.tuning.library import Rules
from commlens.tuning.matrix import Matrix

FOLDER = Path(knowledge.__file__).parent
FILES = sorted(
    path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.yaml")
)
STRUCTS: Mapping[str, type] = {
    "causes": Causes,
    "checks/": RuleFile,
    "colors": Looks,
    "facts": dict[str, Fact],
    "launchers": Launchers,
    "levels": LevelNames,
    "libraries/mpi": KnownMpi,
    "libraries/nccl-variables": list[str],
    "libraries/nvidia-smi": Fields,
    "libraries/protocol-switches": list[Switch],
    "libraries/rules": Rules,
    "libraries/selection": list[Selected],
    "libraries/ucx": UcxTransports,
    "matrices/": Matrix,
    "plot_style": dict[str, str],
    "rank_variables": dict[str, tuple[str, ...]],
    "record_fields": dict[str, dict[str, str]],
    "reroute": Reroutable,
    "rules/": RuleFile,
    "schedulers": dict[str, Scheduler],
    "secrets": Secrets,
    "variables": Variables,
}
# Those that users write too: their messages name the file and the mistake.
PARSERS: Mapping[str, Callable[[str, str], object]] = {
    "libraries/nccl": space.parse,
    "references/": references.parse,
    "settings/": space.parse,
    "sites/": site.parse,
    "suites/": suite.parse,
}


def kind_of(name: str) -> str:
    """The name itself, or its folder for one of many files of one kind."""
    return name if name in {*STRUCTS, *PARSERS} else f"{name.rpartition('/')[0]}/"


def check(name: str, text: str) -> None:
    kind = kind_of(name)
    if kind in PARSERS:
        PARSERS[kind](text, name)
    else:
        knowledge.load(name, STRUCTS[kind])


@pytest.mark.parametrize("name", FILES)
def test_a_file_satisfies_the_schema_of_its_kind(name: str) -> None:
    check(name, knowledge.text(name))


def test_each_kind_has_a_file() -> None:
    assert {kind_of(name) for name in FILES} == {*STRUCTS, *PARSERS}


def test_no_name_stands_twice_in_a_list() -> None:
    for name in ("variables", "secrets", "rank_variables"):
        for field, words in knowledge.load(name, dict[str, Union[int, list[str]]]).items():
            assert isinstance(words, int) or len(set(words)) == len(words), field


def test_settings_of_the_allocator_are_variables_of_communication() -> None:
    """As in the native program: MPI copies large arrays through memory that it allocates."""
    kept = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "MALLOC_ARENA_MAX": "1", "UCX_TLS": "sm"}
    system: Any = SimpleNamespace(environment={**kept, "HOME": "/", "OMPI_MCA_ess": "env"})
    assert communication_variables(system) == kept
