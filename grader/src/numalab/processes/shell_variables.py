"""Variables of the shell that reach the processes that numalab starts, by receiver.

Observers, which describe machines or watch, time or run kernels, get OBSERVER_VARIABLES. Others get
the user's environment without rows of LEFT_OUT. A list of what they need would not be complete:
compilers of Cray, Intel and NVIDIA (CRAY_*, CRAYPE_*, PE_*, ONEAPI_ROOT, NVHPC*), modules (LMOD_*,
MODULE*, EBROOT*, CONDA_PREFIX, SPACK_*, CPATH, LIBRARY_PATH, COMPILER_PATH, GCC_EXEC_PREFIX,
PKG_CONFIG_PATH, OPAL_PREFIX, CC, FC, LDFLAGS), licences (LM_LICENSE_FILE), proxies, CCACHE_DIR.

In the tables a name with a * stands for all names with that beginning and end.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

Steers = Literal["topology", "placement", "threads", "messages", "job", "code", "build"]

OBSERVER_VARIABLES: Mapping[str, str] = {
    "PATH": "finds taskset, mpiexec and binutils",
    "LD_LIBRARY_PATH": "finds what modules, conda and Spack have of OpenMP, hwloc and MPI",
    "HOME": "MPI libraries and QEMU look for it",
    "USER": "names shared memory in MPI libraries where a container knows no user",
    "LOGNAME": "as USER",
    "TMPDIR": "has room where /tmp has none",
    "I_MPI_ROOT": "finds Intel MPI's own files",
    "FI_PROVIDER_PATH": "finds the libraries of Intel MPI's libfabric",
    "PYTEST_PROCESS": "by which the suite finds and ends what a failed test has left",
}


@dataclass(frozen=True)
class Row:
    """Variables that are left out for one reason."""

    steers: Steers  # what they steer
    names: str  # the variables, separated by blanks
    why: str  # the reason


# Names that match a row of LEFT_OUT and don't count as such.
KEPT: Mapping[str, str] = {
    "LD_LIBRARY_PATH LD_RUN_PATH": "modules say by them where libraries are",
    "CMAKE_PREFIX_PATH CMAKE_INCLUDE_PATH CMAKE_LIBRARY_PATH CMAKE_PROGRAM_PATH": "as above",
    "I_MPI_ROOT FI_PROVIDER_PATH": "they say where Intel MPI is",
    "SLURM_CONF SLURM_CLUSTERS": "they say which Slurm is asked",
}

LEFT_OUT: tuple[Row, ...] = (
    Row("topology", "HWLOC_*", "hwloc describes another machine by them, or parts of this one"),
    Row("topology", "KMP_CPUINFO_FILE KMP_TOPOLOGY_METHOD", "libomp sees other cores by them"),
    Row(
        "placement",
        "OMP_NUM_THREADS OMP_THREAD_LIMIT OMP_DYNAMIC OMP_PLACES OMP_PROC_BIND OMP_NUM_TEAMS "
        "OMP_TEAMS_THREAD_LIMIT",
        "policies and labs say how many threads there are, and where",
    ),
    Row(
        "placement",
        "KMP_AFFINITY KMP_HW_SUBSET KMP_PLACE_THREADS KMP_ALL_THREADS KMP_DEVICE_THREAD_LIMIT "
        "GOMP_CPU_AFFINITY MP_BIND MP_BLIST NCPUS",
        "runtimes place threads by them, whatever OMP_PLACES says",
    ),
    Row(
        "placement",
        "HYDRA_BINDING HYDRA_MAPPING HYDRA_MEMBIND HYDRA_TOPOLIB HYDRA_HOST_FILE I_MPI_PIN* "
        "I_MPI_HYDRA_HOST_FILE I_MPI_HYDRA_TOPOLIB I_MPI_PERHOST MV2_CPU_* MV2_ENABLE_AFFINITY "
        "MV2_HYBRID_* MPICH_RANK_REORDER_* OMPI_MCA_hwloc_* OMPI_MCA_rmaps_* "
        "OMPI_MCA_orte_default_hostfile OMPI_MCA_mpi_paffinity_alone PRTE_MCA_hwloc_* "
        "PRTE_MCA_rmaps_* PRTE_MCA_prte_default_hostfile",
        "launchers place ranks by them, against the policy",
    ),
    Row(
        "placement",
        "SLURM_CPU_BIND* SLURM_MEM_BIND* SLURM_HINT SLURM_DISTRIBUTION SLURM_DIST_*",
        "srun takes those of the step that numalab runs in for its own options",
    ),
    Row(
        "placement",
        "PMI_RANK PMI_SIZE PMI_FD PMI_ID PMI_PORT PMI_SPAWNED PMIX_RANK PMIX_NAMESPACE "
        "PMIX_SERVER_* OMPI_COMM_WORLD_* MPI_LOCALRANKID MPI_LOCALNRANKS",
        "they say which rank of another job this process is",
    ),
    Row("code", "LD_*", "the loader brings other code into a program by them, or works otherwise"),
    Row("code", "OMP_TOOL OMP_TOOL_*", "runtimes load a tool by them"),
    Row("code", "BASH_ENV ENV BASH_FUNC_*", "shells run them in the place of, or before, a script"),
    Row("code", "GCONV_PATH LOCPATH NLSPATH", "the C library takes code and messages from there"),
    Row("code", "PYTHON* PERL5OPT PERL5LIB", "they bring other code into programs of the system"),
    Row("code", "QEMU_*", "they bring other code into QEMU, or have it write logs"),
    Row("code", "CCACHE_PREFIX*", "a cache of compilers calls what they name"),
    Row(
        "threads",
        "OMP_* KMP_* GOMP_* LIBOMP* LIBOMPTARGET_* MP_SPIN MP_WARN NVCOMPILER_*",
        "runtimes of OpenMP wait, schedule and report by them",
    ),
    Row("threads", "GFORTRAN_*", "Fortran's input and output depend on them"),
    Row("threads", "MKL_* OPENBLAS_* GOTO_* BLIS_*", "libraries choose their threads by them"),
    Row(
        "threads", "MALLOC_* GLIBC_TUNABLES TCMALLOC_*",
        "allocators use memory, and its pages, otherwise",
    ),
    Row("threads", "*SAN_OPTIONS ARCHER_*", "the search for races has options of its own"),
    # Launchers at a site need them: its fabric, its process manager.
    Row(
        "messages",
        "MPICH_* MPIR_* MPIEXEC_* HYDRA_* I_MPI_* OMPI_* PRTE_* PMI_* PMIX_* MV2_* UCX_* FI_* "
        "PSM2_* PSM3_* HFI_*",
        "messages go another way, or are counted, by them",
    ),
    # Hydra would ask srun to start a grading's ranks, in a job that may have been given less.
    Row("job", "SLURM_*", "launchers ask Slurm for the ranks of a grading by them"),
    Row("build", "CFLAGS CXXFLAGS FFLAGS", "code of kernels and of what they are compared with"),
    Row(
        "build", "MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKELEVEL NINJA_STATUS CMAKE_* CTEST_* DESTDIR "
        "VERBOSE",
        "builds are made and told otherwise",
    ),
    Row(
        "build", "CLICOLOR* FORCE_COLOR GCC_COLORS DEPENDENCIES_OUTPUT SUNPRO_DEPENDENCIES "
        "GCC_COMPARE_DEBUG",
        "compilers' messages and files have another form",
    ),
    Row("build", "GCOV_PREFIX* GMON_OUT_PREFIX", "programs write profiles there"),
    Row("build", "DEBUGINFOD_*", "binutils ask a server on the network for each program"),
)  # fmt: skip

_ALL = frozenset(row.steers for row in LEFT_OUT)
# What the rows steer that withheld_variables does not report: they say nothing about the machine,
# and to run numalab in a job is normal.
_UNREPORTED = frozenset[Steers]({"build", "job"})
# ./numalab renames the user's variables that steer Python, and sets two of them itself.
_GIVEN = "NUMALAB_GIVEN_"
_LAUNCHERS = ("PYTHONSAFEPATH", "PYTHONUTF8")


def _is_like(name: str, pattern: str) -> bool:
    """Tell whether a name matches a pattern with at most one *. (fnmatch would compile a regular
    expression for each pattern.)"""
    head, star, tail = pattern.partition("*")
    return name.startswith(head) and name.endswith(tail) if star else name == pattern


def _is_named(name: str, names: str) -> bool:
    return any(_is_like(name, pattern) for pattern in names.split())


@cache
def row_of(name: str) -> Row | None:
    """Return the first row of LEFT_OUT that a variable matches; None where it matches none, or is
    in KEPT."""
    if any(_is_named(name, names) for names in KEPT):
        return None
    return next((row for row in LEFT_OUT if _is_named(name, row.names)), None)


def _sort_by_table(names: Iterable[str]) -> list[str]:
    """Sort names, which match a pattern of LEFT_OUT each, by the first that they match, then by
    name."""
    patterns = " ".join(row.names for row in LEFT_OUT).split()

    def place(name: str) -> tuple[int, str]:
        return next(i for i, one in enumerate(patterns) if _is_like(name, one)), name

    return sorted(names, key=place)


def _users() -> dict[str, str]:
    """Return the environment without _LAUNCHERS, and with the names that ./numalab gave a prefix as
    the shell had them."""
    own = {name: value for name, value in os.environ.items() if name not in _LAUNCHERS}
    return {name.removeprefix(_GIVEN): value for name, value in own.items()}


def _less(steers: frozenset[Steers], given: Mapping[str, str]) -> dict[str, str]:
    rows = {name: row_of(name) for name in given}
    return {n: given[n] for n, row in rows.items() if row is None or row.steers not in steers}


# ---- environments by receiver -----------------------------------------------------------------


def observer_environment() -> dict[str, str]:
    """Return the variables of OBSERVER_VARIABLES that are set, for what describes machines, or
    watches, times or runs kernels."""
    return {name: os.environ[name] for name in OBSERVER_VARIABLES if name in os.environ}


def builder_environment() -> dict[str, str]:
    """Return the environment of CMake, compilers and other programs that build or fetch packages.
    It keeps variables of "messages" and "job": MPI's choose compilers, too (MPICH_CC)."""
    return _less(_ALL - {"messages", "job"}, os.environ)


