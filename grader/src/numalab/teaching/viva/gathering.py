"""A student's stories, gathered from a course's folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numalab.course.attempts import read_attempt
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.counting import GradeTrace
from numalab.course.records import Attempt, Json, Student
from numalab.course.similarity import tokens_of
from numalab.diagnosing.excerpts import strip_comments
from numalab.diagnosing.known_mistakes import KnownMistake, read_mistakes
from numalab.errors import NumalabError, UserError
from numalab.evidence.kinds import TRACE
from numalab.evidence.record import Evidence
from numalab.evidence.touch import drawn_place_of, shown_trace, written_from
from numalab.files import NotPlain, read_plain_text
from numalab.grading.stored_gradings import StoredGrading, read_grading
from numalab.installation import Installation
from numalab.judging.judge import evidence_for
from numalab.judging.rules import reads
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import read_verdict
from numalab.labs.declaration import FILE_BYTES, KERNEL_FILES, Lab
from numalab.labs.kernel_names import file_names
from numalab.labs.seeds import Seed
from numalab.labs.variants import (
    draw_variant,
    lab_files,
    lab_of_variant,
    read_draws,
    solution_files,
)
from numalab.learning.questions import load_questions
from numalab.machines.gallery import gallery_folder, load_gallery
from numalab.teaching.viva.story import LabStory, Stage, Touched
from numalab.untrusted.visible import visible_lines

# ---- numalab's own texts -----------------------------------------------------------------------

# A hand-in may be the same as one of numalab's own texts but for names, comments and blanks: the
# handout, the solution, a known mistake. The examiner is shown which, and asks all the more for
# reasons; it is no fault where a solution is one line.

Files = Mapping[str, str]  # texts, by the file's name
_Bare = Mapping[str, tuple[str, ...]]  # by file: a kernel's tokens, another file's words


@dataclass(frozen=True)
class Known:
    """A text of numalab's, and what it is, in words."""

    words: str
    files: _Bare


def _text(path: Path) -> str | None:
    """Return a file's text, made safe to show; None where it is missing or no plain text in
    UTF-8."""
    try:
        return visible_lines(read_plain_text(path, FILE_BYTES, follow_links=False))
    except (FileNotFoundError, NotPlain, UnicodeDecodeError):
        return None


def handed_files(folder: Path, lab: Lab, language: str) -> dict[str, str]:
    """Return the texts of the files in a folder that are handed in for a lab in a language, by
    name, without those that are missing or no plain text in UTF-8."""
    found = ((name, _text(folder / name)) for name in file_names(lab, language))
    return {name: text for name, text in found if text is not None}


def _bare(files: Files, language: str) -> dict[str, tuple[str, ...]]:
    """Return a kernel's tokens (tokens_of), and the words of other files without comments, by
    file."""
    kernel = KERNEL_FILES[language]
    return {
        name: tokens_of(text, language)
        if name == kernel
        else tuple(" ".join(strip_comments(text, Path(name).suffix)).split())
        for name, text in files.items()
    }


def _given(installation: Installation, lab: Lab, language: str, seed: Seed) -> tuple[Files, Files]:
    """Return the files of the handout and of the solution; of a variant those that the seed
    draws."""
    if not lab.is_variant:
        handout = handed_files(installation.lab_folder(lab.name), lab, language)
        return handout, handed_files(installation.solution_folder(lab.name), lab, language)
    draws = read_draws(installation.root, lab_of_variant(lab.name))
    variant, names = draw_variant(draws, seed), file_names(lab, language)
    both = (
        lab_files(installation.root, draws, variant),
        solution_files(installation.root, draws, variant),
    )
    handout, solution = ({name: files[name] for name in names if name in files} for files in both)
    return handout, solution


def known_texts(
    installation: Installation,
    lab: Lab,
    language: str,
    seed: Seed,
    mistakes: Sequence[KnownMistake],
) -> Iterator[Known]:
    """Yield numalab's own texts for a lab: the handout, the solution, and for each mistake with
    files in the language the solution with these in the place of its own. Of a variant the first
    two are those that the seed draws."""
    handout, solution = (
        _bare(files, language) for files in _given(installation, lab, language, seed)
    )
    yield Known("the handout", handout)
    yield Known("the kit's solution", solution)
    for wrong in mistakes:
        if wrong.folder is not None:
            files = handed_files(wrong.folder, lab, language)
        else:
            text = _text(wrong.kernels[language]) if language in wrong.kernels else None
            files = {} if text is None else {KERNEL_FILES[language]: text}
        if files:
            words = f"the kit's known mistake {wrong.name}: {wrong.mistake}"
            yield Known(words, {**solution, **_bare(files, language)})


def same_as(files: Files, language: str, known: Sequence[Known]) -> str:
    """Return in words the first of the known texts that files are the same as but for what _bare
    drops; empty: there is none."""
    own = _bare(files, language)
    return next((one.words for one in known if one.files == own), "")


# ---- evidence --------------------------------------------------------------------------------


