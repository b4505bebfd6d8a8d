"""Instructor notes: what they are made from, what is in them, the exam, and the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.published_labs import is_published

from numalab.commands.root import cli
from numalab.diagnosing.excerpts import GAP, MOST_LINES, excerpt, strip_comments
from numalab.diagnosing.known_mistakes import read_mistakes
from numalab.errors import NumalabError, UserError
from numalab.installation import Installation, find_installation
from numalab.labs.declaration import Lab, Language, load_labs
from numalab.learning.notebook_files import given_notebook
from numalab.teaching.deck import parse_deck
from numalab.teaching.exam import CHOICES, CODE_QUESTIONS, REPORT_QUESTIONS, group_of
from numalab.teaching.handout import read_handout, section, step_in_short
from numalab.teaching.instructor_notes import Material, gather, notes

KIT = find_installation("gnu")
LABS = load_labs(KIT.root)
each_lab = pytest.mark.parametrize("lab", LABS.values(), ids=list(LABS))
in_each_language = pytest.mark.parametrize(
    ("lab", "language"),
    [
        pytest.param(lab, language, id=f"{language}-{name}")
        for name, lab in LABS.items()
        for language in lab.languages
    ],
)
with_deck = pytest.mark.parametrize(
    "lab",
    [lab for name, lab in LABS.items() if (KIT.root / "slides" / f"{name}.md").is_file()],
    ids=lambda lab: lab.name,
)


def material_of(lab: Lab, language: Language = "c", seed: str = "1") -> Material:
    return gather(KIT, lab, language, seed)


# ---- the notes ---------------------------------------------------------------------------


@in_each_language
def test_notes_have_all_that_the_lab_knows(lab: Lab, language: Language) -> None:
    material = material_of(lab, language)
    text = notes(material)
    assert text.startswith(f"# Lab {lab.number}, {lab.title}: instructor notes\n")
    for heading in ("Lesson plan", "What students get wrong, and what the kit says to it",
                    "Hints that students can ask for", "Questions to talk about",
                    "Exam questions", "Answers to the exam questions"):  # fmt: skip
        assert text.count(f"\n## {heading}\n") == 1, heading
    wrong = section(text, "What students get wrong, and what the kit says to it")
    assert len(material.mistakes) >= (20 if is_published(lab.name) else 0)
    for one in material.mistakes:
        assert wrong.count(f"- {one.mistake} ") == sum(
            other.mistake == one.mistake for other in material.mistakes
        )
    for criterion in lab.criteria:
        assert re.search(rf"^\| `{criterion.name}` \| {criterion.points} \| \S", text, re.MULTILINE)
    for ladder in lab.hints:
        for level in ladder.levels:
            assert " ".join(level.split()) in text
    for question in material.handout.questions:
        assert f"- {question}\n" in text
    assert material.answers and material.answers in text
    assert material.prompt.endswith("?") is given_notebook(KIT, lab.name).is_file()
    assert material.prompt in text
    assert all(
        material.handout.goals and material.handout.needs and material.handout.effect for _ in "1"
    )


@each_lab
def test_every_step_of_the_lab_is_in_the_plan(lab: Lab) -> None:
    readme = (KIT.lab_folder(lab.name) / "README.md").read_text()
    plan = section(notes(material_of(lab)), "Lesson plan")
    steps = re.findall(r"^(\d+)\. ", section(readme, "What to do"), re.MULTILINE)
    told = re.findall(r"^(\d+)\. \S.{20,}", plan, re.MULTILINE)
    assert told == steps
    assert len(steps) >= (5 if is_published(lab.name) else 1)


@with_deck
def test_the_plan_adds_the_minutes_of_the_slides_up(lab: Lab) -> None:
    deck = parse_deck(lab.name, (KIT.root / "slides" / f"{lab.name}.md").read_text())
    plan = section(notes(material_of(lab)), "Lesson plan")
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (\d+) \| (\d*) ?\|$", plan, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == [slide.number for slide in deck.slides]
    whole = sum(int(minutes) for _, _, minutes, _ in rows)
    short = sum(int(minutes or 0) for *_, minutes in rows)
    assert f"| lecture, `slides/{lab.name}.md` | {whole} | {short} |" in plan
    assert f"| together | {whole + lab.minutes} | {short + lab.minutes} |" in plan
    assert 0 < short < whole


@each_lab
def test_what_is_shown_can_be_copied_and_run(lab: Lab) -> None:
    text = notes(material_of(lab))
    copied = re.findall(r"^cp (solutions/\S+) (\S+)$", text, re.MULTILINE)
    assert copied or not material_of(lab).mistakes
    for source, target in copied:
        assert list(KIT.root.glob(source)), source
        assert target.startswith(f"demo/{lab.name}/")
    for file in re.findall(r" `(\w+\.(?:c|f90))`$", text, re.MULTILINE):
        assert (KIT.solution_folder(lab.name) / "wrong" / file).is_file()
    command = f"./numalab grade {lab.number} --quick --lang c --submission demo"
    assert (command in text) is bool(copied)


# ---- the exam ----------------------------------------------------------------------------


@in_each_language
def test_each_exam_question_has_one_right_choice(lab: Lab, language: Language) -> None:
    material = material_of(lab, language)
    known = {wrong.mistake: wrong for wrong in material.mistakes}
    drawn = material.exam_questions[len(material.quiz) :]
    # Of code fewer where most of it is too long for an exam.
    least = REPORT_QUESTIONS + 2 if is_published(lab.name) else 0
    assert least <= len(drawn) <= CODE_QUESTIONS + REPORT_QUESTIONS
    assert len({question.text for question in drawn}) == len(drawn)
    for question in drawn:
        assert len(question.choices) == CHOICES
        (name,) = re.findall(r"\(`(\w+)`\)", question.answer)
        right = known[question.choices[question.correct_choice]]
        assert right.name == name
        groups = [group_of(known[choice], language) for choice in question.choices]
        assert len(set(groups)) == CHOICES  # another report would tell the others
        assert all(known[choice].is_in(language) for choice in question.choices)
    assert len({question.correct_choice for question in drawn}) > 1 or len(drawn) < CHOICES
    for question in material.exam_questions[: len(material.quiz)]:
        asked = next(q for q in material.quiz.values() if q.text == question.text)
        assert question.choices[question.correct_choice] == asked.choices[asked.correct]


@in_each_language
def test_code_in_the_exam_is_the_wrong_one_and_does_not_tell_why(
    lab: Lab, language: Language
) -> None:
    for seed in "12345":
        material = material_of(lab, language, seed)
        by_mistake = {wrong.mistake: wrong for wrong in material.mistakes}
        drawn = material.exam_questions[len(material.quiz) :]
        of_code = [question for question in drawn if "```" in question.text]
        assert len(of_code) >= (2 if is_published(lab.name) else 0)
        for question in of_code:
            listing = question.text.split("```")[1].splitlines()[1:]
            assert 0 < len(listing) <= MOST_LINES
            wrong = by_mistake[question.choices[question.correct_choice]]
            if wrong.folder is not None:
                assert {f"# {name}" for name in wrong.files} <= set(listing)
                continue
            text = wrong.kernels[language].read_text()
            assert all(line == GAP or line in text.splitlines() or line in text for line in listing)
            assert not re.search(r"/\*|//|^ *!(?!\$)", "\n".join(listing), re.MULTILINE)


def test_a_seed_draws_the_same_exam_again_and_another_one_another() -> None:
    lab = LABS["01_first_touch"]
    exams = [material_of(lab, seed=seed).exam_questions for seed in ("a", "a", "b")]
    assert exams[0] == exams[1]
    assert exams[0] != exams[2]
    assert exams[0][:3] == exams[2][:3]  # the notebook's


# ---- what they are made from ------------------------------------------------------------------


def test_an_excerpt_shows_what_differs_and_no_comment() -> None:
    right = "\n".join(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"])
    wrong = "/* Wrong: x. */\na\nb\nX // here\nd\ne\nf\ng\nh\ni\nj\n\nk\n"
    assert excerpt(wrong, right, ".c") == ["a", "b", "X", "d", "e", "f"]
    assert excerpt(wrong, right.replace("k", "z"), ".c") == [
        "a", "b", "X", "d", "e", "f", GAP, "h", "i", "j", "k"
    ]  # fmt: skip
    assert excerpt(right.replace("k\n", ""), right, ".c") == []  # nothing is wrong
    assert excerpt("a\nb\n", right, ".c") == ["a", "b"]  # what is left out shows by its place
    assert excerpt("\n".join(map(str, range(99))), right, ".c") == []
    fortran = "! Wrong: y\n!$omp parallel do\ndo i = 1, n ! all\n"
    assert strip_comments(fortran, ".f90") == ["!$omp parallel do", "do i = 1, n"]
    assert strip_comments("# no\nranks = 2 # why\n", ".toml") == ["ranks = 2"]


def test_a_handout_is_taken_apart() -> None:
    text = (
        "# Lab\n\n*You will be able to* do\nthis.\n\n*Needs:* that.\n\n## What to do\n\n(Or so.)\n"
        "\n1. **Predict.** What\n   share?\n2. **Look.** From here:\n\n   ```\n"
        "   ./numalab grade 01        (or)\n   ```\n\n   See?\n\nStuck?\n\n"
        "## Questions to take along\n\n- One\n  line?\n- Two?\n\n*Sources:* x.\n"
    )
    handout = read_handout(text, "README.md")
    assert (handout.goals, handout.needs, handout.effect) == ("Do this.", "That.", "")
    assert [step_in_short(step) for step in handout.steps] == [
        "**Predict.** What share?", "**Look.** From here: `./numalab grade 01`"
    ]  # fmt: skip
    assert handout.questions == ("One line?", "Two?")
    assert section(text, "Answers") == ""
    with pytest.raises(NumalabError, match=r"README.md: below '## What to do' there are no steps"):
        read_handout("# Lab\n", "README.md")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('fails = []\nsays = "x"', "3: x fails nothing"),
        ('fails = ["speedup"]\nmay_fail = ["speedup"]\nsays = "x"', "x fails nothing, or by luck"),
        ('fails = ["speed"]\nsays = "x"', "'fails' holds 'speed'. Did you mean 'speedup'"),
        ('fails = ["speedup"]', "no key 'says_c'"),
        ('fails = ["speedup"]\nsays = "x"\ncause = "bad"', "'cause' is 'bad'"),
        ('fails = ["speedup"]\nsays = "x"\nwhy = "bad"', "unknown key 'why'"),
        ('fails = ["speedup"]\nsays = "x"', "there is no .*x.c, which languages names"),
    ],
)
def test_a_table_of_mistakes_that_is_not_of_its_form_is_told(
    tmp_path: Path, text: str, says: str
) -> None:
    installation, lab = Installation(tmp_path), LABS["01_first_touch"]
    wrong = installation.solution_folder(lab.name) / "wrong"
    wrong.mkdir(parents=True)
    (wrong / "wrong.toml").write_text(
        f'\n[[submission]]\nname = "x"\nlanguages = ["c"]\nmistake = "y"\n{text}\n'
    )
    with pytest.raises(
        NumalabError, match=rf"wrong.toml:\d+: .*{says}" if says[0] != "3" else says
    ):
        read_mistakes(installation, lab)


def test_a_kit_that_lacks_a_text_is_told(tmp_path: Path) -> None:
    lab = LABS["01_first_touch"]
    other = Installation(tmp_path)
    (tmp_path / "labs").mkdir()
    (tmp_path / "solutions").symlink_to(KIT.root / "solutions")
    with pytest.raises(NumalabError, match=r"questions.toml: can't read it"):
        gather(other, lab, "c", "1")


# ---- the command ----------------------------------------------------------------------------


def called(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["notes", *arguments], prog_name="numalab")


def test_the_command_writes_a_text_for_each_lab(tmp_path: Path) -> None:
    done = called("01", "3", "--out", str(tmp_path / "new" / "notes"), "--lang", "fortran")
    assert done.exit_code == 0, done.output
    names = ["01_first_touch.md", "03_scheduling.md"]
    assert sorted(path.name for path in (tmp_path / "new" / "notes").iterdir()) == names
    for name, line in zip(names, done.output.splitlines(), strict=True):
        assert re.search(rf"{name}: \d+ mistakes, \d+ exam questions$", line)
    text = (tmp_path / "new" / "notes" / names[0]).read_text()
    assert "```fortran\n" in text and "```c\n" not in text
    assert text == notes(material_of(LABS["01_first_touch"], "fortran"))


def test_left_out_the_notes_lie_in_the_build_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMALAB_BUILD", str(tmp_path))
    assert called().exit_code == 0
    written = sorted(path.stem for path in (tmp_path / "gnu" / "notes").glob("*.md"))
    assert written == sorted(LABS)


def test_wrong_use_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments, says in (
        (["99"], "there is no lab '99'"),
        (["01", "--seed", " "], "--seed wants a word"),
        (["01", "--seed", "a`b"], "--seed wants a word"),
        (["01", "--out", str(tmp_path / "file" / "below")], "name another --out"),
    ):
        done = called(*arguments)
        assert isinstance(done.exception, UserError), done.output
        assert says in str(done.exception)
    assert called("01", "--lang", "ada").exit_code == 2
