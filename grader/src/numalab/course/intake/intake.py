"""Import a collection of hand-ins: who has handed in what, and the files, into the course's folder.

A student of whom nothing can be taken gets a problem with a sentence that says why.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from numalab.course.course_folder import PARTIAL, CourseFolder
from numalab.course.gradebook.rules import Rules
from numalab.course.intake.archives import (
    COLLECTION_LIMITS,
    READER,
    STUDENT_LIMITS,
    SUFFIXES,
    ForeignArchive,
    archive_suffix,
    copy_to_file,
    read_archive,
    strip_suffix,
)
from numalab.course.intake.choosing import choose_files, lab_in_name, lab_of_folder
from numalab.course.intake.clones import last_commit_at, make_empty_repository
from numalab.course.intake.foreign_archives import SUFFIX_KINDS, commands_for
from numalab.course.intake.layouts import read_layout, unwrapped
from numalab.course.intake.own_files import check_owner
from numalab.course.intake.student_list import match_students, merge_listed, read_student_list
from numalab.course.intake.students import Person, identify, read_known, write_changed, write_known
from numalab.course.intake.taking import Chosen, IsStarting, graded_names, never_starting
from numalab.course.intake.trees import GIT, Entry, Refused, folded, plain_file, walk_folder
from numalab.course.intake.uploads import NOTHING, CollectionContext, Layout, StudentUpload
from numalab.course.records import Intake, Problem, Student, Submission
from numalab.course.zones import taken_moment
from numalab.errors import NumalabError, UserError, reason_of
from numalab.labs.declaration import Lab
from numalab.untrusted.reader_pool import ReaderPool
from numalab.untrusted.visible import shown
from numalab.words import CountedStep, StepReport

SCHEMA = 1
# Archives that are read of one student: more than there are labs.
MOST_ARCHIVES = 16


# A submission, and the contents of its files by name.
TakenHandIn = tuple[Submission, Mapping[str, bytes]]
# Chooses what is taken of a student's entries, as choose_files does.
ChooseFiles = Callable[[Sequence[Entry]], tuple[tuple[Chosen, ...], tuple[str, ...]]]


def import_submissions(
    collection: Path,
    course: CourseFolder,
    labs: Mapping[str, Lab],
    progress: StepReport,
    students: Path | None = None,
    layout: str | None = None,
    *,
    rules: Rules | None = None,
    columns: Mapping[str, str] | None = None,
    is_starting: IsStarting = never_starting,
) -> Intake:
    """Read a collection, which is a folder or an archive, and write what is taken to the course.
    Call it with the course's lock held.

    Args:
        labs: the labs that are graded, by name.
        students: a list of the class; its students who handed in nothing become problems. None:
            there is no list.
        layout: one of LAYOUTS; None: the one that most entries have.
        rules: the course's rules, by which the list's times without a zone are understood.
        columns: meanings of the list's titles, as parse_column_options returns them.
        is_starting: tells whether a file is starting code.

    Raises:
        UserError: the collection, the list or the course's own files (students.json, the secret)
            can't be read or understood, or the course lies in the collection.
        NumalabError: the course can't be written, or a file of the collection not be read.
    """
    if course.root.resolve().is_relative_to(collection.resolve()):
        raise UserError(
            f"the course's folder {course.root} lies in the delivery {collection}, as if it were a "
            "student's; choose another place for it"
        )
    listed, remarks = ((), ()) if students is None else read_student_list(students, columns)
    with ExitStack() as stack:
        progress("reading the delivery")
        wanted = {name for lab in labs.values() for name in graded_names(lab)}
        readers = stack.enter_context(ReaderPool(READER))
        entries = _read_entries(collection, readers, stack, labs)
        logins = {folded(one.external.get("login", "")) for one in listed} - {""}
        about = CollectionContext(
            strip_suffix(collection.name),
            wanted,
            logins,
            lambda name: bool(lab_of_folder(name, labs) or lab_in_name(name, labs)),
        )
        found = _drop_lab_folders(read_layout(entries, about, layout), labs)
        if students is not None:
            found = _apply_list(found, listed, students.name, remarks)
        try:
            course.root.mkdir(parents=True, exist_ok=True)
            hint = lab_in_name(collection.name, labs)
            choose = partial(choose_files, labs=labs, hint=hint, is_starting=is_starting)
            zones = _Zones(rules or Rules(), shown(students.name) if students else "")
            return _import_layout(found, collection, course, choose, zones, progress, readers)
        except OSError as error:
            raise NumalabError(f"can't write to {course.root}: {reason_of(error)}") from error


def _import_layout(
    layout: Layout,
    collection: Path,
    course: CourseFolder,
    choose: ChooseFiles,
    zones: _Zones,
    progress: StepReport,
    readers: ReaderPool,
) -> Intake:
    people = [entry.person for entry in layout.uploads]
    students, known = identify(people, read_known(course.students))
    # First of all, so that ids are the same if this ends here and is begun again.
    write_known(course.students, known)
    for left in course.submissions.glob(f"*/{PARTIAL}*"):
        shutil.rmtree(left)
    problems = list(layout.problems)
    handed: list[TakenHandIn] = []
    with tempfile.TemporaryDirectory() as scratch:
        empty = make_empty_repository(Path(scratch) / "empty.git")
        for count, (one, student) in enumerate(zip(layout.uploads, students, strict=True), start=1):
            progress(CountedStep("reading hand-ins", f"{count} of {len(students)}"))
            if isinstance(student, str):
                problems.append(Problem(shown(one.source), student))
                continue
            chosen, sentences = _choose(one, choose, readers)
            # A list's time is the instructor's word, a commit's the student's.
            committed_at = None
            listed_at = one.person.handed_in_at
            if listed_at is None and one.repository is not None and chosen:
                committed_at = last_commit_at(one.repository, empty)
            chosen, not_hers = check_owner(course, student, chosen)
            sentences = (*sentences, *not_hers)
            if not chosen:
                whys = [(text, *one.notes) for text in sentences] or [one.notes]
                sentences = tuple(map(" ".join, whys))
            problems += [
                Problem(shown(one.source), text, student, one.is_missing) for text in sentences
            ]
            for of in chosen:
                at = zones.moment(listed_at, student, of.lab) or committed_at
                handed.append((_submission(one, student, of, at), of.files))
    handed, clashes = _resolve_duplicates(handed)
    for count, (submission, files) in enumerate(handed, start=1):
        progress(CountedStep("writing", f"{count} of {len(handed)}"))
        _write(course, submission, files)
    submissions = tuple(submission for submission, _ in handed)
    intake = Intake(layout.name, submissions, (*problems, *clashes), tuple(zones.remarks))
    write_changed(course.intake, {"schema": SCHEMA, "delivery": str(collection), **asdict(intake)})
    return intake


def _submission(
    upload: StudentUpload, student: Student, chosen: Chosen, handed_in_at: str | None
) -> Submission:
    """Return what is taken of an upload for one lab. handed_in_at: in ISO 8601 with a zone; None
    if not known."""
    local = upload.person.handed_in_at
    return Submission(
        student=student,
        lab=chosen.lab.name,
        languages=chosen.languages,
        digest=chosen.digest,
        files=tuple(sorted(chosen.files)),
        handed_in_at=handed_in_at,
        source=shown(upload.source),
        notes=(*upload.notes, *chosen.notes),
        is_zone_taken=local is not None and local.tzinfo is None,
    )


@dataclass
class _Zones:
    """The zones of the times in a list of the class, under the course's rules.

    Attributes:
        listed: the list's name.
        remarks: sentences on the zones that were assumed, as keys in order.
    """

    rules: Rules
    listed: str
    remarks: dict[str, None] = field(default_factory=dict)

    def moment(self, local: datetime | None, student: Student, lab: Lab) -> str | None:
        """Return a time in ISO 8601 with a zone; None for None. Raises UserError for a time at the
        ends of the calendar."""
        if local is None:
            return None
        try:
            taken, why = taken_moment(
                local, self.rules.timezone, self.rules.deadline(student.id, lab.name)
            )
        except (OverflowError, OSError, ValueError) as error:
            raise UserError(
                f"{self.listed}: {student.name}: {local} is no time to hand in"
            ) from error
        if why:
            self.remarks[f"{self.listed}: {why}"] = None
        return taken.isoformat()


# ---- reading -------------------------------------------------------------------------------


def _read_entries(
    collection: Path, readers: ReaderPool, stack: ExitStack, labs: Mapping[str, Lab]
) -> tuple[Entry, ...]:
    """Return the entries of a collection, which can be read until the stack is closed."""
    try:
        if collection.is_dir():
            entries = tuple(walk_folder(collection))
        elif collection.is_file():
            file = stack.enter_context(plain_file(collection.resolve()))
            entries = read_archive(file, collection.name, COLLECTION_LIMITS, readers, stack)
            inside = unwrapped(entries)
            if inside and not _hand_in_itself(inside, labs):
                entries = inside
        else:
            raise UserError(
                f"there is no {collection}; name the folder or the archive that holds the class's "
                "hand-ins"
            )
    except ForeignArchive as error:
        folder = strip_suffix(collection.name) or collection.name
        commands = commands_for(error.kind, str(collection), str(collection.with_name(folder)))
        lines = [f"  {command}    (package {package})" for command, package in commands.items()]
        raise UserError(
            f"{collection} is {error.kind.called}, which is not read here. Make a folder of it, by "
            "one of these, and name that instead:\n" + "\n".join(lines)
        ) from error
    except Refused as error:
        raise UserError(
            f"{collection} can't be read: {error}. A delivery is a folder, or an archive "
            f"({', '.join(SUFFIXES)})."
        ) from error
    except OSError as error:
        raise UserError(f"{collection} can't be read: {reason_of(error)}") from error
    if not entries:
        raise UserError(f"{collection} is empty; name the folder with the class's hand-ins")
    found = _hand_in_itself(entries, labs)
    if found:
        raise UserError(
            f"{collection} holds {shown(found)} itself, so it is one student's hand-in. Name the "
            "folder above it, which has a folder or an archive for each student."
        )
    return entries


def _hand_in_itself(entries: Sequence[Entry], labs: Mapping[str, Lab]) -> str:
    """Return the name of an entry which shows that all are one student's and not a class's: there
    are labs' folders or graded files at the top, at least as many as other entries that could be a
    student's. Empty: they are not."""
    wanted = {folded(name) for lab in labs.values() for name in graded_names(lab)}
    labs_own: dict[str, None] = {}
    others: set[str] = set()
    with_clones = {e.path[0] for e in entries if len(e.path) > 2 and e.name == GIT and e.folder}
    for entry in entries:
        top = entry.path[0]
        is_file = len(entry.path) == 1 and entry.kind != "folder"
        if top in with_clones:  # a group of students' projects may have a lab's name
            others.add(top)
        elif lab_of_folder(top, labs) == top or (is_file and folded(top) in wanted):
            labs_own[top] = None
        elif not is_file or archive_suffix(top):
            others.add(top)
    return next(iter(labs_own), "") if len(labs_own) >= len(others) else ""


