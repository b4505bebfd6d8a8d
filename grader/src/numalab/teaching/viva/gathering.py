"""A student's stories, from a course's folder: what was handed in, what was judged, and of the kept
records what questions need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.course.attempts import read_attempt
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.counting import Account
from numalab.course.records import Attempt, Json, Student
from numalab.errors import KitError, UserError
from numalab.evidence.record import Evidence
from numalab.evidence.touch import drawn_place_of, shown_trace
from numalab.files import NotPlain, read_plain_text
from numalab.grading.from_records import StoredGrading, read_grading
from numalab.judging.judge import evidence_for
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import read_verdict
from numalab.kit import Kit
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.learning.questions import load_questions
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.strangers.visible import visible_lines
from numalab.teaching.viva.story import LabStory, Stage, Touched
from numalab.teaching.viva.wording import normalised
from numalab.teaching.wrong_submissions import WrongSubmission, read_wrong

_OF_PAGES = ("touched_where_used", "shared_out", "local_pages")  # rules that touch maps decide


def _text(path: Path) -> str | None:
    """As it can be shown; None where it is no text."""
    try:
        return visible_lines(read_plain_text(path, FILE_BYTES, follow_links=False))
    except (FileNotFoundError, NotPlain, UnicodeDecodeError):
        return None


def _files(folder: Path, lab: Lab, language: str) -> dict[str, str]:
    """What a folder has of what is handed in for a lab in a language."""
    names = (KERNEL_FILES[language], *(file.name for file in lab.files))
    found = ((name, _text(folder / name)) for name in names)
    return {name: text for name, text in found if text is not None}


# ---- what of the kit's it is -----------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    """A text of the kit's. files: normalised, by name; of a mistake only those that are wrong."""

    words: str
    files: Mapping[str, str]


def _normalised(files: Mapping[str, str]) -> dict[str, str]:
    return {name: normalised(text, name) for name, text in files.items()}


def _known(
    kit: Kit, lab: Lab, language: str, mistakes: Sequence[WrongSubmission]
) -> Iterator[_Known]:
    handout = _normalised(_files(kit.lab_folder(lab.name), lab, language))
    yield _Known("the handout as it was given out", handout)
    solution = _normalised(_files(kit.solution_folder(lab.name), lab, language))
    yield _Known("the kit's solution, but for comments and blanks", solution)
    for wrong in mistakes:
        if wrong.folder is not None:
            files = _normalised(_files(wrong.folder, lab, language))
        else:
            text = _text(wrong.kernels[language]) if language in wrong.kernels else None
            name = KERNEL_FILES[language]
            files = {} if text is None else {name: normalised(text, name)}
        if files:
            words = f"the kit's known mistake {wrong.name}, but for comments and blanks"
            yield _Known(f"{words}: {wrong.mistake}", {**solution, **files})


def _same_as(files: Mapping[str, str], known: Sequence[_Known]) -> str:
    own = _normalised(files)
    return next((one.words for one in known if one.files == own), "")


# ---- evidence --------------------------------------------------------------------------------


def _touched(evidence: Evidence) -> dict[str, Touched]:
    """By array, of the tracing that judges worst."""
    seen = shown_trace(evidence)
    if seen is None:
        return {}
    trace, users = seen
    place, by_node = drawn_place_of(trace, evidence.numa_nodes), evidence.numa_nodes > 1
    found = {}
    for array in trace.arrays:
        pages = len(array.first_writer)
        if pages:
            counts = Counter(place(writer) for writer in array.first_writer)
            contested = sum(len({place(user) for user in page}) > 1 for page in users[array.name])
            found[array.name] = Touched(
                {one: many / pages for one, many in counts.items()}, contested / pages, by_node
            )
    return found


def _of_pages(lab: Lab, evidence: Evidence) -> dict[str, dict[str, Touched]]:
    """By criterion."""
    found = {}
    for criterion in lab.criteria:
        if criterion.rule in _OF_PAGES:
            found[criterion.name] = _touched(evidence_for(lab, criterion, evidence))
    return found


# ---- attempts --------------------------------------------------------------------------------


