"""How clones of students' repositories are laid out, and which student's each is.

- GitHub Classroom, which GitHub retired on 28 August 2026 (github/gh-classroom, pull request 119;
  fabianoriccardi/killed-by-microsoft, issue 160), and whose clones are still read: a folder
  ASSIGNMENT-submissions of clones ASSIGNMENT-LOGIN (gh-classroom, clone/student-repos).
- GitLab: clones of a group's projects, as `glab repo clone -g GROUP`, its --preserve-namespace,
  or ghorg lay them out: PROJECT, SUBGROUP/PROJECT, or deeper. The student is the part of the
  paths that is in the list of the class, or that differs most and names no lab.

Classroom 50's are in classroom50.py. A clone is recognized by the folder .git in it, and nothing
of a clone is run. A student can hand in a clone with any files in it. So what files in clones say
of a collection counts by majority, and the student follows from the name of the clone's folder,
which the instructor's program chose.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from numalab.course.intake.students import Person, clean_name
from numalab.course.intake.trees import GIT, Entry, Refused, folded, plain_file, read_limited
from numalab.course.intake.uploads import CollectionContext, Layout, StudentUpload, unassigned
from numalab.course.records import Problem
from numalab.errors import UserError
from numalab.untrusted.visible import shown

_CLASSROOM_FOLDER = "-submissions"
_REMOTE = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)
_SERVER = re.compile(r"(?:[a-z+]+://)?(?:[^@/]*@)?([^/:]+)")
_CONFIG_BYTES = 1 << 16

Place = tuple[str, ...]


def clones_of(entries: Sequence[Entry]) -> dict[Place, Path]:
    """Return the folders that are clones, each with the path of its .git; a clone inside another is
    part of that one."""
    found = {
        entry.path[:-1]: entry.folder
        for entry in entries
        if len(entry.path) > 1 and entry.name == GIT and entry.folder
    }
    return {
        place: repository
        for place, repository in found.items()
        if not any(place[:depth] in found for depth in range(1, len(place)))
    }


def flat_clones(entries: Sequence[Entry]) -> dict[Place, Path]:
    """Return the clones at the top, as clones_of does."""
    return {place: path for place, path in clones_of(entries).items() if len(place) == 1}


# ---- whose a clone is --------------------------------------------------------------------------


def assignment_prefix(
    names: Sequence[str],
    folder_name: str,
    logins: Iterable[str] = (),
    candidates: Iterable[str] = (),
) -> str:
    """Return what clones' names begin with before the login; may be empty.

    It is the prefix that leaves most known logins; if it leaves none, the first that a name has of
    the folder's name and the candidates; else what all names begin with, up to a hyphen.

    Args:
        names: names of the clones, sorted, one or more.
        logins: logins of the class, without case.
        candidates: other possible prefixes, the likeliest first.
    """
    said = folder_name.removesuffix(_CLASSROOM_FOLDER)
    first, last = names[0], names[-1]  # of sorted names all share what these two do
    differ = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    same = next(differ, len(first) if first != last else 0)
    shared = first[: first.rfind("-", 0, same) + 1]
    prefixes = [f"{said}-", *candidates]
    known = set(logins)
    if known:
        ends = Counter(
            name[: -len(login)]
            for name in names
            for login in known
            if folded(name).endswith(f"-{login}")
        )
        prefixes = ["", *prefixes, shared, *ends]
        fits = {
            prefix: sum(
                name.startswith(prefix) and folded(name.removeprefix(prefix)) in known
                for name in names
            )
            for prefix in prefixes
        }
        best = max(prefixes, key=lambda prefix: fits[prefix])
        if fits[best]:
            return best
    for prefix in prefixes:
        if prefix and any(name.startswith(prefix) for name in names):
            return prefix
    return shared


def _unclear(places: Sequence[Place]) -> UserError:
    listed = " and ".join(shown("/".join(place)) for place in places[:2])
    return UserError(
        f"The delivery's clones lie at {listed}: which part of that is the student does not show. "
        "Give the list of the class with --students (GitLab: the group's Members, Export as CSV), "
        "or name the folder of one assignment as the delivery."
    )


def _student_part(places: Sequence[Place], context: CollectionContext) -> int:
    """Return the index of the part of the clones' paths, which are equally long, that is the
    student."""
    count = len(places[0])
    values = [{place[part] for place in places} for part in range(count)]
    known = [sum(folded(value) in context.logins for value in of_part) for of_part in values]
    if known.count(max(known)) == 1:
        return known.index(max(known))
    no_labs = [part for part in range(count) if not all(map(context.is_lab, values[part]))]
    varying = [part for part in no_labs if len(values[part]) > 1]
    if not varying:
        return (no_labs or [count - 1])[-1]
    most = max(len(values[part]) for part in varying)
    best = [part for part in varying if len(values[part]) == most]
    # If all clones differ in several parts, each of these identifies the student, and the first is
    # the namespace, which is the student's if the clones are of forks.
    if len(best) > 1 and most < len(places):
        raise _unclear(places)
    return best[0]


# ---- what is in it -----------------------------------------------------------------------------


def entries_below(entries: Sequence[Entry], folders: Iterable[Place]) -> dict[Place, list[Entry]]:
    """Return the entries below each of the folders, with paths relative to it."""
    found: dict[Place, list[Entry]] = {folder: [] for folder in folders}
    depths = sorted({len(folder) for folder in found})
    for entry in entries:
        for depth in depths:
            below = found.get(entry.path[:depth]) if len(entry.path) > depth else None
            if below is not None:
                below.append(replace(entry, path=entry.path[depth:]))
                break
    return found


def others_of(entries: Sequence[Entry], folders: Iterable[Place], expected: str) -> list[Problem]:
    """Return a problem for each entry that is neither one of these folders nor in or above one, but
    none for what is below such an entry. expected: what it should be."""
    taken = set(folders)
    above = {folder[:depth] for folder in taken for depth in range(len(folder))}
    told: set[Place] = set()
    problems = []
    for entry in entries:
        places = [entry.path[:depth] for depth in range(1, len(entry.path) + 1)]
        if any(place in taken or place in told for place in places) or entry.path in above:
            continue
        told.add(entry.path)
        problems.append(unassigned(entry, expected))
    return problems


def student_folders(entries: Sequence[Entry], clones: Iterable[Place], depth: int) -> list[Place]:
    """Return the folders at a depth that are clones, or that lie next to one and so may be a clone
    without its .git; sorted."""
    found = {place for place in clones if len(place) == depth}
    parents = {place[:-1] for place in found}
    beside = {
        entry.path for entry in entries if entry.kind == "folder" and entry.path[:-1] in parents
    }
    return sorted(found | beside)


def flat_layout(
    name: str, entries: Sequence[Entry], clones: Mapping[Place, Path], prefix: str
) -> Layout:
    """Return the layout of clones at the top, each that of the student whose login its name has
    after the prefix."""
    folders = student_folders(entries, clones, 1)
    delivered = _uploads(entries, clones, folders, 0, prefix)
    problems = others_of(entries, folders, "a clone of a student's repository")
    return Layout(name, tuple(delivered), tuple(problems))


def _uploads(
    entries: Sequence[Entry],
    clones: Mapping[Place, Path],
    folders: Sequence[Place],
    part: int,
    prefix: str,
) -> Iterator[StudentUpload]:
    """Yield the upload of each folder. part: index of the part of the folders' paths that has the
    login, after the prefix."""
    below = entries_below(entries, folders)
    for place in folders:
        login = clean_name(place[part].removeprefix(prefix)) or place[part]
        person = Person(login, {"login": login}, preferred_id=login)
        yield StudentUpload("/".join(place), person, tuple(below[place]), (), clones.get(place))


# ---- GitHub Classroom --------------------------------------------------------------------------


def _is_other_server(repository: Path) -> bool:
    """Tell whether the first url in a clone's config names a host, with a dot in it, whose name
    lacks "github"; False also if the config can't be read."""
    try:
        with plain_file(repository / "config") as file:
            text = read_limited(file, _CONFIG_BYTES, "config").decode("utf-8", "replace")
    except (Refused, OSError):
        return False
    remote = _REMOTE.search(text)
    host = _SERVER.match(remote[1].casefold()) if remote else None
    return host is not None and "." in host[1] and "github" not in host[1]


