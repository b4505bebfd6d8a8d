"""What is said of a verdict, whoever shows it: its rows, its points, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from numalab import words
from numalab.evidence.format import Build
from numalab.evidence.kinds import CHECK, LATENCY, PLACEMENT, TIMED_ROUND, TRACE
from numalab.evidence.record import Evidence
from numalab.grading.graded import GradedKernel
from numalab.judging.printed_words import printed_lines, refused_call, warning_words
from numalab.judging.rules import reads
from numalab.judging.verdict import UNCHANGED, CriterionVerdict, Status, Verdict, combined_status
from numalab.labs.declaration import KERNEL_FILES, Lab
from numalab.labs.hints import NO_LEVELS, Levels, hint_command, is_exhausted
from numalab.labs.kernel_names import is_probably_kernel, not_graded_words
from numalab.labs.variants import is_variant_name

STATUS_STYLE = {
    "pass": ("pass", "bold green"),
    "fail": ("FAIL", "bold red"),
    "not_gradable": ("n/a", "cyan"),
    "inconclusive": ("open", "yellow"),
    "error": ("error", "magenta"),
}


def bound_words(criterion: CriterionVerdict) -> str:
    """Value and threshold of what failed; what passed says enough in its sentence."""
    if criterion.value is None or criterion.status not in ("fail", "inconclusive"):
        return ""
    if criterion.kind != "evidence":
        return ""  # the sentence names both
    if criterion.status == "inconclusive" and _is_within(criterion, criterion.value):
        return ""  # what is open is not the figure
    text = _figure(criterion, criterion.value)
    unit = criterion.unit
    if not unit:
        return ""  # there is nothing to count
    if criterion.value == 1:
        for noun in ("thread", "answer", "rank", "fault"):
            unit = unit.replace(f"{noun}s", noun)
    if criterion.at_least is not None:
        return f"{text}, asked for: {criterion.at_least:g} or more"
    if criterion.at_most == 0:
        return f"{text} {unit}"  # that none should be goes without saying
    return f"{text} {unit}, allowed: {criterion.at_most:g} or less"


def _is_within(criterion: CriterionVerdict, value: float) -> bool:
    least, most = criterion.at_least, criterion.at_most
    return (least is None or value >= least) and (most is None or value <= most)


def _figure(criterion: CriterionVerdict, value: float) -> str:
    """With as many digits, two at least, as it takes to see on which side of the bounds it is."""
    if value.is_integer():
        return f"{value:.0f}"
    shown = (f"{value:.{digits}f}" for digits in range(2, 6))
    is_within = _is_within(criterion, value)
    told = (text for text in shown if _is_within(criterion, float(text)) == is_within)
    return next(told, f"{value:.2f}")


def _alike(criteria: Sequence[CriterionVerdict]) -> Iterator[list[CriterionVerdict]]:
    """Criteria in order; those of several virtual nodes that got the same status together, and
    with this node's where the reason is the same."""
    here = {(c.name, c.status, c.why, c.warnings) for c in criteria if c.where == "here"}
    groups: dict[tuple[str, str, bool], list[CriterionVerdict]] = {}
    for criterion in criteria:
        told = (criterion.name, criterion.status, criterion.why, criterion.warnings)
        is_as_here = told in here
        if criterion.where != "here" and is_as_here and _holds_anywhere(criterion):
            continue
        key = (criterion.name, criterion.status, is_as_here)
        groups.setdefault(key, []).append(criterion)
    yield from groups.values()


def _holds_anywhere(criterion: CriterionVerdict) -> bool:
    """Whether it fails by what no place changes: a file that is refused, a kernel that can't be
    built."""
    return criterion.status == "fail" and criterion.value is None


@dataclass(frozen=True)
class CriterionRow:
    """A criterion with the other places at which it got the same status. points: such as 1/2,
    empty where another row counts them."""

    criterion: CriterionVerdict
    elsewhere: tuple[str, ...]
    points: str

    @property
    def where_too(self) -> str:
        """A sentence with a space before it, or nothing."""
        if not self.elsewhere:
            return ""
        verb = {"pass": "Passes", "fail": "Fails"}.get(self.criterion.status, "The same")
        return f" {verb} on {words.listed(self.elsewhere)}, too."


