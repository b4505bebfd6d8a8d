"""Start the command line. Its modules take half a second to import; until then Ctrl-C ends the
process here, without a traceback."""

import os
import signal
from typing import NoReturn

from numalab.exit_codes import EXIT_INTERRUPTED


def _leave(number: int, frame: object) -> NoReturn:
    del number, frame
    os.write(2, b"numalab: interrupted\n")
    os._exit(EXIT_INTERRUPTED)


# A script's background jobs have SIGINT ignored, and the launcher blocks it while Python starts.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _leave)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

from numalab.commands.root import main  # noqa: E402

main()
