"""A statement of what a course keeps of a person, which an instructor can hand out."""

from __future__ import annotations


def paragraph(title: str, kept_until: str | None, contact: str | None) -> str:
    """Return the statement, in one paragraph.

    Args:
        title: the course's title; may be empty.
        kept_until: until when, in the instructor's words; None or empty if that is not fixed.
        contact: whom students may ask; None or empty if nobody is named.
    """
    of = f"In the course {title}" if title else "In this course"
    end = (
        f"until {kept_until}" if kept_until else "until the instructors remove the course's folder"
    )
    ask = " Questions, and wishes to see or correct what is kept of you: "
    return (
        f"{of} your hand-ins are graded by numalab. Of you it keeps your name and the keys by "
        "which the course's system knows you (such as e-mail address or login), every version of "
        "the files that you handed in (kernels, predictions, answers, explanations) with the time "
        "of it, and every grading of them: what your program did (threads, pages, times, output), "
        "the verdicts, the node that it ran on, and the grades that follow, with points that were "
        "set by hand, marks of a viva, and what was noted of either. Nothing is recorded of how "
        "you work, and nothing of your own computer: what the kit keeps there (results, hints, "
        "progress) stays there. All of it lies in one folder that the course's instructors can "
        "read, and leaves it only as they export grades, under pseudonyms if they choose. The kit "
        f"sends nothing anywhere. It is kept {end}.{ask + contact + '.' if contact else ''}"
    )
