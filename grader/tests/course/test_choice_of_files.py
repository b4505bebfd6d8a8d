"""Which of a student's files are taken, from which folder, for which lab, and what is said of the
others."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pytest
from support.golden_texts import check_text

from numalab.course.intake import choosing, taking
from numalab.course.intake.choosing import choose_files, lab_in_name, lab_of_folder
from numalab.course.intake.taking import (
    Chosen,
    content_of,
    describe_entry,
    graded_names,
    join_names,
    list_some,
    matches_name,
    never_starting,
    suggest_files,
    take_files,
    ticket_of,
)
from numalab.course.intake.trees import Entry, Refused
from numalab.labs.declaration import VARIANT_ENDING, Lab

FIRST, SECOND, THIRD = "01_first_touch", "02_affinity", "03_scheduling"
ONE = b'#include "first_touch.h"\nint a;\n'
TWO = b'#include "affinity.h"\nint b;\n'
GIVEN = b"given\n"
Files = Mapping[str, bytes]


def entry(path: str, content: bytes = ONE, refused: str = "") -> Entry:
    opener = None if refused else partial(io.BytesIO, content)
    return Entry(tuple(path.split("/")), "file", refused, opener)


def entries(files: Files) -> list[Entry]:
    return [entry(path, content) for path, content in files.items()]


def is_given(lab: Lab, name: str, content: bytes, ticket: bytes | None) -> bool:
    del lab, name, ticket
    return content == GIVEN


def choose(
    labs: Mapping[str, Lab], files: Files, hint: str | None = None
) -> tuple[dict[str, list[bytes]], list[str], list[str]]:
    """By lab the contents that are taken; what is noted; what can't be taken."""
    chosen, problems = choose_files(entries(files), labs, hint, is_given)
    taken = {one.lab.name: list(one.files.values()) for one in chosen}
    return taken, [note for one in chosen for note in one.notes], list(problems)


@pytest.fixture
def two(labs: dict[str, Lab]) -> dict[str, Lab]:
    return {name: labs[name] for name in (FIRST, SECOND)}


@pytest.fixture
def one(labs: dict[str, Lab]) -> dict[str, Lab]:
    return {FIRST: labs[FIRST]}


def test_a_collection_about_a_variant_has_its_kernels(one: dict[str, Lab]) -> None:
    """Though the lab that it is of is the only other one that is graded."""
    variant = replace(one[FIRST], name=f"{FIRST}{VARIANT_ENDING}")
    for hint in (variant.name, FIRST):
        assert list(choose(one | {variant.name: variant}, {"kernel.c": ONE}, hint)[0]) == [hint]


# ---- names of labs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "lab"),
    [
        ("01_first_touch", FIRST), ("01", FIRST), ("1", FIRST), ("Lab 1", FIRST), ("lab-01", FIRST),
        ("First Touch", FIRST), ("1-first-touch", FIRST), ("lab01firsttouch.zip", FIRST),
        ("0", "00_know_your_node"), ("lab0", "00_know_your_node"), ("10", "10_false_sharing"),
        ("lab", None), ("", None), ("11", None), ("01_first", None), ("my 01", None),
    ],
)  # fmt: skip
def test_folders_that_are_called_as_a_lab_is(
    labs: dict[str, Lab], name: str, lab: str | None
) -> None:
    assert lab_of_folder(name, labs) == lab


@pytest.mark.parametrize(
    ("name", "lab"),
    [
        ("CS1 First-Touch 4711", FIRST), ("hw_01_first_touch_final.zip", FIRST), ("lab 1", None),
        ("first touch and affinity", None), ("", None),
    ],
)  # fmt: skip
def test_longer_names_with_a_labs_in_them(labs: dict[str, Lab], name: str, lab: str | None) -> None:
    assert lab_in_name(name, labs) == lab


# ---- which folder is which lab's -------------------------------------------------------------


