# Copyright: the authors of commlens. License: BSD-3-Clause.

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage


class Commlens(CMakePackage, CudaPackage, ROCmPackage):
    """Measures what an application's communication costs on a GPU machine, and how far that is from
    what the machine can do."""

    # No release has been published yet: the sources are a checkout, by `spack develop`.
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
        for arch in CudaPackage.cuda_arch_values:
            depends_on(f"nccl cuda_arch={arch}", when=f"+ccl cuda_arch={arch}")
    with when("+rocm"):
        depends_on("hip")
        depends_on("hipblas")
        depends_on("hipfft")
        depends_on("rccl", when="+ccl")
    with when("+python"):
        extends("python")
        depends_on("py-pip", type="build")
        depends_on("py-scikit-build-core@0.11:", type="build")
        with default_args(type="run"):
            depends_on("python@3.9:")
            depends_on("py-click@8.1:")
            depends_on("py-jinja2@3.1:")
            depends_on("py-matplotlib@3.7:")
            depends_on("py-msgspec@0.18:")
            depends_on("py-numpy@1.23:")
            depends_on("py-packaging@22:")
            depends_on("py-psutil@5.9:")
            depends_on("py-pyelftools@0.29:")
            depends_on("py-pyyaml@6:")
            depends_on("py-rich@13:")
            depends_on("py-scipy@1.9:")

    def cmake_args(self):
        spec = self.spec
        gpu = "cuda" if spec.satisfies("+cuda") else "hip" if spec.satisfies("+rocm") else "none"
        args = [
            self.define("COMMLENS_GPU", gpu),
            self.define("COMMLENS_TESTS", False),
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
            install = ("-m", "pip", "install", "--no-deps", "--no-build-isolation")
            without_native = "--config-settings=wheel.cmake=false"
            python(*install, without_native, f"--prefix={prefix}", self.stage.source_path)
