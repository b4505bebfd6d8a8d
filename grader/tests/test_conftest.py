"""What the suite sees to for all its tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
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
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as fixture:
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
        stat = Path(f"/proc/{grandchild}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
        assert fixture.poll() is None, "what was there before is somebody else's"
        fixture.kill()
