"""Which hints a learner has seen, kept in one small file of her copy of the kit."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from numalab.errors import NumalabError, UserError
from numalab.files import read_json, write_json
from numalab.labs.declaration import Lab
from numalab.labs.hint_ladders import Ladder

# The strongest hint that was seen, of each topic.
Levels = Mapping[str, int]
NO_LEVELS: Levels = MappingProxyType({})
NOT_KNOWN: Mapping[str, str] = MappingProxyType({})


def read_levels(store: Path) -> dict[str, dict[str, int]]:
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
    """A weaker hint that is read again changes nothing. Raises NumalabError."""
    all_levels = read_levels(store)
    levels = all_levels.setdefault(lab.name, {})
    levels[ladder.topic] = max(level, levels.get(ladder.topic, 0))
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        write_json(store, all_levels)
    except OSError as error:
        raise NumalabError(f"can't write {store}: {error.strerror}") from error


def next_level(ladder: Ladder, levels: Levels) -> int:
    """The hint after the strongest one seen; the strongest stays the last."""
    return min(levels.get(ladder.topic, 0) + 1, len(ladder.levels))


def _has_more(ladder: Ladder, levels: Levels) -> bool:
    return levels.get(ladder.topic, 0) < len(ladder.levels)


def ladders_for(lab: Lab, criterion: str | None, began_in: str | None = None) -> list[Ladder]:
    """The ladders that help with a criterion, of all where it is not said which. began_in: as of
    a criterion's verdict; one that is on this goes before all others."""
    if criterion is None:
        return list(lab.hints)
    helping = [ladder for ladder in lab.hints if criterion in ladder.criteria]
    on_this = [ladder for ladder in helping if (criterion, began_in) in ladder.only]
    on_all = [ladder for ladder in helping if ladder.helps_with_all_of(criterion)]
    if began_in:
        return on_this or on_all
    return [*on_all, *(ladder for ladder in helping if ladder not in on_all)]


def ladder_for(
    lab: Lab, criterion: str | None, began_in: str | None = None, levels: Levels = NO_LEVELS
) -> Ladder | None:
    """Of those the first that has more to say; where none has, the first. None: there is
    none."""
    ladders = ladders_for(lab, criterion, began_in)
    unread = (ladder for ladder in ladders if _has_more(ladder, levels))
    return next(unread, next(iter(ladders), None))


def topics_of(lab: Lab) -> tuple[str, ...]:
    """The names of the lab's ladders; none where there is one for all."""
    return tuple(ladder.topic for ladder in lab.hints if ladder.topic)


def find_ladder(
    lab: Lab, topic: str, began_in: Mapping[str, str] = NOT_KNOWN, levels: Levels = NO_LEVELS
) -> Ladder:
    """By the topic's name, a file's or a criterion's. began_in: by criterion. Raises UserError."""
    name = topic.rstrip("/").rpartition("/")[2]
    stem = name.split(".")[0]
    topics = topics_of(lab)
    for ladder in lab.hints:
        if ladder.topic in (name, stem):
            return ladder
    helped = ladder_for(lab, stem, began_in.get(stem), levels)
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


def hint_command(
    lab: Lab, criterion: str | None, began_in: str = "", levels: Levels = NO_LEVELS
) -> str | None:
    """The command whose hint fits a criterion, as ladder_for; None: the lab has none."""
    ladder = ladder_for(lab, criterion, began_in, levels)
    if ladder is None:
        return None
    return " ".join(word for word in ("./numalab hint", lab.called, ladder.topic) if word)


def is_exhausted(lab: Lab, criterion: str | None, levels: Levels, began_in: str = "") -> bool:
    """Whether all hints that help with a criterion were seen, so that another call shows the
    strongest again."""
    ladders = ladders_for(lab, criterion, began_in)
    return bool(ladders) and not any(_has_more(ladder, levels) for ladder in ladders)
