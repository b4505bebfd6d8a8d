"""Programs that read what was built of a stranger's kernel: nm, objcopy, addr2line. What they read
can be anything, so they see nothing of the grader's environment, and may take little."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

# A worker program is a few MB; debugging information that never ends is a matter of seconds.
LIMIT_S = 20
_LIMITS = (f"--as={2 << 30}", f"--fsize={256 << 20}", f"--cpu={LIMIT_S}", "--core=0")


def run_binutils(command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """What such a program says; None where it can't be run, or does not come to its end."""
    limiter = shutil.which("prlimit")
    kept = {key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH") if key in os.environ}
    try:
        return subprocess.run(
            [*([limiter, *_LIMITS, "--"] if limiter else []), *command],
            env=kept | {"LC_ALL": "C"}, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
