"""The rule for answers about a machine that was made from a seed.

The value is the number of questions whose answer is wrong or missing. Answers that come with
numalab's solution are refused where a student hands them in. Answers about a machine that could not
be observed are not gradable. Answers of another student for the same seed pass, and so do answers
computed from numalab's sources, which make the machine.
"""

from __future__ import annotations

from node_answers import PUBLISHED_SEED, Answers, read_answers
from node_questions import (
    QUESTIONS,
    MachineQuestion,
    command_for,
    draw_units,
    mistake_in,
)

from numalab.evidence.record import Evidence
from numalab.judging.principles import Principle, explain
from numalab.judging.registry import Rule
from numalab.judging.seeded_answers import (
    UNIT,
    are_many,
    are_published,
    list_mistakes,
    none_given,
    refuse_published,
)
from numalab.judging.soundness import judge_value, not_measured
from numalab.judging.verdict import CriterionVerdict, verdict_on
from numalab.labs.declaration import Criterion
from numalab.machines.seeded import PREFIX
from numalab.machines.structure import Structure, structure_of_node


@Rule("topology", subject="answers")
def topology(criterion: Criterion, evidence: Evidence) -> CriterionVerdict:
    """Count the questions whose answer is missing, or not what was found on the booted machine."""
    if evidence.is_virtual:
        why = "Judged once, whatever other machines show: the file is about one of its own."
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    text = evidence.handed(criterion.needed_file.name)
    if text is None:
        return not_measured(criterion, evidence)
    answers = read_answers(text.text)
    name = f"{PREFIX}{answers.seed}"
    if answers.are_none:
        return none_given(criterion, len(QUESTIONS), f"./numalab machine questions {name}")
    seeded = evidence.seeded_node
    if seeded is None or seeded.seed != answers.seed:
        return not_measured(criterion, evidence)
    if seeded.node is None:
        why = f"Nobody could look at {name} here: {(seeded.error or '').removesuffix('.')}."
        return verdict_on(criterion, "not_gradable", "not_visible_here", why)
    structure = structure_of_node(seeded.description)
    drawn = draw_units(answers.seed)
    mistaken = [q for q in QUESTIONS if answers.given[q.key] != q.answer(structure, drawn)]
    if not mistaken and are_published(answers, PUBLISHED_SEED, evidence):
        return refuse_published(criterion, f"about {name}", "what is asked about that machine")
    if not mistaken:
        why = f"All {len(QUESTIONS)} answers are what hwloc sees on {name}."
        return judge_value(criterion, 0.0, why, UNIT)
    return judge_value(criterion, float(len(mistaken)), _why(answers, mistaken, structure), UNIT)


def _why(answers: Answers, mistaken: list[MachineQuestion], structure: Structure) -> str:
    drawn = draw_units(answers.seed)
    told = list_mistakes(
        answers, mistaken, lambda question, given: mistake_in(question, given, structure, drawn)
    )
    name = f"{PREFIX}{answers.seed}"
    why = f"Wrong about {name}: {told}."
    if are_many(answers, mistaken):
        why += f" So many: were they looked up on {name}, which the file's seed says?"
    return f"{why} Look: {command_for(mistaken[0], answers.seed, drawn)}"


explain(
    topology,
    Principle(
        "Packages, NUMA nodes, cores and PUs are counted apart, and numbers of PUs need not follow "
        "any of them.",
        "Why are PUs X and X + 1 not always one core's? (Numbering differs between machines.)",
        ("package", "core", "pu", "numa"),
    ),
)
