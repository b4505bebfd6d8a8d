"""The kit in Python, for notebooks and for instructors' scripts: records and figures.

    lab = numalab.lab("01_first_touch")
    run = lab.run("c")                     # your kernel: built, run, looked at
    run.touch_map(lab.run("c", source=lab.handout("c"), label="handout"))
    print(lab.on("nebula").grade("c").report)

Each call holds the build folder's lock while it measures, as the commands do. What goes wrong
and is no student's result is an error of numalab.errors, with a sentence.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from rich.console import Console

from numalab.errors import Interrupted, KitError, NothingToDraw, UserError, reason_of, wrapped
from numalab.evidence import read_record
from numalab.evidence.record import Evidence, Json
from numalab.files import write_json
from numalab.grading.grade import Session
from numalab.grading.graded import GradedKernel
from numalab.grading.login_node import on_login_node, refusal
from numalab.grading.request import Sessions, grade_kernel, graded_kernel
from numalab.harness import monitor
from numalab.harness.build import MPI_REMEDY, build_kit, configure, mpi_of
from numalab.judging.effort import effort_for
from numalab.judging.judge import judge
from numalab.judging.timing_account import timing_accounts
from numalab.judging.verdict import CriterionVerdict, Verdict, of_machine
from numalab.kit import Kit, find_kit
from numalab.labs import declaration
from numalab.labs.declaration import KERNEL_FILES, HandedFile, Lab, choose_labs, load_labs
from numalab.labs.rules import RULES_OF_RUN
from numalab.machines.gallery import find_machine, published_latencies
from numalab.machines.machine import Machine
from numalab.palette import keep_matplotlib_in
from numalab.reports import report
from numalab.terminal import WIDTH
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions
from numalab.words import StepReport, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Size = Literal["quick", "default", "published"]
Source = str | Path | None
Found = TypeVar("Found")


def open_kit() -> Kit:
    """The kit that this package belongs to, with the preset that NUMALAB_PRESET names."""
    return find_kit(os.environ.get("NUMALAB_PRESET", "gnu"))


def open_lab(name: str, kit: Kit | None = None) -> OpenLab:
    """A lab by its name or number. Raises UserError."""
    kit = kit or open_kit()
    (declared,) = choose_labs(load_labs(kit.root), [name])
    keep_matplotlib_in(kit.build / "matplotlib")
    return OpenLab(kit, declared, kit.lab_folder(declared.name))


def _silent(step: str) -> None:
    del step


# ---- what was seen -----------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What came of a kernel. seen: places and their evidence, this node first; where: the place
    that was asked for; verdict: of the criteria that were looked at. records: the evidence as
    it is stored; is_recorded: it comes from a file of the kit's, and from another day."""

    kit: Kit = field(repr=False)
    lab: Lab = field(repr=False)
    label: str
    where: str
    seen: tuple[tuple[str, Evidence], ...] = field(repr=False)
    verdict: Verdict = field(repr=False)
    records: tuple[Json, ...] = field(repr=False)
    is_recorded: bool = False

    @property
    def evidence(self) -> Evidence:
        """Of the place that was asked for, or of this node where nothing was run there."""
        return dict(self.seen).get(self.where, self.here)

    @property
    def here(self) -> Evidence:
        """Of this node, on which times are taken."""
        return self.seen[0][1]

    @property
    def is_built(self) -> bool:
        return self.evidence.build.status == "ok"

    @property
    def compiler_output(self) -> str:
        """What the compiler and the linker said, errors or warnings."""
        build = self.evidence.build
        return "\n".join(text for text in (build.message, build.output) if text)

    def criterion(self, name: str) -> CriterionVerdict:
        """What is said of a criterion, at the place that was asked for if it was judged there.
        Raises UserError."""
        found = [one for one in self.verdict.criteria if one.name == name]
        if not found:
            names = [one.name for one in self.verdict.criteria]
            raise UserError(
                f"nothing was judged by the name {name}{_near(name, names)}. There is: "
                f"{', '.join(dict.fromkeys(names))}"
            )
        return next((one for one in found if one.where == self.where), found[0])

    def value(self, name: str) -> float | None:
        """What was measured for a criterion, in its unit."""
        return self.criterion(name).value

    # ---- figures

    def _labelled(self, others: Sequence[Run]) -> list[tuple[str, Evidence]]:
        return [(one.label, one.evidence) for one in (self, *others)]

    def _drawn(self, draw: Callable[[], Found]) -> Found:
        """Where there is nothing to draw, the reason may be the build, or what the kernel does."""
        try:
            return draw()
        except NothingToDraw as error:
            failed = [c.why for c in self.verdict.failed() if c.kind == "correctness"]
            if self.is_built and not failed:
                raise
            why = failed[0] if self.is_built else self.compiler_output
            raise NothingToDraw(f"{why}\nSo {error}.") from None

    def touch_map(self, *beside: Run, arrays: Sequence[str] | None = None) -> Figure:
        """Who wrote each page first, and who uses it; on this node where nothing was traced at
        the place that was asked for."""
        from numalab.reports.figures import touch_figure

        def draw() -> Figure:
            seen = self._labelled(beside)
            try:
                return touch_figure(seen, arrays=arrays)
            except NothingToDraw:
                return touch_figure([(self.label, self.here)], arrays=arrays)

        return self._drawn(draw)

    def threads(self, *beside: Run, file: str | None = None) -> Figure:
        """Where the kernel's threads may run; file: threads or ranks under a file that is
        handed in."""
        from numalab.reports.figures import sittings, thread_figure

        if file is not None:
            check_file(self.lab, file)
        found = [
            sitting
            for label, evidence in self._labelled(beside)
            for sitting in sittings(label, evidence, file)
        ]
        if not found and file is not None:
            said = [one.complaint for one in self.evidence.handed_in if one.file == file]
            jobs = [job.refused for job in self.evidence.launches if job.file == file]
            why = next((text for text in (*said, *jobs) if text), "nothing was run under it")
            raise NothingToDraw(f"{file}: {why}")
        return self._drawn(lambda: thread_figure(found))

    def work(self, *beside: Run, part: str | None = None) -> Figure:
        """CPU time of each thread. part: one of the lab's kernels only."""
        from numalab.reports.figures import work_figure

        parts = None if part is None else [part]
        return self._drawn(lambda: work_figure(self._labelled(beside), parts=parts))

    def timing(self, criterion: str | None = None) -> Figure:
        """The generations of a criterion, of the first that was timed if none is named, and the
        interval of their median."""
        from numalab.reports.figures import timing_figure

        accounts = timing_accounts(self.lab, self.verdict, self.here)
        names = [account.criterion.name for account in accounts]
        if not names:
            said = [c.why for c in self.verdict.criteria if c.kind == "timing"]
            why = said[0] if said else "lab.run(..., times=True) takes times."
            raise NothingToDraw(f"nothing was timed: {why}")
        if criterion is not None and criterion not in names:
            raise UserError(
                f"{criterion} was not timed{_near(criterion, names)}. Timed were: "
                f"{', '.join(names)}"
            )
        chosen = names.index(criterion) if criterion is not None else 0
        return timing_figure(accounts[chosen])

    def messages(self) -> Figure:
        """What messages took over their sizes; once 64 KiB are predicted, beside what was
        published for hydra."""
        from numalab.reports.figures import latency_figure

        wanted = [c.name for c in self.lab.criteria if c.rule in RULES_OF_RUN["latency"]]
        passed = any(c.name in wanted and c.status == "pass" for c in self.verdict.criteria)
        published = published_latencies(self.kit)
        return latency_figure(self.here, published, is_predicted=passed)

    def memory(self) -> Figure:
        """What the large table takes, and how much of it sits on huge pages."""
        from numalab.reports.figures import memory_figure

        return self._drawn(lambda: memory_figure(self.here))

    def topology(self) -> Figure:
        """The node on which it was run."""
        from numalab.reports.figures import topology_figure

        return topology_figure(self.evidence.node)

    # ---- words

    @property
    def summary(self) -> str:
        """In a few lines what was seen and what the compiler said."""
        shown = [c for c in self.verdict.criteria if self.is_recorded is False or c.where != "here"]
        verdict = replace(self.verdict, criteria=tuple(shown))
        title = (
            f"{self.lab.name}  {declaration.LANGUAGE_NAMES[self.verdict.language]}  {self.label}"
        )
        return _printed(
            lambda console: report.show_run(console, title, verdict, self.evidence.build)
        )

    def __str__(self) -> str:
        return self.summary

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        """How a cell shows it."""
        del cycle
        printer.text(str(self))  # type: ignore[attr-defined]

    def save(self, path: str | Path) -> Path:
        """Writes the evidence of the place that was asked for, as load_run reads it back."""
        path = Path(path)
        record = self.records[[where for where, _ in self.seen].index(self.where)]
        try:
            write_json(path, record, indent=None)
        except OSError as error:
            raise UserError(f"{path} can't be written: {reason_of(error)}") from error
        return path


