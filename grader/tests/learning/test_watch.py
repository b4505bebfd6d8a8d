"""./numalab watch: what counts as a change, and the command as a learner uses it."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.commands import SOON_LIMIT_S, assert_all_gone, environment, numalab_command
from support.desks import make_desk

from numalab.installation import Installation
from numalab.learning.progress import load_progress
from numalab.learning.watch import (
    Change,
    Marks,
    change_of,
    changed,
    next_change,
    read_marks,
    remembered,
)

LAB = "01_first_touch"

# ---- changes -------------------------------------------------------------------------------


class Clock:
    """Something happens in each pause, one thing after another, in the place of time."""

    def __init__(self, *events: Callable[[], object]) -> None:
        self.events = list(events)
        self.pauses = 0

    def pause(self, seconds: float) -> bool:
        assert seconds > 0
        self.pauses += 1
        if not self.events:
            return True
        self.events.pop(0)()
        return False


def seen_next(path: Path, *events: Callable[[], object]) -> tuple[Marks | None, int]:
    graded = read_marks([path])
    clock = Clock(*events)
    return next_change(graded, clock.pause, lambda: read_marks([path])), clock.pauses


def nothing() -> None:
    pass


def test_a_save_is_a_change_once_the_file_is_stable(tmp_path: Path) -> None:
    path = tmp_path / "kernel.c"
    path.write_text("old")
    found, pauses = seen_next(
        path, nothing, lambda: path.write_text("ne"), lambda: path.write_text("new"), nothing
    )
    assert found == read_marks([path]) and pauses == 4


def test_what_stays_the_same_is_none(tmp_path: Path) -> None:
    path = tmp_path / "kernel.c"
    path.write_text("old")

    def save_by_renaming() -> None:
        other = tmp_path / "kernel.c~"
        other.write_text("old")
        other.replace(path)

    found, pauses = seen_next(
        path, save_by_renaming, lambda: os.utime(path, (0, 0)), lambda: path.write_text("old")
    )
    assert found is None and pauses == 4


def test_another_content_of_the_same_size_and_time_is_one(tmp_path: Path) -> None:
    path = tmp_path / "kernel.c"
    path.write_text("old")
    when = path.stat().st_mtime_ns

    def edit() -> None:
        path.write_text("new")
        os.utime(path, ns=(when, when))

    found, _ = seen_next(path, edit, nothing)
    assert found is not None


def test_a_file_that_is_gone_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "kernel.c"
    path.write_text("old")
    found, pauses = seen_next(path, path.unlink, lambda: path.write_text("new"), nothing)
    assert found == read_marks([path]) and pauses == 3
    gone, _ = seen_next(path, path.unlink, nothing)
    assert gone == {path: None}


def test_files_are_told_apart(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths[:2]:
        path.write_text("1")
    earlier = read_marks(paths)
    paths[1].write_text("2")
    paths[2].write_text("1")
    assert changed(earlier, read_marks(paths)) == paths[1:]


def test_what_a_change_has_changed() -> None:
    earlier = remembered({"efficiency": "pass"}, {"correct": "pass", "near": "fail", "far": "fail"})
    now = remembered(earlier, {"efficiency": "not_gradable", "near": "inconclusive"})
    assert now == earlier, "what was not judged is still known"
    assert change_of(earlier, {"correct": "fail", "near": "pass", "far": "fail"}) == Change(
        passing=("near",), failing=("correct",)
    )
    timed = earlier | {"speedup": "pass"}
    assert change_of(earlier, timed) == Change(passing=("speedup",), failing=())
    assert change_of(timed, timed) == Change((), ())


# ---- the command ---------------------------------------------------------------------------


@pytest.fixture
def desk(installation: Installation, tmp_path: Path) -> Iterator[Installation]:
    desk = make_desk(installation, tmp_path)
    yield desk
    assert_all_gone(desk)


@contextmanager
def watching(desk: Installation, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [str(desk.root / "numalab"), "watch", "01", "--lang", "c", *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        cwd=desk.root, env=environment(desk),
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], text: str) -> str:
    """What the command says up to a line with a text."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if text in line:
            return said
    raise AssertionError(f"{text!r} did not come; it said:\n{said}")


