"""A virtual machine while it runs: start it or wake it from a snapshot, mount folders of this
machine in it, run commands there, and end it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import selectors
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numalab.processes.limits import limits_in_force, limits_sentence, signal_name
from numalab.pu_lists import kernel_pus
from numalab.virtual import channel as line
from numalab.virtual import qemu
from numalab.virtual.channel import Channel, ChannelClosed, Frame
from numalab.virtual.guest_plan import GuestPlan
from numalab.virtual.network import (
    FINALIZE,
    NODE_NAMES_FILE,
    REMOTE,
    Node,
    address_table,
    all_nodes,
)
from numalab.virtual.qemu_process import (
    STEP_LIMIT_S,
    GuestEnded,
    GuestFailed,
    QemuMonitor,
    is_own_end,
    memory_file,
    start_qemu,
)

RESTORE_LIMIT_S = 20.0
HEARTBEAT_S = 5.0
SILENCE_LIMIT_S = 90.0
END_LIMIT_S = 10.0  # for QEMU to end, once its line is closed
CONSOLE_LINES = 12
NOISE_BYTES = 64
PIECE_BYTES = 1 << 20
PROGRAMS_SHARE = 0.125  # of the guest's memory, for programs that it holds


@dataclass(frozen=True)
class Ended:
    """How a command ended. code: its exit code, 127 where it was refused; signal: the number of the
    signal that ended it, else 0; refused: the errno for which it could not be started, else 0."""

    code: int
    signal: int = 0
    refused: int = 0


@dataclass(frozen=True)
class ClusterMember:
    """A guest's part in a cluster. link: QEMU's end of its link, which the caller closes; finalize:
    content of a library for MPI programs (common/guest/finalize.c)."""

    node: Node
    link: socket.socket
    finalize: bytes


# ---- the guest's own files ---------------------------------------------------------------


def _local_files() -> Iterator[tuple[str, bytes]]:
    """Yield path and content of files for the guest's /etc: this machine's on libraries and name
    services, as far as they can be read, then own ones on users and groups."""
    for name in ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/nsswitch.conf"):
        with contextlib.suppress(OSError):
            yield name, Path(name).read_bytes()
    yield "/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
    yield "/etc/group", b"root:x:0:\nnogroup:x:65534:\n"


def _local_links() -> Iterator[tuple[str, str]]:
    """Yield the symbolic links (target, path) of the root folder that lead to programs and
    libraries, and Debian's alternatives."""
    for path in sorted(Path("/").iterdir()):
        if path.is_symlink() and path.name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            yield str(path.readlink()), str(path)
    alternatives = Path("/etc/alternatives")
    if alternatives.is_dir():
        for path in sorted(alternatives.iterdir()):
            if path.is_symlink():
                yield str(path.readlink()), str(path)


# ---- the guest ---------------------------------------------------------------------------


