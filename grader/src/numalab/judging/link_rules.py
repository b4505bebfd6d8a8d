"""The rule for answers about links that were drawn from a seed.

What is measured: of how many questions the answer is farther than 0.5 % from what arithmetic says,
which no node changes. What could pass without having computed: answers that somebody else has found
for the same seed, and the kit's own sources, which have them all. A guess has eleven to make. What
fails: one answer that is wrong or missing, a file that can't be used, and the answers that come
with the kit's solution.
"""

from __future__ import annotations

from numalab import words
from numalab.evidence.record import SUBMISSION, Evidence
from numalab.judging.soundness import by_value, not_looked_at
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.labs.link_answers import PUBLISHED_SEED, Rates, read_rates
from numalab.labs.link_questions import QUESTIONS, Question, asked_about, is_close, mistake_in

UNIT = "wrong answers"
_MOST_TOLD = 3
_MANY = 5  # wrong ones look like another seed's


def rates(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Every answer is what is computed."""
    if evidence.is_virtual:
        why = "Judged once, whatever other machines show: the file is about links on paper."
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    file = criterion.file
    assert file is not None
    text = next((text for text in evidence.handed_in if text.file == file.name), None)
    if text is None:
        return not_looked_at(criterion, evidence)
    answers = read_rates(text.text)
    if answers.are_none:
        why = (
            f"{file.name} answers none of the {len(QUESTIONS)} questions: "
            f"./numalab rates {answers.seed} asks them."
        )
        return by_value(criterion, float(len(QUESTIONS)), why, UNIT)
    wrong = [question for question in QUESTIONS if not _is_right(question, answers)]
    if not wrong and answers.seed == PUBLISHED_SEED and evidence.variant == SUBMISSION:
        why = (
            f"The answers for seed {answers.seed} are the kit's own, which come with its solution. "
            f"Write a seed of your own into {file.name}, and answer what it asks."
        )
        return verdict_on(criterion, "fail", "bad_file", why)
    if not wrong:
        why = f"All {len(QUESTIONS)} answers for seed {answers.seed} are right."
        return by_value(criterion, 0.0, why, UNIT)
    return by_value(criterion, float(len(wrong)), _why(answers, wrong), UNIT)


def _is_right(question: Question, answers: Rates) -> bool:
    given = answers.given[question.key]
    return given is not None and is_close(given, question.right(asked_about(answers.seed)))


def _why(answers: Rates, wrong: list[Question]) -> str:
    """Which, and by what mistake as far as it is known; never what would be right."""
    asked = asked_about(answers.seed)
    told = []
    for question in wrong[:_MOST_TOLD]:
        given = answers.given[question.key]
        mistake = "no answer" if given is None else mistake_in(question, given, asked)
        told.append(question.key + (f" ({mistake})" if mistake else ""))
    if len(wrong) > _MOST_TOLD:
        told.append(f"{len(wrong) - _MOST_TOLD} more")
    why = f"Wrong for seed {answers.seed}: {words.listed(told)}."
    given_wrong = sum(answers.given[question.key] is not None for question in wrong)
    if given_wrong >= _MANY:
        why += " So many: are they answers to the questions of the seed that the file has?"
    return f"{why} Asked: ./numalab rates {answers.seed}"
