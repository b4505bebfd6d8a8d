"""How a delivery is laid out: what in it is whose.

- Moodle's "Download all submissions": of each student folders NAME_NUMBER_assignsubmission_file
  (with _onlinetext and others beside it; an underscore at the end before Moodle 4), or, without
  "Download submissions in folders", files NAME_NUMBER_assignsubmission_file_FILE. Underscores of
  a name are spaces there, and NUMBER is that of "Participant NUMBER" in the grading worksheet
  (Moodle, mod/assign/classes/downloader.php, get_student_prefix). It shows no times.
- Canvas's "Download Submissions": files NAME_[LATE_]USER_ATTACHMENT_FILE, NAME being last and
  first name in small letters without anything between, missing where grading is anonymous, which
  makes USER anon_ID; NAME_[LATE_]USER_text.html and _link.html are entered text and addresses
  (Canvas, lib/content_zipper.rb). Of a file handed in again Canvas makes kernel-1.c.
- GitHub Classroom: a folder ASSIGNMENT-submissions of clones ASSIGNMENT-LOGIN
  (gh-classroom, clone/student-repos).
- Plain: a folder or an archive for each student, named after them.

One student can name a file in any of these ways. So a delivery has the layout that most of its
entries have, unless --layout says which; what is named otherwise is told, and stays one entry's
trouble.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numalab.course.intake.archives import archive_suffix, without_suffix
from numalab.course.intake.students import Person, clean_name
from numalab.course.intake.trees import GIT, Entry
from numalab.course.records import Problem
from numalab.errors import UserError
from numalab.strangers.visible import shown

_MOODLE = re.compile(
    r"(?P<name>.*?)(?:_(?P<number>\d+))?_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?",
    re.DOTALL,
)
_CANVAS = re.compile(
    r"(?:(?!LATE_)(?P<name>\w*?)_)?(?P<late>LATE_)?(?P<user>\d+|anon_[^\W_]+)_"
    r"(?:(?P<attachment>\d+)_(?P<file>.+)|(?P<entered>text|link)\.html)",
    re.DOTALL,
)
_CANVAS_AGAIN = re.compile(r"-\d+(?=\.[^.]+$)")
_CLASSROOM_FOLDER = "-submissions"


@dataclass(frozen=True)
class Delivered:
    """What one student's entries of a delivery hold. source: the entry's name, or what those of
    the student begin with; entries: with their paths below it; repository: of a clone;
    handed_in_at: as the student list says; is_missing: in that list only."""

    source: str
    person: Person
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()
    repository: Path | None = None
    handed_in_at: str | None = None
    is_missing: bool = False


@dataclass(frozen=True)
class Layout:
    name: str
    delivered: tuple[Delivered, ...]
    problems: tuple[Problem, ...]


def _tops(entries: Sequence[Entry]) -> dict[str, Entry]:
    """The entries at the top; an archive need not name its folders."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if len(entry.path) == 1:
            found[entry.name] = entry
        else:
            found.setdefault(entry.path[0], Entry(entry.path[:1], "folder"))
    return found


