"""What the suite sees to for all its tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import SOON_LIMIT_S
from support.leftovers import descendants, ended_on_failure


def test_ctrl_c_reaches_what_tests_start() -> None:
    """Also where the suite was started by nohup, or in the background of a script."""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    code = "import signal; print(signal.getsignal(signal.SIGINT) == signal.default_int_handler)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# Starts a program that starts another and leaves it alone, and tells both.
FAMILY = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


def test_a_test_that_fails_leaves_no_process() -> None:
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(sleeping) as fixture, contextlib.ExitStack() as at_end:
        at_end.callback(fixture.kill)
        with pytest.raises(AssertionError), ended_on_failure():
            process = subprocess.Popen(
                [sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            grandchild = int(process.stdout.readline())
            assert grandchild in descendants(os.getpid())
            raise AssertionError
        assert process.wait(timeout=60) == -signal.SIGKILL
        process.stdout.close()
        deadline = time.monotonic() + SOON_LIMIT_S  # a signal is delivered when it is
        while is_running(grandchild) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not is_running(grandchild)
        assert fixture.poll() is None, "what was there before is somebody else's"


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
