"""The choice of an oral exam's questions from those that a student's attempts give. Pure
functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from numalab.draws import shuffled
from numalab.labs.seeds import Seed
from numalab.teaching.viva.change_questions import change_questions
from numalab.teaching.viva.machine_questions import machine_questions
from numalab.teaching.viva.mistake_questions import failure_questions, mistake_questions
from numalab.teaching.viva.statement_questions import (
    diagnosis_questions,
    explanation_questions,
    prediction_questions,
)
from numalab.teaching.viva.story import KINDS, Kind, LabQuestion, LabStory, VivaQuestion
from numalab.teaching.viva.time_questions import time_questions


def subject_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return the questions of a lab's notebook without their choices, in an order that is drawn."""
    return [
        VivaQuestion(
            subject=question.name,
            text=" ".join(question.text.split()),
            answer=(
                " ".join(question.choices[question.correct].split()),
                " ".join(question.says[question.correct].split()),
            ),
            evidence=(),
            follow_up=f"What in the report of {story.last.name} does it explain?",
        )
        for question in shuffled(f"{draw}: question", story.questions)
    ]


# Returns questions of a kind on a lab, those to prefer first. Its text is what it draws by.
Maker = Callable[[LabStory, str], Sequence[VivaQuestion]]
MAKERS: Mapping[Kind, Maker] = {
    "change": change_questions,
    "failure": failure_questions,
    "explanation": explanation_questions,
    "prediction": prediction_questions,
    "times": time_questions,
    "place": machine_questions,
    "diagnosis": diagnosis_questions,
    "mistake": mistake_questions,
    "subject": subject_questions,
}
FILLS_UP: Kind = "subject"


def all_questions(
    stories: Sequence[LabStory], seed: Seed
) -> dict[Kind, list[Sequence[LabQuestion]]]:
    """Return the questions by kind: for each kind a list per lab that has some, in an order that
    the seed draws."""
    found: dict[Kind, list[Sequence[LabQuestion]]] = {}
    for kind in KINDS:
        draw = f"numalab viva {seed.number}: {kind}"
        made = [_lab_questions(kind, story, f"{draw} {story.lab.name}") for story in stories]
        found[kind] = [questions for questions in shuffled(f"{draw}: labs", made) if questions]
    return found


def _lab_questions(kind: Kind, story: LabStory, draw: str) -> list[LabQuestion]:
    made = MAKERS[kind](story, draw)
    return [LabQuestion(**vars(one), kind=kind, lab=story.lab.name) for one in made]


def choose(stories: Sequence[LabStory], seed: Seed, number: int) -> list[LabQuestion]:
    """Return `number` questions, or as many as there are. One of each kind but FILLS_UP comes
    first, if possible on criteria and labs that have no question yet, then further ones on criteria
    with the fewest. Those of FILLS_UP come last."""
    found = all_questions(stories, seed)
    of_labs = [questions for labs in found.values() for questions in labs]
    left = [(place, one) for questions in of_labs for place, one in enumerate(questions)]
    chosen: list[LabQuestion] = []
    kinds: Counter[Kind] = Counter()
    labs_asked: Counter[str] = Counter()
    subjects: Counter[tuple[str, str]] = Counter()

    def rank(candidate: tuple[int, LabQuestion]) -> tuple[int, ...]:
        place, one = candidate
        subject, of_kind = subjects[one.lab, one.subject], kinds[one.kind]
        return (
            one.kind == FILLS_UP, of_kind > 0, subject if of_kind else 0, of_kind,
            KINDS.index(one.kind), subject, labs_asked[one.lab], place,
        )  # fmt: skip

    while left and len(chosen) < number:
        best = min(left, key=rank)
        left.remove(best)
        one = best[1]
        chosen.append(one)
        kinds[one.kind] += 1
        labs_asked[one.lab] += 1
        subjects[one.lab, one.subject] += 1
    return chosen
