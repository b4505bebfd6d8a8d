"""What grading one kernel leaves for whoever shows it or keeps it."""

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
    """A kernel that was graded. seen: places and their evidence, this node first; accounts: of
    the criteria that were timed; unchanged: all of it is starting code; again: what to do
    about times that stayed open; published: latencies to show once they have been predicted;
    hints_seen: of the lab; spent_s: what took the time here; interrupted: not all was looked
    at; afresh: how to have new times in the place of earlier ones, empty where there is no way;
    here_only: no virtual node was asked; not_read: files beside the kernel that look like one;
    taken: what was read in place of a file that is asked for;
    explanation: what the student says of it, may be empty; modelled: times that stand beside those
    that this node can't show."""

    lab: Lab
    verdict: Verdict
    seen: Seen
    accounts: Sequence[TimingAccount]
    unchanged: bool = False
    again: str = ""
    published: Sequence[Figure] = ()
    hints_seen: Levels = field(default_factory=dict)
    spent_s: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False
    afresh: str = ""
    here_only: bool = False
    not_read: Sequence[str] = ()
    taken: Sequence[str] = ()
    explanation: str = ""
    modelled: Sequence[ModelledSpeedup] = ()

    @property
    def predictions(self) -> ScoredPredictions | None:
        """Of predictions.toml; None where nothing was handed in."""
        return scored_predictions(self.lab, self.verdict, self.seen, self.accounts)

    @property
    def here(self) -> Evidence:
        """What was seen on this node."""
        return self.seen[0][1]

    def json_data(self) -> Json:
        predictions = self.predictions
        earlier = msgspec.to_builtins(self.here.earlier_times)
        return add_timing(self.verdict.json_data(), self.accounts) | {
            **({"earlier_times": earlier} if earlier else {}),
            **({"taken": list(self.taken)} if self.taken else {}),
            "earnable_points": self.verdict.earnable_points,
            **({"explanation": self.explanation} if self.explanation else {}),
            **({"prediction": predictions.json_data()} if predictions is not None else {}),
            **({"modelled": [one.json_data() for one in self.modelled]} if self.modelled else {}),
            "build": msgspec.to_builtins(self.here.build),
            "spent_s": {key: round(s, 3) for key, s in self.spent_s.items()},
        }
