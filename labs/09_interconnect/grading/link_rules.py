"""The rule for answers about links that a seed draws.

The value is the number of questions whose answer is missing, or more than 0.5 % off the computed
one. Answers that come with numalab's solution are refused where a student hands them in. Answers of
another student for the same seed pass, and so do answers computed by numalab's sources.
"""

from __future__ import annotations

from link_answers import PUBLISHED_SEED, Rates, read_rates
from link_questions import QUESTIONS, LinkQuestion, draw_links, is_close, mistake_in

from numalab.evidence.record import Evidence
from numalab.judging.principles import Principle, explain
from numalab.judging.registry import Rule
from numalab.judging.seeded_answers import (
    UNIT,
    are_many,
    are_published,
    list_mistakes,
    none_given,
    refuse_published,
)
from numalab.judging.soundness import judge_value, not_measured
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion


@Rule("rates", subject="answers")
def rates(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the questions whose answer is missing, or more than 0.5 % off the computed one."""
    if evidence.is_virtual:
        why = "Judged once, whatever other machines show: the file is about links on paper."
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    text = evidence.handed(criterion.needed_file.name)
    if text is None:
        return not_measured(criterion, evidence)
    answers = read_rates(text.text)
    if answers.are_none:
        return none_given(criterion, len(QUESTIONS), f"./numalab rates {answers.seed}")
    mistaken = [question for question in QUESTIONS if not _is_correct(question, answers)]
    if not mistaken and are_published(answers, PUBLISHED_SEED, evidence):
        return refuse_published(criterion, f"for seed {answers.seed}", "what it asks")
    if not mistaken:
        why = f"All {len(QUESTIONS)} answers for seed {answers.seed} are right."
        return judge_value(criterion, 0.0, why, UNIT)
    return judge_value(criterion, float(len(mistaken)), _why(answers, mistaken), UNIT)


def _is_correct(question: LinkQuestion, answers: Rates) -> bool:
    given = answers.given[question.key]
    return given is not None and is_close(given, question.answer(draw_links(answers.seed)))


def _why(answers: Rates, mistaken: list[LinkQuestion]) -> str:
    drawn = draw_links(answers.seed)
    told = list_mistakes(
        answers, mistaken, lambda question, given: mistake_in(question, given, drawn)
    )
    why = f"Wrong for seed {answers.seed}: {told}."
    if are_many(answers, mistaken):
        why += " So many: are they answers to the questions of the seed that the file has?"
    return f"{why} Asked: ./numalab rates {answers.seed}"


explain(
    rates,
    Principle(
        "A link carries its lanes times their signalling rate times the share that the code leaves "
        "to data, one way; of a path the narrowest part decides.",
        "A port is 4X QDR: why do 40 Gbit/s never arrive? (8b/10b: of ten bits eight are data.)",
        ("lane", "link", "code", "rate", "narrow", "encod"),
    ),
)
