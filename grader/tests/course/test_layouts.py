"""What in a delivery is whose: layouts of every system, of entries that lie nowhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.golden_texts import check_text, raises_text

from numalab.course.intake.clone_layouts import (
    assignment_prefix,
    clones_of,
    entries_below,
    flat_clones,
    others_of,
    read_github_classroom,
    read_gitlab,
    student_folders,
)
from numalab.course.intake.layouts import LAYOUTS, read_layout, unwrapped
from numalab.course.intake.students import Person
from numalab.course.intake.trees import Entry
from numalab.course.intake.uploads import (
    CollectionContext,
    Layout,
    StudentUpload,
    entries_by_top,
    top_entries,
    unassigned,
)
from numalab.course.records import LATE_BY_CANVAS, Problem
from numalab.errors import UserError

ABOUT = CollectionContext("delivery", {"kernel.c", "kernel.f90"})


def entry(text: str) -> Entry:
    """A folder's name ends in a slash."""
    path, is_folder = tuple(text.strip("/").split("/")), text.endswith("/")
    folder = Path(text) if is_folder else None
    return Entry(path, "folder" if is_folder else "file", folder=folder)


def tree(*texts: str) -> list[Entry]:
    return [entry(text) for text in texts]


def clones(*places: str, files: Sequence[str] = ("kernel.c",)) -> list[Entry]:
    made = []
    for place in places:
        parts = place.split("/")
        made += [entry("/".join(parts[: n + 1]) + "/") for n in range(len(parts))]
        made += [entry(f"{place}/.git/"), *(entry(f"{place}/{file}") for file in files)]
    return list(dict.fromkeys(made))


def told(layout: Layout) -> dict[str, tuple[str, dict[str, str], list[str]]]:
    """By source the person's name and keys, and the files below."""
    return {
        one.source: (
            one.person.name, dict(one.person.external), ["/".join(e.path) for e in one.entries]
        )
        for one in layout.uploads
    }  # fmt: skip


def whys(layout: Layout) -> dict[str, str]:
    return {one.source: one.why for one in layout.problems}


# ---- entries ---------------------------------------------------------------------------------


def test_entries_at_the_top_and_below() -> None:
    entries = tree("a/b/c", "a/", "d", "e/f")
    tops = top_entries(entries)
    assert list(tops) == ["a", "d", "e"]
    assert (tops["a"], tops["d"]) == (entries[1], entries[2])
    assert tops["e"] == Entry(("e",), "folder")
    assert entries_by_top(entries) == {"a": tree("b/c"), "e": tree("f")}
    assert unassigned(entries[0], "a clone") == Problem("a/b/c", "a/b/c is not a clone.")
    link = Entry(("x",), "link", "is a link")
    assert unassigned(link, "a clone") == Problem("x", "x is a link.")


def test_one_folder_that_is_all_of_a_delivery_is_its_wrapping() -> None:
    inside = unwrapped(tree("a/", "a/b/", "a/b/c"))
    assert inside is not None and [e.path for e in inside] == [("b",), ("b", "c")]
    assert unwrapped(tree("a/")) == ()
    assert unwrapped(tree("a")) is None and unwrapped(tree("a/", "b")) is None
    assert unwrapped([]) is None


# ---- plain -----------------------------------------------------------------------------------


def test_folders_and_archives_of_students() -> None:
    layout = read_layout(
        tree("Ada L/", "Ada L/x/kernel.c", "bob.tar.gz", "notes.txt", "x.zip/", "eve.zip"), ABOUT
    )
    assert layout.name == "plain"
    assert told(layout) == {
        "Ada L": ("Ada L", {}, ["x/kernel.c"]), "bob.tar.gz": ("bob", {}, ["bob.tar.gz"]),
        "x.zip": ("x.zip", {}, []), "eve.zip": ("eve", {}, ["eve.zip"]),
    }  # fmt: skip
    assert whys(layout) == {"notes.txt": "notes.txt is not a folder or an archive of a student."}
    link = replace(entry("z.zip"), kind="link", refused="is a link")
    assert whys(read_layout([*tree("a/"), link], ABOUT)) == {"z.zip": "z.zip is a link."}


