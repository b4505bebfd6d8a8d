"""The rule for answers about the recording of a frequency governor.

What is measured: of how many questions the answer is another than what follows from the recording
that the kit makes from the file's seed. What could pass without having looked: somebody else's
answers for the same seed, so a course may fix one for each student (`seed`), and the kit's own do
not count for a student. What fails: one answer that is wrong or missing, and a file that can't be
used. Nothing is run, so any node can judge it.
"""

from __future__ import annotations

from numalab import words
from numalab.evidence.record import SUBMISSION, Evidence
from numalab.judging.soundness import by_value, not_looked_at
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.labs.governor_answers import QUESTIONS, Question, RecordAnswers, read_record_answers
from numalab.labs.governor_tree import PUBLISHED_SEED, recording

UNIT = "wrong answers"
_MOST_TOLD = 3


def governor(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Every answer follows from the recording."""
    file = criterion.file
    assert file is not None
    text = next((text for text in evidence.handed_in if text.file == file.name), None)
    if text is None:
        return not_looked_at(criterion, evidence)
    answers = read_record_answers(text.text)
    if answers.are_none:
        why = (
            f"{file.name} answers none of the {len(QUESTIONS)} questions: "
            f"./numalab governor {answers.seed} asks them."
        )
        return by_value(criterion, float(len(QUESTIONS)), why, UNIT)
    about = recording(answers.seed)
    wrong = [question for question in QUESTIONS if not _is_right(question, answers)]
    if not wrong and answers.seed == PUBLISHED_SEED and evidence.variant == SUBMISSION:
        why = (
            f"The answers about seed {answers.seed} are the kit's own, which come with its "
            f"solution. Write a seed of your own into {file.name}, and answer what is asked about "
            "that recording."
        )
        return verdict_on(criterion, "fail", "bad_file", why)
    if not wrong:
        why = (
            f"All {len(QUESTIONS)} answers follow from the recording of seed {answers.seed}, of "
            f"{about.total:,} transitions."
        )
        return by_value(criterion, 0.0, why, UNIT)
    return by_value(criterion, float(len(wrong)), _why(answers, wrong), UNIT)


def _is_right(question: Question, answers: RecordAnswers) -> bool:
    given = answers.given[question.key]
    return given is not None and question.is_right(given, recording(answers.seed))


def _why(answers: RecordAnswers, wrong: list[Question]) -> str:
    """Which, and by what mistake as far as it is known; never what would be right."""
    about = recording(answers.seed)
    told = []
    for question in wrong[:_MOST_TOLD]:
        given = answers.given[question.key]
        mistake = "no answer" if given is None else question.mistake(given, about)
        told.append(question.key + (f" ({mistake})" if mistake else ""))
    if len(wrong) > _MOST_TOLD:
        told.append(f"{len(wrong) - _MOST_TOLD} more")
    return (
        f"Wrong about the recording of seed {answers.seed}: {words.listed(told)}. Look: "
        f"{wrong[0].look}, in what ./numalab governor {answers.seed} --output FOLDER writes."
    )
