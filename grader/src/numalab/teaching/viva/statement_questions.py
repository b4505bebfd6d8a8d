"""Oral questions on the student's own statements, in explanation.txt, predictions or a diagnosis,
compared with what was observed. Pure functions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numalab.course.records import Json
from numalab.draws import shuffled
from numalab.judging.correctness_rules import correct
from numalab.teaching.viva.principles import principle_of
from numalab.teaching.viva.story import LabStory, VivaQuestion
from numalab.teaching.viva.wording import evidence_line
from numalab.untrusted.visible import shortened, visible
from numalab.words import short

MOST_SENTENCE = 240  # characters of a sentence that is quoted
LEAST_SENTENCE = 20  # characters; a shorter one says nothing that a figure could show
_END = re.compile(r"(?<=[.!?])\s+|\n+")


# ---- explanation.txt ----------------------------------------------------------------------------


def _sentences(text: str) -> list[str]:
    parts = (" ".join(part.split()) for part in _END.split(text))
    return [part for part in parts if len(part) >= LEAST_SENTENCE]


def _criteria_of(story: LabStory, sentence: str) -> list[str]:
    """Return the criteria that the last attempt passes or fails and that a sentence is about, by
    name or by words of their principles, the likeliest first."""
    said = re.findall(r"\w+", sentence.casefold())
    data: list[tuple[int, int, str]] = []
    for name, status in story.last.verdict.statuses.items():
        principle = principle_of(story.rule(name))
        if principle is None or status not in ("pass", "fail"):
            continue
        hits = sum(any(word.startswith(begin) for word in said) for begin in principle.words)
        if name.casefold() in sentence.casefold():
            hits += len(principle.words)
        if hits:
            data.append((-hits, len(data), name))
    return [name for *_, name in sorted(data)]


def explanation_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return a question on a sentence of explanation.txt in a list, drawn from those on two or more
    criteria, else from those on one, else from all of LEAST_SENTENCE characters or more. Empty:
    there is no such sentence."""
    stage = story.last
    sentences = shuffled(f"{draw}: sentence", _sentences(str(stage.result.get("explanation", ""))))
    if not sentences:
        return []
    sentence = max(sentences, key=lambda one: min(2, len(_criteria_of(story, one))))
    criteria = _criteria_of(story, sentence)[:2]
    principle = story.principle(criteria[0], stage) if criteria else None
    if criteria:
        answer = [
            f"{' or '.join(criteria)}, as below: does the figure show what the sentence says, or "
            "only that the criterion passed?"
        ]
    else:
        criteria = [c.name for c in story.lab.criteria if c.kind == "evidence"][:2]
        answer = [
            "No figure shows it directly. A good answer says so, or names one of those below and "
            "what in it would be otherwise."
        ]
    if principle is not None:
        answer.append(f"What is known of it: {principle.why}")
    shown = [one for name in criteria if (one := stage.shown(name)) is not None]
    return [
        VivaQuestion(
            subject=criteria[0] if criteria else "explanation",
            text=(
                f'You wrote: "{shortened(visible(sentence), MOST_SENTENCE)}" Which line of your '
                "report shows that, and what would it say if it were not so?"
            ),
            answer=tuple(answer),
            evidence=tuple(evidence_line(stage, one) for one in shown),
            follow_up=_follow_up(story, criteria),
        )
    ]


def _follow_up(story: LabStory, criteria: Sequence[str]) -> str:
    kinds = {c.kind for c in story.lab.criteria if c.name in criteria}
    if "evidence" in kinds and story.criterion(correct.name) is not None:
        return (
            "Which criterion would pass all the same if it were not so? (correct: where things "
            "are and who does them changes no result.)"
        )
    return "What else could give the same figure?"


# ---- predictions --------------------------------------------------------------------------------


