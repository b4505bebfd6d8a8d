"""The run of a kernel as a value in Python: its evidence and verdicts, as text and figures."""

from __future__ import annotations

import difflib
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rich.console import Console

from numalab.errors import NothingToDraw, NumalabError, UserError, reason_of
from numalab.evidence import read_record
from numalab.evidence.kinds import KINDS, RANKS
from numalab.evidence.record import SUBMISSION, Evidence, Json
from numalab.files import write_json
from numalab.grading.modelled import model_all
from numalab.installation import Installation, find_installation
from numalab.judging.judge import file_of, judge
from numalab.judging.timing_account import timing_accounts
from numalab.judging.timing_claims import SPEEDUP
from numalab.judging.verdict import CriterionVerdict, Verdict, tag_machine
from numalab.labs import declaration
from numalab.labs.declaration import HandedFile, Lab
from numalab.labs.variants import labs_and_variants
from numalab.learning.basis import Based, captioned
from numalab.machines.gallery import published_latencies
from numalab.reports import report
from numalab.reports.roofline import roofs
from numalab.reports.verdict_words import is_predicted
from numalab.terminal import WIDTH
from numalab.words import listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Drawn = TypeVar("Drawn")


def find_own_installation() -> Installation:
    """Return the installation that this package belongs to, unless NUMALAB_ROOT names another. The
    variable NUMALAB_PRESET names its preset; without it that is gnu. Raises as
    find_installation."""
    return find_installation(os.environ.get("NUMALAB_PRESET", "gnu"))


