"""A grading of starting code as if it were handed in, which shows whether gradings work here."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from numalab.errors import Interrupted, NumalabError
from numalab.files import write_whole
from numalab.grading.request import Listener, Request, grade_all
from numalab.installation import Installation
from numalab.judging.correctness_rules import correct
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.virtual.place import VirtualPlaces
from numalab.words import StepReport

_COMMENT = {"c": "//", "fortran": "!"}
_CRITERION = correct.name  # which most labs' starting code passes


def grade_on_trial(
    installation: Installation, labs: Sequence[Lab], places: VirtualPlaces, progress: StepReport
) -> None:
    """Grade the starting code of the first simple lab in its languages, without times; the gradings
    are not kept. Without such a lab, do nothing. The caller holds Installation.lock. Raises
    NumalabError where the code is not found correct, and Interrupted."""
    lab = next(filter(_is_simple, labs), None)
    if lab is None:
        return
    with tempfile.TemporaryDirectory(prefix="numalab-trial-") as folder:
        for language in lab.languages:
            file = KERNEL_FILES[language]
            target = Path(folder) / lab.name / file
            target.parent.mkdir(exist_ok=True)
            content = (installation.pristine_folder(lab.name) / file).read_text(encoding="utf-8")
            # A different text each time, or nothing would be compiled.
            write_whole(target, f"{content}{_COMMENT[language]} {secrets.token_hex(8)}\n")
        request = Request(
            [lab], "all", "submission", Path(folder), size="quick", quick=True, no_vms=True,
            no_times="set-up takes no times",
        )  # fmt: skip
        listener = Listener(start_progress=lambda title: nullcontext(progress))
        graded = grade_all(installation, request, places, listener)
        if graded.interrupted:
            raise Interrupted
        for verdict in graded.verdicts:
            for criterion in verdict.criteria:
                if criterion.name == _CRITERION and criterion.status != "pass":
                    raise NumalabError(
                        f"all is built, but the starting code of {lab.name} can't be graded in "
                        f"{verdict.language}: {criterion.name} is '{criterion.status}'. "
                        f"{criterion.why}"
                    )


def _is_simple(lab: Lab) -> bool:
    """Tell whether a lab calls no MPI, asks for no other files, and has correct starting code."""
    named = {criterion.name: criterion for criterion in lab.criteria}
    return (
        not lab.calls_mpi
        and not lab.files
        and not lab.has_link_job
        and _CRITERION in named
        and named[_CRITERION].handout_fails_from is None
    )