def _number(values: Mapping[str, Any], *keys: str) -> float | None:
    """Return the value of the first of these keys that has a finite number; None: none has."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    return None


def _quantities(data: Json) -> Iterator[tuple[float, str, str, str]]:
    """Yield score, name, predicted value and measured value, but for the score in words, of each
    quantity that has both values. A score that is missing counts as 0."""
    for one in data.get("quantities") or ():
        if not isinstance(one, dict):
            continue
        said, low, high = (_number(one, key) for key in ("predicted", "low", "high"))
        if said is None or low is None or high is None:
            continue
        unit = f" {visible(str(one['unit']))}" if one.get("unit") else ""
        measured = f"{short(low)}{unit}" if low == high else f"{short(low)} to {short(high)}{unit}"
        name = visible(str(one.get("name", "it"))).replace("_", " ")
        yield _number(one, "score") or 0.0, name, f"{short(said)}{unit}", measured


def prediction_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return a question on the prediction with the lowest score or, where none is known, on the
    score of all, in a list; empty: there is neither."""
    stage = story.last
    data = stage.result.get("prediction")
    if not isinstance(data, dict):
        return []
    score = _number(data, "score")
    evidence: list[str] = []
    if score is not None:
        evidence.append(f"Attempt {stage.number}, predictions: score {score:.2f} of 1.")
    worst = min(_quantities(data), default=None)
    if worst is None:
        if score is None:
            return []
        text = f"Your predictions have a score of {score:.2f}. Which of them was furthest off"
        answer = "The one that is furthest off, and the assumption behind it, said before."
    else:
        own, name, said, measured = worst
        text = f"For {name} you predicted {said}; measured were {measured}"
        answer = (
            "It was met: the student says how it was worked out, step by step."
            if own == 1
            else "The steps of the prediction, and which of them does not hold: bytes that are "
            "counted, a bandwidth, a number of threads or NUMA nodes."
        )
        line = f"Attempt {stage.number}, {name}: predicted {said}, measured {measured}."
        evidence.insert(0, line)
    is_met = worst is not None and worst[0] == 1
    asked = ". How did you come to it?" if is_met else ", and which assumption was off?"
    return [
        VivaQuestion(
            subject="prediction",
            text=text + asked,
            answer=(answer,),
            evidence=tuple(evidence),
            follow_up="What would you predict for twice the threads, and why?",
        )
    ]


# ---- diagnoses ----------------------------------------------------------------------------------


def _answers(data: Json) -> Sequence[tuple[str, str, bool]]:
    """Return name, choice and whether that is correct for each question of a diagnosis that has
    both."""
    return [
        (str(one.get("name", "")), visible(str(one["chosen"])), bool(one["right"]))
        for one in data.get("questions") or ()
        if isinstance(one, dict) and "chosen" in one and "right" in one
    ]


def diagnosis_questions(story: LabStory, draw: str) -> list[VivaQuestion]:
    """Return a question on a wrong answer of a diagnosis or, where no answer is wrong, on how the
    first was found, in a list; empty: there are no answers."""
    stage = story.last
    data = stage.result.get("diagnosis")
    answers = _answers(data) if isinstance(data, dict) else ()
    if not answers:
        return []
    name, chosen, is_right = min(answers, key=lambda one: one[2])
    if is_right:
        asked = "Which line of the report told you, and what does it rule out?"
        answer = "It is right. A good answer names one figure, and what another mistake would show."
    else:
        asked = "Which line of the report speaks against that?"
        answer = "It is wrong. A good answer names the figure that the mistake would not give."
    return [
        VivaQuestion(
            subject="diagnosis",
            text=f'In your diagnosis you chose: "{shortened(chosen, MOST_SENTENCE)}" {asked}',
            answer=(answer,),
            evidence=(
                f"Attempt {stage.number}, diagnosis, question {visible(name)}: "
                f"{'right' if is_right else 'wrong'}.",
            ),
            follow_up="What would you look at next, with one more run?",
        )
    ]
