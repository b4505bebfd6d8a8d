"""Collections of Classroom 50 (foundation50/classroom50), as its documentation and source describe
them in August 2026.

`gh teacher download ORG CLASSROOM ASSIGNMENT` makes a folder
CLASSROOM-ASSIGNMENT_submissions_YYYY_MM_DD_T_HH_MM_SS (or what -d says) of clones
CLASSROOM-ASSIGNMENT-LOGIN, all in small letters, and next to them scores.csv. That has a line for
each submission of each member of the class, newest first, and an empty one for a member without any
(cli/gh-teacher/internal/download/download.go). Each clone has .classroom50.yaml, which is written
when the student accepts the assignment (schemas/repo-config-v1.schema.json), and the results that
Classroom 50 has published, results.json (schemas/results-v1.schema.json) and result.json. With
--by-pattern there are clones only.

A commit's date is set by the student, and Classroom 50 uses it, too: `datetime` of a result is the
committer's date. The tag of a submission, submit/TIME-COMMIT, has the time of the workflow that the
push started (but a student can push such a tag, too). If it is long after the commit's date, that
is reported, and does not make the hand-in late.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from numalab.course.intake.clone_layouts import Place, assignment_prefix, flat_clones, flat_layout
from numalab.course.intake.students import Person, clean_name
from numalab.course.intake.trees import Entry, Refused, folded, read_limited
from numalab.course.intake.uploads import NOTHING, CollectionContext, Layout, StudentUpload
from numalab.files import MIB
from numalab.untrusted.visible import visible

MARKERS = (".classroom50.yaml", ".classroom50.yml")
SCORES = "scores.csv"
_RESULTS = "results.json"
# Files that Classroom 50 puts into a clone, and that are not the student's.
_ITS_OWN = frozenset({*MARKERS, _RESULTS, "result.json", "release-body.md"})
_FOLDER = re.compile(r"(?P<said>.+)_submissions_\d{4}(?:_\d\d){2}_T(?:_\d\d){3}")
_NAMED = re.compile(r"^(classroom|assignment):[ \t]*[\"']?([\w.-]+)[\"']?[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"submit/(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)Z-[0-9a-f]+")
_MOST_BYTES = 10 * MIB  # of scores.csv, enough for thousands of students and submissions
# Of results.json, which a student may have written; enough for hundreds of submissions.
_MOST_RESULTS = MIB
# Longer than a submission waits for a runner, which takes minutes.
_LONG_AFTER = timedelta(hours=1)


@dataclass(frozen=True)
class _ScoreLine:
    """A member of the class, as scores.csv has it. has_submitted, is_late: of the newest
    submission."""

    person: Person
    has_submitted: bool
    is_late: bool


def _text(entry: Entry | None, most_bytes: int = _MOST_BYTES) -> str:
    """Return a file's text; empty if there is none, or if it is refused or too large."""
    if entry is None or entry.opener is None:
        return ""
    try:
        with entry.opener() as file:
            return read_limited(file, most_bytes, entry.name).decode("utf-8-sig", "replace")
    except Refused:
        return ""


def _scores(entries: Sequence[Entry]) -> dict[str, _ScoreLine] | None:
    """Return the members of the class by login, without case; None if there is no scores.csv of
    Classroom 50 that can be read."""
    found = next((entry for entry in entries if entry.path == (SCORES,)), None)
    scored: dict[str, _ScoreLine] = {}
    try:
        rows = csv.DictReader(_text(found).splitlines())
        if not {"username", "submission_tag"} <= set(rows.fieldnames or ()):
            return None
        for row in rows:
            cells = {key: visible(value.strip()) for key, value in row.items() if key and value}
            login = cells.get("username")
            if not login:
                continue
            name = clean_name(f"{cells.get('first_name', '')} {cells.get('last_name', '')}")
            external = {"login": login}
            if cells.get("email"):
                external["email"] = cells["email"]
            person = Person(name or login, external, preferred_id=login)
            has_submitted, is_late = bool(cells.get("submission_tag")), cells.get("late") == "true"
            # The newest submission is first.
            scored.setdefault(folded(login), _ScoreLine(person, has_submitted, is_late))
    except csv.Error:
        return None
    return scored


