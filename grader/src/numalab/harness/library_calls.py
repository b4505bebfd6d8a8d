"""Which functions of libraries a watched kernel may call: of what a library stores on a kernel's
behalf no compiler tells.

Seen is what ThreadSanitizer knows (interceptors, which the linked program has by name), and what is
called in the C library's stead (common/worker/watched_memory.c). Beside that functions are let
through that store nothing where a kernel says, or nothing that it can choose. All others are
refused by name: a list of what is to be refused would never be complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# As common/cmake/AddLab.cmake redirects them.
TOLD = frozenset(
    {
        "memcpy", "mempcpy", "memmove", "memset", "bcopy", "bzero", "strcpy", "stpcpy", "strncpy",
        "__memcpy_chk", "__mempcpy_chk", "__memmove_chk", "__memset_chk", "__strcpy_chk",
        "__stpcpy_chk", "__strncpy_chk", "sincos", "sincosf", "frexp", "frexpf", "modf", "modff",
        "syscall",
    }
)  # fmt: skip

# Long: made where it is looked for.
_ALLOWED = (
    # Mathematics: values in, a value out.
    r"(?:a?(?:sin|cos|tan)h?|atan2|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|ilogb|pow|sqrt|cbrt|hypot|fabs"
    r"|floor|ceil|trunc|(?:ll?)?r(?:int|ound)|nearbyint|roundeven|fmod|remainder|fmin|fmax|fdim|fma"
    r"|copysign|nan|nextafter|nexttoward|scalbl?n|ldexp|erfc?|[lt]?gamma|[jy][01n]"
    r"|c(?:abs|arg|imag|real|exp|log|pow|sqrt|proj|conj|a?(?:sin|cos|tan)h?))(?:f|l|f128)?"
    r"|_ZGV\w+|__\w+_finite|(?:l|ll)?abs|i?rand|srand|drand48"
    # What compilers call for arithmetic.
    r"|__(?:pow|mul|u?div|u?mod|popcount|parity|clz|ctz|ffs|float|fix|extend|trunc|add|sub|neg|eq|ne"
    r"|[lg][te]|unord|u?cmp|ash|lsh|bswap)[a-z]{2,12}\d?"
    # OpenMP, but for what fills an array.
    r"|omp_(?!get_place_proc_ids|get_partition_place_nums|capture_affinity)\w+|GOMP_\w+|__kmpc_\w+"
    r"|kmp_\w+"
    # Fortran: errors, what is printed, lengths and comparisons.
    r"|_gfortran_(?:runtime_\w+|os_error\w*|(?:error_)?stop_\w+|generate_error\w*|set_\w+|size[01]\w*"
    r"|pow_\w+|compare_string\w*|string_\w+|concat_string\w*|adjust[lr]\w*|select_string\w*|st_\w+"
    r"|transfer_\w+_write|internal_pack|system_clock_\w+|cpu_time_\w+|date_and_time|flush_\w+|abort"
    r"|exit_\w+|get_environment_variable\w*|ieee_\w+)"
    # Memory as such, threads, places.
    r"|malloc|calloc|realloc|free|aligned_alloc|memalign|posix_memalign|mmap|munmap|mremap|mprotect"
    r"|madvise|mlock|munlock|mbind|set_mempolicy|move_pages|memfd_create|shm_(?:open|unlink)|ftruncate"
    r"|shm(?:get|at|dt|ctl)|sched_\w+|pthread_\w+|numa_\w+|hwloc_\w+|sysconf|getpagesize|get[pt]id"
    r"|getcpu"
    # Time, ends, and what is told to people.
    r"|clock(?:_gettime)?|time|gettimeofday|usleep|nanosleep|sleep|abort|_?exit|_Exit|atexit|raise"
    r"|signal|__assert_fail|(?:v?f?printf|__v?f?printf_chk)|perror|f?puts|f?putc|putchar|fwrite"
    r"|fflush|fopen|fclose|open|close|write|pwrite(?:64)?|unlink|setenv|unsetenv|getenv"
    # Processes and folders, of which others are told.
    r"|exec\w{1,3}|v?fork|kill|system|p(?:open|close)|wait(?:pid)?|prctl|(?:open|close|read)dir"
    # Text that is read.
    r"|strn?len|strn?(?:case)?cmp|strr?chr|strstr|strc?spn|strpbrk|strerror|strn?dup|memr?chr|memcmp"
    r"|bcmp|ato(?:i|l|ll|f)|strto\w+|__isoc23_strto\w+"
    # Objects of the C library and of linkers.
    r"|stdin|stdout|stderr|environ|signgam|_GLOBAL_OFFSET_TABLE_|__cpu_(?:model|indicator_init)"
    r"|__errno_location|__ctype_\w+|__tls_get_addr|__stack_chk_fail|__libc_single_threaded"
    r"|_Unwind_\w+|__gcc_personality_v0"
)


def intercepted(defined: Iterable[str]) -> frozenset[str]:
    """What ThreadSanitizer knows of libraries. defined: names that a program with it defines."""
    found = set()
    for name in defined:
        for prefix in ("___interceptor_", "__interceptor_"):
            if name.startswith(prefix):
                found.add(name.removeprefix(prefix))
                break
    return frozenset(found)


def unseen_call(asked: Iterable[str], known: frozenset[str]) -> str | None:
    """The first function, by name, of which nobody sees what it stores. asked: what a kernel's
    object asks for; known: what is seen of libraries beside TOLD."""
    for name in sorted(asked):
        plain = name.split("@")[0]
        in_c = plain.removesuffix("_")  # as Fortran calls it
        if not (
            {plain, in_c} & (TOLD | known)
            or any(re.fullmatch(_ALLOWED, one) for one in (plain, in_c))
        ):
            return plain
    return None