@dataclass(frozen=True)
class Run(Based):
    """What a run of a kernel recorded, and the verdicts on it. print() shows `summary`.

    Methods that draw raise NothingToDraw where the evidence for their figure is missing. Some also
    draw further runs that are given to them (`beside`).

    Attributes:
        label: how pictures call it.
        where: the place that it is about: "here", or a virtual machine's name.
        places: names of places with their evidence, this machine first; of a recorded run only the
            machine on which it was recorded.
        verdict: verdicts of the criteria that were judged.
        records: the evidence as it is stored, a record for each of places.
        is_recorded: whether load_run() made it; False of the student's kept runs of starting code.
    """

    installation: Installation = field(repr=False)
    lab: Lab = field(repr=False)
    label: str
    where: str
    places: tuple[tuple[str, Evidence], ...] = field(repr=False)
    verdict: Verdict = field(repr=False)
    records: tuple[Json, ...] = field(repr=False)
    is_recorded: bool = False

    @property
    def evidence(self) -> Evidence:
        """Return the evidence of `where`, or of the first place if nothing was run there."""
        return dict(self.places).get(self.where, self.here)

    @property
    def here(self) -> Evidence:
        """Return the evidence of the first place: of this machine, unless the run was recorded."""
        return self.places[0][1]

    def on(self, machine: str) -> Self:
        """Return the same run, with criterion(), value() and pictures of another machine.

        Nothing is run: value() is None if the run did not include that machine. machine: the name
        of a place of the run, such as "here", or of a virtual machine that the lab is graded on.
        Raises UserError for another name.
        """
        known = list(dict.fromkeys((*(where for where, _ in self.places), *self.lab.machines)))
        if machine not in known:
            raise UserError(
                f"{self.lab.name} is not graded on '{machine}'{suggestion(machine, known)}. It "
                "is on "
                f"{listed(known)}"
            )
        return replace(self, where=machine)

    @property
    def is_built(self) -> bool:
        """Return whether the kernel was built without an error."""
        return self.evidence.build.status == "ok"

    @property
    def compiler_output(self) -> str:
        """Return what the build says: errors and warnings; empty if there are none."""
        build = self.evidence.build
        return "\n".join(text for text in (build.message, build.output) if text)

    def criterion(self, name: str) -> CriterionVerdict:
        """Return the verdict on a criterion: that at `where`, else the first one with the name.
        Raises UserError for a name that was not judged."""
        verdicts = [verdict for verdict in self.verdict.criteria if verdict.name == name]
        if not verdicts:
            names = [verdict.name for verdict in self.verdict.criteria]
            raise UserError(
                f"nothing was judged by the name {name}{suggestion(name, names)}. There is: "
                f"{', '.join(dict.fromkeys(names))}"
            )
        own = (verdict for verdict in verdicts if verdict.where == self.where)
        return next(own, verdicts[0])

    def value(self, name: str) -> float | None:
        """Return the value of a criterion in its unit; shares are from 0 to 1.
        None if nothing was measured, or nothing was run at `where`. Raises UserError for a name
        that was not judged."""
        found = self.criterion(name).value
        return found if self.where in dict(self.places) else None

    def is_of_starting_code(self, name: str) -> bool:
        """Return whether a criterion compares the starting code's speed with itself. name: the
        criterion's."""
        criterion = next((one for one in self.lab.criteria if one.name == name), None)
        if criterion is None or not SPEEDUP.judges(criterion):
            return False
        own = file_of(self.lab, criterion, self.verdict.language)
        return self.here.is_starting_code or own in self.here.unchanged_files

    def looks(self, kind: str, role: str = SUBMISSION) -> tuple[Any, ...]:
        """Return the evidence of one kind from the first place, an entry each time it was taken.

        Args:
            kind: name of a kind of evidence, by grader/src/numalab/evidence/kinds.py.
            role: "submission" for your kernel; "solution" or "handout" for numalab's own, where
                they ran for comparison.

        Raises:
            UserError: for a kind that does not exist.
        """
        by_name = {known.name: known for known in KINDS}
        if kind not in by_name:
            raise UserError(
                f"there is no evidence '{kind}'{suggestion(kind, list(by_name))}. There is: "
                f"{', '.join(by_name)}"
            )
        return self.here.runs_of(by_name[kind], role)

    # ---- figures

    def _labelled(self, others: Sequence[Run]) -> list[tuple[str, Evidence]]:
        return [(run.label, run.evidence) for run in (self, *others)]

    def _drawn(self, draw: Callable[[], Drawn]) -> Drawn:
        """Return what draw() returns. Where that raises NothingToDraw, the reason in the kernel or
        its build is added, if there is one."""
        try:
            return draw()
        except NothingToDraw as error:
            self._fail_by_kernel(str(error))
            raise

    def _fail_by_kernel(self, consequence: str) -> None:
        """Raise NothingToDraw if the kernel was not built or is not correct, with the reason.
        consequence: a clause that follows the reason."""
        failed = [c.why for c in self.verdict.failed() if c.kind == "correctness"]
        if self.is_built and not failed:
            return
        # The compiler's output is in the summary of the run.
        why = failed[0] if self.is_built else self.evidence.build.message
        raise NothingToDraw(f"{why}\nSo {consequence}.") from None

    @captioned
    def touch_map(self, *beside: Run, arrays: Sequence[str] | None = None) -> Figure:
        """Draw which thread wrote each page first, and which threads use it.

        It is drawn of `where`; where there is nothing to draw of that, of the first place, without
        `beside`.

        Args:
            beside: further runs to draw with this one.
            arrays: names of the arrays to draw; left out: all.
        """
        from numalab.reports.figures import touch_figure

        def draw() -> Figure:
            try:
                return touch_figure(self._labelled(beside), arrays=arrays)
            except NothingToDraw:
                return touch_figure([(self.label, self.here)], arrays=arrays)

        return self._drawn(draw)

    @captioned
    def threads(self, *beside: Run, file: str | None = None) -> Figure:
        """Draw on which PUs the kernel's threads may run.
        file: a placement or launch file that is handed in, to draw the threads or ranks that ran
        under it. Raises UserError for a file that the lab does not have."""
        from numalab.reports.figures import sittings, thread_figure

        if file is not None:
            check_file(self.lab, file)
        sat = [
            sitting
            for label, evidence in self._labelled(beside)
            for sitting in sittings(label, evidence, file)
        ]
        if not sat and file is not None:
            said = [handed.complaint for handed in self.evidence.handed_in if handed.file == file]
            jobs = [job.refused for job in self.evidence.runs_of(RANKS) if job.file == file]
            why = next((text for text in (*said, *jobs) if text), "nothing was run under it")
            raise NothingToDraw(f"{file}: {why}")
        return self._drawn(lambda: thread_figure(sat))

    @captioned
    def work(self, *beside: Run, part: str | None = None) -> Figure:
        """Draw the CPU time of each thread. part: one of the lab's kernels; left out: all."""
        from numalab.reports.figures import work_figure

        parts = None if part is None else [part]
        return self._drawn(lambda: work_figure(self._labelled(beside), parts=parts))

    @captioned
    def lines(self, *beside: Run, part: str | None = None) -> Figure:
        """Draw which threads write which cache lines. part: one of the lab's kernels; left out: of
        a lab that has a single one."""
        from numalab.reports.figures import lines_figure

        return self._drawn(lambda: lines_figure(self._labelled(beside), part=part))

    @captioned
    def answers(self, *beside: Run, part: str | None = None) -> Figure:
        """Draw how many random series of each kind the kernel answered correctly, wrongly, or not.
        part: one of the lab's kernels; left out: the first that was asked."""
        from numalab.reports.figures import answers_figure

        return self._drawn(lambda: answers_figure(self._labelled(beside), part=part))

    @captioned
    def placing(self, *beside: Run, file: str | None = None) -> Figure:
        """Draw how many pages of each array are on each NUMA node.
        file: a policy file that is handed in, to draw the memory of the program that ran under it.
        Raises UserError for a file that the lab does not have."""
        from numalab.reports.figures import homes_figure

        if file is not None:
            check_file(self.lab, file)
        return self._drawn(lambda: homes_figure(self._labelled(beside), file=file))

    @captioned
    def groups(self, *beside: Run) -> Figure:
        """Draw the PUs that control groups allow a job and another program, and where pages are."""
        from numalab.reports.figures import groups_figure

        return self._drawn(lambda: groups_figure(self._labelled(beside)))

    @captioned
    def timing(self, criterion: str | None = None) -> Figure:
        """Draw the rounds of a timed criterion, and the interval of their median.

        Args:
            criterion: its name; left out: the first that was timed and does not compare the
                starting code's speed with itself.

        Raises:
            NothingToDraw: nothing was timed, or only the starting code's speed over itself.
            UserError: for a criterion that was not timed.
        """
        from numalab.reports.figures import timing_figure

        accounts = timing_accounts(self.lab, self.verdict, self.here)
        names = [account.criterion.name for account in accounts]
        own = [name for name in names if self.is_of_starting_code(name)]
        if criterion in own or (criterion is None and names and own == names):
            raise NothingToDraw(
                f"{criterion or own[0]} is your speed over that of the starting code, and this is "
                "still the starting code. Change it first."
            )
        if not names:
            self._fail_by_kernel("nothing was timed")
            said = [c.why for c in self.verdict.criteria if c.kind == "timing"]
            why = said[0] if said else "lab.run(..., times=True) takes times."
            raise NothingToDraw(f"nothing was timed: {why}")
        if criterion is not None and criterion not in names:
            raise UserError(
                f"{criterion} was not timed{suggestion(criterion, names)}. Timed were: "
                f"{', '.join(names)}"
            )
        first = next(name for name in names if name not in own) if criterion is None else criterion
        chosen = names.index(first)
        return timing_figure(accounts[chosen])

    @captioned
    def modelled(self) -> Figure:
        """Draw what the run's pages, placement or launch would cost on a described machine that it
        was on. That is modelled from published rates, not timed."""
        from numalab.reports.figures import modelled_figure

        found = model_all(self.installation, self.lab, self.places)
        if not found:
            machine = self.lab.machines[0]
            self._fail_by_kernel("nothing is modelled")
            raise NothingToDraw(
                "nothing is modelled: no pages, placement or launch was seen on a described "
                f'machine. lab.on("{machine}").run(...) looks there'
            )
        return modelled_figure(next((one for one in found if one.speedup is not None), found[0]))

    @captioned
    def roofline(self, part: str | None = None) -> Figure:
        """Draw a roofline: the speed that flops per byte allow, and the speed that was reached.
        The first is at the rate of the reference loop. part: one of the lab's kernels; left out:
        the first that has a roofline."""
        from numalab.reports.figures import roofline_figure

        accounts = timing_accounts(self.lab, self.verdict, self.here)
        found = roofs(self.lab, accounts, self.here)
        chosen = [roof for roof in found if part is None or roof.name == part]
        if not chosen:
            declared = [d for d in self.lab.lightspeed if d.none and part in (None, d.part)]
            why = "nothing was timed beside a probe"
            if declared and not found:
                why = f"there is no roofline: {declared[0].none}"
            self._fail_by_kernel(why)
            raise NothingToDraw(f"{why}. lab.run(..., times=True) takes times.")
        return roofline_figure(chosen[0])

    @captioned
    def messages(self) -> Figure:
        """Draw message latencies and bandwidths over sizes. Published latencies are drawn, too,
        once you have predicted them."""
        from numalab.reports.figures import latency_figure

        is_told = is_predicted(self.lab, self.verdict)
        published = published_latencies(self.installation)
        return latency_figure(self.here, published, is_predicted=is_told)

    @captioned
    def memory(self) -> Figure:
        """Draw how much memory the large table takes, and how much of it is on huge pages."""
        from numalab.reports.figures import memory_figure

        return self._drawn(lambda: memory_figure(self.here))

    def topology(self) -> Figure:
        """Draw the machine of `where`, or of the first place if nothing was run there."""
        from numalab.reports.figures import topology_figure

        return topology_figure(self.evidence.node)

    # ---- words

    @property
    def summary(self) -> str:
        """Return the verdicts, and errors and warnings of the build, as lines. Those of a recorded
        run leave out the verdicts of "here"."""
        shown = [c for c in self.verdict.criteria if self.is_recorded is False or c.where != "here"]
        verdict = replace(self.verdict, criteria=tuple(shown))
        title = (
            f"{self.lab.name}  {declaration.LANGUAGE_NAMES[self.verdict.language]}  {self.label}"
        )
        return printed(
            lambda console: report.show_run(console, title, verdict, self.evidence.build)
        )

    def __str__(self) -> str:
        return self.noted(self.summary)

    def save(self, path: str | Path) -> Path:
        """Write the evidence of `where`, else of the first place, to a JSON file; return its path.
        Raises UserError if it can't be written."""
        places = [where for where, _ in self.places]
        record = self.records[places.index(self.where) if self.where in places else 0]
        return save_json(path, record, indent=None)


