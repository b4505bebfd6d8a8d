"""What is said of modelled times: figures, names and orders, on models of a few parts."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.evidence_parts import modelled, modelled_pair
from support.golden_texts import check_text

from numalab.machines.rates import Resource
from numalab.modelling.speedups import DominantNode, ModelledSpeedup
from numalab.modelling.times import Demand, Flow, Missing, Modelled
from numalab.reports.modelled_picture import modelled_pictures
from numalab.reports.modelled_words import (
    NO_TIMES,
    NOTHING,
    Bar,
    bottleneck_words,
    drawn_and_others,
    heads,
    other_sentences,
    others,
    reading,
    rows,
    sentences,
    times_words,
)

PAIR = modelled_pair()
NONE = replace(PAIR, yours=None, why_not="No rate.")


def demand(of: Resource, *numbers: int, share: float = 0.5, s: float = 0.02) -> Demand:
    return Demand(of, numbers, share, s)


def model(
    bottleneck: list[Demand], more: tuple[Demand, ...] = (), flows: tuple[Flow, ...] = ()
) -> Modelled:
    return Modelled(0.02, tuple(bottleneck), (*bottleneck, *more), (), 2, flows)


@pytest.mark.parametrize(
    ("bottleneck", "more"),
    [
        ([demand("controller", 3, share=1.0)], ()),
        ([demand("controller", 3, share=0.996)], ()),
        ([demand("controller", 3, share=0.995)], ()),
        ([demand("core", 7, share=0.25)], ()),
        ([demand("l3", 1, 5)], ()),
        ([demand("link", 2, 0)], ()),
        ([demand("core", 0), demand("core", 1)], ()),
        ([demand("core", 0), demand("core", 1)], (demand("core", 2),)),
        ([demand("l3", 0, 0), demand("l3", 1, 1)], (demand("core", 2),)),
        ([demand("l3", 0, 0), demand("l3", 1, 1)], (demand("l3", 1, 2),)),
        ([demand("controller", 0), demand("controller", 1)], ()),
        ([demand("link", 0, 1), demand("link", 1, 0)], ()),
        ([demand("link", 0, 1), demand("link", 1, 0)], (demand("link", 2, 0),)),
        ([demand("controller", 0), demand("link", 1, 0)], ()),
        ([demand("l3", 0, 4), demand("core", 1)], ()),
    ],
)
def test_a_bottleneck_is_named_or_counted(
    bottleneck: list[Demand], more: tuple[Demand, ...]
) -> None:
    check_text(bottleneck_words(model(bottleneck, more)))


@pytest.mark.parametrize(
    ("speedup", "told"),
    [(0.949, "0.95 times"), (0.95, "0.95 times"), (0.951, "1.0 times"), (1.0, "1.0 times")],
)
def test_slower_ones_have_a_digit_more(speedup: float, told: str) -> None:
    assert times_words(speedup) == told


def missing(*yours: Missing, theirs: tuple[Missing, ...] = ()) -> ModelledSpeedup:
    assert PAIR.yours is not None and PAIR.theirs is not None
    return replace(
        PAIR, yours=replace(PAIR.yours, missing=yours), theirs=replace(PAIR.theirs, missing=theirs)
    )


def test_parts_without_a_rate_are_told_by_kind_and_distance() -> None:
    """In order of kinds, and of each the nearer ones first."""
    found = missing(
        Missing("link", 16), Missing("core", 22), Missing("core", 16), Missing("l3"),
        theirs=(Missing("core", 22), Missing("link", 32)),
    )  # fmt: skip
    said = sentences(found)[2]
    assert re.findall(r"cores|L3s|links|\d+", said) == [
        "cores", "16", "22", "L3s", "links", "16", "32",
    ]  # fmt: skip
    check_text(said)
    assert re.findall(r"links|over|\d+", sentences(missing(Missing("link")))[2]) == ["links"]
    some = sentences(missing(Missing("link", 22), Missing("link"), Missing("link", 16)))[2]
    assert re.findall(r"links|\d+", some) == ["links", "16", "22"]
    assert len(sentences(missing())) == 2


def test_a_bound_is_said_of_the_side_that_lacks_a_rate() -> None:
    link = Missing("link", 16)
    at_most, at_least, both, known = (
        sentences(one)[0]
        for one in (missing(link), missing(theirs=(link,)), missing(link, theirs=(link,)), PAIR)
    )
    check_text(at_most)
    check_text(at_least)
    check_text(known)
    assert both.startswith(known.removesuffix(".")) and len(both) > len(known)


def test_each_sentence_stands_where_it_belongs() -> None:
    assert sentences(NONE) == ["No rate."]
    other = replace(PAIR, subject="omp.env", baseline="the same team on one NUMA node")
    check_text(sentences(other)[0])
    crowded = [
        sentences(replace(PAIR, dominant_node=DominantNode(array, 0, share)))[0].partition("; ")[2]
        for array, share in (("a", 1.0), ("a", 0.8), ("", 1.0))
    ]
    check_text([part.partition(" behind")[0] for part in crowded])
    more = replace(
        missing(Missing("l3")), carried_from="on this node", is_shared=True, dominant_node=None
    )
    carried, lacking, shared = sentences(more)[2:]
    assert "L3s" in lacking
    check_text(carried)
    check_text(shared)
    same = replace(PAIR, theirs=PAIR.yours)
    assert sentences(same)[1].count("controller 0") == 1
    assert sentences(PAIR)[1].count(", for ") == 2


def test_rows_are_the_parts_of_either_side() -> None:
    found = {row.label: row for row in rows(PAIR)}
    check_text(list(found))
    assert found["controller 0"].yours == Bar(15.0, 0.6, True)
    assert found["controller 1"].theirs == NOTHING
    assert found["link 1 to 0"].yours == NOTHING
    assert found["busiest core"].yours == Bar(12.0, 0.25, False)
    assert found["busiest core"].theirs == Bar(25.0, 0.25, False)
    assert rows(NONE) == rows(replace(PAIR, theirs=None)) == []


@pytest.mark.parametrize(("users", "links"), [(4, 4), (5, 1)])
def test_of_many_links_the_busiest_of_a_distance_is_shown(users: int, links: int) -> None:
    """Not the first, nor one of a local flow, which is no link."""
    flows = [(0, 0, 0.5), *((user, user - 1, 0.01 * user) for user in range(1, users + 1))]
    rates = {(user, user - 1): float(user) for user in range(1, users + 1)}
    yours = modelled(flows, {0: 25.0}, rates, {0: 20.0})
    shown = [row for row in rows(replace(PAIR, yours=yours, theirs=yours)) if "link" in row.label]
    assert len(shown) == links
    last = shown[-1]
    assert last.label == ("link 4 to 3" if users == 4 else "busiest link, 16")
    assert last.yours == last.theirs == Bar(float(users), pytest.approx(0.01 * users), False)


def test_the_busiest_l3_has_a_row_where_one_of_them_has_a_rate() -> None:
    l3 = model([demand("l3", 0, 0, s=0.01)], (demand("l3", 0, 1, s=0.015),), (Flow(0, 0, 1, 10),))
    none = model([demand("controller", 0)], flows=(Flow(0, 0, 1, 10),))
    for yours, theirs in ((l3, none), (none, l3)):
        found = {row.label: row for row in rows(replace(PAIR, yours=yours, theirs=theirs))}
        assert list(found) == ["controller 0", "busiest L3"]
        bars = (found["busiest L3"].yours, found["busiest L3"].theirs)
        assert set(bars) == {NOTHING, Bar(15.0, 0.5, False)}
        assert bars[0 if yours is l3 else 1].ms_per_gb == 15.0


def test_links_are_explained_where_there_are_some() -> None:
    local = replace(PAIR, theirs=PAIR.yours)
    assert len(reading(PAIR)[0]) > len(reading(local)[0])
    assert reading(PAIR)[1] == reading(local)[1] == NO_TIMES
    assert reading(replace(PAIR, yours=PAIR.theirs, theirs=PAIR.yours)) == reading(PAIR)
    assert reading(NONE) == []


def test_sides_are_called_by_what_they_are() -> None:
    assert heads(PAIR) == ("yours", "handout")
    check_text(heads(replace(PAIR, subject="a.toml", baseline="the same team on one NUMA node")))


def test_the_first_that_is_modelled_is_drawn_and_others_are_lines() -> None:
    second = replace(PAIR, subject="b.toml")
    unrated = replace(missing(theirs=(Missing("link", 22),)), subject="c.toml")
    other = replace(PAIR, subject="d.toml", baseline="the other launch")
    found = [NONE, PAIR, second, unrated, replace(PAIR, theirs=None, why_not="No."), other, second]
    assert drawn_and_others(found) == (PAIR, [second, unrated, other, second])
    assert drawn_and_others([NONE]) == (NONE, [])
    told = others(found)
    assert [(one.over, [line[0] for line in one.lines]) for one in told] == [
        ("the handout", ["your kernel", "b.toml", "c.toml"]), ("the other launch", ["d.toml"]),
    ]  # fmt: skip
    limit = "controller 0, for 60 % of the bytes"
    assert told[0].lines[1:] == (
        ("b.toml", "2 threads", "2.0 times", limit),
        ("c.toml", "2 threads", "at least 2.0 times", f"{limit} +"),
    )
    said = other_sentences(found)
    assert len(said) == 5 and said[-1].startswith("+ ")
    assert len(other_sentences([second, other])) == 2
    assert others([NONE]) == []


def test_each_machine_has_a_picture_or_a_reason() -> None:
    elsewhere = replace(NONE, machine="nebula", why_not="Nothing is known of nebula.")
    first, second = modelled_pictures([PAIR, elsewhere, replace(PAIR, subject="b.toml")], 78)
    check_text([line.plain for line in second])
    assert not second[0].style
    assert any(line.plain.startswith("  b.toml") for line in first)
    assert not any(line.plain.startswith("+") for line in first)
    styles = {line.plain[:16]: str(line.style) for line in first}
    assert styles["On hydra, modell"] == "bold"
    assert styles["Bottleneck: cont"] == styles["Modelled on hydr"] == ""
    assert styles[NO_TIMES[:16]] == styles["* is the bottlen"] == "dim"
    unrated = replace(missing(theirs=(Missing("link", 22),)), subject="c.toml")
    (with_note,) = modelled_pictures([PAIR, replace(PAIR, subject="b.toml"), unrated], 78)
    assert sum(line.plain.startswith("+ ") for line in with_note) == 1
    assert with_note[-1].style == "dim"
