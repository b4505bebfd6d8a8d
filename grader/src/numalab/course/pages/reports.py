"""Write a course's pages; a student's only if it is missing or what it is made from has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.standing import Standing, StandingRow, rows_by_student
from numalab.course.pages.class_facts import class_facts
from numalab.course.pages.class_page import class_page, lab_page
from numalab.course.pages.graded_page import drawn_page
from numalab.course.pages.graded_pictures import Picture, first_pictures
from numalab.course.pages.student_page import attempt_name, pictured_row, student_page
from numalab.course.records import Attempt
from numalab.course.similarity import EqualKernels
from numalab.errors import NumalabError, UserError, reason_of
from numalab.files import link_or_copy, read_json, write_json, write_whole
from numalab.installation import Installation
from numalab.labs.declaration import LANGUAGE_NAMES, Lab
from numalab.labs.variants import labs_and_variants
from numalab.reports.html_page import TEMPLATES
from numalab.words import CountedStep, StepReport

MADE_BETWEEN = 25  # students' pages between two reports of progress


def _put(source: Path, target: Path) -> bool:
    """Link or copy an attempt's page into place, unless one is there. Return False if the attempt
    has none."""
    try:
        link_or_copy(source, target)
    except FileExistsError:
        return True
    except FileNotFoundError:
        return False
    return True


# ---- which pages are to be made ------------------------------------------------------------


def _shared_digest(labs: Mapping[str, Lab], title: str) -> str:
    """Return a digest of the title, the labs, the templates of students' pages and this folder's
    modules."""
    digest = hashlib.sha256(repr((title, sorted(labs.items()))).encode())
    for name in ("student.html", "parts.html", "report.css"):
        digest.update((TEMPLATES / name).read_bytes())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _attempt_key(attempt: Attempt | None) -> tuple[object, ...] | None:
    """Return what identifies an attempt, and its state; None for None."""
    if attempt is None:
        return None
    return attempt.target.key, attempt.number, attempt.state


def _digest(rows: Sequence[StandingRow], shared: str) -> str:
    """Return a digest of a student's rows and of `shared`, the digest of what all pages share."""
    facts = [
        (
            row.student.name, row.lab, row.points, row.max_points, row.gradable_points,
            row.is_preliminary, row.late_s, row.penalty, row.override_reason, row.notes,
            row.language, row.is_handed_in, row.is_not_taken, row.is_late_unknown,
            _attempt_key(row.attempt),
            [_attempt_key(other) for other in row.others], row.parts, row.is_part,
        )
        for row in rows
    ]  # fmt: skip
    return hashlib.sha256(repr((shared, facts)).encode()).hexdigest()


# ---- writing -----------------------------------------------------------------------------


def _write_class(
    course: CourseFolder, standing: Standing, labs: Mapping[str, Lab], alike: Sequence[EqualKernels]
) -> None:
    facts = class_facts(standing, labs)
    for lab in facts.labs:
        path = course.lab_report(lab.name)
        path.parent.mkdir(exist_ok=True)
        write_whole(path, lab_page(standing, lab, labs))
    write_whole(course.report / "index.html", class_page(standing, facts, labs, alike))


@dataclass(frozen=True)
class _StudentsPages:
    """The pages of a course's students. title: the course's."""

    course: CourseFolder
    installation: Installation
    labs: Mapping[str, Lab]
    title: str

    def write(self, rows: Mapping[str, Sequence[StandingRow]], progress: StepReport) -> None:
        """Write the students' pages that are missing or changed. Those written are noted even if
        another can't be."""
        of_kit = _shared_digest(self.labs, self.title)
        wanted = {student_id: _digest(of, of_kit) for student_id, of in rows.items()}
        found = read_json(self.course.pages_made)
        made: dict[str, str] = found if isinstance(found, dict) else {}
        todo = [
            student_id
            for student_id, digest in wanted.items()
            if made.get(student_id) != digest or not self._first_page(student_id).is_file()
        ]
        try:
            for number, student_id in enumerate(todo):
                if number % MADE_BETWEEN == 0:
                    progress(CountedStep("students' pages", f"{number} of {len(todo)}"))
                self._write_student(rows[student_id])
                made[student_id] = wanted[student_id]
        finally:
            if todo:
                write_json(self.course.pages_made, made, indent=None)

    def _first_page(self, student_id: str) -> Path:
        return self.course.student_report(student_id) / "index.html"

    def _write_student(self, rows: Sequence[StandingRow]) -> None:
        student = rows[0].student
        folder = self.course.student_report(student.id)
        folder.mkdir(parents=True, exist_ok=True)
        pages = self._put_pages(rows, folder)
        seen = _next_pictures(rows, pages, folder)
        page = student_page(student, rows, self.labs, self.title, pages, seen)
        write_whole(self._first_page(student.id), page)

    def _put_pages(self, rows: Iterable[StandingRow], folder: Path) -> set[str]:
        """Put the pages of a student's attempts into the student's folder; return the names of
        attempts that have one."""
        shown = {attempt_name(attempt): attempt for row in rows for attempt in row.attempts}
        return {
            name
            for name, attempt in shown.items()
            if self._put_page(attempt, folder / f"{name}.html")
        }

    def _put_page(self, attempt: Attempt, target: Path) -> bool:
        """Put an attempt's page into place; for one that was judged again and has none it is drawn,
        once. Return whether there is a page."""
        if attempt.state != "graded":
            return False
        source = self.course.attempt(attempt.target, attempt.number) / "report.html"
        if target.is_file() or _put(source, target):
            return True
        if not attempt.rejudged_at:
            return False
        text = drawn_page(self.course, self.installation, self.labs, attempt)
        if text is not None:
            write_whole(target, text)
        return text is not None


