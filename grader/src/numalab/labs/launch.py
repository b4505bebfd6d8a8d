"""Launch policies, and the plan of ranks that a policy means on a machine.

A policy (launch.toml) says by units of the topology how many ranks there are, how many threads each
has, and what a rank is bound to. It names no PU numbers, which would hold on one machine only.
`plan` applies it to the PUs of one machine. Pure functions.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numalab.errors import UserError
from numalab.machines.topology import Pus, Topology, units_of
from numalab.pu_lists import format_pus
from numalab.toml_files.tables import Table, parse_table, toml_value
from numalab.words import count as _many

UNITS = ("machine", "package", "numa_node", "core", "pu")
THREAD_UNITS = ("core", "pu")
BINDINGS = ("none", "package", "numa_node", "core", "pu")
POLICY_KEYS = ("ranks", "threads", "bind_to", "map_by")
LARGEST_NUMBER = 100_000

# Other tools' words for units.
_SYNONYMS = {
    "socket": "package", "cpu": "pu", "hwthread": "pu", "thread": "pu", "hyperthread": "pu",
    "processor": "pu", "numa": "numa_node", "numa_domain": "numa_node", "ldom": "numa_node",
    "domain": "numa_node", "board": "machine", "host": "machine", "all": "machine",
}  # fmt: skip
_WORDS = {
    "machine": ("machine", "machines"),
    "package": ("package", "packages"),
    "numa_node": ("NUMA node", "NUMA nodes"),
    "core": ("core", "cores"),
    "pu": ("PU", "PUs"),
}


class BadPolicy(UserError):
    """A policy that can't be read, or has no meaning on a machine; the message says why."""


# ---- reading -------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitCount:
    """An amount: as many as there are units of a kind."""

    unit: str


@dataclass(frozen=True)
class RuntimeDefault:
    """As many threads as OpenMP starts by default: one for each PU that the rank may use, whether
    or not other ranks use it, too."""


@dataclass(frozen=True)
class Policy:
    """A launch policy."""

    ranks: int | UnitCount  # a number, or one per unit
    # Of each rank: a number, one per unit that the rank has, or OpenMP's default.
    threads: int | UnitCount | RuntimeDefault
    bind_to: str  # the unit that a rank is bound to, one of BINDINGS
    # The unit over which ranks are dealt out in turn, one of UNITS; not used if bind_to is "none".
    map_by: str


def parse_policy(text: str, name: str) -> Policy:
    """Parse a policy. name: of its file, for messages. Raises BadPolicy for a mistake in it."""
    example = 'a line looks like ranks = 2 or bind_to = "core", with names in quotes'
    return read_policy(parse_table(text, name, BadPolicy, None, example))


def read_policy(table: Table) -> Policy:
    """Read a policy from a table with the keys of a policy file. Raises the table's error for a
    mistake in it."""
    for key, value in table.values.items():
        if key not in POLICY_KEYS and _is_pu_list(value):
            keys = f"The keys are: {', '.join(POLICY_KEYS)}"
            table.fail(f"'{key}' has PU numbers; {_NO_NUMBERS}. {keys}", key)
    table.check_keys(POLICY_KEYS)
    if "ranks" not in table:
        table.fail(
            "it does not say how many ranks there are; write "
            'ranks = { one_per = "numa_node" }, or a number'
        )
    ranks = _amount(table, "ranks", UNITS)
    threads: int | UnitCount | RuntimeDefault = RuntimeDefault()
    if "threads" not in table:
        threads = 1
    elif table.values["threads"] != "default":
        threads = _amount(table, "threads", THREAD_UNITS)
    bind_to = _default_binding(ranks)
    if "bind_to" in table:
        bind_to = _unit(table, "bind_to", BINDINGS)
    if "map_by" not in table:
        return Policy(ranks, threads, bind_to, "machine" if bind_to == "none" else bind_to)
    map_by = _unit(table, "map_by", UNITS)
    if bind_to == "none":
        table.fail(
            "map_by says where the next rank is bound, but no rank is bound here; "
            'write what to bind to as well, such as bind_to = "core", or take map_by out',
            "map_by",
        )
    return Policy(ranks, threads, bind_to, map_by)


