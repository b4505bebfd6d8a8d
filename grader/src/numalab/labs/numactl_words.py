"""Words of numactl in a policy file: how the memory of a program is to be placed that can't be
changed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from numalab.labs.declaration import NUMACTL
from numalab.labs.placement import BadPlacement
from numalab.pu_lists import BadList, parse_pus

MOST_NODES = 1024

# Names of policies as the monitor takes them, by the words of numactl.
_WITH_NODES = {
    "--interleave": "interleave", "-i": "interleave",
    "--membind": "bind", "-m": "bind",
    "--preferred": "preferred", "-p": "preferred",
}  # fmt: skip
_ALONE = {"--localalloc": "local", "-l": "local"}
_OF_THREADS = ("--cpunodebind", "-N", "--physcpubind", "-C", "--all")
_KNOWN = ", ".join(word for word in (*_WITH_NODES, *_ALONE) if word.startswith("--"))


def memory_policy(variables: Mapping[str, str]) -> str:
    """POLICY:NODES, as the monitor takes it on; "default:" where nothing is set. Raises
    BadPlacement."""
    text = variables.get(NUMACTL, "").strip()
    found = re.findall(r"\S+", text)
    if found and found[0] == "numactl":
        raise BadPlacement(f"`{text[:40]}`: write the words behind numactl alone")
    if not found:
        return "default:"
    word, equals, value = found[0].partition("=")
    rest = found[1:]
    if word in _WITH_NODES and not equals and rest:
        value, rest = rest[0], rest[1:]
    if word in _OF_THREADS:
        raise BadPlacement(f"{word} says where threads run; this file is about memory: {_KNOWN}")
    if word not in _WITH_NODES and word not in _ALONE:
        raise BadPlacement(f"`{word[:40]}` is no policy of numactl's; it can be {_KNOWN}")
    if rest:
        raise BadPlacement(f"`{rest[0][:40]}` is one word too many: a program has one policy")
    if word in _ALONE:
        if value:
            raise BadPlacement(f"{word} takes no NUMA nodes")
        return f"{_ALONE[word]}:"
    policy = _WITH_NODES[word]
    if not value:
        raise BadPlacement(f"{word} needs NUMA nodes behind it: {word}=0 or, not for one, all")
    if value == "all" and policy != "preferred":
        return f"{policy}:all"
    try:
        nodes = parse_pus(value, MOST_NODES)
    except BadList:
        raise BadPlacement(
            f"`{value[:40]}` are no NUMA nodes; write numbers and ranges such as 0,2-3, or all"
        ) from None
    if policy == "preferred" and len(nodes) != 1:
        raise BadPlacement(f"{word} takes one NUMA node")
    return f"{policy}:{','.join(map(str, nodes))}"
