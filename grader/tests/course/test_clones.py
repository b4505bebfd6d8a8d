"""Clones of students' repositories: when the last commit was made, and what Classroom 50 tells."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.golden_texts import check_text

from numalab.course.intake import clones
from numalab.course.intake.classroom50 import match_classroom50, read_classroom50
from numalab.course.intake.clones import last_commit_at, make_empty_repository
from numalab.course.intake.students import Person
from numalab.course.intake.trees import Entry
from numalab.course.intake.uploads import NOTHING, CollectionContext, Layout, StudentUpload
from numalab.untrusted.tools import TookTooLong

# ---- the last commit -------------------------------------------------------------------------

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40


@pytest.mark.parametrize(
    ("files", "commit"),
    [
        ({"HEAD": f"{COMMIT}\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{COMMIT}\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n",
          "packed-refs": f"# x\n{OTHER} refs/heads/mai\n{COMMIT} refs/heads/main\n^{OTHER}\n"},
         COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{COMMIT}\n",
          "packed-refs": f"{OTHER} refs/heads/main\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/../../x\n", "x": f"{COMMIT}\n"}, None),
        ({"HEAD": "ref: refs/heads/main\n"}, None),
        ({"HEAD": "ref: x\n", "x": f"{COMMIT}\n"}, None),
        ({"HEAD": COMMIT[:39]}, None), ({"HEAD": COMMIT.upper()}, None), ({"HEAD": ""}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_which_commit_is_checked_out(
    tmp_path: Path, files: Mapping[str, str], commit: str | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert clones._head(tmp_path) == commit


def commit_of(stamp: str) -> str:
    return f"tree x\nauthor A <a> 1 +0000\ncommitter A B <a@b> {stamp}\n\nmessage\n"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (commit_of("0 +0000"), "1970-01-01T00:00:00+00:00"),
        (commit_of("1772355600 +0530"), "2026-03-01T14:30:00+05:30"),
        (commit_of("1772355600 -0130"), "2026-03-01T07:30:00-01:30"),
        (commit_of("99999999999 +0000"), "5138-11-16T09:46:39+00:00"),
        (commit_of("999999999999 +0000"), None), (commit_of("1 +2400"), None),
        (commit_of("1 0000"), None), (commit_of("x +0000"), None), ("", None),
        ("tree x\n\ncommitter A <a> 1 +0000\n", None),  # of a message
    ],
)  # fmt: skip
def test_when_a_commit_was_made(text: str, at: str | None) -> None:
    assert clones._time(text) == at


@pytest.mark.parametrize(
    ("size", "at"),
    [
        ("65536\n", "1970-01-01T00:00:01+00:00"), ("65537\n", None), ("x\n", None), ("", None),
        (None, None),
    ],
)  # fmt: skip
def test_only_a_small_commit_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str | None, at: str | None
) -> None:
    asked: list[tuple[list[str], dict[str, str]]] = []

    def git(command: list[str], environment: dict[str, str]) -> str | None:
        asked.append((command, environment))
        return size if "-s" in command else commit_of("1 +0000")

    monkeypatch.setattr(clones, "_git", git)
    monkeypatch.delenv("PATH")
    empty = make_empty_repository(tmp_path / "empty.git")
    assert sorted(str(path.relative_to(empty)) for path in empty.rglob("*")) == [
        "HEAD", "objects", "refs"
    ]  # fmt: skip
    assert last_commit_at(tmp_path, empty) is None and not asked
    (tmp_path / "HEAD").write_text(COMMIT)
    assert last_commit_at(tmp_path, empty) == at
    command = ["git", f"--git-dir={empty}", "cat-file"]
    assert asked[0][0] == [*command, "-s", COMMIT] and len(asked) == (2 if at else 1)
    assert asked[0][1]["GIT_OBJECT_DIRECTORY"] == str(tmp_path / "objects")
    assert asked[0][1]["PATH"] == clones.os.defpath
    if at:
        assert asked[1][0] == [*command, "commit", COMMIT]


@pytest.mark.parametrize("error", [FileNotFoundError("git"), TookTooLong()])
def test_without_an_answer_of_git_there_is_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object, **__: object) -> tuple[int, str]:
        raise error

    (tmp_path / "HEAD").write_text(COMMIT)
    monkeypatch.setattr(clones, "run_limited", fails)
    assert last_commit_at(tmp_path, tmp_path) is None
    monkeypatch.setattr(clones, "run_limited", lambda *_, **__: (128, commit_of("1 +0000")))
    assert last_commit_at(tmp_path, tmp_path) is None
    answers = iter([(0, "100\n"), (1, "")])
    monkeypatch.setattr(clones, "run_limited", lambda *_, **__: next(answers))
    assert last_commit_at(tmp_path, tmp_path) is None


def test_what_git_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def run(command: object, limits: Any, environment: object, *, takes_stderr: bool) -> Any:
        given.append((limits.computing_s, limits.output_bytes, limits.wall_s, takes_stderr))
        return 0, "said"

    monkeypatch.setattr(clones, "run_limited", run)
    assert clones._git(["git"], {}) == "said" and given == [(20, 65536, 60.0, False)]


# ---- Classroom 50 ----------------------------------------------------------------------------

HEAD = "username,first_name,last_name,email,submission_tag,late\n"
DOWNLOAD = "pp-hw1_submissions_2026_10_07_T_08_00_00"


def file(path: str, content: str = "") -> Entry:
    parts = tuple(path.split("/"))
    return Entry(parts, "file", "", partial(io.BytesIO, content.encode()))


def clone(name: str, **files: str) -> list[Entry]:
    named = {key.replace("_", "."): text for key, text in files.items()}
    return [
        Entry((name,), "folder"),
        Entry((name, ".git"), "folder", folder=Path(f"{name}/.git")),
        *(file(f"{name}/{key}", text) for key, text in named.items()),
    ]


def read(entries: Sequence[Entry], name: str = DOWNLOAD, *logins: str) -> Layout:
    layout = read_classroom50(entries, CollectionContext(name, {"kernel.c"}, frozenset(logins)))
    assert layout is not None and layout.name == "classroom50"
    return layout


def notes(layout: Layout) -> dict[str, tuple[str, ...]]:
    return {one.source: one.notes for one in layout.uploads}


def test_a_download_with_its_scores() -> None:
    scores = (
        HEAD + "Ada-L,Ada, Lovelace ,a@x.org,t,true\nada-l,Old,Name,,,\nbob,,,,,\n"
        "cem,Cem,C,,,true\ndee,,,,t,,more,cells\n,No,Login,,,\nada-l\n"
    )
    entries = [
        *clone("pp-hw1-ada-l", kernel_c="", results_json="", result_json="", _classroom50_yaml=""),
        file("pp-hw1-ada-l/src/result.json"), *clone("pp-hw1-bob", kernel_c=""),
        *clone("pp-hw1-eve"), file("scores.csv", scores), file("notes.txt"),
    ]  # fmt: skip
    layout = read(entries)
    ada = Person("Ada Lovelace", {"login": "Ada-L", "email": "a@x.org"}, "Ada-L")
    assert [(one.source, one.person) for one in layout.uploads] == [
        ("pp-hw1-ada-l", ada), ("pp-hw1-bob", Person("bob", {"login": "bob"}, "bob")),
        ("pp-hw1-eve", Person("eve", {"login": "eve"}, "eve")),
        ("scores.csv", Person("Cem C", {"login": "cem"}, "cem")),
        ("scores.csv", Person("dee", {"login": "dee"}, "dee")),
    ]  # fmt: skip
    of_ada, of_bob, of_eve, of_cem, of_dee = layout.uploads
    assert [e.path for e in of_ada.entries] == [(".git",), ("kernel.c",), ("src", "result.json")]
    assert of_ada.repository == Path("pp-hw1-ada-l/.git")
    check_text(of_ada.notes)
    check_text(of_bob.notes)
    assert (of_eve.notes, of_eve.is_missing) == ((), False)
    assert (of_cem.notes, of_cem.entries, of_cem.is_missing) == ((NOTHING,), (), True)
    assert of_dee.is_missing
    check_text(of_dee.notes[0])
    assert [one.source for one in layout.problems] == ["notes.txt"]


@pytest.mark.parametrize(
    "scores", ["", "username,points\nada,1\n", f"{HEAD}ada,{'x' * 140_000},,,,\n"]
)
def test_what_are_no_scores_is_nobodys_file(scores: str) -> None:
    layout = read([*clone("pp-hw1-ada"), file("scores.csv", scores)])
    assert [one.source for one in layout.uploads] == ["pp-hw1-ada"]
    assert [one.source for one in layout.problems] == ["scores.csv"]
    assert layout.uploads[0].notes == ()


def test_scores_of_just_two_columns() -> None:
    layout = read([*clone("pp-hw1-ada"), file("scores.csv", "username,submission_tag\nada,t\n")])
    assert layout.uploads[0].person == Person("ada", {"login": "ada"}, "ada")
    assert layout.uploads[0].notes == () and not layout.problems


def marker(classroom: str, assignment: str) -> str:
    return f'schema: x\nclassroom: "{classroom}"\nassignment: {assignment}\n'


@pytest.mark.parametrize(
    ("entries", "name", "fits"),
    [
        ([*clone("a"), *clone("b")], DOWNLOAD, {"a", "b"}),
        ([*clone("a"), *clone("b")], "x", set()),
        ([*clone("a", _classroom50_yaml=""), *clone("b")], "x", set()),  # half of them
        ([*clone("a", _classroom50_yaml=""), *clone("b", _classroom50_yml=""), *clone("c")], "x",
         {"a", "b", "c"}),
        ([*clone("a"), *clone("b"), file("scores.csv", HEAD)], "x", {"a", "b"}),
        ([*clone("a"), *clone("b"), file("scores.csv", "x\n")], "x", set()),
        ([file("scores.csv", HEAD), file("a/.classroom50.yaml")], "x", set()),
        ([*clone("a"), file("a/b/.classroom50.yaml")], "x", set()),
    ],
)  # fmt: skip
def test_whether_clones_are_of_classroom_50(
    entries: list[Entry], name: str, fits: set[str]
) -> None:
    assert match_classroom50(entries, CollectionContext(name, ())) == fits
    if not fits and not any(e.name == ".git" for e in entries):
        assert read_classroom50(entries, CollectionContext(name, ())) is None


@pytest.mark.parametrize(
    ("name", "markers", "logins"),
    [
        (DOWNLOAD, ("", "", ""), ["ada", "bob", "cem"]),
        ("x", (marker("pp", "hw1"), marker("pp", "HW1"), marker("pp", "other")),
         ["ada", "bob", "cem"]),
        ("x", (marker("PP", "hw1").replace("assignment", "other"), "", ""), ["ada", "bob", "cem"]),
    ],
)  # fmt: skip
def test_the_prefix_is_the_downloads_or_the_one_of_most_clones(
    name: str, markers: Sequence[str], logins: list[str]
) -> None:
    entries = [e for login, text in zip(("ada", "bob", "cem"), markers, strict=True)
               for e in clone(f"pp-hw1-{login}", _classroom50_yaml=text)]  # fmt: skip
    assert [one.person.name for one in read(entries, name).uploads] == logins
    alone = clone("pp-hw1-ada", _classroom50_yaml=marker("pp", "hw1"))
    assert [one.person.name for one in read(alone, "x").uploads] == ["ada"]


def results(committed: str, tag: str, **more: str) -> str:
    return json.dumps([{"submission_tag": tag, "result": {"datetime": committed, **more}}, 7])


LATER = (
    "Classroom 50 recorded its newest submission at 2026-10-07T05:00:01+00:00, long after the",
)
GROUP = ("Classroom 50 has it as a group's repository; its grade",)
TAG = "submit/2026-10-07T05-00-01Z-12ab"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (results("2026-10-07T04:00:00Z", TAG), LATER), (results("2026-10-07T04:00:01Z", TAG), ()),
        (results("2026-10-07T06:00:00+02:00", TAG), LATER),
        (results("2026-10-07T06:00:01+02:00", TAG), ()),
        (results("2026-10-08T06:00:01Z", TAG), ()), (results("2026-10-07T04:00:00Z", "x"), ()),
        (results("2026-10-07T05:00:00Z", "x", assignment_type="group"), GROUP),
        (results("2026-10-07T05:00:00Z", TAG, assignment_type="team"), GROUP),
        (results("2026-10-07T05:00:00Z", TAG, assignment_type="individual"), ()),
        (results("2026-10-07T04:00:00Z", TAG, assignment_type="group"), GROUP + LATER),
        (json.dumps([{"submission_tag": "x", "result": None}]), ()), ("", ()),
        (results("2026-10-07T04:00:00Z", TAG) + " " * (1 << 20), ()),
    ],
)  # fmt: skip
def test_what_results_tell_that_the_commit_does_not(told: str, said: Sequence[str]) -> None:
    layout = read([*clone("pp-hw1-ada", results_json=told), file("pp-hw1-ada/x/results.json", "[")])
    (found,) = notes(layout).values()
    assert len(found) == len(said) and all(map(str.startswith, found, said))


def test_who_is_called_as_the_prefix_keeps_the_name() -> None:
    layout = read([*clone("pp-hw1-"), *clone("pp-hw1-ada")])
    assert [one.person.name for one in layout.uploads] == ["pp-hw1-", "ada"]


def test_where_results_lie_deeper_they_are_somebodys_files() -> None:
    deep = file("pp-hw1-ada/x/results.json", results("2026-10-07T04:00:00Z", TAG))
    (one,) = read([*clone("pp-hw1-ada"), deep]).uploads
    assert one == replace(
        StudentUpload("pp-hw1-ada", Person("ada", {"login": "ada"}, "ada"), ()),
        entries=one.entries, repository=Path("pp-hw1-ada/.git"),
    )  # fmt: skip
    assert [e.path for e in one.entries] == [(".git",), ("x", "results.json")]
