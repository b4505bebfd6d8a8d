"""Which hints a learner has seen, kept in one small file of her copy of the kit."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from numalab.declaration import Lab
from numalab.errors import KitError, UserError
from numalab.files import read_json, write_json
from numalab.hint_ladders import Ladder

# The strongest hint that was seen, of each topic.
Levels = Mapping[str, int]
NONE_SEEN: Levels = MappingProxyType({})


def seen_hints(store: Path) -> dict[str, dict[str, int]]:
    """By lab; nothing where there is no such file, or it can't be read."""
    data = read_json(store)
    if not isinstance(data, dict):
        return {}
    return {
        lab: {topic: level for topic, level in levels.items() if isinstance(level, int)}
        for lab, levels in data.items()
        if isinstance(levels, dict)
    }


def remember(store: Path, lab: Lab, ladder: Ladder, level: int) -> None:
    """A weaker hint that is read again changes nothing. Raises KitError."""
    seen = seen_hints(store)
    levels = seen.setdefault(lab.name, {})
    levels[ladder.topic] = max(level, levels.get(ladder.topic, 0))
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        write_json(store, seen)
    except OSError as error:
        raise KitError(f"can't write {store}: {error.strerror}") from error


def next_level(ladder: Ladder, seen: Levels) -> int:
    """The hint after the strongest one seen; the strongest stays the last."""
    return min(seen.get(ladder.topic, 0) + 1, len(ladder.levels))


def ladder_for(lab: Lab, criterion: str | None) -> Ladder | None:
    """The ladder that helps with a criterion, the first of the lab where it is not said which;
    None: there is none."""
    found = (one for one in lab.hints if criterion is None or criterion in one.criteria)
    return next(found, None)


def topics_of(lab: Lab) -> tuple[str, ...]:
    """The names of the lab's ladders; none where there is one for all."""
    return tuple(ladder.topic for ladder in lab.hints if ladder.topic)


def find_ladder(lab: Lab, topic: str) -> Ladder:
    """By the topic's name, a file's or a criterion's. Raises UserError."""
    wanted = topic.rstrip("/").rsplit("/", 1)[-1]
    stem = wanted.split(".")[0]
    topics = topics_of(lab)
    for ladder in lab.hints:
        if ladder.topic in (wanted, stem):
            return ladder
    helped = ladder_for(lab, stem)
    if helped is not None:
        return helped
    if not topics:
        raise UserError(f"lab {lab.name} has one ladder of hints for all: leave out '{topic}'")
    near = difflib.get_close_matches(stem, _names(lab.hints), n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise UserError(
        f"lab {lab.name} has no hints on '{topic}'.{meant} There are hints on {', '.join(topics)}."
    )


def _names(ladders: Sequence[Ladder]) -> list[str]:
    return [name for ladder in ladders for name in (ladder.topic, *ladder.criteria)]


def hint_command(lab: Lab, criterion: str | None) -> str | None:
    """The command whose hint fits a criterion; None: the lab has none."""
    ladder = ladder_for(lab, criterion)
    if ladder is None:
        return None
    return " ".join(word for word in ("./numalab hint", lab.number, ladder.topic) if word)


def is_exhausted(lab: Lab, criterion: str | None, seen: Levels) -> bool:
    """Whether the strongest hint on a criterion was seen, so that another call shows it again."""
    ladder = ladder_for(lab, criterion)
    return ladder is not None and seen.get(ladder.topic, 0) >= len(ladder.levels)
