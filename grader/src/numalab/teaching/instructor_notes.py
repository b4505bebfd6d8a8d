"""An instructor's notes on a lab, as one text in Markdown: a lesson plan, known mistakes, hints,
answers, and exam questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from numalab.diagnosing.known_mistakes import KnownMistake, read_mistakes
from numalab.errors import NumalabError
from numalab.grading import explanation
from numalab.installation import Installation
from numalab.judging.verdict import CAUSES
from numalab.labs.declaration import LANGUAGE_NAMES, Criterion, Lab, Language
from numalab.labs.hints import hint_command
from numalab.learning.notebook_files import explanation_prompt, given_notebook, read_notebook
from numalab.learning.predictions import Published, read_published, words
from numalab.learning.questions import AnsweredQuestion, load_questions
from numalab.teaching import exam
from numalab.teaching.deck import Deck, minutes_of, parse_deck
from numalab.teaching.exam import ExamQuestion
from numalab.teaching.handout import ANSWERS, Handout, read_handout, section, step_in_short
from numalab.words import count, listed

SHORTEST_SAYS = 10  # characters of a quotation from a report that is worth showing


@dataclass(frozen=True)
class Material:
    """What the notes on a lab are made from.

    Attributes:
        answers: the answers in the text of the solution, in Markdown; empty: it has none.
        prompt: what students are to explain; empty: no notebook asks it.
        deck: the lecture's slides; None: there is no lecture.
        paths: the mistakes' files or folders, by the mistake's name.
        published: published figures, by the prediction's name.
        quiz: the notebook's questions, by name.
        exam_questions: the quiz and those that the seed draws.
    """

    lab: Lab
    language: Language
    handout: Handout
    answers: str
    prompt: str
    deck: Deck | None
    mistakes: tuple[KnownMistake, ...]
    paths: dict[str, Path]
    published: dict[str, Published]
    quiz: dict[str, AnsweredQuestion]
    exam_questions: tuple[ExamQuestion, ...]
    seed: str


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NumalabError(f"{path} can't be read: {error.strerror}; is the copy whole?") from error


def gather(installation: Installation, lab: Lab, language: Language, seed: str) -> Material:
    """Read what the notes on a lab are made from. Raises UserError for a deck without front
    matter."""
    readme = installation.lab_folder(lab.name) / "README.md"
    slides = installation.root / "slides" / f"{lab.name}.md"
    notebook = given_notebook(installation, lab.name)
    mistakes = read_mistakes(installation, lab)
    quiz = load_questions(installation, lab.name)
    try:
        code = exam.code_questions(installation, lab, language, mistakes, seed)
    except OSError as error:
        raise NumalabError(f"a wrong submission can't be read: {error}") from error
    return Material(
        lab,
        language,
        read_handout(_text(readme), str(readme)),
        section(_text(installation.solution_folder(lab.name) / "README.md"), ANSWERS),
        explanation_prompt(read_notebook(notebook)) if notebook.is_file() else "",
        parse_deck(lab.name, _text(slides)) if slides.is_file() else None,
        mistakes,
        {one.name: exam.path_of(one, language, installation) for one in mistakes},
        read_published(installation.solution_folder(lab.name)),
        quiz,
        (
            *exam.quiz_questions(quiz.values()),
            *code,
            *exam.report_questions(lab, language, mistakes, seed),
        ),
        seed,
    )


def notes(material: Material) -> str:
    """Return the notes as one text in Markdown."""
    parts = (_head, _plan, _mistakes, _hints, _answers, _exam)
    return "\n\n".join(block for part in parts for block in part(material)) + "\n"


# Each part yields blocks of Markdown, such as a heading, a paragraph or a list. Blank lines go
# between them.


def _listing(*lines: str) -> str:
    return "\n".join(["```", *lines, "```"])


# ---- what it is about ------------------------------------------------------------------


def _head(material: Material) -> Iterator[str]:
    lab, handout = material.lab, material.handout
    yield f"# Lab {lab.number}, {lab.title}: instructor notes"
    yield (
        f"Made by `./numalab notes {lab.number}` from the lab's own files; make it again rather "
        "than edit it. It has all answers: it is not for students."
    )
    yield f"**Students will be able to** {handout.goals[:1].lower()}{handout.goals[1:]}"
    yield f"**They need** {handout.needs[:1].lower()}{handout.needs[1:]}"
    yield f"**What they will see:** {handout.effect[:1].lower()}{handout.effect[1:]}"


def _where(lab: Lab, criterion: Criterion) -> str:
    """Return the machines on which a criterion is graded, in words."""
    if criterion.kind == "timing" and criterion.needs_numa_nodes > 1:
        return f"only where there are {criterion.needs_numa_nodes} NUMA nodes or more; else n/a"
    if criterion.needs_huge_page_mode:
        return f"in the huge page modes {listed(criterion.needs_huge_page_mode)}; else n/a"
    if criterion.on_machines:
        return f"here and on virtual {listed(lab.machines)}"
    if criterion.needs_numa_nodes > 1:
        return f"with one NUMA node on virtual {listed(lab.machines)}; with more here, too"
    return "on every machine"


# ---- lesson plan -----------------------------------------------------------------------


def _plan(material: Material) -> Iterator[str]:
    lab, deck = material.lab, material.deck
    yield "## Lesson plan"
    yield "Before the lesson, on the machine that the class will use:"
    yield _listing(
        "./numalab doctor                what it can show, and what disturbs times",
        f"./numalab audit {lab.number}              handout and solution do what is declared",
    )
    plan = ["| part | minutes | in the short plan |", "|---|---:|---:|"]
    lab_row = f"| lab | {lab.minutes} | {lab.minutes} |"
    if deck is None:
        yield "\n".join([*plan, lab_row])
    else:
        whole, short = minutes_of(deck.slides), minutes_of(deck.short)
        lecture = f"| lecture, `slides/{deck.name}.md` | {whole} | {short} |"
        together = f"| together | {whole + lab.minutes} | {short + lab.minutes} |"
        yield "\n".join([*plan, lecture, lab_row, together])
        yield from _lecture(deck)
    yield "### The lab, step by step"
    steps = enumerate(material.handout.steps, 1)
    yield "\n".join(f"{number}. {step_in_short(step)}" for number, step in steps)
    if material.published:
        yield "Published figures for predictions; students see them once they have predicted:"
        yield "\n".join(
            f"- {words(name)}: {one.value:g}. {' '.join(one.says.split())}"
            for name, one in material.published.items()
        )
    yield "### What is graded, and where"
    graded = [f"| `{c.name}` | {c.points} | {_where(lab, c)} |" for c in lab.criteria]
    yield "\n".join(["| criterion | points | graded |", "|---|---:|---|", *graded])


def _lecture(deck: Deck) -> Iterator[str]:
    yield "### The lecture, slide by slide"
    yield (
        f"All of it takes {minutes_of(deck.slides)} minutes. The slides with a number in the last "
        f"column are the short lecture of {minutes_of(deck.short)}; the text of the lab has the "
        "rest."
    )
    lines = ["| slide | | minutes | short |", "|---:|---|---:|---:|"]
    for slide in deck.slides:
        title = slide.title.replace("|", "\\|")
        short = slide.minutes if slide in deck.short else ""
        row = f"| {slide.number} | {title} | {slide.minutes} | {short} |"
        lines.append(row.replace("|  |", "| |"))
    yield "\n".join(lines)


# ---- what students get wrong --------------------------------------------------------------


def _mistakes(material: Material) -> Iterator[str]:
    yield "## What students get wrong, and what the kit says to it"
    yield (
        f"{count(len(material.mistakes), 'mistake')}, by the criterion that a student meets "
        "first and "
        "by what its sentence in the report says: from what is on a student's screen back to what "
        "may be wrong. Each lies in the kit, and the suite grades it. A kernel that is not correct "
        "fails what else is asked of it, too. To show one:"
    )
    if material.mistakes:
        yield _show(material)
    for criterion in material.lab.criteria:
        own = [mistake for mistake in material.mistakes if mistake.first == criterion.name]
        if own:
            yield from _criterion_mistakes(material, criterion, own)


def _show(material: Material) -> str:
    """Return a listing of the commands that grade a mistake."""
    lab, language = material.lab, material.language
    able = (w for w in material.mistakes if w.folder is None and language in w.kernels)
    mistake = next(able, material.mistakes[0])
    path = material.paths[mistake.name]
    folder = f"demo/{lab.name}"
    return _listing(
        f"mkdir -p {folder}",
        *([f"cp solutions/{lab.name}/*.* {folder}/"] if lab.files else []),
        f"cp {path} {folder}/kernel{path.suffix}",
        f"./numalab grade {lab.number} --quick --lang {language} --submission demo",
    )


def _criterion_mistakes(
    material: Material, criterion: Criterion, own: Sequence[KnownMistake]
) -> Iterator[str]:
    yield f"### `{criterion.name}`"
    hint = hint_command(material.lab, criterion.name)
    if hint:
        yield f"Help: `{hint}`."
    groups: dict[str, list[KnownMistake]] = {}
    for mistake in own:
        groups.setdefault(_report_words(mistake, material.language), []).append(mistake)
    for said, alike in groups.items():
        yield said
        yield "\n".join(f"- {one.mistake} {_facts(material, one)}" for one in alike)


def _report_words(mistake: KnownMistake, language: str) -> str:
    """Return a sentence with the report's words on a mistake, what the cause means, or both."""
    says_nothing = mistake.cause in (None, "missed")  # the sentence has the figure, then
    means = "" if mistake.cause is None else CAUSES[mistake.cause].means
    says = mistake.says_in(language).strip()
    if len(says) < SHORTEST_SAYS and means:
        return f"The report says in other words that {means}:"
    return f"The report says “... {says} ...”{'' if says_nothing else f' ({means})'}:"