def test_names_that_only_blanks_tell_apart() -> None:
    layout = read_layout(tree("ada/", "ada /", " bob/", "x  y/", "x y/"), ABOUT)
    names = {one.source: one.person.name for one in layout.uploads}
    assert names == {
        "ada": "ada", "ada ": "ada<U+0020>", " bob": "bob", "x  y": "x <U+0020>y", "x y": "x y"
    }  # fmt: skip


# ---- Moodle ----------------------------------------------------------------------------------


def test_what_moodle_delivers() -> None:
    layout = read_layout(
        tree(
            "Ada L_101_assignsubmission_file/", "Ada L_101_assignsubmission_file/a/kernel.c",
            "Ada L_101_assignsubmission_onlinetext/", "Ada L_101_assignsubmission_onlinetext/o.x",
            "Bob_assignsubmission_file_kernel.c", "Bob_assignsubmission_file_sub_x.txt",
            "Eve_7_assignsubmission_onlinetext_/", "Kim_8_assignsubmission_file_/", "rest.txt",
        ),
        ABOUT,
    )  # fmt: skip
    assert layout.name == "moodle"
    assert told(layout) == {
        "Ada L_101": ("Ada L", {"identifier": "Participant 101"}, ["a/kernel.c"]),
        "Bob": ("Bob", {}, ["kernel.c", "sub_x.txt"]),
        "Eve_7": ("Eve", {"identifier": "Participant 7"}, []),
        "Kim_8": ("Kim", {"identifier": "Participant 8"}, []),
    }
    text = "What was entered in Moodle as onlinetext is not graded; only files are."
    assert {one.source: one.notes for one in layout.uploads if one.notes} == {
        "Ada L_101": (text,), "Eve_7": (text,)
    }  # fmt: skip
    assert list(whys(layout)) == ["rest.txt"]


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (["Participant_1", "Participant_2", "Participant_3"],
         ["Participant 1", "Participant 2", "Participant 3"]),
        (["Ada_1", "Ada_2"], ["Ada", "Ada"]),
        (["Ada_1", "Ada_2", "Bob_3"], ["Ada", "Ada", "Bob"]),
    ],
)  # fmt: skip
def test_where_names_are_hidden_numbers_are(names: list[str], called: list[str]) -> None:
    layout = read_layout(tree(*(f"{name}_assignsubmission_file/" for name in names)), ABOUT)
    assert [one.person.name for one in layout.uploads] == called


# ---- Canvas ----------------------------------------------------------------------------------


def test_what_canvas_delivers() -> None:
    late, entered = LATE_BY_CANVAS, "What was entered in Canvas is not graded; only files are."
    layout = read_layout(
        tree(
            "lovelaceada_7_13_x.tar-1.gz", "lovelaceada_7_11_kernel-1.c",
            "lovelaceada_7_10_kernel.c", "lovelaceada_7_12_b-2.pdf",
            "boldbob_LATE_8_9_a-3.zip", "anon_x1_20_kernel.c", "boldbob_8_text.html",
            "LATE_9_30_kernel.f90", "folder_1_2_x/", "rest",
        ),
        ABOUT,
    )  # fmt: skip
    assert layout.name == "canvas"
    assert told(layout) == {
        "lovelaceada_7": ("lovelaceada", {"id": "7"}, ["x.tar.gz", "kernel.c", "b-2.pdf"]),
        "boldbob_8": ("boldbob", {"id": "8"}, ["a-3.zip"]),
        "anon_x1": ("anon x1", {"identifier": "anon_x1"}, ["kernel.c"]),
        "9": ("9", {"id": "9"}, ["kernel.f90"]),
    }
    twice = "kernel.c was handed in more than once; the newest is taken."
    assert {one.source: one.notes for one in layout.uploads} == {
        "lovelaceada_7": (twice,), "boldbob_8": (late, entered), "anon_x1": (), "9": (late,)
    }  # fmt: skip
    assert list(whys(layout)) == ["folder_1_2_x", "rest"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_a_file_that_was_handed_in_again_the_newest_is_taken(order: Sequence[int]) -> None:
    files = tree("a_7_9_kernel.c", "a_7_10_kernel-1.c", "a_7_11_kernel-2.c")
    marked = [replace(one, refused=f"is {at}") for at, one in enumerate(files)]
    (one,) = read_layout([marked[at] for at in order], ABOUT).uploads
    assert [(e.name, e.refused) for e in one.entries] == [("kernel.c", "is 2")]


# ---- which system it is ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["a_1_assignsubmission_file/", "b_2_3_kernel.c", "c_2_4_x.c"], "canvas"),
        (["a_1_assignsubmission_file/", "b/"], "plain"),  # as many of one as of none
        (["a_1_assignsubmission_file/", "b_2_assignsubmission_file/", "b/"], "moodle"),
        (["a_1_assignsubmission_file/", "notes.txt", "x.pdf"], "moodle"),  # nobody's
        (["a_1_assignsubmission_file_x.zip", "b.zip"], "plain"),
        (["w/", "w/a_1_assignsubmission_file/"], "moodle"),
        (["w/", "w/a/", "w/b/"], "plain"),
        (["a_1_2_x.zip/", "b_1_3_y.zip/"], "plain"),
        ([], "plain"),
    ],
)
def test_a_delivery_is_of_the_system_that_most_of_it_is_of(texts: list[str], name: str) -> None:
    assert read_layout(tree(*texts), ABOUT).name == name


