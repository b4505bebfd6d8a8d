"""What instructions of a watched kernel touch, and which of them a call of the kit's tells of."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from numalab.harness.noted_accesses import (
    ATOMIC,
    COUNTED,
    ELEMENTS,
    MASKED,
    NOTED,
    WRITES,
    CannotFollow,
    Rewriting,
    Touch,
    Values,
    read_dump,
    read_touch,
)
from numalab.installation import find_installation

WATCHED = find_installation("gnu").root / "common/cmake/compile_watched"


@pytest.mark.parametrize(
    ("intel", "touch"),
    [
        ("mov    QWORD PTR [rbx+0x8],rax", Touch(8, True)),
        ("mov    eax,DWORD PTR [rip+0x0]        # 8 <counts+0x4>", Touch(4)),
        ("add    DWORD PTR [rax],0x1", Touch(4, True)),
        ("cmp    BYTE PTR [rax],0x1", Touch(1)),
        ("ucomisd xmm0,QWORD PTR [rax]", Touch(8)),
        ("movlps QWORD PTR [rax],xmm0", Touch(8, True)),
        ("vmovntpd YMMWORD PTR [rax],ymm0", Touch(32, True)),
        ("movnti DWORD PTR [rdi],eax", Touch(4, True)),
        ("vmovups ZMMWORD PTR [rax],zmm0", Touch(64, True)),
        ("vaddps zmm0,zmm1,DWORD BCST [rax]", Touch(4)),
        ("lock xadd DWORD PTR [rdi],eax", Touch(4, True, True)),
        ("lock cmpxchg16b XMMWORD PTR [rdi]", Touch(16, True, True)),
        ("xchg   QWORD PTR [rdi],rax", Touch(8, True, True)),
        ("rep stos QWORD PTR es:[rdi],rax", Touch(8, True, False, True)),
        ("rep movs QWORD PTR es:[rdi],QWORD PTR ds:[rsi]", Touch(8, True, False, True, True)),
        ("movs   DWORD PTR es:[rdi],DWORD PTR ds:[rsi]", Touch(4, True, False, False, True)),
        ("push   QWORD PTR [rax]", Touch(8)),
        ("fstp   TBYTE PTR [rax]", Touch(10, True)),
        ("fld    TBYTE PTR [rax]", Touch(10)),
        ("call   QWORD PTR [rax+0x8]", Touch(8)),
        ("sete   BYTE PTR [rax]", Touch(1, True)),
        ("vmaskmovpd YMMWORD PTR [rax],ymm0,ymm1", Touch(8, True, mask="ymm0", elements=4)),
        ("vpmaskmovd xmm0,xmm2,XMMWORD PTR [rax]", Touch(4, mask="xmm2", elements=4)),
        ("vmovups YMMWORD PTR [rax]{k1},ymm0", Touch(4, True, mask="k1", elements=8)),
        ("vmovdqu8 zmm0{k2}{z},ZMMWORD PTR [rax]", Touch(1, mask="k2", elements=64)),
        ("vmovups ZMMWORD PTR [rax],zmm0", Touch(64, True)),
        ("div    QWORD PTR [rax]", Touch(8)),
        ("lea    rax,[rbx+rcx*8]", Touch(0)),
        ("cs nop WORD PTR [rax+rax*1+0x0]", Touch(0)),
        ("prefetcht0 BYTE PTR [rax]", Touch(0)),
        ("add    rax,rbx", Touch(0)),
        ("pushq  rbx", Touch(0)),
    ],
)
def test_touches(intel: str, touch: Touch) -> None:
    assert read_touch(intel) == touch


@pytest.mark.parametrize(
    "intel",
    [
        "vmaskmovdqu xmm0,xmm1",
        "vaddpd zmm0{k1},zmm1,ZMMWORD PTR [rax]",
        "vpmovqd YMMWORD PTR [rax]{k1},zmm0",
        "vpscatterdd DWORD PTR [rax+zmm1*4]{k1},zmm0",
        "maskmovdqu xmm0,xmm1",
        "mov    QWORD PTR gs:[rax],rbx",
        "fxsave [rax]",
        "movdir64b rax,[rbx]",
        "repz scas al,BYTE PTR es:[rdi]",
        "syscall",
        "unknown [rax]",
    ],
)
def test_what_touches_what_only_the_processor_knows_is_refused(intel: str) -> None:
    with pytest.raises(CannotFollow):
        read_touch(intel)


def rewritten(text: str, instructions: dict[int, list[str]]) -> tuple[list[str], list[str]]:
    rewriting = Rewriting(text.split("\n"), instructions)
    return list(rewriting.lines()), rewriting.unfollowed


STORE = ["mov QWORD PTR [rbx+0x8],rax"]


@pytest.mark.parametrize(
    ("before", "is_noted"),
    [
        ("\tleaq\t8(%rbx), %rdi\n\tcall\t__tsan_write8@PLT", False),
        ("\tleaq\t8(%rbx), %r12\n\tmovq\t%r12, %rdi\n\tcall\t__tsan_write8", False),
        ("\tleaq\t(%rbx), %rdi\n\tmovl\t$24, %esi\n\tcall\t__tsan_write_range", False),
        ("\tleaq\t8(%rbx), %rdi\n\tcall\t__tsan_write8\n.LVL3:", False),
        ("", True),
        ("\tleaq\t8(%rbx), %rdi\n\tcall\t__tsan_read8", True),  # of something else
        ("\tleaq\t8(%rbx), %rdi\n\tcall\t__tsan_write4", True),
        ("\tleaq\t16(%rbx), %rdi\n\tcall\t__tsan_write8", True),
        # What the register was.
        ("\tleaq\t8(%rbx), %rdi\n\tcall\t__tsan_write8\n\tmovq\t%rax, %rbx", True),
        # Another thread may come between.
        ("\tleaq\t8(%rbx), %rdi\n\tcall\t__tsan_write8\n\tcall\tGOMP_barrier", True),
        # Reached by another way, too.
        ("\tleaq\t8(%rbx), %rdi\n\tcall\t__tsan_write8\n.L4:\n", True),
    ],
)
def test_what_was_told_is_not_told_again(before: str, is_noted: bool) -> None:
    text = f"f:\n\tjne\t.L4\n{before}\n\tmovq\t%rax, 8(%rbx)"
    lines = text.split("\n")
    instructions = {number: ["nop"] for number in range(len(lines))} | {len(lines) - 1: STORE}
    found, unfollowed = rewritten(text, instructions)
    assert not unfollowed
    left = iter(found)
    assert all(line in left for line in lines)  # in their order
    assert any(NOTED in line for line in found) is is_noted
    again, _ = rewritten(text + "\n\tmovq\t%rax, 8(%rbx)", instructions | {len(lines): STORE})
    assert sum(NOTED in line for line in again) == 1 + is_noted  # once for each that is told


def test_frames_are_a_threads_own_by_their_pointer_only() -> None:
    for place, is_noted in (
        ("-24(%rbp)", False), ("16(%rsp)", False), ("-24(%rbp,%rcx,8)", True),
        ("9000(%rbp)", True), ("(%rax)", True), ("%fs:counts@tpoff", True), ("%fs:40", False),
        ("counts(%rip)", True), (".LC0(%rip)", True),
    ):  # fmt: skip
        found, _ = rewritten(f"f:\n\tmovq\t%rax, {place}", {1: STORE})
        assert any(NOTED in line for line in found) is is_noted, place
    text = "f:\n\tmovq\t%rdi, %rbp\n\tmovq\t%rax, 8(%rbp)"  # rbp is as any other there
    found, _ = rewritten(text, {1: ["nop"], 2: STORE})
    assert any(NOTED in line for line in found)


def test_assembler_of_the_author_touches_no_memory() -> None:
    for text, instruction, is_refused in (
        ("\tpause", "pause", False), ("", "", False), ("# 3 \"kernel.c\" 1", "", False),
        ("\tmovq\t%rax, 8(%rbx)", STORE[0], True), ("x: movq %rax, 8(%rbx)", "", True),
        ("\t.byte\t1", "", True), (".macro movq a b", "", True), ("\tsyscall", "syscall", True),
    ):  # fmt: skip
        lines = f"f:\n#APP\n{text}\n#NO_APP\n\tret"
        found, unfollowed = rewritten(lines, {2: [instruction] if instruction else [], 4: ["ret"]})
        assert "\n".join(found) == lines
        assert bool(unfollowed) is is_refused, text


KERNEL = """
#include <immintrin.h>
#include <stddef.h>
typedef struct { double v[3]; } three;
void stores(three *to, const three *from) { *to = *from; }
void past(double *to) { _mm_stream_pd(to, _mm_set1_pd(1.0)); }
void half(double *to) { _mm_storel_pi((__m64 *)to, _mm_setzero_ps()); }
void checked(three *to, const three *from) { __builtin___memcpy_chk(to, from, 24, 24); }
void ended(three *to, const three *from) { __builtin_mempcpy(to, from, 24); }
double loads(const double *from) { return *from; }
void masked(double *to, __m256i mask) { _mm256_maskstore_pd(to, mask, _mm256_set1_pd(1)); }
"""
CLANG_ONLY = """
__attribute__((target("avx512f"))) void narrowed(int *to, __m512i from)
{
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi64_epi32(from));
}
void other(long at) { *(double __attribute__((address_space(256))) *)at = 1.0; }
"""


@pytest.mark.builds
@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_stores_of_compilers_are_told_of(tmp_path: Path, compiler: str) -> None:
    if shutil.which(compiler) is None or shutil.which("objdump") is None:
        pytest.skip(f"{compiler} or objdump is not installed")
    source, contract = tmp_path / "kernel.c", tmp_path / "contract.h"
    source.write_text(KERNEL + (CLANG_ONLY if "clang" in compiler else ""))
    contract.write_text("")
    made = [tmp_path / name for name in ("kernel.i", "kernel.s", "kernel.dump")]
    outputs = [word for path in made for word in ("-o", str(path))]
    subprocess.run(
        ["sh", WATCHED, "c", source, contract, "objdump", *outputs,
         compiler, "-O3", "-g", "-march=x86-64-v3"],
        check=True, timeout=60,
    )  # fmt: skip
    lines = made[1].read_text("latin-1").split("\n")
    found, unfollowed = rewritten("\n".join(lines), read_dump(made[2].read_text("latin-1")))
    told: dict[str, set[int]] = {}
    function = ""
    for at, line in enumerate(found):
        if label := re.match(r"([a-z]\w*):", line):
            function = label[1]
        if code := re.match(r"\tpushq\t\$(\d+)$", line):
            assert NOTED in found[at + 1]
            told.setdefault(function, set()).add(int(code[1]))
    # Of others clang tells itself.
    untold = ("past", "half", "checked", "ended") if compiler == "gcc" else ("narrowed",)
    for name in untold:
        assert any(code & WRITES for code in told.get(name, ())), (name, told)
    assert not {code & (ATOMIC | COUNTED) for codes in told.values() for code in codes} - {0}
    assert "loads" not in told
    assert told["masked"] == {8 | WRITES | MASKED | 4 << ELEMENTS}
    refused = {line.split("\t")[1] for line in unfollowed}
    assert refused == ({"other"} if "clang" in compiler else set())


@pytest.mark.parametrize(
    ("name", "operands", "register", "is_changed"),
    [
        ("movsq", [], "rdi", True),
        ("movsb", ["(%rsi)", "(%rdi)"], "rsi", True),
        ("mulq", ["%rcx"], "rdx", True),
        ("divl", ["%ecx"], "rax", True),
        ("mulxq", ["%rcx", "%rbx", "%r8"], "rbx", True),
        ("cmpxchgq", ["%rcx", "8(%rdi)"], "rax", True),
        ("popq", ["%rbx"], "rsp", True),
        ("pcmpestri", ["$0", "%xmm1", "%xmm2"], "rcx", True),
        ("movslq", ["%ecx", "%rcx"], "rdi", False),
        ("movsd", ["8(%rdi)", "%xmm0"], "rdi", False),
        ("mulsd", ["8(%rdi)", "%xmm0"], "rdi", False),
        ("divpd", ["8(%rdi)", "%xmm0"], "rdi", False),
        ("cmpq", ["%rcx", "8(%rdi)"], "rdi", False),
        ("popcntq", ["%rcx", "%rdx"], "rsp", False),
    ],
)  # fmt: skip
def test_registers_that_an_instruction_changes(
    name: str, operands: list[str], register: str, is_changed: bool
) -> None:
    values = Values()
    before = values.value_of(register)
    values.follow(name, operands)
    assert (values.value_of(register) != before) is is_changed