class Guest(contextlib.AbstractContextManager["Guest"]):
    """A virtual machine, which is closed at the end of a `with` block. name: the machine's, of a
    cluster's node node1 and so on."""

    def __init__(
        self,
        plan: GuestPlan,
        program: str,
        initrd: bytes,
        snapshot: int | None,
        member: ClusterMember | None = None,
    ) -> None:
        """Start QEMU (program); is_up_within or wake, then set_up, make the guest usable. snapshot:
        descriptor of one to wake from, which the caller closes; None: boot."""
        self.plan = plan
        self._member = member
        self.name = member.node.name if member else plan.machine.name
        self.from_snapshot = snapshot is not None
        # A file's position is shared with the process that inherits it.
        if snapshot is not None:
            os.lseek(snapshot, 0, os.SEEK_SET)
        own, theirs = socket.socketpair()
        own_control, their_control = socket.socketpair()
        self.channel = Channel(own)
        self._open_pings = 0  # that were sent and not answered yet
        self._held: dict[str, str] = {}  # digest of each program in the guest, by its path
        self._control = own_control
        self._console = memory_file("console")
        shares = [(str(share.path), share.writable) for share in plan.shares]
        # A snapshot needs all of its devices: those left over share what is visible anyway.
        shares += [("/usr", False)] * (qemu.SHARES - len(shares))
        with memory_file("initrd", initrd) as initrd_file, theirs, their_control:
            link = member.link.fileno() if member else None
            devices = qemu.Devices(
                initrd_file.fileno(), theirs.fileno(), their_control.fileno(), shares, link
            )
            inherited = [devices.initrd, devices.channel, devices.monitor]
            if link is not None:
                inherited.append(link)
            if snapshot is not None:
                inherited.append(snapshot)
            try:
                self.process = start_qemu(
                    plan.command(program, devices, snapshot), self._console, inherited
                )
            except BaseException:
                self._close_own()
                raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End QEMU, and close what this process has of it; may be called again."""
        self.process.kill()
        self.process.wait()
        self._close_own()

    def _close_own(self) -> None:
        self.channel.close()
        self._control.close()
        self._console.close()

    def pause(self) -> None:
        """Stop QEMU (SIGSTOP), so that the guest uses none of this machine's cores."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    # ---- coming up -----------------------------------------------------------------

    def console(self) -> str:
        """Return the last lines, at most CONSOLE_LINES and none of them blank, that Linux, the
        guest's first process and QEMU have printed, indented; empty where they have printed
        nothing."""
        size = os.fstat(self._console.fileno()).st_size
        text = os.pread(self._console.fileno(), size, 0).decode(errors="replace")
        lines = [text_line.rstrip() for text_line in text.splitlines() if text_line.strip()]
        return "\n".join(f"  | {text_line}" for text_line in lines[-CONSOLE_LINES:])

    def failure(self, what: str) -> GuestFailed:
        """Return an error with what happened, the signal that ended QEMU if one has, limits in
        force where it failed, and the console's end."""
        code = self.process.poll()
        if code is not None and code < 0:
            what += f" {signal_name(code)} ended it."
        if code:
            what += limits_sentence(limits_in_force())
        said = self.console()
        tail = f" Its console's last lines:\n{said}" if said else " Its console is empty."
        return GuestFailed(f"{what}{tail}")

    def _wait_for_end(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(END_LIMIT_S)

    def lost(self) -> GuestFailed:
        """Return the error to raise once the line is closed: GuestEnded where the guest itself
        brought that about (is_own_end), else GuestFailed. Waits up to END_LIMIT_S for QEMU's
        end."""
        self._wait_for_end()
        failed = self.failure(f"QEMU ended, and {self.name} with it.")
        return GuestEnded(str(failed)) if is_own_end(self.process.returncode) else failed

    def is_up_within(self, limit_s: float) -> bool:
        """Wait up to limit_s seconds until a booting guest is up, and tell whether it is. Raises
        GuestFailed where QEMU ends, or Linux numbers the PUs in another way than the machine's
        description."""
        try:
            ready = self.channel.wait_for(line.READY, limit_s)
        except ChannelClosed as error:
            self._wait_for_end()
            raise self.failure(f"QEMU ended while {self.name} was booting.") from error
        if ready is not None:
            self._compare_numbering(ready.payload.decode(errors="replace"))
        return ready is not None

    def _compare_numbering(self, numbering: str) -> None:
        numbered = {}
        for text in numbering.splitlines():
            node, _, pus = text.partition(":")
            numbered[int(node)] = set(kernel_pus(pus))
        described = {node.number: set(node.pus) for node in self.plan.machine.numa_nodes}
        if numbered != described:
            raise self.failure(
                f"Linux in the guest does not number the PUs as {self.name} does (NUMA node: PUs "
                f"{numbering.split()}); the kernel {self.plan.kernel.version} may lack "
                "CONFIG_ACPI_TABLE_UPGRADE. Try another: --guest-kernel FILE."
            )

    def _ping(self, limit_s: float) -> str:
        """Ping the guest, wait for the answers to it and to earlier pings, up to limit_s seconds
        for each, and return the first trouble that they report; empty where they report none."""
        trouble = ""
        try:
            self._send_ping()
            while self._open_pings:
                answer = self.channel.wait_for(line.PONG, limit_s)
                self._open_pings -= 1
                if answer is None:
                    raise self.failure(f"{self.name} does not answer.")
                trouble = trouble or answer.payload.decode(errors="replace")
        except ChannelClosed as error:
            raise self.lost() from error
        return trouble

    def _send_ping(self) -> None:
        self.channel.send(line.PING)
        self._open_pings += 1

    def save(self, file: int) -> None:
        """Write a snapshot to a descriptor, and let the guest go on, whether that works or not.
        Raises GuestFailed."""
        monitor = QemuMonitor(self._control)
        monitor.ask("stop")
        try:
            self._write_state(monitor, file)
        finally:
            monitor.ask("cont")

    def _write_state(self, monitor: QemuMonitor, file: int) -> None:
        monitor.ask("migrate-set-parameters", {"max-bandwidth": 1 << 40})
        monitor.ask("getfd", {"fdname": "state"}, [file])
        monitor.ask("migrate", {"uri": "fd:state"})
        deadline = time.monotonic() + STEP_LIMIT_S
        while (state := monitor.ask("query-migrate").get("status")) != "completed":
            if state in ("failed", "cancelled") or time.monotonic() > deadline:
                raise GuestFailed(f"the state of {self.name} can't be kept ({state})")
            time.sleep(0.02)

    def wake(self) -> None:
        """Wait until QEMU has read the snapshot, let the guest go on, and wait for its answer.
        Raises GuestFailed where that fails or takes too long (RESTORE_LIMIT_S for each wait)."""
        monitor = QemuMonitor(self._control)
        deadline = time.monotonic() + RESTORE_LIMIT_S
        while (state := monitor.ask("query-status").get("status")) == "inmigrate":
            if time.monotonic() > deadline:
                raise GuestFailed(f"the state of {self.name} can't be read ({state})")
            time.sleep(0.02)
        monitor.ask("cont")
        self._ping(RESTORE_LIMIT_S)

    def set_up(self) -> None:
        """Give the guest what its boot or snapshot lacks, such as the time, its name, files of /etc
        and the shared folders. Raises GuestFailed where it ends or reports trouble."""
        try:
            self._send_set_up()
        except ChannelClosed as error:
            raise self.lost() from error
        trouble = self._ping(STEP_LIMIT_S)
        if trouble:
            raise self.failure(f"{self.name} could not be set up: {trouble}.")

    def _send_set_up(self) -> None:
        now = time.time_ns()
        self.channel.send(line.CLOCK, struct.pack("<qq", *divmod(now, 10**9)))
        self.channel.send(line.NOISE, os.urandom(NOISE_BYTES))
        for target, path in _local_links():
            self.channel.send_strings(line.LINK, target, path)
        for path, content in _local_files():
            self.channel.send(line.WRITE, path.encode() + b"\0" + content)
        node = self._member.node if self._member else None
        hosts = address_table(node) if node else f"127.0.0.1 localhost {self.name}\n"
        for path, text in (("/etc/hosts", hosts), ("/proc/sys/kernel/hostname", self.name)):
            self.channel.send(line.WRITE, f"{path}\0{text}".encode())
        if self._member:
            self._send_network(self._member)
        numbered = sorted(enumerate(self.plan.shares), key=lambda pair: len(pair[1].path.parts))
        for number, share in numbered:
            self.channel.send_strings(
                line.MOUNT, qemu.share_tag(number), str(share.path), share.mount_options
            )

    def _send_network(self, member: ClusterMember) -> None:
        """Send a cluster node's addresses, and what MPI needs there."""
        node = member.node
        names = "".join(f"{one.name}\n" for one in all_nodes(node.nodes))
        self.channel.send(line.WRITE, f"{NODE_NAMES_FILE}\0{names}".encode())
        self.channel.send_strings(line.LINK, "/init", REMOTE)
        self._send_program(FINALIZE, member.finalize)
        addresses = (text for one in (node, *node.others) for text in (one.ethernet, one.ip))
        self.channel.send_strings(line.NETWORK, *addresses)

    def hold(self, programs: Mapping[str, Path]) -> None:
        """Put programs into the guest's memory, in place of those that it held before; one that it
        holds already isn't sent again. programs: this machine's files by the path in the guest.
        Raises GuestFailed, and GuestEnded where they take more than PROGRAMS_SHARE of the guest's
        memory."""
        contents = {path: file.read_bytes() for path, file in programs.items()}
        size, most = sum(map(len, contents.values())), PROGRAMS_SHARE * self.plan.memory_bytes
        if size > most:
            raise GuestEnded(
                f"{', '.join(programs)}: {size >> 20} MiB of programs, more than {self.name} can "
                f"hold ({int(most) >> 20} MiB)."
            )
        digests = {path: hashlib.sha256(data).hexdigest() for path, data in contents.items()}
        if digests == self._held:
            return
        try:
            for path in self._held:
                if digests.get(path) != self._held[path]:
                    self.channel.send_strings(line.DROP, path)
            for path, data in contents.items():
                if digests[path] != self._held.get(path):
                    self._send_program(path, data)
        except ChannelClosed as error:
            raise self.lost() from error
        self._held = digests
        trouble = self._ping(STEP_LIMIT_S)
        if trouble:
            raise self.failure(f"{self.name} can't hold the programs of a run: {trouble}.")

    def _send_program(self, path: str, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            self.channel.send(line.PROGRAM, path.encode() + b"\0" + piece)

    # ---- commands --------------------------------------------------------------------

    def run(
        self,
        arguments: Sequence[str],
        folder: str,
        environment: dict[str, str],
        write_output: Callable[[bytes], None],
        write_errors: Callable[[bytes], None],
        source: Input | None = None,
        window: tuple[int, int] = (0, 0),
        limit_s: float | None = None,
    ) -> Ended | None:
        """Run one command to its end, or kill it after limit_s seconds and return None.

        Args:
            arguments, folder, environment: of the command, with the guest's paths.
            write_output, write_errors: called with each piece of its output as it comes.
            source: what it reads; None: nothing, and its input does not end.
            window: rows and columns of a terminal for it; zeros for pipes.
            limit_s: None: there is no limit.

        Raises GuestFailed where the guest ends or hangs.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        killed = False
        heart = _Heart()
        try:
            self.channel.send(line.RUN, line.run_payload(folder, arguments, environment, window))
            with selectors.PollSelector() as selector:
                selector.register(self.channel, selectors.EVENT_READ)
                if source is not None:
                    for reader in source.readers():
                        selector.register(reader, selectors.EVENT_READ)
                    source.handle(set(), selector, self.channel)
                while True:
                    now_s = time.monotonic()
                    if heart.has_stopped(now_s):
                        raise self.failure(f"{self.name} hangs.")
                    if heart.is_due(now_s):
                        self._send_ping()
                    wait_s = HEARTBEAT_S
                    if deadline is not None:
                        wait_s = min(wait_s, max(0.0, deadline - now_s))
                    ready = {key.fileobj for key, _ in selector.select(wait_s)}
                    if deadline is not None and time.monotonic() >= deadline:
                        if killed:
                            raise self.failure(f"{self.name} does not end a command.")
                        killed = True
                        deadline = time.monotonic() + STEP_LIMIT_S
                        self.channel.send(line.SIGNAL, struct.pack("<I", 9))
                    if self.channel in ready:
                        frames = self.channel.receive_ready()
                        heart.beats(time.monotonic())
                        ended = self._handle(frames, write_output, write_errors, source)
                        if ended is not None:
                            return None if killed else ended
                    if source is not None:
                        source.handle(ready, selector, self.channel)
        except ChannelClosed as error:
            raise self.lost() from error

    def _handle(
        self,
        frames: Iterable[Frame],
        write_output: Callable[[bytes], None],
        write_errors: Callable[[bytes], None],
        source: Input | None,
    ) -> Ended | None:
        ended = None
        for frame in frames:
            if frame.type == line.OUTPUT:
                write_output(frame.payload)
            elif frame.type == line.ERRORS:
                write_errors(frame.payload)
            elif frame.type == line.CONSUMED and source is not None:
                source.consumed()
            elif frame.type == line.PONG:
                self._open_pings = max(0, self._open_pings - 1)
            elif frame.type == line.REFUSED:
                ended = Ended(127, refused=struct.unpack("<I", frame.payload)[0])
            elif frame.type == line.ENDED:
                ended = Ended(*struct.unpack("<II", frame.payload))
        return ended


class _Heart:
    """A watch on whether a guest that runs a command is alive. After HEARTBEAT_S without a frame a
    ping is due, and a frame of any type counts as its answer; without one for SILENCE_LIMIT_S the
    guest counts as stopped."""

    def __init__(self) -> None:
        self._heard_s = time.monotonic()
        self._asked_s: float | None = None  # when a ping was due; None: no answer is awaited

    def beats(self, now_s: float) -> None:
        self._heard_s, self._asked_s = now_s, None

    def is_due(self, now_s: float) -> bool:
        if self._asked_s is not None or now_s - self._heard_s < HEARTBEAT_S:
            return False
        self._asked_s = now_s
        return True

    def has_stopped(self, now_s: float) -> bool:
        return self._asked_s is not None and now_s - self._asked_s > SILENCE_LIMIT_S


class Input:
    """What a command reads while it runs, which handle() sends; here nothing."""

    def readers(self) -> Sequence[Any]:
        """Return the files or descriptors that are to be polled for reading."""
        return ()

    def handle(self, ready: set[Any], selector: selectors.BaseSelector, channel: Channel) -> None:
        """Act on the readers that are ready; the set may be empty or have others. May change what
        the selector polls."""

    def consumed(self) -> None:
        """Note that the guest has taken what it was sent last."""


class NoInput(Input):
    """An input that is at its end from the start."""

    def __init__(self) -> None:
        self._has_told_end = False

    def handle(self, ready: set[Any], selector: selectors.BaseSelector, channel: Channel) -> None:
        if not self._has_told_end:
            channel.send(line.INPUT)
            self._has_told_end = True
