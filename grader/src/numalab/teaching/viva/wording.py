"""Wording of questions: verdicts, touch maps and listings of code in words. Pure functions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import PurePath

from numalab import words
from numalab.diagnosing.excerpts import strip_comments
from numalab.evidence.touch import NOBODY, UNBOUND
from numalab.judging.verdict import CriterionVerdict
from numalab.reports.html_page import STATUS_WORDS
from numalab.teaching.viva.story import Listing, Stage, Touched, changed_files
from numalab.untrusted.visible import shortened

MOST_LINES = 8  # of a listing: three to five questions share a page
MOST_COLUMNS = 72
MOST_WHY = 180  # characters of a sentence of a report
WHOLE = 0.995  # share of an array's pages that counts as all: a page at a border may differ
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")
# Directives and calls of a kernel that decide where pages, threads and messages go.
_DECIDES = re.compile(
    r"#\s*pragma\s+omp|!\$omp|\bMPI_\w+ *\(|\bcall\s+mpi_|\bm(?:map|advise|bind)\b"
    r"|\b(?:aligned_alloc|posix_memalign|malloc|calloc|memset|numa_\w+|set_mempolicy) *\(",
    re.IGNORECASE,
)


# ---- criteria -------------------------------------------------------------------------------


def value_words(criterion: CriterionVerdict) -> str:
    """Return a verdict's value and unit in words; empty where it has no value."""
    if criterion.value is None:
        return ""
    value = criterion.value
    is_counted = value.is_integer() and criterion.unit not in ("share", "ratio")
    figure = f"{value:.0f}" if is_counted else words.ratio(value) if value else "0.00"
    return figure if criterion.unit in ("", "share", "ratio") else f"{figure} {criterion.unit}"


def requirement_words(criterion: CriterionVerdict) -> str:
    """Return a criterion's bound in words, of two the lower; empty: it has none."""
    if criterion.at_least is not None:
        return f"{criterion.at_least:g} or more"
    if criterion.at_most:
        return f"{criterion.at_most:g} or less"
    return "none" if criterion.at_most == 0 else ""


def first_sentence(why: str) -> str:
    """Return the first sentence of a reason, shortened to MOST_WHY characters."""
    return shortened(_SENTENCE_END.split(why, maxsplit=1)[0], MOST_WHY)


def evidence_line(stage: Stage, criterion: CriterionVerdict) -> str:
    """Return a sentence on a verdict, with attempt, criterion, machine, status and, for a criterion
    of evidence, the value; then the first sentence of its reason."""
    where = "" if criterion.where == "here" else f" on {criterion.where}"
    told = f"{words.first_upper(stage.name)}, {criterion.name}{where}: "
    told += STATUS_WORDS[criterion.status]
    value, asked = value_words(criterion), requirement_words(criterion)
    if value and criterion.kind == "evidence":  # of others the sentence has it
        told += f", {value}"
        told += f" ({asked} asked for)" if asked and asked != "none" else ""
    why = first_sentence(criterion.why)
    return f"{told}. {why}" if why else f"{told}."


def quoted(why: str) -> str:
    """Return the first sentence of a reason in quotation marks."""
    return f'"{first_sentence(why)}"'


def result_words(criterion: CriterionVerdict) -> str:
    """Return a verdict as a predicate, as in: failed with 0.50."""
    value = value_words(criterion) if criterion.kind != "correctness" else ""
    said = {"pass": "passed", "fail": "failed"}.get(criterion.status, "stayed open")
    where = "" if criterion.where == "here" else f" on {criterion.where}"
    return f"{said}{where} with {value}" if value else f"{said}{where}"


# ---- touch maps -----------------------------------------------------------------------------


def place_words(place: int, is_by_node: bool) -> str:
    """Return a first writer in words. place, is_by_node: as in Touched."""
    if place == NOBODY:
        return "nobody"
    if place == UNBOUND:
        return "a thread that is bound to no NUMA node"
    return f"threads of NUMA node {place}" if is_by_node else f"thread {place}"


