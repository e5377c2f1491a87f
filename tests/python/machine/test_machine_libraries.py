"""What is made of the files and outputs of machines: all of them were recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from commlens.machine import gpus, kernel, libraries, machine, messaging, mpi
from commlens.machine.libraries import ASK, FileSetting, numbers_in, resolved
from commlens.machine.mpi import MpiLibrary, MpiView
from commlens.machine.system import Output, System
from conftest import captured
from machine_helpers import RecordedSystem
from run_helpers import cases

INFO = "ompi_info --all --parsable"
LDD = "\tlinux-vdso.so.1 (0x00007ff)\n\tlibmpi.so.40 => /opt/ompi/lib/libmpi.so.40 (0x00007f)\n"
LIBMPI, LIBUCP = "/opt/ompi/lib/libmpi.so.40", "/opt/ucx/lib/libucp.so.0"


def asked(library: str, kind: str) -> str:
    return f"{sys.executable} -c {ASK} {library} {kind}"


def files(folder: Path, *names: str, **texts: str) -> None:
    for name, text in {**dict.fromkeys(names, ""), **texts}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def system(folder: Path, outputs: dict[str, Output | str], **environment: str) -> RecordedSystem:
    return RecordedSystem(folder, outputs, environment)


def info(version: str, error: str = "") -> Output:
    """With as many parameters as there are, of which the samples have a few."""
    more = "".join(f"mca:x:y:param:filler_{number}:value:1\n" for number in range(600))
    return Output(INFO, captured(f"ompi-info-{version}") + more, error)


def open_mpi_5(folder: Path, **environment: str) -> RecordedSystem:
    outputs: dict[str, Output | str] = {
        INFO: info("5.0.7", captured("ompi-info-5.0.7-error")),
        "ldd /opt/app": LDD + f"\tlibucp.so.0 => {LIBUCP} (0x0)\n\tlibx.so => not found\n",
        asked(LIBMPI, "mpi"): "Open MPI v5.0.7, package: Open MPI, ident: 5.0.7\n",
        asked(LIBUCP, "ucx"): "1.22.0\n",
        "ucx_info -v": captured("ucx-info-v-1.22"),
        "ucx_info -d": captured("ucx-info-d-1.22"),
        "ucx_info -b": captured("ucx-info-b-1.22"),
        "ucx_info -caf": captured("ucx-info-caf-1.22"),
        f"ldd {folder}": "",
        "ldd /opt/ucx/lib/ucx/libuct_cuda.so": "\tlibcuda.so.1 => not found\n",
        "/opt/ompi/bin/mpirun --version": captured("mpirun-version-open-mpi-5"),
    }
    files(folder, "opt/ucx/lib/ucx/libuct_cuda.so", "opt/ucx/lib/ucx/libuct_cma.so",
          "opt/ompi/bin/mpirun")  # fmt: skip
    return system(folder, outputs, PATH="/opt/ompi/bin", **environment)


def test_open_mpi_5(tmp_path: Path) -> None:
    view = mpi.look(open_mpi_5(tmp_path), "/opt/app")
    assert view.library == MpiLibrary(
        LIBMPI, "Open MPI v5.0.7, package: Open MPI, ident: 5.0.7", "openmpi"
    )
    assert view.library.name == "Open MPI v5.0.7" and view.missing == ("libx.so",)
    open_mpi = view.open_mpi
    assert open_mpi and open_mpi.version == "5.0.7" and open_mpi.gpu_support == "true"
    assert open_mpi.has("pml", "ucx") and open_mpi.has("btl", "smcuda")
    assert "libcuda.so.1" in open_mpi.unloadable["accelerator_cuda"]
    (launcher,) = view.launchers
    assert (launcher.name, launcher.version) == ("Open MPI", "mpirun (Open MPI) 5.0.7")


def test_ompi_info_of_another_open_mpi_is_not_believed(tmp_path: Path) -> None:
    outputs: dict[str, Output | str] = {
        INFO: info("4.1.4"),
        "ldd /opt/app": LDD,
        asked(LIBMPI, "mpi"): "Open MPI v5.0.7, package: Open MPI, ident: 5.0.7\n",
    }
    assert mpi.look(system(tmp_path, outputs), "/opt/app").open_mpi is None
    outputs["/opt/ompi/bin/ompi_info --all --parsable"] = info("5.0.7")
    open_mpi = mpi.look(system(tmp_path, outputs), "/opt/app").open_mpi
    assert open_mpi is not None and open_mpi.version == "5.0.7"


def test_open_mpi_4_with_a_file_of_settings(tmp_path: Path) -> None:
    open_mpi = mpi.parse_info(info("4.1.4"), system(tmp_path, {}))
    assert open_mpi.version == "4.1.4" and open_mpi.gpu_support == "false"
    place = "/etc/openmpi/openmpi-mca-params.conf"
    assert FileSetting("btl", "^uct,openib,ofi", f"{place}:68") in open_mpi.from_files
    assert open_mpi.values["pml"] == "^ucx"


@pytest.mark.parametrize(("name", "near"), cases("unknown parameters"))
def test_a_parameter_that_open_mpi_does_not_know(tmp_path: Path, name: str, near: str) -> None:
    open_mpi = mpi.parse_info(info("5.0.7"), system(tmp_path, {}, **{name: "1"}))
    assert [(variable.name, variable.near) for variable in open_mpi.unknown] == [(name, near)]


def test_parameters_that_it_knows_or_passes_on(tmp_path: Path) -> None:
    names = ("OMPI_MCA_pml", "OMPI_MCA_opal_common_ucx_tls", "OMPI_MCA_plm_rsh_agent")
    here = system(tmp_path, {}, **dict.fromkeys(names, "1"))
    assert mpi.parse_info(info("5.0.7"), here).unknown == ()


def test_names_that_are_alike_and_no_mistakes() -> None:
    known = {"UCX_UD_TIMEOUT", "UCX_TLS"}
    variables = {"UCX_RC_TIMEOUT": "1", "UCX_TSL": "x"}
    unknown = libraries.unknown_variables(variables, "UCX_", known, "UCX")
    near = {variable.name: variable.near for variable in unknown}
    assert near == {"UCX_RC_TIMEOUT": "", "UCX_TSL": "UCX_TLS"}


def test_no_name_is_unknown_where_not_all_are_listed(tmp_path: Path) -> None:
    short = Output(INFO, captured("ompi-info-5.0.7"))
    assert mpi.parse_info(short, system(tmp_path, {}, OMPI_MCA_pmll="1")).unknown == ()


@pytest.mark.parametrize(("sample", "name", "version"), cases("versions of launchers"))
def test_whose_launcher_it_is(sample: str, name: str, version: list[int]) -> None:
    output = Output("mpirun --version", captured(f"mpirun-version-{sample}"))
    launcher = mpi.parse_launcher("/bin/mpirun", output)
    assert launcher.name == name and list(numbers_in(launcher.version)) == version


@pytest.mark.parametrize(("text", "family"), cases("families of MPI"))
def test_families(text: str, family: str) -> None:
    assert mpi.family_of(text) == family


def test_launchers_that_are_links_count_once(tmp_path: Path) -> None:
    files(tmp_path, "usr/bin/mpirun", "opt/mpich/bin/mpirun")
    (tmp_path / "bin").symlink_to("usr/bin")
    outputs: dict[str, Output | str] = {
        "/usr/bin/mpirun --version": captured("mpirun-version-open-mpi-4"),
        "/opt/mpich/bin/mpirun --version": captured("mpirun-version-mpich"),
    }
    view = mpi.look(system(tmp_path, outputs, PATH="/usr/bin:/bin:/opt/mpich/bin:/none"))
    paths = [launcher.path for launcher in view.launchers]
    assert paths == ["/usr/bin/mpirun", "/opt/mpich/bin/mpirun"]


def test_other_libraries_in_the_search_path(tmp_path: Path) -> None:
    files(tmp_path, "opt/mpich/lib/libmpich.so.12", "opt/ompi/lib/libmpi.so.40")
    outputs: dict[str, Output | str] = {"ldd /opt/app": LDD, asked(LIBMPI, "mpi"): "Open MPI v5"}
    folders = "/opt/ompi/lib:/opt/mpich/lib"
    view = mpi.look(system(tmp_path, outputs, LD_LIBRARY_PATH=folders), "/opt/app")
    assert view.others == ("/opt/mpich/lib/libmpich.so.12",)


def test_slurm_is_asked_in_its_allocations(tmp_path: Path) -> None:
    outputs: dict[str, Output | str] = {"srun --mpi=list": "\tpmi2\n"}
    assert mpi.look(system(tmp_path, outputs)).pmix == ""
    assert mpi.look(system(tmp_path, outputs, SLURM_JOB_ID="1")).pmix == "\tpmi2\n"


def test_ucx_as_mpi_loads_it(tmp_path: Path) -> None:
    files(tmp_path, "usr/lib/libgdrapi.so.2")
    here = open_mpi_5(tmp_path, UCX_TSL="x", UCX_TLS="all", LD_LIBRARY_PATH="/usr/lib")
    ucx = messaging.look_at_ucx(here, mpi.look(here, "/opt/app"))
    assert (ucx.library, ucx.version) == (LIBUCP, "1.22.0")
    assert "--with-cuda=/usr/local/cuda" in ucx.configured
    assert ucx.modules == ("uct_cma", "uct_cuda")
    assert ucx.missing == {"uct_cuda": ("libcuda.so.1",)}
    assert ucx.transports == ("self", "tcp", "sysv", "posix", "cma")
    assert ucx.gdrcopy == "/usr/lib/libgdrapi.so.2"
    assert [(variable.name, variable.near) for variable in ucx.unknown] == [("UCX_TSL", "UCX_TLS")]


def test_an_older_ucx_info_says_its_version_alone(tmp_path: Path) -> None:
    for library, version, matches in (("1.13.1\n", "1.13.1", True), ("1.22.0\n", "1.22.0", False)):
        outputs: dict[str, Output | str] = {
            asked(LIBUCP, "ucx"): library,
            "ucx_info -v": captured("ucx-info-v-1.13"),
            "ucx_info -d": captured("ucx-info-d-1.13"),
        }
        view = MpiView(libraries={"libucp.so.0": LIBUCP})
        ucx = messaging.look_at_ucx(system(tmp_path, outputs), view)
        assert ucx.version == version and (ucx.transports is not None) == matches
        assert ("another UCX" in ucx.why_not_seen) != matches


def test_ucx_of_a_component_that_is_loaded_later(tmp_path: Path) -> None:
    outputs: dict[str, Output | str] = {
        f"ldd {LIBMPI}": "\tlibopen-pal.so.40 => /opt/ompi/lib/libopen-pal.so.40 (0x0)\n",
        "ompi_info --path pkglibdir --parsable": "path:pkglibdir:/opt/ompi/lib/openmpi\n",
        "ldd /opt/ompi/lib/openmpi/mca_pml_ucx.so": f"\tlibucp.so.0 => {LIBUCP} (0x0)\n",
        asked(LIBUCP, "ucx"): "1.13.1\n",
    }
    ucx = messaging.look_at_ucx(system(tmp_path, outputs), MpiView(library=MpiLibrary(LIBMPI)))
    assert ucx.library == LIBUCP and ucx.why_not_seen == "ucx_info: not installed"
    assert ucx.modules is None and ucx.transports is None


def test_nccl_and_its_files(tmp_path: Path) -> None:
    shared, user_file = "# all\nNCCL_P2P_DISABLE=1\nNCCL_DEBUG=WARN\n", "NCCL_DEBUG=INFO\n"
    files(tmp_path, **{"etc/nccl.conf": shared, "home/me/.nccl.conf": user_file})
    path = "/opt/nccl/libnccl.so.2"
    here = system(tmp_path, {asked(path, "nccl"): "22803\n"}, HOME="/home/me", NCCL_ALOG="Ring",
                  NCCL_PROTO="LL")  # fmt: skip
    nccl = messaging.look_at_nccl(here, MpiView(libraries={"libnccl.so.2": path}))
    assert nccl.version == "2.28.3"
    assert {setting.name: (setting.value, setting.place) for setting in nccl.from_files} == {
        "NCCL_DEBUG": ("INFO", "/home/me/.nccl.conf:1"),
        "NCCL_P2P_DISABLE": ("1", "/etc/nccl.conf:2"),
    }
    assert [(entry.name, entry.near) for entry in nccl.unknown] == [("NCCL_ALOG", "NCCL_ALGO")]


def test_the_number_of_nccl() -> None:
    assert list(map(messaging.version_text, ("22803", "2804", "x"))) == ["2.28.3", "2.8.4", ""]


def test_limits_and_shared_memory(tmp_path: Path) -> None:
    of_process, of_folder = cases("limits and shared memory")
    files(tmp_path, **{"proc/self/limits": of_process})
    command = "test -w /dev/shm"
    outputs = {"df -Pk /dev/shm": of_folder, command: Output(command, status=1)}
    limits = kernel.look_at_limits(system(tmp_path, outputs))
    assert limits.stack and (limits.stack.soft, limits.stack.hard) == (8 << 20, None)
    assert limits.locked_memory and limits.locked_memory.line == "Max locked memory 65536 65536"
    assert limits.open_files is None
    assert limits.shared_memory and limits.shared_memory.bytes == 64 << 20
    assert not limits.shared_memory.is_writable


@pytest.mark.parametrize(("groups", "folder", "limit", "used"), cases("memory of groups"))
def test_memory_of_a_group_or_of_those_around_it(
    tmp_path: Path, groups: str, folder: str, limit: str, used: str
) -> None:
    values = {f"{folder}/{limit}": "4294967296\n", f"{folder}/{used}": "4096\n"}
    files(tmp_path, **{"proc/self/cgroup": groups, **values})
    memory = kernel.look_at_limits(system(tmp_path, {})).cgroup_memory
    assert memory == kernel.CgroupMemory(4 << 30, 4096, f"/{folder}/{limit}")
    statistics = "anon 96\nactive_file 3000\ninactive_file 1000\n"
    files(tmp_path, **{f"{folder}/memory.stat": statistics})
    memory = kernel.look_at_limits(system(tmp_path, {})).cgroup_memory
    assert memory and memory.used == 96
    (tmp_path / folder / limit).write_text("max\n")
    assert kernel.look_at_limits(system(tmp_path, {})).cgroup_memory is None


def test_devices(tmp_path: Path) -> None:
    files(tmp_path, "dev/nvidia0", "dev/nvidia1", "dev/nvidiactl", "dev/kfd",
          "sys/class/infiniband/mlx5_0/x", "sys/class/infiniband/hfi1_0/x")  # fmt: skip
    nodes = "sys/class/kfd/kfd/topology/nodes"
    for node, count in (("0", 0), ("1", 440)):
        text = f"cpu_cores 0\nsimd_count {count}\n"
        files(tmp_path, **{f"{nodes}/{node}/properties": text})
    devices = gpus.count_devices(system(tmp_path, {}))
    assert (devices.nvidia_gpus, devices.amd_gpus, devices.gpus) == (2, 1, 3)
    assert devices.rdma == ("hfi1_0", "mlx5_0") and devices.mellanox == ("mlx5_0",)
    assert gpus.count_devices(system(tmp_path / "none", {})).gpus == 0


def test_the_environment_has_settings_of_communication_and_no_secret() -> None:
    variables = {
        "UCX_TLS": "all", "HOME": "/root", "NCCL_API_KEY": "x1", "OMP_NUM_THREADS": "2",
        "OMPI_MCA_orte_hnp_uri": "1.0;tcp://10.0.0.1:4242", "OMPI_MCA_ess_base_vpid": "1",
    }  # fmt: skip
    kept = libraries.communication_variables(System(variables))
    assert kept == {"NCCL_API_KEY": "***", "OMP_NUM_THREADS": "2", "UCX_TLS": "all"}


def test_links_are_followed_to_the_end(tmp_path: Path) -> None:
    files(tmp_path, "opt/a-1/lib/libx.so.1")
    (tmp_path / "opt/a").symlink_to("a-1")
    (tmp_path / "opt/a-1/lib/libx.so").symlink_to("libx.so.1")
    (tmp_path / "opt/loop").symlink_to("loop")
    here = system(tmp_path, {})
    assert resolved(here, "/opt/a/lib/libx.so") == "/opt/a-1/lib/libx.so.1"
    assert resolved(here, "/opt/loop")


def test_a_machine_of_which_nothing_can_be_seen(tmp_path: Path) -> None:
    view = machine.look(system(tmp_path, {}), "/opt/app")
    assert view.mpi.library is None and view.ucx.library == "" and view.limits.stack is None
    assert view.host and sys.executable
