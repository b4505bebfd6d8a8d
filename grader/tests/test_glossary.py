"""The glossary and the words that tests ban in names are the same."""

from __future__ import annotations

import re

from support.banned_names import BANNED

from numalab.installation import find_installation

GLOSSARY = find_installation("gnu").root / "common/docs/glossary.md"


def other_words() -> list[str]:
    """Return the third column of the first table: what is not said, a cell each."""
    table = GLOSSARY.read_text("utf-8").split("| say |")[1].split("\n\n")[0]
    cells = [row.split("|")[3].lower() for row in table.splitlines()[2:]]
    assert len(cells) >= 30
    return cells


def listed() -> tuple[set[str], set[str]]:
    """Return the words that pass, and the banned ones that are no other word for something."""
    passing, banned = re.findall(r"^> (.+)$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    return set(passing.split(", ")), set(banned.split(", "))


def test_a_banned_word_has_its_place_in_the_glossary() -> None:
    passing, banned = listed()
    known = {word for cell in other_words() for word in re.findall(r"[a-z]+", cell)} | banned
    assert set(BANNED) <= known
    assert not passing & set(BANNED)


def test_a_word_that_the_glossary_bans_is_banned() -> None:
    passing, banned = listed()
    phrases = [re.sub(r"\(.*?\)", "", cell).split(",") for cell in other_words()]
    alone = {phrase.strip() for cell in phrases for phrase in cell}
    alone = {phrase for phrase in alone if re.fullmatch("[a-z]+", phrase)}
    assert passing <= alone
    assert banned | (alone - passing) <= set(BANNED)
