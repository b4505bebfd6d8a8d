"""Reports as one page of HTML that needs nothing from elsewhere: what was graded, why, and the
pictures of the evidence. Pure: records in, text out. One submission, or a class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from numalab import __version__, words
from numalab.errors import NothingToDraw
from numalab.evidence.record import Evidence, Json
from numalab.grading.graded import GradedKernel
from numalab.judging.series_answers import count_kinds
from numalab.judging.verdict import Cause, Verdict
from numalab.labs import declaration
from numalab.labs.declaration import VARIANT_NAMES
from numalab.reports import (
    memory_table,
    modelled_words,
    prediction_report,
    report_figures,
    verdict_words,
)
from numalab.reports.answer_picture import answer_title, answer_words
from numalab.reports.comparison import (
    TouchView,
    answer_views,
    group_views,
    line_views,
    located_views,
    placing_views,
    seat_views,
    touch_views,
    work_views,
)
from numalab.reports.group_table import group_title, group_words
from numalab.reports.home_table import home_title, home_words
from numalab.reports.inline_svg import inline_svg
from numalab.reports.latency_report import latency_lines
from numalab.reports.line_picture import line_title, sight_words
from numalab.reports.occasion import Occasion, Submission
from numalab.reports.picture_words import seat_words, touch_words, work_words
from numalab.reports.rate_words import rate_tables
from numalab.reports.roofline import roof_title, roof_words, roofs
from numalab.reports.timing_words import (
    READING,
    asked_words,
    heading_words,
    names,
    scale_words,
    sentences,
)
from numalab.reports.work_picture import remarks
from numalab.untrusted.visible import visible_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

TEMPLATES = Path(__file__).with_name("templates")
STATUS_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "not_gradable": "not gradable here",
    "inconclusive": "open",
    "error": "error of the kit",
}


# ---- what the template shows -------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A criterion's, in words."""

    name: str
    status: str
    words: str
    points: str
    where: str
    bound: str
    why: str


@dataclass(frozen=True)
class _Picture:
    """svg: empty where there was nothing to draw; words: what it shows; lines: further
    sentences."""

    title: str
    svg: Markup
    words: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class _Table:
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class _RateTable:
    table: _Table
    notes: Sequence[str]


@dataclass(frozen=True)
class _Kernel:
    """anchor: its id in the page."""

    anchor: str
    title: str
    status: str
    words: str
    points: str
    notes: str
    rows: Sequence[Row]
    predictions: _RateTable | None
    no_predictions: str
    steps: Sequence[str]
    compiler_title: str
    compiler: str
    earlier: str | None
    printed: str | None
    pictures: Sequence[_Picture]
    timings: Sequence[_Picture]
    latencies: _Picture | None
    latency_text: str
    memory: _Table | None
    memory_picture: _Picture | None
    rates: Sequence[_RateTable]
    roofs: Sequence[_Picture]


@dataclass(frozen=True)
class _Person:
    name: str
    anchor: str
    kernels: Sequence[_Kernel] = field(default_factory=tuple)


def rows_of(verdict: Verdict) -> Iterator[Row]:
    for row in verdict_words.criterion_rows(verdict.criteria):
        criterion = row.criterion
        yield Row(
            criterion.name,
            criterion.status,
            STATUS_WORDS[criterion.status],
            row.points,
            "" if criterion.where == "here" else f"on {criterion.where}",
            verdict_words.bound_words(criterion),
            criterion.why + row.where_too,
        )


AGAIN = "It is decided by grading again."


