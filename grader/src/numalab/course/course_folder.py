"""The paths in a course's folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from numalab.course.records import GradingTarget

# How the name of a file or folder begins until it is complete and renamed into place. What a killed
# command has left of these is removed by a later one.
PARTIAL = ".partial-"


@dataclass(frozen=True)
class CourseFolder:
    """The course's folder. It may lie on a shared file system."""

    root: Path

    @property
    def rules(self) -> Path:
        """The instructor's course.toml."""
        return self.root / "course.toml"

    @property
    def secret(self) -> Path:
        """The file from which students' seeds are derived."""
        return self.root / "secret"

    @property
    def gradebook(self) -> Path:
        return self.root / "gradebook.sqlite"

    @property
    def gradebook_lock(self) -> Path:
        """The lock that is held by the process that writes the gradebook."""
        return self.root / "gradebook.lock"

    @property
    def collection_records(self) -> Path:
        """The folder with the collections of hand-ins as they were read, in numbered files."""
        return self.root / "deliveries"

    def collection_record(self, number: int) -> Path:
        return self.collection_records / f"{number:04}.json"

    @property
    def lock(self) -> Path:
        """The lock that is held by a command that changes the course."""
        return self.root / "lock"

    @property
    def intake(self) -> Path:
        """The file with the last collection as it was read."""
        return self.root / "intake.json"

    @property
    def students(self) -> Path:
        """The file with the students: ids, names and keys."""
        return self.root / "students.json"

    @property
    def submissions(self) -> Path:
        """The folder with the files that were taken, in a folder for each student."""
        return self.root / "submissions"

    def submission(self, student_id: str, lab: str, digest: str) -> Path:
        """Return the folder that has NN_name/ with the files that were taken."""
        return self.submissions / student_id / f"{lab}-{digest[:12]}"

    def attempts(self, target: GradingTarget) -> Path:
        return self.root / "attempts" / target.key

    def comparable_attempts(self, target: GradingTarget) -> Iterator[Path]:
        """Yield the folders of all attempts of the target's student and lab with the same digest of
        numalab and the same effort, whatever the files."""
        ending = self.attempts(target).name.partition("-")[2]
        for folder in self.attempts(target).parent.glob(f"*-{ending}"):
            yield from (path for path in folder.iterdir() if path.name.isdigit())

    def attempt(self, target: GradingTarget, number: int) -> Path:
        """Return the folder of one attempt. It has attempt.json, once the attempt is complete, and
        what its grading has left: result.json of `grade --json`, report.html, evidence/ with a
        record for each language and machine, and output.txt."""
        return self.attempts(target) / str(number)

    def run(self, run_id: str) -> Path:
        """Return the folder of one run: run.json with its tasks, logs, on Slurm the job script, and
        the files that say how far it is (jobs/runs.py)."""
        return self.root / "runs" / run_id

    @property
    def report(self) -> Path:
        """The folder of the pages, with index.html for the class."""
        return self.root / "report"

    def lab_report(self, lab: str) -> Path:
        """Return the path of the class's page of a lab."""
        return self.report / "labs" / f"{lab}.html"

    def student_report(self, student_id: str) -> Path:
        """Return the folder that can be handed to the student: index.html, and the pages of the
        gradings."""
        return self.report / "students" / student_id

    @property
    def pages_made(self) -> Path:
        """The file with digests of what each student's page was made from, so that only pages that
        change are made again."""
        return self.report / ".pages.json"
