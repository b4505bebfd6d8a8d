"""Which line of what was printed says why a program ended: texts of real runtimes."""

from __future__ import annotations

import pytest
from support.run_values import an_outcome

from numalab.judging.printed_words import line_that_says_most, reason_in

BAD_TERMINATION = f"""
{"=" * 83}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 5123 RUNNING AT vm
=   EXIT CODE: 15
{"=" * 83}
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)
"""

# MPICH 4.0.2, of MPI_Init called twice.
TWICE = """\
Abort(671731215) on node 1 (rank 1 in comm 0): Fatal error in internal_Init: Other MPI error, \
error stack:
internal_Init(59): MPI_Init(argc=(nil), argv=(nil)) failed
internal_Init(39): Cannot call MPI_INIT or MPI_INIT_THREAD more than once
"""
WHY_TWICE = "internal_Init(39): Cannot call MPI_INIT or MPI_INIT_THREAD more than once"
RANK = """\
Abort(67783174) on node 0 (rank 0 in comm 0): Fatal error in internal_Send: Invalid rank, \
error stack:
internal_Send(120): MPI_Send(buf=0x7ffc919736ec, count=1, MPI_INT, 77, 0, MPI_COMM_WORLD) failed
internal_Send(78).: Invalid rank has value 77 but must be nonnegative and less than 2
"""
TRUNCATED = """\
Abort(671227918) on node 0 (rank 0 in comm 0): Fatal error in internal_Recv: Message truncated, \
error stack:
internal_Recv(127): MPI_Recv(buf=0x7ffed7804840, count=1, MPI_INT, 1, 0, MPI_COMM_WORLD) failed
(unknown)(): Message truncated
"""
# Intel MPI 2021, where no fabric is found.
INTEL = """\
Abort(1615247) on node 0 (rank 0 in comm 0): Fatal error in PMPI_Init: Other MPI error, error stack:
MPIR_Init_thread(176)........:
MPID_Init(1548)..............: \n\
MPIDI_OFI_mpi_init_hook(1554): OFI addrinfo() failed (ofi_init.c:1554:No data available)
"""
OPEN_MPI = """\
[vm:04711] *** An error occurred in MPI_Send
[vm:04711] *** reported by process [1361641473,0]
[vm:04711] *** on communicator MPI_COMM_WORLD
[vm:04711] *** MPI_ERR_RANK: invalid rank
[vm:04711] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,
[vm:04711] ***    and potentially your MPI job)
"""
FORTRAN = """\
At line 4 of file kernel.f90
Fortran runtime error: Attempting to allocate already allocated variable 'b'

Error termination. Backtrace:
#0  0x7fae7a2218c2 in ???
#5  0x7fae7a4f7249 in __libc_start_call_main
\tat ../sysdeps/nptl/libc_start_call_main.h:58
#8  0xffffffffffffffff in ???
"""
ERROR_STOP = "ERROR STOP no items\n\nError termination. Backtrace:\n#0  0x7f17da8218c2 in ???\n"
IN_A_PLACE = "kernel: kernel.c:5: main: Assertion `c==7' failed."
OF_THE_LOADER = (
    "./kernel: error while loading shared libraries: libx.so: cannot open shared object file: No "
    "such file or directory"
)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (TWICE, WHY_TWICE),
        (TWICE + BAD_TERMINATION, WHY_TWICE),
        ("sent 12 items\n" + TWICE, WHY_TWICE),
        (TWICE + TRUNCATED, WHY_TWICE),
        ("\n".join(line for line in TWICE.splitlines() for _ in range(2)), WHY_TWICE),
        (TWICE.splitlines()[0], TWICE.splitlines()[0]),
        (RANK, "internal_Send(78): Invalid rank has value 77 but must be nonnegative and less "
         "than 2"),
        (TRUNCATED, "(unknown)(): Message truncated"),
        (INTEL, "MPIDI_OFI_mpi_init_hook(1554): OFI addrinfo() failed (ofi_init.c:1554:No data "
         "available)"),
        (OPEN_MPI, "[vm:04711] *** MPI_ERR_RANK: invalid rank"),
        (FORTRAN, "Fortran runtime error: Attempting to allocate already allocated variable 'b'"),
        (ERROR_STOP, "ERROR STOP no items"),
        (f"1\n2\n{IN_A_PLACE}\nAborted by a handler", IN_A_PLACE),
        ("free(): double free detected in tcache 2\nlib: ends", "free(): double free detected in "
         "tcache 2"),
        ("*** stack smashing detected ***: terminated\n-", "*** stack smashing detected ***: "
         "terminated"),
        (OF_THE_LOADER, OF_THE_LOADER),
        ("Abort(3) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 3)",
         "Abort(3) on node 0 (rank 0 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 3)"),
        ("free of charge: 3\nlast words", "last words"),
        (BAD_TERMINATION, ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_line_with_the_reason_is_told(said: str, why: str) -> None:
    assert reason_in(said) == why
    ended = an_outcome("exited", **{"ranks": 2, "printed": said, "printed_bytes": len(said)})
    assert line_that_says_most(ended) == (f" It printed: {why}" if why else "")