def _drop_lab_folders(layout: Layout, labs: Mapping[str, Lab]) -> Layout:
    """Turn uploads that have a lab's name into problems: the student is not known."""
    named = {one.source for one in layout.uploads if lab_of_folder(one.source, labs) == one.source}
    problems = tuple(
        Problem(
            shown(source),
            f"{shown(source)} is named as a lab, and not as a student: whose it is does not show. "
            "Put it into a folder with the student's name.",
        )
        for source in sorted(named)
    )
    delivered = tuple(one for one in layout.uploads if one.source not in named)
    return replace(layout, uploads=delivered, problems=(*layout.problems, *problems))


def _apply_list(
    layout: Layout, listed: Sequence[Person], name: str, remarks: Sequence[str]
) -> Layout:
    """Return the layout completed by a list of the class.

    Uploads get the list's names, keys and times of handing in, or a note if the list does not tell
    which student it is. Students without an upload are added with is_missing, and remarks on the
    list as problems. name: the list's.
    """
    lines = match_students([entry.person for entry in layout.uploads], listed)
    found = []
    for entry, line in zip(layout.uploads, lines, strict=True):
        note = () if line else (f"This name is not in the list {shown(name)}.",)
        person = merge_listed(entry.person, line)
        found.append(replace(entry, person=person, notes=(*entry.notes, *note)))
    missing = [
        StudentUpload(name, line, (), (NOTHING,), is_missing=True)
        for line in listed
        if not any(line is other for other in lines)
    ]
    said = [Problem(shown(name), remark) for remark in remarks]
    return replace(layout, uploads=(*found, *missing), problems=(*layout.problems, *said))


