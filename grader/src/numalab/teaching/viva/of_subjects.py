"""The lab's own questions, without the choices that learners get, where attempts give too few: of
who has handed in one file that can't be built. Pure functions."""

from __future__ import annotations

from numalab.draws import shuffled
from numalab.teaching.viva.question import VivaQuestion
from numalab.teaching.viva.story import LabStory


def of_subjects(story: LabStory, draw: str) -> list[VivaQuestion]:
    """All of a lab, in an order that is drawn."""
    return [
        VivaQuestion(
            kind="subject",
            lab=story.lab.name,
            about=question.name,
            text=" ".join(question.text.split()),
            answer=(
                " ".join(question.choices[question.right].split()),
                " ".join(question.says[question.right].split()),
            ),
            evidence=(),
            follow_up=f"What in the report of {story.last.name} does it explain?",
        )
        for question in shuffled(f"{draw}: question", story.questions)
    ]
