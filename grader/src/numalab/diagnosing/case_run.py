"""Runs the kernel of a case and looks at it: on this node, and on the machine that is made from the
case's seed. Nothing is timed, and nothing of it is kept."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from numalab.diagnosing.case import Case
from numalab.errors import NumalabError, reason_of
from numalab.evidence.record import Evidence
from numalab.grading.elsewhere import gather_on
from numalab.grading.grade import grade
from numalab.grading.session import Session
from numalab.harness.build import build_targets
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import KERNEL_FILES
from numalab.machines.seeded import seeded_machine
from numalab.virtual.place import VirtualPlaces
from numalab.words import StepReport

TRIES = 3  # what luck may hide shows in one of them
_UNTIMED = "a case for diagnosis shows no times"


@dataclass(frozen=True)
class CaseRun:
    """What the report is made of. where: the place that shows it, "here" or a machine's name;
    verdict: of this node; there: of the other place, None where nothing was looked at there."""

    where: str
    evidence: Evidence
    verdict: Verdict
    there: Verdict | None

    def shows(self, case: Case) -> bool:
        """Whether the mistake shows as its lab declares it, so that the questions fit."""
        wrong = case.suspect.wrong
        untimed = {c.name for c in case.lab.criteria if c.kind != "timing"}
        by_luck = {*wrong.may_fail} & untimed
        shown = {found.name for found in self.verdict.failed()} & untimed
        is_here = set(wrong.here) & untimed - by_luck <= shown
        if self.there is None:
            return is_here
        failed = {found.name for found in self.there.failed()} & untimed
        return is_here and set(wrong.there) & untimed - by_luck <= failed


def look(
    installation: Installation, case: Case, places: VirtualPlaces, progress: StepReport
) -> CaseRun:
    """The caller holds the kit's lock. Raises Interrupted, UserError and NumalabError."""
    build_targets(installation, ["describe_node", installation.monitor(case.lab.name).name])
    node = describe_node(installation)
    try:
        with tempfile.TemporaryDirectory(prefix="numalab-case-") as folder:
            (Path(folder) / KERNEL_FILES[case.language]).write_text(case.kernel, encoding="utf-8")
            for _ in range(TRIES):
                session = Session(
                    installation, case.lab, case.language, "submission", Path(folder),
                    effort_for("quick", True), node, progress, timing_refused=_UNTIMED,
                    seed=case.size_seed, here_only=True,
                )  # fmt: skip
                looked = _looked(session, case, places)
                if looked.shows(case):
                    return looked
    except OSError as error:
        raise NumalabError(f"the case can't be laid out: {reason_of(error)}") from error
    raise NumalabError(
        f"the mistake of this case did not show in {TRIES} looks; when this node is less busy it "
        "should. Try again."
    )


def _looked(session: Session, case: Case, places: VirtualPlaces) -> CaseRun:
    verdict = grade(session, with_times=False)
    if case.machine_seed is None:
        return CaseRun("here", session.evidence, verdict, None)
    machine = seeded_machine(case.machine_seed)
    installation, lab = session.installation, session.lab
    programs = [
        installation.monitor(lab.name),
        installation.worker(lab.name, session.language, "submission"),
    ]
    place = places.get(machine, programs, session.progress)
    there = gather_on(session, place, lab.kernel_parts)
    return CaseRun(machine.name, there.evidence, verdict, there.verdict())
