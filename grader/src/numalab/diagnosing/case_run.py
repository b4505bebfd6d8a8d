"""Gradings of a case's kernel for its report, on this machine and on the virtual one that the case
draws, if any. Criteria of time are not graded in them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from numalab.diagnosing.case import Case
from numalab.errors import NumalabError, reason_of
from numalab.evidence.record import Evidence
from numalab.grading.grade import grade
from numalab.grading.kernel_grading import Grading
from numalab.grading.vm_gradings import gather_on_vm
from numalab.harness.build import build_targets
from numalab.harness.monitor import describe_node
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import KERNEL_FILES
from numalab.machines.seeded import seeded_machine
from numalab.virtual.place import VirtualPlaces
from numalab.words import StepReport

TRIES = 3  # gradings of a mistake, which chance may hide in one
_UNTIMED = "a case for diagnosis shows no times"


@dataclass(frozen=True)
class CaseRun:
    """The data of a case's report.

    Attributes:
        where: the machine that the report is about: "here", or a virtual machine's name.
        evidence: that of the machine in `where`.
        verdict: that on this machine.
        vm_verdict: that on the virtual machine; None where the case needs none.
    """

    where: str
    evidence: Evidence
    verdict: Verdict
    vm_verdict: Verdict | None

    def shows(self, case: Case) -> bool:
        """Tell whether the criteria fail that the mistake always fails on the machines of this run,
        times aside."""
        known = case.suspect.known
        untimed = {c.name for c in case.lab.criteria if c.kind != "timing"}
        by_luck = {*known.may_fail} & untimed
        shown = {found.name for found in self.verdict.failed()} & untimed
        is_here = set(known.local_fails) & untimed - by_luck <= shown
        if self.vm_verdict is None:
            return is_here
        failed = {found.name for found in self.vm_verdict.failed()} & untimed
        return is_here and set(known.vm_fails) & untimed - by_luck <= failed


def run_case(
    installation: Installation, case: Case, places: VirtualPlaces, progress: StepReport
) -> CaseRun:
    """Run the kernel of a case until its mistake shows, TRIES times at most. The caller holds the
    installation's lock. Raises NumalabError where it does not show."""
    build_targets(installation, ["describe_node", installation.monitor(case.lab.name).name])
    node = describe_node(installation)
    try:
        with tempfile.TemporaryDirectory(prefix="numalab-case-") as folder:
            (Path(folder) / KERNEL_FILES[case.language]).write_text(case.kernel, encoding="utf-8")
            for _ in range(TRIES):
                grading = Grading(
                    installation, case.lab, case.language, "submission", Path(folder),
                    effort_for("quick", True), node, progress, timing_refused=_UNTIMED,
                    seed=case.size_seed, no_vms=True,
                )  # fmt: skip
                case_run = _run_once(grading, case, places)
                if case_run.shows(case):
                    return case_run
    except OSError as error:
        raise NumalabError(f"the case can't be laid out: {reason_of(error)}") from error
    raise NumalabError(
        f"the mistake of this case did not show in {TRIES} looks; when this node is less busy it "
        "should. Try again."
    )


def _run_once(grading: Grading, case: Case, places: VirtualPlaces) -> CaseRun:
    verdict = grade(grading, takes_times=False)
    if case.machine_seed is None:
        return CaseRun("here", grading.evidence, verdict, None)
    machine = seeded_machine(case.machine_seed)
    installation, lab = grading.installation, grading.lab
    programs = [
        installation.monitor(lab.name),
        installation.worker(lab.name, grading.language, "submission"),
    ]
    place = places.get(machine, programs, grading.progress)
    remote = gather_on_vm(grading, place, lab.kernel_parts)
    return CaseRun(machine.name, remote.evidence, verdict, remote.verdict())
