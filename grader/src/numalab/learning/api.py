"""numalab in Python, for notebooks and for instructors' scripts: records and figures.

    lab = numalab.lab("01_first_touch")
    run = lab.run("c")                     # your kernel: built, run, judged
    run.touch_map(lab.run("c", source=lab.handout("c"), label="handout"))
    print(lab.on("nebula").grade("c").report)

run(), grade(), sweep() and explore() hold the build folder's lock while they measure, and wait
while a command holds it. Outside of a notebook, Ctrl-C may raise KeyboardInterrupt in the place of
Interrupted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from numalab.diagnosing.handed_in import diagnosis_words, score_diagnosis
from numalab.errors import Interrupted, NumalabError, UserError, reason_of
from numalab.evidence import read_record
from numalab.evidence.record import Json
from numalab.grading.graded import GradedKernel
from numalab.grading.handed_files import read_files
from numalab.grading.kernel_grading import Grading
from numalab.grading.login_node import is_login_node, refusal
from numalab.grading.node_lock import share_node
from numalab.grading.own_files import provide
from numalab.grading.request import KernelGradings, grade_kernel, graded_kernel
from numalab.grading.variant_installations import lab_of_named_variant, load_variant
from numalab.grading.vm_gradings import left_out
from numalab.harness import monitor
from numalab.harness.build import MPI_REMEDY, build_targets, configure, mpi_library
from numalab.installation import Installation
from numalab.judging.effort import Effort, effort_for
from numalab.judging.places import LOCAL
from numalab.judging.rules import load_labs
from numalab.labs.declaration import KERNEL_FILES, Lab, choose_labs
from numalab.labs.variants import is_variant_name
from numalab.learning.basis import Basis, Text, calling
from numalab.learning.crossing import SOURCE as CROSSING_SOURCE
from numalab.learning.crossing import Crossing, crossing
from numalab.learning.exploring import Explored, explored
from numalab.learning.run import (
    GradedRun,
    Run,
    check_file,
    find_own_installation,
    load_run,
    printed,
    suggestion,
)
from numalab.learning.sources import Source, Sources, find_sources
from numalab.learning.sweep import ROUNDS, Sweep, measure, settings_of
from numalab.machines.gallery import find_machine
from numalab.machines.machine import Machine
from numalab.palette import keep_matplotlib_in
from numalab.reports import report
from numalab.terminal import WIDTH
from numalab.virtual.cluster import MOST_RATE_MBIT_S
from numalab.virtual.place import VirtualPlaces
from numalab.virtual.plan import GuestOptions
from numalab.words import StepReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Size = Literal["quick", "default", "published"]


def find_lab(name: str, installation: Installation | None = None) -> LearnerLab:
    """Return a lab by its name or number, or your variant of it by the variant's name.
    installation: None: find_own_installation(). Raises UserError for a name of no lab and for a
    variant that is not there or not valid, and NumalabError where files can't be read or
    written."""
    installation = installation or find_own_installation()
    try:
        keep_matplotlib_in(installation.build / "matplotlib")
    except OSError as error:
        raise NumalabError(f"can't write to {installation.build}: {reason_of(error)}") from error
    if is_variant_name(name):
        installation, declared = load_variant(
            installation, lab_of_named_variant(installation, name)
        )
    else:
        (declared,) = choose_labs(load_labs(installation.root), [name])
        provide(installation, [declared], _silent)
    return LearnerLab(installation, declared, installation.own_folder(declared.name))


def starting_text(lab: LearnerLab, file: str) -> str | None:
    """Return the text of a file of a lab's starting code: the build's copy, else the file in
    given_folder, which may be edited in a git clone; None where there is neither. Raises
    NumalabError where it can't be read or is not UTF-8 text."""
    name = lab.name
    for folder in (lab.installation.pristine_folder(name), lab.installation.given_folder(name)):
        if (folder / file).is_file():
            try:
                return (folder / file).read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise NumalabError(f"{folder / file} is not UTF-8 text") from error
            except OSError as error:
                raise NumalabError(f"{folder / file}: {reason_of(error)}") from error
    return None


def _silent(step: str) -> None:
    """Do nothing with a step."""