def _marked(entries: Sequence[Entry], places: Sequence[Place]) -> dict[Place, Entry]:
    """Return the clones that have one of MARKERS, each with that file."""
    known = set(places)
    return {
        entry.path[:-1]: entry
        for entry in entries
        if entry.name in MARKERS and entry.path[:-1] in known
    }


def match_classroom50(entries: Sequence[Entry], context: CollectionContext) -> set[str]:
    """Return the names of clones at the top if the collection is Classroom 50's by its name, by its
    scores.csv, or because most clones have a file of Classroom 50's; else none."""
    clones = list(flat_clones(entries))
    is_its = (
        _FOLDER.fullmatch(context.name) is not None
        or 2 * len(_marked(entries, clones)) > len(clones)
        or _scores(entries) is not None
    )
    return {place[0] for place in clones} if is_its else set()


def _prefixes(context: CollectionContext, marked: Mapping[Place, Entry]) -> list[str]:
    """Return prefixes that the clones' names may have, in small letters: by the collection's name,
    and by what the marked clones say most often."""
    named = _FOLDER.fullmatch(context.name)
    said = Counter(
        f"{found['classroom']}-{found['assignment']}-".casefold()
        for found in (dict(_NAMED.findall(_text(entry, MIB))) for entry in marked.values())
        if len(found) == 2
    )
    folder = [f"{named['said']}-".casefold()] if named else []
    return [*folder, *(prefix for prefix, _ in said.most_common(1))]


def _recorded(results: Entry | None) -> tuple[str, ...]:
    """Return notes on what results.json says of the newest submission, and its commit does not;
    none if it can't be read."""
    try:
        newest = json.loads(_text(results, _MOST_RESULTS))[0]
        tag = _TAG.fullmatch(newest["submission_tag"])
        result = newest["result"]
        notes = []
        if result.get("assignment_type") in ("group", "team"):
            notes.append(
                "Classroom 50 has it as a group's repository; its grade is told for the owner of "
                "it only."
            )
        if tag is None:
            return tuple(notes)
        at = datetime.strptime(tag[1], "%Y-%m-%dT%H-%M-%S").replace(tzinfo=UTC)
        committed = datetime.fromisoformat(str(result["datetime"]))
        if at - committed.astimezone(UTC) > _LONG_AFTER:
            notes.append(
                f"Classroom 50 recorded its newest submission at {at.isoformat()}, long after the "
                "date that the commit bears, which counts unless the list of the class says "
                "handed_in_at."
            )
        return tuple(notes)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        return ()


def _notes(scored: _ScoreLine | None, results: Entry | None) -> tuple[str, ...]:
    notes = list(_recorded(results))
    if scored is not None and not scored.has_submitted:
        notes.append("Classroom 50 knows of no submission of it; what lies in it is graded.")
    if scored is not None and scored.is_late:
        notes.append("Classroom 50 marks its newest submission as late.")
    return tuple(notes)


def _missing(scored: _ScoreLine) -> StudentUpload:
    """Return the upload of a student who has no repository."""
    why = (
        "Classroom 50 credits a submission in somebody else's repository, a group's; it is graded "
        "there."
        if scored.has_submitted
        else NOTHING
    )
    return StudentUpload(SCORES, scored.person, (), (why,), is_missing=True)


def read_classroom50(entries: Sequence[Entry], context: CollectionContext) -> Layout | None:
    clones = flat_clones(entries)
    if not clones:
        return None
    scores = _scores(entries)
    scored = scores or {}
    logins = {*context.logins, *scored}
    names = sorted(place[0] for place in clones)
    told = _prefixes(context, _marked(entries, list(clones)))
    prefix = assignment_prefix(names, context.name, logins, told)
    rest = [entry for entry in entries if scores is None or entry.path != (SCORES,)]
    found = flat_layout("classroom50", rest, clones, prefix)
    delivered = []
    for one in found.uploads:
        of_class = scored.get(folded(one.person.external["login"]))
        own = tuple(e for e in one.entries if len(e.path) > 1 or e.name not in _ITS_OWN)
        results = next((e for e in one.entries if e.path == (_RESULTS,)), None)
        person = of_class.person if of_class else one.person
        notes = _notes(of_class, results)
        delivered.append(replace(one, person=person, entries=own, notes=notes))
    there = {folded(one.person.external["login"]) for one in delivered}
    missing = [_missing(one) for login, one in scored.items() if login not in there]
    return replace(found, uploads=(*delivered, *missing))
