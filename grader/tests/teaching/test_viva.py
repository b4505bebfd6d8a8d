"""Questions of an oral exam: each kind of them, which are chosen, the sheet, and the command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from support.courses import ADA, BOB, attempt, intake, submission
from support.invented_class import lab_result
from support.pages import assert_sound, words
from support.viva import (
    ONE_WRITER,
    PARALLEL,
    SERIAL,
    TWO_WRITERS,
    modelled,
    rates,
    stage,
    story,
)

from numalab.commands.root import cli
from numalab.course import attempts
from numalab.course.course_folder import CourseFolder
from numalab.course.gradebook.gradebook import use_gradebook
from numalab.course.records import Attempt
from numalab.diagnosing.known_mistakes import read_mistakes
from numalab.errors import UserError
from numalab.installation import Installation
from numalab.judging.judge import file_of as judged_file_of
from numalab.judging.principles import principles
from numalab.labs.declaration import Lab
from numalab.labs.seeds import Seed
from numalab.labs.variants import labs_and_variants
from numalab.learning.questions import load_questions
from numalab.teaching.viva.change_questions import change_questions
from numalab.teaching.viva.choosing import MAKERS, choose
from numalab.teaching.viva.machine_questions import machine_questions
from numalab.teaching.viva.mistake_questions import failure_questions, mistake_questions
from numalab.teaching.viva.sheet import Sheet, sheet_lines, sheet_page
from numalab.teaching.viva.statement_questions import (
    diagnosis_questions,
    explanation_questions,
    prediction_questions,
)
from numalab.teaching.viva.story import KINDS, LabStory, Touched, VivaQuestion
from numalab.teaching.viva.time_questions import time_questions
from numalab.teaching.viva.wording import MOST_LINES, change_listing, written_words

FIRST, TOUCHED, LOCAL = "01_first_touch", "touched_where_used", "local_pages"
SCRIPT = "<script>alert(1)</script>"
DRAW = "numalab viva 7"


@pytest.fixture(scope="module")
def lab(labs: dict[str, Lab]) -> Lab:
    return labs[FIRST]


def only(questions: list[VivaQuestion]) -> VivaQuestion:
    (question,) = questions
    return question


def told(question: VivaQuestion) -> str:
    return " ".join((question.text, *question.answer, *question.evidence, question.follow_up))


def perfect(lab: Lab, installation: Installation) -> LabStory:
    """One attempt that passes everything, on hydra what this node can't show."""
    there = {LOCAL: {"where": "hydra"}}
    one = stage(
        lab, values={TOUCHED: 1.0, LOCAL: 1.0, "efficiency": 0.98}, changed=there,
        rates={"efficiency": rates()}, nodes={"here": 1, "hydra": 2},
    )  # fmt: skip
    return story(lab, one, mistakes=read_mistakes(installation, lab))


# ---- a change ----------------------------------------------------------------------------


def test_a_change_is_asked_for_by_the_touch_maps(lab: Lab) -> None:
    before = stage(
        lab, 1, {TOUCHED: "fail"}, {TOUCHED: 0.5}, code=SERIAL, touched={TOUCHED: ONE_WRITER}
    )
    after = stage(lab, 2, {}, {TOUCHED: 1.0}, touched={TOUCHED: TWO_WRITERS})
    question = only(change_questions(story(lab, before, after), DRAW))
    assert question.text == (
        "In attempt 1 all pages of a were first written by thread 0; in attempt 2 50 % of the "
        "pages of a were first written by thread 0 and 50 % by thread 1. What did you change, and "
        "why does that matter?"
    )
    assert question.listing.lines == ("+ #pragma omp parallel for schedule(static)",)
    assert "first write to it" in told(question)
    assert "Attempt 1, touched_where_used: failed, 0.50 (0.95 or more asked for)." in told(question)
    assert "Attempt 2, touched_where_used: passed, 1.00" in told(question)


