"""The file of a student's answers to questions about a machine made from a seed.

A number is written as a number, several as a list, `[0, 4]`, or as Linux writes them, "0-3,8". A
key that is left out, or is "" or [], has no answer.
"""

from __future__ import annotations

from node_questions import KEYS, QUESTIONS, Answer, draw_units

from numalab.labs.seeded_answers import (
    SEED,
    AnswerFile,
    BadAnswers,
    SeededAnswers,
    read_seed,
    register,
)
from numalab.machines.machine_file import MAX_PUS
from numalab.machines.seeded import seeded_machine
from numalab.machines.structure import structure_of_machine
from numalab.pu_lists import BadList, parse_pus
from numalab.toml_files.tables import Table, parse_table, toml_value

PUBLISHED_SEED = 489  # of the answers that come with numalab's solution
_EXAMPLE = f'write {SEED} = 1234, and answers such as cores = 8 or node_pus = "0-3,8"'
_WRITE = 'write a number, a list such as [0, 4], or "0-3,8"'


Answers = SeededAnswers[Answer]


def read_answers(text: str, expected: int | None = None) -> Answers:
    """Return the answers in a file. expected: the seed that it has to have; None: any. Raises
    BadAnswers where the file can't be used, or has another seed."""
    table = parse_table(text, "", BadAnswers, (SEED, *KEYS), _EXAMPLE)
    seed = read_seed(table, expected, "that machine")
    return Answers(seed, {key: _answer(table, key) for key in KEYS})


def seed_of(text: str, expected: int | None = None) -> int:
    """Return the seed in a file. Raises BadAnswers as read_answers does."""
    return read_answers(text, expected).seed


def _answer(table: Table, key: str) -> Answer | None:
    value = table.values.get(key, "")
    if isinstance(value, list):
        if not value:
            return None
        for index, number in enumerate(value):
            if isinstance(number, bool) or not isinstance(number, int):
                table.fail(f"'{key}' holds {toml_value(number)}; {_WRITE}", key, index)
            _check(table, key, number)
        return frozenset(value)
    if isinstance(value, str):
        if not value.strip():
            return None
        try:
            numbers = parse_pus(value)
        except BadList as error:
            table.refuse(key, f"{_WRITE} ({error})")
        return frozenset(numbers)
    if isinstance(value, bool) or not isinstance(value, int):
        table.refuse(key, _WRITE)
    _check(table, key, value)
    return frozenset({value})


def _check(table: Table, key: str, number: int) -> None:
    if not 0 <= number <= MAX_PUS:
        table.fail(f"'{key}' holds {number}; it can be 0 to {MAX_PUS}", key)


def _correct_answers(seed: int) -> str:
    machine, drawn = structure_of_machine(seeded_machine(seed)), draw_units(seed)
    correct = ((question.key, sorted(question.answer(machine, drawn))) for question in QUESTIONS)
    return "\n".join(f"{key} = {numbers}" for key, numbers in correct)


register(AnswerFile("topology", read_answers, "node_answers", _correct_answers, seeded_machine))
