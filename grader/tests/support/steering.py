"""What a shell may have set that would steer a measurement, with values that would be seen."""

from __future__ import annotations

from pathlib import Path

OTHER_MACHINE = Path(__file__).with_name("two_nodes_one_pu_each.xml")

TOPOLOGY = {
    "HWLOC_XMLFILE": str(OTHER_MACHINE),
    "HWLOC_THISSYSTEM": "1",
    "HWLOC_SYNTHETIC": "numa:4 core:4 pu:2",
    "HWLOC_COMPONENTS": "synthetic,stop",
    "HWLOC_FSROOT": "/nowhere",
    "HWLOC_CPUID_PATH": "/nowhere",
    "KMP_TOPOLOGY_METHOD": "flat",
    "KMP_CPUINFO_FILE": "/nowhere",
}
THREADS = {
    "OMP_NUM_THREADS": "1",
    "OMP_DYNAMIC": "true",
    "OMP_THREAD_LIMIT": "1",
    "OMP_PLACES": "{0}",
    "OMP_PROC_BIND": "master",
    "OMP_SCHEDULE": "dynamic",
    "OMP_WAIT_POLICY": "active",
    "OMP_DISPLAY_ENV": "verbose",
    "OMP_STACKSIZE": "64k",
    "OMP_TOOL": "enabled",
    "OMP_TOOL_LIBRARIES": "/nowhere/tool.so",
    "KMP_AFFINITY": "disabled",
    "KMP_BLOCKTIME": "infinite",
    "KMP_HW_SUBSET": "1c",
    "GOMP_CPU_AFFINITY": "0",
    "GOMP_SPINCOUNT": "infinite",
    "GOMP_DEBUG": "1",
    "GFORTRAN_UNBUFFERED_ALL": "y",
    "MP_BIND": "yes",
    "OPENBLAS_NUM_THREADS": "7",
}
MEMORY = {
    "MALLOC_PERTURB_": "85",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_CHECK_": "3",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.perturb=85",
}
LOADER = {
    "LD_PRELOAD": "libm.so.6",
    "LD_BIND_NOW": "1",
    "BASH_ENV": "/nowhere/script",
    "ENV": "/nowhere/script",
    "BASH_FUNC_gcc%%": "() { false; }",
    "GCONV_PATH": "/nowhere",
    "LOCPATH": "/nowhere",
    "QEMU_AUDIO_DRV": "none",
    "QEMU_MODULE_DIR": "/nowhere",
}
# Of these only tables are asked: with them no shell runs a command quietly.
LOADER_THAT_SPEAKS = {"LD_AUDIT": "libm.so.6", "LD_DEBUG": "all", "LD_TRACE_LOADED_OBJECTS": "1"}
SANITIZERS = {
    "TSAN_OPTIONS": "exitcode=0:report_bugs=0",
    "ASAN_OPTIONS": "exitcode=0",
    "UBSAN_OPTIONS": "halt_on_error=0",
    "ARCHER_OPTIONS": "enable=0",
}
MESSAGES = {
    "MPIR_CVAR_NOLOCAL": "1",
    "MPICH_ASYNC_PROGRESS": "1",
    "MPIEXEC_TIMEOUT": "1",
    "HYDRA_TOPO_DEBUG": "1",
    "HYDRA_BINDING": "none",
    "HYDRA_HOST_FILE": "/nowhere",
    "UCX_TLS": "tcp",
    "FI_PROVIDER": "tcp",
    "I_MPI_PIN_DOMAIN": "core",
    "I_MPI_FABRICS": "ofi",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_mapping_policy": "node",
    "PMIX_MCA_gds": "hash",
    "PRTE_MCA_rmaps_default_mapping_policy": "node",
    "PMI_RANK": "3",
    "PMI_SIZE": "9",
}
# A job's number is not among them: with it, a node counts as no login node.
SLURM = {
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x1",
    "SLURM_CPU_BIND_LIST": "0x1",
    "SLURM_MEM_BIND": "local",
    "SLURM_HINT": "nomultithread",
    "SLURM_NODELIST": "nowhere[1-2]",
    "SLURM_NTASKS": "9",
}
BUILD = {
    "CFLAGS": "-O0 -include /nowhere/header.h",
    "FFLAGS": "-O0",
    "MAKEFLAGS": "-j1 --no-such-option",
    "NINJA_STATUS": "error: ",
    "CMAKE_GENERATOR": "Unix Makefiles",
    "CMAKE_C_COMPILER_LAUNCHER": "false",
    "CMAKE_BUILD_TYPE": "Debug",
    "CMAKE_TOOLCHAIN_FILE": "/nowhere",
    "CCACHE_PREFIX": "false",
    "CLICOLOR_FORCE": "1",
    "FORCE_COLOR": "1",
    "DEPENDENCIES_OUTPUT": "/nowhere/file",
    "DEBUGINFOD_URLS": "http://127.0.0.1:9",
    "DESTDIR": "/nowhere",
}
PYTHON = {"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere", "PYTHONSTARTUP": "/nowhere/x.py"}

# Of compilers, modules, licences, fabrics and Slurm at sites; builds and launchers need them.
NEEDED = {
    "CRAY_MPICH_DIR": "/opt/cray",
    "CRAYPE_DIR": "/opt/cray",
    "PE_ENV": "GNU",
    "PE_MPICH_GNU_PREFIX": "8.0",
    "ONEAPI_ROOT": "/opt/intel",
    "I_MPI_ROOT": "/opt/intel/mpi",
    "MPICH_CC": "gcc",
    "NVHPC_ROOT": "/opt/nvidia",
    "LM_LICENSE_FILE": "27000@licences",
    "INTEL_LICENSE_FILE": "28518@licences",
    "LMOD_CMD": "/usr/share/lmod",
    "LOADEDMODULES": "gcc/12",
    "EBROOTGCC": "/apps/gcc",
    "CONDA_PREFIX": "/opt/conda",
    "SPACK_ROOT": "/opt/spack",
    "OPAL_PREFIX": "/opt/openmpi",
    "LD_LIBRARY_PATH": "/apps/lib",
    "LD_RUN_PATH": "/apps/lib",
    "LIBRARY_PATH": "/apps/lib",
    "CPATH": "/apps/include",
    "COMPILER_PATH": "/apps/bin",
    "GCC_EXEC_PREFIX": "/apps/lib/gcc/",
    "PKG_CONFIG_PATH": "/apps/lib/pkgconfig",
    "CMAKE_PREFIX_PATH": "/apps",
    "CMAKE_INCLUDE_PATH": "/apps/include",
    "CC": "gcc-12",
    "FC": "gfortran-12",
    "LDFLAGS": "-L/apps/lib",
    "CCACHE_DIR": "/scratch/ccache",
    "https_proxy": "http://proxy:3128",
    "SLURM_CONF": "/etc/slurm/slurm.conf",
    "FI_PROVIDER_PATH": "/opt/intel/prov",
}

# With all of them at once every result of a grading is as without.
STEERING = TOPOLOGY | THREADS | MEMORY | LOADER | SANITIZERS | MESSAGES | SLURM | BUILD | PYTHON