def test_pages_of_several_threads_are_another_reason(lab: Lab) -> None:
    shared = {"a": replace(TWO_WRITERS["a"], contested=1.0)}
    before = stage(
        lab, 1, {TOUCHED: "fail"}, {TOUCHED: 0.0}, code=SERIAL, touched={TOUCHED: shared}
    )
    after = stage(lab, 2, {}, {TOUCHED: 1.0}, touched={TOUCHED: TWO_WRITERS})
    question = only(change_questions(story(lab, before, after), DRAW))
    assert "all pages of a were used by several threads" in question.text
    assert "no first touch is right" in told(question)


def test_a_change_without_a_touch_map_is_asked_for_by_its_figures(lab: Lab) -> None:
    before = stage(lab, 1, {LOCAL: "fail"}, {LOCAL: 0.5}, code=SERIAL)
    after = stage(lab, 2, {}, {LOCAL: 1.0})
    question = only(change_questions(story(lab, before, after), DRAW))
    assert question.text.startswith(
        "In attempt 1 local_pages failed with 0.50; in attempt 2 it passed with 1.00."
    )


def test_what_became_worse_is_asked_for_too(lab: Lab) -> None:
    before, after = stage(lab, 1), stage(lab, 2, {TOUCHED: "fail"}, code=SERIAL)
    assert "in attempt 2 it failed" in only(change_questions(story(lab, before, after), DRAW)).text


def test_no_change_is_no_question(lab: Lab) -> None:
    failed = stage(lab, 1, {TOUCHED: "fail"})
    comment = stage(lab, 2, code=PARALLEL + "/* now it works */\n")
    assert change_questions(story(lab, failed, comment), DRAW) == []  # the change is in the noise
    assert change_questions(story(lab, stage(lab, 1, code=SERIAL), stage(lab, 2)), DRAW) == []
    assert change_questions(story(lab, failed), DRAW) == []


def test_of_a_large_change_the_lines_that_decide_are_shown(lab: Lab) -> None:
    many = "".join(f"int helper_{number}(int);\n" for number in range(40))
    before, after = stage(lab, 1, code=SERIAL), stage(lab, 2, code=many + PARALLEL)
    listing = change_listing(before, after)
    assert len(listing.lines) == MOST_LINES
    assert "+ #pragma omp parallel for schedule(static)" in listing.lines
    assert listing.lines[-1] == "... and 34 more lines"


def test_many_writers_are_not_listed() -> None:
    many = Touched(dict.fromkeys(range(16), 1 / 16), 0.0, False)
    assert written_words("a", many) == (
        "no more than 6 % of the pages of a were first written by one thread"
    )


# ---- what fails --------------------------------------------------------------------------


def test_what_fails_is_asked_for_with_the_reports_sentence(
    lab: Lab, installation: Installation
) -> None:
    why = "Every page of a was first written by thread 0, and 50 % of them are used by thread 1."
    one = stage(lab, 1, {TOUCHED: "fail"}, {TOUCHED: 0.5}, changed={TOUCHED: {"why": why}})
    question = only(
        failure_questions(story(lab, one, mistakes=read_mistakes(installation, lab)), DRAW)
    )
    assert f'The report says: "{why}"' in question.text
    assert "What in kernel.c makes it so" in question.text
    assert "Known mistakes of which the report says the same: Of the three arrays" in told(question)
    assert "schedule(static) and the same bounds" in told(question)  # the last hint
    assert question.listing.lines == ("   3  #pragma omp parallel for schedule(static)",)


def test_what_can_t_be_built_is_one_question(lab: Lab) -> None:
    not_built = {"cause": "not_built", "why": "kernel.c does not compile."}
    failed = {c.name: "fail" for c in lab.criteria}
    one = stage(lab, 1, failed, changed=dict.fromkeys(failed, not_built))  # type: ignore[arg-type]
    assert only(failure_questions(story(lab, one), DRAW)).subject == "correct"


def test_what_another_one_explains_is_no_question(lab: Lab) -> None:
    explained = {LOCAL: {"explained_by": TOUCHED}}
    one = stage(lab, 1, {TOUCHED: "fail", LOCAL: "fail"}, changed=explained)
    assert only(failure_questions(story(lab, one), DRAW)).subject == TOUCHED


# ---- times -------------------------------------------------------------------------------