def test_of_equal_places_the_first_one_is_taken() -> None:
    ordered = [
        ("labs", "x"), ("a", "labs", "x"), ("labs",), ("x",), ("a", "x"), ("b", "x"),
    ]  # fmt: skip
    places = [choosing._Place(path, "x", 0) for path in ordered]
    places += [choosing._Place(("labs", "x"), "x", rank) for rank in (1, 2)]
    places += [choosing._Place((), "x", 2), choosing._Place(("solutions", "x"), "x", 0)]
    mixed = [*places[5:], *places[:5]]
    assert sorted(mixed, key=lambda place: place.order) == places
    assert [one.shown for one in (places[1], places[-2])] == ["a/labs/x/", "./"]


@pytest.mark.parametrize(
    ("files", "taken"),
    [
        ({f"{FIRST}/kernel.c": ONE, "lab2/kernel.c": TWO}, {FIRST: [ONE], SECOND: [TWO]}),
        ({f"w/{FIRST}/src/kernel.c": ONE}, {FIRST: [ONE]}),
        ({f"{FIRST}/lab2/kernel.c": ONE}, {SECOND: [ONE]}),  # the nearest folder
        ({"01_first_touch_final/kernel.c": TWO}, {FIRST: [TWO]}),
        ({"my_first_touch/kernel.c": TWO}, {SECOND: [TWO]}),  # by what is in it
        ({"03_first_touch/kernel.c": TWO}, {}),
        ({"03_scheduling/kernel.c": ONE, "kernel.c": TWO}, {SECOND: [TWO]}),
        ({"w/kernel.c": ONE, "v/kernel.c": TWO}, {FIRST: [ONE], SECOND: [TWO]}),
        ({"kernel.c": b"void initialize(); void stream(); void locate();"},
         {SECOND: [b"void initialize(); void stream(); void locate();"]}),
        ({"kernel.c": b"void initialize(); void compute();"},
         {FIRST: [b"void initialize(); void compute();"]}),
        ({"kernel.c": ONE + TWO}, {}),
        ({"kernel.c": ONE, "kernel.f90": TWO + b"compute initialize"},
         {FIRST: [ONE, TWO + b"compute initialize"]}),
        ({f"k/labs/{FIRST}/kernel.c": ONE, "k/grader/kernel.c": TWO, "k/common/a/kernel.c": TWO,
          "k/slides/kernel.c": TWO}, {FIRST: [ONE]}),
        ({f"k/labs/{FIRST}/kernel.c": ONE, "grader/kernel.c": TWO},
         {FIRST: [ONE], SECOND: [TWO]}),
        ({f"{FIRST}/variant/kernel.c": TWO, f"{FIRST}/wrong/x/kernel.c": TWO,
          f"{FIRST}/kernel.c": ONE}, {FIRST: [ONE]}),
        ({f"{FIRST}/build/kernel.c": TWO, f"{FIRST}/.venv/a/kernel.c": TWO,
          f"{FIRST}/._kernel.c": TWO, f"{FIRST}/kernel.c": ONE}, {FIRST: [ONE]}),
        ({f"{FIRST}/readme.md": ONE, "kernel.c": ONE}, {FIRST: [ONE]}),
        ({f"{FIRST}/doc/readme.md": ONE, "kernel.c": ONE}, {FIRST: [ONE]}),
    ],
)  # fmt: skip
def test_which_files_are_which_labs(
    two: dict[str, Lab], files: Files, taken: dict[str, list[bytes]]
) -> None:
    assert choose(two, files)[0] == taken


def test_the_delivery_or_the_only_lab_tells_of_files_in_no_labs_folder(
    one: dict[str, Lab], two: dict[str, Lab]
) -> None:
    files = {"kernel.c": b"int x;\n"}
    assert choose(one, files)[0] == {FIRST: [b"int x;\n"]}
    assert choose(two, files, SECOND)[0] == {SECOND: [b"int x;\n"]}
    taken, _, (why,) = choose(two, files)
    assert not taken
    check_text(why)
    # Something of a lab's own folder says more than that.
    for name in ("lab1", "lab1/a", "lab1/a/b"):
        assert choose(two, files | {f"{name}/kernel.c": ONE})[2] == []
    assert len(choose(two, files | {"w/kernel.c": ONE})[2]) == 1