def _default_binding(ranks: int | UnitCount) -> str:
    """Return what ranks are bound to by default: the unit of which each has a rank; "none" for a
    plain number of ranks, or one per machine."""
    if isinstance(ranks, UnitCount) and ranks.unit != "machine":
        return ranks.unit
    return "none"


_NO_NUMBERS = "they hold on one machine only, so name a unit of the topology instead"


def _is_pu_list(value: Any) -> bool:
    if isinstance(value, list):
        return True
    return isinstance(value, str) and bool(
        re.fullmatch(r"(user:)?\s*\d[\d\s]*[-,+:][-\d\s,+:]*|user:.*|0x[0-9a-fA-F,]+", value)
    )


def _amount(table: Table, key: str, units: Sequence[str]) -> int | UnitCount:
    value = table.values[key]
    example = f'{key} = {{ one_per = "{"core" if key == "threads" else "numa_node"}" }}'
    if _is_pu_list(value):
        table.fail(f"'{key}' is a list of PUs; {_NO_NUMBERS}: {example}", key)
    if isinstance(value, dict):
        for unknown in value:
            if unknown != "one_per":
                table.fail(f"'{key}' has a key '{unknown}'; write {example}", key, unknown)
        if not value:
            table.fail(f"'{key}' is empty; write {example}, or a number", key)
        return UnitCount(_unit(table.table(key, ("one_per",)), "one_per", units, f"{key}.one_per"))
    if isinstance(value, str):
        hint = f"the number without quotes: {key} = {value}" if value.isdecimal() else example
        table.fail(f"'{key}' is the text '{value}'; write {hint}", key)
    if not isinstance(value, int) or isinstance(value, bool):
        table.refuse(key, f"write a whole number, or {example}")
    number = table.whole(key, 1)
    if number > LARGEST_NUMBER:
        table.fail(f"'{key}' is {number}; it can't be above {LARGEST_NUMBER}", key)
    return number


def _unit(table: Table, key: str, units: Sequence[str], name: str = "") -> str:
    """Return the unit that a key of a table names. name: what messages call the key; empty: by
    itself."""
    value, name = table.values[key], name or key
    names = ", ".join(units)
    if _is_pu_list(value) or (isinstance(value, int) and not isinstance(value, bool)):
        table.fail(f"'{name}' has PU numbers; {_NO_NUMBERS}: {names}", key)
    if not isinstance(value, str):
        said = toml_value(value)
        table.fail(f"'{name}' is {said}; write one of these in quotes: {names}", key)
    if value not in units:
        table.fail(f"{name} = {value!r}: {_refusal(value, name, units)}", key)
    return value


def _refusal(value: str, key: str, units: Sequence[str]) -> str:
    names = ", ".join(units)
    plain = re.sub(r"[\s-]+", "_", value.strip().lower())
    word = plain.removesuffix("s")
    meant = _SYNONYMS.get(word, word)
    if meant == "node":
        return f"a NUMA node is numa_node here, and the whole computer machine. It can be: {names}"
    if meant == "machine" and key == "bind_to":
        return 'a rank that may run on the whole machine is not bound: write "none"'
    if meant in UNITS and meant not in units:
        return f"{_WORDS[meant][0]} can't stand here, only a core or a PU. It can be: {names}"
    near = difflib.get_close_matches(meant, units, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}? " if near else "there is no such unit. "
    return f"{hint}It can be: {names}"


# ---- the plan ------------------------------------------------------------------------