def ungraded_steps(verdict: Verdict) -> Iterator[str]:
    """What it means that some criteria were not graded."""
    unseen_causes: dict[str, tuple[Cause, ...]] = {
        "Interrupted": ("interrupted",),
        "Not measured": ("not_measured", "cut_too_early", "node_paused"),
    }
    for word, causes in unseen_causes.items():
        undone = dict.fromkeys(c.name for c in verdict.criteria if c.cause in causes)
        if undone:
            yield f"{word}: {', '.join(undone)}: no points yet, and none lost. {AGAIN}"
    told = {*chain(*unseen_causes.values()), "implausible"}
    looked_at = dict.fromkeys(c.name for c in verdict.criteria if c.cause == "implausible")
    if looked_at:
        names = ", ".join(looked_at)
        yield f"To be looked at: {names}: no points yet, and none lost. An instructor decides it."
    for status, means in (
        ("inconclusive", f"not decided yet: no points yet, and none lost. {AGAIN}"),
        ("not_gradable", "this node can't show it, which costs no points."),
        ("error", f"not the student's fault: no points yet, and none lost. {AGAIN}"),
    ):
        undone_names = dict.fromkeys(
            c.name for c in verdict.criteria if c.status == status and c.cause not in told
        )
        if undone_names:
            status_words = words.first_upper(STATUS_WORDS[status])
            yield f"{status_words}: {', '.join(undone_names)}: {means}"


def _steps(graded: GradedKernel) -> Iterator[str]:
    """What to do next, as far as there is something to do."""
    verdict, evidence = graded.verdict, graded.evidence_by_place[0][1]
    step = verdict_words.next_step(graded)
    if step:
        yield from step.replace("\n(", " (").splitlines()  # what is in brackets ends its sentence
    failed = list(dict.fromkeys(c.name for c in verdict.failed()))
    if len(failed) > 1 and evidence.build.status == "ok":
        yield f"Failed: {', '.join(failed)}. One at a time; grade again after each."
    yield from ungraded_steps(verdict)


