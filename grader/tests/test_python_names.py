"""Visible names of the grader's Python are the field's words, and a class name means one thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from support.banned_names import complaints
from support.python_names import visible_names

from numalab.installation import find_installation
from numalab.labs.lab_modules import module_files

PACKAGE = find_installation("gnu").root / "grader" / "src" / "numalab"
NOT_YET = ("reports", "commands")  # rewritten as a whole, their names with them
# Names that are still to be changed: these numbers may only fall.
MOST_BANNED = 1147
MOST_TWINS = 24


def names() -> Iterator[tuple[str, str]]:
    files = [
        path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in NOT_YET
    ]
    for path in (*files, *module_files().values()):
        for kind, name, _ in visible_names(path):
            if not name.startswith("__"):
                yield kind, name


def test_names_are_the_fields_words() -> None:
    found = [name for _, name in names() if any(complaints(name))]
    assert len(found) <= MOST_BANNED, Counter(found).most_common(9)


def test_a_class_name_stands_for_one_thing() -> None:
    classes = Counter(name for kind, name in names() if kind == "class")
    assert sum(count > 1 for count in classes.values()) <= MOST_TWINS