def _below(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """What is in the folders at the top, by their names."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if len(entry.path) > 1:
            found.setdefault(entry.path[0], []).append(replace(entry, path=entry.path[1:]))
    return found


def _nobodys(top: Entry, expected: str) -> Problem:
    return Problem(shown(top.name), f"{shown(top.name)} {top.refused or f'is not {expected}'}.")


# ---- plain ---------------------------------------------------------------------------------


def _plain(entries: Sequence[Entry], delivery: str, wanted: Collection[str]) -> Layout:
    del delivery, wanted
    below = _below(entries)
    delivered, problems = [], []
    for name, top in _tops(entries).items():
        if top.kind == "folder":
            person = Person(clean_name(name), {})
            delivered.append(Delivered(name, person, tuple(below.get(name, ()))))
        elif top.kind == "file" and archive_suffix(name):
            person = Person(clean_name(without_suffix(name)), {})
            delivered.append(Delivered(name, person, (top,)))
        else:
            problems.append(_nobodys(top, "a folder or an archive of a student"))
    return Layout("plain", tuple(delivered), tuple(problems))


# ---- Moodle --------------------------------------------------------------------------------


def _moodle(entries: Sequence[Entry], delivery: str, wanted: Collection[str]) -> Layout | None:
    del delivery, wanted
    below = _below(entries)
    files: dict[tuple[str, str], list[Entry]] = {}
    others: dict[tuple[str, str], list[str]] = {}
    problems = []
    for name, top in _tops(entries).items():
        match = _MOODLE.fullmatch(name)
        if match is None:
            problems.append(_nobodys(top, "named as Moodle names what a student has handed in"))
            continue
        key = (match["name"], match["number"] or "")
        files.setdefault(key, [])
        if match["kind"] != "file":
            others.setdefault(key, []).append(match["kind"])
        elif top.kind == "folder":
            files[key] += below.get(name, ())
        else:
            files[key].append(replace(top, path=(match["file"] or name,)))
    if not files:
        return None
    delivered = []
    # Where names are hidden all are called alike.
    are_hidden = len(files) > 2 and len({name for name, _ in files}) == 1
    for (name, number), found in files.items():
        notes = tuple(
            f"What was entered in Moodle as {kind} is not graded; only files are."
            for kind in others.get((name, number), ())
        )
        external = {"identifier": f"Participant {number}"} if number else {}
        called = f"{name} {number}" if are_hidden else name
        person = Person(clean_name(called), external)
        source = f"{name}_{number}" if number else name
        delivered.append(Delivered(source, person, tuple(found), notes))
    return Layout("moodle", tuple(delivered), tuple(problems))


# ---- Canvas --------------------------------------------------------------------------------


def _canvas_name(file: str, wanted: Collection[str]) -> str:
    """As it was before Canvas has numbered it."""
    first = _CANVAS_AGAIN.sub("", file)
    return first if first in wanted or archive_suffix(first) != archive_suffix(file) else file


def _canvas(entries: Sequence[Entry], delivery: str, wanted: Collection[str]) -> Layout | None:
    del delivery
    found: dict[tuple[str, str], dict[str, tuple[int, Entry]]] = {}
    notes: dict[tuple[str, str], dict[str, None]] = {}
    problems = []
    for name, top in _tops(entries).items():
        match = _CANVAS.fullmatch(name) if top.kind == "file" else None
        if match is None:
            problems.append(_nobodys(top, "named as Canvas names what a student has handed in"))
            continue
        key = (match["name"] or "", match["user"])
        of_student = found.setdefault(key, {})
        said = notes.setdefault(key, {})
        if match["late"]:
            said["Canvas marks it as late."] = None
        if match["entered"]:
            said["What was entered in Canvas is not graded; only files are."] = None
            continue
        file = _canvas_name(match["file"], wanted)
        number = int(match["attachment"])
        if file in of_student:
            said[f"{shown(file)} was handed in more than once; the newest is taken."] = None
        if file not in of_student or of_student[file][0] < number:
            of_student[file] = (number, replace(top, path=(file,)))
    if not found:
        return None
    delivered = []
    for (name, user), files in found.items():
        is_anonymous = user.startswith("anon_")
        person = Person(
            clean_name(name or user.replace("_", " ")),
            {"identifier" if is_anonymous else "id": user},
        )
        taken = tuple(entry for _, entry in files.values())
        source = "_".join(part for part in (name, user) if part)
        delivered.append(Delivered(source, person, taken, tuple(notes[name, user])))
    return Layout("canvas", tuple(delivered), tuple(problems))


# ---- GitHub Classroom ------------------------------------------------------------------------


def _assignment(names: Sequence[str], delivery: str) -> str:
    """What clones' names, which are sorted, begin with before the login: as the folder says, else
    what they share. Empty: that does not show."""
    said = delivery.removesuffix(_CLASSROOM_FOLDER)
    if any(name.startswith(f"{said}-") for name in names):
        return f"{said}-"
    first, last = names[0], names[-1]  # of sorted names all share what these two do
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return first[: first.rfind("-", 0, same) + 1]


def _classroom(entries: Sequence[Entry], delivery: str, wanted: Collection[str]) -> Layout | None:
    del wanted
    repositories = {
        entry.path[0]: entry.folder
        for entry in entries
        if len(entry.path) == 2 and entry.name == GIT and entry.kind == "folder" and entry.folder
    }
    if not repositories:
        return None
    below = _below(entries)
    assignment = _assignment(sorted(repositories), delivery)
    delivered, problems = [], []
    for name, top in _tops(entries).items():
        if top.kind != "folder":
            problems.append(_nobodys(top, "a clone of a student's repository"))
            continue
        login = clean_name(name.removeprefix(assignment)) or name
        person = Person(login, {"login": login}, preferred_id=login)
        files = tuple(below.get(name, ()))
        delivered.append(Delivered(name, person, files, repository=repositories.get(name)))
    return Layout("github_classroom", tuple(delivered), tuple(problems))


_System = Callable[[Sequence[Entry], str, Collection[str]], Layout | None]
_SYSTEMS: Mapping[str, _System] = {
    "moodle": _moodle, "canvas": _canvas, "github_classroom": _classroom
}  # fmt: skip
LAYOUTS = (*_SYSTEMS, "plain")
_CALLED = {"moodle": "Moodle", "canvas": "Canvas", "github_classroom": "GitHub Classroom"}


def unwrapped(entries: Sequence[Entry]) -> tuple[Entry, ...] | None:
    """What is in the one folder that is all of a delivery, as unpacking makes it; None: there is
    more."""
    tops = _tops(entries)
    if len(tops) != 1 or next(iter(tops.values())).kind != "folder":
        return None
    return tuple(replace(e, path=e.path[1:]) for e in entries if len(e.path) > 1)


def _fitting(system: str, entries: Sequence[Entry]) -> set[str]:
    """Which of the entries at the top are a system's, by their names or by what they are."""
    if system == "github_classroom":
        return {e.path[0] for e in entries if len(e.path) == 2 and e.name == GIT and e.folder}
    tops = _tops(entries)
    if system == "canvas":
        return {n for n, top in tops.items() if top.kind == "file" and _CANVAS.fullmatch(n)}
    return {name for name in tops if _MOODLE.fullmatch(name)}


def _is_students(top: Entry) -> bool:
    """Whether it can be somebody's in a plain delivery."""
    return top.kind == "folder" or (top.kind == "file" and bool(archive_suffix(top.name)))


def _system_of(entries: Sequence[Entry]) -> tuple[str, dict[str, str]]:
    """The system that most entries are of, or "plain"; then also which entries are named as which
    system does. As many of one as of none is plain, where none is lost."""
    fitting = {system: _fitting(system, entries) for system in _SYSTEMS}
    system = max(fitting, key=lambda system: len(fitting[system]))
    students = {name for name, top in _tops(entries).items() if _is_students(top)}
    if len(fitting[system]) > len(students - fitting[system]):
        return system, {}
    # A clone is told by nothing but what is in it, and a hand-in like another.
    named = {system: fitting[system] for system in _SYSTEMS if system != "github_classroom"}
    return "plain", {name: system for system, names in named.items() for name in names}


def _strange(name: str, system: str) -> Problem:
    return Problem(
        shown(name),
        f"{shown(name)} looks like what {_CALLED[system]} delivers, and most of the delivery does "
        "not: it is taken as the hand-in of somebody of that name. If all of it is to be read "
        f"so: --layout {system}.",
    )


def read_layout(
    entries: Sequence[Entry], delivery: str, wanted: Collection[str], asked: str | None = None
) -> Layout:
    """delivery: its name; wanted: of files that are graded; asked: one of LAYOUTS, None: as most
    entries are named. What is named otherwise is a problem. Raises UserError where nothing is
    named as asked."""
    trees = [tree for tree in (entries, unwrapped(entries)) if tree]
    if asked not in (None, "plain"):
        for tree in trees:
            found = _SYSTEMS[asked](tree, delivery, wanted) if _fitting(asked, tree) else None
            if found is not None:
                return found
        raise UserError(
            f"--layout {asked}: nothing in the delivery is named as {_CALLED[asked]} names it; "
            "leave it out, or say --layout plain"
        )
    strange: dict[str, str] = {}
    for tree in trees if asked is None else ():
        system, others = _system_of(tree)
        found = _SYSTEMS[system](tree, delivery, wanted) if system != "plain" else None
        if found is not None:
            return found
        if tree is entries:
            strange = others
    plain = _plain(entries, delivery, wanted)
    told = tuple(_strange(name, system) for name, system in sorted(strange.items()))
    return replace(plain, problems=(*plain.problems, *told))