def withheld_words(criterion: CriterionVerdict) -> str:
    """Return why one that passes earns nothing, with a space before it; empty where that is said of
    the whole hand-in, or it earns what it can."""
    if criterion.withheld in ("", UNCHANGED):
        return ""
    means: dict[Status | None, str] = {"fail": "passes", "not_gradable": "can be graded"}
    until = means.get(criterion.withheld_status, "is decided")
    return f" Its points come once {criterion.withheld} {until}."


def criterion_rows(criteria: Sequence[CriterionVerdict]) -> Iterator[CriterionRow]:
    """All criteria in order, each with its reason as it is printed: what runtimes said is at its
    end, and only once where it is the same."""
    counted: set[str] = set()
    told: set[str] = set()
    for first, *others in _alike(criteria):
        criterion = replace(first, why=first.why + warning_words(first.warnings, told), warnings=())
        told.update(warned.words for warned in first.warnings)
        status = combined_status([c for c in criteria if c.name == criterion.name])
        points = (
            f"{criterion.points}/{criterion.max_points}"
            if criterion.points_status in ("pass", "fail")
            else f"-/{criterion.max_points}"
        )
        criterion = replace(criterion, why=criterion.why + withheld_words(criterion))
        if criterion.name in counted or criterion.status != status:
            points = ""  # graded in several places, it counts once
        else:
            counted.add(criterion.name)
        yield CriterionRow(criterion, tuple(other.where for other in others), points)


def points_notes(verdict: Verdict, is_untimed: bool) -> str:
    """What of the points is not decided, and what is not among those that can be earned; may be
    empty."""
    parts = (
        (verdict.points_of("inconclusive"), "open"),
        (verdict.points_of("error"), "not graded by a fault of the kit"),
        (verdict.points_of("not_gradable"), "not graded" if is_untimed else "not gradable here"),
    )
    return ", ".join(f"{points} {words}" for points, words in parts if points)


def first_failed(verdict: Verdict) -> str:
    """Which criterion to look at first: without a right result no other says much."""
    of_kernel = [c.name for c in verdict.failed() if c.kind == "correctness"]
    return of_kernel[0] if of_kernel else verdict.failed()[0].name


def to_fix(lab: Lab, verdict: Verdict, hint_levels: Levels = NO_LEVELS) -> str:
    """The first thing to fix, how many there are, and where help is, a line each."""
    failed = [name for name, status in verdict.statuses.items() if status == "fail"]
    of_kernel = [c.name for c in verdict.failed() if c.kind == "correctness"]
    first = first_failed(verdict)
    told, which = f"Next: fix {first}", "the first"
    if first in verdict.explained_by:
        first = verdict.explained_by[first]
        told, which = f"Next: fix {first}, by which others fail", "one"
    elif of_kernel:
        told = f"Next: fix {KERNEL_FILES[verdict.language]}, {first} fails"
    if failed[1:]:
        told += f" ({which} of {len(failed)} criteria that fail)"
    lines = [f"{told}."]
    began_in = verdict.began_in.get(first, "")
    hint = hint_command(lab, first, began_in, hint_levels)
    if is_exhausted(lab, first, hint_levels, began_in):
        where = f"; the solution is in solutions/{lab.name}/" if lab.shows_solution else ""
        lines.append(f"All hints on it are read{where}.")
    elif hint:
        lines.append(f"A hint: {hint}")
    return "\n".join([*lines, f"The text: {lab.own_place}/README.md"])


def compiler_title(build: Build) -> str:
    """Of what the compiler said, and in warnings the kit: of lines that are comments by mistake."""
    return "Warnings" if build.status == "ok" else "The compiler says"


# What an ordinary grading says of earlier times.
AFRESH = "With --afresh new ones are taken."


def grade_again(command: str) -> str:
    """What to do about times that stayed open."""
    return f"{command}\n(it goes on where this stopped)"


