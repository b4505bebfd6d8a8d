"""One command in a virtual machine, with this process's input, output and signals."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import shutil
import signal
import socket
import struct
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from numalab.errors import NumalabError, UserError
from numalab.harness.sandbox import is_below
from numalab.processes import shell_variables
from numalab.virtual import channel as line
from numalab.virtual.channel import Channel
from numalab.virtual.guest import Ended, Guest, Input
from numalab.virtual.guest_plan import Share
from numalab.virtual.plan import is_home_or_above
from numalab.virtual.qemu_process import GuestFailed

# ---- the terminal --------------------------------------------------------------------


INPUT_BYTES = 16 * 1024
LEAVE = b"\x1d"  # Ctrl-], typed alone: leaves the guest, also one that does not answer any more
INTERRUPTS_BEFORE_KILL = 2


def _stdin() -> int | None:
    """Return the descriptor of stdin; None where it can't be read: it is closed or write-only
    (nohup), or this process is in the background."""
    if sys.stdin is None or sys.stdin.closed:
        return None
    descriptor = sys.stdin.fileno()
    try:
        os.read(descriptor, 0)
        in_background = os.isatty(descriptor) and os.tcgetpgrp(descriptor) != os.getpgrp()
    except OSError:
        return None
    return None if in_background else descriptor


def is_interactive() -> bool:
    """Tell whether input, output and errors of this process are a terminal that it may use."""
    return _stdin() is not None and all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)
    )


def window_size() -> tuple[int, int]:
    """Return rows and columns of the terminal. Raises OSError where stdin is none."""
    size = os.get_terminal_size(sys.stdin.fileno())
    return max(1, size.lines), size.columns


class ForwardedInput(Input):
    """This process's input and signals, passed on while a command runs, within attached(). handle()
    raises KeyboardInterrupt where LEAVE is typed alone in a terminal, and at the Ctrl-C after
    INTERRUPTS_BEFORE_KILL."""

    def __init__(self, interactive: bool) -> None:
        self.interactive = interactive
        self._stdin = _stdin()
        self._queue = bytearray()  # typed, and not yet sent
        self._is_waiting = False  # for the guest to read what it was sent
        self._has_ended = self._stdin is None
        self._has_told_end = False
        self._interrupts = 0
        self._signals, self._wakeup = socket.socketpair()
        self._signals.setblocking(False)
        self._wakeup.setblocking(False)

    @contextlib.contextmanager
    def attached(self) -> Iterator[ForwardedInput]:
        """Take over Ctrl-C, and the terminal if `interactive`, and give them back at the block's
        end. Works once, in the main thread."""

        def ignore(number: int, frame: FrameType | None) -> None:
            del number, frame  # the wakeup descriptor tells

        old_wakeup = signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        watched = [signal.SIGINT, *([signal.SIGWINCH] if self.interactive else [])]
        old = {number: signal.signal(number, ignore) for number in watched}
        terminal = self._stdin if self.interactive else None
        modes = [] if terminal is None else termios.tcgetattr(terminal)
        try:
            if terminal is not None:
                tty.setraw(terminal)
            yield self
        finally:
            if terminal is not None:
                with contextlib.suppress(termios.error):  # it may be gone
                    termios.tcsetattr(terminal, termios.TCSANOW, modes)
            for number, handler in old.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_wakeup)
            self._signals.close()
            self._wakeup.close()

    def readers(self) -> Sequence[Any]:
        return [self._signals, *([] if self._stdin is None else [self._stdin])]

    def handle(self, ready: set[Any], selector: selectors.BaseSelector, channel: Channel) -> None:
        if self._signals in ready:
            for number in self._signals.recv(256):
                self._signal(number, channel)
        if self._stdin in ready:
            self._read(selector)
        if self._is_waiting:
            return
        if self._queue:
            channel.send(line.INPUT, bytes(self._queue))
            self._queue.clear()
            self._is_waiting = True
        elif self._has_ended and not self._has_told_end:
            channel.send(line.INPUT)
            self._has_told_end = True
        elif not self._has_ended and self._stdin not in selector.get_map():
            assert self._stdin is not None
            selector.register(self._stdin, selectors.EVENT_READ)

    def _read(self, selector: selectors.BaseSelector) -> None:
        assert self._stdin is not None
        try:
            data = os.read(self._stdin, INPUT_BYTES)
        except OSError:
            data = b""
        if self.interactive and data == LEAVE:
            raise KeyboardInterrupt
        self._queue += data
        self._has_ended = not data
        # A terminal is always read, for LEAVE; a file only once the guest has read the last piece.
        if not data or not self.interactive:
            selector.unregister(self._stdin)

    def _signal(self, number: int, channel: Channel) -> None:
        if number == signal.SIGWINCH:
            channel.send(line.WINDOW, struct.pack("<HH", *window_size()))
        elif number == signal.SIGINT:
            self._interrupts += 1
            if self._interrupts > INTERRUPTS_BEFORE_KILL:
                raise KeyboardInterrupt
            last = self._interrupts == INTERRUPTS_BEFORE_KILL
            wanted = signal.SIGKILL if last else signal.SIGINT
            channel.send(line.SIGNAL, struct.pack("<I", wanted))

    def consumed(self) -> None:
        self._is_waiting = False


# ---- a command in a virtual machine --------------------------------------------------


OWN_FOLDERS = ("/tmp", "/run", "/dev", "/proc", "/sys", "/root", "/etc")
EXIT_NO_COMMAND, EXIT_NOT_EXECUTABLE = 127, 126
RESULTS_VARIABLE = "NUMALAB_RESULTS"

# Beginnings of names of variables about this machine's surroundings, which the guest does not have:
# a job of a cluster, a desktop, temporary folders, a Python environment's start-up.
_LEFT_OUT = ("SLURM", "PMI_", "PMIX_", "XDG_", "DBUS_", "SSH_", "NUMALAB_", "PYTHON", "VIRTUAL_ENV")


def guest_environment(
    environment: Mapping[str, str], machine: str, results: Path | None
) -> dict[str, str]:
    """Return an environment for the guest: without variables about this machine's surroundings
    (_LEFT_OUT), and with those of the guest's user root. machine: its name; results: the folder of
    --results; None: there is none."""
    kept = {k: v for k, v in environment.items() if not k.startswith(_LEFT_OUT)}
    kept |= {
        "HOME": "/root",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/sh",
        "TMPDIR": "/tmp",
        "NUMALAB_MACHINE": machine,
    }
    kept.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    if results is not None:
        kept[RESULTS_VARIABLE] = str(results)
    return kept


def shares_for(folder: Path, results: Path | None, more: Sequence[Path]) -> list[Share]:
    """Return the folders to mount: the current one, those of --share (more), and that of --results,
    which alone may be written to; None: there is none. Raises UserError where the current folder
    can't be mounted, or one of --share is missing."""
    own = [path for path in OWN_FOLDERS if folder == Path(path)]
    if own:
        raise UserError(
            f"the current folder is {folder}, and a virtual node has a {folder} of its own. "
            "Change to a folder below it (cd), then try again."
        )
    if is_home_or_above(folder) and folder != results:
        raise UserError(
            f"the current folder, {folder}, is or contains your home folder, which a virtual "
            "node does not get to see. Change to a folder of its own below it (cd), then try "
            "again."
        )
    shares = [Share(folder)] if folder != results else []
    for path in more:
        if not path.is_dir():
            raise UserError(f"--share {path}: there is no such folder")
        shares.append(Share(path.resolve()))
    if results is not None:
        shares.append(Share(results, writable=True))
    return shares