def _choose(
    upload: StudentUpload, choose: ChooseFiles, readers: ReaderPool
) -> tuple[tuple[Chosen, ...], tuple[str, ...]]:
    """Choose what is taken of one student's entries, archives included; return that, and a sentence
    for each problem."""
    if upload.is_missing:
        return (), ()
    problems: list[str] = []
    with ExitStack() as stack:
        entries: list[Entry] = []
        count = 0
        for entry in upload.entries:
            if len(entry.path) > 1 or entry.kind != "file" or not archive_suffix(entry.name):
                entries.append(entry)
                continue
            count += 1
            if count > MOST_ARCHIVES:
                problems.append(f"Of more than {MOST_ARCHIVES} archives the others are not read.")
                break
            try:
                # An archive in a student's folder counts as a folder; one in place of it does not.
                above = () if entry.name == upload.source else (entry.name,)
                entries += _members(entry, above, readers, stack)
            except Refused as error:
                problems.append(f"{error}.")
        if problems and not entries:
            return (), tuple(problems)
        chosen, sentences = choose(entries)
    return chosen, (*problems, *sentences)


def _members(
    entry: Entry, folders: tuple[str, ...], readers: ReaderPool, stack: ExitStack
) -> list[Entry]:
    """Return the members of a student's archive, with `folders` before their paths."""
    if entry.refused or entry.opener is None:
        raise Refused(f"{shown(entry.name)} {entry.refused}")
    kind = SUFFIX_KINDS.get(archive_suffix(entry.name))
    if kind is not None:
        raise ForeignArchive(entry.name, kind)
    with entry.opener() as packed:
        file = copy_to_file(packed, STUDENT_LIMITS.archive_bytes, entry.name, stack)
    members = read_archive(file, entry.name, STUDENT_LIMITS, readers, stack)
    if not members:
        raise Refused(f"{shown(entry.name)} is empty")
    return [replace(member, path=(*folders, *member.path)) for member in members]