def test_what_looks_like_another_system_is_told_and_taken() -> None:
    entries = tree("a_1_assignsubmission_file/", "b/", "c/", "d_1_2_x.zip", "e/")
    layout = read_layout(entries, ABOUT)
    assert layout.name == "plain" and len(layout.uploads) == 5
    assert list(whys(layout)) == ["a_1_assignsubmission_file", "d_1_2_x.zip"]
    why = whys(layout)["a_1_assignsubmission_file"]
    check_text(why)
    # Whoever asks for it gets it, and is told nothing.
    assert not read_layout(entries, ABOUT, "plain").problems
    assert list(told(read_layout(entries, ABOUT, "moodle"))) == ["a_1"]
    # A clone looks like any other folder.
    assert not read_layout([*clones("x"), *tree("b/", "c/")], ABOUT).problems
    # Nor is anything strange of what is wrapped.
    assert not read_layout(tree("w/", "w/a_1_assignsubmission_file/", "w/b/"), ABOUT).problems


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "plain"])
def test_what_was_asked_for_and_is_not_there(layout: str) -> None:
    with raises_text(UserError):
        read_layout(tree("ada/", "ada/kernel.c"), ABOUT, layout)
    assert read_layout(tree("ada/", "ada/kernel.c"), ABOUT, "plain").name == "plain"


# ---- clones ----------------------------------------------------------------------------------


def test_where_clones_lie() -> None:
    entries = [*clones("a", "a/b", "g/c", "g/h/d"), entry("x/.git"), entry(".git/")]
    assert clones_of(entries) == {
        ("a",): Path("a/.git/"), ("g", "c"): Path("g/c/.git/"), ("g", "h", "d"): Path("g/h/d/.git/")
    }  # fmt: skip
    assert list(flat_clones(entries)) == [("a",)]
    in_archive = Entry(("z", ".git"), "folder")
    assert clones_of([in_archive]) == {}


def test_what_lies_below_beside_and_elsewhere() -> None:
    entries = tree("a/", "a/x", "a/y/z", "b/c/", "b/c/d", "b/e", "b/", "f")
    folders = [("a",), ("b", "c")]
    assert {k: [e.path for e in v] for k, v in entries_below(entries, folders).items()} == {
        ("a",): [("x",), ("y", "z")], ("b", "c"): [("d",)]
    }  # fmt: skip
    found = others_of([*entries, *tree("g/", "g/h")], folders, "a clone")
    check_text([one.why for one in found])
    assert student_folders(entries, [("a",)], 1) == [("a",), ("b",)]
    assert student_folders(tree("b/c/", "b/e/", "b/f", "x/y/"), [("b", "c"), ("a",)], 2) == [
        ("b", "c"), ("b", "e")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "delivery", "known", "told", "prefix"),
    [
        (["hw1-ada", "hw1-bob"], "hw1-submissions", (), (), "hw1-"),
        (["hw1-ada", "hw1-bob"], "x", (), (), "hw1-"),
        (["hw-1-ada", "hw-1-adam"], "x", (), (), "hw-1-"),
        (["ada", "bob"], "x", (), (), ""),
        (["ada-x", "bob-x"], "x", (), (), ""),
        (["hw1-ada"], "x", (), (), ""),  # of one name nothing is shared
        (["hw1-ada"], "x", (), ("lab-", "hw1-"), "hw1-"),
        (["hw1-ada", "hw1-bob"], "hw1", (), ("hw1-a",), "hw1-"),
        (["a-b-ada", "a-b-bob"], "a", ("ada",), (), "a-b-"),
        (["hw1-ada", "hw2-bob", "hw2-cem"], "x", ("ada", "bob", "cem"), (), "hw2-"),
        (["hw1-a-Ada", "hw1-bob"], "x", ("a-ada", "bob"), (), "hw1-"),
        (["ada", "bob", "hw1-cem"], "x", ("ada", "bob", "cem"), (), ""),
        (["hw1-ada", "hw1-bob"], "x", ("nobody",), (), "hw1-"),
    ],
)  # fmt: skip
def test_what_comes_before_the_login(
    names: list[str], delivery: str, known: Collection[str], told: Collection[str], prefix: str
) -> None:
    assert assignment_prefix(names, delivery, known, told) == prefix


