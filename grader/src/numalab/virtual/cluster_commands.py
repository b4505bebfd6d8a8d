"""`numalab cluster run`: one command on a cluster's first node or on all nodes, and what crosses
their links."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

from numalab.errors import NumalabError
from numalab.evidence.record import Json
from numalab.processes import shell_variables
from numalab.virtual import guest_commands
from numalab.virtual.cluster import Cluster, ClusterOptions
from numalab.virtual.guest import Ended, NoInput
from numalab.virtual.link import Counts, LinkTraffic
from numalab.virtual.network import all_nodes
from numalab.virtual.qemu_process import GuestFailed
from numalab.words import short


class Lines:
    """Output that is passed on as whole lines with a prefix, so that nodes can share a stream.
    end() passes on a last line that is not complete."""

    def __init__(self, prefix: str, write: Callable[[bytes], None]) -> None:
        self._prefix, self._write = prefix.encode(), write
        self._begun = b""

    def take(self, data: bytes) -> None:
        *whole, self._begun = (self._begun + data).split(b"\n")
        if whole:
            self._write(b"".join(self._prefix + line + b"\n" for line in whole))

    def end(self) -> None:
        if self._begun:
            self.take(b"\n")


def _writer(descriptor: int, turn: threading.Lock) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        with turn:
            guest_commands.write_all(descriptor, data)

    return write


def run_on_first(
    cluster: Cluster, command: Sequence[str], folder: Path, results: Path | None
) -> int:
    """Run a command on node1 with this process's input, output and Ctrl-C; return its exit code.
    Raises as guest_commands.run_command."""
    run = partial(cluster.run, 1)
    return guest_commands.run_command(cluster.guests[0], command, folder, results, run)


def run_on_all(cluster: Cluster, command: Sequence[str], folder: Path, results: Path | None) -> int:
    """Run a command on all nodes at once, without input, each line of output with its node's name
    before it. Return the first exit code that is not 0, in the order of the nodes, else 0. Raises
    NumalabError where a node fails. Ctrl-C, or output that can't be written, kills the nodes."""
    turn = threading.Lock()
    out, err = (_writer(stream.fileno(), turn) for stream in (sys.stdout, sys.stderr))
    ended: dict[int, Ended | None] = {}
    failed: list[GuestFailed] = []

    def run(number: int) -> None:
        guest = cluster.guests[number - 1]
        machine = guest.plan.machine.name
        environment = guest_commands.guest_environment(
            shell_variables.guest_environment(), machine, results
        )
        lines = [Lines(f"{guest.name}: ", write) for write in (out, err)]
        try:
            ended[number] = cluster.run(
                number, command, str(folder), environment, lines[0].take, lines[1].take, NoInput()
            )
        except GuestFailed as error:
            failed.append(error)
        for one in lines:
            one.end()

    with ThreadPoolExecutor(len(cluster.guests)) as threads:
        try:
            # Futures, since up to Python 3.12 a thread whose join() was interrupted by Ctrl-C
            # counts as ended and can't be joined again.
            for one in [threads.submit(run, number + 1) for number in range(len(cluster.guests))]:
                one.result()
        except BaseException:  # Ctrl-C: the commands end with their nodes
            for guest in cluster.guests:
                guest.process.kill()
            raise
    if failed:
        raise NumalabError(str(failed[0]))
    codes = []
    for number, how in sorted(ended.items()):
        assert how is not None  # without a limit it comes to its end
        shares = cluster.guests[number - 1].plan.shares
        codes.append(guest_commands.exit_code(how, command[0], folder, shares))
    return next((code for code in codes if code), 0)


# ---- what has crossed the link -------------------------------------------------------------


def _amount(size: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{short(size / unit)} {name}"
    return f"{size} B"


def _row(what: str, traffic: LinkTraffic) -> str:
    return (
        f"{what:8} {_amount(traffic.bytes):>7}, {traffic.frames:6,} frames, "
        f"TCP payload {_amount(traffic.tcp_payload_bytes):>7}, "
        f"peak {short(traffic.peak_mbit_s)} Mbit/s"
    )


def counts_text(names: Sequence[str], counts: Counts, rate_mbit_s: float) -> str:
    """Return a text on what each node has sent and received. names: of the nodes, in order."""
    lines = [f"On the links, of {rate_mbit_s:g} Mbit/s in each direction:"]
    for name, node in zip(names, counts.nodes, strict=True):
        lines.append(f"  {name} {_row('sent', node.sent)}")
        lines.append(f"  {'':{len(name)}} {_row('received', node.received)}")
        if node.dropped_frames:
            lines.append(f"  {'':{len(name)}} {node.dropped_frames} frames for nobody were dropped")
    return "\n".join(lines)


def _traffic_json(traffic: LinkTraffic) -> Json:
    data = asdict(traffic) | {"peak_mbit_s": traffic.peak_mbit_s}
    del data["most_bytes_in_100_ms"]
    return data


def json_record(machine: str, options: ClusterOptions, counts: Counts, exit_code: int) -> Json:
    """Return the traffic of each node, with the cluster's options and the exit code, as JSON."""
    return {
        "machine": machine,
        "rate_mbit_s": options.rate_mbit_s,
        "card": options.card,
        "exit_code": exit_code,
        "nodes": [
            {
                "name": node.name,
                "ip": node.ip,
                "sent": _traffic_json(counted.sent),
                "received": _traffic_json(counted.received),
                "dropped_frames": counted.dropped_frames,
            }
            for node, counted in zip(all_nodes(options.nodes), counts.nodes, strict=True)
        ],
    }
