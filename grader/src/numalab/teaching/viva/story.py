"""A student's attempts at one lab, in the order in which they were handed in: what questions are
made from. Nothing here is read or measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from numalab.course.records import Json
from numalab.diagnosing.known_mistakes import KnownMistake
from numalab.judging.page_rules import touched_where_used
from numalab.judging.principles import Principle
from numalab.judging.rates import TimedRates
from numalab.judging.verdict import CriterionVerdict, Status, Verdict
from numalab.labs.declaration import KERNEL_FILES, Criterion, Lab
from numalab.learning.questions import AnsweredQuestion
from numalab.teaching.viva.principles import CONTESTED, NUMALAB_WRITES, principle_of

# ---- a question ------------------------------------------------------------------------------

Kind = Literal[
    "change", "failure", "explanation", "prediction", "times", "place", "diagnosis", "mistake",
    "subject",
]  # fmt: skip

# In the order in which they are asked: what only this student can answer comes first.
KIND_WORDS: dict[Kind, str] = {
    "change": "a change between two attempts",
    "failure": "what still fails",
    "explanation": "the student's own words",
    "prediction": "a prediction",
    "times": "times",
    "place": "another machine",
    "diagnosis": "a diagnosis",
    "mistake": "a mistake that was not made",
    "subject": "the lab's subject",
}
KINDS: tuple[Kind, ...] = tuple(KIND_WORDS)


@dataclass(frozen=True)
class Listing:
    """Lines of what was handed in, below a title; may be none."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class VivaQuestion:
    """subject: the criterion, or what else it is about; text: said to the student; answer: what a
    good one says, and what the examiner should know, a paragraph each; evidence: figures, each with
    its source; follow_up: if there is time, with the answer in brackets."""

    kind: Kind
    lab: str
    subject: str
    text: str
    answer: tuple[str, ...]
    evidence: tuple[str, ...]
    follow_up: str
    listing: Listing = Listing("", ())


# ---- attempts --------------------------------------------------------------------------------

MUCH_CONTESTED = 0.2  # of an array's pages: more than stands at the borders of shares


@dataclass(frozen=True)
class Touched:
    """An array in a touch map, in shares of its pages. written: by who wrote them first, a thread
    or, with is_by_node, the NUMA node of one; contested: that several of these use."""

    written: Mapping[int, float]
    contested: float
    is_by_node: bool


@dataclass(frozen=True)
class Stage:
    """A hand-in that was graded. number: counts the student's, from 1; files: as they were handed
    in, by name, in text that can be shown; same_as: the text of the kit's that it says the same as,
    in words, empty: none; touched: by criterion and array; rates: by criterion of time; numa_nodes:
    by place."""

    number: int
    graded_at: str
    verdict: Verdict
    result: Json
    files: Mapping[str, str]
    same_as: str = ""
    touched: Mapping[str, Mapping[str, Touched]] = field(default_factory=dict)
    rates: Mapping[str, TimedRates] = field(default_factory=dict)
    numa_nodes: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"attempt {self.number}"

    def status(self, criterion: str) -> Status | None:
        """Over all places; None: it was not judged."""
        return self.verdict.statuses.get(criterion)

    def places(self, criterion: str) -> list[CriterionVerdict]:
        return [one for one in self.verdict.criteria if one.name == criterion]

    def shown(self, criterion: str) -> CriterionVerdict | None:
        """Of the places the one that tells most: it decides the status, and has a figure."""
        status = self.status(criterion)
        found = [one for one in self.places(criterion) if one.status == status]
        return min(found, key=lambda one: one.value is None, default=None)


@dataclass(frozen=True)
class LabStory:
    """stages: one or more, oldest first; language: of the results that are asked about; mistakes:
    of the lab, those in that language; machines: of the gallery, with their NUMA nodes; questions:
    that the lab asks of its learners."""

    lab: Lab
    language: str
    stages: tuple[Stage, ...]
    mistakes: tuple[KnownMistake, ...] = ()
    machines: tuple[tuple[str, int], ...] = ()
    questions: tuple[AnsweredQuestion, ...] = ()

    @property
    def last(self) -> Stage:
        return self.stages[-1]

    @property
    def title(self) -> str:
        is_told = not self.lab.is_variant or "variant" in self.lab.title.casefold()
        return f"{self.lab.number} {self.lab.title}{'' if is_told else ', variant'}"

    def criterion(self, name: str) -> Criterion | None:
        return next((one for one in self.lab.criteria if one.name == name), None)

    def rule(self, name: str) -> str:
        found = self.criterion(name)
        return name if found is None else found.rule

    def principle(self, name: str, *stages: Stage) -> Principle | None:
        """Why a criterion matters: by what the touch maps of these attempts show, if they do."""
        found = self.criterion(name)
        if found is not None and touched_where_used.judges(found):
            touched = [one for stage in stages for one in stage.touched.get(name, {}).values()]
            if any(one.contested >= MUCH_CONTESTED for one in touched):
                return CONTESTED
            if found.kit_writes_first:
                return NUMALAB_WRITES
        return principle_of(self.rule(name))

    def file_of(self, name: str) -> str:
        """Of those handed in the one that a criterion is about."""
        found = self.criterion(name)
        if found is not None and found.file is not None:
            return found.file.name
        if found is not None and found.slow is not None:
            return self.lab.launch_of(found.part).name
        return KERNEL_FILES[self.language]


def changed_files(earlier: Stage, later: Stage) -> Sequence[str]:
    """Names of files that differ, or that only one of the two has."""
    names = dict.fromkeys((*later.files, *earlier.files))
    return [name for name in names if earlier.files.get(name) != later.files.get(name)]
