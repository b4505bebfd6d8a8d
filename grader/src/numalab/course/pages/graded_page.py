"""Draw the page of an attempt that was judged again from its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numalab.course.attempts import read_attempt
from numalab.course.course_folder import CourseFolder
from numalab.course.pages.student_page import moment
from numalab.course.records import Attempt
from numalab.errors import NumalabError, UserError
from numalab.grading.numalab_digests import judged_by
from numalab.grading.stored_gradings import judge_again, read_grading
from numalab.installation import Installation
from numalab.judging.verdict import read_verdict
from numalab.labs.declaration import Lab
from numalab.palette import keep_matplotlib_in
from numalab.reports.occasion import Occasion, Submission

AGAIN = (
    "nothing: what is open is not earned yet, and not lost. It is decided when your class is "
    "graded again."
)


def drawn_page(
    course: CourseFolder, installation: Installation, labs: Mapping[str, Lab], attempt: Attempt
) -> str | None:
    """Return the page of an attempt that was judged again.

    Args:
        labs: the labs that numalab has, variants included.

    Returns:
        None if the page can't be drawn: the attempt is not complete, numalab does not have its lab,
        it was judged by other than the present rules, or its results or records are damaged or
        can't be judged.

    Raises:
        NumalabError: its attempt.json is damaged.
    """
    item = attempt.target
    folder = course.attempt(item, attempt.number)
    whole = read_attempt(folder)
    if whole is None or item.lab not in labs:
        return None
    if whole.judged_by != judged_by(installation, item.lab):
        return None
    keep_matplotlib_in(installation.build / "matplotlib")
    from numalab.reports.html_page import page  # matplotlib, once it has its folder

    try:
        gradings = [
            read_grading(folder / "evidence" / result["language"], labs) for result in whole.results
        ]
        kernels = [
            replace(judge_again(installation, grading, AGAIN), verdict=read_verdict(result))
            for grading, result in zip(gradings, whole.results, strict=True)
        ]
    except (UserError, NumalabError, KeyError):
        return None
    times = f"{moment(whole.ended_at)}, judged again {moment(whole.rejudged_at)}"
    notes = {name: note for grading in gradings for name, note in grading.machine_notes()}
    occasion = Occasion(times, gradings[0].local.node, list(notes.items()))
    return page([Submission("", kernels)], occasion)