def _next_pictures(
    rows: Sequence[StandingRow], pages: Collection[str], folder: Path
) -> list[Picture]:
    """Return the pictures with which a student's page begins, from the page of their grading; none
    if there is no such page."""
    row = pictured_row(rows)
    if row is None or row.attempt is None or row.result is None:
        return []
    name = attempt_name(row.attempt)
    if name not in pages:
        return []
    text = (folder / f"{name}.html").read_text("utf-8", errors="replace")
    return first_pictures(text, LANGUAGE_NAMES[row.result["language"]])


def _check(student_ids: Collection[str]) -> None:
    """Raise NumalabError if an id can't name a folder: a gradebook may be changed by hand."""
    for student_id in student_ids:
        if not student_id or student_id.startswith(".") or "/" in student_id or "\0" in student_id:
            raise NumalabError(
                f"the gradebook has a student {student_id!r}, an id that can't be a folder's name. "
                "./numalab gradebook rebuild makes it again from what was handed in."
            )


@contextmanager
def _explain_errors(course: CourseFolder) -> Iterator[None]:
    """Turn an OSError into a NumalabError which says that pages can't be written."""
    try:
        yield
    except OSError as error:
        raise NumalabError(
            f"the reports can't be written to {course.report}: {reason_of(error)}"
        ) from error


def write_class_reports(
    course: CourseFolder,
    installation: Installation,
    standing: Standing,
    progress: StepReport,
    alike: Sequence[EqualKernels] = (),
) -> Path:
    """Write the class's pages; return the path of the first. alike: equal kernels to be shown.
    Raises NumalabError if they can't be written."""
    progress("the class's pages")
    with _explain_errors(course):
        course.report.mkdir(parents=True, exist_ok=True)
        _write_class(course, standing, labs_and_variants(installation.root), alike)
    return course.report / "index.html"


def write_reports(
    course: CourseFolder,
    installation: Installation,
    standing: Standing,
    progress: StepReport,
    students: Collection[str] | None = None,
    alike: Sequence[EqualKernels] = (),
) -> Path:
    """Write the class's pages, and those students' pages that are missing or changed.

    Args:
        students: ids of the students whose pages are written, without the class's pages; None: all
            students, and the class's pages.
        alike: equal kernels, which the class's page shows.

    Returns:
        The path of the class's first page; with students, of the only student's page, or of the
        folder of students' pages.

    Raises:
        UserError: there is no such student.
        NumalabError: a page can't be written, or an id can't name a folder.
    """
    labs = labs_and_variants(installation.root)
    rows = rows_by_student(standing.rows_with_variants)
    _check(rows)
    for student_id in students or ():
        if student_id not in rows:
            raise UserError(
                f"there is no student '{student_id}' in {course.root}; ./numalab gradebook show "
                "lists all"
            )
    if students is None:
        write_class_reports(course, installation, standing, progress, alike)
    chosen = rows if students is None else {student_id: rows[student_id] for student_id in students}
    with _explain_errors(course):
        _StudentsPages(course, installation, labs, standing.title).write(chosen, progress)
    if students is None:
        return course.report / "index.html"
    if len(students) == 1:
        return course.student_report(next(iter(students))) / "index.html"
    return course.report / "students"
