"""The codes of a course's students."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numalab.course.course_folder import CourseFolder
from numalab.course.csv_files import CsvTable, escape_formula
from numalab.course.intake.student_list import read_student_list
from numalab.course.intake.students import identify, read_known, write_known
from numalab.course.locks import hold_lock
from numalab.course.records import Student
from numalab.course.secret import seed_of
from numalab.errors import NumalabError, UserError, reason_of
from numalab.labs.seeds import Seed

HEADER = ("id", "name", "code")


def list_codes(
    course: CourseFolder,
    student_list: Path | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[list[tuple[Student, Seed]], list[str]]:
    """Return all students that a course knows, ordered by id, with their seeds; and remarks on what
    of the list is left out or not understood, or on which students it does not identify.

    Args:
        student_list: a list of the class, whose students are added to the course's; None: none are
            added.
        columns: what the list's titles mean, as parse_column_options returns them.

    Raises:
        LockedError: another command holds the course.
        UserError: the list, the course's students or its secret can't be read, the lock or the
            secret can't be written, or the course knows no students.
        NumalabError: the course's folder or students.json can't be written.
    """
    remarks: list[str] = []
    try:
        course.root.mkdir(parents=True, exist_ok=True)
        with hold_lock(course.lock, lambda who: f"the course is held by {who}; wait for it"):
            known = read_known(course.students)
            if student_list is not None:
                lines, told = read_student_list(student_list, columns)
                found, known = identify(lines, known)
                remarks += [*told, *(one for one in found if isinstance(one, str))]
                write_known(course.students, known)
    except OSError as error:
        raise NumalabError(f"can't write to {course.root}: {reason_of(error)}") from error
    if not known:
        raise UserError(
            f"{course.root} knows no students yet: name a list of the class with --students FILE, "
            "or take in a delivery first"
        )
    students = sorted((one.student for one in known), key=lambda student: student.id)
    return [(student, seed_of(course, student.id)) for student in students], remarks


def format_codes(codes: list[tuple[Student, Seed]]) -> str:
    """Return the codes as the text of a CSV file, with a line of titles."""
    rows = [(s.id, escape_formula(s.name), seed.code) for s, seed in codes]
    return CsvTable([HEADER, *rows]).text()
