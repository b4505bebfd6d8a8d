"""The rule for answers about a machine that was made from a seed.

What is measured: of how many questions the answer is another than what hwloc saw on the machine as
it was booted, all PUs online and nobody bound. What could pass without having looked: answers that
somebody else has found for the same seed, and the kit's own sources, which make the machine. (What
gives out seeds can have them checked: labs/node_answers.py.) A guess has nine to make. What fails:
one answer that is wrong or missing, a file that can't be used, and the answers that come with the
kit's solution. A node that can't boot the machine judges nothing.
"""

from __future__ import annotations

from numalab import words
from numalab.evidence.record import SUBMISSION, Evidence
from numalab.judging.soundness import by_value, not_looked_at
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.labs.node_answers import PUBLISHED_SEED, Answers, read_answers
from numalab.labs.node_questions import (
    QUESTIONS,
    Question,
    asked_about,
    look_at,
    mistake_in,
)
from numalab.machines.seeded import PREFIX
from numalab.machines.structure import Structure, structure_of_node

UNIT = "wrong answers"
_MOST_TOLD = 3
_MANY = 5  # wrong ones look like another machine's


def topology(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Every answer is what hwloc saw."""
    if evidence.is_virtual:
        why = "Judged once, whatever other machines show: the file is about one of its own."
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    file = criterion.file
    assert file is not None
    text = next((text for text in evidence.handed_in if text.file == file.name), None)
    if text is None:
        return not_looked_at(criterion, evidence)
    answers = read_answers(text.text)
    name = f"{PREFIX}{answers.seed}"
    if answers.are_none:
        why = (
            f"{file.name} answers none of the {len(QUESTIONS)} questions: "
            f"./numalab machine questions {name} asks them."
        )
        return by_value(criterion, float(len(QUESTIONS)), why, UNIT)
    seen = evidence.seeded_node
    if seen is None or seen.seed != answers.seed:
        return not_looked_at(criterion, evidence)
    if seen.node is None:
        why = f"Nobody could look at {name} here: {(seen.error or '').removesuffix('.')}."
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    structure = structure_of_node(seen.node)
    asked = asked_about(answers.seed)
    wrong = [q for q in QUESTIONS if answers.given[q.key] != q.right(structure, asked)]
    if not wrong and answers.seed == PUBLISHED_SEED and evidence.variant == SUBMISSION:
        why = (
            f"The answers about {name} are the kit's own, which come with its solution. Write a "
            f"seed of your own into {file.name}, and answer what is asked about that machine."
        )
        return verdict_on(criterion, "fail", "bad_file", why)
    if not wrong:
        why = f"All {len(QUESTIONS)} answers are what hwloc sees on {name}."
        return by_value(criterion, 0.0, why, UNIT)
    return by_value(criterion, float(len(wrong)), _why(answers, wrong, structure), UNIT)


def _why(answers: Answers, wrong: list[Question], seen: Structure) -> str:
    """Which, and by what mistake as far as it is known; never what would be right."""
    asked = asked_about(answers.seed)
    told = []
    for question in wrong[:_MOST_TOLD]:
        given = answers.given[question.key]
        mistake = "no answer" if given is None else mistake_in(question, given, seen, asked)
        told.append(question.key + (f" ({mistake})" if mistake else ""))
    if len(wrong) > _MOST_TOLD:
        told.append(f"{len(wrong) - _MOST_TOLD} more")
    name = f"{PREFIX}{answers.seed}"
    why = f"Wrong about {name}: {words.listed(told)}."
    given_wrong = sum(answers.given[question.key] is not None for question in wrong)
    if given_wrong >= _MANY:
        why += f" So many: were they looked up on {name}, which the file's seed says?"
    return f"{why} Look: {look_at(wrong[0], answers.seed, asked)}"
