"""A command in a virtual node as if it ran here: its variables, folders, output and exit code; on
one node or on all of a cluster."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.qemu_peers import Process, plan_of

from numalab.errors import NumalabError, UserError
from numalab.processes import shell_variables
from numalab.virtual import cluster_commands, guest_commands
from numalab.virtual.cluster import ClusterOptions
from numalab.virtual.cluster_commands import counts_text, json_record
from numalab.virtual.guest import Ended
from numalab.virtual.guest_plan import Share
from numalab.virtual.link import Counts, LinkTraffic, NodeCounts
from numalab.virtual.qemu_process import GuestFailed

OWN = {
    "HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/sh", "TMPDIR": "/tmp",
    "NUMALAB_MACHINE": "pair",
}  # fmt: skip
USUAL = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def test_a_guests_variables_are_the_callers_less_what_is_of_this_host() -> None:
    given = {
        "HOME": "/home/u", "LANG": "C", "OMP_PLACES": "cores", "SLURM_JOB_ID": "1", "PMI_RANK": "0",
        "PMIX_RANK": "0", "XDG_RUNTIME_DIR": "/run", "DBUS_X": "1", "SSH_TTY": "1",
        "PYTHONPATH": "", "NUMALAB_STARTED": "1", "VIRTUAL_ENV": "/v", "TMPDIR": "/scratch",
    }  # fmt: skip
    kept = {"LANG": "C", "OMP_PLACES": "cores"}
    assert guest_commands.guest_environment(given, "pair", None) == kept | OWN | USUAL
    path = {"PATH": "/mine"}
    assert guest_commands.guest_environment(path, "pair", Path("/out")) == (
        path | OWN | {"NUMALAB_RESULTS": "/out"}
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Below a home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def test_the_current_folder_and_what_is_asked_for_are_shown(folder: Path) -> None:
    more, results = folder / "more", folder / "results"
    more.mkdir()
    link = folder / "link"
    link.symlink_to(more)
    assert guest_commands.shares_for(folder, None, []) == [Share(folder)]
    assert guest_commands.shares_for(folder, results, [link]) == [
        Share(folder), Share(more), Share(results, writable=True)
    ]  # fmt: skip
    assert guest_commands.shares_for(folder, folder, []) == [Share(folder, writable=True)]
    home = folder.parent  # who names it for results has said so
    assert guest_commands.shares_for(home, home, []) == [Share(home, writable=True)]
    with pytest.raises(UserError, match="is or contains your home folder"):
        guest_commands.shares_for(home, results, [])
    with pytest.raises(UserError, match=r"^--share .*none: there is no such folder$"):
        guest_commands.shares_for(folder, None, [folder / "none"])


@pytest.mark.parametrize("own", ["/tmp", "/run", "/dev", "/proc", "/sys", "/root", "/etc"])
def test_folders_that_a_node_has_itself_are_no_place_to_be(own: str) -> None:
    with pytest.raises(UserError, match=rf"^the current folder is {own}, and a virtual node has"):
        guest_commands.shares_for(Path(own), None, [])
    assert guest_commands.shares_for(Path(f"{own}/x"), None, []) == [Share(Path(f"{own}/x"))]


def test_a_folder_for_results_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert guest_commands.results_folder(Path("a/b")) == folder / "a/b"
    assert guest_commands.results_folder(Path("a/b")).is_dir(), "it may be there"
    (folder / "file").write_text("")
    with pytest.raises(UserError, match=r"^--results file/x: Not a directory$"):
        guest_commands.results_folder(Path("file/x"))
    asked: list[int] = []

    def access(path: Path, mode: int) -> bool:
        asked.append(mode)
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(UserError, match=r"^--results a: you may not write to this folder$"):
        guest_commands.results_folder(Path("a"))
    assert asked == [os.W_OK | os.X_OK]


# ---- why a command is refused ----------------------------------------------------------------


@pytest.fixture
def program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a folder on PATH, with a link to it from a second one."""
    program = folder / "bin/prog"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    (folder / "links").mkdir()
    (folder / "links/prog").symlink_to(program)
    monkeypatch.setenv("PATH", str(program.parent))
    return program


def why(command: str, folder: Path, *visible: Path, reason: int = errno.ENOENT) -> str:
    return guest_commands.why_refused(reason, command, folder, [Share(path) for path in visible])


