"""A course that another version of numalab has measured: what counts, and what is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from support import invented
from support.golden_texts import check_text
from support.invented import FAST, TWO_NODES
from support.stored_courses import Graded, kit_without_build, stored_course

from numalab.commands import batch_grade, batch_versions
from numalab.commands.root import cli
from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.jobs.dispatcher import Dispatcher, RequestedGrading, missing_tasks
from numalab.course.other_versions import (
    results_of_other_versions,
    use_stored_digests,
)
from numalab.course.records import Attempt, GradingTarget
from numalab.course.rejudging import current_digests, find_pending, judge_all
from numalab.errors import UserError
from numalab.evidence.read_record import record_of
from numalab.files import write_json
from numalab.grading.numalab_digests import FORMER_DIGESTS, known_as, measured_by
from numalab.grading.timing_reuse import Earlier, earlier_times, fingerprints
from numalab.installation import Installation
from numalab.judging.effort import effort_for
from numalab.labs.declaration import load_labs

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from former_digests import with_rows

LAB = "01_first_touch"
BEGUN, ENDED = "2027-05-04T10:00:00+00:00", "2027-05-04T10:45:00+00:00"


@pytest.fixture(scope="module")
def bare(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    made = kit_without_build(installation, tmp_path_factory.mktemp("kit"))
    for path in installation.root.glob("solutions/*/wrong"):
        (made.root / path.relative_to(installation.root)).symlink_to(path)
    return made


@pytest.fixture
def own(bare: Installation) -> Iterator[Installation]:
    """A kit whose driver and table a test may change."""
    files = [bare.grading_folder(LAB) / "driver.c", bare.root / FORMER_DIGESTS]
    before = {path: path.read_text() for path in files}
    yield bare
    for path, text in before.items():
        path.write_text(text)


def change_driver(installation: Installation) -> tuple[str, str]:
    """The digests by which the lab was measured, and is."""
    old = measured_by(installation, LAB)
    path = installation.grading_folder(LAB) / "driver.c"
    path.write_text(path.read_text() + "extern int numalab_changed;\n")
    return old, measured_by(installation, LAB)


def proved_equal(installation: Installation, old: str, new: str) -> None:
    (installation.root / FORMER_DIGESTS).write_text(f'[0123abcd]\n{LAB} = ["{old}", "{new}"]\n')


def kept(course: CourseFolder) -> list[Attempt]:
    return list(attempts.all_attempts(course))


# ---- what an equal version has measured ---------------------------------------------------


def test_former_digests_stand_for_the_present_one_also_through_others(own: Installation) -> None:
    first, second = change_driver(own)
    proved_equal(own, first, second)
    third = change_driver(own)[1]
    assert known_as(own, LAB) == (third,)
    table = own.root / FORMER_DIGESTS
    table.write_text(f'{table.read_text()}[4567cdef]\n{LAB} = ["{second}", "{third}"]\n')
    assert known_as(own, LAB) == (third, second, first)
    assert known_as(own, "02_affinity") == (measured_by(own, "02_affinity"),)
    table.unlink()
    assert known_as(own, LAB) == (third,), "a copy that has none"
    table.write_text("")


def test_a_commits_rows_take_the_place_of_those_that_it_had() -> None:
    table = '# head\n\n[aa]\nx = ["1", "2"]\n\n[bb]\nx = ["2", "3"]\ny = ["4", "5"]\n'
    made = with_rows(table, "bb", {"x": "6", "gone": "7"}, {"x": "8", "new": "9"})
    assert made == '# head\n\n[aa]\nx = ["1", "2"]\n\n[bb]\nx = ["6", "8"]\n'
    assert with_rows(made, "bb", {"x": "6"}, {"x": "8"}) == made
    assert with_rows(made, "aa", {"x": "1"}, {"x": "2"}).endswith('[aa]\nx = ["1", "2"]\n')


def test_the_kits_own_table_can_be_read(installation: Installation) -> None:
    assert known_as(installation, LAB)[0] == measured_by(installation, LAB)
    assert (installation.root / FORMER_DIGESTS).is_file()


def test_a_course_of_an_equal_version_is_judged_again_and_not_measured(
    own: Installation, tmp_path: Path
) -> None:
    record = invented.evidence(TWO_NODES, times=invented.steady(13, **FAST))
    course = stored_course(own, tmp_path / "course", [Graded("ada", record)])
    old, new = change_driver(own)
    rules = own.grading_folder(LAB) / "lab.toml"
    before = rules.read_text()
    try:
        rules.write_text(before.replace("at_least = 0.95", "at_least = 0.9"))
        assert find_pending(kept(course), current_digests(own, [LAB])).measured_otherwise == 1
        proved_equal(own, old, new)
        digests = current_digests(own, [LAB])
        found = find_pending(kept(course), digests)
        assert [a.target.student_id for a in found.attempts] == ["ada"] and not (
            found.measured_otherwise
        )
        labs = load_labs(own.root)
        (made,) = judge_all(course, own, labs, found.attempts, digests, lambda step: None).rejudged
        assert made.new.target == made.old.target and made.new.judged_by == digests.judged[LAB]
    finally:
        rules.write_text(before)


def test_times_go_on_from_records_of_an_equal_version(own: Installation, tmp_path: Path) -> None:
    record = record_of(invented.evidence(invented.ONE_NODE) | {"sandbox": "none"})

    def prints() -> tuple[str, ...]:
        lab, effort = load_labs(own.root)[LAB], effort_for("default", True)
        return fingerprints(own, lab, tmp_path / "worker", {}, effort, 4, record)

    then, *_ = prints()  # behind it those of earlier releases
    old, new = change_driver(own)
    assert then not in prints()
    proved_equal(own, old, new)
    now, former = prints()
    assert former == then != now
    kept = invented.evidence(TWO_NODES, times=invented.steady(13, **FAST)) | {"fingerprint": then}
    write_json(tmp_path / "evidence.json", kept)
    assert len(earlier_times([tmp_path], (now, former)).runs) == 13
    assert earlier_times([tmp_path], (now,)) == Earlier()


ITEM = GradingTarget("ada", LAB, "d", "now", "default")


def graded(item: GradingTarget, number: int = 1, **changes: str) -> Attempt:
    made = Attempt(item, number, "graded", BEGUN, ENDED, (), {}, "none")
    return replace(made, **changes)  # type: ignore[arg-type]


def test_an_item_goes_by_the_digest_that_the_course_has_it_by() -> None:
    names = {LAB: ("now", "last", "first")}
    wanted = [
        RequestedGrading(ITEM, ("c",)),
        RequestedGrading(replace(ITEM, student_id="bob"), ("c",)),
    ]
    first, last = (replace(ITEM, numalab_digest=digest) for digest in ("first", "last"))

    def named(*kept: GradingTarget) -> list[str]:
        return [each.target.numalab_digest for each in use_stored_digests(wanted, names, kept)]

    assert named() == ["now", "now"]
    assert named(first) == ["first", "now"]
    assert named(first, last) == ["last", "now"]
    assert named(first, ITEM) == ["now", "now"]
    others = (
        replace(first, numalab_digest="x"),
        replace(first, digest="e"),
        replace(first, effort="q"),
    )
    assert named(*others) == ["now", "now"]


def test_what_only_others_have_graded() -> None:
    wanted = [RequestedGrading(ITEM, ("c",))]
    other = replace(ITEM, numalab_digest="other")
    first, last = graded(other), graded(other, 2, ended_at="2027-05-04T11:00:00+00:00")
    assert results_of_other_versions(wanted, [first, last]) == {ITEM: last}
    assert (first.took_s, last.took_s) == (45 * 60, 60 * 60)
    assert (
        results_of_other_versions(wanted, [first, replace(graded(ITEM), state="node_failed")]) == {}
    )
    assert results_of_other_versions(wanted, [first], {ITEM}) == {}, "a job is at it"
    assert results_of_other_versions(wanted, [replace(first, state="lost")]) == {}
    quick = graded(replace(other, effort="quick"))
    assert results_of_other_versions(wanted, [quick, graded(replace(other, digest="e"))]) == {}


# ---- batch grade ----------------------------------------------------------------------------


class Class:
    """Two hand-ins that are graded, and a third that is not. In place of gradings it is noted
    whose there would be."""

    def __init__(
        self, installation: Installation, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.installation, self.folder, self.patch = installation, folder, monkeypatch
        self.begun: list[GradingTarget] = []
        self.course = CourseFolder(folder / "course")
        monkeypatch.setattr(batch_grade, "_grade", self._note)
        for name in ("ada", "bob"):
            self.hand_in(name)
        assert self.grade()[0] == 1
        with use_gradebook(self.course) as book:
            made = [graded(item) for item in self.begun]
            for attempt in made:
                partial = attempts.partial_folder(self.course, attempt.target, 1, "run", "me")
                partial.mkdir(parents=True)
                assert attempts.publish(self.course, partial, attempt)
            book.add_attempts(made)
        self.hand_in("eve")

    def hand_in(self, name: str) -> None:
        folder = self.folder / "in" / name
        folder.mkdir(parents=True)
        text = (self.installation.lab_folder(LAB) / "kernel.c").read_text()
        (folder / "kernel.c").write_text(f"{text}int {name};\n")

    def _note(
        self,
        options: object,
        course: CourseFolder,
        head: Dispatcher,
        wanted: list[RequestedGrading],
    ) -> bool:
        head.note_earlier()
        self.begun = [task.target for task in missing_tasks(course, wanted, head.graded)]
        return True

    def grade(self, *options: str, answer: str = "") -> tuple[int, str, str]:
        """Code, what is said, and whose hand-ins would be graded."""
        self.begun = []
        if answer:
            terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
            self.patch.setattr(batch_versions, "sys", terminal)
        done = CliRunner().invoke(
            cli,
            ["batch", "grade", str(self.folder / "in"), "--out", str(self.course.root), "--local",
             "--force", "--labs", "01", *options],
            standalone_mode=False, input=answer, env={"NUMALAB_ROOT": str(self.installation.root)},
        )  # fmt: skip
        if not isinstance(done.exception, UserError | SystemExit | None):
            raise done.exception
        is_wrong_use = isinstance(done.exception, UserError)
        said = f"{done.output} {done.exception}" if is_wrong_use else done.output
        names = " ".join(item.student_id for item in self.begun)
        return 2 if is_wrong_use else done.return_value, " ".join(said.split()), names


def test_batch_grade_asks_before_it_measures_another_versions_course_again(
    own: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = Class(own, tmp_path, monkeypatch)
    assert it.grade()[2] == "eve"
    old, new = change_driver(own)
    code, said, names = it.grade()
    assert code == 2 and names == ""
    check_text(said)
    assert "--measure-again" in said and "--keep-measured" in said and "2 hours" in said
    assert it.grade("--keep-measured")[2] == "eve"
    check_text(it.grade("--measure-again")[2])
    check_text(it.grade("--regrade")[2])
    assert it.grade("--student", "eve")[2] == "eve"

    code, said, names = it.grade(answer="n\n")
    assert names == "eve"
    check_text(said)
    check_text(it.grade(answer="y\n")[2])

    proved_equal(own, old, new)
    code, said, names = it.grade()
    assert names == "eve"
    check_text(said)
