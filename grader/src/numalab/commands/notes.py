"""./numalab notes: an instructor's notes on labs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from numalab.commands.reporter import note
from numalab.commands.shared import labs_argument, shown_path
from numalab.errors import UserError, reason_of
from numalab.files import expand_home, write_whole
from numalab.grading.request import labs_in_language
from numalab.installation import Installation
from numalab.judging.rules import load_labs
from numalab.labs.declaration import LANGUAGES, Language, choose_labs
from numalab.words import count


@click.command(short_help="Write an instructor's notes on labs.")
@labs_argument
@click.option(
    "--lang",
    "language",
    type=click.Choice(LANGUAGES, case_sensitive=False),
    help="Of the code that exam questions show. Left out: C, or what the lab has.",
)
@click.option(
    "--seed",
    default="1",
    show_default=True,
    help="Draws the exam questions: the same seed, the same exam.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write into this folder. Left out: build/.../notes.",
)
@click.pass_obj
def notes(
    installation: Installation,
    names: Sequence[str],
    language: Language | None,
    seed: str,
    out: Path | None,
) -> None:
    """Write a text for whoever teaches a lab: a lesson plan with the minutes of each slide,
    what students get wrong and what the kit says to it, the hints, the answers, and exam
    questions with theirs. It is made from the lab's files each time, and is not for students.

    Nothing is built or measured. Without LAB: one text for each lab.

    \b
    Examples:
      ./numalab notes 01
      ./numalab notes 02 --lang fortran --seed autumn-2027
      ./numalab notes --out ~/teaching/numalab
    """
    from numalab.teaching.instructor_notes import gather
    from numalab.teaching.instructor_notes import notes as written

    installation.need_solutions("./numalab notes")
    if not seed.isprintable() or not seed.strip() or "`" in seed:
        raise UserError("--seed wants a word, such as --seed autumn-2027")
    labs = choose_labs(load_labs(installation.root), names)
    labs = labs_in_language(labs, language, bool(names), note)
    folder = installation.build / "notes" if out is None else expand_home(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder} can't be made: {reason_of(error)}; name another --out"
        ) from error
    for lab in labs:
        material = gather(installation, lab, language or min(lab.languages), seed.strip())
        path = folder / f"{lab.name}.md"
        try:
            write_whole(path, written(material))
        except OSError as error:
            raise UserError(
                f"{path} can't be written: {reason_of(error)}; name another --out"
            ) from error
        click.echo(
            f"{shown_path(path)}: {count(len(material.mistakes), 'mistake')}, "
            f"{count(len(material.exam_questions), 'exam question')}"
        )