def written_words(array: str, touched: Touched) -> str:
    """Return a clause on the first writers of an array's pages."""
    order = sorted(touched.written.items(), key=lambda pair: (-pair[1], pair[0]))
    who, share = order[0]
    if share >= WHOLE:
        return f"all pages of {array} were first written by {place_words(who, touched.is_by_node)}"
    if len(order) == 2:
        (second, rest) = order[1]
        return (
            f"{words.percent(share)} of the pages of {array} were first written by "
            f"{place_words(who, touched.is_by_node)} and {words.percent(rest)} by "
            f"{place_words(second, touched.is_by_node)}"
        )
    whose = "the threads of one NUMA node" if touched.is_by_node else "one thread"
    return (
        f"no more than {words.percent(share)} of the pages of {array} were first written by {whose}"
    )


def used_words(array: str, touched: Touched) -> str:
    """Return a clause on the share of an array's pages that several threads use."""
    who = "threads of several NUMA nodes" if touched.is_by_node else "several threads"
    if touched.contested >= WHOLE:
        return f"all pages of {array} were used by {who}"
    if touched.contested <= 1 - WHOLE:
        return f"no page of {array} was used by {who}"
    return f"{words.percent(touched.contested)} of the pages of {array} were used by {who}"


# ---- what was handed in -----------------------------------------------------------------------


def same_as_notes(*stages: Stage) -> list[str]:
    """Return sentences for the examiner on attempts that are the same as a text of numalab's."""
    return [
        f"{words.first_upper(stage.name)} says the same as {stage.same_as.rstrip('.')}."
        for stage in stages
        if stage.same_as
    ]


def _cut(lines: Sequence[str]) -> tuple[str, ...]:
    """Return at most MOST_LINES lines, in order, shortened to MOST_COLUMNS. Of more lines those of
    the lowest rank (_weight) are kept, the first of equal ones; the last line then counts what is
    left out."""
    shown = [shortened(line, MOST_COLUMNS) for line in lines]
    if len(shown) <= MOST_LINES:
        return tuple(shown)
    order = sorted(range(len(shown)), key=lambda at: (_weight(shown[at]), at))
    kept = sorted(order[: MOST_LINES - 1])
    left_out = len(shown) - len(kept)
    return (*(shown[at] for at in kept), f"... and {words.count(left_out, 'more line')}")


def _weight(line: str) -> int:
    """Return 0 for a line that decides where pages, threads or messages go, 1 for one with an
    assignment or a call, 2 for others."""
    if _DECIDES.search(line):
        return 0
    return 1 if "=" in line or ("(" in line and ";" in line) else 2


def change_listing(earlier: Stage, later: Stage) -> Listing:
    """Return the lines without comments that differ between two attempts, at most MOST_LINES; empty
    where none differs by more than blanks."""
    names = changed_files(earlier, later)
    lines = []
    for name in names:
        suffix = PurePath(name).suffix
        old, new = (strip_comments(stage.files.get(name, ""), suffix) for stage in (earlier, later))
        keys = [["".join(line.split()) for line in side] for side in (old, new)]
        changed = []
        matcher = difflib.SequenceMatcher(a=keys[0], b=keys[1], autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            if tag != "equal":
                changed += [f"- {line.strip()}" for line in old[a:b]]
                changed += [f"+ {line.strip()}" for line in new[c:d]]
        if changed and len(names) > 1:
            lines.append(f"{name}:")
        lines += changed
    where = f" in {names[0]}" if len(names) == 1 else ""
    title = f"Changed from {earlier.name} to {later.name}{where}:"
    return Listing(title, _cut(lines)) if lines else Listing("", ())


def deciding_lines(stage: Stage, name: str) -> Listing:
    """Return lines of a file, at most MOST_LINES: of C and Fortran those that decide where pages,
    threads and messages go, of another file those without comments. name: the file's."""
    text = stage.files.get(name, "")
    if PurePath(name).suffix in (".c", ".f90"):
        lines = [
            f"{number:4d}  {line.strip()}"
            for number, line in enumerate(text.splitlines(), 1)
            if _DECIDES.search(line)
        ]
    else:
        lines = [line.strip() for line in strip_comments(text, PurePath(name).suffix)]
    return Listing(f"{name} of {stage.name}:", _cut(lines)) if lines else Listing("", ())
