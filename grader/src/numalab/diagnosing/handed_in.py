"""The file of a student's answers to a case, diagnose.toml. The case follows from the code in it,
so answers are scored without a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from numalab.diagnosing.case import Case, make_case
from numalab.errors import NumalabError, UserError, reason_of
from numalab.evidence.record import Json
from numalab.files import NotPlain, read_plain_text, write_whole
from numalab.installation import Installation
from numalab.labs.declaration import Lab
from numalab.labs.seeds import seed_of_code
from numalab.toml_files.tables import parse_table
from numalab.untrusted import toml

FILE = "diagnose.toml"
MOST_BYTES = 4 << 10
_KEYS = ("lab", "for", "code", "answers")


@dataclass(frozen=True)
class Answer:
    """An answer to a question. question: its name; chosen: the choice in words; empty: none."""

    question: str
    chosen: str
    is_correct: bool


def answered(case: Case, chosen: Mapping[str, str]) -> list[Answer]:
    """Return an answer for each question of a case; a missing one is not correct. chosen: the
    choices in words, by question. Raises UserError for what is no choice."""
    answers = []
    for question in case.questions:
        choice = chosen.get(question.name, "")
        if choice and choice not in question.choices:
            raise UserError(
                f"the answer to '{question.name}' is none of its choices. Take over the words of "
                f"one as ./numalab diagnose {case.lab.number} shows them."
            )
        answers.append(Answer(question.name, choice, choice == question.answer))
    return answers


def diagnosis_json(case: Case, answers: list[Answer]) -> Json:
    """Return the JSON of a result; its score is the share of correct answers (0 to 1)."""
    return {
        "case": case.name,
        "score": round(sum(answer.is_correct for answer in answers) / len(answers), 4),
        "questions": [
            {"name": answer.question, "chosen": answer.chosen, "right": answer.is_correct}
            for answer in answers
        ],
    }


def scored(installation: Installation, lab: Lab, text: str) -> Json:
    """Return the JSON of a result for the text of a file. Raises UserError where the file can't be
    scored."""
    why = toml.why_not_readable(text)
    if why:
        raise UserError(f"{FILE} {why}; a few lines are enough")
    table = parse_table(text, FILE, UserError, _KEYS)
    table.need(*_KEYS)
    if table.text("lab") != lab.name:
        table.fail(f"'lab' is not {lab.name}, with which it was handed in", "lab")
    case = make_case(installation, lab, seed_of_code(table.text("for"), table.text("code")))
    names = [question.name for question in case.questions]
    return diagnosis_json(case, answered(case, table.table("answers", names).text_values()))


def score_diagnosis(installation: Installation, lab: Lab, folder: Path) -> Json | None:
    """Return the JSON of a result for the file in a handed-in folder; None where there is no file,
    in a student copy, which lacks the solutions that score it, and for a variant. A file that can't
    be read or scored has score 0 and a complaint."""
    if installation.is_edition or lab.is_variant:
        return None
    try:
        text = read_plain_text(folder / FILE, MOST_BYTES)
        return scored(installation, lab, text)
    except FileNotFoundError:
        return None
    except NotPlain as error:
        return {"score": 0.0, "questions": [], "complaint": f"{FILE} {error}"}
    except UnicodeDecodeError:
        return {"score": 0.0, "questions": [], "complaint": f"{FILE} is no text in UTF-8"}
    except UserError as error:
        return {"score": 0.0, "questions": [], "complaint": str(error)}


def diagnosis_words(lab: str, score: Json) -> str:
    """Return sentences for the student on a score. score: as score_diagnosis returns it."""
    if "complaint" in score:
        return f"{lab}, diagnosis: 0 of 1. {score['complaint']}"
    correct = [question["name"] for question in score["questions"] if question["right"]]
    asked = len(score["questions"])
    return f"{lab}, diagnosis: {len(correct)} of {asked} answers are right."


def _file_lines(case: Case, chosen: Mapping[str, str] | None) -> Iterator[str]:
    """Yield the lines of a file. chosen: choices in words, by question; None: the choices are
    comments."""
    yield f"lab = {json.dumps(case.lab.name)}"
    yield f"for = {json.dumps(case.seed.owner)}"
    yield f"code = {json.dumps(case.seed.code)}"
    yield ""
    yield "[answers]"
    for question in case.questions:
        if chosen is not None:
            yield f"{question.name} = {json.dumps(chosen[question.name], ensure_ascii=False)}"
            continue
        yield f"# {question.text} Take the # away before one of these."
        for choice in question.choices:
            yield f"# {question.name} = {json.dumps(choice, ensure_ascii=False)}"


def file_text(case: Case, chosen: Mapping[str, str] | None = None) -> str:
    """Return the text of a file. chosen: choices in words, by question; None: it is to be filled
    in, with the choices as comments."""
    return "\n".join(_file_lines(case, chosen)) + "\n"


def keep_first(folder: Path, case: Case, chosen: Mapping[str, str]) -> bool:
    """Write the file, unless there is one of this lab and code: the first answers count. Return
    whether it was written. Raises UserError where there is one of others or one that can't be read,
    and NumalabError where it can't be written."""
    path = folder / FILE
    try:
        table = parse_table(read_plain_text(path, MOST_BYTES), str(path), UserError, _KEYS)
    except FileNotFoundError:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, file_text(case, chosen))
        except OSError as error:
            raise NumalabError(
                f"can't write {path}: {reason_of(error)}. Free it and retry."
            ) from error
        return True
    except (NotPlain, UnicodeDecodeError) as error:
        raise UserError(f"{path} can't be read ({error}); move it elsewhere first") from error
    if (table.text("lab"), table.text("code")) != (case.lab.name, case.seed.code):
        raise UserError(f"{path} has answers to another case; move it elsewhere first")
    return False
