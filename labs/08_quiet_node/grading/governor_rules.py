"""The rule for answers about the recording of a frequency governor.

The value is the number of questions whose answer is missing, or does not follow from the recording
that numalab makes from the file's seed. Answers that come with numalab's solution are refused where
a student hands them in. Answers of another student for the same seed pass.
"""

from __future__ import annotations

from governor_answers import QUESTIONS, GovernorQuestion, RecordAnswers, read_record_answers
from governor_tree import PUBLISHED_SEED, Recording, make_recording

from numalab.evidence.record import Evidence
from numalab.judging.principles import Principle, explain
from numalab.judging.registry import Rule
from numalab.judging.seeded_answers import (
    UNIT,
    are_published,
    list_mistakes,
    none_given,
    refuse_published,
)
from numalab.judging.soundness import judge_value, not_measured
from numalab.judging.verdict import CriterionVerdict
from numalab.labs.declaration import Criterion


@Rule("governor", subject="answers")
def governor(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the questions whose answer is missing, or does not follow from the recording."""
    text = evidence.handed(criterion.needed_file.name)
    if text is None:
        return not_measured(criterion, evidence)
    answers = read_record_answers(text.text)
    if answers.are_none:
        return none_given(criterion, len(QUESTIONS), f"./numalab governor {answers.seed}")
    recording = make_recording(answers.seed)
    mistaken = [question for question in QUESTIONS if not _is_correct(question, answers, recording)]
    if not mistaken and are_published(answers, PUBLISHED_SEED, evidence):
        return refuse_published(
            criterion, f"about seed {answers.seed}", "what is asked about that recording"
        )
    if not mistaken:
        why = (
            f"All {len(QUESTIONS)} answers follow from the recording of seed {answers.seed}, of "
            f"{recording.total:,} transitions."
        )
        return judge_value(criterion, 0.0, why, UNIT)
    return judge_value(criterion, float(len(mistaken)), _why(answers, mistaken, recording), UNIT)


def _is_correct(question: GovernorQuestion, answers: RecordAnswers, recording: Recording) -> bool:
    given = answers.given[question.key]
    return given is not None and question.is_correct(given, recording)


def _why(answers: RecordAnswers, mistaken: list[GovernorQuestion], recording: Recording) -> str:
    told = list_mistakes(
        answers, mistaken, lambda question, given: question.mistake(given, recording)
    )
    return (
        f"Wrong about the recording of seed {answers.seed}: {told}. Look: "
        f"FOLDER/{mistaken[0].file}, which ./numalab governor {answers.seed} --output FOLDER "
        "writes."
    )


explain(
    governor,
    Principle(
        "The governor looks once per sampling period, so a program that waits often works at a low "
        "clock, and what is measured depends on what was done just before.",
        "How would you keep the clock out of a measurement? (The governor performance, and some "
        "work before it begins.)",
        ("govern", "frequen", "sampl", "clock"),
    ),
)