def test_clones_of_github_classroom() -> None:
    entries = [*clones("hw1-ada", "hw1-Bob"), *tree("hw1-cem/", "hw1-cem/kernel.c", "x.txt")]
    layout = read_github_classroom(entries, replace(ABOUT, name="hw1-submissions"))
    assert layout is not None and layout.name == "github_classroom"
    assert {one.source: (one.person, one.repository) for one in layout.uploads} == {
        "hw1-Bob": (Person("Bob", {"login": "Bob"}, "Bob"), Path("hw1-Bob/.git/")),
        "hw1-ada": (Person("ada", {"login": "ada"}, "ada"), Path("hw1-ada/.git/")),
        "hw1-cem": (Person("cem", {"login": "cem"}, "cem"), None),
    }
    assert [e.path for e in layout.uploads[1].entries] == [(".git",), ("kernel.c",)]
    assert list(whys(layout)) == ["x.txt"]
    assert read_github_classroom(tree("ada/", "ada/kernel.c"), ABOUT) is None
    # Who is called as the prefix says keeps the name.
    bare = read_github_classroom(clones("hw1-", "hw1-ada"), replace(ABOUT, name="hw1"))
    assert bare is not None and [one.person.name for one in bare.uploads] == ["hw1-", "ada"]


@pytest.mark.parametrize(
    ("elsewhere", "urls"),
    [
        (1, ["https://github.com/o/a", "git@github.com:o/b", "https://github.example.edu/o/c"]),
        (
            2,
            ["https://git.example.org/a", "git@git.example.org:x/b", "ssh://u@git.example.org:2/c"],
        ),
        (1, ["../local", "a/b", "/srv/x"]),
        (1, ["https://git.example.org/a", "https://github.com/b"]),  # half of them
    ],
)
def test_clones_of_another_host_are_no_github_classrooms(
    tmp_path: Path, elsewhere: int, urls: list[str]
) -> None:
    entries = []
    for number, url in enumerate(urls):
        git = tmp_path / f"s{number}" / ".git"
        git.mkdir(parents=True)
        (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
        of_one = clones(f"s{number}")
        entries += [replace(e, folder=git) if e.name == ".git" else e for e in of_one]
    name = read_layout(entries, ABOUT).name
    assert name == ("gitlab" if elsewhere == 2 else "github_classroom")


def is_lab(name: str) -> bool:
    return name.startswith("lab")


GROUP = replace(ABOUT, is_lab=is_lab)


def logins(layout: Layout | None) -> list[tuple[str, str]]:
    assert layout is not None and layout.name == "gitlab"
    return [(one.source, one.person.external["login"]) for one in layout.uploads]


@pytest.mark.parametrize(
    ("places", "known", "found"),
    [
        (["g/ada", "g/bob"], (), ["ada", "bob"]),
        (["ada/lab1", "bob/lab1"], (), ["ada", "bob"]),
        (["ada/lab1", "ada/lab2"], (), ["ada", "ada"]),
        (["ada/lab1", "ada/lab2", "bob/lab1"], (), ["ada", "ada", "bob"]),
        (["hw1-", "hw1-ada"], (), ["hw1-", "ada"]),
        (["lab1/ada"], (), ["ada"]),
        (["g/ada"], (), ["ada"]),
        (["lab1/lab2"], (), ["lab2"]),
        (["x/ada", "x/bob", "y/ada", "y/bob"], ("ada", "bob"), ["ada", "bob", "ada", "bob"]),
        (["g/x/ada", "g/x/bob", "g/y/ada", "g/y/bob"], ("ada", "bob"), ["ada", "bob"] * 2),
        (["ada/p", "bob/q"], (), ["ada", "bob"]),  # both tell them apart: the namespace
        (["ada/ada", "bob/x"], ("ada",), ["ada", "bob"]),
        (["g/h/ada", "g/h/bob"], (), ["ada", "bob"]),
        (["lab1/lab1-ada", "lab1/lab1-bob"], (), ["ada", "bob"]),
        (["g/stud-ada", "g/stud-bob"], (), ["stud-ada", "stud-bob"]),
        (["g/stud-ada", "g/stud-bob"], ("ada", "bob"), ["ada", "bob"]),
        (["stud-ada", "stud-bob"], (), ["ada", "bob"]),
    ],
)
def test_which_part_of_a_path_is_the_student(
    places: list[str], known: Collection[str], found: list[str]
) -> None:
    layout = read_gitlab(clones(*places), replace(GROUP, logins=frozenset(known)))
    assert [login for _, login in logins(layout)] == found


def test_of_parts_that_vary_alike_neither_is_the_student() -> None:
    with raises_text(UserError):
        read_gitlab(clones("x/ada", "x/bob", "y/ada"), GROUP)
    # The one that varies most is.
    assert [who for _, who in logins(read_gitlab(clones("x/ada", "x/bob", "y/cem"), GROUP))] == [
        "ada", "bob", "cem"
    ]  # fmt: skip


def test_files_at_the_top_of_a_project_lie_below_its_name() -> None:
    entries = [*clones("ada/lab1", "bob/lab1"), *clones("cem/lab1", files=("src/kernel.c",))]
    layout = read_gitlab(entries, GROUP)
    assert layout is not None and {k: files for k, (_, _, files) in told(layout).items()} == {
        "ada/lab1": ["lab1/.git", "lab1/kernel.c"], "bob/lab1": ["lab1/.git", "lab1/kernel.c"],
        "cem/lab1": [".git", "src/kernel.c"],
    }  # fmt: skip
    assert [one.repository for one in layout.uploads] == [
        Path(f"{name}/lab1/.git/") for name in ("ada", "bob", "cem")
    ]


def test_projects_are_as_deep_as_most_are() -> None:
    entries = [*clones("g/ada", "g/bob", "template", "g/h/x"), *tree("g/cem/", "g/notes", "y/")]
    layout = read_gitlab(entries, GROUP)
    assert layout is not None
    assert logins(layout) == [("g/ada", "ada"), ("g/bob", "bob"), ("g/cem", "cem"), ("g/h", "h")]
    assert list(whys(layout)) == ["template", "g/notes", "y"]
    # Of as many of each depth the less deep ones.
    assert logins(read_gitlab(clones("ada", "g/bob"), GROUP)) == [("ada", "ada"), ("g/bob", "g")]


def test_who_has_something_beside_a_clone_is_taken_as_a_folder() -> None:
    entries = [
        *clones("ada/a", "bob/b", "cem/c"),
        *tree("ada/more.txt", "dee/", "dee/kernel.c", "fay/", "gus/kernel.c", "x.txt"),
    ]
    layout = read_gitlab(entries, GROUP)
    assert layout is not None and list(whys(layout)) == ["x.txt"]
    assert logins(layout) == [
        ("ada", "ada"), ("bob/b", "bob"), ("cem/c", "cem"), ("dee", "dee"),
        ("fay", "fay"), ("gus", "gus"),
    ]  # fmt: skip


def test_what_a_delivery_holds_of_somebody_in_a_list_only() -> None:
    one = StudentUpload("x", Person("x", {}), ())
    assert (one.notes, one.repository, one.is_missing) == ((), None, False)
    assert not ABOUT.is_lab("01_first_touch") and ABOUT.logins == frozenset()
