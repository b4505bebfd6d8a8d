"""How often `balanced` is wrong: looks at kernels of lab 03 whose verdict is known, quiet and under
load, and verdicts drawn from them.

A benchmark, run by hand; README.md beside it says how.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from judge_rates import Progress
from loads import LOADS, other_load
from series import Appender, lines_of
from work_share_kernels import DESERVED, KERNELS, BenchKernel, text_of

from numalab.errors import Interrupted, KitError, UserError
from numalab.evidence.record import Json
from numalab.grading.session import Session
from numalab.harness import monitor
from numalab.judging.effort import effort_for
from numalab.kit import Kit, find_kit
from numalab.labs.declaration import KERNEL_FILES, choose_labs, load_labs

LAB, PART = "03_scheduling", "pair_energy"


def build(kit: Kit, node: Json, kernel: BenchKernel, folder: Path) -> Path:
    """The worker of a kernel, where it stays. Raises KitError."""
    (lab,) = choose_labs(load_labs(kit.root), ["03"])
    worker = folder / f"{kernel.name}-{kernel.language}"
    with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
        (Path(scratch) / KERNEL_FILES[kernel.language]).write_text(text_of(kernel, kit))
        session = Session(
            kit, lab, kernel.language, "submission", Path(scratch), effort_for("quick", True),
            node, lambda step: None,
        )  # fmt: skip
        if not session.build():
            raise KitError(f"{worker.name} does not build: {session.data['build']['kernel']}")
        shutil.copy2(session.program("submission"), worker)
    return worker


def look(kit: Kit, worker: Path, role: str, threads: int) -> Json:
    (lab,) = choose_labs(load_labs(kit.root), ["03"])
    options = [
        *monitor.worker_option(role, worker),
        *monitor.common_options(PART, threads, "default", 30.0),
        "--with-one-thread",
    ]
    environment = monitor.worker_environment(lab, threads, passive=True)
    return monitor.run_monitor(kit, lab, monitor.MonitorRun("placement", options, environment))