def test_not_every_folder_is_looked_into(
    two: dict[str, Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choosing._MAX_INSPECTED == 32
    monkeypatch.setattr(choosing, "_MAX_INSPECTED", 2)
    files = {"a/kernel.c": ONE, "b/kernel.c": TWO}
    assert choose(two, files)[0] == {FIRST: [ONE], SECOND: [TWO]} and not choose(two, files)[2]
    taken, _, problems = choose(two, files | {"c/kernel.c": ONE})
    assert list(taken) == [FIRST, SECOND] and len(problems) == 1


def test_why_a_kernel_can_not_be_read_is_why_its_lab_does_not_show(two: dict[str, Lab]) -> None:
    link, pdf = entry("a/kernel.c", refused="is a link"), entry("a/kernel.f90", b"%PDF-1.4")
    chosen, (why,) = choose_files([link, pdf, entry("a/x.txt")], two)
    assert not chosen
    check_text(why)
    folder = Entry(("kernel.c",), "folder")
    check_text(choose_files([folder], two)[1][0])


# ---- which place of a lab --------------------------------------------------------------------


def test_the_place_that_was_changed_is_taken(one: dict[str, Lab]) -> None:
    given = {f"{name}/{FIRST}/kernel.c": GIVEN for name in "abcde"}
    taken, notes, problems = choose(one, given | {f"z/{FIRST}/kernel.c": ONE})
    assert taken == {FIRST: [ONE]} and not problems
    check_text(notes)
    assert choose(one, given) == ({FIRST: [GIVEN]}, [], [])
    assert choose(one, {"y/01/kernel.c": ONE, "z/01/kernel.c": ONE}) == ({FIRST: [ONE]}, [], [])


def test_what_an_unpacked_copy_has_beside_is_nobodys_work(one: dict[str, Lab]) -> None:
    beside = {
        f"{FIRST}/grading/starting_code/kernel.c": GIVEN,
        f"{FIRST}/grading/starting_code/kernel.f90": TWO,
        f"earlier_release/labs/{FIRST}/kernel.c": TWO,
    }
    assert choose(one, beside | {f"{FIRST}/kernel.c": ONE}) == ({FIRST: [ONE]}, [], [])
    assert choose(one, beside)[0] == {}


def test_places_that_differ_are_asked_about(one: dict[str, Lab]) -> None:
    files = {"z/01/kernel.c": TWO, "y/01/kernel.c": TWO, "x/01/kernel.c": ONE, "01/kernel.c": GIVEN}
    taken, notes, problems = choose(one, files)
    assert (taken, notes) == ({}, [])
    said = "x/01/ and y/01/ both hold files of it, and they differ; hand in one of them."
    assert problems == [f"{FIRST}: {said}"]


def test_solutions_are_taken_where_there_is_nothing_else(one: dict[str, Lab]) -> None:
    solved = {f"solutions/{FIRST}/kernel.c": TWO}
    assert choose(one, solved) == ({FIRST: [TWO]}, [], [])
    assert choose(one, solved | {f"{FIRST}/kernel.c": ONE}) == ({FIRST: [ONE]}, [], [])


def test_a_labs_own_folder_is_looked_into_whatever_is_in_it(one: dict[str, Lab]) -> None:
    check_text(choose(one, {f"{FIRST}/a": b""})[2])
    check_text(choose(one, {f"{FIRST}/doc/a": b""})[2][0])
    check_text(choose(one, {f"{FIRST}_final/a": b""})[2][0])


def test_of_several_places_without_a_kernel_the_first_tells_why(one: dict[str, Lab]) -> None:
    _, _, (why,) = choose(one, {"01/explanation.txt": b"x", f"a/{FIRST}/kernal.c": b"y"})
    check_text(why)


def test_kernels_elsewhere_are_named(two: dict[str, Lab], labs: dict[str, Lab]) -> None:
    files = {
        f"{FIRST}/kernel.c": ONE, "lab2/kernel.c": TWO, "x/kernel.c": b"int x;\n",
        "03_scheduling/kernel.c": ONE, "03_scheduling/a/kernel.c": ONE,
        "solutions/y/kernel.c": ONE, "y/notes.txt": b"",
    }  # fmt: skip
    taken, notes, problems = choose(two, files)
    assert taken == {FIRST: [ONE], SECOND: [TWO]} and not problems
    check_text(notes[0])
    # With that lab asked for it is another one's.
    assert THIRD in choose(two | {THIRD: labs[THIRD]}, files)[0]


@pytest.mark.parametrize(
    "files",
    [
        {}, {"a.txt": b"", f"{THIRD}/kernel.c": ONE},
        {"x/kernal.c": ONE},
        {"x/y.zip": ONE},
    ],
)  # fmt: skip
def test_what_is_said_where_nothing_is_taken(two: dict[str, Lab], files: Files) -> None:
    taken, _, (why,) = choose(two, files)
    assert not taken
    check_text(why)


# ---- what is taken of a folder ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "with_and", "with_commas"),
    [
        ("a", "a", "a"), ("ba", "a and b", "b, a"),
        ("dcba", "a and b and c and d", "d, c, b, a"),
        ("edcba", "a and b and c and d and 1 more", "e, d, c, b and 1 more"),
        ("fedcba", "a and b and c and d and 2 more", "f, e, d, c and 2 more"),
    ],
)  # fmt: skip
def test_many_names_are_counted(names: str, with_and: str, with_commas: str) -> None:
    assert (join_names(names), list_some(list(names))) == (with_and, with_commas)
    assert describe_entry(entry("a/b")) == "a/b"
    check_text(describe_entry(entry("a/b", refused="is a link")))


def test_what_is_wanted_of_labs(labs: dict[str, Lab]) -> None:
    assert graded_names(labs[FIRST]) == (
        "kernel.c", "kernel.f90", "diagnose.toml", "explanation.txt"
    )  # fmt: skip
    assert matches_name("KERNEL.C", ["kernel.c"]) and matches_name(
        "kernel (1).c", ["x", "kernel.c"]
    )
    assert not matches_name("kernel.c.txt", ["kernel.c"]) and not matches_name("kernel.c", [])


def take(lab: Lab, files: Files) -> tuple[dict[str, bytes] | None, list[str]]:
    found, said = take_files(lab, entries(files), is_given, None)
    assert found is None or list(found.notes) == said
    return None if found is None else dict(found.files), said


BESIDE = {"README.md": b"", "first_touch.h": b"", "CMakeLists.txt": b"", "driver.c": b""}
TAKEN: Mapping[str, tuple[Files, dict[str, bytes] | None, list[str]]] = {
    "a kernel": ({"kernel.c": ONE, **BESIDE}, {"kernel.c": ONE}, []),
    "both": ({"kernel.c": ONE, "kernel.f90": TWO}, {"kernel.c": ONE, "kernel.f90": TWO}, []),
    "beside it": (
        {"kernel.c": ONE, "explanation.txt": b"x", "diagnose.toml": b"y", "b.pdf": b"", "a.o": b""},
        {"kernel.c": ONE, "explanation.txt": b"x", "diagnose.toml": b"y"},
        ["Not taken, as it is not graded: b.pdf, a.o."],
    ),
    "an archive": (
        {"kernel.c": ONE, "x.zip": b"", "y.7z": b""}, {"kernel.c": ONE},
        ["An archive inside was not opened: x.zip, y.7z."],
    ),
    "a copy": (
        {"kernel (1).c": ONE}, {"kernel.c": ONE}, ["kernel (1).c is taken as kernel.c."]
    ),
    "a copy and the starting code": (
        {"kernel.c": GIVEN, "kernel (1).c": ONE}, {"kernel.c": ONE},
        ["kernel (1).c is taken as kernel.c.", "kernel.c was left out: it is the starting code."],
    ),
    "the kernel and a copy of the starting code": (
        {"kernel.c": ONE, "kernel (1).c": GIVEN}, {"kernel.c": ONE},
        ["Left out, beside kernel.c: kernel (1).c."],
    ),
    "two copies": (
        {"kernel (1).c": ONE, "kernel (2).c": ONE}, {"kernel.c": ONE},
        ["kernel (1).c is taken as kernel.c.", "Left out, beside kernel (1).c: kernel (2).c."],
    ),
    "copies that differ": (
        {"kernel (2).c": ONE, "kernel (1).c": TWO}, None,
        ["kernel.c is there more than once (kernel (1).c and kernel (2).c); hand in one."],
    ),
    "no text": (
        {"kernel.c": b"%PDF-"}, None, ["kernel.c is a PDF document"]
    ),
    "nothing": ({"explanation.txt": b"x"}, None, ["kernel.c or kernel.f90 is missing."]),
    "answers alone": (
        {"diagnose.toml": b"y"}, None,
        ["kernel.c or kernel.f90 is missing.",
         "diagnose.toml counts beside what is graded, and not alone."],
    ),
    "something like it": (
        {"Kernel_notes": b"", "kernel_log.dat": b""}, None,
        ["kernel.c or kernel.f90 is missing; found: Kernel_notes, kernel_log.dat."],
    ),
    "misspelt": (
        {"kernal.c": b""}, None, ["kernal.c was found; did you mean kernel.c?"]
    ),
    "a compressed kernel": (
        {"kernel.c.gz": b""}, None, ["kernel.c.gz was found; did you mean kernel.c?"]
    ),
    "another language": (
        {"kernel.cpp": b""}, None, ["kernel.cpp is C++, which is not graded; "]
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", TAKEN)
def test_what_is_taken_of_a_folder(labs: dict[str, Lab], kind: str) -> None:
    files, taken, said = TAKEN[kind]
    found, sentences = take(labs[FIRST], files)
    assert found == taken
    assert len(sentences) == len(said) and all(map(str.startswith, sentences, said))


def test_files_that_a_lab_has_beside_its_kernels(labs: dict[str, Lab]) -> None:
    lab = next(lab for lab in labs.values() if lab.files)
    names = [file.name for file in lab.files]
    assert graded_names(lab)[2 : 2 + len(names)] == tuple(names)
    found, sentences = take(lab, {"kernel.c": ONE})
    assert found == {"kernel.c": ONE} and sentences == [f"Missing: {', '.join(names)}."]
    alone, sentences = take(lab, {names[0]: b"x\n"})
    assert alone == {names[0]: b"x\n"}
    check_text(sentences)


def test_words_on_names_that_are_near() -> None:
    files = entries({"kernel.c.txt": b"", "my.c": b"", "driver.c": b"", "notes": b""})
    assert suggest_files("kernel.c", files) == (
        "kernel.c.txt was found; did you mean kernel.c?", ["kernel.c.txt"]
    )  # fmt: skip
    assert suggest_files("kernel.c", files, ["kernel.c.txt"]) == ("", [])
    assert suggest_files("kernel.c", files[1:]) == (
        "my.c was found; did you mean kernel.c?",
        ["my.c"],
    )
    assert suggest_files("kernel.c", files[2:]) == ("", [])
    assert suggest_files("policy.txt", entries({"polcy.txt": b"", "my.c": b""}))[1] == ["polcy.txt"]
    assert suggest_files("policy.txt", entries({"police.txt": b"", "x.txt": b""}))[1] == [
        "police.txt"
    ]
    assert suggest_files("policy.txt", entries({"pol.txt": b""})) == ("", [])


# ---- texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "text", "said"),
    [
        (b"int x;\n", b"int x;\n", []),
        (b"\xef\xbb\xbfint x;\n", b"int x;\n",
         ["began with a byte order mark, which was taken out"]),
        ("int x;\n".encode("utf-16"), b"int x;\n", ["was in UTF-16 and is UTF-8 now"]),
        (b"\xfe\xff" + "int é;\n".encode("utf-16-be"), "int é;\n".encode(),
         ["was in UTF-16 and is UTF-8 now"]),
        ("int x;\n".encode("utf-32"), b"int x;\n", ["was in UTF-32 and is UTF-8 now"]),
        (b"a\r\nb\r\n", b"a\nb\n", ["had the line ends of Windows, which were changed"]),
        (b"a\rb\r", b"a\nb\n", ["had the line ends of old Macs, which were changed"]),
        (b"a\rb\n", b"a\rb\n", []),
        (b"a\r\nb\rc\n", b"a\nb\rc\n", ["had the line ends of Windows, which were changed"]),
        (b"a\n\x1a\x1a", b"a\n", ["had DOS's mark of a file's end (Ctrl-Z), which was taken out"]),
        (b"a\x1ab\n", b"a\x1ab\n", []),
    ],
)  # fmt: skip
def test_texts_are_taken_as_compilers_take_them(
    content: bytes, text: bytes, said: list[str]
) -> None:
    for name in ("answers.toml", "kernel.c"):
        notes = tuple(f"{name} {change}." for change in said)
        assert content_of(entry(name, content)) == (text, notes)


@pytest.mark.parametrize(
    "of",
    [
        entry("a/x.toml", b"a\0b"),
        entry("x.toml", b"\xff\xfea"),
        entry("x.toml", refused="is a link"),
        Entry(("x.toml",), "special"),
        entry("x.toml", b"a" * (1024 * 1024 + 1)),
        entry("kernel.c", b"%PDF-1.4"),
        entry("kernel (1).c", b"%PDF-1.4"),
        entry("kernel (1).f90", b"%PDF-1.4"),
    ],
)
def test_what_is_no_text(of: Entry) -> None:
    with pytest.raises(Refused) as error:
        content_of(of)
    check_text(str(error.value))


def test_a_text_may_have_a_mib_and_other_files_may_be_what_they_are() -> None:
    assert content_of(entry("x.toml", b"a" * 1024 * 1024))[1] == ()
    assert content_of(entry("x.toml", b"%PDF-1.4")) == (b"%PDF-1.4", ())


def test_the_ticket_of_a_folder() -> None:
    files = entries({"a": b"", taking.TICKET.upper(): b"mine"})
    assert ticket_of(files) == b"mine" and ticket_of(files[:1]) is None
    assert ticket_of([entry(taking.TICKET, b"\0")]) is None


def test_a_hand_in_is_known_by_its_names_and_contents(labs: dict[str, Lab]) -> None:
    chosen = Chosen(labs[FIRST], {"kernel.f90": b"xyz", "explanation.txt": b""})
    parts = [b"explanation.txt", b"", b"kernel.f90", b"xyz"]
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    assert chosen.digest == hashlib.sha256(whole).hexdigest()
    assert chosen.languages == ("fortran",)
    assert Chosen(labs[FIRST], {"kernel.f90": b"", "kernel.c": b""}).languages == ("c", "fortran")
    assert Chosen(labs[FIRST], {"policy.txt": b""}).languages == ("c",)


def test_a_hand_in_is_the_starting_code_if_all_that_is_graded_is(labs: dict[str, Lab]) -> None:
    def is_all(**files: bytes) -> bool:
        named = {name.replace("_", "."): of for name, of in files.items()}
        return Chosen(labs[FIRST], named).is_all_starting(is_given, None)

    assert is_all(kernel_c=GIVEN) and is_all(kernel_c=GIVEN, explanation_txt=b"x")
    assert not is_all(kernel_c=GIVEN, kernel_f90=ONE)
    assert not Chosen(labs[FIRST], {"kernel.c": GIVEN}).is_all_starting(never_starting, None)