def _resolve_duplicates(handed: Sequence[TakenHandIn]) -> tuple[list[TakenHandIn], list[Problem]]:
    """Keep one hand-in per student and lab: the first of several with the same files, but none of
    several with different files, which become a problem."""
    groups: dict[tuple[str, str], list[TakenHandIn]] = {}
    for hand_in in handed:
        groups.setdefault((hand_in[0].student.id, hand_in[0].lab), []).append(hand_in)
    kept, problems = [], []
    for (_, lab), group in sorted(groups.items()):
        first = group[0][0]
        if len({submission.digest for submission, _ in group}) == 1:
            kept.append(group[0])
            continue
        sources = " and ".join(submission.source for submission, _ in group)
        why = f"{lab}: {sources} both hold files of it, and they differ; hand in one of them."
        problems.append(Problem(first.source, why, first.student))
    return kept, problems


# ---- writing -------------------------------------------------------------------------------


def _write(course: CourseFolder, submission: Submission, files: Mapping[str, bytes]) -> None:
    """Write a hand-in's files to the course, unless they are there."""
    folder = course.submission(submission.student.id, submission.lab, submission.digest)
    if folder.exists():
        return
    unfinished = folder.with_name(f"{PARTIAL}{folder.name}-{os.getpid()}")
    (unfinished / submission.lab).mkdir(parents=True)
    for name, content in files.items():
        (unfinished / submission.lab / name).write_bytes(content)
    unfinished.rename(folder)
