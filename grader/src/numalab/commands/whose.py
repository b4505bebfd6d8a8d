"""Options of commands about what is one person's own: --for with --code or --course, or --seed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import click

from numalab.errors import UserError
from numalab.labs.seeds import Seed, chosen_seed, seed_of_code


def whose_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds owner, code, course and seed, which seed_of_options reads."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


_OPTIONS = (
    click.option(
        "--for",
        "owner",
        metavar="ID",
        help="Whose it is: your id in the course, with --code; staff: a student's, with --course.",
    ),
    click.option("--code", metavar="CODE", help="The code that your instructor sent you."),
    click.option(
        "--course",
        type=click.Path(path_type=Path),
        metavar="COURSE",
        help="Staff: the course's folder, whose secret makes the codes.",
    ),
    click.option("--seed", metavar="N|today", help="To study alone: a number, or 'today'."),
)


def seed_of_options(
    owner: str | None, code: str | None, course: Path | None, seed: str | None
) -> Seed:
    """Raises UserError for what does not go together."""
    if seed is not None:
        if owner is not None or code is not None or course is not None:
            raise UserError("--seed is to study alone, without --for, --code and --course")
        return chosen_seed(seed, date.today())
    if owner is None:
        raise UserError(
            "say whose it is: --for ID --code CODE as your instructor sent them to you, or to "
            "study alone --seed today"
        )
    if (code is None) == (course is None):
        raise UserError(
            f"--for {owner} needs --code CODE, which your instructor sent you, or from staff "
            "--course COURSE"
        )
    if code is not None:
        return seed_of_code(owner, code)
    assert course is not None
    return _of_course(course, owner)


def _of_course(path: Path, owner: str) -> Seed:
    from numalab.course.course_folder import CourseFolder
    from numalab.course.secret import seed_of

    if not path.is_dir():
        raise UserError(f"--course {path}: there is no such folder")
    return seed_of(CourseFolder(path.resolve()), owner)
