"""Choose hints for a user, and remember in a file which ones were read."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from numalab.errors import NumalabError, UserError
from numalab.files import read_json, write_json
from numalab.labs.declaration import Lab
from numalab.labs.hint_ladders import Ladder

# The number of the strongest hint that was read, by topic.
Levels = Mapping[str, int]
NO_LEVELS: Levels = MappingProxyType({})
NOT_KNOWN: Mapping[str, str] = MappingProxyType({})


def read_levels(store: Path) -> dict[str, dict[str, int]]:
    """Return the number of the strongest hint that was read, by lab and topic; empty where the file
    holds no JSON object. What is not of that form in it is left out."""
    data = read_json(store)
    if not isinstance(data, dict):
        return {}
    return {
        lab: {topic: level for topic, level in levels.items() if isinstance(level, int)}
        for lab, levels in data.items()
        if isinstance(levels, dict)
    }


def remember(store: Path, lab: Lab, ladder: Ladder, level: int) -> None:
    """Write to a file that a hint was read; the highest number that was read is kept. level: the
    hint's number in the ladder, from 1. Raises NumalabError where the file can't be written."""
    all_levels = read_levels(store)
    levels = all_levels.setdefault(lab.name, {})
    levels[ladder.topic] = max(level, levels.get(ladder.topic, 0))
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        write_json(store, all_levels)
    except OSError as error:
        raise NumalabError(f"can't write {store}: {error.strerror}") from error


def next_level(ladder: Ladder, levels: Levels) -> int:
    """Return the number of the hint after the one of the highest number that was read, at most the
    last one's."""
    return min(levels.get(ladder.topic, 0) + 1, len(ladder.levels))


def _has_more(ladder: Ladder, levels: Levels) -> bool:
    return levels.get(ladder.topic, 0) < len(ladder.levels)


def ladders_for(lab: Lab, criterion: str | None, began_in: str | None = None) -> list[Ladder]:
    """Return the ladders that help with a criterion; for the criterion None all ladders of the lab.

    began_in: function or array of the mistake. Ladders for just this are returned or, where there
    are none, those that help with all of the criterion. None or empty: it is not known; ladders
    that help with all of the criterion come first, then the others.
    """
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
    """Return the first ladder that helps with a criterion and has unread hints, else the first that
    helps; None: there is none. Arguments as for ladders_for; levels: hints that were read."""
    ladders = ladders_for(lab, criterion, began_in)
    unread = (ladder for ladder in ladders if _has_more(ladder, levels))
    return next(unread, next(iter(ladders), None))


def topics_of(lab: Lab) -> tuple[str, ...]:
    """Return the topics of a lab's ladders; empty where one ladder is for all, or there is none."""
    return tuple(ladder.topic for ladder in lab.hints if ladder.topic)


def find_ladder(
    lab: Lab, topic: str, began_in: Mapping[str, str] = NOT_KNOWN, levels: Levels = NO_LEVELS
) -> Ladder:
    """Return the ladder on a topic, or else the one that helps with a criterion. topic: either, or
    a path whose last part is one, with or without a suffix; began_in: function or array of the
    mistake, by criterion; levels: hints that were read. Raises UserError where there is no such
    ladder."""
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
    names = [name for ladder in lab.hints for name in (ladder.topic, *ladder.criteria)]
    near = difflib.get_close_matches(stem, names, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise UserError(
        f"lab {lab.name} has no hints on '{topic}'.{meant} There are hints on {', '.join(topics)}."
    )


def hint_command(
    lab: Lab, criterion: str | None, began_in: str = "", levels: Levels = NO_LEVELS
) -> str | None:
    """Return the command that prints a hint on a criterion, with arguments as for ladder_for; None:
    no ladder helps with it."""
    ladder = ladder_for(lab, criterion, began_in, levels)
    if ladder is None:
        return None
    return " ".join(word for word in ("./numalab hint", lab.called, ladder.topic) if word)


def is_exhausted(lab: Lab, criterion: str | None, levels: Levels, began_in: str = "") -> bool:
    """Tell whether all hints that help with a criterion were read; False where there are none.
    Arguments as for ladder_for."""
    ladders = ladders_for(lab, criterion, began_in)
    return bool(ladders) and not any(_has_more(ladder, levels) for ladder in ladders)
