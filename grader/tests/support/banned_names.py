"""Words that no visible name of numalab has, and what to say instead. One table for C and Python.
They are those of common/docs/glossary.md, which has the reasons and binds: a word without a place
there is not banned here (tests/test_glossary.py).

Visible: a module, a function, a type, a field, a parameter, a macro. A name that is stored or
handed in keeps its spelling; each test lists those that it lets pass, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

BANNED: Mapping[str, str] = {
    # Everyday words for a technical thing.
    "told": "reported, listed",
    "said": "reported",
    "seen": "observed",
    "found": "actual, detected, a noun",
    "look": "check, observe, snapshot",
    "looked": "checked, observed",
    "beside": "baseline, extra",
    "there": "remote, a noun",
    "one": "single, a noun",
    "wanted": "required, requested",
    "whose": "owner, identity",
    "asked": "required, requested",
    "pace": "rate, poll_rate",
    # Another word in the glossary.
    "here": "local, machine",
    "host": "machine",
    "box": "machine",
    "domain": "numa_node",
    "elsewhere": "vm",
    "socket": "package",
    "cpu": "pu",
    "sibling": "pu",
    "newcomer": "starting_code",
    "lightspeed": "reference_loop",
    "delivery": "hand_in",
    "item": "hand_in",
    "right": "passed, correct",
    "wrong": "failed, mismatch",
    "open": "undecided",
    "inconclusive": "undecided",
    "provisional": "undecided",
    "session": "run",
    "sample": "run, repetition",
    "generation": "round, replicate",
    "lives": "is_on",
    "sits": "is_on",
    "stands": "is_on",
    "teacher": "instructor",
    "staff": "instructor",
    "she": "student",
    "he": "student",
    "who": "student",
    "somebody": "student",
    "kit": "numalab",
    "we": "numalab",
    "stolen": "steal",
    "waiting": "runqueue_wait",
    "busy": "load, spinning",
    "meddling": "tampering",
    "strangers": "untrusted",
    "usher": "supervisor",
    "benefited": "retried",
}

# What a name doesn't begin with: what acts begins with a verb, and a value is a noun.
PREPOSITIONS = frozenset((
    "about", "above", "across", "after", "against", "along", "among", "around", "as", "at",
    "before", "behind", "below", "beneath", "beside", "between", "beyond", "by", "despite",
    "during", "for", "from", "in", "inside", "into", "like", "near", "of", "off", "on", "onto",
    "outside", "over", "per", "since", "through", "to", "toward", "under", "underneath",
    "until", "upon", "via", "with", "within", "without",
))  # fmt: skip


def words(name: str) -> list[str]:
    """Split an identifier (page_rearm, PAGE_REARM, PageRearm) into words in small letters."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def complaints(name: str) -> Iterator[str]:
    """Yield what is wrong with a visible name, a sentence each. A prefix `numalab` or `test` is no
    beginning. CPU time is Linux's word: cpu_time and cpu_s pass."""
    parts = [
        word
        for word, behind in pairwise([*words(name), ""])
        if not (word == "cpu" and behind in ("time", "s"))
    ]
    for word in parts:
        singular = word if word in BANNED else word.removesuffix("s")
        if singular in BANNED:
            yield f"{name}: not {word!r}; say {BANNED[singular]}"
    first = next((word for word in parts if word not in ("numalab", "test")), "")
    if first in PREPOSITIONS:
        yield f"{name}: begins with the preposition {first!r}; a verb or a noun does"
