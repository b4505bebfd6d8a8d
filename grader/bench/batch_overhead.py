"""How much longer a batch takes than its gradings would, on a Slurm of this machine's own whose
nodes grade with a stand-in that sleeps. See README.md."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from batch_kills import command, faults, make_class
from own_slurm import OwnSlurm, fetched

from numalab.installation import find_installation
from numalab.virtual.local_machine import cache_folder

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


def adopt_orphans() -> None:
    """What daemons leave behind them becomes this process's child, so that its time counts."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def ended_cpu_s() -> float:
    """Of a core, that all have taken who were this process's children and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--grading-s", type=float, default=1.0)
    parser.add_argument("--per-job", type=int, help="left out: the command's own choice")
    parser.add_argument("--keep", type=Path, help="the course's folder; left out: none is kept")
    given = parser.parse_args()
    installation = find_installation("gnu")
    per_job = [] if given.per_job is None else ["--per-job", str(given.per_job)]
    ideal_s = given.students * given.grading_s / given.nodes
    adopt_orphans()
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        tempfile.TemporaryDirectory(prefix="course-") as name,
    ):
        course = given.keep or Path(name) / "course"
        delivery = make_class(Path(name) / "in", given.students)
        nodes = tuple(f"n{number}" for number in range(1, given.nodes + 1))
        slurm = OwnSlurm(Path(folder), fetched(cache_folder()), nodes)
        try:
            slurm.start()
            env = slurm.environment | {"NUMALAB_STAND_IN_S": str(given.grading_s)}
            before_cpu_s = ended_cpu_s()
            started_s = time.monotonic()
            done = subprocess.run(
                command(installation.root, delivery, course, *per_job), env=env,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            )  # fmt: skip
            elapsed_s = time.monotonic() - started_s
            head_cpu_s = ended_cpu_s() - before_cpu_s
            wrong = faults(course, given.students)
        finally:
            slurm.stop()
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        nodes_cpu_s = ended_cpu_s() - before_cpu_s - head_cpu_s
    print(done.stdout, file=sys.stderr)
    print(json.dumps({
        "students": given.students, "nodes": given.nodes, "grading_s": given.grading_s,
        "per_job": given.per_job,
        "ideal_s": ideal_s, "elapsed_s": round(elapsed_s, 2),
        "overhead_share": round(elapsed_s / ideal_s - 1, 4),
        "head_cpu_s": round(head_cpu_s, 2), "slurm_and_jobs_cpu_s": round(nodes_cpu_s, 2),
        "cpu_ms_each": round(1000 * (head_cpu_s + nodes_cpu_s) / given.students, 1),
        "faults": wrong,
        "most_memory_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "exit_code": done.returncode,
    }))  # fmt: skip
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