@dataclass(frozen=True)
class RankPlan:
    """What a policy means on one machine."""

    # policy, topology: that it was made from.
    policy: Policy
    topology: Topology
    ranks: tuple[Pus, ...]  # the PUs that each rank may use
    threads: int  # of each rank
    # OMP_PLACES of each rank; None: its threads are not bound, since ranks are not, or share PUs.
    places: str | None
    notes: tuple[str, ...]  # sentences for the user

    @property
    def is_bound(self) -> bool:
        return self.policy.bind_to != "none"

    @property
    def environment(self) -> dict[str, str]:
        """Return OpenMP's variables, by name. They are the same for all ranks, since OpenMP counts
        abstract places within a rank's PUs."""
        count = {"OMP_NUM_THREADS": str(self.threads)}
        if self.places is None:
            return count | {"OMP_PROC_BIND": "false"}
        return count | {"OMP_PLACES": self.places, "OMP_PROC_BIND": "spread"}


def plan(policy: Policy, topology: Topology) -> RankPlan:
    """Return what a policy means on a machine. Raises BadPolicy where it has no meaning there."""
    count = policy.ranks
    if isinstance(count, UnitCount):
        count = len(units_of(topology, count.unit))
    is_bound = policy.bind_to != "none"
    if is_bound:
        ranks = _bound_ranks(count, policy, topology)
    else:
        ranks = (tuple(pu.number for pu in topology.pus),) * count
    sharing = Counter(ranks)
    threads = _threads(policy, ranks, sharing, topology)
    notes = []
    places = None
    if is_bound and max(sharing.values()) == 1:
        cores = min(_cores(pus, topology) for pus in ranks)
        by_pu = policy.threads == UnitCount("pu") or threads > cores
        places = "threads" if by_pu else "cores"
    elif is_bound and threads > 1:
        notes.append(
            f"Several ranks share a {_WORDS[policy.bind_to][0]}, so their threads are not "
            "pinned inside it."
        )
    if count * threads > len(topology.pus):
        notes.append(
            f"{_many(count, 'rank')} of {_many(threads, 'thread')} take turns on "
            f"{_many(len(topology.pus), 'PU')}; waiting ranks will slow the others down."
        )
    return RankPlan(policy, topology, ranks, threads, places, tuple(notes))


