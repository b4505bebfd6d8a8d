"""Clusters of virtual nodes, booted: MPI over several nodes, what crosses the link, and that
nothing of them is left."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.across import build_across, read_curve
from support.commands import (
    SOON_LIMIT_S,
    STARTED_BY,
    environment,
    numalab_command,
    processes_of,
    virtual_machines,
    wait_until_gone,
)

from numalab.errors import NumalabError
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGES, Language
from numalab.machines.gallery import find_machine, gallery_folder
from numalab.virtual import guest_sandbox
from numalab.virtual.cluster import Cluster, ClusterOptions, boot_cluster
from numalab.virtual.guest_commands import guest_environment
from numalab.virtual.guest_plan import Share
from numalab.virtual.network import REMOTE_APART
from numalab.virtual.plan import GuestOptions
from numalab.virtual.qemu import Card
from numalab.virtual.qemu_process import GuestEnded, GuestFailed

pytestmark = pytest.mark.boots

LIMIT_S = 240.0
HEADER_BYTES = 14 + 20 + 32  # Ethernet's, IP's, and TCP's with time stamps
MTU_FRAME_BYTES = 1514
NODE1, NODE2 = b"\x52\x54\x00\x6e\x6c\x01", b"\x52\x54\x00\x6e\x6c\x02"

HELLO = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int rank, ranks, length, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(name, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d of %d on %s: %d\n", rank, ranks, name, sum);
    return MPI_Finalize();
}
"""
# Sends so many bytes over TCP, or receives all that come and says how many.
TRANSFER = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static char buffer[1 << 16];
int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(7000)};
    const int line = socket(AF_INET, SOCK_STREAM, 0);
    if (argc == 2) {
        long all = 0;
        bind(line, (struct sockaddr *)&at, sizeof at);
        listen(line, 1);
        const int from = accept(line, NULL, NULL);
        for (ssize_t got; (got = read(from, buffer, sizeof buffer)) > 0;) all += got;
        printf("%ld bytes\n", all);
        return 0;
    }
    inet_pton(AF_INET, argv[1], &at.sin_addr);
    while (connect(line, (struct sockaddr *)&at, sizeof at) < 0) usleep(20000);
    for (long left = atol(argv[2]); left > 0;) {
        const ssize_t sent = write(line, buffer, left < 65536 ? left : 65536);
        if (sent < 0) return 1;
        left -= sent;
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def programs(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name, text, compiler in (("hello", HELLO, "mpicc"), ("transfer", TRANSFER, "gcc")):
        (folder / f"{name}.c").write_text(text)
        subprocess.run([compiler, f"{name}.c", "-o", name], cwd=folder, check=True)
    for language in LANGUAGES:
        build_across(installation, language, folder / f"across_{language}")
    return folder


def started(
    installation: Installation,
    programs: Path,
    nodes: int = 2,
    rate_mbit_s: float = 50.0,
    card: Card = "virtio-net",
    capture: Path | None = None,
    guest_options: GuestOptions | None = None,
) -> Cluster:
    options = ClusterOptions(nodes, rate_mbit_s, card, capture)
    machine, shares = find_machine(installation, "hydra"), [Share(programs)]
    return boot_cluster(
        installation, machine, shares, options, guest_options or GuestOptions(), print
    )


def said(cluster: Cluster, node: int, *command: str, **more: str) -> str:
    out, err = bytearray(), bytearray()
    variables = guest_environment({"PATH": "/usr/bin:/usr/sbin"} | more, "hydra", None)
    ended = cluster.run(node, command, "/", variables, out.extend, err.extend, limit_s=LIMIT_S)
    assert ended is not None and ended.code == ended.signal == ended.refused == 0, (ended, err)
    return out.decode()


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the links of two nodes are captured."""
    return tmp_path_factory.mktemp("captured")


@pytest.fixture(scope="module")
def two(
    installation: Installation, programs: Path, captured: Path
) -> Iterator[tuple[Cluster, Path]]:
    with started(installation, programs, capture=captured) as cluster:
        yield cluster, programs


# ---- MPI -------------------------------------------------------------------------------------


def test_ranks_run_on_both_nodes(two: tuple[Cluster, Path]) -> None:
    cluster, programs = two
    before = cluster.counts()
    hello = str(programs / "hello")
    lines = said(cluster, 1, "mpiexec", "-n", "4", "-ppn", "2", hello).splitlines()
    assert sorted(lines) == [f"{rank} of 4 on node{1 + rank // 2}: 6" for rank in range(4)]
    crossed = cluster.counts().subtract(before)
    for node, other in (crossed.nodes, crossed.nodes[::-1]):
        assert node.sent.tcp_payload_bytes > 0 and node.dropped_frames == 0
        # All is quiet, so what one sent the other has received.
        assert node.sent.bytes == other.received.bytes
        assert node.sent.frames == other.received.frames


def test_a_job_on_one_node_sends_nothing(two: tuple[Cluster, Path]) -> None:
    """However it talks within the node: no address, name or route leads it over the link."""
    cluster, programs = two
    before = cluster.counts()
    lines = said(cluster, 1, "mpiexec", "-hosts", "node1", "-n", "2", str(programs / "hello"))
    assert lines.count("on node1: 1") == 2
    crossed = cluster.counts().subtract(before)
    assert [node.sent.frames for node in crossed.nodes] == [0, 0]


@pytest.mark.slow
def test_finalize_comes_to_its_end_time_after_time(two: tuple[Cluster, Path]) -> None:
    """Without common/guest/finalize.c 7 of 30 hung."""
    cluster, programs = two
    script = f"for i in $(seq 8); do mpiexec -n 4 -ppn 2 {programs}/hello || exit 1; done"
    assert said(cluster, 1, "sh", "-c", script).count("\n") == 8 * 4


def test_nodes_are_quiet_by_themselves(two: tuple[Cluster, Path]) -> None:
    cluster, _ = two
    before = cluster.counts()
    said(cluster, 1, "sleep", "3")
    crossed = cluster.counts().subtract(before)
    assert [node.sent.frames for node in crossed.nodes] == [0, 0]


def hold(cluster: Cluster, programs: Mapping[str, Path]) -> None:
    for guest in cluster.guests:
        guest.hold(programs)


def test_held_programs_are_on_each_node(two: tuple[Cluster, Path]) -> None:
    cluster, programs = two
    hold(cluster, {"/numalab/hi": programs / "hello"})
    lines = said(cluster, 1, "mpiexec", "-n", "2", "-ppn", "1", "/numalab/hi")
    assert "0 of 2 on node1" in lines and "1 of 2 on node2" in lines
    hold(cluster, {})
    assert said(cluster, 2, "sh", "-c", "ls /numalab | wc -l").strip() == "0"


# ---- a ping-pong -----------------------------------------------------------------------------


def words_of_messages(frames: Sequence[bytes], sender: bytes) -> list[int]:
    """Of frames from a node that end with a message of lab 06's, of 16 bytes: its first word."""
    rest = b"\x5a" * 8
    found = [frame for frame in frames if frame[6:12] == sender and frame.endswith(rest)]
    return [int.from_bytes(frame[-16:-8], "little") for frame in found]


@pytest.mark.parametrize("language", ["c", pytest.param("fortran", marks=pytest.mark.slow)])
def test_a_ping_pong_goes_to_and_fro(
    two: tuple[Cluster, Path], captured: Path, language: Language
) -> None:
    """Whoever receives a message adds 1, so the capture has even words one way and odd ones the
    other."""
    cluster, programs = two
    before = len(packets(captured / "node1.pcap"))
    job = ("mpiexec", "-n", "2", "-ppn", "1", str(programs / f"across_{language}"), "50", "16")
    curve = read_curve(said(cluster, 1, *job))
    assert list(curve.us) == [0, 16]
    assert (curve.share_of, curve.full_mb_s) == ("link", 6.25)
    cluster.counts()  # once all is quiet
    frames = [one.frame for one in packets(captured / "node1.pcap")[before:]]
    there, back = (set(words_of_messages(frames, of)) for of in (NODE1, NODE2))
    assert 0 in there and {word % 2 for word in there} == {0}
    assert back == {word + 1 for word in there}


@pytest.mark.slow
def test_no_message_is_faster_than_the_link(two: tuple[Cluster, Path]) -> None:
    cluster, programs = two
    before = cluster.counts()
    job = ("mpiexec", "-n", "2", "-ppn", "1", str(programs / "across_c"), "50")
    curve = read_curve(said(cluster, 1, *job))
    assert list(curve.us) == [0, *(4**i for i in range(2, 11))]
    payload = (MTU_FRAME_BYTES - HEADER_BYTES) / MTU_FRAME_BYTES
    assert max(curve.shares.values()) <= payload * 1.01  # as far as clocks agree
    # The line from the ends, and where it has half of its rate.
    assert curve.t0_us == pytest.approx(min(curve.us[n] for n in (0, 16, 64)), rel=1e-3)
    assert curve.mb_s == pytest.approx((1 << 20) / (curve.us[1 << 20] - curve.t0_us), rel=1e-3)
    assert curve.half_bytes == pytest.approx(curve.t0_us * curve.mb_s, rel=2e-3)
    for node in cluster.counts().subtract(before).nodes:
        assert node.sent.tcp_payload_bytes > sum(curve.us)  # its keys are bytes


@pytest.mark.slow
def test_a_ping_pong_of_two_of_four_nodes(installation: Installation, programs: Path) -> None:
    with started(installation, programs, 4) as cluster:
        before = cluster.counts()
        program = str(programs / "across_fortran")
        job = ("mpiexec", "-hosts", "node2,node4", "-n", "2", program, "50", "4096")
        curve = read_curve(said(cluster, 1, *job))
        assert list(curve.us) == [0, 16, 64, 256, 1024, 4096]
        sent = [node.sent for node in cluster.counts().subtract(before).nodes]
        assert sent[2].frames == 0
        assert min(sent[1].tcp_payload_bytes, sent[3].tcp_payload_bytes) > sum(curve.us)
        assert sent[0].tcp_payload_bytes < 4096 * 4  # it has started them


# ---- other commands --------------------------------------------------------------------------


def test_a_command_on_another_node_is_as_one_here(two: tuple[Cluster, Path]) -> None:
    cluster, _ = two
    script = (
        "cd /usr; /numalab-remote node2 'hostname; pwd; echo bad >&2; exit 7' 2>/tmp/err; echo $?;"
        "cat /tmp/err; /numalab-remote node2 'kill -SEGV $$'; echo $?;"
        "/numalab-remote node9 true 2>&1; echo $?; /numalab-remote node2 cat; echo $?"
    )
    assert said(cluster, 1, "sh", "-c", script).splitlines() == [
        "node2", "/usr", "7", "bad", "139",
        "numalab-remote: node9: No route to host", "255", "0",
    ]  # fmt: skip


def test_what_runs_elsewhere_ends_with_its_command(two: tuple[Cluster, Path]) -> None:
    cluster, _ = two
    script = "/numalab-remote node2 'touch /tmp/here; exec sleep 1234' & sleep 2"
    said(cluster, 1, "sh", "-c", script)
    look = "test -e /tmp/here; while pgrep -x sleep >/dev/null; do sleep 0.1; done; echo gone"
    assert said(cluster, 2, "sh", "-c", look) == "gone\n"


def test_a_job_is_kept_apart_on_both_nodes(two: tuple[Cluster, Path], tmp_path: Path) -> None:
    """It may ask the other node for whatever it likes, and gets no more there than here."""
    cluster, programs = two
    sight = guest_sandbox.GuestView(
        guest_sandbox.folders_for([], [tmp_path]), [tmp_path], 4, 1 << 29
    )
    words = guest_sandbox.job_words(sight, "/left")
    (tmp_path / "words").write_text("".join(f"{word}\n" for word in words))
    held = {REMOTE_APART: tmp_path / "words", "/numalab/hello": programs / "hello"}
    hold(cluster, held)
    look = "id -u; ls -d /root /cgroup 2>&1 | grep -c such; touch /x /numalab/x 2>/dev/null && echo"
    script = (
        f"{look}; echo here > /left/one; /numalab-remote node2 '{look}; echo there > /left/one';"
        "/numalab-remote node1 id -u; mpiexec -n 2 -ppn 1 /numalab/hello | sort"
    )
    lines = said(cluster, 1, *words, "--", "sh", "-c", script).splitlines()
    user = str(guest_sandbox.worker_user()[0])
    assert lines == [user, "2", user, "2", user, "0 of 2 on node1: 1", "1 of 2 on node2: 1"]
    for node, left in ((1, "here"), (2, "there")):
        assert said(cluster, node, "cat", "/left/one").strip() == left
    # A file that can't be used is no reason to do without.
    (tmp_path / "words").write_text("no line")
    hold(cluster, held)
    failed = "/numalab-remote node2 id -u; echo $?"
    assert said(cluster, 1, "sh", "-c", failed).strip() == "255"
    hold(cluster, {})
    assert said(cluster, 1, "/numalab-remote", "node2", "id", "-u").strip() == "0"


# ---- the link --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packet:
    time_s: float
    frame: bytes


def packets(file: Path) -> list[Packet]:
    """As libpcap's file format has them."""
    data = file.read_bytes()
    magic, major, minor, _, _, snap_bytes, link_type = struct.unpack_from("=IHHiIII", data)
    assert (magic, major, minor, link_type) == (0xA1B2C3D4, 2, 4, 1) and snap_bytes >= 1514
    found, at = [], 24
    while at < len(data):
        s, us, size, all_bytes = struct.unpack_from("=IIII", data, at)
        assert size == all_bytes and at + 16 + size <= len(data)
        found.append(Packet(s + us * 1e-6, data[at + 16 : at + 16 + size]))
        at += 16 + size
    return found


def transfer(cluster: Cluster, programs: Path, size: int) -> None:
    """From node1 to node2."""
    program = programs / "transfer"
    script = f"/numalab-remote node2 {program} - & {program} 10.0.0.2 {size}; wait"
    assert f"{size} bytes" in said(cluster, 1, "sh", "-c", script)


@pytest.mark.parametrize("card", ["virtio-net", "e1000"])
def test_a_transfer_is_counted_limited_and_captured(
    installation: Installation, programs: Path, tmp_path: Path, card: Card
) -> None:
    rate_mbit_s, size = 20.0, 4_000_000
    with started(installation, programs, 2, rate_mbit_s, card, tmp_path / "out") as cluster:
        before = cluster.counts()
        transfer(cluster, programs, size)
        crossed = cluster.counts().subtract(before)
    sent = crossed.nodes[0].sent
    # What is sent twice counts twice, as after a pause of a busy host; starting it takes 1 kB.
    assert size < sent.tcp_payload_bytes < size * 1.02
    full_frames = size / (MTU_FRAME_BYTES - HEADER_BYTES)
    assert full_frames <= sent.tcp_frames < full_frames * 1.1
    # A few more where a connection begins, and where a segment is told to be missing.
    headers = sent.bytes - sent.tcp_payload_bytes
    assert HEADER_BYTES * sent.frames <= headers <= HEADER_BYTES * sent.frames * 1.02
    assert sent.largest_frame_bytes == MTU_FRAME_BYTES
    for node in crossed.nodes:
        for traffic in (node.sent, node.received):
            # A link is late by 5 ms at most, and a frame may have begun before.
            assert traffic.peak_mbit_s <= rate_mbit_s * 1.05 + MTU_FRAME_BYTES * 8e-5
    assert sent.peak_mbit_s > rate_mbit_s / 4

    # The captures: all of it, in the order of time, and no faster than the link.
    captured = packets(tmp_path / "out" / "node1.pcap")
    outward = [one for one in captured if one.frame[6:12] == NODE1]
    assert len(outward) >= sent.frames and {one.frame[:6] for one in outward} == {NODE2}
    assert max(len(one.frame) for one in captured) == MTU_FRAME_BYTES
    assert [one.time_s for one in outward] == sorted(one.time_s for one in outward)
    took_s = outward[-1].time_s - outward[0].time_s
    assert sum(len(one.frame) for one in outward[1:]) * 8e-6 <= rate_mbit_s * (took_s + 1e-4)
    there = packets(tmp_path / "out" / "node2.pcap")
    assert [one.frame for one in there if one.frame[6:12] == NODE1] == [
        one.frame for one in outward
    ]


@pytest.mark.slow
def test_e1000_cuts_segments_that_are_larger_inside(
    installation: Installation, programs: Path
) -> None:
    """A capture in the sender shows them; on the link none is larger than the MTU."""
    capture = (
        "import socket, subprocess, threading\n"
        "raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))\n"
        "raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)\n"
        "raw.settimeout(2)\n"
        f"subprocess.run(['{programs}/transfer', '10.0.0.2', '600000'], check=True)\n"
        "most = 0\n"
        "try:\n"
        "    while True: most = max(most, len(raw.recv(1 << 17)))\n"
        "except TimeoutError: print(most)\n"
    )
    largest = {}
    cards: tuple[Card, ...] = ("virtio-net", "e1000")
    for card in cards:
        with started(installation, programs, card=card) as cluster:
            script = f'/numalab-remote node2 {programs}/transfer - >&2 & python3 -c "{capture}"'
            largest[card] = int(said(cluster, 1, "sh", "-c", script))
            on_link = cluster.counts().nodes[0].sent.largest_frame_bytes
            assert on_link == MTU_FRAME_BYTES, card
    assert largest["virtio-net"] == MTU_FRAME_BYTES < largest["e1000"]


def test_four_nodes_talk(installation: Installation, programs: Path) -> None:
    with started(installation, programs, 4) as cluster:
        lines = said(cluster, 1, "mpiexec", "-n", "8", "-ppn", "2", str(programs / "hello"))
        wanted = [f"{rank} of 8 on node{1 + rank // 2}: 28" for rank in range(8)]
        assert sorted(lines.splitlines()) == wanted
        counts = cluster.counts()
        assert all(node.sent.tcp_payload_bytes > 0 for node in counts.nodes)
        sent = sum(node.sent.bytes for node in counts.nodes)
        assert sent == sum(node.received.bytes for node in counts.nodes)


def test_without_a_snapshot_all_boot(installation: Installation, programs: Path) -> None:
    fresh = GuestOptions(use_snapshot=False, cores_per_node=1)
    with started(installation, programs, guest_options=fresh) as cluster:
        assert not any(guest.from_snapshot for guest in cluster.guests)
        lines = said(cluster, 1, "mpiexec", "-n", "2", "-ppn", "1", str(programs / "hello"))
    assert sorted(lines.splitlines()) == ["0 of 2 on node1: 1", "1 of 2 on node2: 1"]


# ---- what goes wrong -------------------------------------------------------------------------


def test_a_node_that_ends_ends_the_command_on_another(
    installation: Installation, programs: Path
) -> None:
    with started(installation, programs) as cluster:
        script = "/numalab-remote node2 'echo o >/proc/sysrq-trigger'; sleep 1000"
        with pytest.raises(GuestEnded, match="QEMU ended, and node2 with it"):
            said(cluster, 1, "sh", "-c", script)
    before = own_relays(installation)
    with started(installation, programs) as cluster:
        (relay,) = own_relays(installation) - before
        os.kill(relay, signal.SIGKILL)
        with pytest.raises(GuestFailed, match="relay between the nodes has ended"):
            said(cluster, 1, "sleep", "1000")


def own_relays(installation: Installation) -> set[int]:
    """Children of this process."""
    parent = re.compile(rf"^PPid:\s+{os.getpid()}$", re.MULTILINE)
    return {
        pid for pid in processes_of(installation.relay)
        if parent.search(Path(f"/proc/{pid}/status").read_text())
    }  # fmt: skip


def test_nodes_that_do_not_come_up_are_ended(installation: Installation, programs: Path) -> None:
    slow = GuestOptions(use_snapshot=False, boot_limit_s=1.0)
    before = own_relays(installation), set(virtual_machines("hydra"))
    with pytest.raises(NumalabError, match="did not come up within 1 s"):
        started(installation, programs, guest_options=slow)
    assert (own_relays(installation), set(virtual_machines("hydra"))) == before


# ---- the command -----------------------------------------------------------------------------


def test_the_command_tells_what_has_crossed(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    script = "/numalab-remote node2 'head -c 100000 /dev/zero' | wc -c; exit 5"
    done = numalab_command(
        installation,
        "cluster",
        "run",
        "laptop",
        "x2",
        "--rate",
        "8",
        "--json",
        str(path),
        "--capture",
        str(tmp_path / "frames"),
        "--",
        "sh",
        "-c",
        script,
    )
    assert (done.code, done.out) == (5, "100000\n"), done.err
    assert "of 8 Mbit/s in each direction" in done.err
    told = json.loads(path.read_text())
    assert told["exit_code"] == 5 and [node["name"] for node in told["nodes"]] == ["node1", "node2"]
    sent = told["nodes"][1]["sent"]
    assert 100_000 < sent["tcp_payload_bytes"] < 102_000
    assert len(packets(tmp_path / "frames" / "node2.pcap")) == sum(
        told["nodes"][1][way]["frames"] for way in ("sent", "received")
    )


def test_on_all_each_line_has_its_node(installation: Installation) -> None:
    script = "echo here; hostname >&2; test $(hostname) = node1"
    done = numalab_command(
        installation, "cluster", "run", "laptop", "x2", "--on-all", "--", "sh", "-c", script
    )
    assert done.code == 1, done.err
    assert sorted(done.out.splitlines()) == ["node1: here", "node2: here"]
    assert {"node1: node1", "node2: node2"} <= set(done.err.splitlines())
    done = numalab_command(
        installation, "cluster", "run", "laptop", "x2", "--on-all", "--", "nosuch"
    )
    assert done.code == 127 and "there is no command nosuch" in done.said


def start_command(installation: Installation, *arguments: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(installation.root / "numalab"), "cluster", "run", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(installation, **env), cwd=installation.root,
    )  # fmt: skip


def test_ctrl_c_ends_the_command_and_all_nodes(installation: Installation) -> None:
    script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done"
    process = start_command(installation, "laptop", "x2", "--", "sh", "-c", script)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    assert len(virtual_machines("laptop")) == 2
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SOON_LIMIT_S)
    assert (process.returncode, out) == (5, "caught\n"), err
    assert wait_until_gone("laptop") == []


def test_ctrl_c_ends_a_command_on_all(installation: Installation) -> None:
    script = "echo ready; sleep 1000"
    process = start_command(installation, "laptop", "x2", "--on-all", "--", "sh", "-c", script)
    assert process.stdout is not None and process.stdout.readline().endswith("ready\n")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SOON_LIMIT_S)
    assert process.returncode == 130 and "interrupted" in err and "Traceback" not in err
    assert wait_until_gone("laptop") == []


# ---- killed ----------------------------------------------------------------------------------


def relays(installation: Installation) -> set[int]:
    """Of clusters that this process of pytest started, if only through others."""
    ours = f"{STARTED_BY}={os.environ[STARTED_BY]}".encode()
    found = set()
    for pid in processes_of(installation.relay):
        with suppress(OSError):
            if ours in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.add(pid)
    return found


@pytest.mark.slow
def test_killing_it_at_any_time_leaves_nothing_behind(
    installation: Installation, tmp_path: Path
) -> None:
    """Twenty random moments, from the start over waking to an MPI job."""
    chance = random.Random(9)
    text = (gallery_folder(installation) / "hydra.toml").read_text()
    marked = tmp_path / f"killed-{os.getpid()}.toml"
    marked.write_text(text.replace('name = "hydra"', f'name = "{marked.stem}"'))
    own = tmp_path / "tmp"
    own.mkdir()
    loop = "while :; do mpiexec -n 2 -ppn 1 hostname; done"
    others = relays(installation)  # of the cluster that the tests above share
    for number in range(20):
        process = start_command(
            installation, str(marked), "x2", "--", "sh", "-c", loop, TMPDIR=str(own)
        )
        if number % 4 == 3:  # within the job: a busy host takes long to come so far
            assert process.stdout is not None and process.stdout.readline().startswith("node")
        time.sleep(chance.uniform(0, 6 if number % 4 == 0 else 2))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=SOON_LIMIT_S)
        assert wait_until_gone(marked.stem) == []
        deadline = time.monotonic() + SOON_LIMIT_S
        while relays(installation) - others and time.monotonic() < deadline:
            time.sleep(0.05)
        assert relays(installation) <= others
        assert not list(own.iterdir())
