"""The result of grading one kernel, as it is shown and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from numalab.evidence.record import Evidence, EvidenceByPlace, Json
from numalab.judging.quantities import ScoredPredictions, scored_predictions
from numalab.judging.timing_account import TimingAccount, add_timing
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.labs.hints import Levels
from numalab.machines.machine import Figure
from numalab.modelling.speedups import ModelledSpeedup


@dataclass(frozen=True)
class GradedKernel:
    """The result of grading one kernel."""

    lab: Lab
    verdict: Verdict  # over all machines
    evidence_by_place: EvidenceByPlace  # name and evidence of each machine, this one first
    accounts: Sequence[TimingAccount]  # of the criteria that were timed
    unchanged: bool = False  # all of it is starting code
    again: str = ""  # what to do about undecided times; empty: nothing
    published: Sequence[Figure] = ()  # latencies that are shown once they have been predicted
    # The number of the strongest hint that the student has read, by topic.
    hint_levels: Levels = field(default_factory=dict)
    spent_s: Mapping[str, float] = field(default_factory=dict)  # seconds by activity
    interrupted: bool = False  # not all evidence was gathered
    afresh: str = ""  # how to take new times in place of earlier ones; empty where there is no way
    no_vms: bool = False  # no virtual machine was to be used
    not_read: Sequence[str] = ()  # files that are probably meant as a kernel and were not read
    taken: Sequence[str] = ()  # sentences on files that were read under another name than theirs
    explanation: str = ""  # what the student writes about the result; may be empty
    # Modelled times for criteria that this machine can't time.
    modelled: Sequence[ModelledSpeedup] = ()

    @property
    def predictions(self) -> ScoredPredictions | None:
        """Return the score of predictions.toml; None where there is nothing to score."""
        return scored_predictions(self.lab, self.verdict, self.evidence_by_place, self.accounts)

    @property
    def local_evidence(self) -> Evidence:
        return self.evidence_by_place[0][1]

    def json_data(self) -> Json:
        """Return the result as a JSON object."""
        predictions = self.predictions
        earlier = msgspec.to_builtins(self.local_evidence.earlier_times)
        return add_timing(self.verdict.json_data(), self.accounts) | {
            **({"earlier_times": earlier} if earlier else {}),
            **({"taken": list(self.taken)} if self.taken else {}),
            "earnable_points": self.verdict.earnable_points,
            **({"explanation": self.explanation} if self.explanation else {}),
            **({"prediction": predictions.json_data()} if predictions is not None else {}),
            **({"modelled": [one.json_data() for one in self.modelled]} if self.modelled else {}),
            "build": msgspec.to_builtins(self.local_evidence.build),
            "spent_s": {key: round(s, 3) for key, s in self.spent_s.items()},
        }