def test_why_a_command_is_refused(program: Path, folder: Path) -> None:
    usr, there, links = Path("/usr"), program.parent, folder / "links"
    sees = f"It sees /usr, {links}"
    hidden = f"{program} is there on this host, but the virtual node does not see it. {sees}; more"
    assert why("prog", folder, usr, links).startswith(hidden)
    assert why("bin/prog", folder, usr, links).startswith(hidden)
    linked = f"{links}/prog (a link to {program}) is there on this host, but the virtual node does"
    assert why("links/prog", folder, usr, links).startswith(linked)
    assert why("links/prog", folder, usr, there).startswith(linked), "nor where the link is"
    neither = "neither here nor in the virtual node"
    assert why("none", folder, usr) == f"there is no command none, {neither}"
    assert why("./none", folder, usr) == f"there is no program ./none, {neither}"
    assert why("prog", folder, there, reason=errno.EACCES) == (
        f"{program} may not be executed: chmod +x it, or name what runs it"
    )
    assert why("prog", folder, there, reason=errno.ENOEXEC).startswith(f"{program} is no program: ")
    assert why("links/prog", folder, links, there).startswith(
        f"{links}/prog can't be started in the virtual node (No such file or directory): "
    )


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (Ended(0), 0), (Ended(7), 7), (Ended(0, 11), 139), (Ended(3, 2), 130),
        (Ended(127, 0, errno.ENOENT), 127), (Ended(127, 0, errno.EACCES), 126),
        (Ended(127, 0, errno.ENOEXEC), 127),
    ],
)  # fmt: skip
def test_exit_codes_are_a_shells(
    folder: Path, capsys: pytest.CaptureFixture[str], ended: Ended, code: int
) -> None:
    assert guest_commands.exit_code(ended, "./none", folder, []) == code
    said = capsys.readouterr().err
    assert said.startswith("numalab: there is no program ./none") is bool(ended.refused)


def test_all_is_written_however_little_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    def write(descriptor: int, data: bytes) -> int:
        written.append(data[:3])
        return 3

    monkeypatch.setattr(os, "write", write)
    guest_commands.write_all(5, b"12345678")
    assert written == [b"123", b"456", b"78"]


# ---- run -------------------------------------------------------------------------------------


class FakeCluster:
    """Of two nodes. answers: what each one's command ends with, and what it says before."""

    def __init__(self, *answers: Ended | BaseException, said: bytes = b"") -> None:
        self.answers, self.said = answers, said
        self.calls: list[Any] = []
        self.together = threading.Barrier(len(answers))
        plan = plan_of(Share(Path("/w")))
        self.guests = [
            SimpleNamespace(name=f"node{number}", plan=plan, process=Process(), run=self.run)
            for number, _ in enumerate(answers, 1)
        ]

    def run(self, number: int, command: Sequence[str], folder: str, *more: Any) -> Ended:
        """A command without input waits for its end for ever."""
        assert more[3] is not None
        self.calls.append((number, command, folder, more[0]))
        self.together.wait(20)  # all run at once
        more[1](self.said)
        more[2](b"bad\n")
        answer = self.answers[number - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.fixture
def streams(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> pytest.CaptureFixture[str]:
    """This process's output and errors; it has no input."""
    monkeypatch.setattr(shell_variables, "guest_environment", lambda: {"A": "1"})
    monkeypatch.setattr(sys, "stdin", None)
    return capfd


def test_a_command_has_this_process_output(
    streams: pytest.CaptureFixture[str], folder: Path
) -> None:
    cluster: Any = FakeCluster(Ended(7), said=b"no line")
    assert cluster_commands.run_on_first(cluster, ["x"], folder, Path("/out")) == 7
    variables = {"A": "1", **OWN, **USUAL, "NUMALAB_RESULTS": "/out"}
    assert cluster.calls == [(1, ["x"], str(folder), variables)]
    assert streams.readouterr() == ("no line", "bad\n")
    cluster = FakeCluster(GuestFailed("it hangs"))
    with pytest.raises(NumalabError, match=r"^it hangs$"):
        cluster_commands.run_on_first(cluster, ["x"], folder, None)


@pytest.mark.parametrize(("is_interactive", "window"), [(True, (30, 100)), (False, (0, 0))])
def test_a_terminal_has_its_window(
    streams: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_interactive: bool,
    window: tuple[int, int],
) -> None:  # fmt: skip
    monkeypatch.setattr(guest_commands, "is_interactive", lambda: is_interactive)
    monkeypatch.setattr(guest_commands, "window_size", lambda: (30, 100))
    given: list[Any] = []

    def run(*how: Any) -> Ended:
        given.extend(how)
        return Ended(0)

    guest: Any = SimpleNamespace(plan=plan_of(), run=run)
    assert guest_commands.run_command(guest, ["x"], Path("/w"), None) == 0
    assert given[6] == window and given[5].interactive is is_interactive


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ((Ended(0), Ended(0)), 0), ((Ended(0), Ended(5)), 5), ((Ended(4), Ended(5)), 4),
        ((Ended(0), Ended(0, 9)), 137),
    ],
)  # fmt: skip
def test_on_all_nodes_the_first_code_that_is_not_0_is_told(
    streams: pytest.CaptureFixture[str], folder: Path, answers: tuple[Ended, ...], code: int
) -> None:
    cluster: Any = FakeCluster(*answers, said=b"one\ntwo")
    assert cluster_commands.run_on_all(cluster, ["x"], folder, None) == code
    wanted = [(number, ["x"], str(folder), {"A": "1", **OWN, **USUAL}) for number in (1, 2)]
    assert sorted(cluster.calls, key=lambda call: call[0]) == wanted
    told = streams.readouterr()
    assert sorted(told.out.splitlines()) == [
        "node1: one", "node1: two", "node2: one", "node2: two"
    ]  # fmt: skip
    assert sorted(told.err.splitlines()) == ["node1: bad", "node2: bad"]


