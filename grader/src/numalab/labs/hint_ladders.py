"""Parse hints.md, the hints of a lab: a ladder for each of its tasks.

The heading of a task's ladder, `# TOPIC: CRITERION, CRITERION`, names the criteria that the ladder
helps with; without them, it helps with the criterion that has the topic's name. A line of `---`
separates two hints. `CRITERION[NAME]` is for a mistake in the function or array NAME. A file
without a heading is one ladder for all criteria. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

HINTS = "hints.md"  # in a lab's grading/
# A line of C in a hint must not begin with # and a blank.
_HELPED = r"\w+(?:\[\w+\])?"
_HEADING = re.compile(rf"^# +(?P<topic>\w+) *(?:: *(?P<helped>{_HELPED}(?: *, *{_HELPED})*) *)?$")
_NEXT = re.compile(r"^---\s*$", re.MULTILINE)


class BadHints(ValueError):
    """A mistake in hints.md; the message says what is wrong."""


@dataclass(frozen=True)
class Ladder:
    """The hints on one task."""

    topic: str  # the task's name; "" where a lab has one ladder for all
    criteria: tuple[str, ...]  # the names of those that it helps with
    levels: tuple[str, ...]  # the hints, each stronger than the one before
    # Criterion and name, where it helps only with mistakes in this function or array.
    only: tuple[tuple[str, str], ...] = ()

    def helps_with_all_of(self, criterion: str) -> bool:
        """Tell whether it helps with a criterion, whatever function or array the mistake is in."""
        return criterion in self.criteria and all(name != criterion for name, _ in self.only)


def _ladder(topic: str, helped: Sequence[str], text: str) -> Ladder:
    parts = [name.rstrip("]").partition("[") for name in helped]
    levels = tuple(part.strip() for part in _NEXT.split(text))
    if not all(levels):
        raise BadHints(f"{topic or 'the ladder'} has an empty hint")
    return Ladder(
        topic,
        tuple(name for name, _, _ in parts),
        levels,
        tuple((name, began_in) for name, _, began_in in parts if began_in),
    )


def parse_ladders(text: str, criteria: Collection[str]) -> tuple[Ladder, ...]:
    """Parse the text of hints.md; an empty one has no ladders. criteria: names of all of the lab's,
    each of which needs a ladder that helps with all of it. Raises BadHints where one has none, and
    for a text of another form."""
    if not text.strip():
        return ()
    if not re.search(r"^# ", text, re.MULTILINE):
        return (_ladder("", tuple(criteria), text),)
    before, *parts = re.split(r"^(?=# )", text, flags=re.MULTILINE)
    if before.strip():
        raise BadHints("there is text before the first heading")
    ladders: dict[str, Ladder] = {}
    for part in parts:
        heading, _, hints = part.partition("\n")
        match = _HEADING.match(heading)
        if match is None:
            raise BadHints(f"`{heading}` is not of the form `# TOPIC: CRITERION, CRITERION`")
        topic = match["topic"]
        ladder = _ladder(topic, re.split(r" *, *", match["helped"] or topic), hints)
        unknown = [name for name in ladder.criteria if name not in criteria]
        if unknown:
            raise BadHints(f"{topic} is for {unknown[0]}, and the lab has no such criterion")
        if topic in ladders:
            raise BadHints(f"there are two ladders for {topic}")
        ladders[topic] = ladder
    helped_with = {
        name
        for ladder in ladders.values()
        for name in ladder.criteria
        if ladder.helps_with_all_of(name)
    }
    left = [name for name in criteria if name not in helped_with]
    if left:
        raise BadHints(f"no ladder helps with {left[0]}")
    return tuple(ladders.values())
