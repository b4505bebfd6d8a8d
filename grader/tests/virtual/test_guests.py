"""A guest and what it is told, with somebody else at the other ends of its lines."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.qemu_peers import Peer, guest_with_peer, machine_of, plan_of

from numalab.virtual import channel, guest
from numalab.virtual.guest import ClusterMember, Guest
from numalab.virtual.guest_plan import Share
from numalab.virtual.network import Node
from numalab.virtual.qemu_process import GuestEnded, GuestFailed

Pair = tuple[Guest, Peer]


@pytest.fixture(autouse=True)
def no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "limits_in_force", list)


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    made, peer = guest_with_peer(monkeypatch, plan_of(Share(Path("/w")), Share(Path("/o"), True)))
    with made:
        yield made, peer
    peer.end()


def options(command: list[str], name: str) -> list[str]:
    return [command[at + 1] for at, word in enumerate(command) if word == name]


# ---- started and ended -----------------------------------------------------------------------


def test_qemu_inherits_what_its_command_names(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    made, peer = pair
    initrd, line, monitor = peer.inherited
    assert peer.initrd == b"initrd" and peer.command[0] == "/bin/qemu"
    assert options(peer.command, "-initrd") == [f"/proc/self/fd/{initrd}"]
    assert options(peer.command, "-chardev") == [
        f"socket,id=monitor,fd={monitor}", f"socket,id=channel,fd={line}"
    ]  # fmt: skip
    paths = [words.split(",")[2:5:2] for words in options(peer.command, "-fsdev")]
    assert paths == [
        ["path=/w", "readonly=on"], ["path=/o", "readonly=off"],
        *[["path=/usr", "readonly=on"]] * 6,
    ]  # fmt: skip
    assert (made.name, made.from_snapshot, "-incoming" in peer.command) == ("pair", False, False)


def test_a_node_of_a_cluster_inherits_its_link_and_a_state_is_read_from_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs, tempfile.TemporaryFile() as state:
        state.write(b"state")
        state.flush()
        member = ClusterMember(Node(2, 3), mine, b"finalize")
        made, peer = guest_with_peer(monkeypatch, None, state.fileno(), member)
        with made:
            assert peer.inherited[3:] == [mine.fileno(), state.fileno()]
            assert os.lseek(state.fileno(), 0, os.SEEK_CUR) == 0
            assert options(peer.command, "-incoming") == [f"fd:{state.fileno()}"]
            assert (made.name, made.from_snapshot) == ("node2", True)
        peer.end()


def test_a_guest_is_stopped_goes_on_and_is_ended(pair: Pair) -> None:
    made, peer = pair
    made.pause()
    made.resume()
    made.close()
    made.close()  # who ends all may come after who has ended this one
    assert peer.process.done[:4] == [19, 18, "kill", ("wait", None)]
    assert made.channel.fileno() == -1 and made._console.closed and made._control.fileno() == -1


def test_the_consoles_last_lines_are_told(pair: Pair) -> None:
    made, peer = pair
    assert made.console() == ""
    assert str(made.failure("It hangs.")) == "It hangs. Its console is empty."
    peer.console.write(b"first\n")
    peer.console.flush()
    assert made.console() == "  | first"
    peer.console.write(b"".join(b"line %d \r\n\n" % number for number in range(20)) + b"\xff end")
    peer.console.flush()
    lines = made.console().splitlines()
    assert lines == [f"  | line {number}" for number in range(9, 20)] + ["  | \ufffd end"]
    said = str(made.failure("It hangs.")).splitlines()
    assert said == ["It hangs. Its console's last lines:", *lines]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, "Gone."),
        (0, "Gone."),
        (1, "Gone. Limits are in force here: memory 1 GiB."),
        (-9, "Gone. SIGKILL ended it. Limits are in force here: memory 1 GiB."),
    ],
)
def test_how_qemu_ended_is_told(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, code: int | None, said: str
) -> None:
    made, peer = pair
    monkeypatch.setattr(guest, "limits_in_force", lambda: ["memory 1 GiB"])
    peer.process.returncode = code
    assert str(made.failure("Gone.")) == f"{said} Its console is empty."


@pytest.mark.parametrize(
    ("code", "kind"), [(0, GuestEnded), (-9, GuestFailed), (None, GuestFailed)]
)
def test_whose_doing_its_end_is(pair: Pair, code: int | None, kind: type) -> None:
    made, peer = pair
    peer.process.returncode = code
    told = made.lost()
    assert type(told) is kind and str(told).startswith("QEMU ended, and pair with it.")
    assert peer.process.done == [("wait", 10.0)]


# ---- coming up -------------------------------------------------------------------------------


def test_a_guest_is_up_once_it_says_so_with_the_machines_numbers(pair: Pair) -> None:
    made, peer = pair
    assert not made.is_up_within(0)
    peer.tell(channel.READY, b"0:0-1\n1:2-3\n")
    assert made.is_up_within(20)


@pytest.mark.parametrize("said", [b"0:0,2\n1:1,3\n", b"1:0-1\n0:2-3\n", b"0:0-3\n"])
def test_other_numbers_are_told(pair: Pair, said: bytes) -> None:
    made, peer = pair
    peer.tell(channel.READY, said)
    with pytest.raises(GuestFailed, match=r"not number the PUs as pair does.*the kernel 6\.1 may"):
        made.is_up_within(20)


def test_a_numa_node_without_processors_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    text = machine_of().text + "[[numa_node]]\npackage = 1\npus = []\n"
    made, peer = guest_with_peer(monkeypatch, plan_of(machine=machine_of(text)))
    with made:
        peer.tell(channel.READY, b"0:0-1\n1:2-3\n2:\n")
        assert made.is_up_within(20)
    peer.end()


def test_an_end_is_told_by_when_it_came(pair: Pair) -> None:
    made, peer = pair
    peer.end(1)
    with pytest.raises(GuestFailed, match=r"^QEMU ended while pair was booting"):
        made.is_up_within(20)
    for what in (made.set_up, lambda: made.hold({"/numalab/x": Path("/bin/sh")})):
        with pytest.raises(GuestFailed, match=r"^QEMU ended, and pair with it"):
            what()
    with pytest.raises(GuestFailed, match=r"^QEMU ended, and pair with it"):
        made.run(["true"], "/", {}, print, print)


def test_a_guest_that_does_not_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, few_files: None
) -> None:
    made, peer = pair
    monkeypatch.setattr(guest, "STEP_LIMIT_S", 0.0)
    with pytest.raises(GuestFailed, match=r"^pair does not answer"):
        made.set_up()
    monkeypatch.setattr(guest, "STEP_LIMIT_S", 20.0)
    peer.tell(channel.PONG, b"mount /w: no such device")
    with pytest.raises(GuestFailed, match=r"^pair could not be set up: mount /w: no such device\."):
        made.set_up()


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "_local_links", lambda: iter([("usr/bin", "/bin")]))
    monkeypatch.setattr(guest, "_local_files", lambda: iter([("/etc/passwd", b"root\0")]))
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_789)
    monkeypatch.setattr(os, "urandom", lambda size: b"n" * size)


CACHED = "trans=virtio,version=9p2000.L,msize=512000,cache="


def test_a_guest_is_given_all_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, few_files: None
) -> None:
    """Folders that hold others come before them."""
    shares = (Share(Path("/w/a/b")), Share(Path("/w"), True), Share(Path("/c"), cached=False))
    made, peer = guest_with_peer(monkeypatch, plan_of(*shares))
    with made:
        peer.tell(channel.PONG)
        made.set_up()
        assert peer.heard() == [
            ("T", struct.pack("<qq", 1_700_000_000, 123_456_789)),
            ("N", b"n" * 64),
            ("L", b"usr/bin\0/bin\0"),
            ("W", b"/etc/passwd\0root\0"),
            ("W", b"/etc/hosts\x00127.0.0.1 localhost pair\n"),
            ("W", b"/proc/sys/kernel/hostname\0pair"),
            ("M", f"share1\0/w\0{CACHED}none\0".encode()),
            ("M", f"share2\0/c\0ro,{CACHED}none\0".encode()),
            ("M", f"share0\0/w/a/b\0ro,{CACHED}loose\0".encode()),
            ("P", b""),
        ]
    peer.end()


def test_a_node_of_a_cluster_is_given_its_network(
    monkeypatch: pytest.MonkeyPatch, few_files: None
) -> None:
    mine, theirs = socket.socketpair()
    member = ClusterMember(Node(2, 3), mine, b"finalize")
    made, peer = guest_with_peer(monkeypatch, plan_of(), None, member)
    with mine, theirs, made:
        peer.tell(channel.PONG)
        made.set_up()
        heard = peer.heard()[4:]
        hosts = b"127.0.0.1 localhost\n10.0.0.1 node1\n10.0.0.2 node2\n10.0.0.3 node3\n"
        assert heard == [
            ("W", b"/etc/hosts\0" + hosts),
            ("W", b"/proc/sys/kernel/hostname\0node2"),
            ("W", b"/etc/numalab-nodes\0node1\nnode2\nnode3\n"),
            ("L", b"/init\0/numalab-remote\0"),
            ("B", b"/numalab-finalize.so\0finalize"),
            ("A", b"".join(
                f"52:54:00:6e:6c:0{number}\x0010.0.0.{number}\0".encode() for number in (2, 1, 3)
            )),
            ("P", b""),
        ]  # fmt: skip
    peer.end()


def test_a_guests_own_files_hold_no_secrets() -> None:
    files = dict(guest._local_files())
    assert files["/etc/passwd"].splitlines() == [
        b"root:x:0:0:root:/root:/bin/sh", b"nobody:x:65534:65534::/:/bin/false"
    ]  # fmt: skip
    assert files["/etc/group"] == b"root:x:0:\nnogroup:x:65534:\n"
    assert set(files) <= {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/nsswitch.conf",
                          "/etc/passwd", "/etc/group"}  # fmt: skip
    links = list(guest._local_links())
    top = [path for path in Path("/").iterdir() if path.is_symlink()]
    wanted = {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} & set(map(str, top))
    alternatives = {path for _, path in links if path.startswith("/etc/alternatives/")}
    assert {path for _, path in links} - alternatives == wanted
    assert [str(Path(path).readlink()) for _, path in links] == [target for target, _ in links]
    folder = Path("/etc/alternatives")
    assert len(alternatives) == sum(
        map(Path.is_symlink, folder.iterdir() if folder.is_dir() else ())
    )


def test_links_of_the_host_are_of_its_programs_and_libraries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    top, alternatives = tmp_path / "top", tmp_path / "alternatives"
    for folder in (top, alternatives):
        folder.mkdir()
        (folder / "plain").mkdir()
    for name in ("sbin", "bin", "vmlinuz", "libx32"):
        (top / name).symlink_to(f"usr/{name}")
    (top / "lib").mkdir()
    for name in ("vi", "cc"):
        (alternatives / name).symlink_to(f"/usr/bin/{name}")
    iterdir, is_dir, there = (
        Path.iterdir,
        Path.is_dir,
        {"/": top, "/etc/alternatives": alternatives},
    )
    monkeypatch.setattr(Path, "iterdir", lambda path: iterdir(there[str(path)]))
    links = [(f"usr/{name}", f"{top}/{name}") for name in ("bin", "libx32", "sbin")]
    more = [(f"/usr/bin/{name}", f"{alternatives}/{name}") for name in ("cc", "vi")]
    assert list(guest._local_links()) == links + more
    monkeypatch.setattr(Path, "is_dir", lambda path: path.name != "alternatives" and is_dir(path))
    assert list(guest._local_links()) == links


# ---- states ----------------------------------------------------------------------------------

KEPT = [
    ("qmp_capabilities", {}), ("stop", {}),
    ("migrate-set-parameters", {"max-bandwidth": 1 << 40}), ("getfd", {"fdname": "state"}),
    ("migrate", {"uri": "fd:state"}),
]  # fmt: skip
DONE: dict[str, Any] = {"return": {}}


def status(*states: str) -> list[dict[str, Any]]:
    return [{"return": {"status": state}} for state in states]


def test_a_state_is_written_while_the_guest_stands_still(pair: Pair) -> None:
    made, peer = pair
    event = {"event": "STOP"}
    peer.answer(DONE, event, DONE, DONE, DONE, *status("active", "completed"), DONE)
    with tempfile.TemporaryFile() as file:
        made.save(file.fileno())
        asked, given = peer.asked_with_files()
        assert [os.fstat(fd).st_ino for fd in given] == [os.fstat(file.fileno()).st_ino]
    assert asked == [*KEPT, ("query-migrate", {}), ("query-migrate", {}), ("cont", {})]


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_a_guest_goes_on_whose_state_can_not_be_written(pair: Pair, state: str) -> None:
    made, peer = pair
    peer.answer(DONE, DONE, DONE, DONE, *status("active", state), DONE)
    with pytest.raises(GuestFailed, match=rf"the state of pair can't be kept \({state}\)"):
        made.save(0)
    assert peer.asked()[-1] == ("cont", {})


def test_a_state_that_is_never_written_or_read_is_given_up(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    made, peer = pair
    monkeypatch.setattr(guest, "STEP_LIMIT_S", -1.0)
    monkeypatch.setattr(guest, "RESTORE_LIMIT_S", -1.0)
    peer.answer(DONE, DONE, DONE, DONE, *status("active"), DONE)
    with pytest.raises(GuestFailed, match=r"can't be kept \(active\)"):
        made.save(0)
    peer.answer(*status("inmigrate"))
    with pytest.raises(GuestFailed, match=r"the state of pair can't be read \(inmigrate\)"):
        made.wake()


def test_what_comes_with_the_last_moment_is_in_time(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    made, peer = pair
    moments = [100.0, 160.0, 200.0, 220.0]
    monkeypatch.setattr(time, "monotonic", lambda: moments.pop(0) if moments else 300.0)
    peer.answer(DONE, DONE, DONE, DONE, *status("active", "completed"), DONE)
    made.save(0)
    peer.answer(*status("inmigrate", "paused"), DONE)
    peer.tell(channel.PONG)
    made.wake()
    assert moments == []


def test_a_guest_goes_on_once_its_state_is_read(pair: Pair) -> None:
    made, peer = pair
    peer.answer(*status("inmigrate", "paused"), DONE)
    peer.tell(channel.PONG)
    made.wake()
    query: tuple[str, dict[str, Any]] = ("query-status", {})
    assert peer.asked() == [("qmp_capabilities", {}), query, query, ("cont", {})]
    assert peer.heard() == [("P", b"")]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b'{"error": {"desc": "not now"}}\n', "^QEMU refuses stop: not now"),
        (b'{"error": {}}\n', "^QEMU refuses stop: None"),
        (b"no JSON\n", "^QEMU's monitor is gone: "),
        (b"{}\n", "^QEMU has ended"),
    ],
)
def test_what_the_monitor_refuses_is_told(pair: Pair, answer: bytes, says: str) -> None:
    made, peer = pair
    peer.answer()
    peer.monitor.sendall(answer)
    with pytest.raises(GuestFailed, match=says):
        made.save(0)


def test_without_a_monitor_qemu_has_ended(pair: Pair) -> None:
    made, peer = pair
    peer.monitor.close()
    with pytest.raises(GuestFailed, match=r"^QEMU has ended"):
        made.save(0)


# ---- programs --------------------------------------------------------------------------------


def test_a_guest_holds_the_programs_of_a_run_and_no_others(pair: Pair, tmp_path: Path) -> None:
    made, peer = pair
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1")
    two.write_bytes(b"2")
    peer.tell(channel.PONG)
    made.hold({"/numalab/a": one, "/numalab/b": two})
    put_a, put_b = ("B", b"/numalab/a\x001"), ("B", b"/numalab/b\x002")
    assert peer.heard() == [put_a, put_b, ("P", b"")]
    made.hold({"/numalab/a": one, "/numalab/b": two})
    assert peer.heard() == [], "it has them"
    one.write_bytes(b"new")
    peer.tell(channel.PONG)
    made.hold({"/numalab/a": one, "/numalab/b": two})
    assert peer.heard() == [("D", b"/numalab/a\0"), ("B", b"/numalab/a\0new"), ("P", b"")]
    peer.tell(channel.PONG)
    made.hold({"/numalab/b": two})
    assert peer.heard() == [("D", b"/numalab/a\0"), ("P", b"")]
    peer.tell(channel.PONG, b"no room")
    with pytest.raises(GuestFailed, match=r"^pair can't hold the programs of a run: no room\."):
        made.hold({})


def test_large_programs_come_in_pieces_and_too_large_ones_not_at_all(
    monkeypatch: pytest.MonkeyPatch, pair: Pair, tmp_path: Path
) -> None:
    made, peer = pair
    monkeypatch.setattr(guest, "PIECE_BYTES", 4)
    monkeypatch.setattr(guest, "PROGRAMS_SHARE", 2.0**-25)  # 16 bytes of 512 MiB
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    peer.tell(channel.PONG)
    made.hold({"/p": file})
    assert [piece for kind, piece in peer.heard() if kind == "B"] == [
        b"/p\x000123", b"/p\x004567", b"/p\x0089"
    ]  # fmt: skip
    file.write_bytes(b"x" * 16)
    peer.tell(channel.PONG)
    made.hold({"/p": file})
    file.write_bytes(b"x" * 17)
    with pytest.raises(GuestEnded, match=r"/p: 0 MiB of programs, more than pair can hold \(0 MiB"):
        made.hold({"/p": file})


def test_a_piece_of_a_program_has_a_mebibyte(monkeypatch: pytest.MonkeyPatch, pair: Pair) -> None:
    pieces: list[int] = []
    monkeypatch.setattr(pair[0].channel, "send", lambda kind, data: pieces.append(len(data) - 3))
    pair[0]._send_program("/p", bytes((2 << 20) + 1))
    assert pieces == [1 << 20, 1 << 20, 1]


def test_programs_may_take_an_eighth_of_the_memory(pair: Pair, tmp_path: Path) -> None:
    made, _ = pair
    file = tmp_path / "file"
    with file.open("wb") as out:
        out.truncate((64 << 20) + 1)
    with pytest.raises(GuestEnded, match=r"/p: 64 MiB of programs.* can hold \(64 MiB\)\.$"):
        made.hold({"/p": file})
