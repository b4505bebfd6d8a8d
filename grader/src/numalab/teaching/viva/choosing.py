"""Three to five questions of all that a student's attempts give: of different kinds, labs and
criteria, and the same ones for the same attempts. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from numalab.draws import shuffled
from numalab.labs.seeds import Seed
from numalab.teaching.viva.of_changes import of_changes
from numalab.teaching.viva.of_kernels import of_failures, of_mistakes
from numalab.teaching.viva.of_places import of_places
from numalab.teaching.viva.of_subjects import of_subjects
from numalab.teaching.viva.of_times import of_times
from numalab.teaching.viva.of_words import of_diagnoses, of_explanations, of_predictions
from numalab.teaching.viva.question import KINDS, Kind, VivaQuestion
from numalab.teaching.viva.story import LabStory

# Each gives all that it can ask of a lab, the most telling first; the text is what it draws by.
Maker = Callable[[LabStory, str], Sequence[VivaQuestion]]
MAKERS: Mapping[Kind, Maker] = {
    "change": of_changes,
    "failure": of_failures,
    "explanation": of_explanations,
    "prediction": of_predictions,
    "times": of_times,
    "place": of_places,
    "diagnosis": of_diagnoses,
    "mistake": of_mistakes,
    "subject": of_subjects,
}


FILLS_UP: Kind = "subject"


def all_questions(
    stories: Sequence[LabStory], seed: Seed
) -> dict[Kind, list[Sequence[VivaQuestion]]]:
    """By kind, of each lab that has some, in an order of the student's own."""
    found: dict[Kind, list[Sequence[VivaQuestion]]] = {}
    for kind in KINDS:
        draw = f"numalab viva {seed.number}: {kind}"
        made = [MAKERS[kind](story, f"{draw} {story.lab.name}") for story in stories]
        found[kind] = [questions for questions in shuffled(f"{draw}: labs", made) if questions]
    return found


def choose(stories: Sequence[LabStory], seed: Seed, number: int) -> list[VivaQuestion]:
    """As many as number, or all that there are. One of each kind first, of the labs and criteria
    that were not asked about yet; then what else is new. The labs' own questions fill up what is
    missing."""
    found = all_questions(stories, seed)
    of_labs = [questions for labs in found.values() for questions in labs]
    left = [(place, one) for questions in of_labs for place, one in enumerate(questions)]
    chosen: list[VivaQuestion] = []
    kinds: Counter[Kind] = Counter()
    labs_asked: Counter[str] = Counter()
    subjects: Counter[tuple[str, str]] = Counter()

    def rank(candidate: tuple[int, VivaQuestion]) -> tuple[int, ...]:
        place, one = candidate
        subject, of_kind = subjects[one.lab, one.about], kinds[one.kind]
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
        subjects[one.lab, one.about] += 1
    return chosen