class _Pictures:
    """Makes pictures, and gives each an id of its own in the page."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(
        self, title: str, draw: Callable[[], Drawn], words: str, lines: Sequence[str] = ()
    ) -> _Picture:
        self._count += 1
        try:
            svg = inline_svg(draw(), f"picture{self._count}", title, " ".join((words, *lines)))
        except NothingToDraw:
            svg = ""
        return _Picture(title, Markup(svg), words, lines)  # inline_svg escapes what stands in it


def _alike_words(sight: TouchView) -> list[str]:
    return [
        f"What is drawn of {group[0]} holds for {words.listed(group[1:])}, too."
        for group in report_figures.alike_arrays(sight)
        if group[1:]
    ]


def _pictures(graded: GradedKernel, picture: _Pictures) -> Iterator[_Picture]:
    lab, verdict, seen = graded.lab, graded.verdict, graded.evidence_by_place
    for touched in touch_views(lab, verdict, seen):
        of = " of " + touched.part if touched.part else ""
        yield picture(
            f"Touch map{of}{_on(touched.where)}",
            partial(report_figures.touch, touched),
            touch_words(touched),
            _alike_words(touched),
        )
    for placed in placing_views(lab, verdict, seen):
        yield picture(
            home_title(placed),
            partial(report_figures.homes, dict(seen)[placed.where], placed.owner),
            home_words(placed.yours, placed.owner),
        )
    for grouped in group_views(lab, verdict, seen):
        yield picture(
            group_title(grouped),
            partial(report_figures.groups, dict(seen)[grouped.where]),
            group_words(grouped.yours),
        )
    for lined in line_views(lab, verdict, seen):
        yield picture(
            line_title(lined),
            partial(report_figures.lines, lined, dict(seen)[lined.where]),
            sight_words(lined),
        )
    for answered in answer_views(lab, verdict, seen):
        yield picture(
            answer_title(answered),
            partial(report_figures.answers, answered, dict(seen)[answered.where]),
            answer_words(count_kinds(answered.yours)),
        )
    for worked in work_views(lab, verdict, seen):
        of = f" in {worked.part}" if worked.part else ""
        yield picture(
            f"How evenly the work is shared{of}{_on(worked.where)}",
            partial(report_figures.work, worked, dict(seen)[worked.where]),
            work_words(worked),
            remarks(worked),
        )
    for seated in (*located_views(lab, verdict, seen), *seat_views(lab, seen)):
        word = "goal reached" if seated.misplaced == 0 else "goal missed"
        yield picture(
            f"{seated.title}: {word}",
            partial(report_figures.seats, seated, lab.mpi),
            seat_words(seated, lab.mpi),
        )


def _modelled(graded: GradedKernel, picture: _Pictures) -> Iterator[_Picture]:
    """For each machine, one of what is compared there, and what else is in words."""
    for machine in dict.fromkeys(one.machine for one in graded.modelled):
        drawn, others = modelled_words.drawn_and_others(
            [one for one in graded.modelled if one.machine == machine]
        )
        yield picture(
            f"Modelled on {machine}",
            partial(report_figures.modelled, drawn),
            modelled_words.in_one_line(drawn),
            (*modelled_words.other_sentences(others), *modelled_words.reading(drawn)),
        )


def _on(where: str) -> str:
    return "" if where == "here" else f" on {where}"


def _timings(graded: GradedKernel, picture: _Pictures) -> Iterator[_Picture]:
    evidence = graded.evidence_by_place[0][1]
    for account in graded.accounts:
        named = names(graded.lab, account, evidence)
        unit, of = scale_words(account)
        yield picture(
            heading_words(account),
            partial(report_figures.timing, account),
            asked_words(account, named),
            tuple(sentences(account, named, evidence, unit, of)),
        )


def _latencies(graded: GradedKernel, picture: _Pictures) -> tuple[_Picture | None, str]:
    """The picture, and all figures as text."""
    evidence = graded.evidence_by_place[0][1]
    is_predicted = verdict_words.is_predicted(graded.lab, graded.verdict)
    lines = latency_lines(evidence, is_predicted, graded.published)
    if not lines:
        return None, ""
    found = picture(
        "What a message takes",
        partial(report_figures.latency, evidence, graded.published, is_predicted),
        "Time and bandwidth over the size of messages; the text below has all figures.",
    )
    return found, "\n".join(lines)


def _memory(evidence: Evidence, picture: _Pictures) -> tuple[_Table | None, _Picture | None]:
    columns = memory_table.memory_columns(evidence)
    if not columns:
        return None, None
    table = _Table(
        memory_table.memory_caption(evidence, columns),
        ["Measured", *(column.name for column in columns)],
        [[label, *values] for label, values in memory_table.memory_rows(columns)],
    )
    found = picture(
        "Memory of a table",
        partial(report_figures.memory, evidence),
        "Memory before the table was there, with it and after; the table above has the figures.",
    )
    return table, found


def _rates(graded: GradedKernel) -> Iterator[_RateTable]:
    """What a repetition takes, and at what rate it moves memory."""
    for found in rate_tables(graded.lab, graded.accounts, graded.evidence_by_place[0][1]):
        table = _Table(found.title, ["Whose", *found.heads[1:]], found.rows)
        yield _RateTable(table, found.notes)


def _roofs(graded: GradedKernel, picture: _Pictures) -> Iterator[_Picture]:
    for roof in roofs(graded.lab, graded.accounts, graded.evidence_by_place[0][1]):
        yield picture(roof_title(roof), partial(report_figures.roofline, roof), roof_words(roof))


def _predictions(graded: GradedKernel) -> _RateTable | None:
    found = graded.predictions
    if found is None:
        return None
    table = _Table(
        prediction_report.title(found), list(prediction_report.HEADS),
        [list(row) for row in prediction_report.rows(found)],
    )  # fmt: skip
    return _RateTable(table, [found.why] if found.why else [])


def _kernel(graded: GradedKernel, anchor: str, picture: _Pictures) -> _Kernel:
    verdict, evidence = graded.verdict, graded.evidence_by_place[0][1]
    number, _, _ = graded.lab.name.partition("_")
    edited = ", edited" if verdict.variant == "handout" and not graded.unchanged else ""
    latencies, latency_text = _latencies(graded, picture)
    memory, memory_picture = _memory(evidence, picture)
    build = evidence.build
    return _Kernel(
        anchor=anchor,
        title=f"{number} {graded.lab.title}, {declaration.LANGUAGE_NAMES[verdict.language]}: "
        f"{VARIANT_NAMES[verdict.variant]}{edited}",
        status=verdict.status,
        words=STATUS_WORDS[verdict.status],
        points=f"{verdict.points} of {verdict.earnable_points} points",
        notes=verdict_words.points_notes(verdict, evidence.timing_refused is not None),
        rows=list(rows_of(verdict)),
        predictions=_predictions(graded),
        no_predictions=prediction_report.none_words(graded),
        steps=list(_steps(graded)),
        compiler_title=verdict_words.compiler_title(build),
        compiler=build.output,
        earlier=verdict_words.earlier_words(graded),
        printed=verdict_words.printed_words(evidence),
        pictures=[*_pictures(graded, picture), *_modelled(graded, picture)],
        timings=list(_timings(graded, picture)),
        latencies=latencies,
        latency_text=latency_text,
        memory=memory,
        memory_picture=memory_picture,
        rates=list(_rates(graded)),
        roofs=list(_roofs(graded, picture)),
    )


def _node_table(caption: str, node: Json) -> _Table:
    """Facts of a node, those that it tells."""

    def sized(key: str) -> str | None:
        return words.amount(node[key]) if node.get(key) else None

    balancing, load = node.get("numa_balancing"), node.get("load_1min")
    facts: tuple[tuple[str, object], ...] = (
        ("Processor", node.get("cpu_model")),
        ("Packages", node.get("packages")),
        ("NUMA nodes", node.get("numa_nodes")),
        ("Cores", node.get("cores")),
        ("PUs", node.get("pus")),
        ("Memory", sized("memory_bytes")),
        ("Last-level cache", sized("last_level_cache_bytes")),
        ("Page", sized("page_bytes")),
        ("Transparent huge pages", node.get("huge_page_mode")),
        ("Automatic NUMA balancing", None if balancing is None else "on" if balancing else "off"),
        ("Frequency governor", node.get("governor")),
        ("Load when grading began", None if load is None else f"{load:.2f}"),
        ("Kernel", node.get("kernel")),
    )
    rows = [[label, str(value)] for label, value in facts if value is not None]
    return _Table(caption, ["Fact", "Value"], rows)


def _nodes(submissions: Sequence[Submission], occasion: Occasion) -> Iterator[tuple[_Table, str]]:
    """This node's facts and each virtual node's, with how that differs from the machine."""
    yield _node_table(f"Node {occasion.node.get('name', '')}", occasion.node), ""
    seen = {
        where: evidence.node
        for submission in submissions
        for graded in submission.kernels
        for where, evidence in graded.evidence_by_place
        if where != "here"
    }
    for name, note in occasion.machines:
        if name in seen:
            yield _node_table(f"Virtual node {name}", seen[name]), note


def _cleaned(value: object) -> object:
    """What an earlier version of the kit has kept may have anything in it; text is cleaned where it
    comes in only since."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return visible_lines(str(value)) if is_text else value


def environment() -> Environment:
    """Of all pages. Whatever is put into them is text, unless it is Markup already."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=_cleaned,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def page(submissions: Sequence[Submission], occasion: Occasion) -> str:
    """The page. Whatever comes from a student is text in it, never markup."""
    picture = _Pictures()
    people = [
        _Person(
            one.name,
            f"submission{number}",
            [
                _kernel(graded, f"submission{number}-kernel{index}", picture)
                for index, graded in enumerate(one.kernels, start=1)
            ],
        )
        for number, one in enumerate(submissions, start=1)
    ]
    named = [submission.name for submission in submissions if submission.name]
    return (
        environment()
        .get_template("report.html")
        .render(
            title="numalab report" + (f": {named[0]}" if len(named) == 1 else ""),
            people=people,
            occasion=occasion,
            node=occasion.node.get("name"),
            nodes=list(_nodes(submissions, occasion)),
            version=__version__,
            reading=READING,
            missing=[
                (person.name, kernel.title, row)
                for person in people
                for kernel in person.kernels
                for row in kernel.rows
                if row.status in ("not_gradable", "inconclusive", "error")
            ],
        )
    )
