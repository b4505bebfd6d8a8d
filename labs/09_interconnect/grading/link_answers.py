"""The file of a student's answers to questions about links that a seed draws.

An answer is a number above 0; a key that is left out, or is "", has no answer.
"""

from __future__ import annotations

from fractions import Fraction

from link_questions import KEYS, QUESTIONS, draw_links

from numalab.labs.seeded_answers import (
    SEED,
    AnswerFile,
    BadAnswers,
    SeededAnswers,
    read_seed,
    register,
)
from numalab.toml_files.tables import Table, parse_table

PUBLISHED_SEED = 1630  # of the answers that come with numalab's solution
_EXAMPLE = f"write {SEED} = 1234, and answers such as old_gbit_s = 8.5"
_MOST = 1e15


Rates = SeededAnswers[Fraction]


def read_rates(text: str, expected: int | None = None) -> Rates:
    """Return the answers in a file. expected: the seed that it has to have; None: any. Raises
    BadAnswers where the file can't be used, or has another seed."""
    table = parse_table(text, "", BadAnswers, (SEED, *KEYS), _EXAMPLE)
    seed = read_seed(table, expected, "its links")
    return Rates(seed, {key: _answer(table, key) for key in KEYS})


def _answer(table: Table, key: str) -> Fraction | None:
    value = table.values.get(key, "")
    if isinstance(value, str):
        if value.strip():
            table.refuse(key, "write a number, without quotes and without its unit")
        return None
    number = table.number(key, most=_MOST)
    if not number > 0:
        table.refuse(key, "it must be above 0")
    return Fraction(number)


def _correct_answers(seed: int) -> str:
    drawn = draw_links(seed)
    correct = ((question.key, float(question.answer(drawn))) for question in QUESTIONS)
    return "\n".join(f"{key} = {number:.6g}" for key, number in correct)


register(AnswerFile("rates", read_rates, "rates_answers", _correct_answers))