def test_near_the_solution_and_far_from_lightspeed(lab: Lab) -> None:
    one = stage(lab, values={"efficiency": 0.98}, rates={"efficiency": rates(0.41, 0.42)})
    first, *others = time_questions(story(lab, one), DRAW)
    assert first.text.startswith(
        "Your efficiency was 0.98, and the kernel reached 41 % of lightspeed. Why can both be true?"
    )
    assert "The solution itself reached 42 % [40..44] of lightspeed" in told(first)
    assert others


def test_a_rate_is_its_bytes_over_its_time(lab: Lab) -> None:
    one = stage(lab, values={"efficiency": 0.98}, rates={"efficiency": rates(0.97, 0.98)})
    question = only(time_questions(story(lab, one), DRAW))
    assert "One call took 2 ms, and the report says 64 GB/s." in question.text
    assert "128,000,000 bytes, 16 per element of n = 8,000,000" in told(question)
    assert "all but as fast as the kit's own loop" in told(question)


def test_what_an_interval_leaves_open_is_not_concluded(lab: Lab) -> None:
    found = rates(0.52, 0.55)
    own = found.roles[0]
    assert own.reference_share is not None
    wide = replace(own, reference_share=replace(own.reference_share, low=0.22, high=None))
    one = stage(
        lab, values={"efficiency": 0.5},
        rates={"efficiency": replace(found, roles=(wide, *found.roles[1:]))},
    )  # fmt: skip
    question = only(time_questions(story(lab, one), DRAW))
    assert "leaves open how much is to be had" in told(question)
    assert "could deliver more" not in told(question)


def test_the_middle_of_a_speedup_is_worked_out(lab: Lab) -> None:
    one = stage(lab, values={"speedup": 4.0}, rates={"speedup": rates()})
    (question,) = [q for q in time_questions(story(lab, one), DRAW) if "Up to which time" in q.text]
    assert "the handout took 8 ms, the solution 2 ms and yours 2 ms" in question.text
    assert "about 4 ms" in told(question)


@pytest.mark.parametrize(
    ("value", "asks"), [(1.02, "Why was that not enough?"), (0.5, "Why was that no failure?")]
)
def test_a_median_that_decides_nothing_is_asked_for(lab: Lab, value: float, asks: str) -> None:
    noisy = {"efficiency": {"cause": "too_noisy", "interval": [0.34, 1.3]}}
    one = stage(
        lab, 1, {"efficiency": "inconclusive"}, {"efficiency": value}, changed=noisy,
        rates={"efficiency": rates()},
    )  # fmt: skip
    first = time_questions(story(lab, one), DRAW)[0]
    assert first.text.endswith(asks)
    assert "goes from 0.34 to 1.30" in told(first)


# ---- other machines ------------------------------------------------------------------------


def test_local_pages_are_carried_to_a_machine_with_more_numa_nodes(
    lab: Lab, installation: Installation
) -> None:
    question = only(machine_questions(perfect(lab, installation), DRAW))
    assert question.text == (
        "local_pages is 1.00 on hydra, with 2 NUMA nodes. What would it be on nebula, with 8, for "
        "the same file, and why?"
    )
    assert "About the same" in told(question)
    assert "1/8 of them" in told(question)


def test_what_this_node_can_t_show_follows_from_the_touch_map(lab: Lab) -> None:
    hidden = {LOCAL: {"cause": "too_few_numa_nodes"}}
    one = stage(lab, 1, {LOCAL: "not_gradable"}, {TOUCHED: 0.99}, changed=hidden)
    question = only(machine_questions(story(lab, one), DRAW))
    assert "local_pages could not be graded on this node" in question.text
    assert "0.99 of the pages are first written by the very thread" in told(question)


def test_a_modelled_speedup_that_grows_is_asked_for(lab: Lab) -> None:
    models = [modelled("hydra", 2.0, 2), modelled("nebula", 8.0, 8)]
    question = only(machine_questions(story(lab, stage(lab, modelled=models)), DRAW))
    assert "2.0 times the handout on hydra and 8.0 times on nebula" in question.text
    assert "on 2 NUMA nodes of hydra and on 8 of nebula" in told(question)
    alike = [modelled("hydra", 1.0, 1), modelled("nebula", 1.0, 1)]
    assert machine_questions(story(lab, stage(lab, modelled=alike)), DRAW) == []