def next_step(kernel: GradedKernel) -> str | None:
    """What a student does now, in words."""
    verdict, evidence = kernel.verdict, kernel.local_evidence
    if verdict.variant != "submission":
        return None
    failed = verdict.failed()
    text = f"{kernel.lab.own_place}/README.md"
    file = KERNEL_FILES[verdict.language]
    if kernel.unchanged:
        own = {one.name for one in kernel.lab.files}
        names = [one.file for one in evidence.handed_in if one.file in own]
        kinds = sorted({name.rpartition(".")[2] for name in names})
        more = f" and the .{' and .'.join(kinds)} files" if kinds else ""
        if len(names) == 1:
            more = f" and {names[0]}"
        beside = ""
        if kernel.not_read:
            named = words.some(kernel.not_read)
            are_its = all(is_probably_kernel(n, verdict.language) for n in kernel.not_read)
            called = file if are_its else " or ".join(KERNEL_FILES[o] for o in kernel.lab.languages)
            beside = (
                f" Beside it is what nobody reads, {named}: the kernel has to be called {called}."
            )
            others = filter(None, map(not_graded_words, kernel.not_read))
            beside += "".join(f" {sentence}." for sentence in others)
        return (
            f"This is still the starting code, which earns no points.{beside} Read {text}, edit "
            f"{file}{more}, then grade again."
        )
    if evidence.build.status == "missing":
        return f"Next: put {file} where it is looked for, then grade again."
    if evidence.build.status != "ok":
        return f"Next: fix {file} so that it can be built, then grade again."
    if failed:
        return to_fix(kernel.lab, verdict, kernel.hint_levels)
    is_open = [criterion for criterion in verdict.criteria if criterion.status == "inconclusive"]
    if any(criterion.cause != "implausible" for criterion in is_open):
        return f"Next: {kernel.again}"
    if is_open:
        return "Next: show an instructor how your kernel is so fast; grading again decides nothing."
    if verdict.status == "error":
        return None
    if evidence.timing_refused and any(c.kind == "timing" for c in verdict.criteria):
        return "Right as far as was looked at: no times were taken."
    elsewhere = [
        c.name for c in verdict.criteria if c.kind == "evidence" and c.cause == "too_few_numa_nodes"
    ]
    if kernel.no_vms and kernel.lab.machines and elsewhere:
        option = " --variant" if is_variant_name(kernel.lab.name) else ""
        return (
            "Right as far as was looked at, on this node. A virtual node shows "
            f"{words.listed(elsewhere)}: ./numalab grade {kernel.lab.number}{option}"
        )
    partly = dict.fromkeys(
        f"{c.name} has {c.points} of {words.count(c.max_points, 'point')}"
        for c in verdict.criteria
        if c.is_partial
    )
    if partly:
        return f"Nothing fails, and there is more to earn: {words.listed(list(partly))}."
    why = f" solutions/{verdict.lab}/README.md says why it works."
    return f"Done: all that this node can show.{why if kernel.lab.shows_solution else ''}"


def printed_words(evidence: Evidence) -> str | None:
    """A kernel that prints is told so: it costs time, and nobody sees it."""
    outcomes = [check.outcome for check in evidence.runs_of(CHECK)]
    outcomes += [trace.outcome for trace in evidence.runs_of(TRACE)]
    outcomes += [placement.outcome for placement in evidence.runs_of(PLACEMENT)]
    for outcome in outcomes:
        first = printed_lines(outcome)
        refused = refused_call(outcome)
        if outcome.ok and refused:
            return (
                f"While your kernel ran, a call was refused: {refused[:100]}\n"
                "libnuma prints that by itself, perror where you ask for it. Nothing of what the "
                "call was to do has been done."
            )
        if outcome.ok and first:
            return (
                f"Your kernel prints. The first line: {first[0][:100]}\n"
                "Take it out before you look at times."
            )
    return None


def earlier_words(kernel: GradedKernel) -> str | None:
    """That times are from earlier gradings, and from when; None where all are of now."""
    earlier = kernel.local_evidence.earlier_times
    if not earlier:
        return None
    now = len(kernel.local_evidence.runs_of(TIMED_ROUND)) - sum(
        session.generations for session in earlier
    )
    of_then = [
        f"{words.count(session.generations, 'generation')} of {_minute(session.started_at)}"
        for session in earlier
    ]
    told = f"Times: {words.listed(of_then)}, when the same was graded"
    told += f", and {now} taken now." if now else "; none was taken now, since that decides them."
    return f"{told} {kernel.afresh}".rstrip()


def _minute(at: str) -> str:
    return datetime.fromisoformat(at).astimezone().strftime("%Y-%m-%d %H:%M")


def is_predicted(lab: Lab, verdict: Verdict) -> bool:
    """Whether what is to be predicted has been, with nothing more to earn, and may be shown."""
    names = [c.name for c in lab.criteria if reads(c, LATENCY)]
    return any(
        c.name in names and c.status == "pass" and not c.is_partial for c in verdict.criteria
    )
