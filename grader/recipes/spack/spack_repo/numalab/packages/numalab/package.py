"""numalab's own installer, on compilers and libraries of Spack."""

from pathlib import Path

from spack.package import Executable, depends_on, join_path, license, variant, version
from spack_repo.builtin.build_systems.generic import Package


class Numalab(Package):
    """Labs on NUMA, OpenMP and MPI performance, and their grader."""

    homepage = "https://github.com/YOUR-ORGANISATION/numalab"
    # A tarball of the checkout, in the folder where spack is called:
    #   git archive --prefix=numalab-0.2.0/ -o numalab-0.2.0.tar.gz HEAD
    url = f"file://{Path.cwd()}/numalab-0.2.0.tar.gz"
    manual_download = True

    license("BSD-3-Clause AND CC-BY-4.0")

    version("0.2.0")  # without a checksum, since the tarball is your own: --no-checksum

    variant("notebooks", default=True, description="Install JupyterLab")
    variant("virtual_nodes", default=True, description="Boot virtual nodes with QEMU")

    # Students compile with these, too.
    depends_on("c", type=("build", "run"))
    depends_on("fortran", type=("build", "run"))
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("cmake@3.25:", type=("build", "run"))
    depends_on("ninja", type=("build", "run"))
    depends_on("pkgconf", type=("build", "run"))
    depends_on("binutils", type=("build", "run"))
    depends_on("hwloc@2:", type=("build", "link", "run"))
    depends_on("numactl", type=("build", "link", "run"))
    depends_on("jansson", type=("build", "link", "run"))
    depends_on("llvm-openmp", type=("build", "link", "run"))
    depends_on("mpich", type=("build", "link", "run"))
    depends_on("qemu", type=("build", "run"), when="+virtual_nodes")

    def install(self, spec, prefix):
        # Python packages come from PyPI as pinned, or from PIP_INDEX_URL, PIP_FIND_LINKS.
        more = [] if spec.satisfies("+notebooks") else ["--without-notebooks"]
        Executable("./numalab")("install", "--prefix", prefix, *more)

    def setup_run_environment(self, env):
        kit = self.prefix.share.numalab
        env.set("NUMALAB_KIT", kit)
        env.prepend_path("JUPYTER_PATH", join_path(kit, ".venv", "share", "jupyter"))
