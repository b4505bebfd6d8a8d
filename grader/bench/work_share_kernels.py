"""Kernels of lab 03 of which it is known what `balanced` ought to say: the solution with other
schedules, and handouts that look even by CPU time. Each is the solution's text with another
pair_energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from numalab.installation import Installation
from numalab.labs.declaration import KERNEL_FILES

# even, uneven: how the work is shared. spins: unevenly, and threads that wait take CPU time.
# hidden: the same, but in a way that this criterion can't see.
Truth = Literal["even", "uneven", "spins", "hidden"]
WRONG: Mapping[Truth, str | None] = {
    "even": "fail", "uneven": "pass", "spins": "pass", "hidden": None
}  # fmt: skip


@dataclass(frozen=True)
class BenchKernel:
    """schedule: in the place of the solution's; region: a parallel region in the place of the
    loop; before: in front of the function; first: its first lines."""

    name: str
    language: str
    truth: Truth
    schedule: str = ""
    region: str = ""
    before: str = ""
    first: str = ""


_C_ROW = """
static double row(size_t i, const double *x, const double *y, const double *z)
{
    double energy = 0.0;
    for (size_t j = 0; j < i; j++) {
        double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
        energy += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
    }
    return energy;
}

static volatile double sink;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
"""
_C_HEAD = """#define _GNU_SOURCE
#include "scheduling.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void kmp_set_blocktime(int milliseconds);
"""
_C_ROWS = "for (size_t i = 0; i < n; i++) e[i] = row(i, x, y, z);\n"
_C_STATIC = f"#pragma omp for schedule(static) nowait\n{_C_ROWS}"

# Of T equal parts of the triangle the one with number t takes 2 t + 1 of T^2 parts of the time.
_C_BY_CLOCK = f"""
#pragma omp parallel
{{
    const int threads = omp_get_num_threads(), t = omp_get_thread_num();
    const double start_s = now_s();
{_C_STATIC}
    const double spent_s = now_s() - start_s;
    const double end_s = start_s + PART * spent_s * (2 * threads - 1) / (2 * t + 1);
    while (t < threads - 1 && now_s() < end_s) continue;
}}
"""
_C_BY_WORK = f"""
#pragma omp parallel
{{
    const int threads = omp_get_num_threads(), t = omp_get_thread_num();
{_C_STATIC}
    for (size_t i = n - n / (size_t)threads; threads > 1 && t < threads - 1 && i < n; i++) {{
        const double done = (2 * t + 1) / (2 * threads - 1.0);
        if ((double)(i % 64) >= 64 * done) sink = row(i, x, y, z);
    }}
}}
"""
_C_BY_FLAG = f"""
static atomic_size_t arrived;
arrived = 0;
#pragma omp parallel TEAM
{{
    const size_t threads = (size_t)omp_get_num_threads();
{_C_STATIC}
    arrived++;
    while (arrived < threads) continue;
}}
"""
# Rows of the last half are worked out twice, in any team, by whom they do not belong to.
_C_ANY_TEAM = """
#pragma omp parallel for schedule(static, 1)
for (int part = 0; part < 2; part++)
    for (size_t i = part ? n / 2 : 0; i < (part ? n : n / 2); i++) {
        e[i] = row(i, x, y, z);
        if (!part && i % 3) sink = row(i + n / 2, x, y, z);
    }
"""
_C_SLEEPS = _C_BY_CLOCK.replace(
    "while (t < threads - 1 && now_s() < end_s) continue;",
    "if (t < threads - 1) usleep((useconds_t)(1e6 * (end_s - now_s())));",
)
_C_HELPER = """
static atomic_int is_busy;
static void *burn(void *unused)
{
    for (;;)
        if (!is_busy) usleep(100);
    return unused;
}
"""
_C_WITH_HELPER = f"""
static pthread_t helper;
if (!helper && omp_get_max_threads() > 1) pthread_create(&helper, NULL, burn, NULL);
is_busy = 1;
#pragma omp parallel
{{
{_C_STATIC}
}}
is_busy = 0;
"""
# As slow alone as a team of two that spins takes CPU time.
_C_ALONE_TOO = f"""
if (omp_get_max_threads() == 1) for (size_t i = 7 * n / 10; i < n; i++) sink = row(i, x, y, z);
{_C_BY_FLAG}
"""
_C_TWICE = """
#pragma omp parallel for schedule(dynamic, 16)
for (size_t i = 0; i < n; i++) {
    e[i] = row(i, x, y, z);
    if (i % 2) sink = row(i, x, y, z);
}
"""

_FORTRAN_SPIN = """
    arrived = 0
    !$omp parallel private(j, dx, dy, dz, energy, seen)
    !$omp do schedule(static)
LOOP
    !$omp end do nowait
    !$omp atomic
    arrived = arrived + 1
    do
       !$omp atomic read
       seen = arrived
       if (seen >= omp_get_num_threads()) exit
    end do
    !$omp end parallel
"""
_FORTRAN_WORK = """
    !$omp parallel private(j, dx, dy, dz, energy)
    !$omp do schedule(static)