def test_on_all_nodes_what_fails_is_told_once(
    streams: pytest.CaptureFixture[str], folder: Path
) -> None:
    cluster: Any = FakeCluster(Ended(0), GuestFailed("node2 hangs"), said=b"half a line")
    with pytest.raises(NumalabError, match=r"^node2 hangs$"):
        cluster_commands.run_on_all(cluster, ["x"], folder, None)
    assert sorted(streams.readouterr().out.splitlines()) == [
        "node1: half a line", "node2: half a line"
    ]  # fmt: skip
    assert [guest.process.done for guest in cluster.guests] == [[], []]
    cluster = FakeCluster(Ended(0), KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        cluster_commands.run_on_all(cluster, ["x"], folder, None)
    assert [guest.process.done for guest in cluster.guests] == [["kill"], ["kill"]]


# ---- what has crossed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1234, "1.23 kB"), (999_999, "1,000 kB"),
        (10**6, "1 MB"), (25 * 10**7, "250 MB"), (10**9, "1 GB"),
    ],
)  # fmt: skip
def test_amounts_have_the_largest_unit_that_fits(size: int, said: str) -> None:
    assert cluster_commands._amount(size) == said


SENT = LinkTraffic(1500, 2_000_000, 1400, 1_900_000, 1514, 125_000)
RECEIVED = LinkTraffic(3, 180, 1, 6, 60, 180)
COUNTS = Counts((NodeCounts(SENT, RECEIVED, 0), NodeCounts(RECEIVED, SENT, 2)))


def test_what_has_crossed_is_told_row_by_row() -> None:
    sent = "sent        2 MB,  1,500 frames, TCP payload  1.9 MB, peak 10 Mbit/s"
    received = "received    2 MB,  1,500 frames, TCP payload  1.9 MB, peak 10 Mbit/s"
    few = "  180 B,      3 frames, TCP payload     6 B, peak 0.0144 Mbit/s"
    assert counts_text(("node1", "node2"), COUNTS, 12.5).splitlines() == [
        "On the links, of 12.5 Mbit/s in each direction:",
        f"  node1 {sent}", f"        received {few}", f"  node2 sent     {few}",
        f"        {received}", "        2 frames for nobody were dropped",
    ]  # fmt: skip


def test_what_has_crossed_is_told_to_programs() -> None:
    def numbers(traffic: LinkTraffic, peak: float) -> dict[str, Any]:
        return {
            "frames": traffic.frames, "bytes": traffic.bytes, "tcp_frames": traffic.tcp_frames,
            "tcp_payload_bytes": traffic.tcp_payload_bytes,
            "largest_frame_bytes": traffic.largest_frame_bytes,
            "peak_mbit_s": pytest.approx(peak),
        }  # fmt: skip

    sent, received = numbers(SENT, 10.0), numbers(RECEIVED, 0.0144)
    assert json_record("hydra", ClusterOptions(2, 12.5, "e1000"), COUNTS, 3) == {
        "machine": "hydra", "rate_mbit_s": 12.5, "card": "e1000", "exit_code": 3,
        "nodes": [
            {"name": "node1", "ip": "10.0.0.1", "sent": sent, "received": received,
             "dropped_frames": 0},
            {"name": "node2", "ip": "10.0.0.2", "sent": received, "received": sent,
             "dropped_frames": 2},
        ],
    }  # fmt: skip
