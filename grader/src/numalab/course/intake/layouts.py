"""How a collection is laid out, and which of its entries are which student's.

- Moodle's "Download all submissions": for each student folders NAME_NUMBER_assignsubmission_file
  (and next to it _onlinetext and others; an underscore at the end before Moodle 4), or, without
  "Download submissions in folders", files NAME_NUMBER_assignsubmission_file_FILE. Spaces of a name
  are underscores there, and NUMBER is that of "Participant NUMBER" in the grading worksheet
  (Moodle, mod/assign/classes/downloader.php, get_student_prefix; below public/ since 5.1,
  and the same). It shows no times.
- Canvas's "Download Submissions": files NAME_[LATE_]USER_ATTACHMENT_FILE. NAME is last and first
  name in small letters without anything between. It is missing if grading is anonymous, and USER
  is then anon_ID. NAME_[LATE_]USER_text.html and _link.html are entered text and addresses
  (Canvas, lib/content_zipper.rb). A file that is handed in again is named kernel-1.c by Canvas.
- Clones, of Classroom 50, GitHub Classroom or a GitLab group: classroom50.py, clone_layouts.py.
- Plain: a folder or an archive for each student, named after them.

A single student can name a file in any of these ways. So the majority of its entries decides which
layout a collection has (_system_of), unless --layout says which; an entry that is named otherwise
is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from numalab.course.intake.archives import archive_suffix, strip_suffix
from numalab.course.intake.classroom50 import match_classroom50, read_classroom50
from numalab.course.intake.clone_layouts import (
    match_github_classroom,
    match_gitlab,
    read_github_classroom,
    read_gitlab,
)
from numalab.course.intake.students import Person, clean_name
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
from numalab.untrusted.visible import shown

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


# ---- plain ---------------------------------------------------------------------------------


def _shown_blank(blank: re.Match[str]) -> str:
    return f"<U+{ord(blank.group()):04X}>"


def _plain(entries: Sequence[Entry]) -> Layout:
    below = entries_by_top(entries)
    delivered, problems = [], []
    tops = top_entries(entries)
    raw = {n: n if top.kind == "folder" else strip_suffix(n) for n, top in tops.items()}
    every = set(raw.values())
    for name, top in tops.items():
        called = clean_name(raw[name])
        if called != raw[name] and called in every:  # but for blanks another student's name
            called = clean_name(re.sub(r"^\s|\s$|(?<=\s)\s", _shown_blank, raw[name]))
        person = Person(called, {})
        if top.kind == "folder":
            delivered.append(StudentUpload(name, person, tuple(below.get(name, ()))))
        elif top.kind == "file" and archive_suffix(name):
            delivered.append(StudentUpload(name, person, (top,)))
        else:
            problems.append(unassigned(top, "a folder or an archive of a student"))
    return Layout("plain", tuple(delivered), tuple(problems))


# ---- Moodle --------------------------------------------------------------------------------


def _moodle(entries: Sequence[Entry], context: CollectionContext) -> Layout | None:
    del context
    below = entries_by_top(entries)
    files: dict[tuple[str, str], list[Entry]] = {}
    others: dict[tuple[str, str], list[str]] = {}
    problems = []
    for name, top in top_entries(entries).items():
        match = _MOODLE.fullmatch(name)
        if match is None:
            problems.append(unassigned(top, "named as Moodle names what a student has handed in"))
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
    # If Moodle hides names, it gives all students the same one.
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
        delivered.append(StudentUpload(source, person, tuple(found), notes))
    return Layout("moodle", tuple(delivered), tuple(problems))


# ---- Canvas --------------------------------------------------------------------------------


def _canvas_name(file: str, graded_names: Collection[str]) -> str:
    """Return the name that a file had before Canvas numbered it, as far as that can be told."""
    first = _CANVAS_AGAIN.sub("", file)
    return first if first in graded_names or archive_suffix(first) != archive_suffix(file) else file


def _canvas(entries: Sequence[Entry], context: CollectionContext) -> Layout | None:
    found: dict[tuple[str, str], dict[str, tuple[int, Entry]]] = {}
    notes: dict[tuple[str, str], dict[str, None]] = {}
    problems = []
    for name, top in top_entries(entries).items():
        match = _CANVAS.fullmatch(name) if top.kind == "file" else None
        if match is None:
            problems.append(unassigned(top, "named as Canvas names what a student has handed in"))
            continue
        key = (match["name"] or "", match["user"])
        of_student = found.setdefault(key, {})
        said = notes.setdefault(key, {})
        if match["late"]:
            said[LATE_BY_CANVAS] = None
        if match["entered"]:
            said["What was entered in Canvas is not graded; only files are."] = None
            continue
        file = _canvas_name(match["file"], context.graded_names)
        number = int(match["attachment"])
        if file in of_student:
            said[f"{shown(file)} was handed in more than once; the newest is taken."] = None
        if file not in of_student or of_student[file][0] < number:
            of_student[file] = (number, replace(top, path=(file,)))
    if not found:
        return None
    delivered = []
    for (name, user), files in found.items():
        kind = "identifier" if user.startswith("anon_") else "id"
        person = Person(clean_name(name or user.replace("_", " ")), {kind: user})
        taken = tuple(entry for _, entry in files.values())
        source = "_".join(part for part in (name, user) if part)
        delivered.append(StudentUpload(source, person, taken, tuple(notes[name, user])))
    return Layout("canvas", tuple(delivered), tuple(problems))


def _match_canvas(entries: Sequence[Entry], context: CollectionContext) -> set[str]:
    del context
    tops = top_entries(entries)
    return {n for n, top in tops.items() if top.kind == "file" and _CANVAS.fullmatch(n)}


def _match_moodle(entries: Sequence[Entry], context: CollectionContext) -> set[str]:
    del context
    return {name for name in top_entries(entries) if _MOODLE.fullmatch(name)}


@dataclass(frozen=True)
class _System:
    """A course system whose collections can be read.

    Attributes:
        called: its name in sentences.
        match: returns the names of entries at the top that are the system's, by name or content.
        read: returns the layout; None if nothing can be read as the system's.
        is_of_clones: its collections are clones.
    """

    called: str
    match: Callable[[Sequence[Entry], CollectionContext], set[str]]
    read: Callable[[Sequence[Entry], CollectionContext], Layout | None]
    is_of_clones: bool = False


# The systems in the order in which they are preferred if several match equally many entries.
_SYSTEMS: Mapping[str, _System] = {
    "moodle": _System("Moodle", _match_moodle, _moodle),
    "canvas": _System("Canvas", _match_canvas, _canvas),
    "classroom50": _System("Classroom 50", match_classroom50, read_classroom50, True),
    "github_classroom": _System(
        "GitHub Classroom", match_github_classroom, read_github_classroom, True
    ),
    "gitlab": _System("GitLab", match_gitlab, read_gitlab, True),
}
LAYOUTS = (*_SYSTEMS, "plain")


def unwrapped(entries: Sequence[Entry]) -> tuple[Entry, ...] | None:
    """Return the entries in the only folder of a collection, such as unpacking makes; None unless
    one folder is all that is at the top."""
    tops = top_entries(entries)
    if len(tops) != 1 or next(iter(tops.values())).kind != "folder":
        return None
    return tuple(replace(e, path=e.path[1:]) for e in entries if len(e.path) > 1)


def _is_students(top: Entry) -> bool:
    """Tell whether an entry can be a student's in a plain collection."""
    return top.kind == "folder" or (top.kind == "file" and bool(archive_suffix(top.name)))


