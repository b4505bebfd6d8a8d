"""The grading of one kernel on one machine, from file to verdict: build, evidence, timing,
judgement."""

from __future__ import annotations

from numalab.errors import Interrupted
from numalab.grading import handed_files, mpi_runs, probe_runs
from numalab.grading.collect_evidence import gather_evidence, observe_predicted
from numalab.grading.kernel_grading import Grading
from numalab.grading.timing import take_times
from numalab.grading.vm_gradings import observe_seeded_node
from numalab.judging.verdict import Verdict


def grade(grading: Grading, takes_times: bool = True) -> Verdict:
    """Gather the evidence that the lab's criteria need from this machine, and judge it.
    takes_times: time the submission against the solution. Raises Interrupted; what was recorded
    until then can be judged."""
    try:
        handed_files.read_files(grading)
        if grading.build():
            gather_evidence(grading)
        handed_files.gather_placements(grading)
        observe_seeded_node(grading)
        observe_predicted(grading)
        with grading.exclusive_times():
            mpi_runs.time_messages(grading)
            probe_runs.measure_rates(grading)
            if takes_times:
                take_times(grading)
    except (KeyboardInterrupt, Interrupted) as error:
        grading.record.interrupted = True
        raise Interrupted from error
    return grading.verdict()