@dataclass(frozen=True)
class GradedRun(Run):
    """A run with times and points. print() shows `report`. report_text: the report without notes on
    files."""

    report_text: str = field(default="", repr=False)

    @property
    def report(self) -> str:
        """Return the report, with notes on the files that it is about."""
        return self.noted(self.report_text)

    @property
    def status(self) -> str:
        """Return the worst status of the criteria: "fail", "error", "inconclusive" or "pass"."""
        return self.verdict.status

    def __str__(self) -> str:
        return self.report


def load_run(
    path: Path, label: str, installation: Installation | None = None, lab: Lab | None = None
) -> Run:
    """Return the run of a stored record, judged again. installation, lab: left out:
    find_own_installation(), and the lab that the record names. Raises NumalabError where the file
    can't be read, is no record, is damaged, or is of a lab that there is not."""
    installation = installation or find_own_installation()
    record = read_record.load_record(path)
    try:
        evidence = read_record.evidence_of(record)
    except (ValueError, OverflowError) as error:
        raise NumalabError(f"{path} is damaged: {error}") from error
    lab = lab or labs_and_variants(installation.root).get(evidence.lab)
    if lab is None:
        raise NumalabError(f"{path} is of {evidence.lab}, a lab that numalab does not have")
    where = record.machine.name if record.machine else "here"
    verdict = judge(lab, evidence)
    verdict = tag_machine(verdict, where) if evidence.is_virtual else verdict
    return Run(
        installation,
        lab,
        label,
        where,
        ((where, evidence),),
        verdict,
        (read_record.record_json(record),),
        True,
    )


