"""The names of a compiled kernel: read from its object, and which of them it may not have."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from numalab.harness.build import names_trouble
from numalab.harness.symbols import (
    NONE,
    Symbols,
    instrumented_complaint,
    names_complaint,
    read_symbols,
)
from numalab.labs.declaration import Lab

ISOLATE = Path(__file__).parents[3] / "common/cmake/isolate"

SOURCE = """
extern int other(void);
extern int maybe(void) __attribute__((weak));
int common __attribute__((common));
int initialized = 1;
static int local = 2;
int weak(void) __attribute__((weak));
int weak(void) { return local; }
int sendmsg(void) { return other() + common; }
__asm__(".symver sendmsg, send@@GLIBC_2.2.5");
__asm__(".globl once\\n.type once, @gnu_unique_object\\n.size once, 4");
__asm__(".data\\nonce: .long 0\\n.text");
int compute(void) { return (maybe ? maybe() : 0) + sendmsg() + initialized; }
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("symbols")
    (folder / "kernel.c").write_text(SOURCE, encoding="utf-8")
    subprocess.run(["gcc", "-c", "kernel.c"], cwd=folder, check=True)
    return folder / "kernel.o"


def test_an_objects_names_are_read(compiled: Path) -> None:
    symbols = read_symbols(compiled)
    assert {"common", "initialized", "weak", "sendmsg", "once", "compute"} <= symbols.defined
    assert "send@@GLIBC_2.2.5" in symbols.defined
    assert symbols.undefined >= {"other", "maybe"}
    assert "local" not in symbols.defined | symbols.undefined


def test_what_is_isolated_has_its_contract_only(compiled: Path, first_touch: Lab) -> None:
    """Whatever a name is: weak, common, with a version. Only a unique one is kept by objcopy: who
    has that is refused."""
    isolated = compiled.with_name("isolated.o")
    linker, objcopy = shutil.which("ld"), shutil.which("objcopy")
    assert linker and objcopy
    command = ["sh", str(ISOLATE), linker, objcopy, str(compiled), "-o", str(isolated), "compute"]
    subprocess.run(command, check=True)
    symbols = read_symbols(isolated)
    assert symbols.defined == {"compute", "once"}
    refused = names_trouble(compiled, isolated, first_touch, "kernel.c")
    assert refused is not None and "defines once in a way" in refused.message
    assert symbols.undefined >= {"other", "maybe"} and "sendmsg" not in symbols.undefined
    assert not list(compiled.parent.glob("*.whole"))


def test_what_is_no_object_has_no_names(tmp_path: Path, compiled: Path) -> None:
    content = compiled.read_bytes()
    broken = tmp_path / "broken.o"
    assert read_symbols(broken) == NONE
    for wrong in (b"", b"\x7fELF", b"x" * 64, content[:64], content[:-200], content[:400]):
        broken.write_bytes(wrong)
        assert read_symbols(broken) == NONE


def complaint(defined: str = "", undefined: str = "") -> str | None:
    symbols = Symbols(frozenset(defined.split()), frozenset(undefined.split()))
    return names_complaint(symbols, "kernel.c", ("compute",))


def test_honest_names_are_nobodys() -> None:
    helpers = "compute swap index time_step write read malloc send clock_gettime main_loop y0 sum_"
    assert complaint(f"{helpers} mpi_exchange omp_sum __module_MOD_initialize dlsum") is None
    library = "GOMP_parallel omp_get_thread_num MPI_Send memcpy sqrt __kmpc_fork_call environ"
    assert (
        complaint(undefined=f"{library} _gfortran_st_write mpi_send_f08ts_ MPIR_F08_MPI_IN_PLACE")
        is None
    )


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("MPI_Send", "MPI"), ("PMPI_Send", "MPI"), ("omp_get_thread_num", "OpenMP"),
        ("GOMP_parallel", "OpenMP"), ("__kmpc_fork_call", "OpenMP"),
        ("ompt_start_tool", "OpenMP"), ("numalab_userfault_open", "harness"),
        ("__tsan_default_options", "data races"), ("AnnotateHappensBefore", "data races"),
        ("__libc_start_main", "C library"), ("environ", "C library"), ("_init", "C library"),
        ("environ@@GLIBC_2.2.5", "C library"),
    ],
)  # fmt: skip
def test_what_belongs_to_others_is_not_defined(name: str, owner: str) -> None:
    said = complaint(name)
    assert said is not None and owner in said
    assert said.startswith(f"kernel.c defines {name.split('@')[0]}, ") and said.endswith(
        "rename it."
    )


@pytest.mark.parametrize(
    "name",
    [
        "PMPI_Send", "pmpi_send_", "numalab_rank_notes", "__tsan_ignore_thread_begin",
        "AnnotateIgnoreWritesBegin", "__sanitizer_set_death_callback", "dlsym", "dl_iterate_phdr",
    ],
)  # fmt: skip
def test_what_passes_by_those_who_look_is_not_called(name: str) -> None:
    said = complaint(undefined=f"sqrt {name}")
    assert said is not None and said.startswith(f"kernel.c uses {name}, ")


def test_what_a_compiler_puts_in_is_no_complaint() -> None:
    put_in = "__tsan_init __tsan_func_entry __tsan_read8 __tsan_unaligned_write4 __tsan_write_range"
    atomic = "__tsan_atomic64_compare_exchange_strong __tsan_atomic_thread_fence sqrt"
    undefined = frozenset(f"{put_in} {atomic}".split())
    assert instrumented_complaint(Symbols(frozenset(), undefined), "kernel.c") is None
    more = undefined | {"__tsan_ignore_thread_begin"}
    assert instrumented_complaint(Symbols(frozenset(), more), "kernel.c") is not None
    own = frozenset({"__tsan_on_report"})
    assert instrumented_complaint(Symbols(own, undefined), "kernel.c") is not None
