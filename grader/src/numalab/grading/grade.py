"""One kernel at one place, from file to verdict: build, evidence, timing, judgement."""

from __future__ import annotations

from numalab.errors import Interrupted
from numalab.grading import handed_in, mpi_runs, probe_runs
from numalab.grading.looks import gather_evidence
from numalab.grading.predicted_looks import look_for_predictions
from numalab.grading.seeded_node import look_at_seeded_node
from numalab.grading.session import Session
from numalab.grading.timing import take_times
from numalab.judging.verdict import Verdict


def grade(session: Session, with_times: bool = True) -> Verdict:
    """Does all there is to do and judges; without times: all but racing the solution. Raises
    Interrupted; what was seen until then is in the session and can be judged."""
    try:
        handed_in.read_files(session)
        if session.build():
            gather_evidence(session)
        handed_in.gather_placements(session)
        look_at_seeded_node(session)
        look_for_predictions(session)
        with session.turns_for_times():
            mpi_runs.time_messages(session)
            probe_runs.measure_rates(session)
            if with_times:
                take_times(session)
    except (KeyboardInterrupt, Interrupted) as error:
        session.record.interrupted = True
        raise Interrupted from error
    return session.verdict()
