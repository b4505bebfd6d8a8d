"""A student's attempts at one lab, and the questions of an oral exam on them, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from numalab.course.records import Json
from numalab.diagnosing.known_mistakes import KnownMistake
from numalab.judging.judge import file_of
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

# The kinds in words, in the order in which the first of each is asked.
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
    """Lines of hand-ins, below a title; there may be none."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class VivaQuestion:
    """A question of an oral exam on a lab.

    Attributes:
        subject: the criterion, or what else the question is about.
        text: the question, as it is put to the student.
        answer: paragraphs on what a good answer says, and on what the examiner should know.
        evidence: sentences on what was observed; may be empty.
        follow_up: a question for the time that is left, with or without its answer in brackets; may
            be empty.
        listing: lines of hand-ins to look at.
    """

    subject: str
    text: str
    answer: tuple[str, ...]
    evidence: tuple[str, ...]
    follow_up: str
    listing: Listing = Listing("", ())


@dataclass(frozen=True, kw_only=True)
class LabQuestion(VivaQuestion):
    """A question with its kind and the lab's name."""

    kind: Kind
    lab: str


# ---- attempts --------------------------------------------------------------------------------

MUCH_CONTESTED = 0.2  # share of an array's pages; pages at the borders of threads' parts are fewer


@dataclass(frozen=True)
class Touched:
    """An array in a touch map, as shares of its pages (0 to 1).

    Attributes:
        written: the share by first writer: a thread's number or, with is_by_node, that of its NUMA
            node; touch.NOBODY or touch.UNBOUND.
        contested: the share that several threads, or threads of several NUMA nodes, use.
    """

    written: Mapping[int, float]
    contested: float
    is_by_node: bool


@dataclass(frozen=True)
class Stage:
    """A hand-in that was graded.

    Attributes:
        number: its place among the stages of a story, from 1.
        graded_at: the time of the grading, in ISO 8601.
        result: the JSON of the result.
        files: the handed-in texts by name.
        same_as: the text of numalab's that it is the same as, in words; empty: none is known.
        touched: what touch maps show, by criterion and array; empty: not known.
        rates: times and rates, by criterion of time.
        numa_nodes: the number of NUMA nodes, by machine ("here": the one that graded).
    """

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
        """Return the status of a criterion over all machines; None: it was not judged."""
        return self.verdict.statuses.get(criterion)

    def places(self, criterion: str) -> list[CriterionVerdict]:
        """Return the verdicts on a criterion, in the order of the verdict."""
        return [one for one in self.verdict.criteria if one.name == criterion]

    def shown(self, criterion: str) -> CriterionVerdict | None:
        """Return of the verdicts on a criterion that have its status over all machines the first
        with a value, or else the first; None: there is none."""
        status = self.status(criterion)
        found = [one for one in self.places(criterion) if one.status == status]
        return min(found, key=lambda one: one.value is None, default=None)


@dataclass(frozen=True)
class LabStory:
    """A student's attempts at one lab.

    Attributes:
        language: the language of the results that questions are about.
        stages: the attempts, one or more, oldest first.
        mistakes: known mistakes in that language.
        machines: names of machines, each with its number of NUMA nodes.
        questions: those of the lab's notebook.
    """

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
        """Return the lab's criterion of this name; None: there is none."""
        return next((one for one in self.lab.criteria if one.name == name), None)

    def rule(self, name: str) -> str:
        """Return the name of a criterion's rule; the criterion's name where the lab has none."""
        found = self.criterion(name)
        return name if found is None else found.rule

    def principle(self, name: str, *stages: Stage) -> Principle | None:
        """Return why a criterion matters; None: not known. name: the criterion's; stages: attempts
        whose touch maps may show that another principle than the rule's applies."""
        found = self.criterion(name)
        if found is not None and touched_where_used.judges(found):
            touched = [one for stage in stages for one in stage.touched.get(name, {}).values()]
            if any(one.contested >= MUCH_CONTESTED for one in touched):
                return CONTESTED
            if found.kit_writes_first:
                return NUMALAB_WRITES
        return principle_of(self.rule(name))

    def file_of(self, name: str) -> str:
        """Return the handed-in file that a criterion is about; the kernel's for a name that the lab
        lacks."""
        found = self.criterion(name)
        if found is None:
            return KERNEL_FILES[self.language]
        return file_of(self.lab, found, self.language)


def changed_files(earlier: Stage, later: Stage) -> Sequence[str]:
    """Return the names of files that differ, or that only one of the two attempts has."""
    names = dict.fromkeys((*later.files, *earlier.files))
    return [name for name in names if earlier.files.get(name) != later.files.get(name)]