def match_github_classroom(entries: Sequence[Entry], context: CollectionContext) -> set[str]:
    """Return the names of clones at the top; none if most are from another server, as
    _is_other_server tells."""
    del context
    flat = flat_clones(entries)
    elsewhere = sum(map(_is_other_server, flat.values()))
    return {place[0] for place in flat} if 2 * elsewhere <= len(flat) else set()


def read_github_classroom(entries: Sequence[Entry], context: CollectionContext) -> Layout | None:
    clones = flat_clones(entries)
    if not clones:
        return None
    prefix = assignment_prefix(sorted(place[0] for place in clones), context.name, context.logins)
    return flat_layout("github_classroom", entries, clones, prefix)


# ---- GitLab ------------------------------------------------------------------------------------


def match_gitlab(entries: Sequence[Entry], context: CollectionContext) -> set[str]:
    """Return the names of entries at the top that are clones or contain some."""
    del context
    return {place[0] for place in clones_of(entries)}


def _student_places(entries: Sequence[Entry], clones: Iterable[Place]) -> list[Place]:
    """Return the students' places if folders at the top are the students: the clones in a folder,
    or the folder itself if it has no clone, or other files next to one."""
    of_top: dict[str, list[Place]] = {}
    for place in clones:
        of_top.setdefault(place[0], []).append(place)
    loose = {problem.source.partition("/")[0] for problem in others_of(entries, clones, "")}
    tops = {e.path[0] for e in entries if e.kind == "folder" or len(e.path) > 1}
    return sorted(
        place
        for top in tops
        for place in ([(top,)] if shown(top) in loose else of_top.get(top, [(top,)]))
    )


