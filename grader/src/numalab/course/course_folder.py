"""The paths of a course's folder; every path of a batch comes from here."""

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
    """The folder that --out names. On a shared file system: nodes write next to a place and
    rename into it, and only the head process touches the database."""

    root: Path

    @property
    def rules(self) -> Path:
        """The instructor's course.toml: which attempt counts, late penalties, overrides."""
        return self.root / "course.toml"

    @property
    def secret(self) -> Path:
        """What students' seeds are derived from; for its owner only."""
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
        """Every collection of hand-ins as it was read, numbered from 1; the gradebook can be
        rebuilt from them."""
        return self.root / "deliveries"

    def collection_record(self, number: int) -> Path:
        return self.collection_records / f"{number:04}.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def intake(self) -> Path:
        """The last collection as it was read."""
        return self.root / "intake.json"

    @property
    def students(self) -> Path:
        """The id of each student, which is the same in every collection."""
        return self.root / "students.json"

    @property
    def submissions(self) -> Path:
        """Has a folder for each student."""
        return self.root / "submissions"

    def submission(self, student_id: str, lab: str, digest: str) -> Path:
        """Return the folder that has NN_name/ with the files that were taken; it never changes
        once it is there. `grade --submission` takes it."""
        return self.submissions / student_id / f"{lab}-{digest[:12]}"

    def attempts(self, target: GradingTarget) -> Path:
        return self.root / "attempts" / target.key

    def comparable_attempts(self, target: GradingTarget) -> Iterator[Path]:
        """Yield the folders of all attempts that a student has in a lab with the same digest of
        numalab and the same effort, whatever the files."""
        ending = self.attempts(target).name.partition("-")[2]
        for folder in self.attempts(target).parent.glob(f"*-{ending}"):
            yield from (path for path in folder.iterdir() if path.name.isdigit())

    def attempt(self, target: GradingTarget, number: int) -> Path:
        """Return the folder of one attempt: attempt.json, which is there when the attempt is
        complete, result.json of `grade --json`, report.html, evidence/ with a record for each
        language and machine, and output.txt."""
        return self.attempts(target) / str(number)

    def run(self, run_id: str) -> Path:
        """Return the folder of one call of `batch grade`: its job scripts, lists of targets, and
        logs."""
        return self.root / "runs" / run_id

    @property
    def report(self) -> Path:
        """Has index.html for the class, which links to the other pages."""
        return self.root / "report"

    def lab_report(self, lab: str) -> Path:
        """Return the path of a lab's page of the class."""
        return self.report / "labs" / f"{lab}.html"

    def student_report(self, student_id: str) -> Path:
        """Return a folder that can be handed to the student: index.html, and a page for each
        grading."""
        return self.report / "students" / student_id

    @property
    def pages_made(self) -> Path:
        """The digests of what each student's page was made from, so that only changed pages are
        made again."""
        return self.report / ".pages.json"
