"""A case: a mistake that a seed has drawn, and questions on it with four choices each. Pure
functions, once the lab's mistakes are read.

What is right follows from the seed and the kit, so that who has both can score answers without a
run. Who has the kit's sources can look it up, too: a case is to be read, and weighs little.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from numalab.diagnosing.known_mistakes import KnownMistake, read_mistakes
from numalab.diagnosing.lines import mistaken_lines, other_names, renamed
from numalab.draws import draw, pick, shuffled
from numalab.errors import NumalabError, reason_of
from numalab.installation import Installation
from numalab.judging.correctness_rules import correct
from numalab.judging.rules import load_labs
from numalab.labs.declaration import KERNEL_FILES, Lab, Language
from numalab.labs.seeds import SEEDS, Seed
from numalab.machines.seeded import seeded_machine
from numalab.words import listed

CHOICES = 4
MISTAKE, CRITERIA, CURE = "mistake", "criteria", "cure"
NO_CRITERION = "none of them"
MOST_CORES = 12  # of a machine that is made from the seed
_MORE_NODES = (2, 4, 8)


@dataclass(frozen=True)
class Suspect:
    """A mistake in one language, with its cure. lines: that are wrong, as far as there are such."""

    wrong: KnownMistake
    language: Language
    cure: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """right: one of the choices; lines: of a kernel, below the choice that they belong to."""

    name: str
    text: str
    choices: tuple[str, ...]
    right: str
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """kernel: the text that is wrong; machine_seed: of the machine whose report is shown, None:
    this node; size_seed: from which the sizes follow that it is looked at with."""

    lab: Lab
    seed: Seed
    suspect: Suspect
    kernel: str
    machine_seed: int | None
    size_seed: str
    questions: tuple[Question, ...]

    @property
    def name(self) -> str:
        return f"{self.lab.name} {self.seed.code}"

    @property
    def language(self) -> Language:
        return self.suspect.language


def differ_in_report(one: KnownMistake, other: KnownMistake) -> bool:
    """Whether the reports of two mistakes differ, whatever the luck of timing: by the cause, by a
    criterion that fails always with one and never with the other, or, where both give right
    results, by what is said of the criterion that fails first."""
    if one.cause and other.cause and one.cause != other.cause and one.first == other.first:
        return True
    if one.first == other.first != correct.name:
        said, also = set(one.says.values()), set(other.says.values())
        if not any(a in b or b in a for a in said for b in also):
            return True
    return any(
        set(first.fails) - {*second.fails, *second.may_fail}
        for first, second in ((one, other), (other, one))
    )


def _graded_without_times(lab: Lab) -> list[str]:
    return [criterion.name for criterion in lab.criteria if criterion.kind != "timing"]


def _suspects(
    installation: Installation, lab: Lab, wrongs: Sequence[KnownMistake]
) -> list[Suspect]:
    """Those with a cure that evidence shows: nothing is timed for a case."""
    shown = set(_graded_without_times(lab))
    found = []
    for wrong in wrongs:
        if not wrong.cure or not shown & set(wrong.fails) or not wrong.kernels:
            continue
        for language in wrong.languages:
            path = wrong.kernels[language]
            right = installation.solution_folder(lab.name) / KERNEL_FILES[language]
            lines = mistaken_lines(_text(path), _text(right), path.suffix)
            found.append(Suspect(wrong, language, wrong.cure, lines))
    return found


def _text(path: Path) -> str:
    """Raises NumalabError."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NumalabError(f"{path} can't be read: {reason_of(error)}") from error


def _drawn_others(
    text: str, lab: Lab, suspect: Suspect, others: Sequence[Suspect]
) -> list[Suspect]:
    """In an order that text draws, those first that are as right or as wrong in their results: the
    others are told apart at once."""
    names = {criterion.name for criterion in lab.criteria if criterion.kind == "correctness"}
    ours = names.intersection(suspect.wrong.fails)
    return sorted(
        shuffled(text, others), key=lambda other: names.intersection(other.wrong.fails) != ours
    )


def _others(suspect: Suspect, suspects: Sequence[Suspect]) -> list[Suspect]:
    return [
        other
        for other in suspects
        if other.language == suspect.language
        and other.cure != suspect.cure
        and differ_in_report(suspect.wrong, other.wrong)
    ]


def bank(installation: Installation, lab: Lab) -> list[Suspect]:
    """The mistakes of a lab that serve as cases: enough others are told apart from them. Raises
    NumalabError."""
    suspects = _suspects(installation, lab, read_mistakes(installation, lab))
    return [one for one in suspects if len(_others(one, suspects)) >= CHOICES - 1]


def labs_with_cases(installation: Installation) -> list[str]:
    """Raises NumalabError."""
    return [
        name
        for name, lab in load_labs(installation.root).items()
        if any(wrong.cure for wrong in read_mistakes(installation, lab))
    ]


def make_case(
    installation: Installation, lab: Lab, seed: Seed, language: str | None = None
) -> Case:
    """The same for a seed, a language and a bank, whatever the node. Raises NumalabError."""
    cases = bank(installation, lab)
    if not cases:
        raise NumalabError(
            f"lab {lab.name} has no cases for diagnosis: no mistake in its wrong.toml has a cure, "
            "or too few differ in their verdicts. Choose another lab."
        )
    text = f"numalab diagnose {seed.number} {lab.name}"
    among = [one for one in cases if language in (None, one.language)]
    return case_of(installation, lab, pick(f"{text}: case", among), cases, seed)


