"""README.md's table of labs, which says which of them numalab publishes."""

from __future__ import annotations

from support.published_labs import is_published, published, published_names

from numalab.labs.declaration import Lab

LEAST = 11  # labs 00 to 10


def test_labs_00_to_10_are_published(labs: dict[str, Lab]) -> None:
    names = published_names()
    assert names == sorted({*names})
    assert [name[:2] for name in names[:LEAST]] == [f"{number:02}" for number in range(LEAST)]
    assert set(names) <= labs.keys(), "README.md has a row for a lab that is none"


def test_who_has_no_row_is_not_published(labs: dict[str, Lab]) -> None:
    others = dict.fromkeys(("77_mine", "00_know_your_node"), 0)
    assert published(others) == {"00_know_your_node": 0}
    assert not is_published("77_mine") and list(published(labs)) == published_names()
