"""Check that a variant, or answers to a case, are handed in by the student for whom they were made,
by the code that follows from the course's secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from numalab.course.course_folder import CourseFolder
from numalab.course.intake.taking import DIAGNOSIS, NOT_GRADED, Chosen
from numalab.course.records import Student
from numalab.course.secret import seed_of
from numalab.errors import UserError
from numalab.grading.variant_installations import TICKET, TICKET_BYTES, parse_ticket
from numalab.labs.seeds import Seed, seed_of_code
from numalab.labs.variants import lab_of_variant
from numalab.toml_files.tables import parse_table
from numalab.untrusted.visible import shown

_DIAGNOSIS_KEYS = ("lab", "for", "code", "answers")


def check_owner(
    course: CourseFolder, student: Student, chosen: Sequence[Chosen]
) -> tuple[tuple[Chosen, ...], tuple[str, ...]]:
    """Drop variants and answers, unless their lab and code are this student's in this course.

    Returns:
        What is left, and a sentence for each variant and each file of answers that is dropped.

    Raises:
        UserError: the course's secret can't be used or made.
    """
    kept, refused = [], []
    for one in chosen:
        if one.lab.is_variant:
            why = _why_not_her_variant(course, student, one)
        elif DIAGNOSIS in one.files:
            why = _why_not_her_case(course, student, one)
        else:
            why = ""
        if not why:
            kept.append(one)
            continue
        refused.append(f"{one.lab.name}: {why}")
        files = {name: of for name, of in one.files.items() if name != DIAGNOSIS}
        if not one.lab.is_variant and files.keys() - NOT_GRADED:
            kept.append(replace(one, files=files))
    return tuple(kept), tuple(refused)


def _why_not_her_variant(course: CourseFolder, student: Student, chosen: Chosen) -> str:
    """Return why a variant is not taken for the student's, with what to do; empty if it is."""
    again = (
        f"Write yours by ./numalab variant {chosen.lab.number} --for {student.id} --code CODE, "
        "with the code that your instructor sent you, and hand in that folder."
    )
    if TICKET not in chosen.files:
        return f"{TICKET} is missing, so that whose variant it is does not show. {again}"
    try:
        named, seed = parse_ticket(_text(chosen, TICKET), TICKET)
    except UserError as error:
        return f"{error} {again}"
    if named != lab_of_variant(chosen.lab.name):
        return f"{TICKET} is of a variant of {shown(named)}. {again}"
    if seed != seed_of(course, student.id):
        return f"this is the variant of {_owner_text(seed)}, and not yours. {again}"
    return ""


def _why_not_her_case(course: CourseFolder, student: Student, chosen: Chosen) -> str:
    """Return why answers are not taken as those to the student's case, with what to do; empty if
    they are."""
    again = (
        f"{DIAGNOSIS} is not taken; all else is. Answer to your own case: ./numalab diagnose "
        f"{chosen.lab.number} --for {student.id} --code CODE, with the code that your instructor "
        "sent you."
    )
    try:
        table = parse_table(_text(chosen, DIAGNOSIS), DIAGNOSIS, UserError, _DIAGNOSIS_KEYS)
        named, seed = table.text("lab"), seed_of_code(table.text("for"), table.text("code"))
    except UserError as error:
        return f"{error} {again}"
    if named != chosen.lab.name:
        return f"{DIAGNOSIS} is of a case of {shown(named)}. {again}"
    if seed != seed_of(course, student.id):
        return (
            f"{DIAGNOSIS} has answers to the case of {_owner_text(seed)}, and not to yours. {again}"
        )
    return ""


def _text(chosen: Chosen, name: str) -> str:
    content = chosen.files[name]
    if len(content) > TICKET_BYTES:
        raise UserError(f"{name} is larger than {TICKET_BYTES >> 10} KiB; a few lines are enough.")
    return content.decode("utf-8", "replace")


def _owner_text(seed: Seed) -> str:
    return f"'{shown(seed.owner)}' ({seed.code})"