def _system_of(entries: Sequence[Entry], context: CollectionContext) -> tuple[str, dict[str, str]]:
    """Return the system that most entries are of; "plain" if no system has more entries than there
    are others that can be students'. With "plain" also return entries that are named as a system
    without clones names them, each with that system."""
    fitting = {name: system.match(entries, context) for name, system in _SYSTEMS.items()}
    system = max(fitting, key=lambda name: len(fitting[name]))
    students = {name for name, top in top_entries(entries).items() if _is_students(top)}
    if len(fitting[system]) > len(students - fitting[system]):
        return system, {}
    # Clones are recognized by their content alone, and in a plain collection are hand-ins, too.
    named = {name: fitting[name] for name in _SYSTEMS if not _SYSTEMS[name].is_of_clones}
    return "plain", {entry: system for system, names in named.items() for entry in names}


def _strange(name: str, system: str) -> Problem:
    return Problem(
        shown(name),
        f"{shown(name)} looks like what {_SYSTEMS[system].called} delivers, and most of the "
        "delivery does not: it is taken as the hand-in of somebody of that name. If all of it is "
        f"to be read so: --layout {system}.",
    )


def read_layout(
    entries: Sequence[Entry], context: CollectionContext, requested: str | None = None
) -> Layout:
    """Return which entries are which student's. A system's layout is also looked for in the
    collection's only folder.

    Args:
        requested: one of LAYOUTS; None: the layout that most entries have.

    Raises:
        UserError: nothing is named as requested, or it is not clear which part of the clones' paths
            is the student.
    """
    trees = [(entries, context)]
    inside = unwrapped(entries)
    if inside:
        trees.append((inside, replace(context, name=entries[0].path[0])))
    if requested not in (None, "plain"):
        system = _SYSTEMS[requested]
        for tree, of_tree in trees:
            fits = system.is_of_clones or system.match(tree, of_tree)
            found = system.read(tree, of_tree) if fits else None
            if found is not None:
                return found
        raise UserError(
            f"--layout {requested}: nothing in the delivery is named as {system.called} names it; "
            "leave it out, or say --layout plain"
        )
    strange: dict[str, str] = {}
    for tree, of_tree in trees if requested is None else ():
        name, others = _system_of(tree, of_tree)
        found = _SYSTEMS[name].read(tree, of_tree) if name != "plain" else None
        if found is not None:
            return found
        if tree is entries:
            strange = others
    plain = _plain(entries)
    told = tuple(_strange(name, system) for name, system in sorted(strange.items()))
    return replace(plain, problems=(*plain.problems, *told))