@dataclass(frozen=True)
class Graded(Run):
    """A run with times and points; report: what ./numalab grade shows of it."""

    report: str = field(default="", repr=False)

    @property
    def status(self) -> str:
        return self.verdict.status

    def __str__(self) -> str:
        return self.report


def load_run(path: Path, label: str, kit: Kit | None = None) -> Run:
    """A stored record. Raises KitError where it is none."""
    kit = kit or open_kit()
    evidence = read_record.load(path, kit.root / "common" / "schema" / "evidence.schema.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    lab = load_labs(kit.root)[evidence.lab]
    where = record["machine"]["name"] if record["machine"] else "here"
    verdict = judge(lab, evidence)
    verdict = of_machine(verdict, where) if evidence.is_virtual else verdict
    return Run(kit, lab, label, where, ((where, evidence),), verdict, (record,), True)


@dataclass(frozen=True)
class _Measured:
    """Sessions here and on the virtual node, and what there is to show of them. not_booted: why
    the virtual node could not be had."""

    sessions: Sessions
    kernel: GradedKernel
    not_booted: str | None


# ---- a lab -------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenLab:
    """A lab to work with. folder: where your files are; machine: a virtual node on which
    placement is looked at; progress: is told what is going on."""

    kit: Kit = field(repr=False)
    declared: Lab = field(repr=False)
    folder: Path
    machine: Machine | None = field(default=None, repr=False)
    progress: StepReport = field(default=_silent, repr=False)

    @property
    def name(self) -> str:
        return self.declared.name

    def on(self, machine: str) -> OpenLab:
        """The same on a virtual node of the gallery. Raises UserError."""
        return replace(self, machine=find_machine(self.kit, machine))

    def at(self, folder: str | Path) -> OpenLab:
        """The same with your files in FOLDER/NN_name/, as grade --submission FOLDER takes
        them."""
        return replace(self, folder=Path(folder).resolve() / self.name)

    def handout(self, language: str) -> str:
        """The kernel as it was handed out."""
        file = KERNEL_FILES[self.check_language(language)]
        for folder in (self.kit.pristine_folder(self.name), self.kit.lab_folder(self.name)):
            if (folder / file).is_file():
                return (folder / file).read_text(encoding="utf-8")
        raise KitError(f"there is no handout {file} of {self.name}; run ./numalab setup")

    def topology(self) -> Figure:
        """The machine of on(), else this node."""
        from numalab.reports.figures import topology_figure

        return topology_figure(self.machine if self.machine is not None else self.node())

    def node(self) -> Json:
        """What this node is. Raises KitError. Nothing is measured, so that only building the
        program that tells it has to wait for other commands."""
        if self.kit.describe_node.is_file():
            return monitor.describe_node(self.kit)
        with self.kit.lock():
            return self._node()

    def run(
        self,
        language: str = "c",
        source: Source = None,
        *,
        files: Mapping[str, str] | None = None,
        size: Size = "quick",
        times: bool = False,
        label: str = "yours",
        parts: Sequence[str] = (),
        or_recorded: bool = False,
    ) -> Run:
        """Builds a kernel, runs it and looks at it; with times also races it with the solution.

        source: the kernel's text, a file, or a folder with it; left out: your file in `folder`.
        files: texts of files beside it, by name, in the place of those there. size quick means
        the quick thresholds, too. parts: run only these of the lab's kernels. or_recorded:
        where the virtual node can't be booted, recorded() takes its place. Raises UserError,
        KitError, and Interrupted with the run so far.
        """
        found = self._measure(language, source, files, size, times, self._parts(parts))
        if found.not_booted is None:
            return self._run_of(found, label, with_times=times)
        if not or_recorded:
            raise KitError(found.not_booted)
        self.progress(f"not booted: {found.not_booted}")
        return self.recorded()

    def recorded(self) -> Run:
        """What the kit has recorded of the C handout on the virtual node of on(). Raises
        UserError where it has nothing."""
        name = "" if self.machine is None else self.machine.name
        path = self.recorded_path(name)
        if not path.is_file():
            there = [one.stem for one in sorted(path.parent.glob("*.json"))]
            raise UserError(
                f"{self.name} has no record of '{name}'. There is: {', '.join(there) or 'none'}"
            )
        return load_run(path, f"the handout, recorded on virtual {name}", self.kit)

    def grade(
        self,
        language: str = "c",
        source: Source = None,
        *,
        files: Mapping[str, str] | None = None,
        size: Size = "quick",
        label: str = "yours",
    ) -> Graded:
        """As run, with times, points and feedback, and kept as ./numalab grade keeps it: one
        that stays open goes on the next time. Without on() this node is graded alone."""
        found = self._measure(language, source, files, size, True)
        found.sessions.keep()
        run = self._run_of(found, label, with_times=True)
        return Graded(**vars(run), report=self._report(found))

    # ---- inside

    def check_language(self, language: str) -> str:
        """Raises UserError for one that the lab does not have."""
        known = self.declared.languages
        if language not in known:
            raise UserError(
                f"there is no language '{language}'{_near(language, known)}. {self.name} has "
                f"{' and '.join(known)}"
            )
        return language

    def _parts(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Raises UserError for what is no kernel of the lab."""
        known = [part for part in self.declared.kernel_parts if part is not None]
        for part in parts:
            if part not in known:
                there = f"It has {', '.join(known)}" if known else "It has one only"
                raise UserError(f"{self.name} has no kernel '{part}'{_near(part, known)}. {there}")
        return tuple(parts)

    def _node(self) -> Json:
        """Under the lock."""
        configure(self.kit)
        build_kit(self.kit, ["describe_node"])
        return monitor.describe_node(self.kit)

    @contextmanager
    def _files(
        self, language: str, source: Source, files: Mapping[str, str] | None
    ) -> Iterator[Path]:
        """A folder with what is to be built and tried."""
        given = dict(files or {})
        for name in given:
            check_file(self.declared, name)
        kernel = KERNEL_FILES[language]
        folder = self.folder
        if isinstance(source, Path) or (source is not None and "\n" not in source):
            path = Path(source).expanduser()
            if path.is_dir():
                folder = path / self.name if (path / self.name).is_dir() else path
            elif path.is_file():
                given[kernel] = _text_of(path)
            else:
                raise UserError(f"there is no {path}: name a file, a folder, or give the text")
        elif source is not None:
            given[kernel] = source
        if not given:
            yield folder
            return
        with tempfile.TemporaryDirectory(prefix="numalab-") as scratch:
            for name in (kernel, *(one.name for one in self.declared.files)):
                there = folder / name
                if name in given:
                    (Path(scratch) / name).write_text(given[name], encoding="utf-8")
                elif there.is_file():
                    (Path(scratch) / name).write_bytes(there.read_bytes())
            yield Path(scratch)

    def _measure(
        self,
        language: str,
        source: Source,
        files: Mapping[str, str] | None,
        size: Size,
        times: bool,
        parts: tuple[str, ...] = (),
    ) -> _Measured:
        """Under the lock. Raises Interrupted with the run so far."""
        language = self.check_language(language)
        if size not in ("quick", "default", "published"):
            raise UserError(f"there is no size '{size}'; take quick, default or published")
        with self._files(language, source, files) as folder, self.kit.lock():
            self.progress("building")
            node = self._node()
            if self.declared.mpi and not mpi_of(self.kit):
                raise UserError(f"{self.name}: this build of the kit has no MPI; {MPI_REMEDY}.")
            build_kit(self.kit, [self.kit.monitor(self.name).name])
            session = Session(
                self.kit, self.declared, language, "submission", folder,
                effort_for(size, size == "quick"), node, self.progress,
                parts=parts,
                timing_refused=refusal("notebook") if on_login_node() else None,
            )  # fmt: skip
            machines = None if self.machine is None else [self.machine]
            with VirtualPlaces(self.kit, GuestOptions()) as places:
                sessions = grade_kernel(session, machines, places, with_times=times)
            kernel = replace(graded_kernel(self.kit, sessions), again="grade again", hints_seen={})
        missed = [
            c.why
            for c in kernel.verdict.criteria
            if c.where != "here" and c.status == "error" and not sessions.elsewhere
        ]
        found = _Measured(sessions, kernel, missed[0] if missed else None)
        if sessions.interrupted:
            raise Interrupted(self._run_of(found, "interrupted", with_times=times))
        return found

    def _run_of(self, found: _Measured, label: str, *, with_times: bool) -> Run:
        kernel, seen = found.kernel, found.sessions.seen
        parts = found.sessions.here.parts
        all_run = set(parts) >= set(self.declared.kernel_parts)
        own = {c.name for c in self.declared.criteria if all_run or c.part in parts}
        shown = [
            c
            for c in kernel.verdict.criteria
            if c.name in own and (with_times or c.kind != "timing" or c.value is not None)
        ]
        records = tuple(session.data for _, session in seen)
        where = seen[1][0] if seen[1:] else "here"
        judged = replace(kernel.verdict, criteria=tuple(shown))
        return Run(self.kit, self.declared, label, where, tuple(kernel.seen), judged, records)

    def _report(self, found: _Measured) -> str:
        shown = _printed(lambda console: report.show_verdict(console, found.kernel))
        more = found.not_booted or self._shown_elsewhere(found.kernel.verdict)
        return f"{shown}\n{more}" if more else shown

    def _shown_elsewhere(self, verdict: Verdict) -> str:
        """Where what this node can't show is graded."""
        criteria = self.declared.criteria
        able = {c.name for c in criteria if c.kind == "evidence" and c.needs_numa_nodes > 1}
        missing = [n for n, s in verdict.statuses.items() if s == "not_gradable" and n in able]
        if self.machine is not None or not missing:
            return ""
        command = f"./numalab grade {self.declared.number}"
        if self.folder != self.kit.lab_folder(self.name):
            place, root = self.folder.parent, self.kit.root
            found = place.relative_to(root) if place.is_relative_to(root) else place
            command += f" --submission {found}"
        return wrapped(
            f"Not gradable on this node: {listed(missing)}. Virtual nodes show it: {command} in a "
            f'terminal, or lab.on("{self.declared.machines[0]}").grade(...) on one of them.'
        )

    def recorded_path(self, machine: str) -> Path:
        """Of what the kit has recorded of the C handout on a virtual node."""
        return self.kit.lab_folder(self.name) / "recorded" / f"{machine}.json"


# ---- helpers -----------------------------------------------------------------------


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""


def check_file(lab: Lab, name: str) -> HandedFile:
    """The file of this name that is handed in beside the kernel. Raises UserError."""
    names = [one.name for one in lab.files]
    if name not in names:
        there = f"It has {', '.join(names)}" if names else "It has none"
        raise UserError(
            f"{lab.name} has no file '{name}' beside the kernel{_near(name, names)}. {there}"
        )
    return lab.files[names.index(name)]


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"{path} can't be read: {reason_of(error)}") from error


def _printed(show: Callable[[Console], None]) -> str:
    """What is shown at a terminal of 80 columns, without colours."""
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
