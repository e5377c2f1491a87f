"""Machines for cases: one with which nothing is wrong, others like it but for one thing, and
recorded ones; and what cases/*.yaml makes of them.

Of a rule on machines a file has what it `speaks` of, where it is `silent`, and to what it is
`not_applicable`, each by name; `also` is a set of cases that several have. A case is the sound
machine with other variables, by their names, and other values, by their paths. Keys of its own are

- `machine: cray`: that of Cray MPICH
- `second`: another node, with its changes; `nodes`: how many were asked for
- `runs`: how short runs ended; `placed`: on which GPUs their ranks were
- `recorded`: a machine in captured/machine, with the changes of `machine_helpers.recorded`;
  `modules`: of those that matter; `ranks`: of a short run
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple, Optional, Union, get_args, get_origin

import msgspec

from commlens.findings.behaviour import Behaviour, Failure
from commlens.findings.rule import RuleOutcome, rules_on_machines
from commlens.findings.view import View
from commlens.jobs.probe import ProbeVerdict
from commlens.machine import cpus, gpu_drivers, kernel, links, nics
from commlens.machine.cpus import CpuView
from commlens.machine.gpus import DeviceView
from commlens.machine.kernel import Limit, LimitView, SharedMemory
from commlens.machine.machine import Machine
from commlens.machine.messaging import NcclView, UcxView
from commlens.machine.mpi import MpiLauncher, MpiLibrary, MpiView, OpenMpi
from commlens.machine.system import Output
from machine_helpers import RecordedSystem, recorded
from record_helpers import parsed
from rule_records import placement
from run_helpers import table
from sample_records import make_record

_CASES = Path(__file__).resolve().parent / "cases"
_CHANGED = TemporaryDirectory(prefix="commlens-tests-")  # files of machines that were changed
_GIB = 2**30
_MODULES = ("nvidia_peermem", "nv_peer_mem", "gdrdrv", "knem", "xpmem")
_CRAY = {
    "mpi.library": MpiLibrary(
        "/opt/cray/lib/libmpi_cray.so.12", "MPI VERSION : CRAY MPICH version 8.1.28", "cray"
    ),
    "mpi.open_mpi": None,
}


def limit(soft: int | None) -> Limit:
    return Limit(soft, None, f"Max {soft}")


SOUND = Machine(
    host="node01",
    devices=DeviceView(nvidia_gpus=2, rdma=("mlx5_0",)),
    limits=LimitView(
        locked_memory=limit(None),
        open_files=limit(65536),
        stack=limit(8 * 2**20),
        address_space=limit(None),
        processes=limit(100_000),
        shared_memory=SharedMemory(256 * _GIB, 255 * _GIB, "tmpfs", is_writable=True),
    ),
    cpus=CpuView(allowed="0-31"),
    mpi=MpiView(
        program="/opt/app/program",
        library=MpiLibrary("/opt/ompi/lib/libmpi.so.40", "Open MPI v5.0.7, package", "openmpi"),
        launchers=(
            MpiLauncher(
                "/opt/ompi/bin/mpirun", "Open MPI", "mpirun (Open MPI) 5.0.7", ("openmpi",)
            ),
        ),
        open_mpi=OpenMpi(
            "5.0.7",
            "true",
            {
                "pml": ("ob1", "ucx"),
                "btl": ("self", "sm", "smcuda"),
            },
            values={"coll_ucc_enable": "true"},
        ),
    ),
    ucx=UcxView(
        library="/opt/ucx/lib/libucp.so.0",
        version="1.18.0",
        modules=("uct_ib", "uct_cuda", "uct_cuda_gdrcopy"),
        transports=("self", "tcp", "posix", "rc_mlx5", "cuda_copy", "cuda_ipc", "gdr_copy"),
    ),
    nccl=NcclView("/opt/nccl/lib/libnccl.so.2", "2.28.3"),
)


class Cases(NamedTuple):
    """Of one rule, by name: views in which it reports something, others in which it does not, and
    those for which it is not applicable. Where the latter are given, the others are `ok`."""

    speaks: Mapping[str, Callable[[], Any]]  # a View, or records or a profile to make one of
    silent: Mapping[str, Callable[[], Any]]
    not_applicable: Mapping[str, Callable[[], Any]] = MappingProxyType({})


def changed(machine: Any, path: str, value: object) -> Any:
    """`mpi.open_mpi.version`"""
    name, _, rest = path.partition(".")
    part = changed(getattr(machine, name), rest, value) if rest else value
    return msgspec.structs.replace(machine, **{name: part})


def machine(changes: Mapping[str, Any] = MappingProxyType({}), host: str = "node01") -> Machine:
    """A sound one, but for what is named: variables and paths."""
    variables = {name: value for name, value in changes.items() if name[0].isupper()}
    result: Machine = changed(changed(SOUND, "host", host), "environment", variables)
    for path in [name for name in changes if name not in variables]:
        result = changed(result, path, changes[path])
    return result


def cray() -> Machine:
    return machine(_CRAY)


def outcome(code: str, view: View) -> RuleOutcome:
    """Of the rule on machines with this code."""
    return next(rule for rule in rules_on_machines() if rule.code == code).outcome(view)


def recorded_machine(
    name: str,
    ranks: Mapping[str, Any] | None = None,
    modules: Sequence[str] | None = None,
    ucx: Any = None,
    **changes: Any,
) -> View:
    """A view of one recorded machine, on which nothing was started but these ranks."""
    if modules is not None:
        listed = "".join(f"{module} 1 0 - Live 0x0\n" for module in ("nvidia", *modules))
        gone = [f"/sys/module/{module}" for module in _MODULES if module not in modules]
        files = {"/proc/modules": listed, **changes.get("files", {})}
        changes = {**changes, "files": files, "absent": [*changes.get("absent", ()), *gone]}
    folder = Path(_CHANGED.name) / str(len(list(Path(_CHANGED.name).iterdir())))
    folder.mkdir()
    system = recorded(folder, name, **changes)
    node = msgspec.structs.replace(
        _seen_in_files(system.folder),
        gpus=gpu_drivers.look(system),
        links=links.look(system),
        ucx=msgspec.convert(ucx or {}, UcxView, strict=False),
    )
    records = parsed(_record(**ranks)) if ranks else []
    return View(machines=[node], behaviour=Behaviour(records=records, why_none=""))


@cache
def _seen_in_files(folder: Path) -> Machine:
    """What needs no command: many tests have the same files."""
    system = RecordedSystem(folder)
    return Machine(
        host="node01", nics=nics.look(system), cpus=cpus.look(system), kernel=kernel.look(system)
    )


def _record(
    cores: Sequence[str],
    numa: str = "0",
    gpus: Sequence[str] = (),
    host: str = "node01",
    nodes: str = "1",
) -> dict[str, Any]:
    """Of a run with these ranks on one node, and one on each of the others."""
    places: list[dict[str, Any]] = [{"host": host, "cores": core, "numa_nodes": numa}
                                    for core in cores]  # fmt: skip
    for place, gpu in zip(places, gpus):
        place["device"] = {
            "ordinal": int(gpu), "name": "Tesla V100-PCIE-16GB", "numa_node": int(gpu), "pci": "",
            "uuid": f"GPU-0a3000000000400080000000000000{int(gpu):02d}", "memory_bytes": 1 << 34,
        }  # fmt: skip
    places += [{"host": f"other{number}", "cores": "0", "numa_nodes": "0"}
               for number in range(int(nodes) - 1)]  # fmt: skip
    numbered = [{"rank": rank, **place} for rank, place in enumerate(places)]
    return make_record(placement=numbered, ranks=len(places), nodes=int(nodes))


def _placed(gpus: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Ranks on the GPUs with these numbers, as the rank sees them, and these names."""
    count = len(gpus)
    places = placement(["0-7"] * count, ["0"] * count, range(count), [0] * count)
    for place, (ordinal, uuid) in zip(places, gpus):
        place["device"].update(ordinal=int(ordinal), uuid=uuid)
    return make_record(memory="device", ranks=count, placement=places)