@dataclass(frozen=True)
class _Measured:
    """Gradings of a kernel on this machine and on virtual machines, and what results show of them.

    Attributes:
        not_booted: why a criterion has no verdict of a virtual machine, where there was none; else
            None.
        notes: for each virtual machine what of the machine is smaller in it.
        texts: digests and origins of the kernel and of files beside it, by name.
    """

    gradings: KernelGradings
    kernel: GradedKernel
    not_booted: str | None
    notes: Sequence[str]
    texts: Mapping[str, Text]


# ---- a lab -------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnerLab:
    """A lab to work with: build, run, grade and measure kernels of yours.

    Attributes:
        installation: the folders that numalab works in.
        declared: the lab as its lab.toml declares it.
        folder: the folder with your files.
        machine: the virtual machine of on(); None: on() named none.
        progress: called with texts on the steps.
    """

    installation: Installation = field(repr=False)
    declared: Lab = field(repr=False)
    folder: Path
    machine: Machine | None = field(default=None, repr=False)
    progress: StepReport = field(default=_silent, repr=False)

    @property
    def name(self) -> str:
        """Return the lab's name, such as 01_first_touch."""
        return self.declared.name

    def on(self, machine: str) -> LearnerLab:
        """Return the lab with a virtual machine on which run() observes placement. machine: its
        name in `./numalab machine list`, or the path of its file. Raises UserError where there is
        none, or its file has a mistake."""
        return replace(self, machine=find_machine(self.installation, machine))

    def at(self, folder: str | Path) -> LearnerLab:
        """Return the lab with your files in FOLDER/NN_name/."""
        return replace(self, folder=Path(folder).resolve() / self.name)

    def handout(self, language: str) -> str:
        """Return the text of the starting code in a language, "c" or "fortran": the build's copy,
        else the file that numalab came with. Raises UserError for a language that the lab does not
        have, and NumalabError where the file is missing or is not UTF-8 text."""
        file = KERNEL_FILES[self.check_language(language)]
        text = starting_text(self, file)
        if text is None:
            raise NumalabError(f"there is no handout {file} of {self.name}; run ./numalab setup")
        return text

    def topology(self) -> Figure:
        """Draw the machine of on(), or this one. Raises UserError for a machine that is made from a
        seed, since a picture would show its answers, and as node()."""
        from numalab.reports.figures import topology_figure

        if self.machine is not None and self.machine.seed is not None:
            name = self.machine.name
            raise UserError(
                f"a picture of {name} would show its answers. Look around there, in a terminal: "
                f"./numalab machine run {name} -- bash"
            )
        return topology_figure(self.machine if self.machine is not None else self.node())

    def node(self) -> Json:
        """Return the record of this machine: its NUMA nodes, cores, PUs, caches and settings. The
        program that reads it is built first where it is missing, under the build folder's lock.
        Raises UserError and NumalabError."""
        if self.installation.describe_node.is_file():
            return monitor.describe_node(self.installation)
        with self.installation.lock(self.progress):
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
        """Build a kernel, run it, and return what was recorded and judged, without points.

        Args:
            language: "c" or "fortran".
            source: the kernel's text, its file, or a folder with it; left out: your file in
                `folder`.
            files: texts of the other files that are handed in, by name, instead of those in
                `folder`.
            size: "quick", "default" or "published"; quick also takes the quick thresholds.
            times: whether to take times, too.
            label: how pictures call the run.
            parts: the lab's kernels to run; left out: all.
            or_recorded: whether recorded() takes its place if the virtual machine can't be booted.

        Raises:
            UserError: for a language, size, part or file that there is not, or a lab on MPI in a
                build without MPI.
            NumalabError: the run could not be made. A kernel that does not build or is not correct
                is a result.
            Interrupted: you interrupted it; the run so far, if there is one, is in its arguments.
        """
        with self._calling("run", language, label) as basis:
            measured = self._measure(language, source, files, size, times, self._parts(parts))
            if measured.not_booted is None:
                run = self._run_of(measured, label, takes_times=times, basis=basis)
            elif or_recorded:
                self.progress(f"not booted: {measured.not_booted}")
                run = self.recorded()
            else:
                raise NumalabError(measured.not_booted)
        self._keep(run, is_whole=not parts)
        return run

    def recorded(self) -> Run:
        """Return the recorded run of the handout on the virtual machine of on(), judged again.
        Raises UserError where there is none, and NumalabError where it can't be read."""
        name = "" if self.machine is None else self.machine.name
        path = self.recorded_path(name)
        if not path.is_file():
            names = [record.stem for record in sorted(path.parent.glob("*.json"))]
            raise UserError(
                f"{self.name} has no record of '{name}'. There is: {', '.join(names) or 'none'}"
            )
        return load_run(path, f"the handout, recorded on virtual {name}", self.installation)

    def grade(
        self,
        language: str = "c",
        source: Source = None,
        *,
        files: Mapping[str, str] | None = None,
        size: Size = "quick",
        label: str = "yours",
        afresh: bool = False,
    ) -> GradedRun:
        """Build a kernel, run it and grade it, and return the run with its points and report.

        Without on(), placement is also observed on the lab's own virtual machines, as far as they
        are needed. The result is kept; graded again, the same program goes on with the times that
        were taken.

        Args:
            language, source, files, label: as for run().
            size: "quick", "default" or "published"; quick also takes the quick thresholds.
            afresh: whether times of earlier gradings don't count.

        Raises:
            UserError, NumalabError, Interrupted: as run() does.
        """
        with self._calling("grading", language, label) as basis:
            measured = self._measure(
                language, source, files, size, True, afresh=afresh, adds_labs_machines=True
            )
            measured.gradings.keep()
            run = self._run_of(measured, label, takes_times=True, basis=basis)
            graded = GradedRun(**vars(run), report_text=self._report(measured))
        self._keep(graded, is_whole=True)
        return graded

    def sweep(
        self,
        language: str = "c",
        source: Source = None,
        *,
        threads: Sequence[int] | None = None,
        files: Sequence[str] = (),
        part: str | None = None,
        rounds: int = ROUNDS,
    ) -> Sweep:
        """Measure a kernel's rate in GB/s over the number of threads, on this machine.

        A round runs the settings in random order, each in a process of its own.

        Args:
            language, source: as for run().
            threads: numbers of threads; left out: each from 1 to the number of cores, or if these
                are more than 8 the powers of two and the number of cores.
            files: names of placement files of yours to compare; left out: the lab's own placement.
            part: of several kernels the one to time.
            rounds: 1 or more; from 6 on the range of the rates holds the median at 95 %.

        Returns:
            the rates; a complaint where the kernel does not build or finish, or on a login node.

        Raises:
            UserError: for settings that can't be measured on this machine, and as run() does.
            NumalabError: the measurement could not be made.
            Interrupted: you interrupted it before anything was measured; later on the sweep so far
                is returned.
        """
        language = self.check_language(language)
        chosen = self._swept(part)
        if self.machine is not None:
            raise UserError("a virtual node has no times that mean anything; sweep this node")
        for name in files:
            if check_file(self.declared, name).kind != "placement":
                raise UserError(f"{name} places ranks, not threads; name placement files (.env)")
        if rounds < 1:
            raise UserError(f"rounds = {rounds}: 1 or more are needed")
        with (
            self._calling("sweep", language, chosen or "") as basis,
            self._sources(language, source) as (sources, folder),
            self.installation.lock(self.progress),
            share_node(self.progress, exclusive=True),
        ):
            self.progress("building")
            session = self._make_grading(language, folder, effort_for("quick", True))
            read_files(session)
            settings = settings_of(session, threads, files)
            why = refusal("notebook") if is_login_node() else ""
            if not why and not session.build():
                build = session.evidence.build
                why = "\n".join(filter(None, (build.message, build.output)))
            if why:
                swept = Sweep(self.declared, chosen, {}, session.evidence, complaint=why)
            else:
                swept = measure(session, chosen, settings, rounds)
            texts = sources.texts(folder, None if why else self._staged)
            return replace(swept, basis=replace(basis, texts=texts))

    def explore(self, *, quick: bool = True, rounds: int | None = None) -> Explored:
        """Measure what `./numalab explore` measures for this lab on this machine.

        Args:
            quick: whether to make fewer and smaller runs.
            rounds: number of rounds; left out: the exploration's own.

        Raises:
            UserError: the lab has no exploration, memory is short, or this is a login node.
            NumalabError: the measurement could not be made.
            Interrupted: you interrupted it before a run had ended; later on the exploration so far
                is returned.
        """
        with self._calling("exploration") as basis:
            found = explored(self.installation, self.name, quick, rounds, self.progress)
            return replace(found, basis=basis)

    def across(
        self, language: str = "c", source: Source = None, *, rate_mbit_s: float = MOST_RATE_MBIT_S
    ) -> Crossing:
        """Time your ping_pong of lab 06 across a link between two virtual machines.

        Args:
            language, source: as for run().
            rate_mbit_s: what the link carries each way, in 10^6 bits per second.

        Returns:
            one-way times by message size, or a complaint where it can't be built or run.

        Raises:
            UserError: for another lab, a missing file, or a rate that no link has.
        """
        language = self.check_language(language)
        if CROSSING_SOURCE not in self.declared.programs:
            raise UserError(f"{self.name} has no program for a link; lab 06 has one")
        with (
            self._calling("ping-pong", language) as basis,
            self._sources(language, source) as (sources, folder),
        ):
            texts = sources.texts(folder)
            seen = crossing(
                self.installation, self.name, folder, language, rate_mbit_s, self.progress
            )
            return replace(seen, basis=replace(basis, texts=texts))

    # ---- inside

    def _keep(self, run: Run, *, is_whole: bool) -> None:
        """Do nothing with a run; for subclasses to keep it. is_whole: whether it is of all
        parts."""

    def _swept(self, part: str | None) -> str | None:
        """Return the kernel to time: `part`, or without it the only one that can be timed; None
        stands for a lab's single kernel. Raises UserError for a lab or a part that can't be
        swept."""
        if self.declared.mpi:
            raise UserError(f"{self.name} runs ranks; what is swept are threads of one process")
        able = list(
            dict.fromkeys(
                c.part
                for c in self.declared.criteria
                if c.kind == "timing" and c.part in self.declared.kernel_parts
            )
        )
        if part is None and len(able) == 1:
            return able[0]
        if part not in able:
            names = ", ".join(name for name in able if name is not None)
            what = f"name the part to sweep, one of {names}" if names else "leave the part out"
            raise UserError(f"{self.name}: {what}")
        return part

    def _make_grading(self, language: str, folder: Path, effort: Effort) -> Grading:
        """Build the lab's monitor, and return a grading of a kernel. The caller holds the lock."""
        node = self._node()
        build_targets(self.installation, [self.installation.monitor(self.name).name])
        return Grading(
            self.installation,
            self.declared,
            language,
            "submission",
            folder,
            effort,
            node,
            self.progress,
        )

    def check_language(self, language: str) -> str:
        """Return the language. Raises UserError for one that the lab does not have."""
        known = self.declared.languages
        if language not in known:
            raise UserError(
                f"there is no language '{language}'{suggestion(language, known)}. {self.name} has "
                f"{' and '.join(known)}"
            )
        return language

    def _parts(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return the names of kernels. Raises UserError for one that the lab does not have."""
        known = [part for part in self.declared.kernel_parts if part is not None]
        for part in parts:
            if part not in known:
                has = f"It has {', '.join(known)}" if known else "It has one only"
                raise UserError(
                    f"{self.name} has no kernel '{part}'{suggestion(part, known)}. {has}"
                )
        return tuple(parts)

    def _node(self) -> Json:
        """Build the program that describes this machine, and return its record. The caller holds
        the lock."""
        configure(self.installation)
        build_targets(self.installation, ["describe_node"])
        return monitor.describe_node(self.installation)

    @contextmanager
    def _sources(
        self, language: str, source: Source, files: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Sources, Path]]:
        """Yield the files to build and run, and a folder with them, which may be a temporary
        one."""
        sources = find_sources(self.declared, self.folder, language, source, files)
        with sources.laid_out() as folder:
            yield sources, folder

    @property
    def _staged(self) -> Path:
        """The folder in which the build expects the submission's files."""
        return self.installation.staged_folder(self.name)

    @contextmanager
    def _calling(self, what: str, *how: str) -> Iterator[Basis]:
        """Yield the basis of a call."""
        where = "here" if self.machine is None else self.machine.name
        with calling(what, self.name, str(self.folder), where, *how) as basis:
            yield basis

    def _measure(
        self,
        language: str,
        source: Source,
        files: Mapping[str, str] | None,
        size: Size,
        times: bool,
        parts: tuple[str, ...] = (),
        afresh: bool = True,
        adds_labs_machines: bool = False,
    ) -> _Measured:
        """Build, run and judge a kernel under the lock. afresh: whether times of earlier gradings
        don't count; adds_labs_machines: whether the lab's own virtual machines are booted, as far
        as they are needed, if on() named none."""
        language = self.check_language(language)
        if size not in ("quick", "default", "published"):
            raise UserError(f"there is no size '{size}'; take quick, default or published")
        with (
            self._sources(language, source, files) as (sources, folder),
            self.installation.lock(self.progress),
            share_node(self.progress) as turns,
        ):
            self.progress("building")
            node = self._node()
            if self.declared.calls_mpi and not mpi_library(self.installation):
                raise UserError(f"{self.name}: this build of the kit has no MPI; {MPI_REMEDY}.")
            build_targets(self.installation, [self.installation.monitor(self.name).name])
            session = Grading(
                self.installation, self.declared, language, "submission", folder,
                effort_for(size, size == "quick"), node, self.progress,
                parts=parts,
                node_lock=turns,
                timing_refused=refusal("notebook") if is_login_node() else None,
                afresh=afresh,
            )  # fmt: skip
            texts = sources.texts(folder)
            own: list[Machine] | None = [] if adds_labs_machines else None
            machines = own if self.machine is None else [self.machine]
            with VirtualPlaces(self.installation, GuestOptions()) as places:
                gradings = grade_kernel(session, machines, places, takes_times=times)
                notes = [places.note(there.place.name) for there in gradings.vms]
            if session.evidence.build.status != "missing":
                texts = sources.texts(folder, self._staged)
            kernel = replace(
                graded_kernel(self.installation, gradings), again="grade again", hint_levels={},
                afresh="With afresh=True new ones are taken.",
            )  # fmt: skip
        missed = [
            c.why
            for c in kernel.verdict.criteria
            if c.where != "here" and c.status == "error" and not gradings.vms
        ]
        measured = _Measured(gradings, kernel, missed[0] if missed else None, notes, texts)
        if gradings.interrupted:
            raise Interrupted(self._run_of(measured, "interrupted", takes_times=times))
        return measured

    def _run_of(
        self, measured: _Measured, label: str, *, takes_times: bool, basis: Basis | None = None
    ) -> Run:
        kernel, gradings = measured.kernel, measured.gradings.places
        parts = measured.gradings.local.parts
        all_run = set(parts) >= set(self.declared.kernel_parts)
        own = {c.name for c in self.declared.criteria if all_run or c.part in parts}
        shown = [
            c
            for c in kernel.verdict.criteria
            if c.name in own and (takes_times or c.kind != "timing" or c.value is not None)
        ]
        records = tuple(read_record.record_json(session.record) for _, session in gradings)
        where = LOCAL if self.machine is None else self.machine.name
        judged = replace(kernel.verdict, criteria=tuple(shown))
        return Run(
            self.installation, self.declared, label, where, tuple(kernel.evidence_by_place), judged,
            records, basis=None if basis is None else replace(basis, texts=measured.texts),
        )  # fmt: skip

    def _report(self, measured: _Measured) -> str:
        """Return the report of a kernel as text, with the notes below it."""
        shown = printed(lambda console: report.show_verdict(console, measured.kernel))
        named = [] if self.machine is None else [self.machine.name]
        missing = left_out(self.declared, named)
        found = score_diagnosis(self.installation, self.declared, measured.gradings.local.folder)
        below = [f"({note})" for note in measured.notes]
        below += [] if missing is None else [f"({missing})"]
        below += [] if found is None else [diagnosis_words(self.name, found)]
        return "\n\n".join([shown, *(textwrap.fill(text, WIDTH - 2) for text in below)])

    def recorded_path(self, machine: str) -> Path:
        """Return the path of the recorded run on a virtual machine; there may be no such file."""
        return self.installation.grading_folder(self.name) / "recorded" / f"{machine}.json"