def read_gitlab(entries: Sequence[Entry], context: CollectionContext) -> Layout | None:
    """Read clones of a GitLab group; None if there are none. Raises UserError if it is not clear
    which part of their paths is the student."""
    clones = clones_of(entries)
    if not clones:
        return None
    depths = Counter(map(len, clones))
    depth = max(depths, key=lambda one: (depths[one], -one))
    usual = sorted(place for place in clones if len(place) == depth)
    part = _student_part(usual, context)
    folders = (
        _student_places(entries, clones) if part == 0 else student_folders(entries, usual, depth)
    )
    # A group's logins may well begin alike: if paths are deep, a prefix is taken off only if it is
    # another part of them.
    others = Counter(name for place in usual for i, name in enumerate(place) if i != part)
    told = [f"{name}-" for name, _ in others.most_common()]
    names = sorted({place[part] for place in usual})
    prefix = assignment_prefix(names, context.name, context.logins, told)
    if depth > 1 and not context.logins and prefix not in told:
        prefix = ""
    wanted = {folded(name) for name in context.graded_names}
    delivered = []
    for place, one in zip(folders, _uploads(entries, clones, folders, part, prefix), strict=True):
        found = one.entries
        if any(len(e.path) == 1 and folded(e.name) in wanted for e in found):
            # So that the lab of files at a project's top is found by the project's name.
            above = tuple(name for i, name in enumerate(place) if i != part)
            found = tuple(replace(e, path=(*above, *e.path)) for e in found)
        delivered.append(replace(one, entries=found))
    expected = "a clone of a student's project, as deep as most are"
    problems = others_of(entries, folders, expected)
    return Layout("gitlab", tuple(delivered), tuple(problems))
