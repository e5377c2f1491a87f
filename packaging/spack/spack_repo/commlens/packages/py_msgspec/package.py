# Copyright: the authors of commlens. License: BSD-3-Clause.

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyMsgspec(PythonPackage):
    """Serialization and validation of JSON, MessagePack, YAML and TOML. Spack's own repository does
    not have it."""

    homepage = "https://jcristharif.com/msgspec/"
    pypi = "msgspec/msgspec-0.20.0.tar.gz"

    license("BSD-3-Clause")

    version("0.20.0", sha256="692349e588fde322875f8d3025ac01689fead5901e7fb18d6870a44519d62a29")

    depends_on("c", type="build")
    depends_on("python@3.9:", type=("build", "link", "run"))
    depends_on("py-setuptools@80:", type="build")
    depends_on("py-setuptools-scm@8:", type="build")
