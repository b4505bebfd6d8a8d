"""Parse the file in which a student gives PUs and memory to two control groups, `job` and `others`.
Pure functions.

    [job]
    cpus = "node:2"
    mems = "0-1"
    partition = "member"

A set has numbers, as Linux takes them ("0-3,8"), and words (`all`, `node:2`, `node:first`,
`node:last`), with commas between them, and `but` before what is left out: "all but node:last".
Words mean PUs in `cpus` and NUMA nodes in `mems`, and only NUMA nodes that have PUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numalab.labs.goals import nodes_with_pus, pus_of_nodes
from numalab.machines.topology import Topology
from numalab.pu_lists import BadList, kernel_list, parse_pus
from numalab.toml_files.tables import Table, parse_table

GROUPS = ("job", "others")
KEYS = ("cpus", "mems", "partition")
PARTITIONS = ("member", "root", "isolated")

_LONGEST = 1_000  # characters of a set
_EXAMPLE = 'write [job], and below it cpus = "node:2"'
_WRITE = 'write "node:last", "all but node:0", or numbers such as "0-3,8"'
_NODE = re.compile(r"node\s*:\s*(first|last|\d{1,4})", re.ASCII)


class BadGroups(ValueError):
    """A file that can't be used, or has no meaning on a machine; the message says why."""


@dataclass(frozen=True)
class Term:
    """A term of a set, of which one field is given."""

    is_all: bool = False  # `all`
    node: str = ""  # what follows `node:`: a number, "first" or "last"
    numbers: tuple[int, ...] = ()  # numbers as Linux has them


@dataclass(frozen=True)
class NumberSet:
    """A set of PUs or NUMA nodes, as it was written."""

    terms: tuple[Term, ...]
    but: tuple[Term, ...]  # terms that are left out of the set


# What a file sets, by control group and key; keys that are left out are missing. A partition is one
# of PARTITIONS, other values are sets.
GroupFile = Mapping[str, Mapping[str, NumberSet | str]]


def read_group_file(text: str) -> GroupFile:
    """Parse the file's text. Raises BadGroups for a text that is no such file."""
    top = parse_table(text, "", BadGroups, GROUPS, _EXAMPLE)
    return {name: _group(top.table(name, KEYS)) for name in GROUPS}


def _group(table: Table) -> Mapping[str, NumberSet | str]:
    partition = table.maybe("partition", lambda key: table.choice(key, PARTITIONS))
    sets = {key: _set(table, key) for key in ("cpus", "mems") if key in table}
    return sets if partition is None else {**sets, "partition": partition}


def _set(table: Table, key: str) -> NumberSet:
    text = table.text(key).strip()
    if len(text) > _LONGEST:
        table.fail(f"'{key}' has more than {_LONGEST:,} characters; {_WRITE}", key)
    named, but, left_out = f" {text} ".partition(" but ")
    try:
        return NumberSet(tuple(_terms(named)), tuple(_terms(left_out)) if but else ())
    except BadList as error:
        table.refuse(key, f"{error}; {_WRITE}")


def _terms(text: str) -> Iterable[Term]:
    """Yield the terms of a text, which commas separate."""
    for part in text.split(","):
        word = part.strip()
        node = _NODE.fullmatch(word)
        if word == "all":
            yield Term(is_all=True)
        elif node is not None:
            yield Term(node=node[1])
        elif re.fullmatch(r"\d+(\s*-\s*\d+)?", word, re.ASCII):
            yield Term(numbers=parse_pus(word))
        else:
            raise BadList(f"'{word}' is no set" if word else "something is missing")


# ---- on a machine ---------------------------------------------------------------------------


def numbers_of(numbers: NumberSet, key: str, topology: Topology) -> frozenset[int]:
    """Return the numbers of a set: PUs for the key `cpus`, NUMA nodes for `mems`. Plain numbers are
    not checked against the machine. Raises BadGroups for `node:N` where the machine has no such
    NUMA node with PUs."""
    named = _union(numbers.terms, key, topology)
    return named - _union(numbers.but, key, topology)


def _union(terms: Sequence[Term], key: str, topology: Topology) -> frozenset[int]:
    return frozenset().union(*(_numbers(term, key, topology) for term in terms))


def _numbers(term: Term, key: str, topology: Topology) -> Iterable[int]:
    nodes = nodes_with_pus(topology)
    if term.numbers:
        return term.numbers
    if term.is_all:
        return nodes if key == "mems" else topology.numa_node
    number = {"first": nodes[0], "last": nodes[-1]}.get(term.node)
    number = int(term.node) if number is None else number
    if number not in nodes:
        raise BadGroups(
            f"node:{number} is no NUMA node of this machine, which has {_listed(nodes)}"
        )
    return [number] if key == "mems" else pus_of_nodes([number], topology)


def _listed(nodes: Sequence[int]) -> str:
    return f"node {nodes[0]} only" if len(nodes) == 1 else f"nodes {nodes[0]} to {nodes[-1]}"


def settings(groups: GroupFile, topology: Topology) -> list[tuple[str, str, str]]:
    """Return (group, key, value) of each setting, sets as lists of numbers. Raises BadGroups as
    numbers_of does."""
    return [
        (
            name,
            key,
            value if isinstance(value, str) else kernel_list(numbers_of(value, key, topology)),
        )
        for name, group in groups.items()
        for key, value in group.items()
    ]