def save(desk: Installation, text: str) -> None:
    path = desk.lab_folder(LAB) / "kernel.c"
    partial = path.with_name("kernel.c.swp")
    partial.write_text(text)
    partial.replace(path)


@pytest.mark.builds
def test_a_kernel_on_its_way(desk: Installation) -> None:
    """As it was given out, broken, repaired, gone; each state is graded."""
    solution = (desk.solution_folder(LAB) / "kernel.c").read_text()
    with watching(desk) as process:
        given = until(process, "then grade again")
        assert "FAIL  touched_where_used  0/2" in given and "first written by 0000" in given
        assert "Not timed. ./numalab watch 01 --time takes" in given
        assert "Changed" not in given and "timing" not in given

        # Between two gradings other commands may work, and are waited for.
        with desk.lock(print):
            save(desk, solution.replace("0.0f;", "0.0f", 1))
            until(process, "another numalab command is measuring; waiting")
        broken = until(process, "Changed: correct and shared_out FAIL now.")
        assert "kernel.c does not compile." in broken
        assert "    kernel.c:" in broken and "expected ';'" in broken

        save(desk, solution)
        repaired = until(process, "Changed: correct, shared_out and touched_where_used pass now.")
        assert "pass  touched_where_used  2/2" in repaired

        (desk.lab_folder(LAB) / "kernel.c").unlink()
        gone = until(process, "Changed: correct, shared_out and touched_where_used FAIL now.")
        assert "kernel.c was not handed in" in gone

        process.send_signal(signal.SIGINT)
        last = until(process, "numalab: interrupted")
        assert process.wait() == 130
        assert "Traceback" not in given + broken + repaired + gone + last
    result = load_progress(desk.progress_file).best[LAB]["c"]
    assert result.statuses["touched_where_used"] == "pass"
    assert {"speedup", "efficiency"} <= set(result.left_out) and not result.is_done
    told = numalab_command(desk, "progress").out
    assert "not yet graded:" in told and "./numalab grade 01 --lang c" in told


@pytest.mark.builds
def test_a_terminal_is_cleared_and_enter_takes_times(desk: Installation) -> None:
    save(desk, (desk.solution_folder(LAB) / "kernel.c").read_text())
    pid, terminal = pty.fork()
    if pid == 0:
        program = str(desk.root / "numalab")
        os.execve(program, [program, "watch", "01", "--lang", "c"],
                  environment(desk, TERM="xterm"))  # fmt: skip
    said = b""

    def until_said(text: bytes) -> bytes:
        nonlocal said
        said = b""
        while text not in said:
            assert select.select([terminal], [], [], SOON_LIMIT_S)[0], said
            said += os.read(terminal, 65536)
        return said

    try:
        first = until_said(b"Ctrl-C ends it.")
        assert b"Press Enter to take times" in first and b"\x1b[2J" in first
        os.write(terminal, b"\n")
        until_said(b"timing")
        os.write(terminal, b"\x03")
        assert b"Traceback" not in until_said(b"interrupted")
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(terminal)


def test_misuse_is_told_at_once(desk: Installation) -> None:
    for arguments, says in (
        (["watch"], "Missing argument 'LAB'"),
        (["watch", "firsttouch"], "Did you mean 01_first_touch?"),
        (["watch", "01", "--on", "hidra"], "Did you mean hydra?"),
        (["watch", "01", "--tim"], "Did you mean '--time'?"),
        (["wach", "01"], "'watch'?"),
    ):
        done = numalab_command(desk, *arguments)
        assert done.code == 2 and says in done.said
        assert max(map(len, done.err.splitlines())) <= 80