def _facts(material: Material, mistake: KnownMistake) -> str:
    """Return sentences on a mistake, followed by the name of its file."""
    told = []
    correctness = {c.name for c in material.lab.criteria if c.kind == "correctness"}
    more = [name for name in mistake.fails if name != mistake.first]
    if more and mistake.first not in correctness:
        told.append(f"Fails {exam.names(more)}, too.")
    if mistake.may_fail:
        told.append(f"May fail {exam.names(mistake.may_fail)}.")
    if mistake.folder is None and mistake.languages != material.lab.languages:
        told.append(f"In {listed([LANGUAGE_NAMES[name] for name in mistake.languages])} only.")
    told.append(f"`{material.paths[mistake.name].name}`")
    return " ".join(told)


# ---- hints and answers ---------------------------------------------------------------------


def _hints(material: Material) -> Iterator[str]:
    lab = material.lab
    if not lab.hints:
        return
    yield "## Hints that students can ask for"
    yield "The weakest first; the last one is nearly the solution."
    for ladder in lab.hints:
        command = " ".join(filter(None, ("./numalab hint", lab.number, ladder.topic)))
        yield f"### `{command}`"
        if ladder.topic:
            yield f"For {exam.names(ladder.criteria)}."
        levels = enumerate(ladder.levels, 1)
        yield "\n".join(f"{number}. {' '.join(level.split())}" for number, level in levels)


def _answers(material: Material) -> Iterator[str]:
    yield "## Questions to talk about"
    yield "\n".join(f"- {question}" for question in material.handout.questions)
    if material.prompt:
        yield (
            f"To be explained in three sentences ({explanation.FILE}, handed in beside the kernel "
            f"and kept with each grading): {material.prompt}"
        )
    yield "### Answers, to these and to the steps"
    yield material.answers or f"See solutions/{material.lab.name}/README.md."


# ---- exam --------------------------------------------------------------------------------


def _exam(material: Material) -> Iterator[str]:
    yield "## Exam questions"
    yield (
        f"The first {len(material.quiz)} are those of the notebook, which every student has seen. "
        f"The others are drawn by the seed `{material.seed}`; another one draws others: "
        f"`./numalab notes {material.lab.number} --seed {material.seed}b`."
    )
    numbered = list(enumerate(material.exam_questions, 1))
    for number, question in numbered:
        yield f"**{number}.** {question.text}"
        yield "\n".join(f"- {letter}) {choice}" for letter, choice in question.lettered)
    yield "## Answers to the exam questions"
    yield "\n".join(f"{number}. **{one.letter}.** {one.answer}" for number, one in numbered)
