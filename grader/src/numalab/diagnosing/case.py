"""A case: a known mistake drawn by a seed, and questions about it with up to CHOICES choices each.

Answers follow from the seed and numalab's sources, so they can be scored without a run. A reader of
the sources can look them up: a case is an exercise in reading reports, and should count little.
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
MAX_CORES = 12  # of a machine made from a seed; more take long to emulate
_MORE_NODES = (2, 4, 8)


@dataclass(frozen=True)
class Suspect:
    """A known mistake in one language, with its cure.

    Attributes:
        cure: what repairs it.
        lines: the statements that differ from the solution's, as mistaken_lines returns them.
    """

    known: KnownMistake
    language: Language
    cure: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseQuestion:
    """A question about a case.

    Attributes:
        answer: the correct one of the choices.
        lines: by choice, the lines of a kernel to show below it; a choice may have none.
    """

    name: str
    text: str
    choices: tuple[str, ...]
    answer: str
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes:
        kernel: the text of the kernel with the mistake.
        machine_seed: the seed of the virtual machine whose report is shown; None: this machine's
            is.
        size_seed: the seed of the problem sizes of its runs, in hexadecimal.
    """

    lab: Lab
    seed: Seed
    suspect: Suspect
    kernel: str
    machine_seed: int | None
    size_seed: str
    questions: tuple[CaseQuestion, ...]

    @property
    def name(self) -> str:
        return f"{self.lab.name} {self.seed.code}"

    @property
    def language(self) -> Language:
        return self.suspect.language


def differ_in_report(mistake: KnownMistake, other: KnownMistake) -> bool:
    """Tell whether the reports of two mistakes differ, by what is declared of these.

    They do where the same criterion fails first by another cause, or with another sentence if it is
    not `correct`; and where a criterion always fails with one mistake and not with the other.
    """
    fails_first = mistake.first if mistake.first == other.first else None
    if fails_first and mistake.cause and other.cause and mistake.cause != other.cause:
        return True
    if fails_first and fails_first != correct.name:
        sentences, others = set(mistake.says.values()), set(other.says.values())
        if not any(a in b or b in a for a in sentences for b in others):
            return True
    return any(
        set(a.fails) - {*b.fails, *b.may_fail} for a, b in ((mistake, other), (other, mistake))
    )


def _graded_without_times(lab: Lab) -> list[str]:
    return [criterion.name for criterion in lab.criteria if criterion.kind != "timing"]


def _suspects(
    installation: Installation, lab: Lab, mistakes: Sequence[KnownMistake]
) -> list[Suspect]:
    """Return the mistakes in kernels that have a cure and always fail a criterion other than of
    time, by language."""
    shown = set(_graded_without_times(lab))
    found = []
    for known in mistakes:
        if not known.cure or not shown & set(known.fails) or not known.kernels:
            continue
        for language in known.languages:
            path = known.kernels[language]
            solution = installation.solution_folder(lab.name) / KERNEL_FILES[language]
            lines = mistaken_lines(_text(path), _text(solution), path.suffix)
            found.append(Suspect(known, language, known.cure, lines))
    return found


def _text(path: Path) -> str:
    """Return the text of a file in UTF-8. Raises NumalabError where it can't be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise NumalabError(f"{path} can't be read: {reason_of(error)}") from error


def _drawn_others(
    text: str, lab: Lab, suspect: Suspect, others: Sequence[Suspect]
) -> list[Suspect]:
    """Return other suspects in an order that a text draws, but first those that fail the same
    criteria of correctness."""
    names = {criterion.name for criterion in lab.criteria if criterion.kind == "correctness"}
    ours = names.intersection(suspect.known.fails)
    return sorted(
        shuffled(text, others), key=lambda other: names.intersection(other.known.fails) != ours
    )


def _others(suspect: Suspect, suspects: Sequence[Suspect]) -> list[Suspect]:
    return [
        other
        for other in suspects
        if other.language == suspect.language
        and other.cure != suspect.cure
        and differ_in_report(suspect.known, other.known)
    ]


def bank(installation: Installation, lab: Lab) -> list[Suspect]:
    """Return the mistakes of a lab that serve as cases: those that differ_in_report from at least
    CHOICES - 1 others in the same language, with other cures. Raises NumalabError where a file
    can't be read."""
    suspects = _suspects(installation, lab, read_mistakes(installation, lab))
    return [one for one in suspects if len(_others(one, suspects)) >= CHOICES - 1]


def labs_with_cases(installation: Installation) -> list[str]:
    """Return the names of the labs that have a mistake with a cure."""
    return [
        name
        for name, lab in load_labs(installation.root).items()
        if any(known.cure for known in read_mistakes(installation, lab))
    ]


def make_case(
    installation: Installation, lab: Lab, seed: Seed, language: str | None = None
) -> Case:
    """Return the case that a seed draws. language: the kernel's; None: it is drawn, too. Raises
    NumalabError where there are no such cases, or a file can't be read."""
    cases = bank(installation, lab)
    if not cases:
        raise NumalabError(
            f"lab {lab.name} has no cases for diagnosis: no mistake in its wrong.toml has a cure, "
            "or too few differ in their verdicts. Choose another lab."
        )
    text = f"numalab diagnose {seed.number} {lab.name}"
    among = [one for one in cases if language in (None, one.language)]
    if not among:
        languages = sorted({one.language for one in cases})
        raise NumalabError(
            f"lab {lab.name} has no cases in '{language}' for diagnosis; it has some in "
            f"{listed(languages)}"
        )
    return case_of(installation, lab, pick(f"{text}: case", among), cases, seed)