def _graded(account: Account) -> list[Attempt]:
    """The last grading of each hand-in, in the order of these."""
    every = [*account.row.others, *([account.row.attempt] if account.row.attempt else [])]
    found = []
    for hand_in in account.hand_ins:
        own = [a for a in every if a.item.digest == hand_in.digest and a.state == "graded"]
        if own:
            found.append(max(own, key=lambda a: (a.ended_at, a.number)))
    return found


def _language(account: Account, attempts: Sequence[Attempt]) -> str | None:
    """That counts, or else of the last attempt; None where nothing was graded."""
    counting = account.row.result
    languages = [result["language"] for result in attempts[-1].results] if attempts else []
    if counting is not None and counting["language"] in languages:
        return str(counting["language"])
    return languages[0] if languages else None


def _grading(folder: Path, language: str, labs: Mapping[str, Lab]) -> StoredGrading | None:
    """None where its records are gone, or of another kit: then only the verdict is left."""
    try:
        return read_grading(folder / "evidence" / language, labs, None)
    except UserError:
        return None


def _stage(
    course: CourseFolder,
    labs: Mapping[str, Lab],
    attempt: Attempt,
    result: Json,
    number: int,
    known: Sequence[_Known],
) -> Stage:
    item, language = attempt.item, str(result["language"])
    lab, verdict = labs[item.lab], read_verdict(result)
    handed_in = course.submission(item.student_id, item.lab, item.digest) / item.lab
    files = _files(handed_in, lab, language)
    stage = Stage(number, attempt.ended_at, verdict, result, files, _same_as(files, known))
    grading = _grading(course.attempt(item, attempt.number), language, labs)
    if grading is None:
        return stage
    try:
        touched = _of_pages(lab, grading.here)
        accounts = timing_accounts(lab, verdict, grading.here)
    except KitError:  # records that do not belong together
        return stage
    nodes = {"here": grading.here.numa_nodes} | {
        name: evidence.numa_nodes for name, evidence in grading.there.items()
    }
    rates = {one.criterion.name: one.rates for one in accounts if one.rates is not None}
    return Stage(
        number, attempt.ended_at, verdict, result, files, stage.same_as, touched, rates, nodes
    )


def _story(
    kit: Kit,
    course: CourseFolder,
    labs: Mapping[str, Lab],
    account: Account,
    machines: tuple[tuple[str, int], ...],
) -> LabStory | None:
    found = _graded(account)
    language = _language(account, found)
    lab = labs.get(account.row.lab)
    if language is None or lab is None:
        return None
    mistakes = tuple(one for one in read_wrong(kit, lab) if one.is_in(language))
    known = list(_known(kit, lab, language, mistakes))
    stages: list[Stage] = []
    for kept in found:
        # The gradebook's own copy may have less in it than the attempt's file.
        whole = read_attempt(course.attempt(kept.item, kept.number)) or kept
        for result in whole.results:
            if result["language"] == language:
                number = len(stages) + 1
                stages.append(_stage(course, labs, whole, result, number, known))
    questions = tuple(load_questions(kit, lab.name).values())
    return LabStory(lab, language, tuple(stages), mistakes, machines, questions) if stages else None


def gather(
    kit: Kit, course: CourseFolder, labs: Mapping[str, Lab], accounts: Sequence[Account]
) -> list[LabStory]:
    """accounts: of one student, by lab. Raises KitError, and UserError where nothing of hers was
    graded."""
    gallery = load_gallery(gallery_folder(kit))
    machines = tuple(
        (name, len(one.numa_nodes))
        for name, one in gallery.items()
        if all(not node.memory_kind for node in one.numa_nodes)  # threads are near each of them
    )
    stories = [_story(kit, course, labs, account, machines) for account in accounts]
    found = [story for story in stories if story is not None]
    if not found:
        raise UserError(_nothing(accounts))
    return found


def _nothing(accounts: Sequence[Account]) -> str:
    student: Student | None = accounts[0].row.student if accounts else None
    whose = f"{student.name} ({student.id})" if student is not None else "this student"
    handed_in = [account.row.lab for account in accounts if account.row.is_handed_in]
    if not handed_in:
        return (
            f"{whose} has handed in nothing that could be graded: there is nothing to ask about. "
            "./numalab gradebook show COURSE tells who has."
        )
    return (
        f"nothing of {whose} was graded yet (handed in: {', '.join(handed_in)}). Grade it with "
        "./numalab batch grade, then ask again."
    )
