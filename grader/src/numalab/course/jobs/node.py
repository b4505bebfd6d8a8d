"""The module that a job runs: python -m numalab.course.jobs.node PRESET COURSE RUN CHUNK.

It is separate from the command line, since importing that takes long.
"""

from __future__ import annotations

import fcntl
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from numalab.course.course_folder import CourseFolder
from numalab.course.jobs import runs
from numalab.course.jobs.node_folders import ENDING
from numalab.course.jobs.work import grade_chunk
from numalab.errors import NumalabError, UserError, reason_of, wrapped
from numalab.exit_codes import EXIT_INTERRUPTED, EXIT_NUMALAB, EXIT_PASSED
from numalab.file_systems.locks import LockFile
from numalab.installation import find_installation


def _stop(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt for the first signal and ignore further ones, which would keep the
    process from ending its grading and removing its folder."""
    del number, frame
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say(step: str) -> None:
    print(f"{runs.now()}  {step}", flush=True)


def run_chunk(preset: str, course: CourseFolder, run_id: str, chunk: int) -> None:
    """Grade one chunk of a run. Raises UserError if the run has no such chunk."""
    run = runs.read_run(course, run_id)
    if not 0 <= chunk < len(run.chunks):
        raise UserError(f"the run {run_id} has no chunk {chunk}")
    with ExitStack() as held:
        if run.engine == "local":
            # Local.take_up of a later command waits until no process holds this.
            held.enter_context(LockFile(course.run(run_id) / "working")).lock(fcntl.LOCK_SH)
        grade_chunk(course, run, chunk, find_installation(preset), _say)


def main(arguments: Sequence[str]) -> int:
    for ending in ENDING:
        signal.signal(ending, _stop)
    preset, course, run_id, chunk = arguments
    try:
        run_chunk(preset, CourseFolder(Path(course)), run_id, int(chunk))
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except (UserError, NumalabError, OSError) as error:
        why = reason_of(error) if isinstance(error, OSError) else error
        print(wrapped(f"numalab: {why}"), file=sys.stderr)
        return EXIT_NUMALAB
    return EXIT_PASSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
