# Copyright: the authors of commlens. License: BSD-3-Clause.

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage


class Commlens(CMakePackage, CudaPackage, ROCmPackage):
    """Measures what an application's communication costs on a GPU machine, and how far that is from
    what the machine can do."""

    # No release has been published yet: `spack dev-build`, or `spack develop`, in a checkout.
    version("main")

    license("BSD-3-Clause")

    variant("ccl", default=True, description="the transport over NCCL or RCCL")
    variant("hypre", default=True, description="hypre as a coarse solver of bps5")
    variant("python", default=True, description="the command `commlens`, besides commlens-bench")

    conflicts("+cuda", when="+rocm", msg="a build has one GPU backend")
    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=90")
    conflicts("amdgpu_target=none", when="+rocm", msg="name the GPUs: amdgpu_target=gfx90a")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("mpi")
    depends_on("blas")
    depends_on("lapack")
    depends_on("fftw-api@3")
    depends_on("fmt")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")

    with when("+hypre"):
        depends_on("hypre+mpi")
    with when("+cuda"):
        depends_on("cuda@12:")
        depends_on("nccl", when="+ccl")
    with when("+rocm"):
        depends_on("hip")
        depends_on("hipblas")
        depends_on("hipfft")
        depends_on("rccl", when="+ccl")
    with when("+python"):
        extends("python")
        depends_on("python@3.9:", type="run")
        depends_on("py-pip", type="build")
        depends_on("py-scikit-build-core", type="build")
        for name in (
            "click@8.1:",
            "jinja2@3.1:",
            "matplotlib@3.7:",
            "msgspec@0.18:",
            "numpy@1.23:",
        ):
            depends_on(f"py-{name}", type="run")
        for name in (
            "packaging@22.0:",
            "psutil@5.9:",
            "pyelftools@0.29:",
            "pyyaml@6:",
            "rich@13:",
            "scipy@1.9:",
        ):
            depends_on(f"py-{name}", type="run")

    def cmake_args(self):
        spec = self.spec
        gpu = "cuda" if spec.satisfies("+cuda") else "hip" if spec.satisfies("+rocm") else "none"
        args = [
            self.define("COMMLENS_GPU", gpu),
            self.define("COMMLENS_TESTS", self.run_tests),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_CCL", not spec.satisfies("+ccl")),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_HYPRE", not spec.satisfies("+hypre")),
            self.define("FETCHCONTENT_FULLY_DISCONNECTED", True),
        ]
        if gpu == "cuda":
            args.append(self.builder.define_cuda_architectures(self))
        elif gpu == "hip":
            args.append(self.builder.define_hip_architectures(self))
        return args

    def install(self, spec, prefix):
        """commlens-bench, and the Python package beside it, which finds it on the PATH."""
        cmake = which("cmake", required=True)
        cmake("--install", self.builder.build_directory, "--component", "native")
        if spec.satisfies("+python"):
            pip = which("python3", required=True)
            args = [f"--config-settings=cmake.define.{arg[2:]}" for arg in self.cmake_args()]
            pip(
                "-m",
                "pip",
                "install",
                "--no-deps",
                "--no-build-isolation",
                f"--prefix={prefix}",
                *args,
                self.stage.source_path,
            )