# ---- helpers -----------------------------------------------------------------------


def suggestion(word: str, known: Sequence[str]) -> str:
    """Return a question for the most similar known word, in brackets; empty without one."""
    closest = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" (did you mean {closest[0]}?)" if closest else ""


def check_file(lab: Lab, name: str) -> HandedFile:
    """Return the lab's file of a name that is handed in with the kernel.
    Raises UserError where it has none."""
    names = [file.name for file in lab.files]
    if name not in names:
        has = f"It has {', '.join(names)}" if names else "It has none"
        raise UserError(
            f"{lab.name} has no file '{name}' beside the kernel{suggestion(name, names)}. {has}"
        )
    return lab.files[names.index(name)]


def save_json(path: str | Path, data: Json, indent: int | None) -> Path:
    """Write a result to a JSON file; return its path. Raises UserError if it can't be written."""
    path = Path(path)
    try:
        write_json(path, data, indent)
    except OSError as error:
        raise UserError(f"{path} can't be written: {reason_of(error)}") from error
    return path


def printed(show: Callable[[Console], None]) -> str:
    """Return what `show` prints to a terminal of 80 columns, without colours."""
    output = io.StringIO()
    show(
        Console(
            file=output,
            width=WIDTH,
            highlight=False,
            soft_wrap=False,
            no_color=True,
            force_terminal=False,
            force_jupyter=False,
        )
    )
    return output.getvalue().strip("\n")