def needs_several_nodes(lab: Lab, wrong: KnownMistake) -> bool:
    """Whether a machine with several NUMA nodes shows more of it than this one may."""
    return correct.name not in wrong.fails and any(
        c.kind == "evidence" and c.needs_numa_nodes > 1 for c in lab.criteria
    )


def case_of(
    installation: Installation, lab: Lab, suspect: Suspect, cases: Sequence[Suspect], seed: Seed
) -> Case:
    """Of one mistake."""
    text = f"numalab diagnose {seed.number} {lab.name}"
    others = _others(suspect, cases)
    is_there = needs_several_nodes(lab, suspect.wrong)
    questions = [
        _mistake_question(text, lab, suspect, others),
        *_criteria_question(text, lab, suspect, cases, is_there),
        _cure_question(text, lab, suspect, others),
    ]
    path = suspect.wrong.kernels[suspect.language]
    return Case(
        lab=lab,
        seed=seed,
        suspect=suspect,
        kernel=renamed(_text(path), _names(suspect, text)),
        machine_seed=_machine_seed(text) if is_there else None,
        size_seed=hashlib.sha256(f"{text}: sizes".encode()).hexdigest()[:16],
        questions=tuple(questions),
    )


def _machine_seed(text: str) -> int:
    """Of a machine with several NUMA nodes, and no more cores than are emulated quickly."""
    for number in count():
        seed = SEEDS[draw(f"{text}: machine {number}", len(SEEDS))]
        machine = seeded_machine(seed)
        if len(machine.numa_nodes) > 1 and machine.cores <= MOST_CORES:
            return seed
    raise AssertionError("there is always another one")


# ---- questions ------------------------------------------------------------------------------


def _mistake_question(text: str, lab: Lab, suspect: Suspect, others: Sequence[Suspect]) -> Question:
    four = [suspect, *_drawn_others(f"{text}: other mistakes", lab, suspect, others)[: CHOICES - 1]]
    mixed = shuffled(f"{text}: mistake", four)
    return Question(
        MISTAKE,
        "What is wrong in this kernel?",
        tuple(one.wrong.mistake for one in mixed),
        suspect.wrong.mistake,
        {one.wrong.mistake: _renamed_lines(one, text) for one in mixed if one.lines},
    )


def _names(suspect: Suspect, text: str) -> dict[str, str]:
    return other_names(_text(suspect.wrong.kernels[suspect.language]), f"{text}: names")


def _renamed_lines(suspect: Suspect, text: str) -> tuple[str, ...]:
    names = _names(suspect, text)
    return tuple(renamed(line, names) for line in suspect.lines)


def _cure_question(text: str, lab: Lab, suspect: Suspect, others: Sequence[Suspect]) -> Question:
    """With other mistakes than the first one, so that none gives the other's answer away."""
    drawn = _drawn_others(f"{text}: other cures", lab, suspect, others)
    cures = dict.fromkeys(one.cure for one in drawn)
    four = [suspect.cure, *list(cures)[: CHOICES - 1]]
    return Question(
        CURE, "What would cure it?", tuple(shuffled(f"{text}: cure", four)), suspect.cure
    )


def _fails_with(lab: Lab, wrong: KnownMistake, is_several: bool) -> tuple[str, ...]:
    """The criteria, times left out, that a mistake fails on a machine with several NUMA nodes, or
    with one."""
    is_checked = {c.name for c in lab.criteria if c.kind == "correctness"}  # once, for all places
    found = {*wrong.there, *is_checked.intersection(wrong.here)} if is_several else wrong.here
    return tuple(name for name in _graded_without_times(lab) if name in found)


def _criteria_question(
    text: str, lab: Lab, suspect: Suspect, cases: Collection[Suspect], needs_several_nodes: bool
) -> list[Question]:
    """None where it depends on luck, or where all is said with that the results are wrong."""
    wrong = suspect.wrong
    if correct.name in wrong.fails or set(wrong.may_fail) & set(_graded_without_times(lab)):
        return []
    asks_for_several = not needs_several_nodes
    right = _fails_with(lab, wrong, asks_for_several)
    names = _graded_without_times(lab)
    pool = dict.fromkeys(_fails_with(lab, one.wrong, asks_for_several) for one in cases)
    pool |= dict.fromkeys((name,) for name in names)
    pool.pop(right, None)
    four = [right, *shuffled(f"{text}: other criteria", list(pool))[: CHOICES - 1]]
    nodes = pick(f"{text}: NUMA nodes", _MORE_NODES) if asks_for_several else 1
    where = f"{nodes} NUMA nodes" if nodes > 1 else "one NUMA node"
    return [
        Question(
            CRITERIA,
            f"Which of {listed(names)} would it fail on another machine, with {where}?",
            tuple(_set_words(one) for one in shuffled(f"{text}: criteria", four)),
            _set_words(right),
        )
    ]


def _set_words(names: Sequence[str]) -> str:
    return listed(names) if names else NO_CRITERION