def _bound_ranks(count: int, policy: Policy, topology: Topology) -> tuple[Pus, ...]:
    """Return the PUs of each rank. Each gets the next unit of map_by, and in that the next unit of
    bind_to, or where none lies in it the one with its first PU."""
    targets = units_of(topology, policy.bind_to)
    arounds = units_of(topology, policy.map_by)
    around_of = {pu: index for index, around in enumerate(arounds) for pu in around}
    target_of = {pu: target for target in targets for pu in target}
    choices: list[list[Pus]] = [[] for _ in arounds]
    for target in targets:
        owners = {around_of[pu] for pu in target}
        if len(owners) == 1:
            choices[owners.pop()].append(target)
    for around, inside in zip(arounds, choices, strict=True):
        if not inside:
            inside.append(target_of[around[0]])
    ranks = []
    for rank in range(count):
        mine = choices[rank % len(choices)]
        ranks.append(mine[rank // len(choices) % len(mine)])
    if policy.bind_to in THREAD_UNITS and len(set(ranks)) < count:
        one, several = _WORDS[policy.bind_to]
        if count <= len(targets):
            raise BadPolicy(
                f'map_by = "{policy.map_by}" puts several of {_many(count, "rank")} on one {one}, '
                f'though this machine has {len(targets)}. Write map_by = "{policy.bind_to}"'
            )
        raise BadPolicy(
            f"{_many(count, 'rank')} can't be bound to a {one} of their own: this machine has "
            f"{len(targets)} {one if len(targets) == 1 else several}. Take at most "
            f'{_many(len(targets), "rank")}, or bind_to = "none", with which they take turns'
        )
    return tuple(ranks)


def _threads(
    policy: Policy, ranks: Sequence[Pus], sharing: Counter[Pus], topology: Topology
) -> int:
    """Return the number of threads of a rank, the same for all. With one per core or PU, ranks that
    have the same PUs share those equally. sharing: how many ranks have the same PUs."""
    required = policy.threads
    if isinstance(required, RuntimeDefault):
        sizes = {len(pus) for pus in ranks}
        if len(sizes) > 1:
            raise BadPolicy(
                'threads = "default" gives ranks unequal numbers of threads, and a launcher starts '
                "all ranks alike. Write threads as a number"
            )
        return sizes.pop()
    what = f"a {_WORDS[policy.bind_to][0]}" if policy.bind_to != "none" else "the machine"
    if isinstance(required, int):
        for pus, count in sharing.items():
            if policy.bind_to != "none" and count * required > len(pus):
                raise BadPolicy(
                    f"{_many(count, 'rank')} of {_many(required, 'thread')} can't be bound to "
                    f"{what} "
                    f"of {_many(len(pus), 'PU')}. Take fewer threads or fewer ranks, or bind them "
                    'to a larger unit; with bind_to = "none" they take turns'
                )
        return required
    singular, plural = _WORDS[required.unit]
    ranks_with: dict[int, int] = {}  # threads of a rank: for how many ranks
    for pus, count in sharing.items():
        size = _cores(pus, topology) if required.unit == "core" else len(pus)
        if size % count:
            offered = f"{size} {singular if size == 1 else plural}"
            raise BadPolicy(
                f"{_many(count, 'rank')} share {what} of {offered}, and {offered} can't be shared "
                f"out equally. {_divisors(size)}, or write threads as a number"
            )
        ranks_with[size // count] = ranks_with.get(size // count, 0) + count
    if len(ranks_with) > 1:
        listed = " and ".join(f"{ranks} with {each}" for each, ranks in sorted(ranks_with.items()))
        raise BadPolicy(
            f"threads = one per {singular} gives ranks unequal numbers of threads ({listed}), and "
            "a launcher starts all ranks alike. Take a number of ranks that fills all units of "
            "bind_to equally, or write threads as a number"
        )
    return next(iter(ranks_with))


def _divisors(size: int) -> str:
    fitting = [str(n) for n in range(1, size + 1) if size % n == 0]
    return f"Take {' or '.join(fitting[-4:])} of them for each" if len(fitting) > 1 else "Take 1"


def _cores(pus: Pus, topology: Topology) -> int:
    return len({topology.core[pu] for pu in pus})


# ---- text ----------------------------------------------------------------------------

LISTED_RANKS = 8


def summary(plan: RankPlan) -> list[str]:
    """Return lines that describe a plan: the numbers of ranks and threads, if ranks are bound the
    PUs of the first LISTED_RANKS, and notes."""
    count = len(plan.ranks)
    each = "each with " if count > 1 else "with "
    lines = [f"{_many(count, 'rank')}, {each}{_many(plan.threads, 'thread')}"]
    if not plan.is_bound:
        return [f"{lines[0]}, not bound", *plan.notes]
    for number, pus in enumerate(plan.ranks[:LISTED_RANKS]):
        lines.append(f"rank {number}: {_units_holding(pus, plan.topology)}")
    if count > LISTED_RANKS:
        lines.append(f"... and {_many(count - LISTED_RANKS, 'rank')} more")
    return [*lines, *plan.notes]


def _units_holding(pus: Pus, topology: Topology) -> str:
    nodes = sorted({topology.numa_node[pu] for pu in pus})
    packages = sorted({topology.package[pu] for pu in pus})
    listed = ", ".join(map(str, nodes))
    return (
        f"package {', '.join(map(str, packages))}, "
        f"NUMA node{'' if len(nodes) == 1 else 's'} {listed}, "
        f"PU{'' if len(pus) == 1 else 's'} {format_pus(sorted(pus))}"
    )
