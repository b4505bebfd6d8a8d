"""Put differences between configurations that survive repetition into sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numalab.explore.intervals import PairedComparison
from numalab.explore.wording import ratio_words
from numalab.words import count

MAX_NAMED = 2  # differences that are described one by one


@dataclass(frozen=True)
class Difference:
    """The difference between two configurations.

    Attributes:
        first, second: names of the two, such as static and dynamic.
        where: what they have in common, such as the number of threads.
        comparison: the ratio of first over second.
        verb: the words between first and second in a sentence, with {} for the ratio.
    """

    first: str
    second: str
    where: str
    comparison: PairedComparison
    verb: str = "took {} times as long as"

    @property
    def survives(self) -> bool:
        """Whether repetition leaves a difference; False also where there are too few rounds."""
        return self.comparison.survives == "yes"

    @property
    def size(self) -> float:
        """The median ratio or its inverse, whichever is 1 or more."""
        ratio = self.comparison.ratio.median
        return max(ratio, 1 / ratio)

    def sentence(self) -> str:
        ratio = self.comparison.ratio
        return (
            f"{self.where}: {self.first} {self.verb.format(f'{ratio.median:.2f}')} {self.second} "
            f"({ratio_words(ratio.low)} to {ratio_words(ratio.high)})"
        )


def survivors(differences: Sequence[Difference], subject: str) -> str:
    """Return sentences on the differences: how many survive, how many would by chance, and the
    largest; or on why that can't be said. subject: what is compared, as a plural."""
    if not differences:
        return f"No two {subject} have been measured in one round."
    if all(d.comparison.survives == "too_few_rounds" for d in differences):
        return f"Too few rounds to say anything about {subject}: a 95 % interval needs 6."
    decided = [d for d in differences if d.comparison.survives != "too_few_rounds"]
    by_chance = sum(1 - d.comparison.ratio.coverage for d in decided)
    left = sorted((d for d in decided if d.survives), key=lambda d: d.size, reverse=True)
    words = (
        f"Between {subject} {len(left)} of {count(len(decided), 'difference')} "
        f"survive{'s' if len(left) == 1 else ''} repetition; chance alone would let about "
        f"{by_chance:.1f} through."
    )
    if left:
        words += (
            (" The largest: " if len(left) > 1 else " It is: ")
            + "; ".join(d.sentence() for d in left[:MAX_NAMED])
            + "."
        )
    return words
