"""Files in which students answer questions that are drawn from a seed. Labs register theirs
here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from numalab.labs import lab_modules
from numalab.labs.seeds import SEEDS
from numalab.machines.machine import Machine
from numalab.toml_files.tables import Table

SEED = "seed"
Answer = TypeVar("Answer")


class BadAnswers(ValueError):
    """A file that can't be used; the message says why."""


@dataclass(frozen=True)
class SeededAnswers(Generic[Answer]):
    """The answers in a file."""

    seed: int  # of which the questions were drawn
    given: Mapping[str, Answer | None]  # the answers by key; None: there is none

    @property
    def are_none(self) -> bool:
        return not any(answer is not None for answer in self.given.values())


@dataclass(frozen=True)
class AnswerFile:
    """A kind of file with answers."""

    goal: str  # its name in lab.toml
    # Parses a file's text; the second argument is the seed that it must have, None: any. Raises
    # BadAnswers.
    read: Callable[[str, int | None], SeededAnswers[Any]]
    placeholder: str  # the name by which templates of variants have the correct answers
    correct_answers: Callable[[int], str]  # returns the correct ones of a seed, as lines of a file
    # Returns the machine that a seed's questions are about, which a grading boots; None: they are
    # about no machine.
    machine: Callable[[int], Machine] | None = None


_registered: dict[str, AnswerFile] = {}


def register(file: AnswerFile) -> None:
    """Add a kind of file with answers, in place of one with the same goal."""
    _registered[file.goal] = file


def answer_files() -> Mapping[str, AnswerFile]:
    """Import the labs' modules, and return the registered kinds of files with answers by goal,
    sorted."""
    lab_modules.load_all()
    return dict(sorted(_registered.items()))


def read_seed(table: Table, expected: int | None = None, topic: str = "") -> int:
    """Return the seed of a file with answers. expected: the seed that it has to have; None: any of
    SEEDS. topic: what the questions of that seed are about, for a message. Raises the table's error
    where it is missing or another one."""
    if SEED not in table:
        table.fail(f"'{SEED}' is missing; write {SEED} = {expected or 1234}, above the answers")
    seed = table.whole(SEED, SEEDS[0])
    if seed not in SEEDS:
        table.refuse(SEED, f"it can be {SEEDS[0]} to {SEEDS[-1]}")
    if expected is not None and seed != expected:
        table.refuse(
            SEED,
            f"yours is {expected}: write {SEED} = {expected}, and answer what is asked about "
            f"{topic}",
        )
    return seed
