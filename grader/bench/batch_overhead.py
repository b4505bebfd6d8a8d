"""How much longer a batch takes than its gradings would, on a Slurm of this machine's own whose
nodes grade with a stand-in that sleeps. See README.md."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from batch_kills import command, faults, make_class
from own_slurm import OwnSlurm, fetched

from numalab.kit import find_kit
from numalab.virtual.host import cache_folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--grading-s", type=float, default=1.0)
    parser.add_argument("--keep", type=Path, help="the course's folder; left out: none is kept")
    given = parser.parse_args()
    kit = find_kit("gnu")
    ideal_s = given.students * given.grading_s / given.nodes
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
            started_s = time.monotonic()
            done = subprocess.run(
                command(kit.root, delivery, course), env=env, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            elapsed_s = time.monotonic() - started_s
            wrong = faults(course, given.students)
        finally:
            slurm.stop()
    print(done.stdout, file=sys.stderr)
    print(json.dumps({
        "students": given.students, "nodes": given.nodes, "grading_s": given.grading_s,
        "ideal_s": ideal_s, "elapsed_s": round(elapsed_s, 2),
        "overhead_share": round(elapsed_s / ideal_s - 1, 4), "faults": wrong,
        "most_memory_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
        "exit_code": done.returncode,
    }))  # fmt: skip
    return 1 if wrong or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
