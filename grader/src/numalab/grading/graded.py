"""The result of grading one kernel, as it is shown and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from numalab.evidence.record import Evidence, Json, Seen
from numalab.judging.quantities import ScoredPredictions, scored_predictions
from numalab.judging.timing_account import TimingAccount, add_timing
from numalab.judging.verdict import Verdict
from numalab.labs.declaration import Lab
from numalab.labs.hints import Levels
from numalab.machines.machine import Figure
from numalab.modelling.speedups import ModelledSpeedup


@dataclass(frozen=True)
class GradedKernel:
    """The result of grading one kernel.

    Attributes:
        lab: the lab.
        verdict: over all machines.
        evidence_by_place: name and evidence of each machine, this one first.
        accounts: of the criteria that were timed.
        unchanged: all of it is starting code.
        again: what to do about undecided times; empty: nothing.
        published: latencies that are shown once they have been predicted.
        hint_levels: how many hints the learner has read, by topic.
        spent_s: seconds by activity.
        interrupted: not all was observed.
        afresh: how to take new times in place of earlier ones; empty where there is no way.
        no_vms: no virtual machine was used.
        not_read: files next to the kernel that are probably meant as one.
        taken: sentences on files that were read in place of one of the right name.
        explanation: what the student writes about the result; may be empty.
        modelled: modelled times for criteria that this machine can't time.
    """

    lab: Lab
    verdict: Verdict
    evidence_by_place: Seen
    accounts: Sequence[TimingAccount]
    unchanged: bool = False
    again: str = ""
    published: Sequence[Figure] = ()
    hint_levels: Levels = field(default_factory=dict)
    spent_s: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False
    afresh: str = ""
    no_vms: bool = False
    not_read: Sequence[str] = ()
    taken: Sequence[str] = ()
    explanation: str = ""
    modelled: Sequence[ModelledSpeedup] = ()

    @property
    def predictions(self) -> ScoredPredictions | None:
        """Return the score of predictions.toml; None where none was handed in."""
        return scored_predictions(self.lab, self.verdict, self.evidence_by_place, self.accounts)

    @property
    def local_evidence(self) -> Evidence:
        """Return the evidence of this machine."""
        return self.evidence_by_place[0][1]

    def json_data(self) -> Json:
        """Return the result as the JSON of `./numalab grade --json` and of kept results."""
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