def needs_several_nodes(lab: Lab, known: KnownMistake) -> bool:
    """Tell whether a mistake does not always fail `correct`, and the lab has a criterion of
    evidence that needs several NUMA nodes."""
    return correct.name not in known.fails and any(
        c.kind == "evidence" and c.needs_numa_nodes > 1 for c in lab.criteria
    )


def case_of(
    installation: Installation, lab: Lab, suspect: Suspect, cases: Sequence[Suspect], seed: Seed
) -> Case:
    """Return the case of one mistake. cases: the lab's, from which choices are drawn. Raises
    NumalabError where a file can't be read."""
    text = f"numalab diagnose {seed.number} {lab.name}"
    others = _others(suspect, cases)
    is_there = needs_several_nodes(lab, suspect.known)
    questions = [
        _mistake_question(text, lab, suspect, others),
        *_criteria_question(text, lab, suspect, cases, is_there),
        _cure_question(text, lab, suspect, others),
    ]
    path = suspect.known.kernels[suspect.language]
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
    """Return the seed of a machine with several NUMA nodes and at most MAX_CORES cores."""
    for number in count():
        seed = SEEDS[draw(f"{text}: machine {number}", len(SEEDS))]
        machine = seeded_machine(seed)
        if len(machine.numa_nodes) > 1 and machine.cores <= MAX_CORES:
            return seed
    raise AssertionError("there is always another one")


# ---- questions ------------------------------------------------------------------------------


def _mistake_question(
    text: str, lab: Lab, suspect: Suspect, others: Sequence[Suspect]
) -> CaseQuestion:
    four = [suspect, *_drawn_others(f"{text}: other mistakes", lab, suspect, others)[: CHOICES - 1]]
    mixed = shuffled(f"{text}: mistake", four)
    return CaseQuestion(
        MISTAKE,
        "What is wrong in this kernel?",
        tuple(one.known.mistake for one in mixed),
        suspect.known.mistake,
        {one.known.mistake: _renamed_lines(one, text) for one in mixed if one.lines},
    )


def _names(suspect: Suspect, text: str) -> dict[str, str]:
    return other_names(_text(suspect.known.kernels[suspect.language]), f"{text}: names")


def _renamed_lines(suspect: Suspect, text: str) -> tuple[str, ...]:
    names = _names(suspect, text)
    return tuple(renamed(line, names) for line in suspect.lines)


def _cure_question(
    text: str, lab: Lab, suspect: Suspect, others: Sequence[Suspect]
) -> CaseQuestion:
    """Return the question for the cure. Its choices are drawn apart from those of the mistake, so
    that neither question gives the other's answer away."""
    drawn = _drawn_others(f"{text}: other cures", lab, suspect, others)
    cures = dict.fromkeys(one.cure for one in drawn)
    four = [suspect.cure, *list(cures)[: CHOICES - 1]]
    return CaseQuestion(
        CURE, "What would cure it?", tuple(shuffled(f"{text}: cure", four)), suspect.cure
    )


def _fails_with(lab: Lab, known: KnownMistake, is_several: bool) -> tuple[str, ...]:
    """Return the criteria, except those of time, that a mistake fails on a machine with several
    NUMA nodes (is_several), or on this machine."""
    is_checked = {c.name for c in lab.criteria if c.kind == "correctness"}  # here, for all machines
    fails = known.local_fails
    if is_several:
        fails = (*known.vm_fails, *is_checked.intersection(known.local_fails))
    return tuple(name for name in _graded_without_times(lab) if name in fails)


def _criteria_question(
    text: str, lab: Lab, suspect: Suspect, cases: Collection[Suspect], needs_several_nodes: bool
) -> list[CaseQuestion]:
    """Return the question for the criteria that a mistake fails on another machine, in a list; an
    empty one where that depends on chance, or where the mistake always fails `correct`."""
    known = suspect.known
    if correct.name in known.fails or set(known.may_fail) & set(_graded_without_times(lab)):
        return []
    asks_for_several = not needs_several_nodes
    answer = _fails_with(lab, known, asks_for_several)
    names = _graded_without_times(lab)
    pool = dict.fromkeys(_fails_with(lab, one.known, asks_for_several) for one in cases)
    pool |= dict.fromkeys((name,) for name in names)
    pool.pop(answer, None)
    four = [answer, *shuffled(f"{text}: other criteria", list(pool))[: CHOICES - 1]]
    nodes = pick(f"{text}: NUMA nodes", _MORE_NODES) if asks_for_several else 1
    where = f"{nodes} NUMA nodes" if nodes > 1 else "one NUMA node"
    return [
        CaseQuestion(
            CRITERIA,
            f"Which of {listed(names)} would it fail on another machine, with {where}?",
            tuple(_set_words(one) for one in shuffled(f"{text}: criteria", four)),
            _set_words(answer),
        )
    ]


def _set_words(names: Sequence[str]) -> str:
    return listed(names) if names else NO_CRITERION