LOOP
    !$omp end do nowait
    if (omp_get_thread_num() < omp_get_num_threads() - 1) then
       do i = n - n / omp_get_num_threads() + 1, n
          energy = 0
          do j = 1, i - 1
             dx = x(i) - x(j)
             energy = energy + 1 / sqrt(2 * dx**2 + 1e-6_c_double)
          end do
          if (energy < 0) e(1) = energy
       end do
    end if
    !$omp end parallel
"""
_FORTRAN_SET = """
    interface
       subroutine kmp_set_blocktime(milliseconds) bind(c, name="kmp_set_blocktime")
         import :: c_int
         integer(c_int), value :: milliseconds
       end subroutine kmp_set_blocktime
    end interface
"""


def _both(name: str, truth: Truth, schedule: str) -> list[BenchKernel]:
    return [BenchKernel(name, language, truth, schedule) for language in ("c", "fortran")]


KERNELS: tuple[BenchKernel, ...] = (
    *_both("solution", "even", "guided"),
    *_both("static_1", "even", "static, 1"),
    *_both("dynamic_1", "even", "dynamic, 1"),
    *_both("dynamic_16", "even", "dynamic, 16"),
    BenchKernel("half_again", "c", "even", region=_C_TWICE),
    *_both("handout", "uneven", "static"),
    BenchKernel("guided_large", "c", "uneven", "guided, 6000"),  # 16,000 rows, two threads
    BenchKernel("sleeps", "c", "uneven", region=_C_SLEEPS.replace("PART *", "")),
    BenchKernel("blocktime", "c", "spins", "static", first="kmp_set_blocktime(100000);\n"),
    BenchKernel("blocktime", "fortran", "spins", "static",
                first="    call kmp_set_blocktime(100000_c_int)\n", before=_FORTRAN_SET),
    BenchKernel("infinite", "c", "spins", "static", first="kmp_set_blocktime(INT_MAX);\n"),
    BenchKernel("policy", "c", "spins", "static", before="""
__attribute__((constructor)) static void set(void) { setenv("OMP_WAIT_POLICY", "active", 1); }
"""),
    BenchKernel("flag", "c", "spins", region=_C_BY_FLAG.replace("TEAM", "")),
    BenchKernel("flag", "fortran", "spins", region=_FORTRAN_SPIN),
    BenchKernel("flag_of_two", "c", "spins", region=_C_BY_FLAG.replace("TEAM", "num_threads(2)")),
    BenchKernel("clock", "c", "spins", region=_C_BY_CLOCK.replace("PART *", "")),
    BenchKernel("clock_in_part", "c", "spins", region=_C_BY_CLOCK.replace("PART", "0.85")),
    BenchKernel("work", "c", "spins", region=_C_BY_WORK),
    BenchKernel("work", "fortran", "spins", region=_FORTRAN_WORK),
    BenchKernel("helper", "c", "spins", before=_C_HELPER, region=_C_WITH_HELPER),
    BenchKernel("any_team", "c", "hidden", region=_C_ANY_TEAM),
    BenchKernel("alone_too", "c", "hidden", region=_C_ALONE_TOO.replace("TEAM", "")),
)  # fmt: skip


def _c_text(kernel: BenchKernel, solution: str) -> str:
    signature = "void pair_energy(size_t n, const double *x, const double *y, const double *z, "
    region = kernel.region or f"#pragma omp parallel for schedule({kernel.schedule})\n{_C_ROWS}"
    stream = solution[solution.index("void stream_update") :]
    return (
        f"{_C_HEAD}{_C_ROW}{kernel.before}\n{signature}double *e)\n{{\n{kernel.first}{region}}}\n\n"
        f"{stream}"
    )


def _fortran_text(kernel: BenchKernel, solution: str) -> str:
    loop_at = solution.index("    !$omp parallel do schedule(guided)")
    end = "    !$omp end parallel do\n"
    end_at = solution.index(end)
    loop = solution[solution.index("    do i = 1, n", loop_at) : end_at]
    region = kernel.region.replace("LOOP\n", loop) or (
        f"    !$omp parallel do schedule({kernel.schedule}) private(j, dx, dy, dz, energy)\n"
        f"{loop}{end}"
    )
    head = solution[:loop_at].replace(
        "integer(c_size_t) :: i, j\n",
        f"integer(c_size_t) :: i, j\n    integer(c_int), save :: arrived\n"
        f"    integer(c_int) :: seen\n{kernel.before}",
    )
    uses = "c_double, c_size_t\n"
    head = head.replace(uses, f"c_double, c_int, c_size_t\n  use omp_lib, only: {_OMP}\n")
    return head + kernel.first + region + solution[end_at + len(end) :]


_OMP = "omp_get_num_threads, omp_get_thread_num"


def text_of(kernel: BenchKernel, installation: Installation) -> str:
    """The whole kernel file."""
    file = installation.solution_folder("03_scheduling") / KERNEL_FILES[kernel.language]
    write = {"c": _c_text, "fortran": _fortran_text}[kernel.language]
    return write(kernel, file.read_text())
