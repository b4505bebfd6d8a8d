"""Rates in machine files: what is read, what is refused, and what `machine show` says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import numalab_command

from numalab.errors import UserError
from numalab.kit import Kit
from numalab.machines.machine_file import parse_machine
from numalab.machines.rates import Rate, known_rate

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
    assert machine.rates[0] == Rate("core", 12.0, "me", "made up", 10)
    assert known_rate(machine.rates, "core", 10) == 12
    assert known_rate(machine.rates, "core", 20) == 5, "not given elsewhere"
    assert known_rate(machine.rates, "link", 30) == 8
    assert known_rate(machine.rates, "link", 20) is None
    assert known_rate(machine.rates, "controller") is None
    assert machine.scaled(1).rates == machine.rates


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


def test_show_says_which_rates_are_known(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = MINE + NODES + rate("core", 12.5, 10) + rate("link", 8, 30)
    path.write_text(text, "utf-8")
    shown = numalab_command(kit, "machine", "show", str(path)).out
    assert "a core, its own memory (me)" in shown
    assert "12.5 GB/s" not in shown, "it may be asked for"
    words = " ".join(shown.split())
    assert "unknown: a core at distance 20, 30, a controller and a link at distance 20" in words
    assert "No time is modelled on it, since no controller's rate is known." in words
    path.write_text(text + rate("controller", 31), "utf-8")
    published = numalab_command(kit, "machine", "show", str(path), "--published").out
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