def launcher_exclusions() -> list[str]:
    """Return names of the user's variables that launchers do not get, in the table's order."""
    return _sort_by_table(_users().keys() - launcher_environment().keys())


def launcher_environment() -> dict[str, str]:
    """Return the environment of mpiexec, mpirun and srun with the user's own program, without what
    steers topology or placement."""
    return _less(frozenset({"topology", "placement"}), _users())


def guest_environment() -> dict[str, str]:
    """Return the environment of the user's own command in a virtual machine, without what steers
    topology: that machine has cores and NUMA nodes of its own."""
    return _less(frozenset({"topology"}), _users())


def slurm_environment() -> dict[str, str]:
    """Return the environment of Slurm's commands, such as sbatch. It keeps variables of "messages",
    and SBATCH_* and SQUEUE_*, the user's choices."""
    return _less(_ALL - {"messages"}, os.environ)


def numalab_environment() -> dict[str, str]:
    """Return a copy of this process's whole environment."""
    return dict(os.environ)


def withheld_variables() -> list[str]:
    """Return names of the user's variables that match a row of LEFT_OUT, in the table's order, but
    for rows of _UNREPORTED."""
    rows = {name: row_of(name) for name in _users()}
    return _sort_by_table(
        name for name, row in rows.items() if row is not None and row.steers not in _UNREPORTED
    )
