"""Parse placement files (.env), and numactl's words in policy files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from numalab.labs.declaration import NUMACTL
from numalab.pu_lists import BadList, parse_pus

_THREAD_COUNTS = (
    "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "KMP_ALL_THREADS",
    "KMP_DEVICE_THREAD_LIMIT", "KMP_TEAMS_THREAD_LIMIT", "OMP_NESTED", "OMP_MAX_ACTIVE_LEVELS",
)  # fmt: skip


_KNOWN = (
    "OMP_PLACES", "OMP_PROC_BIND", "KMP_AFFINITY", "KMP_HW_SUBSET", "GOMP_CPU_AFFINITY",
    "OMP_DISPLAY_AFFINITY", "OMP_AFFINITY_FORMAT", "OMP_SCHEDULE", "OMP_WAIT_POLICY",
    "OMP_STACKSIZE", "KMP_BLOCKTIME", *_THREAD_COUNTS,
)  # fmt: skip


# A second setting in a line. No value contains such a text.
_SETTING = re.compile(r"[\s;]((?:OMP|KMP|GOMP)_[A-Z_]+) *=")

LONGEST_VALUE = 16 << 10  # characters; a list of all PUs of the largest machine has half of that


class BadPlacement(ValueError):
    """A line or word that a placement or policy file can't have; the message says what is wrong."""


def read_placement(text: str, allowed: Sequence[str]) -> dict[str, str]:
    """Return the variables that a placement file sets, by name. allowed: names that it may set.
    Raises BadPlacement for a line that it can't have."""
    variables: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        key, equals, value = line.partition("=")
        key, value = key.strip(), value.strip()
        where = f"line {number}, `{line[:40]}`"
        if key.startswith(("export ", "set ")):
            raise BadPlacement(f"{where}: write KEY=VALUE alone, without {key.split()[0]}")
        if not equals:
            raise BadPlacement(f"{where}: it is not of the form KEY=VALUE")
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if key not in allowed:
            raise BadPlacement(f"{where}: {_refusal(key, allowed)}")
        second = _SETTING.search(value)
        if second:
            raise BadPlacement(
                f"{where}: {second[1]} is a second setting in the line; give it a line of its own"
            )
        if key in variables:
            raise BadPlacement(f"{where}: {key} is set twice")
        if not value.isprintable():
            raise BadPlacement(f"{where}: the value has a character that can't be printed")
        if len(value) > LONGEST_VALUE:
            raise BadPlacement(f"{where}: the value is longer than {LONGEST_VALUE:,} characters")
        variables[key] = value
    return variables


def _refusal(key: str, allowed: Sequence[str]) -> str:
    names = ", ".join(allowed)
    if key in _THREAD_COUNTS:
        return f"the kit sets the number of threads itself; take {key} out"
    if key in _KNOWN:
        return f"{key} has no place in this file; it can have {names}"
    near = difflib.get_close_matches(key.upper(), allowed, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"it can have {names}"
    return f"{key} is unknown here; {hint}"


# ---- words of numactl ----------------------------------------------------------------


MOST_NODES = 1024

# The monitor's names of policies, by numactl's options.
_NODE_POLICIES = {
    "--interleave": "interleave", "-i": "interleave",
    "--membind": "bind", "-m": "bind",
    "--preferred": "preferred", "-p": "preferred",
}  # fmt: skip
_ALONE = {"--localalloc": "local", "-l": "local"}
_THREAD_OPTIONS = ("--cpunodebind", "-N", "--physcpubind", "-C", "--all")
_POLICIES = ", ".join(word for word in (*_NODE_POLICIES, *_ALONE) if word.startswith("--"))


def memory_policy(variables: Mapping[str, str]) -> str:
    """Return the memory policy of a policy file as POLICY:NODES; "default:" where nothing is set.
    variables: those of the file. Raises BadPlacement for words that are not one policy for memory
    with its NUMA nodes."""
    text = variables.get(NUMACTL, "").strip()
    found = re.findall(r"\S+", text)
    if found and found[0] == "numactl":
        raise BadPlacement(f"`{text[:40]}`: write the words behind numactl alone")
    if not found:
        return "default:"
    word, equals, value = found[0].partition("=")
    rest = found[1:]
    if word in _NODE_POLICIES and not equals and rest:
        value, rest = rest[0], rest[1:]
    if word in _THREAD_OPTIONS:
        raise BadPlacement(f"{word} says where threads run; this file is about memory: {_POLICIES}")
    if word not in _NODE_POLICIES and word not in _ALONE:
        raise BadPlacement(f"`{word[:40]}` is no policy of numactl's; it can be {_POLICIES}")
    if rest:
        raise BadPlacement(f"`{rest[0][:40]}` is one word too many: a program has one policy")
    if word in _ALONE:
        if value:
            raise BadPlacement(f"{word} takes no NUMA nodes")
        return f"{_ALONE[word]}:"
    policy = _NODE_POLICIES[word]
    if not value:
        raise BadPlacement(f"{word} needs NUMA nodes behind it: {word}=0 or, not for one, all")
    if value == "all" and policy != "preferred":
        return f"{policy}:all"
    try:
        nodes = parse_pus(value, MOST_NODES)
    except BadList:
        several = "numbers and ranges such as 0,2-3, or all"
        hint = "one number" if policy == "preferred" else several
        raise BadPlacement(f"`{value[:40]}` are no NUMA nodes; write {hint}") from None
    if policy == "preferred" and len(nodes) != 1:
        raise BadPlacement(f"{word} takes one NUMA node")
    return f"{policy}:{','.join(map(str, nodes))}"
