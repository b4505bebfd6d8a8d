"""What of a kernel the search for data races could not see."""

from __future__ import annotations

import re

import pytest

from numalab.harness.interface import prototypes
from numalab.harness.race_coverage import (
    REDIRECTED,
    accesses_complaint,
    calls_complaint,
    intercepted,
    text_complaint,
    unfollowed_complaint,
    unseen_call,
)
from numalab.harness.symbols import Symbols
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import Lab

BEFORE = '# 1 "/x/kernel.c"\n'


@pytest.mark.parametrize(
    "text",
    [
        'extern int scan(int) __asm__ ("" "__isoc99_scan") __attribute__ ((__nothrow__));',
        'extern double x __asm__("y");\nregister long r __asm__("rax");',
        'void f(void) { __asm__ volatile ("" : : : "memory"); asm("pause"); }',
        'void f(void) { __asm__ __volatile__("rep; nop" ::: "memory"); }',
        'void f(void) { asm volatile("mfence\\n\\tlfence"); }',
        'static int a __attribute__((section(".data.hot")));',
        'void section(const char *); void f(void) { section("a \\n b"); }',
        'const char *s = "asm(\\"mov\\") no_sanitize /*"; char c = \'"\';',
        "#pragma omp parallel for\n#pragma GCC ivdep\nint sanitize_no;",
    ],
)
def test_what_touches_no_memory_is_let_through(text: str) -> None:
    assert text_complaint(BEFORE + text, is_all=True) is None


@pytest.mark.parametrize(
    "text",
    [
        'void f(double *p) { __asm__ volatile("movsd %%xmm0, (%0)" : : "r"(p)); }',
        'void f(void) { asm("stosq"); }',
        'void f(int x) { if (x) asm("syscall"); }',
        'void f(void) { asm("pause; movsd %xmm0, x(%rip)"); }',
        'void f(void) { asm("\\x6dovsd %xmm0, x(%rip)"); }',
        'int g; __asm__(".globl h\\nh: ret");',
        'int f(void) { return 1; } __extension__ asm("h: ret");',
        'int h(int) __asm__("k\\n\\tmovsd %xmm0, x(%rip)");',
        'asm("h: ret");',
        'void f(void) { %> asm("h: ret");',
        # What Python takes for the end of a line, too, may stand in a literal.
        *(f'char *s = "{c}"; asm("incl (%rdi)"); char *t = "{c}";' for c in "\v\f\x1c\x85\u2028"),
        'void f(void) { asm goto("jmp %l0" : : : : out); out: ; }',
        "void f(void) { asm(TEXT); }",
    ],
)
def test_assembler_is_told(text: str) -> None:
    said = text_complaint(BEFORE + text, is_all=True)
    assert said is not None and said.startswith("kernel.c:1 has assembler")


@pytest.mark.parametrize(
    "text",
    [
        'int g; __asm__(".globl h\\nh: ret");',
        'int f(void) { return 1; } __extension__ asm("h: ret");',
        'void f(void) { int h(int) __asm__("k\\n\\tmovsd %xmm0, x(%rip)"); }',
    ],
)
def test_what_gcc_tells_of_functions_leaves_names_and_what_stands_outside(text: str) -> None:
    assert text_complaint(BEFORE + text, is_all=False) is not None
    unused = 'static void f(double *p) { __asm__ volatile("movsd %%xmm0, (%0)" : : "r"(p)); }'
    assert text_complaint(BEFORE + unused, is_all=False) is None
    left = '__asm__ __volatile__("movsd %%xmm0, (%0)" :  : "r" p_2(D));'
    assert accesses_complaint(left, "kernel.c") is not None
    assert accesses_complaint('__asm__ __volatile__("rep; nop" : : );', "kernel.c") is None


@pytest.mark.parametrize(
    "text",
    [
        "__attribute__((no_sanitize_thread)) void f(void);",
        '__attribute__((__no_sanitize__("thread"))) void f(void);',
        "__attribute__((disable_sanitizer_instrumentation)) void f(void);",
    ],
)
def test_who_asks_to_be_left_out_is_told(text: str) -> None:
    said = text_complaint(f"{BEFORE}\n{text}", is_all=False)
    assert said is not None and said.startswith("kernel.c:2 asks to be left out")