def test_one_file_on_two_machines(labs: dict[str, Lab]) -> None:
    affinity = labs["02_affinity"]
    one = stage(affinity, changed={"omp_close": {"where": "hydra"}})
    there = replace(one.places("omp_close")[0], where="nebula")
    both = replace(one, verdict=replace(one.verdict, criteria=(*one.verdict.criteria, there)))
    question = only(machine_questions(story(affinity, both), DRAW))
    assert question.text.startswith("omp_close.env reaches its goal on hydra and nebula")
    fails = replace(there, status="fail", cause="missed", why="Thread 1 is elsewhere.")
    other = replace(one, verdict=replace(one.verdict, criteria=(*one.verdict.criteria, fails)))
    question = machine_questions(story(affinity, other), DRAW)[0]
    assert "omp_close passes on hydra and fails on nebula" in question.text
    assert "On nebula: Thread 1 is elsewhere." in told(question)


# ---- mistakes, words, predictions, diagnoses -------------------------------------------------


def test_a_mistake_is_declared_and_of_a_criterion_that_passes(
    lab: Lab, installation: Installation
) -> None:
    known = {wrong.mistake.rstrip(". "): wrong for wrong in read_mistakes(installation, lab)}
    asked = mistake_questions(perfect(lab, installation), DRAW)
    assert len({question.subject for question in asked}) >= 3
    for question in asked:
        (wrong,) = (known[mistake] for mistake in known if f"mistake: {mistake}." in question.text)
        assert question.answer[0].startswith(f"{wrong.first} fails first.")
        assert wrong.cause not in ("crashed", "not_built", "wrong_result")
    failed = story(lab, stage(lab, 1, {TOUCHED: "fail"}), mistakes=read_mistakes(installation, lab))
    assert TOUCHED not in {question.subject for question in mistake_questions(failed, DRAW)}


def test_another_student_gets_other_mistakes(lab: Lab, installation: Installation) -> None:
    one = perfect(lab, installation)
    firsts = {mistake_questions(one, f"numalab viva {number}")[0].text for number in range(12)}
    assert len(firsts) >= 4
    assert mistake_questions(one, DRAW) == mistake_questions(one, DRAW)


def test_a_sentence_of_the_student_is_held_against_figures(lab: Lab) -> None:
    said = f"I did it at night. Each thread first touches the pages that it uses {SCRIPT}.\x1b[31m"
    one = stage(lab, values={TOUCHED: 1.0}, explanation=said)
    question = only(explanation_questions(story(lab, one), DRAW))
    assert question.text.startswith('You wrote: "Each thread first touches the pages')
    assert "\x1b" not in question.text
    assert "Attempt 1, touched_where_used: passed, 1.00" in told(question)
    nothing = stage(lab, explanation="Because the computer said so, and it is right.")
    assert "No figure shows it directly." in told(
        only(explanation_questions(story(lab, nothing), DRAW))
    )
    assert explanation_questions(story(lab, stage(lab)), DRAW) == []


def test_the_prediction_that_was_furthest_off_is_asked_for(lab: Lab) -> None:
    quantities = [
        {"name": "local_pages", "predicted": 0.5, "low": 0.5, "high": 0.5, "score": 1.0},
        {"name": "rate", "predicted": 48, "low": 61, "high": 66, "unit": "MB/s", "score": 0.65},
    ]
    one = stage(lab, prediction={"score": 0.83, "quantities": quantities})
    question = only(prediction_questions(story(lab, one), DRAW))
    assert question.text == (
        "For rate you predicted 48 MB/s; measured were 61 to 66 MB/s, and which assumption was off?"
    )
    assert "score 0.83 of 1" in told(question)
    only_score = stage(lab, prediction={"score": 0.2})
    assert "a score of 0.20" in only(prediction_questions(story(lab, only_score), DRAW)).text
    for nothing in ({}, {"prediction": None}, {"prediction": {"quantities": [7]}}):
        assert prediction_questions(story(lab, stage(lab, **nothing)), DRAW) == []  # type: ignore[arg-type]