def _touched(evidence: Evidence) -> dict[str, Touched]:
    """Return what the touch map of the evidence shows (shown_trace), by array; empty: there is
    none."""
    seen = shown_trace(evidence)
    if seen is None:
        return {}
    trace, uses = seen
    place, is_by_node = drawn_place_of(evidence), evidence.numa_nodes > 1
    found = {}
    for array in trace.arrays:
        pages = len(array.first_writer)
        if pages:
            counts = Counter(map(place, written_from(trace, array)))
            contested = sum(len(set(map(place, page))) > 1 for page in uses[array.name])
            found[array.name] = Touched(
                {one: many / pages for one, many in counts.items()}, contested / pages, is_by_node
            )
    return found


def _touched_by_criterion(lab: Lab, evidence: Evidence) -> dict[str, dict[str, Touched]]:
    """Return what touch maps show, by criterion and array, for criteria that read tracings."""
    return {
        criterion.name: _touched(evidence_for(lab, criterion, evidence))
        for criterion in lab.criteria
        if reads(criterion, TRACE)
    }


# ---- attempts --------------------------------------------------------------------------------


def _graded(account: GradeTrace) -> list[Attempt]:
    """Return the last grading of each hand-in that has one, in the order of the hand-ins."""
    every = [*account.row.others, *([account.row.attempt] if account.row.attempt else [])]
    found = []
    for hand_in in account.hand_ins:
        own = [a for a in every if a.target.digest == hand_in.digest and a.state == "graded"]
        if own:
            found.append(max(own, key=lambda a: (a.ended_at, a.number)))
    return found


def _language(account: GradeTrace, attempts: Sequence[Attempt]) -> str | None:
    """Return the language of the result that counts, if the last attempt has it, or else of that
    attempt's first result; None where that has no results."""
    counting = account.row.result
    languages = [result["language"] for result in attempts[-1].results] if attempts else []
    if counting is not None and counting["language"] in languages:
        return str(counting["language"])
    return languages[0] if languages else None


def _grading(folder: Path, language: str, labs: Mapping[str, Lab]) -> StoredGrading | None:
    """Return a stored grading; None where read_grading raises UserError."""
    try:
        return read_grading(folder / "evidence" / language, labs)
    except UserError:
        return None


def _stage(
    course: CourseFolder,
    labs: Mapping[str, Lab],
    attempt: Attempt,
    result: Json,
    number: int,
    known: Sequence[Known],
) -> Stage:
    item, language = attempt.target, str(result["language"])
    lab, verdict = labs[item.lab], read_verdict(result)
    handed_in = course.submission(item.student_id, item.lab, item.digest) / item.lab
    files = handed_files(handed_in, lab, language)
    told = same_as(files, language, known)
    stage = Stage(number, attempt.ended_at, verdict, result, files, told)
    grading = _grading(course.attempt(item, attempt.number), language, labs)
    if grading is None:
        return stage
    try:
        touched = _touched_by_criterion(lab, grading.local)
        accounts = timing_accounts(lab, verdict, grading.local)
    except NumalabError:  # records that do not belong together
        return stage
    nodes = {"here": grading.local.numa_nodes} | {
        name: evidence.numa_nodes for name, evidence in grading.vms.items()
    }
    rates = {one.criterion.name: one.rates for one in accounts if one.rates is not None}
    return replace(stage, touched=touched, rates=rates, numa_nodes=nodes)


def _story(
    installation: Installation,
    course: CourseFolder,
    labs: Mapping[str, Lab],
    account: GradeTrace,
    seed: Seed,
    machines: tuple[tuple[str, int], ...],
) -> LabStory | None:
    found = _graded(account)
    language = _language(account, found)
    lab = labs.get(account.row.lab)
    if language is None or lab is None:
        return None
    # Mistakes are known of the labs; what is right in a variant is another thing.
    wrong = () if lab.is_variant else read_mistakes(installation, lab)
    mistakes = tuple(one for one in wrong if one.is_in(language))
    known = list(known_texts(installation, lab, language, seed, mistakes))
    stages: list[Stage] = []
    for kept in found:
        # The gradebook's own copy may have less in it than the attempt's file.
        whole = read_attempt(course.attempt(kept.target, kept.number)) or kept
        for result in whole.results:
            if result["language"] == language:
                number = len(stages) + 1
                stages.append(_stage(course, labs, whole, result, number, known))
    questions = tuple(load_questions(installation, lab_of_variant(lab.name)).values())
    if not stages:
        return None
    return LabStory(lab, language, tuple(stages), mistakes, machines, questions)


def gather(
    installation: Installation,
    course: CourseFolder,
    labs: Mapping[str, Lab],
    accounts: Sequence[GradeTrace],
    seed: Seed,
) -> list[LabStory]:
    """Return a student's stories, for the labs of `labs` with a graded hand-in.

    Args:
        labs: by name.
        accounts: the student's, one for each lab.
        seed: the student's.

    Raises UserError where no hand-in was graded."""
    gallery = load_gallery(gallery_folder(installation))
    machines = tuple(
        (name, len(one.numa_nodes))
        for name, one in gallery.items()
        if all(not node.memory_kind for node in one.numa_nodes)  # threads are near each of them
    )
    stories = [_story(installation, course, labs, account, seed, machines) for account in accounts]
    found = [story for story in stories if story is not None]
    if not found:
        raise UserError(_nothing(accounts))
    return found


def _nothing(accounts: Sequence[GradeTrace]) -> str:
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