def test_other_ways_into_the_assemblers_text_are_told() -> None:
    for text in (
        'int a __attribute__((section(".data\\n\\tmov")));',
        'void f(void) __attribute__((unused, __alias__("g\\nh")));',
        '#ident "x\\"\\n"',
        "#pragma clang attribute push(__attribute__((x)))",
    ):
        assert text_complaint(BEFORE + text, is_all=True) is not None, text


def test_what_stays_a_call_is_told() -> None:
    seen = '__builtin_puts (&"__builtin_aarch64_st1v2df"[0]); _1 = __tsan_read8 (x);'
    assert accesses_complaint(seen, "kernel.c") is None
    assert accesses_complaint("", "kernel.c") is None
    for name in ("__builtin_aarch64_ld1v2df", "__builtin_aarch64_st1v2df", ".MASK_STORE"):
        said = accesses_complaint(f"{seen} {name} (p, m, v);", "kernel.c")
        assert said is not None and name in said
    # What becomes of them is looked at.
    for name in ("__builtin_ia32_storelps", "__builtin_ia32_maskstorepd256"):
        assert accesses_complaint(f"{name} ();", "kernel.c") is None


def test_what_cannot_be_followed_is_told_with_its_place() -> None:
    assert unfollowed_complaint("", "kernel.c") is None
    said = unfollowed_complaint(
        "kernel.c:12\tupdate._omp_fn.0\tvmaskmovpd\n\t\tvgatherdpd", "kernel.c"
    )
    assert said is not None
    assert said.startswith("kernel.c:12, in update, touches memory by vmaskmovpd, which")
    said = unfollowed_complaint("\t\tnumalab_note_access", "kernel.f90")
    assert said is not None and said.startswith("kernel.f90 touches memory by numalab_note_access")


# ---- what libraries store ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "sqrt", "sqrtf", "llround", "fmal", "atan2", "cexpf", "_ZGVdN4v_exp", "__muldc3",
        "omp_get_thread_num_", "omp_set_lock", "GOMP_loop_ull_nonmonotonic_guided_next",
        "__kmpc_fork_call", "malloc", "posix_memalign", "pthread_create", "numa_node_of_cpu",
        "_gfortran_runtime_error_at", "_gfortran_st_write", "_gfortran_transfer_real_write",
        "printf", "memcpy@GLIBC_2.14", "sincos", "mmap", "sched_getcpu", "strtol", "stderr",
    ],
)  # fmt: skip
def test_what_stores_nothing_or_is_told_may_be_called(name: str) -> None:
    assert unseen_call([name], frozenset()) is None


def test_what_a_contract_declares_is_no_librarys(
    installation: Installation, labs: dict[str, Lab]
) -> None:
    """A kernel defines it, or numalab does."""
    lab = labs["10_false_sharing"]
    known = frozenset(prototypes((installation.lab_folder(lab.name) / lab.contract).read_text()))
    assert known == {"cache_line_bytes", *lab.functions}
    for name in ("cache_line_bytes", "cache_line_bytes_"):
        assert unseen_call(["sqrt", name], known) is None
        assert unseen_call(["sqrt", name], frozenset()) == name


@pytest.mark.parametrize(
    "name",
    [
        "swab", "memccpy", "wmemcpy", "read", "pread64", "fread", "sscanf", "qsort", "strcat",
        "setvbuf", "fmemopen", "process_vm_writev", "__atomic_store_16", "omp_get_place_proc_ids",
        "_gfortran_matmul_r8", "_gfortran_reshape_r8", "_gfortran_transfer_integer", "lio_listio",
    ],
)  # fmt: skip
def test_a_function_of_which_nobody_tells_is_named(name: str) -> None:
    assert unseen_call(["sqrt", name], frozenset()) == name
    assert unseen_call([name], intercepted([f"___interceptor_{name}"])) is None
    undefined = Symbols(frozenset(), frozenset({name, "__tsan_write8", "numalab_note_access"}))
    said = calls_complaint(undefined, frozenset(), "kernel.c")
    assert said is not None and said.startswith(f"kernel.c calls {name}, ")


def test_what_is_called_in_the_c_librarys_stead_is_one_list() -> None:
    listed = (find_installation("gnu").root / "common/cmake/AddLab.cmake").read_text()
    match = re.search(r"set\(watched ([^)]*)\)", listed)
    assert match is not None and set(match[1].split()) == REDIRECTED
