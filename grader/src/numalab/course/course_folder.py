"""Where a course keeps what; every path of a batch comes from here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from numalab.course.records import GradingTarget

# What is being written has a name that begins so, until it is renamed into place; what a run that
# was killed has left of it the next one removes.
PARTIAL = ".partial-"


@dataclass(frozen=True)
class CourseFolder:
    """The folder that --out names. On a shared file system: what nodes write is written beside
    its place and renamed into it, and only the head process touches the database."""

    root: Path

    @property
    def rules(self) -> Path:
        """The instructor's course.toml: which attempt counts, late penalties, overrides."""
        return self.root / "course.toml"

    @property
    def secret(self) -> Path:
        """What students' seeds are made from; nobody else's to read."""
        return self.root / "secret"

    @property
    def gradebook(self) -> Path:
        return self.root / "gradebook.sqlite"

    @property
    def gradebook_lock(self) -> Path:
        """Held by the process that writes the gradebook."""
        return self.root / "gradebook.lock"

    @property
    def collection_records(self) -> Path:
        """Every delivery as it was read, numbered from 1; the gradebook is made again from
        them."""
        return self.root / "deliveries"

    def collection_record(self, number: int) -> Path:
        return self.collection_records / f"{number:04}.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def intake(self) -> Path:
        """The last delivery as it was read."""
        return self.root / "intake.json"

    @property
    def students(self) -> Path:
        """Which id each student has, so that it is the same in every delivery."""
        return self.root / "students.json"

    @property
    def submissions(self) -> Path:
        """Holds a folder for each student."""
        return self.root / "submissions"

    def submission(self, student_id: str, lab: str, digest: str) -> Path:
        """Holds NN_name/ with the files that were taken; never changed once it is there. The
        folder above NN_name/ is what `grade --submission` takes."""
        return self.submissions / student_id / f"{lab}-{digest[:12]}"

    def attempts(self, target: GradingTarget) -> Path:
        return self.root / "attempts" / target.key

    def comparable_attempts(self, target: GradingTarget) -> Iterator[Path]:
        """Folders of all attempts at what a student has handed in for a lab, whatever the files,
        measured by the same kit with the same effort."""
        ending = self.attempts(target).name.partition("-")[2]
        for folder in self.attempts(target).parent.glob(f"*-{ending}"):
            yield from (path for path in folder.iterdir() if path.name.isdigit())

    def attempt(self, target: GradingTarget, number: int) -> Path:
        """Holds attempt.json, whose being there says that it is over, result.json of
        `grade --json`, report.html, evidence/ with a record for each language and place, and
        output.txt."""
        return self.attempts(target) / str(number)

    def run(self, run_id: str) -> Path:
        """One call of `batch grade`: its job scripts, lists of items, and logs."""
        return self.root / "runs" / run_id

    @property
    def report(self) -> Path:
        """index.html for the class, which links to the others."""
        return self.root / "report"

    def lab_report(self, lab: str) -> Path:
        """The class in one lab."""
        return self.report / "labs" / f"{lab}.html"

    def student_report(self, student_id: str) -> Path:
        """A folder that can be handed to the student: index.html, and a page for each of the
        student's gradings."""
        return self.report / "students" / student_id

    @property
    def pages_made(self) -> Path:
        """What each student's page was made from, so that only those that change are made."""
        return self.report / ".pages.json"