def _typed(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Values of paths as their structs have them."""
    typed: dict[str, Any] = {}
    for path, value in changes.items():
        kind: Any = str if path[0].isupper() else Machine
        for name in () if path[0].isupper() else path.split("."):
            whole = [option for option in get_args(kind) if option is not type(None)]
            struct = whole[0] if get_origin(kind) is Union else kind
            kinds = {field.name: field.type for field in msgspec.structs.fields(struct)}
            kind = kinds[name]
        typed[path] = msgspec.convert(value, kind, strict=False)
    return typed


def view(case: Mapping[str, Any] = MappingProxyType({})) -> View:
    """What a case describes."""
    changes = dict(case)
    if name := changes.pop("recorded", ""):
        outputs = changes.pop("outputs", {}).items()
        changes["outputs"] = {
            command: text
            if isinstance(text, str)
            else msgspec.convert({"command": command, **text}, Output, strict=False)
            for command, text in outputs
        }
        return recorded_machine(name, **changes)
    nodes, second = int(changes.pop("nodes", 1)), changes.pop("second", None)
    runs, gpus = changes.pop("runs", None), changes.pop("placed", None)
    preset = _CRAY if changes.pop("machine", "") else {}
    machines = [machine({**preset, **_typed(changes)})]
    if second is not None:
        machines.append(machine(_typed(second), host="node02"))
    behaviour = None
    if gpus:
        behaviour = Behaviour(records=parsed(_placed(gpus)), why_none="")
    elif runs is not None:
        behaviour = Behaviour(
            failures=msgspec.convert(runs.get("failures", []), list[Failure], strict=False),
            verdict=msgspec.convert(runs.get("verdict"), Optional[ProbeVerdict]),
            why_none="",
        )
    return View(machines=machines, behaviour=behaviour, nodes=nodes)


@cache
def cases_of(name: str) -> dict[str, Cases]:
    """Those of a file, by the code of their rule."""
    file = table(_CASES / f"{name}.yaml", "BaseLoader")

    def made(cases: dict[str, Any]) -> dict[str, Callable[[], View]]:
        shared = file["sets"][cases.pop("also")] if "also" in cases else {}
        return {title: partial(view, case) for title, case in {**shared, **cases}.items()}

    return {
        code: Cases(**{kind: made(cases) for kind, cases in rule.items()})
        for code, rule in file["rules"].items()
    }
