"""Words of numactl in a policy file."""

from __future__ import annotations

import pytest

from numalab.labs.placement import BadPlacement, memory_policy


@pytest.mark.parametrize(
    ("words", "policy"),
    [
        ("", "default:"),
        ("--interleave=all", "interleave:all"),
        ("--interleave all", "interleave:all"),
        ("-i 0-1,3", "interleave:0,1,3"),
        ("--membind=1", "bind:1"),
        ("-m all", "bind:all"),
        ("--preferred=1", "preferred:1"),
        ("--localalloc", "local:"),
        ("-l", "local:"),
        ("-p 3", "preferred:3"),
        ("  --membind   0,2 ", "bind:0,2"),
        ("-i 1023", "interleave:1023"),
    ],
)
def test_words_of_a_policy(words: str, policy: str) -> None:
    assert memory_policy({"NUMACTL": words}) == policy


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("numactl --interleave=all", "without|behind numactl alone"),
        ("--cpunodebind=0", "says where threads run"),
        ("--interlave=all", "no policy of numactl's"),
        ("--interleave", "needs NUMA nodes"),
        ("--interleave=", "needs NUMA nodes"),
        ("--interleave=a", "are no NUMA nodes"),
        ("--interleave=0-99999999", "are no NUMA nodes"),
        ("--preferred=all", "are no NUMA nodes"),
        ("--preferred=0,1", "takes one NUMA node"),
        ("--localalloc=0", "takes no NUMA nodes"),
        ("--interleave=all --membind=0", "one word too many"),
        ("all", "no policy of numactl's"),
        ("numactl", "behind numactl alone"),
        ("-C 0", "says where threads run"),
        ("--membind= 1", "`1` is one word too many"),
        ("--membind 0 1", "`1` is one word too many"),
        ("--membind", "--membind=0"),
        ("--localalloc 0", "`0` is one word too many"),
        ("-i 1024", "`1024` are no NUMA nodes"),
        ("-p all", "are no NUMA nodes"),
        ("x 1", "`x` is no policy of numactl's; it can be --interleave, --membind, --preferred"),
    ],
)
def test_words_that_are_none(words: str, said: str) -> None:
    with pytest.raises(BadPlacement, match=said):
        memory_policy({"NUMACTL": words})


def test_nothing_set_is_the_default() -> None:
    assert memory_policy({}) == "default:"
