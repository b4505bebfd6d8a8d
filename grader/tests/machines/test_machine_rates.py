"""Rates in machine files: what is read, what is refused, and what `machine show` says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import numalab_command

from numalab.errors import UserError
from numalab.installation import Installation
from numalab.machines.machine_file import parse_machine
from numalab.machines.rates import PublishedRate, Resource, known_rate, rate_name, unknown_rates

MINE = """\
name = "mine"
title = "Mine"
source = "me"
distances = [[10, 20, 30], [20, 10, 30], [30, 30, 10]]
"""
NODES = "".join(f'[[numa_node]]\npackage = {n}\npus = ["{2 * n}-{2 * n + 1}"]\n' for n in range(3))
FIRST_LINE = 4 + 3 * 3 + 1


def rate(of: str, gb_s: object = 10, distance: object = None) -> str:
    at = "" if distance is None else f"distance = {distance}\n"
    return f'[[rate]]\nof = "{of}"\n{at}gb_s = {gb_s}\nsource = "me"\nhow = "made up"\n'


def test_rates_are_read_by_distance() -> None:
    text = MINE + NODES + rate("core", 12, 10) + rate("core", 5) + rate("link", 8, 30)
    machine = parse_machine(text, Path("mine.toml"))
    assert machine.rates[0] == PublishedRate("core", 12.0, "me", "made up", 10)
    assert known_rate(machine.rates, "core", 10) == 12
    assert known_rate(machine.rates, "core", 20) == 5, "not given elsewhere"
    assert known_rate(machine.rates, "link", 30) == 8
    assert known_rate(machine.rates, "link", 20) is None
    assert known_rate(machine.rates, "controller") is None
    assert machine.scaled(1).rates == machine.rates


def made(
    of: Resource, distance: int | None = None, kind: str = "", gb_s: float = 1
) -> PublishedRate:
    return PublishedRate(of, gb_s, "me", "made up", distance, kind)


def test_a_rate_of_its_own_goes_before_that_of_any_other() -> None:
    rates = [
        made("core", None, gb_s=1), made("core", 20, gb_s=2), made("link", 20, gb_s=3),
        made("controller", None, "HBM", gb_s=4), made("controller", None, gb_s=5),
        made("l3", gb_s=6),
    ]  # fmt: skip
    assert [known_rate(rates, "core", at) for at in (10, 20, None)] == [1, 2, 1]
    assert [known_rate(rates, "link", at) for at in (10, 20, None)] == [None, 3, None]
    kinds = ("HBM", "DDR", "")
    assert [known_rate(rates, "controller", None, kind) for kind in kinds] == [4, 5, 5]
    assert known_rate(rates[:4], "controller", None, "DDR") is None
    assert known_rate(rates, "l3") == 6 and known_rate([], "l3") is None


@pytest.mark.parametrize(
    ("rate", "name"),
    [
        (made("core", 10), "a core, its own memory"),
        (made("core", 20), "a core, distance 20"),
        (made("core"), "a core, other distances"),
        (made("link", 21), "a link, distance 21"),
        (made("link"), "a link, other distances"),
        (made("l3"), "an L3, all its cores"),
        (made("controller"), "a controller"),
        (made("controller", None, "HBM"), "a controller of HBM"),
    ],
)
def test_rates_have_names(rate: PublishedRate, name: str) -> None:
    assert rate_name(rate) == name


@pytest.mark.parametrize(
    ("rates", "distances", "kinds", "l3s", "missing"),
    [
        ([], {10, 20}, [""], True, ["a core", "an L3", "a controller", "a link"]),
        ([], {10, 20}, [""], False, ["a core", "a controller", "a link"]),
        ([], {10}, [""], False, ["a core", "a controller"]),  # nothing to link
        ([made("core"), made("controller"), made("l3"), made("link")], {10, 20, 30}, [""], True,
         []),
        ([made("core", 10), made("controller"), made("link", 20)], {30, 20, 10}, [""], False,
         ["a core at distance 20, 30", "a link at distance 30"]),
        ([made("core", 10), made("core", 20), made("controller", None, "HBM"), made("link")],
         {20, 10}, ["DDR", "HBM", ""], False,
         ["a controller of DDR", "a controller of other memory"]),
        ([made("core"), made("link"), made("controller", None, "HBM")], {10}, ["HBM"], True,
         ["an L3"]),
        ([made("core"), made("link")], {10}, ["DDR", "HBM"], False, ["a controller"]),
    ],
)  # fmt: skip
def test_what_has_no_rate_is_named(
    rates: list[PublishedRate], distances: set[int], kinds: list[str], l3s: bool, missing: list[str]
) -> None:
    assert list(unknown_rates(rates, distances, kinds, l3s)) == missing


def test_rates_are_read_with_all_that_they_have() -> None:
    kinds = NODES.replace("package = 2", 'package = 2\nmemory_kind = "HBM"')
    text = rate("core", 1.5) + rate("core", 2, 10) + rate("link", 3, 20) + rate("l3", 4)
    text += rate("controller", 5) + rate("controller", 6) + 'memory_kind = "HBM"\n'
    found = parse_machine(MINE + kinds + text, Path("mine.toml")).rates
    assert found == (
        made("core", gb_s=1.5), made("core", 10, gb_s=2), made("link", 20, gb_s=3),
        made("l3", gb_s=4), made("controller", gb_s=5), made("controller", None, "HBM", gb_s=6),
    )  # fmt: skip


ONE_NODE = '[[numa_node]]\npackage = 0\npus = ["0"]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (rate("link", 1, 20), "the distances that a link spans here: none"),
        (rate("core", 1, 20), "the distances that a core spans here: 10"),
        (rate("core", 1, 9), "10 or more"),
        (rate("l3", 1, 10), "an L3 serves all"),
        (rate("controller") + 'memory_kind = "HBM"\n', "have: none is given"),
        (rate("l3") + 'memory_kind = "HBM"\n', "an L3 goes by distance"),
        (rate("core", 1, 10) * 2, "the rate of a core at distance 10 is given twice"),
        (rate("core") * 2, "the rate of a core is given twice"),
        (rate("controller") * 2, "the rate of a controller is given twice"),
    ],
)
def test_rates_that_no_part_of_one_numa_node_has(text: str, words: str) -> None:
    head = MINE[: MINE.index("distances")]
    with pytest.raises(UserError) as caught:
        parse_machine(head + ONE_NODE + text, Path("mine.toml"))
    assert words in str(caught.value)


BAD = {
    "not a part": (rate("package"), 1, "It can be: core, l3, controller, link"),
    "nothing": (rate("core", 0), 2, "above 0"),
    "less than nothing": (rate("core", -1), 2, "above 0"),
    "no number": (rate("core", "inf"), 2, "finite"),
    "no reason": (rate("core").replace('how = "made up"\n', ""), 0, "no key 'how'"),
    "a controller's distance": (rate("controller", 9, 10), 2, "belongs to core and link"),
    "a link to itself": (rate("link", 9, 10), 2, "spans here: 20, 30"),
    "no such distance": (rate("core", 9, 21), 2, "spans here: 10, 20, 30"),
    "twice": (rate("l3") + rate("l3"), 6, "given twice"),
    "twice elsewhere": (rate("core") + rate("core"), 6, "given twice"),
    "another key": (rate("core") + "mb_s = 3\n", 5, "Did you mean 'gb_s'"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_refused_with_their_line(case: str) -> None:
    text, line, words = BAD[case]
    with pytest.raises(UserError) as caught:
        parse_machine(MINE + NODES + text, Path("mine.toml"))
    assert str(caught.value).startswith(f"mine.toml:{FIRST_LINE + line}: "), caught.value
    assert words in str(caught.value)


def test_show_says_which_rates_are_known(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = MINE + NODES + rate("core", 12.5, 10) + rate("link", 8, 30)
    path.write_text(text, "utf-8")
    shown = numalab_command(installation, "machine", "show", str(path)).out
    assert "a core, its own memory (me)" in shown
    assert "12.5 GB/s" not in shown, "it may be asked for"
    words = " ".join(shown.split())
    assert "unknown: a core at distance 20, 30, a controller and a link at distance 20" in words
    assert "No time is modelled on it, since no controller's rate is known." in words
    path.write_text(text + rate("controller", 31), "utf-8")
    published = numalab_command(installation, "machine", "show", str(path), "--published").out
    assert "a controller: 31 GB/s (me: made up)" in published
    assert "No time is modelled" not in published


@pytest.mark.parametrize("value", ["0", "-1", "true", '"9"', "[1, 0]", "nan"])
def test_published_figures_are_above_0(value: str) -> None:
    text = (
        'name = "x"\ntitle = "x"\nsource = "x"\n[[numa_node]]\npackage = 0\npus = ["0"]\n'
        '[[latency]]\nwhat = "x"\nunit = "ns"\nsource = "x"\nvalue = '
    )
    assert parse_machine(f"{text}0.5\n", Path("x.toml")).latencies[0].values == (0.5,)
    with pytest.raises(UserError, match="write a number above 0, or a list of them"):
        parse_machine(f"{text}{value}\n", Path("x.toml"))
