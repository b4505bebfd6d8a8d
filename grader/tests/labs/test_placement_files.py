"""Placement files, and where a kernel or a policy is to place memory."""

from __future__ import annotations

import re

import pytest

from numalab.labs.goals import LAB_PLACING, NODES, OWNERS, POLICY_NODES, PlacingGoal
from numalab.labs.placement import LONGEST_VALUE, BadPlacement, read_placement

OMP = ("OMP_PLACES", "OMP_PROC_BIND")


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", {}),
        ("# OMP_PLACES=cores\n\n   \n", {}),
        (" OMP_PLACES =  cores  \n", {"OMP_PLACES": "cores"}),
        ("OMP_PROC_BIND=close\nOMP_PLACES={0}", {"OMP_PROC_BIND": "close", "OMP_PLACES": "{0}"}),
        ('OMP_PLACES="{0},{1}"', {"OMP_PLACES": "{0},{1}"}),
        ("OMP_PLACES=' {0} '", {"OMP_PLACES": " {0} "}),
        ('OMP_PLACES=""', {"OMP_PLACES": ""}),
        ("OMP_PLACES=", {"OMP_PLACES": ""}),
        ('OMP_PLACES="', {"OMP_PLACES": '"'}),
        ("OMP_PLACES='cores\"", {"OMP_PLACES": "'cores\""}),
        ("OMP_PLACES='cores", {"OMP_PLACES": "'cores"}),
        ("OMP_PLACES=coresc", {"OMP_PLACES": "coresc"}),
        ("OMP_PLACES=a=b", {"OMP_PLACES": "a=b"}),
        ("OMP_PLACES=#1", {"OMP_PLACES": "#1"}),
        (f"OMP_PLACES={'1' * LONGEST_VALUE}", {"OMP_PLACES": "1" * 16_384}),
    ],
)
def test_variables_of_a_file(text: str, variables: dict[str, str]) -> None:
    assert read_placement(text, OMP) == variables


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\nOMP_PLACES", "line 2, `OMP_PLACES`: it is not of the form KEY=VALUE"),
        ("set OMP_PLACES=cores", "write KEY=VALUE alone, without set"),
        ("export  OMP_PLACES=cores", "without export"),
        ("OMP_PLACES=\nOMP_PLACES=", "line 2, `OMP_PLACES=`: OMP_PLACES is set twice"),
        ("OMP_DYNAMIC=1", "the kit sets the number of threads itself; take OMP_DYNAMIC out"),
        ("OMP_SCHEDULE=static", "it can have OMP_PLACES, OMP_PROC_BIND"),
        ("OMP_PLACE=cores", "OMP_PLACE is unknown here; did you mean OMP_PLACES?"),
        ("Q=1", "Q is unknown here; it can have OMP_PLACES, OMP_PROC_BIND"),
        ("OMP_PLACES=a;KMP_AFFINITY = b", "KMP_AFFINITY is a second setting"),
        ("OMP_PLACES=a\tb", "a character that can't be printed"),
        (f"OMP_PLACES={'1' * (LONGEST_VALUE + 1)}", "longer than 16,384 characters"),
        ("OMP_PLACES" + "x" * 50, f"`OMP_PLACES{'x' * 30}`"),
    ],
)
def test_lines_that_it_can_not_have(text: str, says: str) -> None:
    with pytest.raises(BadPlacement, match=re.escape(says)):
        read_placement(text, OMP)


# ---- goals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "of_four", "of_five"),
    [
        ("all", (2, 3, 5, 7), (2, 3, 5, 7, 9)),
        ("upper_half", (5, 7), (7, 9)),
        ("but_lowest", (3, 5, 7), (3, 5, 7, 9)),
        ("every_second", (3, 7), (3, 7)),
    ],
)
def test_nodes_that_a_table_goes_to(
    goal: str, of_four: tuple[int, ...], of_five: tuple[int, ...]
) -> None:
    placing = PlacingGoal(nodes=goal)
    assert placing.nodes_of([2, 3, 5, 7]) == of_four
    assert placing.nodes_of([2, 3, 5, 7, 9]) == of_five
    assert set(NODES) == {"all", "upper_half", "but_lowest", "every_second"}


@pytest.mark.parametrize(
    ("owner", "of_five"),
    [
        ("same", [0, 1, 2, 3, 4]),
        ("reversed", [4, 3, 2, 1, 0]),
        ("next", [1, 2, 3, 4, 0]),
        ("previous", [4, 0, 1, 2, 3]),
        ("half_on", [2, 3, 4, 0, 1]),
    ],
)
def test_whose_a_part_is(owner: str, of_five: list[int]) -> None:
    assert [OWNERS[owner](part, 5) for part in range(5)] == of_five


def test_nodes_of_a_policy_and_what_a_lab_asks() -> None:
    assert POLICY_NODES == {
        "interleaved": None, "interleaved_on_0_and_1": (0, 1), "on_node_1": (1,),
    }  # fmt: skip
    assert PlacingGoal("all", 1, "same") == LAB_PLACING