def test_a_wrong_diagnosis_is_asked_for_before_a_right_one(lab: Lab) -> None:
    answers = [
        {"name": "mistake", "chosen": "Both loops are serial.", "right": True},
        {"name": "cure", "chosen": "A larger chunk.", "right": False},
    ]
    one = stage(lab, diagnosis={"case": "7KX", "score": 0.5, "questions": answers})
    question = only(diagnosis_questions(story(lab, one), DRAW))
    assert 'you chose: "A larger chunk."' in question.text
    assert "wrong" in told(question)
    assert diagnosis_questions(story(lab, stage(lab)), DRAW) == []


# ---- which are chosen ------------------------------------------------------------------------


def test_every_kind_has_a_maker_and_every_rule_a_reason(installation: Installation) -> None:
    assert tuple(MAKERS) == KINDS
    every = labs_and_variants(installation.root).values()
    rules = {criterion.rule for lab in every for criterion in lab.criteria}
    assert rules == set(principles())
    for principle in principles().values():
        assert principle.follow_up.endswith(")") and "? (" in principle.follow_up


def test_one_perfect_attempt_gives_three_sensible_questions(
    lab: Lab, installation: Installation
) -> None:
    chosen = choose([perfect(lab, installation)], Seed(7, "ada"), 3)
    assert [question.kind for question in chosen] == ["times", "place", "mistake"]
    assert choose([perfect(lab, installation)], Seed(7, "ada"), 3) == chosen
    five = choose([perfect(lab, installation)], Seed(7, "ada"), 5)
    assert len({question.text for question in five}) == 5


def test_students_of_equal_situations_get_different_questions(
    lab: Lab, installation: Installation
) -> None:
    one = perfect(lab, installation)
    sheets = {tuple(q.text for q in choose([one], Seed(n, "x"), 4)) for n in range(1, 13)}
    assert len(sheets) >= 8


def test_kinds_and_labs_differ_and_the_students_own_come_first(
    lab: Lab, labs: dict[str, Lab], installation: Installation
) -> None:
    before = stage(lab, 1, {TOUCHED: "fail"}, {TOUCHED: 0.5}, code=SERIAL)
    other = labs["03_scheduling"]
    stories = [
        story(lab, before, stage(lab, 2, {}, {TOUCHED: 1.0})),
        story(
            other,
            stage(other, 1, {"balanced": "fail"}),
            mistakes=read_mistakes(installation, other),
        ),
    ]
    chosen = choose(stories, Seed(7, "ada"), 4)
    assert [q.kind for q in chosen[:3]] == ["change", "failure", "mistake"]
    assert [q.lab for q in chosen[:2]] == [FIRST, "03_scheduling"]


def test_where_attempts_give_too_little_the_lab_asks(lab: Lab, installation: Installation) -> None:
    not_built = {"cause": "not_built", "why": "kernel.c does not compile."}
    failed = {c.name: "fail" for c in lab.criteria}
    one = stage(lab, 1, failed, changed=dict.fromkeys(failed, not_built))  # type: ignore[arg-type]
    questions = tuple(load_questions(installation, FIRST).values())
    chosen = choose([replace(story(lab, one), questions=questions)], Seed(7, "ada"), 3)
    assert [question.kind for question in chosen] == ["failure", "subject", "subject"]


# ---- the sheet -------------------------------------------------------------------------------


