"""The command line. Until its modules are imported, which takes half a second, Ctrl-C ends it here:
without a traceback."""

import os
import signal
from typing import NoReturn

from numalab.exit_codes import EXIT_INTERRUPTED


def _leave(number: int, frame: object) -> NoReturn:
    del number, frame
    os.write(2, b"numalab: interrupted\n")
    os._exit(EXIT_INTERRUPTED)


# Nohup has it ignored. The launcher has blocked it for Python's own start.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

from numalab.commands.root import main  # noqa: E402

main()