def results_folder(path: Path) -> Path:
    """Return the folder of --results, resolved and made if need be. Raises UserError where it can't
    be made or written to."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--results {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise UserError(f"--results {path}: you may not write to this folder")
    return path.resolve()


def why_refused(reason: int, command: str, folder: Path, shares: Sequence[Share]) -> str:
    """Return a text on why the guest could not start a command. reason: its errno."""
    visible = [share.path for share in shares]
    sees = f"It sees {', '.join(map(str, visible))}"
    program = shutil.which(command, path=os.environ.get("PATH"))
    here = Path(command) if "/" in command else Path(program) if program else None
    if here is None:
        return f"there is no command {command}, neither here nor in the virtual node"
    path = folder / here
    if not path.exists():
        return f"there is no program {command}, neither here nor in the virtual node"
    real = path.resolve()
    for place in (path, real):
        if not is_below(place, visible):
            link = f" (a link to {real})" if real != path else ""
            return (
                f"{path}{link} is there on this host, but the virtual node does not see it. "
                f"{sees}; more with --share DIR."
            )
    if reason == errno.EACCES:
        return f"{path} may not be executed: chmod +x it, or name what runs it"
    if reason == errno.ENOEXEC:
        return f"{path} is no program: does its first line lack #! and an interpreter?"
    return (
        f"{path} can't be started in the virtual node ({os.strerror(reason)}): its interpreter "
        f"or loader is not visible there. {sees}; more with --share DIR."
    )


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data to a descriptor."""
    while data:
        data = data[os.write(descriptor, data) :]


def run_command(
    guest: Guest,
    command: Sequence[str],
    folder: Path,
    results: Path | None,
    run: Callable[..., Ended | None] | None = None,
) -> int:
    """Run a command in a guest with this process's input, output and Ctrl-C; return its exit code
    as a shell does.

    Args:
        folder: the command's current folder.
        results: the folder of --results; None: there is none.
        run: called in place of guest.run, with the same arguments; None: guest.run.

    Raises NumalabError where the guest fails, and KeyboardInterrupt (ForwardedInput).
    """
    interactive = is_interactive()
    out, err = sys.stdout.fileno(), sys.stderr.fileno()
    environment = guest_environment(
        shell_variables.guest_environment(), guest.plan.machine.name, results
    )
    try:
        with ForwardedInput(interactive).attached() as source:
            ended = (run or guest.run)(
                command,
                str(folder),
                environment,
                lambda data: write_all(out, data),
                lambda data: write_all(err, data),
                source,
                window_size() if interactive else (0, 0),
            )
    except GuestFailed as error:
        raise NumalabError(str(error)) from error
    assert ended is not None  # without a limit it comes to its end
    return exit_code(ended, command[0], folder, guest.plan.shares)


def exit_code(ended: Ended, command: str, folder: Path, shares: Sequence[Share]) -> int:
    """Return a shell's exit code: the command's, 128 plus the number of the signal that ended it,
    or 126 or 127 where it could not be started; why is printed to stderr then."""
    if ended.refused:
        why = why_refused(ended.refused, command, folder, shares)
        print(f"numalab: {why}", file=sys.stderr)
        return EXIT_NOT_EXECUTABLE if ended.refused == errno.EACCES else EXIT_NO_COMMAND
    return 128 + ended.signal if ended.signal else ended.code