def test_a_sheet_is_80_columns_and_a_page_that_is_sound(
    lab: Lab, installation: Installation
) -> None:
    hostile = stage(
        lab, 2, values={TOUCHED: 1.0}, code=PARALLEL + f"#pragma omp {SCRIPT} {'x' * 200}\n",
        explanation=f"Each thread touches its pages first, {SCRIPT} says so.",
    )  # fmt: skip
    before = stage(lab, 1, {TOUCHED: "fail"}, {TOUCHED: 0.5}, code=SERIAL)
    stories = [story(lab, before, hostile, mistakes=read_mistakes(installation, lab))]
    who = replace(ADA, name=f"Ada {SCRIPT}")
    sheet = Sheet(who, "HPC", stories, choose(stories, Seed(7, "ada"), 5))
    lines = list(sheet_lines(sheet))
    assert all(len(line) <= 80 for line in lines), max(lines, key=len)
    assert "01 First touch in C: attempt 1: " in "\n".join(lines)
    page = sheet_page(sheet)
    assert SCRIPT not in page
    text = words(assert_sound(page))
    for question in sheet.questions:
        assert " ".join(question.text.split()) in text


# ---- a course ----------------------------------------------------------------------------------


def kept_course(root: Path, lab: Lab) -> CourseFolder:
    """Ada has handed two files in, each graded; Bob's is not graded yet."""
    course = CourseFolder(root)
    (root / "runs").mkdir(parents=True)
    graded = [
        ("d1", "2027-05-04T10:00:00+00:00", SERIAL, lab_result(lab, {TOUCHED: "fail"})),
        ("d2", "2027-05-05T10:00:00+00:00", PARALLEL, lab_result(lab, {})),
    ]
    with use_gradebook(course) as book:
        for digest, at, code, result in graded:
            book.add_submissions(intake(submission(ADA, digest, at), submission(BOB, "d3", at)))
            one = attempt(ADA, result, digest=digest, at=at)
            _keep(course, one, code)
            book.add_attempts([one])
    return course


def _keep(course: CourseFolder, one: Attempt, code: str) -> None:
    partial = attempts.partial_folder(course, one.target, 1, "20270504T100000000000-abcd", "n1")
    partial.mkdir(parents=True)
    assert attempts.publish(course, partial, one)
    folder = course.submission(one.target.student_id, FIRST, one.target.digest) / FIRST
    folder.mkdir(parents=True)
    (folder / "kernel.c").write_text(code)


def viva(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["viva", *map(str, arguments)])


def test_the_command_asks_about_what_is_kept(tmp_path: Path, lab: Lab) -> None:
    course = kept_course(tmp_path / "course", lab)
    done = viva(course.root, "ada")
    assert done.exit_code == 0, done.output
    assert "In attempt 1 touched_where_used failed" in " ".join(done.output.split())
    assert "+ #pragma omp parallel for schedule(static)" in done.output
    assert viva(course.root, "ada").output == done.output
    page = tmp_path / "ada.html"
    assert viva(course.root, "ada", "--html", page).exit_code == 0
    assert "Oral exam: Ada Lovelace (ada)" in words(assert_sound(page.read_text()))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("bob",), "nothing of Bob <b>Bold</b> (bob) was graded yet"),
        (("adda",), "there is no student 'adda'. Did you mean ada?"),
        (("ada", "--lab", "02"), "has handed in nothing that could be graded"),
    ],
)
def test_what_can_t_be_asked_is_told(
    tmp_path: Path, lab: Lab, arguments: tuple[str, ...], says: str
) -> None:
    course = kept_course(tmp_path / "course", lab)
    done = viva(course.root, *arguments)
    assert isinstance(done.exception, UserError)
    assert says in str(done.exception)


def test_a_folder_that_is_no_course_is_told(tmp_path: Path) -> None:
    done = viva(tmp_path / "nowhere", "ada")
    assert isinstance(done.exception, UserError)
    assert "there is no folder" in str(done.exception)


def test_the_file_that_is_asked_about_is_the_one_that_is_judged(installation: Installation) -> None:
    lab = labs_and_variants(installation.root)["02_affinity"]
    criterion = {c.name: c for c in lab.criteria}
    story = SimpleNamespace(lab=lab, language="c", criterion=criterion.get)
    named = {name: LabStory.file_of(story, name) for name in criterion}  # type: ignore[arg-type]
    assert named == {name: judged_file_of(lab, c, "c") for name, c in criterion.items()}
    assert named["bandwidth"] == "omp_spread.env" and LabStory.file_of(story, "x") == "kernel.c"  # type: ignore[arg-type]
