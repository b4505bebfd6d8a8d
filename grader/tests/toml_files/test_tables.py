"""The reader of TOML files: what it takes, and how it tells what it refuses."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from numalab.errors import NumalabError, UserError
from numalab.installation import Installation
from numalab.toml_files.lines import KeyPath, lines_of
from numalab.toml_files.tables import Table, parse_table, read_table

KEYS = ("name", "count", "share", "kind", "on", "words", "numbers", "when", "late", "labs", "thing")


def table(text: str, *keys: str) -> Table:
    return parse_table(text, "a.toml", UserError, keys or KEYS)


# ---- where things stand --------------------------------------------------------------

EVERY_FORM = '''\
# a comment with = and [brackets]
name = "a # no comment"   # one
"quoted key" = 1
'literal key' = 2
dotted.inner.key = 3
dotted.other = 4
text = """
[no header]
key = "in a text"
"""
literal = \'\'\'
[[none]]
\'\'\'
when = 2027-05-03 23:59:00+02:00
inline = { a = 1, b = { c = "}" }, d = [1, 2] }
lists = [
    [1, 2],  # ]
    # a line between
    ["]", "#"], { key = "x",
    },
]

[late]
per_day = 0.1
  [labs.one]   # indented
  points = 10
[labs."two, [quoted]"]
points = 5
[[thing]]
name = "first"
[[thing.part]]
n = 1
[[thing.part]]
n = 2
[[thing]]
name = "second"
[[thing.part]]
n = 3
[thing.part.inside]
deep = true
'''.replace('{ key = "x",\n    },', '{ key = "x" },\n')

LINES: dict[KeyPath, int] = {
    ("name",): 2, ("quoted key",): 3, ("literal key",): 4, ("dotted",): 5,
    ("dotted", "inner", "key"): 5, ("dotted", "other"): 6, ("text",): 7, ("literal",): 11,
    ("when",): 14, ("inline",): 15, ("inline", "b", "c"): 15, ("inline", "d", 1): 15,
    ("lists",): 16, ("lists", 0): 17, ("lists", 0, 1): 17, ("lists", 1): 19, ("lists", 1, 1): 19,
    ("lists", 2): 19, ("lists", 2, "key"): 19, ("late",): 23, ("late", "per_day"): 24,
    ("labs",): 25, ("labs", "one", "points"): 26, ("labs", "two, [quoted]"): 27,
    ("labs", "two, [quoted]", "points"): 28, ("thing",): 29, ("thing", 0): 29,
    ("thing", 0, "name"): 30, ("thing", 0, "part", 0, "n"): 32, ("thing", 0, "part", 1): 33,
    ("thing", 0, "part", 1, "n"): 34, ("thing", 1): 35, ("thing", 1, "name"): 36,
    ("thing", 1, "part", 0): 37, ("thing", 1, "part", 0, "n"): 38,
    ("thing", 1, "part", 0, "inside"): 39, ("thing", 1, "part", 0, "inside", "deep"): 40,
}  # fmt: skip


def places(value: Any, place: KeyPath = ()) -> list[KeyPath]:
    """Of all that tomllib found."""
    below: list[KeyPath] = []
    if isinstance(value, dict):
        below = [p for key, inner in value.items() for p in places(inner, (*place, key))]
    elif isinstance(value, list):
        below = [p for index, inner in enumerate(value) for p in places(inner, (*place, index))]
    return [place, *below]


def test_every_form_has_its_line() -> None:
    lines = lines_of(EVERY_FORM)
    assert {place: lines.get(place) for place in LINES} == LINES


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_place_is_found_and_no_other(ends: str) -> None:
    text = EVERY_FORM.replace("\n", ends)
    assert set(lines_of(text)) == set(places(tomllib.loads(text)))


def test_every_place_of_the_kits_own_files_is_found(installation: Installation) -> None:
    """The line of a key has its last word on it."""
    files = [
        path
        for folder in ("labs", "solutions", "common/machines")
        for path in sorted((installation.root / folder).rglob("*.toml"))
    ]
    checked = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue  # a wrong submission's
        lines = lines_of(text)
        assert set(lines) == set(places(values)), path
        for place, line in lines.items():
            if place and isinstance(place[-1], str):
                assert place[-1] in text.splitlines()[line - 1], (path, place)
                checked += 1
    assert checked > 1000


# ---- what is taken ------------------------------------------------------------------


def test_values_of_all_kinds() -> None:
    top = table(
        'name = "x"\ncount = 3\nshare = 0.5\nkind = "b"\non = true\nwords = ["a", "b"]\n'
        "numbers = [1, 2]\nwhen = 2027-05-03T23:59:00+02:00\n[late]\nname = 'y'\n"
        "[[thing]]\ncount = 1\n[[thing]]\ncount = 2\n"
    )
    assert (top.text("name"), top.whole("count", 1), top.number("share")) == ("x", 3, 0.5)
    assert (top.choice("kind", ("a", "b")), top.truth("on")) == ("b", True)
    assert (top.texts("words"), top.choices("words", ("b", "a"))) == (("a", "b"), ("a", "b"))
    assert (top.wholes("numbers", 1), top.number("count")) == ((1, 2), 3)
    offset = top.moment("when").utcoffset()
    assert offset == timedelta(hours=2)
    assert isinstance(top.moment("when"), datetime)
    assert top.table("late", ("name",)).text_values() == {"name": "y"}
    assert [entry.whole("count", 1) for entry in top.tables("thing", ("count",))] == [1, 2]


def test_what_is_not_there_has_its_default() -> None:
    top = table("")
    assert (top.text("name", "d"), top.whole("count", 1, 0), top.number("share", default=2)) == (
        "d", 0, 2,
    )  # fmt: skip
    assert (top.truth("on", default=True), top.choice("kind", ("a",), "z")) == (True, "z")
    assert (top.texts("words", ["d"]), top.choices("words", ("a",), ())) == (("d",), ())
    assert (top.maybe("name", top.text), top.tables("thing", ())) == (None, [])
    assert top.table("late", ()).values == {}


# ---- what is refused ------------------------------------------------------------------

THINGS = "[[thing]]\ncount = 1\n\n[[thing]]\ncount = 2\n"

REFUSED: dict[str, tuple[str, Callable[[Table], object], str]] = {
    "a text": ("name = 3", lambda t: t.text("name"), ":1: 'name' is 3; write a text in quotes"),
    "an empty text": ('name = " "', lambda t: t.text("name"), "more than nothing"),
    "a missing key": ("\ncount = 1", lambda t: t.text("name"), ":1: the file has no key 'name'"),
    "a missing key of a list of tables": (
        THINGS + "[[thing]]\n\n# none",
        lambda t: [entry.whole("count", 1) for entry in t.tables("thing", ("count",))],
        ":6: [[thing]] has no key 'count'; add it",
    ),
    "a bool for a whole number": (
        "\ncount = true", lambda t: t.whole("count", 0), ":2: 'count' is true; write a whole",
    ),
    "a bool for a number": ("share = false", lambda t: t.number("share"), "'share' is false"),
    "a bool in a list": (
        "numbers = [1,\n true]", lambda t: t.wholes("numbers", 0), ":2: a number in 'numbers' is",
    ),
    "a number for a bool": ("on = 1", lambda t: t.truth("on"), "write true or false"),
    "a number with a point": ("count = 1.0", lambda t: t.whole("count", 0), "a whole number"),
    "too small a number": ("count = 0", lambda t: t.whole("count", 1), "it must be 1 or more"),
    "a number out of reach": ("share = 2", lambda t: t.number("share", 0, 1), "be 0 to 1"),
    "a number below": ("share = -1", lambda t: t.number("share", 0), "it must be 0 or more"),
    "a number above": ("share = 9", lambda t: t.number("share", most=8), "it must be 8 or less"),
    "no number": ("share = nan", lambda t: t.number("share"), "a finite number"),
    "no end": ("share = inf", lambda t: t.number("share", 0, math.inf), "a finite number"),
    "a time in quotes": ('when = "soon"', lambda t: t.moment("when"), "without quotes"),
    "a time without a zone": (
        "when = 2027-05-03T23:59:00", lambda t: t.moment("when"), "is 2027-05-03T23:59:00; write",
    ),
    "a date": ("when = 2027-05-03", lambda t: t.moment("when"), "'when' is 2027-05-03; write"),
    "no choice": (
        'kind = "speard"',
        lambda t: t.choice("kind", ("spread", "close")),
        "'kind' is 'speard'. Did you mean 'spread'? It can be: spread, close",
    ),
    "no text for a choice": ("kind = 1", lambda t: t.choice("kind", ("1",)), "It can be: 1"),
    "a text for a list": ('words = "a"', lambda t: t.texts("words"), 'a list of texts: ["..."]'),
    "no text in a list": (
        'words = [\n  "a",\n  2]', lambda t: t.texts("words"), ":3: 'words' holds 2; write",
    ),
    "no choice in a list": (
        'words = ["fortan"]',
        lambda t: t.choices("words", ("c", "fortran")),
        "'words' holds 'fortan'. Did you mean 'fortran'? It can hold: c, fortran",
    ),
    "an empty list": ("words = []", lambda t: t.choices("words", ("c",)), "a list of some of: c"),
    "no numbers": ("numbers = []", lambda t: t.wholes("numbers", 0), "a list of whole numbers"),
    "no table": ("late = 1", lambda t: t.table("late", None), "write [late] above its keys"),
    "no list of tables": ("[thing]", lambda t: t.tables("thing", None), "write [[thing]] above"),
    "a list of others": ("thing = [1]", lambda t: t.tables("thing", None), "write [[thing]]"),
    "a list for a table": (THINGS, lambda t: t.table("thing", None), "write [thing] above"),
    "a value in a table's table": (
        "[labs.one]\ncount = 1\n[labs.two]\ncount = 'x'",
        lambda t: t.table("labs", None).table("two", ("count",)).whole("count", 0),
        ":4: 'count' is 'x'",
    ),
    "no table in a table": (
        "[labs]\none = 1", lambda t: t.table("labs", None).table("one", None), "write [labs.one]",
    ),
    "a dotted key": (
        "\nlabs.one.count = 'x'",
        lambda t: t.table("labs", None).table("one", None).whole("count", 0),
        ":2: 'count' is 'x'",
    ),
    "an inline table": (
        "\nlate = { name = 'x', count = -1 }",
        lambda t: t.table("late", None).whole("count", 0),
        ":2: 'count' is -1",
    ),
    "a free key's value": (
        "[late]\na = 'x'\nb = 2", lambda t: t.table("late", None).text_values(), ":3: 'b' is 2",
    ),
    "a long value": (f'count = "{"x" * 200}"', lambda t: t.whole("count", 0), "xxx ...; write"),
    "an unknown key of a table": (
        "[late]\nnmae = 1",
        lambda t: t.table("late", ("name", "count")),
        ":2: unknown key 'nmae' in [late]. Did you mean 'name'? The keys are: name, count",
    ),
    "an unknown key of a later table": (
        THINGS + "colour = 1",
        lambda t: t.tables("thing", ("count",)),
        ":6: unknown key 'colour' in [[thing]]. The keys are: count",
    ),
    "a key below a table": (
        'name = "x"\n[late]\ncount = 1\nkind = "a"',
        lambda t: t.table("late", ("count",)),
        ":4: unknown key 'kind' in [late]. It belongs to no table: move it above the first [late]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_told_with_its_line(case: str) -> None:
    text, take, says = REFUSED[case]
    top = table(text)
    with pytest.raises(UserError) as told:
        take(top)
    assert str(told.value).startswith("a.toml:")
    assert says in str(told.value)


def test_an_unknown_key_is_refused_at_once() -> None:
    with pytest.raises(UserError, match=r"^a.toml:2: unknown key 'nmae'. Did you mean 'name'\?"):
        table("count = 1\nnmae = 2")
    assert parse_table("nmae = 2", "a.toml", UserError, None).values == {"nmae": 2}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = 1\nb = = 2\n", "a.toml:2: this is not TOML: Invalid value; correct the line"),
        ("a = 1\na = 2\n", "a.toml:2: this is not TOML: Cannot overwrite a value; correct"),
        ("a = 1\n\nb = [1,\n", "a.toml:3: this is not TOML: "),
        (f"a = {'[' * 5000}{']' * 5000}", "a.toml:1: its lists or tables are too deep"),
    ],
)
def test_what_is_no_toml(text: str, says: str) -> None:
    with pytest.raises(UserError) as told:
        table(text)
    assert str(told.value).startswith(says)


def test_the_error_is_the_files() -> None:
    with pytest.raises(NumalabError, match=r"^line 2: unknown key 'b'"):
        parse_table("a = 1\nb = 2", "", NumalabError, ("a",))


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    with pytest.raises(NumalabError, match=r"a\.toml: can't read it: No such file"):
        read_table(path, NumalabError, ())
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(NumalabError, match=r"a\.toml: this is no text in UTF-8; save it"):
        read_table(path, NumalabError, ())
    with pytest.raises(NumalabError, match="it is a folder"):
        read_table(tmp_path, NumalabError, ())
    path.write_bytes(b"\xef\xbb\xbfname = 'x'")
    assert read_table(path, NumalabError, ("name",)).text("name") == "x"
