"""The file in which a student answers questions that follow from a seed of his own: the part that
all such files share. Pure functions.

Its keys are the same for all seeds; what is drawn from the seed stands in the questions, not in the
file. An answer that is left out is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from numalab.labs.seeds import SEEDS
from numalab.toml_files.tables import Table

SEED = "seed"
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SeededAnswers(Generic[Answer]):
    """given: by key; None: no answer."""

    seed: int
    given: Mapping[str, Answer | None]

    @property
    def are_none(self) -> bool:
        return not any(answer is not None for answer in self.given.values())


def read_seed(table: Table, expected: int | None = None, about: str = "") -> int:
    """expected: the seed that it has to have, as a course may fix it; None: any. about: what it is
    the seed of. Raises the table's error."""
    if SEED not in table:
        table.fail(f"'{SEED}' is missing; write {SEED} = {expected or 1234}, above the answers")
    seed = table.whole(SEED, SEEDS[0])
    if seed not in SEEDS:
        table.wrong(SEED, f"it can be {SEEDS[0]} to {SEEDS[-1]}")
    if expected is not None and seed != expected:
        table.wrong(
            SEED,
            f"yours is {expected}: write {SEED} = {expected}, and answer what is asked about "
            f"{about}",
        )
    return seed
